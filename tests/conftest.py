"""What all tests share."""

import os
from pathlib import Path

import any_speed  # noqa: F401

ROOT = Path(__file__).parents[1]
PLACES = [f"{ROOT}/src", f"{ROOT}/workflow", os.environ.get("PYTHONPATH", "")]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, PLACES))
