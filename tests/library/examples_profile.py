"""Hypothesis without deadlines, and with the same examples in every run.

An example may take long on a busy machine, and no test asserts a time. FUZZ_EXAMPLES=N searches
with other examples, N of each fuzz test.
"""

import os

import hypothesis

IS_SEARCH = "FUZZ_EXAMPLES" in os.environ
hypothesis.settings.register_profile("suite", deadline=None, derandomize=not IS_SEARCH)
hypothesis.settings.load_profile("suite")
