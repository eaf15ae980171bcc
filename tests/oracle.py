"""SaGe by brute force: plain loops over whole sentences, to be read against the paper.

Nothing here knows the library. A sentence is a list of words, a token is a piece (a string), or
None where a character has no piece, embeddings are dicts from piece to list of floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

Token = str | None
Sentence = Sequence[str]
Segment = Callable[[str, "frozenset[str]"], list[Token]]
Vectors = Mapping[str, Sequence[float]]


def greedy(word: str, vocabulary: frozenset[str]) -> list[Token]:
    """Longest match from the left."""
    tokens: list[Token] = []
    while word:
        lengths = [n for n in range(len(word), 0, -1) if word[:n] in vocabulary]
        n = lengths[0] if lengths else 1
        tokens.append(word[:n] if lengths else None)
        word = word[n:]
    return tokens


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


def equation_1(tokens: Sequence[Token], target: Vectors, context: Vectors, window: int) -> float:
    """The loss of one sentence: every target, every context within the window, both sides."""
    terms = []
    for i, x in enumerate(tokens):
        for j, y in enumerate(tokens):
            if 0 < abs(i - j) <= window and x is not None and y is not None:
                dot = math.fsum(a * b for a, b in zip(target[x], context[y], strict=True))
                terms.append(-math.log(1 / (1 + math.exp(-dot))))
    return math.fsum(terms)


def line_losses(
    piece: str, sentences: Sequence[Sentence], segment: Segment, vocabulary: frozenset[str],
    target: Vectors, context: Vectors, window: int,
) -> list[float | None]:  # fmt: skip
    """Each sentence's loss without `piece` less that with it; None: it has no such token."""
    losses: list[float | None] = []
    for sentence in sentences:
        before = tokens_of(sentence, segment, vocabulary)
        after = tokens_of(sentence, segment, vocabulary - {piece})
        gain = [equation_1(tokens, target, context, window) for tokens in (after, before)]
        losses.append(gain[0] - gain[1] if piece in before else None)
    return losses


def holds_string(sentence: Sentence, piece: str) -> bool:
    return any(piece in word for word in sentence)


def read_losses(
    losses: Sequence[float | None], holding: Sequence[bool], reading: str, chosen: Sequence[bool]
) -> float:
    """One number out of the sentences' losses. `holding`: the sentences that have the string."""
    if reading == "total":
        return math.fsum(loss for loss in losses if loss is not None)
    member = [loss is not None for loss in losses] if reading == "mean_piece_lines" else holding
    counted = [loss or 0.0 for loss, m, c in zip(losses, member, chosen, strict=True) if m and c]
    return math.fsum(counted) / len(counted) if counted else 0.0


def lowest(pieces: Sequence[str], losses: Mapping[str, float], n: int) -> list[str]:
    """The n pieces of lowest loss, equal losses in descending order of position in `pieces`."""
    position = {piece: number for number, piece in enumerate(pieces)}
    return sorted(losses, key=lambda piece: (losses[piece], -position[piece]))[:n]
