"""Which pieces of a tokenizer's model can go, and what stands in their place.

A piece goes only if every text that is cut without it is cut the same afterwards:

- BPE: no merge that is left may need the piece. In any text a piece is made by the merge that its
  string alone is made by, so a word whose cut does not hold the piece never used its merges.
- Unigram: the best cut of a text, if it does not hold the piece, stays the best one.
- WordPiece: the longest piece at each place stays the longest. One thing can change: a word that
  was unknown because the piece led to a dead end may be spelt afterwards.

A piece that the others cannot spell stays.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sagevocab.errors import UserError
from sagevocab.huggingface.markers import merges_of

Spec = Mapping[str, Any]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


class Model(ABC):
    """The pieces of a model that are left; `protected` ones never go."""

    def __init__(self, ids: Mapping[str, int], protected: Iterable[str]) -> None:
        """Begin with all pieces: `ids` by piece."""
        self.ids = dict(ids)
        self.left = set(self.ids)
        self.protected = set(protected)

    @abstractmethod
    def parts(self, piece: str) -> Sequence[str] | None:
        """Return the pieces that are left and spell a piece without it; None if none do."""

    @abstractmethod
    def reduced(self) -> dict[str, Any]:
        """Return the model's part of a tokenizer.json for the pieces left, ids closed up."""

    def can_go(self, piece: str) -> bool:
        """Whether a piece may go now."""
        return piece in self.left and piece not in self.protected

    def take_away(self, piece: str) -> Iterable[str]:
        """Take a piece away; return those that may go only now."""
        self.left.discard(piece)
        return ()

    def _closed_up(self) -> dict[str, int]:
        """Return new ids of the pieces left, in the order of the old ones."""
        kept = sorted(self.left, key=self.ids.__getitem__)
        return {piece: number for number, piece in enumerate(kept)}

    @property
    def gone(self) -> set[str]:
        """The pieces that were taken away."""
        return self.ids.keys() - self.left


def model_of(spec: Spec, protected: Iterable[str], name: str) -> Model:
    """Return the model of a tokenizer.json.

    Args:
        spec: the parsed file.
        protected: pieces that never go.
        name: of the tokenizer, for messages.

    Raises:
        UserError: models of its kind cannot be pruned exactly.
    """
    kind = spec["model"].get("type")
    if kind not in _KINDS:
        raise UserError(f"{name}: a {kind} model cannot be pruned; give BPE, Unigram or WordPiece")
    if kind == "BPE" and spec["model"].get("continuing_subword_prefix"):
        raise UserError(
            f"{name}: a BPE that marks the inside of words cannot be pruned; give another"
        )
    return _KINDS[kind](spec["model"], protected)


# --- BPE


class Bpe(Model):
    """Byte-pair encoding: of letters, bytes, or letters with bytes for those it lacks."""

    def __init__(self, model: Spec, protected: Iterable[str]) -> None:
        """Find the merge that makes each piece, and the pieces that merges need."""
        super().__init__(model["vocab"], {*protected, model.get("unk_token")})
        self._model = model
        self._suffix = model.get("end_of_word_suffix") or ""
        self._falls_back = bool(model.get("byte_fallback")) and self.ids.keys() >= {*BYTES}
        self._merges = merges_of(model)
        self._rank = {merge: rank for rank, merge in reversed([*enumerate(self._merges)])}
        self._making: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for merge in self._rank:
            self._making["".join(merge)].append(merge)
        # A piece whose merge is tried first where its string stands is cut only by that merge.
        self._cut: dict[str, tuple[str, ...]] = {}
        self._needed: Counter[str] = Counter()
        for piece in self.ids:
            cut = self._cut[piece] = self._cut_without(piece)
            if cut in self._rank:
                self._needed.update(cut)

    def _cut_without(self, piece: str) -> tuple[str, ...]:
        """Return how the string of a piece is cut without the merges that make the piece."""
        making = self._making.get(piece, ())
        if len(making) == 1 and not self._model.get("ignore_merges"):
            return making[0]
        symbols = self._symbols(piece)
        while True:
            found = [
                (self._rank[pair], at)
                for at, pair in enumerate(zip(symbols, symbols[1:], strict=False))
                if pair in self._rank and pair not in making
            ]
            if not found:
                return tuple(symbols)
            at = min(found)[1]
            symbols[at : at + 2] = ["".join(symbols[at : at + 2])]

    def _symbols(self, piece: str) -> list[str]:
        """Return what merges begin with: letters, the last one with the suffix of a word's end."""
        if not self._suffix or not piece.endswith(self._suffix) or piece == self._suffix:
            return list(piece)
        letters = list(piece.removesuffix(self._suffix))
        return [*letters[:-1], letters[-1] + self._suffix]

    def can_go(self, piece: str) -> bool:
        """Whether a piece may go now: it is no symbol that texts need, and no merge needs it."""
        return super().can_go(piece) and not self._needed[piece]

    def parts(self, piece: str) -> Sequence[str] | None:
        """Return the pieces that are left and spell a piece without it; None if none do."""
        cut = self._cut[piece]
        if cut == (piece,):
            if not self._falls_back or len(piece) > 1:
                return None
            return [f"<0x{byte:02X}>" for byte in piece.encode()]
        spelt: list[str] = []
        for part in cut:
            found = [part] if part in self.left else self.parts(part) if part in self.ids else None
            if found is None:
                return None
            spelt += found
        return spelt

    def take_away(self, piece: str) -> Iterable[str]:
        """Take a piece away; return those that may go only now."""
        super().take_away(piece)
        cut = self._cut[piece]
        if cut not in self._rank:
            return []
        self._needed.subtract(cut)
        return [part for part in {*cut} if self.can_go(part)]

    def reduced(self) -> dict[str, Any]:
        """Return the model's part of a tokenizer.json for the pieces left, ids closed up."""
        merges = [
            given
            for given, (left, right) in zip(self._model["merges"], self._merges, strict=True)
            if {left, right, left + right} <= self.left
        ]
        return {**self._model, "vocab": self._closed_up(), "merges": merges}


