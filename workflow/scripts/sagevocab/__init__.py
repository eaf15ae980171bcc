"""SaGe subword vocabularies: build them, measure them, train language models on them.

Subpackages, lower ones knowing nothing of higher ones: `data` (bytes become lines and rows),
`vocab` (lines become a vocabulary and a tokenizer), `analysis` (a tokenizer and a corpus become
measurements), `lm` (a tokenizer becomes a model and scores), `paper` (measurements become the
tables, figures and claims of "Incorporating Context into Subword Vocabularies", EACL 2023).

For a vocabulary of one's own text `train`, `load` and `compare` are at hand here.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# By name, not by import: they come with all that they need only when they are asked for, and a
# module's source digest does not grow by them.
_HERE = {
    "train": "sagevocab.vocab.train",
    "load": "sagevocab.vocab.external",
    "compare": "sagevocab.analysis.compare",
}

__all__ = ["__version__", *_HERE]


def __getattr__(name: str) -> Any:
    """Import `train`, `load` or `compare` at first use."""
    if name not in _HERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HERE[name]), name)
