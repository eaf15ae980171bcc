"""What the released programs compute, by brute force, written to be read beside `oracle.py`.

Only what decides about a token's loss is here; the golden files say that it is all there is to it.
A line is the list of its words, each with its `▁`; tokens are strings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import oracle


def pair_loss(x: str, y: str, vectors: oracle.Vectors) -> float:
    """-log sigma(x . y): both programs have one matrix for targets and contexts."""
    dot = math.fsum(a * b for a, b in zip(vectors[x], vectors[y], strict=True))
    return math.log1p(math.exp(-dot))


# --- sage-tokenizer 2.0


def ablated(tokens: Sequence[str], at: int, vocabulary: frozenset[str]) -> tuple[list[str], int]:
    """The tokens that replace tokens[at], and the end of what they replace.

    The occurrence is opened by something shorter than itself; from there on the whole vocabulary
    serves, the ablated piece too, until a token ends where one ended before.
    """
    text = "".join(tokens[at:])
    ends = {len("".join(tokens[at:end])): end for end in range(at + 1, len(tokens) + 1)}
    n = next(n for n in range(len(tokens[at]) - 1, 0, -1) if text[:n] in vocabulary)
    new = [text[:n]]
    while n not in ends:
        longest = max(m for m in range(1, len(text) - n + 1) if text[n : n + m] in vocabulary)
        new.append(text[n : n + longest])
        n += longest
    return new, ends[n]


def changed_pairs(
    left: list[str], middle: list[str], right: list[str], window: int, vectors: oracle.Vectors
) -> float:
    """The loss of the pairs, from both sides, of which at least one token is in the middle."""
    tokens = left + middle + right
    inside = range(len(left), len(left) + len(middle))
    return math.fsum(
        pair_loss(tokens[i], tokens[j], vectors)
        for i in range(len(tokens))
        for j in range(max(0, i - window), min(len(tokens), i + window + 1))
        if i != j and (i in inside or j in inside)
    )


def spanning_pairs(
    left: list[str], middle: list[str], right: list[str], window: int, vectors: oracle.Vectors
) -> float:
    """The loss of the pairs, from both sides, that have the middle between them."""
    tokens = left + middle + right
    return math.fsum(
        pair_loss(tokens[i], tokens[j], vectors) + pair_loss(tokens[j], tokens[i], vectors)
        for i in range(len(left))
        for j in range(len(left) + len(middle), min(len(tokens), i + window + 1))
    )


def sage_tokenizer_losses(
    lines: Sequence[Sequence[str]], vocabulary: frozenset[str], vectors: oracle.Vectors, window: int
) -> dict[str, float]:
    """Each occurrence is ablated by itself; a piece's losses are added up."""
    losses: dict[str, float] = {}
    for line in lines:
        tokens = oracle.greedy("".join(line), vocabulary)
        for at, piece in enumerate(tokens):
            if len(piece) == 1:
                continue
            new, end = ablated(tokens, at, vocabulary)
            left, right = tokens[max(0, at - window) : at], tokens[end : end + window]
            losses[piece] = (
                losses.get(piece, 0.0)
                + changed_pairs(left, new, right, window, vectors)
                - changed_pairs(left, tokens[at:end], right, window, vectors)
            )
    return losses


# --- SaGe 1.0


def next_word(tokens: Sequence[str], at: int) -> int:
    """Where the next word begins after tokens[at]; `at` itself if that is the last token."""
    if at + 1 >= len(tokens):
        return at
    return next((i for i in range(at + 1, len(tokens)) if tokens[i][0] == "▁"), len(tokens))


def targets_loss(
    tokens: Sequence[str], first: int, last: int, window: int, vectors: oracle.Vectors
) -> float:
    """The loss of the targets first..last-1 with all their contexts."""
    return math.fsum(
        pair_loss(tokens[i], tokens[j], vectors)
        for i in range(max(first, 0), min(last, len(tokens)))
        for j in range(max(i - window, 0), min(i + window + 1, len(tokens)))
        if i != j
    )


def sage_1_line_loss(
    piece: str, before: Sequence[str], after: Sequence[str], window: int, vectors: oracle.Vectors
) -> float:
    """The loss of `piece` on one line, whose tokens are `before` and, encoded anew, `after`.

    Occurrence by occurrence: the targets within the window of the old token are taken away, those
    around the new tokens are added. An occurrence counts nothing if the tokens before it in its
    window are not what they were.
    """
    loss, shift = 0.0, 0
    for at in (i for i, token in enumerate(before) if token == piece):
        now = at + shift
        growth = next_word(after, now) - next_word(before, at) - shift
        shift += growth
        old_window = [*before[max(at - window, 0) : at], *before[at + 1 : at + window + 1]]
        left = min(window, now)
        if list(after[now - left : now]) == old_window[:left]:
            loss -= targets_loss(before, at - window, at + window + 1, window, vectors)
            end = min(now + window + 1, len(after)) + growth
            loss += targets_loss(after, now - window, end, window, vectors)
    return loss


def sage_1_losses(
    lines: Sequence[Sequence[str]],
    pieces: Sequence[str],
    considered: Sequence[str],
    segment: oracle.Segment,
    vectors: oracle.Vectors,
    window: int,
) -> dict[str, float]:
    """The mean loss of each considered piece over the lines that hold it as a string.

    pieces: the vocabulary. A line is encoded anew with the *considered* pieces and single
    characters only, so that every other piece falls apart in it, wherever it stands.
    """
    vocabulary = frozenset(pieces)
    characters = {piece for piece in pieces if len(piece) == 1}
    known = [oracle.tokens_of(line, segment, vocabulary) for line in lines]
    losses = {}
    for piece in considered:
        left = frozenset(considered) - {piece} | characters
        holding = [n for n, line in enumerate(lines) if piece in "".join(line)]
        each = [
            sage_1_line_loss(
                piece, known[n], oracle.tokens_of(lines[n], segment, left), window, vectors
            )
            if piece in known[n]
            else 0.0
            for n in holding
        ]
        if each:
            losses[piece] = math.fsum(each) / len(each)
    return losses


def sage_1(
    lines: Sequence[Sequence[str]],
    pieces: Sequence[str],
    segment: oracle.Segment,
    vectors: oracle.Vectors,
    settings: Mapping[str, int],
    window: int = 5,
) -> Iterator[dict]:
    """The batches of a run: the losses, and the pieces pruned."""
    left, batches, bottom = list(pieces), 0, []
    while len(left) > settings["final"]:
        ranking = batches % settings["rerank"] == 0
        considered = [p for p in (left if ranking else bottom) if len(p.removeprefix("▁")) > 1]
        losses = sage_1_losses(lines, left, considered, segment, vectors, window)
        order = sorted(losses, key=losses.__getitem__)  # stable: equal losses keep their order
        if ranking:
            bottom = order[: settings["consider"]]
        pruned = order[: settings["prune"]]
        left = [piece for piece in left if piece not in pruned]
        bottom = [piece for piece in bottom if piece not in pruned]
        batches += 1
        yield {"losses": list(losses.items()), "pruned": pruned}
