"""SaGe by brute force in every reading: `sagevocab.reference` with merges, means and push-back.

Nothing here knows the fast engine. A sentence is a list of words, a token is a piece (a string), or
None where a character has no piece, embeddings are dicts from piece to list of floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sagevocab.reference import greedy as greedy
from sagevocab.reference import pair_losses

Token = str | None
Sentence = Sequence[str]
Segment = Callable[[str, "frozenset[str]"], list[Token]]
Vectors = Mapping[str, Sequence[float]]


def merges_segmenter(merges: Sequence[tuple[str, str]], full: frozenset[str]) -> Segment:
    """Byte-pair merges by rank; then pieces outside the vocabulary fall apart, recursively."""
    ranks = {pair: rank for rank, pair in reversed(list(enumerate(merges)))}

    def fall_apart(tree, vocabulary: frozenset[str]) -> list[Token]:
        piece, parts = tree
        if piece in vocabulary:
            return [piece]
        return [token for part in parts for token in fall_apart(part, vocabulary)] or [None]

    def segment(word: str, vocabulary: frozenset[str]) -> list[Token]:
        trees = [(character, ()) for character in word]
        while True:
            pairs = [(a[0], b[0]) for a, b in zip(trees, trees[1:], strict=False)]
            known = [(ranks[pair], at) for at, pair in enumerate(pairs) if pair in ranks]
            known = [(r, at) for r, at in known if all(p in full for p in pairs[at])]
            if not known:
                return [token for tree in trees for token in fall_apart(tree, vocabulary)]
            at = min(known)[1]
            a, b = trees[at : at + 2]
            trees[at : at + 2] = [(a[0] + b[0], (a, b))]

    return segment


def tokens_of(sentence: Sentence, segment: Segment, vocabulary: frozenset[str]) -> list[Token]:
    return [token for word in sentence for token in segment(word, vocabulary)]


def line_losses(
    piece: str, sentences: Sequence[Sentence], segment: Segment, vocabulary: frozenset[str],
    target: Vectors, context: Vectors, window: int,
) -> list[float | None]:  # fmt: skip
    """Each sentence's loss without `piece` less that with it; None: it has no such token."""
    losses: list[float | None] = []
    for sentence in sentences:
        before = tokens_of(sentence, segment, vocabulary)
        after = tokens_of(sentence, segment, vocabulary - {piece})
        gain = [pair_losses(tokens, target, context, window) for tokens in (after, before)]
        losses.append(gain[0] - gain[1] if piece in before else None)
    return losses


def lowest(pieces: Sequence[str], losses: Mapping[str, float], n: int) -> list[str]:
    """The n pieces of lowest loss, equal losses in descending order of position in `pieces`."""
    position = {piece: number for number, piece in enumerate(pieces)}
    return sorted(losses, key=lambda piece: (losses[piece], -position[piece]))[:n]


def line_hash(key: int, line: int) -> int:
    """splitmix64's finaliser over a piece's key and a line's number."""
    x = key ^ line
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def choose(key: int, member: Sequence[bool], n: int | None) -> list[bool]:
    """Mark the n member lines of lowest hash; without n, all of them."""
    lines = sorted((at for at, m in enumerate(member) if m), key=lambda at: line_hash(key, at))
    return [at in set(lines[:n]) for at in range(len(member))]


@dataclass(frozen=True)
class Reading:
    """How `loss_t` is read: `reading`, at most `lines` lines each, drawn by the pieces' `keys`."""

    reading: str
    lines: int | None
    keys: Mapping[str, int]

    def member(self, piece: str, losses: Sequence[float | None], sentences: Sequence[Sentence]):
        """The sentences that the mean is over, before the sample."""
        if self.reading == "mean_string_lines":
            return [any(piece in word for word in sentence) for sentence in sentences]
        return [loss is not None for loss in losses]

    def loss(
        self, piece: str, losses: Sequence[float | None], sentences: Sequence[Sentence]
    ) -> float:
        if self.reading == "total":
            return math.fsum(loss for loss in losses if loss is not None)
        chosen = choose(self.keys[piece], self.member(piece, losses, sentences), self.lines)
        counted = [loss or 0.0 for loss, c in zip(losses, chosen, strict=True) if c]
        return math.fsum(counted) / len(counted) if counted else 0.0


def sage(
    sentences: Sequence[Sentence],
    pieces: Sequence[str],
    segment: Segment,
    train: Callable[[list[str]], tuple[Vectors, Vectors]],
    reading: Reading,
    *,
    final: int, k: int, M: int, m: int, l: int, window: int,  # noqa: E741, N803
    shared: bool, retrain: bool, push_back: bool,
) -> tuple[list[str], list[tuple]]:  # fmt: skip
    """Algorithm 3, line by line; returns the pieces left and (iteration, piece, loss) of others."""
    left, record, i = list(pieces), [], 0
    bottom: dict[str, float] = {}
    while len(left) > final:
        if i == 0 or (retrain and i % (l * m) == 0):
            target, context = train(left)
            context = target if shared else context
        vocabulary = frozenset(left)

        def losses_of(piece, vocabulary=vocabulary, target=target, context=context):
            return line_losses(piece, sentences, segment, vocabulary, target, context, window)

        if i % m == 0:
            considered = [piece for piece in left if len(piece.lstrip("▁")) > 1]
            losses = {p: reading.loss(p, losses_of(p), sentences) for p in considered}
            bottom = {p: losses[p] for p in lowest(pieces, losses, M)}
            order = list(bottom)
        elif push_back:
            opens = {p: _opens_a_line(p, losses_of(p), sentences, segment, vocabulary, reading)
                     for p in bottom}  # fmt: skip
            order = sorted(bottom, key=lambda piece: opens[piece])  # stable
        else:
            bottom = {p: reading.loss(p, losses_of(p), sentences) for p in bottom}
            order = lowest(pieces, bottom, len(bottom))
        for piece in order[: min(k, len(left) - final)]:
            record.append((i, piece, bottom.pop(piece)))
            left.remove(piece)
        i += 1
    return left, record


def _opens_a_line(piece, losses, sentences, segment, vocabulary, reading: Reading) -> bool:
    member = reading.member(piece, losses, sentences)
    chosen = choose(reading.keys[piece], member, reading.lines)
    return any(
        c and tokens_of(sentence, segment, vocabulary)[0] == piece
        for c, sentence in zip(chosen, sentences, strict=True)
    )
