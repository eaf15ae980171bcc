"""What all tests share."""

import hypothesis

# An example may take long on a busy machine, and no test asserts a time.
hypothesis.settings.register_profile("any speed", deadline=None)
hypothesis.settings.load_profile("any speed")
