"""Whole rankings of the ablation losses, taken again at several points of a finished pruning.

The paper ranks all pieces only every `rerank_every` batches because "the ranked list stays
relatively stable over dozens of iterations" (Section 3). A pruning keeps no ranking but the one it
prunes by; from its record the vocabulary of every batch is known, and all losses can be taken anew.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import pandas as pd

from sagevocab.errors import UserError
from sagevocab.vocab.ablation import AblationLosses, make_decoder
from sagevocab.vocab.embeddings import Embeddings
from sagevocab.vocab.pieces import is_single_character
from sagevocab.vocab.sage import SageSettings, objective_of
from sagevocab.vocab.words import WordCorpus

log = logging.getLogger(__name__)


def take_rankings(
    corpus: WordCorpus,
    pieces: Sequence[str],
    merges: Sequence[tuple[str, str]] | None,
    embeddings: Embeddings,
    ablations: pd.DataFrame,
    settings: SageSettings,
    *,
    every: int,
) -> pd.DataFrame:
    """Return the losses of all prunable pieces left before batch 0, `every`, 2 * `every` ...

    pieces: the initial vocabulary. embeddings: of it, used throughout, so that rankings differ by
    the vocabulary only. ablations: of the pruning, as `build_sage` gives them.
    Returns the columns iteration, piece, loss; pieces in their initial order.

    Raises:
        UserError: the embeddings or the record are of another vocabulary.
    """
    _check(pieces, embeddings, ablations)
    decoder = make_decoder(settings.decoder, corpus.types, pieces, merges)
    losses = AblationLosses(
        corpus, pieces, decoder, objective_of(settings), threads=settings.threads
    )
    shared = settings.context_matrix == "shared"
    losses.use_embeddings(embeddings.target, embeddings.target if shared else embeddings.context)
    prunable = np.array([not is_single_character(piece) for piece in pieces])
    left_at = _left_at(pieces, ablations)
    parts = []
    for iteration in range(0, int(ablations["iteration"].max()) + 1, every):
        alive = left_at >= iteration
        wanted = alive & prunable
        loss = losses.losses(alive, wanted).loss[wanted]
        names = np.array(pieces, dtype=object)[wanted]
        parts.append(pd.DataFrame({"iteration": iteration, "piece": names, "loss": loss}))
        log.info("ranking before batch %d: %d pieces", iteration, wanted.sum())
    return pd.concat(parts, ignore_index=True)


def _check(pieces: Sequence[str], embeddings: Embeddings, ablations: pd.DataFrame) -> None:
    if embeddings.pieces != list(pieces):
        raise UserError("embeddings: are of another vocabulary; take those the pruning began with")
    if ablations.empty or not set(ablations["piece"]) <= set(pieces):
        raise UserError("ablations: are of another vocabulary; take those of this pruning")


def _left_at(pieces: Sequence[str], ablations: pd.DataFrame) -> np.ndarray:
    """Return the batch that each piece left in; one after all for those that stayed."""
    gone = dict(zip(ablations["piece"], ablations["iteration"], strict=True))
    stayed = int(ablations["iteration"].max()) + 1
    return np.array([gone.get(piece, stayed) for piece in pieces])
