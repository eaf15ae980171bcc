"""Whole rankings of pieces, taken again from the record of a pruning."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from sagevocab.corpus.words import WordCorpus
from sagevocab.errors import UserError
from sagevocab.files import Columns
from sagevocab.pieces import prunable
from sagevocab.pruning.sage import make_losses, text_of_losses, use_embeddings
from sagevocab.settings import SageSettings
from sagevocab.word2vec.embeddings import Embeddings

log = logging.getLogger(__name__)

BATCHES_APART = 4  # from one ranking to the next


def take_rankings(
    corpus: WordCorpus,
    pieces: Sequence[str],
    merges: Sequence[tuple[str, str]],
    embeddings: Embeddings | None,
    ablations: Columns,
    settings: SageSettings,
    *,
    every: int = BATCHES_APART,
) -> Columns:
    """Return the losses of all prunable pieces left before batch 0, `every`, 2 * `every` ...

    For the paper's remark that the ranking is relatively stable over dozens of batches (Section 3).

    Args:
        corpus: the text.
        pieces: the initial vocabulary.
        merges: its merges, by rank.
        embeddings: of `pieces`, used throughout, so that rankings differ by the vocabulary only;
            None for settings without vectors.
        ablations: of the pruning, as `build_sage` gives them: they say which vocabulary each batch
            had.
        settings: of the pruning.
        every: batches from one ranking to the next.

    Returns:
        Columns: iteration, piece, loss; pieces in their initial order.

    Raises:
        UserError: the embeddings or the record are of another vocabulary.
    """
    if not settings.has_vectors:
        embeddings = Embeddings.zero(pieces, 1)
    if embeddings is None or embeddings.pieces != list(pieces):
        raise UserError("embeddings: are of another vocabulary; take those the pruning began with")
    if not len(ablations["piece"]) or not set(ablations["piece"]) <= set(pieces):
        raise UserError("ablations: are of another vocabulary; take those of this pruning")
    last = int(max(ablations["iteration"]))
    pruned_at = dict(zip(ablations["piece"], ablations["iteration"], strict=True))
    left_until = np.array([pruned_at.get(piece, last + 1) for piece in pieces])
    rankings: Columns = {"iteration": [], "piece": [], "loss": []}
    corpus = text_of_losses(corpus, settings)
    prunable_pieces = np.array(prunable(pieces))
    losses = make_losses(corpus, pieces, merges, settings)
    use_embeddings(losses, embeddings, pieces, settings)
    for iteration in range(0, last + 1, every):
        alive = left_until >= iteration
        wanted = alive & prunable_pieces
        rankings["iteration"] += [iteration] * int(wanted.sum())
        rankings["piece"] += [pieces[number] for number in np.flatnonzero(wanted)]
        rankings["loss"] += losses.losses(alive, wanted).loss[wanted].tolist()
        log.info("ranking before batch %d: %d pieces", iteration, wanted.sum())
    return rankings
