"""SaGe in plain Python: Equation 1 and Algorithm 3 by brute force, to read and to test against.

Nothing here is fast and nothing here uses the rest of the library, which computes the same numbers.

An example by hand. Four lines, four pieces beside the single characters, a window of one token:

    >>> lines = ["new day", "new days", "old days", "days"]
    >>> pieces = [*"▁newoldays", "▁new", "▁old", "▁day", "▁days"]
    >>> pieces = list(dict.fromkeys(pieces))
    >>> [tokens_of(line, pieces) for line in lines]
    [['▁new', '▁day'], ['▁new', '▁days'], ['▁old', '▁days'], ['▁days']]

Let the vectors be single numbers, 0 but for two pieces that go well together: `▁day` and `s`, whose
product is log 3. So a pair of these two costs -log sigma(log 3) = log(4/3) = 0.29, every other pair
-log sigma(0) = log 2 = 0.69. There are three couples of neighbours, each a pair from both sides:

    >>> vectors = {piece: [0.0] for piece in pieces} | {"▁day": [1.0], "s": [math.log(3)]}
    >>> model = vectors, vectors, 1
    >>> round(loss(lines, pieces, *model), 3), round(6 * math.log(2), 3)
    (4.159, 4.159)

Without `▁days` its three lines read `▁new ▁day s`, `▁old ▁day s` and `▁day s`: each gains the two
pairs of `▁day` and `s`. Without `▁day` the first line reads `▁new ▁ d a y`: it gains six pairs.

    >>> tokens_of("new days", set(pieces) - {"▁days"})
    ['▁new', '▁day', 's']
    >>> round(ablation_loss("▁days", lines, pieces, *model), 3), round(6 * math.log(4 / 3), 3)
    (1.726, 1.726)
    >>> round(ablation_loss("▁day", lines, pieces, *model), 3), round(6 * math.log(2), 3)
    (4.159, 4.159)

`▁old` stands in one line too and costs as much; of equal losses the later piece goes first. `▁new`
stands in two lines. So the ranking, of which SaGe prunes the first k, is:

    >>> ranking(lines, pieces, *model)
    ['▁days', '▁day', '▁old', '▁new']

By counts alone `▁day` and `▁old` would go first, with one occurrence each. The context keeps them:
`▁days` is cheap to spell, since `s` is at home behind `▁day`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

Vectors = Mapping[str, Sequence[float]]
Train = Callable[[list[str]], tuple[Vectors, Vectors]]


def greedy(word: str, vocabulary: Collection[str]) -> list[str | None]:
    """Segment a word by longest match from the left; a character without a piece is None."""
    tokens: list[str | None] = []
    while word:
        lengths = range(len(word), 0, -1)
        length = next((n for n in lengths if word[:n] in vocabulary), None)
        tokens.append(word[:length] if length else None)
        word = word[length or 1 :]
    return tokens


def tokens_of(line: str, vocabulary: Collection[str]) -> list[str | None]:
    """Segment a line: `▁` opens each word, and words are segmented independently (Section 3)."""
    return [token for word in line.split() for token in greedy(f"▁{word}", vocabulary)]


def pair_losses(
    tokens: Sequence[str | None], target: Vectors, context: Vectors, window: int
) -> float:
    """Return the terms of Equation 1 for one line, summed.

    -log sigma(E_T[x_i] . E_C[x_j]) for all positions i, j with 0 < |i - j| <= window.
    """
    terms = []
    for i, x in enumerate(tokens):
        for j, y in enumerate(tokens):
            if 0 < abs(i - j) <= window and x is not None and y is not None:
                product = math.fsum(a * b for a, b in zip(target[x], context[y], strict=True))
                terms.append(math.log1p(math.exp(-product)))
    return math.fsum(terms)


def loss(
    lines: Sequence[str],
    vocabulary: Collection[str],
    target: Vectors,
    context: Vectors,
    window: int,
) -> float:
    """Return L(V, C) of Equation 1."""
    segmented = [tokens_of(line, vocabulary) for line in lines]
    return math.fsum(pair_losses(tokens, target, context, window) for tokens in segmented)


def ablation_loss(
    piece: str,
    lines: Sequence[str],
    vocabulary: Collection[str],
    target: Vectors,
    context: Vectors,
    window: int,
) -> float:
    """Return loss_t = L(V without t, C) - L(V, C) (Section 3)."""
    model = target, context, window
    return loss(lines, set(vocabulary) - {piece}, *model) - loss(lines, vocabulary, *model)


def ranking(
    lines: Sequence[str],
    pieces: Sequence[str],
    target: Vectors,
    context: Vectors,
    window: int,
    among: Collection[str] | None = None,
) -> list[str]:
    """Return pieces by ascending loss, of equal ones the later first; never single characters.

    Args:
        lines: of the text.
        pieces: of the vocabulary.
        target: E_T, by piece.
        context: E_C.
        window: W of Equation 1.
        among: the pieces to rank; all if left out.
    """
    prunable = [piece for piece in pieces if len(piece.removeprefix("▁")) > 1]
    ranked = [piece for piece in prunable if among is None or piece in among]
    model = target, context, window
    # Equal up to rounding is equal: the sums of two pieces have their terms in another order.
    losses = {piece: round(ablation_loss(piece, lines, pieces, *model), 9) for piece in ranked}
    return sorted(ranked, key=lambda piece: (losses[piece], -pieces.index(piece)))


def sage(
    lines: Sequence[str],
    pieces: Sequence[str],
    train: Train,
    *,
    vocab_size: int,
    prune_batch: int,
    candidates: int,
    rerank_every: int,
    retrain_every: int,
    window: int,
) -> list[str]:
    """Prune `pieces` to `vocab_size` as Algorithm 3 is printed; return those left.

    Args:
        lines: of the text.
        pieces: of the initial vocabulary.
        train: returns target and context embeddings of the pieces given.
        vocab_size: the paper's V.
        prune_batch: k, pieces that go at once.
        candidates: M, pieces whose losses are computed anew.
        rerank_every: m, batches between rankings of all pieces.
        retrain_every: l, batches between trainings.
        window: W of Equation 1.

    Returns:
        The pieces that are left.
    """
    left, batch, lowest = list(pieces), 0, []
    while len(left) > vocab_size:
        if batch % (retrain_every * rerank_every) == 0:
            model = *train(left), window
        if batch % rerank_every == 0:
            lowest = ranking(lines, left, *model)[:candidates]
        else:
            lowest = ranking(lines, left, *model, among=lowest)
        pruned = lowest[: min(prune_batch, len(left) - vocab_size)]
        left = [piece for piece in left if piece not in pruned]
        lowest = [piece for piece in lowest if piece not in pruned]
        batch += 1
    return left
