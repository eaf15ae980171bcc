"""What the library's tests share. They need nothing of the checkout but this folder."""

import any_speed  # noqa: F401
