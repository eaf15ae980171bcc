"""What the library's tests share. They need nothing of the checkout but this folder."""

import examples_profile  # noqa: F401
