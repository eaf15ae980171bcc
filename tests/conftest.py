"""What all tests share."""

import os
from pathlib import Path

import hypothesis

ROOT = Path(__file__).parents[1]
PLACES = [f"{ROOT}/src", f"{ROOT}/workflow", os.environ.get("PYTHONPATH", "")]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, PLACES))

# An example may take long on a busy machine, and no test asserts a time.
hypothesis.settings.register_profile("any speed", deadline=None)
hypothesis.settings.load_profile("any speed")
