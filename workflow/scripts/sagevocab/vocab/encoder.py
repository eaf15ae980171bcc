"""Encode text with a finished tokenizer, fast, to the ids that `AutoTokenizer` gives."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sagevocab.state import path_text
from sagevocab.vocab.export import Card, WordSettings
from sagevocab.vocab.external import import_external, load_hub
from sagevocab.vocab.pieces import FIRST_PIECE_ID, SPECIAL_TOKENS, UNKNOWN_ID
from sagevocab.vocab.segment import UNCOVERED, GreedySegmenter, load_segmenter, read_description
from sagevocab.vocab.words import Normalizer, split_words

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_LINES_A_BATCH = 4096
_REMEMBERED_WORDS = 1_000_000


def load(path: str | Path) -> Encoder:
    """Load a tokenizer: a folder of this project or of Hugging Face, a `.model`, a list of pieces.

    A model or a list gets the ids that `sagevocab export` gives it.

    Raises:
        UserError: it is none of these.
    """
    path = Path(path)
    if path.is_dir() or path.suffix == ".json":
        return Encoder(load_hub(path, "tokenizer"), _greedy_words(path))
    with tempfile.TemporaryDirectory(prefix="sagevocab-") as folder:
        import_foreign(path, folder, WordSettings())
        return Encoder(load_hub(Path(folder), "tokenizer"), _greedy_words(Path(folder)))


def import_foreign(path: str | Path, folder: str | Path, words: WordSettings) -> None:
    """Bring a tokenizer from elsewhere into `folder`; its model card says where it is from."""
    card = Card("und", "Unnamed language", f"`{path_text(Path(path).name)}`, imported")
    import_external(path, folder, words, card, "tokenizer")


class Encoder:
    """A tokenizer that encodes many lines; special tokens are not added."""

    def __init__(self, tokenizer: Tokenizer, words: _GreedyWords | None = None) -> None:
        """Wrap a tokenizer; `words` encodes what has no special token in it, and faster."""
        self._tokenizer, self._words = tokenizer, words
        tokenizer.no_padding()
        tokenizer.no_truncation()
        numbers = tokenizer.get_vocab(with_added_tokens=True)
        self._tokens = {number: token for token, number in numbers.items()}

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text."""
        return next(self.encode_lines([text]))

    def tokenize(self, text: str) -> list[str]:
        """Return the pieces of a text, `[UNK]` for a character without one."""
        return self.names(self.encode(text))

    def names(self, ids: Iterable[int]) -> list[str]:
        """Return the pieces of ids."""
        tokens = self._tokens
        return [tokens[number] for number in ids]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, without special tokens."""
        return self._tokenizer.decode(list(ids), skip_special_tokens=True)

    def encode_lines(self, lines: Iterable[str]) -> Iterator[list[int]]:
        """Yield the ids of each line."""
        rest = iter(lines)
        while batch := list(itertools.islice(rest, _LINES_A_BATCH)):
            yield from self._encode_batch(batch)

    def _encode_batch(self, lines: list[str]) -> list[list[int]]:
        if self._words is None:
            return self._encode_whole(lines)
        marked = [any(token in line for token in SPECIAL_TOKENS) for line in lines]
        if not any(marked):
            return self._words.encode(lines)
        parts = [list(itertools.compress(lines, marked))]
        parts.append([line for line, mark in zip(lines, marked, strict=True) if not mark])
        whole, plain = iter(self._encode_whole(parts[0])), iter(self._words.encode(parts[1]))
        return [next(whole if mark else plain) for mark in marked]

    def _encode_whole(self, lines: list[str]) -> list[list[int]]:
        encodings = self._tokenizer.encode_batch_fast(lines, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]


def _greedy_words(folder: Path) -> _GreedyWords | None:
    """Return the fast way through `folder`, if it is one of ours and greedy."""
    config = folder / "tokenizer_config.json"
    if not config.exists() or '"sagevocab"' not in config.read_text(encoding="utf-8"):
        return None
    described = read_description(folder)
    if described["method"] != "greedy":
        return None
    segmenter = load_segmenter(folder)
    return _GreedyWords(segmenter, described["normalization"], described["max_word_chars"])


class _GreedyWords:
    """Encodes text without special tokens; each distinct word is segmented once."""

    def __init__(self, segmenter: GreedySegmenter, normalization: str, max_word_chars: int) -> None:
        self._segmenter, self._normalizer = segmenter, Normalizer(normalization)
        self._max_word_chars = max_word_chars
        self._known: dict[str, list[int]] = {}

    def encode(self, lines: Iterable[str]) -> list[list[int]]:
        limit = self._max_word_chars
        words = [split_words(self._normalizer(line), limit) for line in lines]
        self._learn(words)
        known = self._known.__getitem__
        return [list(itertools.chain.from_iterable(map(known, line))) for line in words]

    def _learn(self, lines: list[list[str]]) -> None:
        if len(self._known) > _REMEMBERED_WORDS:
            self._known.clear()
        seen = dict.fromkeys(itertools.chain.from_iterable(lines))
        new = [word for word in seen if word not in self._known]
        numbers, offsets = self._segmenter.segment_words(new)
        ids = np.where(numbers == UNCOVERED, UNKNOWN_ID, numbers + FIRST_PIECE_ID).tolist()
        ends = offsets.tolist()
        for number, word in enumerate(new):
            self._known[word] = ids[ends[number] : ends[number + 1]]