# --- Unigram


class Unigram(Model):
    """A unigram language model: the cut of highest score."""

    def __init__(self, model: Spec, protected: Iterable[str]) -> None:
        """Keep the unknown token, and the lowest score, from which its score is taken."""
        self._model = model
        self._scores = {piece: score for piece, score in model["vocab"]}
        ids = {piece: number for number, (piece, _) in enumerate(model["vocab"])}
        unknown = model.get("unk_id")
        stays = {min(self._scores, key=self._scores.__getitem__)}
        stays |= set() if unknown is None else {model["vocab"][unknown][0]}
        super().__init__(ids, {*protected, *stays})
        self._falls_back = bool(model.get("byte_fallback")) and ids.keys() >= {*BYTES}
        self._longest = max(map(len, ids))

    def parts(self, piece: str) -> Sequence[str] | None:
        """Return the pieces that are left and spell a piece without it; None if none do."""
        best: list[tuple[float, int]] = [(0.0, 0)] + [(-math.inf, 0)] * len(piece)
        for end in range(1, len(piece) + 1):
            for start in range(max(0, end - self._longest), end):
                part = piece[start:end]
                if part == piece or part not in self.left:
                    continue
                score = best[start][0] + self._scores[part]
                if score > best[end][0]:
                    best[end] = score, start
        if best[-1][0] == -math.inf:
            if len(piece) > 1 or not self._falls_back:
                return None
            return [f"<0x{byte:02X}>" for byte in piece.encode()]
        parts, end = [], len(piece)
        while end:
            start = best[end][1]
            parts.append(piece[start:end])
            end = start
        return parts[::-1]

    def reduced(self) -> dict[str, Any]:
        """Return the model's part of a tokenizer.json for the pieces left, ids closed up."""
        vocab = [entry for entry in self._model["vocab"] if entry[0] in self.left]
        reduced = {**self._model, "vocab": vocab}
        if (unknown := self._model.get("unk_id")) is not None:
            before = self._model["vocab"][:unknown]
            reduced["unk_id"] = unknown - sum(piece not in self.left for piece, _ in before)
        return reduced


# --- WordPiece


class WordPiece(Model):
    """Greedy longest match within words, whose later pieces have a prefix."""

    def __init__(self, model: Spec, protected: Iterable[str]) -> None:
        """Keep the unknown token."""
        super().__init__(model["vocab"], {*protected, model["unk_token"]})
        self._model = model
        self._prefix = model["continuing_subword_prefix"]

    def parts(self, piece: str) -> Sequence[str] | None:
        """Return the pieces that are left and spell a piece without it; None if none do."""
        prefix = self._prefix if piece.startswith(self._prefix) else ""
        rest, parts = piece.removeprefix(prefix), []
        while rest:
            ends = range(len(rest), 0, -1)
            found = (
                (prefix + rest[:end], end)
                for end in ends
                if prefix + rest[:end] != piece and prefix + rest[:end] in self.left
            )
            part, end = next(found, (None, 0))
            if part is None:
                return None
            parts.append(part)
            rest, prefix = rest[end:], self._prefix
        return parts or None

    def reduced(self) -> dict[str, Any]:
        """Return the model's part of a tokenizer.json for the pieces left, ids closed up."""
        return {**self._model, "vocab": self._closed_up()}


_KINDS = {"BPE": Bpe, "Unigram": Unigram, "WordPiece": WordPiece}
