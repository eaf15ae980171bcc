"""Hypothesis without deadlines: an example may take long on a busy machine.

No test asserts a time.
"""

import hypothesis

hypothesis.settings.register_profile("any speed", deadline=None)
hypothesis.settings.load_profile("any speed")
