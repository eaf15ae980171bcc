"""SaGe subword vocabularies: train them on text, use, compare and export them.

`train`, `load` and `compare` are at hand here; `vocab` has the steps one by one.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# By name, not by import: they come with all that they need only when they are asked for.
_HERE = {
    "train": "sagevocab.training",
    "load": "sagevocab.external",
    "compare": "sagevocab.comparison",
}

__all__ = ["__version__", *_HERE]


def __getattr__(name: str) -> Any:
    """Import `train`, `load` or `compare` at first use."""
    if name not in _HERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HERE[name]), name)
