"""Words of held-out lines that a masked language model predicts, so that vocabularies compare.

Whatever the tokenizer, a model predicts the same words (separated by white space) of every line:
the share `lm.pretrain.mask_rate` of them, at least one, drawn from the seed, the line's place and
its number of words. Each word is encoded by itself, as in tagging, and the line becomes a row:

    [CLS] t t t t … t [SEP]

An asked word is left out under a tokenizer that gives it an unknown piece or none, or that puts it
beyond the longest row. Comparisons pair the lines of which two tokenizers keep as many words and
characters.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sagevocab.corpus.text import read_lines
from sagevocab.errors import UserError
from sagevocab.files import read_npz, write_npz

if TYPE_CHECKING:  # it loads transformers, which tables and figures do without
    from reproduction.lm.tokenizer import TextEncoder

FILE = "heldout.npz"
_ASKED = 7  # its own random stream beside those of training
_WORD = ["row", "start", "pieces", "characters"]  # the columns of `asked` in the file


@dataclass(frozen=True)
class HeldoutSettings:
    """Which words are predicted.

    lines: how many held-out lines, at even distances. rate: share of a line's words (at least one
    is predicted). seed: draws them.
    """

    lines: int
    rate: float
    seed: int


@dataclass(frozen=True)
class HeldoutWords:
    """Held-out lines as one tokenizer's ids, and the words asked in them.

    Attributes:
        lines: int64[lines], where each stands in the held-out text.
        rows: the ids of each line, [CLS] and [SEP] included.
        words: one row a word asked, by line: row (0, 1, ...), start (place of the word's first
            piece in the row), pieces, characters (how many of each).
        mask: the id that hides a piece.
    """

    lines: np.ndarray
    rows: list[np.ndarray]
    words: pd.DataFrame
    mask: int

    def pieces(self) -> pd.DataFrame:
        """Return the pieces of the words asked, one row each.

        Columns: row and pieces, of its word; word (0, 1, ...); place in the word, position in the
        row (both from 0); piece, its id.
        """
        words = self.words[["row", "start", "pieces"]].rename_axis("word").reset_index()
        frame = words.loc[words.index.repeat(words["pieces"])].reset_index(drop=True)
        frame["place"] = frame.groupby("word").cumcount()
        frame["position"] = frame.pop("start") + frame["place"]
        ids = np.concatenate([*self.rows, np.zeros(0, dtype=np.int64)])
        begins = np.cumsum([0, *map(len, self.rows)])
        at = begins[frame["row"]] + frame["position"]
        return frame.assign(piece=ids[at])

    def by_word(self, of_pieces: ArrayLike, pieces: pd.DataFrame) -> np.ndarray:
        """Return the sums of a value of every piece of `pieces`: float64[words]."""
        return np.bincount(pieces["word"], weights=of_pieces, minlength=len(self.words))

    def by_line(self, **of_words: ArrayLike) -> pd.DataFrame:
        """Return one row a line: line, words, characters and the sums of values of every word."""
        own = {"words": np.ones(len(self.words)), "characters": self.words["characters"]}
        sums = {
            name: np.bincount(self.words["row"], weights=values, minlength=len(self.lines))
            for name, values in (own | of_words).items()
        }
        return pd.DataFrame({"line": self.lines} | sums).astype(dict.fromkeys(own, np.int64))


def write_heldout(
    path: str | Path,
    text: str | Path,
    encoder: TextEncoder,
    settings: HeldoutSettings,
    *,
    sequence_length: int,
) -> dict[str, int]:
    """Write what `encoder` makes of lines of the held-out `text`.

    Returns the numbers of lines, of words asked and of words left out.

    Raises:
        UserError: the text can't be read.
    """
    chosen = _spread([line.split() for line in read_lines(text)], settings.lines)
    rows, asked, drawn = [], [], 0
    for row, (number, words) in enumerate(chosen):
        ids = encoder.encode(words)
        starts = np.cumsum([1, *map(len, ids)])
        places = asked_words(len(words), number, settings)
        drawn += len(places)
        asked += [
            (row, starts[place], len(ids[place]), len(words[place]))
            for place in places
            if ids[place] and encoder.unk not in ids[place] and starts[place + 1] < sequence_length
        ]
        body = [token for word in ids for token in word]
        rows.append([encoder.cls, *body[: sequence_length - 2], encoder.sep])
    write_npz(
        path,
        tokenizer=np.array(encoder.digest),
        lines=np.array([number for number, _ in chosen], dtype=np.int64),
        ids=np.array([token for row in rows for token in row], dtype=np.uint32),
        offsets=np.cumsum([0, *map(len, rows)], dtype=np.int64),
        asked=np.array(asked, dtype=np.int32).reshape(-1, 4),
    )
    return {"lines": len(rows), "words": len(asked), "left_out": drawn - len(asked)}


def asked_words(words: int, line: int, settings: HeldoutSettings) -> np.ndarray:
    """Return which of a line's words are predicted, ascending, whatever the tokenizer."""
    count = min(words, max(1, round(settings.rate * words)))
    rng = np.random.default_rng([settings.seed, _ASKED, line])
    return np.sort(rng.choice(words, size=count, replace=False))


def _spread(lines: list[list[str]], wanted: int) -> list[tuple[int, list[str]]]:
    """Choose lines with words, at even distances; with their numbers (0, 1, ...)."""
    full = [(number, words) for number, words in enumerate(lines) if words]
    count = min(wanted, len(full))
    return [full[place * len(full) // count] for place in range(count)]


def open_heldout(folder: str | Path, encoder: TextEncoder) -> HeldoutWords:
    """Open the held-out words in the folder of a tokenizer's shards.

    Raises:
        UserError: they are missing, damaged or were made with another tokenizer than `encoder`.
    """
    path = Path(folder) / FILE
    arrays = read_npz(path)
    if str(arrays["tokenizer"]) != encoder.digest:
        raise UserError(
            f"{path}: these words were encoded with another tokenizer; delete the folder and build "
            "the shards with this one"
        )
    words = pd.DataFrame(arrays["asked"].astype(np.int64), columns=_WORD)
    rows = np.split(arrays["ids"].astype(np.int64), arrays["offsets"][1:-1])
    return HeldoutWords(arrays["lines"], rows[: len(arrays["lines"])], words, encoder.mask)
