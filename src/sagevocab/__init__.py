"""SaGe subword vocabularies: train them on text, use, compare and export them.

    import sagevocab

    vocabulary = sagevocab.train("corpus.txt", vocab_size=16_000)
    vocabulary.save("my-tokenizer")
    encoder = sagevocab.load("my-tokenizer")

The rooms, from the bottom up; a room knows only those above it:

    corpus        files and lines of text, as word types and a sequence of their numbers
    segmentation  compiled: how a word type becomes pieces, with any part of a vocabulary
    word2vec      E_T and E_C of Equation 1, by blocks or by gensim
    pruning       Algorithm 3, the losses of pieces, and Equation 1's sums in compiled code
    huggingface   tokenizers of `tokenizers` and `transformers`: read, pruned, written
    trimming      finished tokenizers with fewer entries, which cut as before
    initial       vocabularies to prune, trained by sentencepiece or on bytes, or read
    evaluation    tokenizers measured on a text

`reference` has Equation 1 and Algorithm 3 in plain Python with an example by hand: read it first.
`training` ties the rooms together, `vocabulary` is what it gives, `settings` are checked by
`validation`, `cli` is the command. `pieces` and `files` are under all.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sagevocab.errors import UserError as UserError
    from sagevocab.evaluation.compare import compare as compare
    from sagevocab.huggingface.load import load as load
    from sagevocab.training import train as train
    from sagevocab.trimming.prune import prune as prune
    from sagevocab.trimming.weights import prune_model as prune_model
    from sagevocab.vocabulary import SageVocabulary as SageVocabulary

__version__ = "0.1.0"
__all__ = [
    "SageVocabulary",
    "UserError",
    "__version__",
    "compare",
    "load",
    "prune",
    "prune_model",
    "train",
]

# By name, not by import: they come with all that they need only at first use.
_MODULES = {
    "SageVocabulary": "vocabulary",
    "UserError": "errors",
    "compare": "evaluation.compare",
    "load": "huggingface.load",
    "prune": "trimming.prune",
    "prune_model": "trimming.weights",
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
