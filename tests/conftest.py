"""What all tests share."""

import os
from pathlib import Path

# Before NumPy and torch come: threads of small products wait for one another more than they work.
for library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import examples_profile  # noqa: E402, F401

ROOT = Path(__file__).parents[1]
PLACES = [f"{ROOT}/src", f"{ROOT}/workflow", os.environ.get("PYTHONPATH", "")]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, PLACES))
