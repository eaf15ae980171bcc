from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sagevocab.comparison import compare as compare
from sagevocab.foreign import load as load
from sagevocab.progress import Listener
from sagevocab.training import train as train
from sagevocab.vocabulary import SageVocabulary as SageVocabulary

__version__: str

class SageTrainer:
    def __init__(
        self,
        *,
        vocab_size: int = ...,
        column: str | None = None,
        initial_size: int | None = None,
        initial: Any = "bpe",
        lossless: bool = False,
        special_tokens: str | Sequence[str] | None = None,
        template: str | Sequence[str] | None = None,
        model_max_length: int | None = None,
        preset: str = ...,
        sage: Mapping[str, Any] | None = None,
        word2vec: Mapping[str, Any] | None = None,
        vocabulary: Mapping[str, Any] | None = None,
        seed: int = ...,
        threads: int | None = None,
        encoding_errors: str = "strict",
        bad_text: str = "refuse",
        language: str = "und",
        name: str = "Unnamed language",
        output: str | Path | None = None,
        force: bool = False,
        state_dir: str | Path | None = None,
        progress: Listener | bool = True,
    ) -> None: ...
    def train(self, files: str | Path | Sequence[str | Path]) -> SageVocabulary: ...
    def train_from_iterator(
        self, iterator: Iterable[str] | Iterable[Sequence[str]]
    ) -> SageVocabulary: ...
