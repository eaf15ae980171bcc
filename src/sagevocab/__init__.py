"""SaGe subword vocabularies: train them on text, use, compare and export them.

    import sagevocab

    vocabulary = sagevocab.train("corpus.txt", vocab_size=16_000)
    vocabulary.save("my-tokenizer")
    encoder = sagevocab.load("my-tokenizer")

The engine, from the bottom up; each module knows only those above it:

    words       lines of text as word types and a sequence of their numbers
    pieces      the entries of a vocabulary and the file that lists them
    decoding    compiled: how a word type becomes tokens, with any part of a vocabulary
    segment     a finished vocabulary's way to segment words
    embeddings  E_T and E_C of Equation 1, by Word2Vec (`skipgram`, or gensim)
    kernels     compiled: Equation 1's sums over lines, with and without each piece
    loss        the loss of a piece: the sums of threads, readings of loss_t
    sage        Algorithm 3: k, M, m, l, the record of what was pruned, its state

`reference` has Equation 1 and Algorithm 3 in plain Python with an example by hand: read it first.
`decoding` and `kernels` call nothing compiled outside their own file. The other modules read what
users give as text (`text`, `tables`, `inputs`), make initial vocabularies (`bpe`, `lossless`,
`initial`), read tokenizers from elsewhere (`kinds`, `lists`, `hub`, `adapted`, `foreign`), say what
a tokenizer is beside its pieces (`frames`, `notation`, `specials`), write folders (`export`),
encode (`encoder`), name settings as users do (`names`), and tie the steps together (`training`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sagevocab.comparison import compare as compare
    from sagevocab.foreign import load as load
    from sagevocab.training import train as train
    from sagevocab.vocabulary import SageVocabulary as SageVocabulary

__version__ = "0.1.0"
__all__ = ["SageVocabulary", "__version__", "compare", "load", "train"]

# By name, not by import: they come with all that they need only at first use.
_MODULES = {
    "SageVocabulary": "vocabulary",
    "compare": "comparison",
    "load": "foreign",
    "train": "training",
}


def __dir__() -> list[str]:
    """Return the names of `__all__`, which are not there before their first use."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import a name of `__all__` at first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"sagevocab.{_MODULES[name]}"), name)
