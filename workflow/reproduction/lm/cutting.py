"""Which pieces can a trained model lose? Causal models, cut to a part of their vocabulary.

A model of the initial vocabulary is trained once (`causal`). Then it loses the pieces that a
pruning took away: the rows of its embedding, which is its output, too, go, and nothing is trained
again. Held-out lines are segmented by what is left, and cost what the model then says. So a
pruning is judged by what its pieces were worth to a model that had learnt all of them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors.torch import load_model, save_model

from reproduction.analysis.ngrams import FIRST_PIECE, code_of_lines
from reproduction.lm.causal import ROWS, LineModel, bits_of_lines, build_model, train
from reproduction.lm.settings import LAST_MERGED, WHOLE, CausalSettings
from reproduction.parquet import write_parquet
from sagevocab.corpus.words import WordCorpus
from sagevocab.files import atomic_path
from sagevocab.pieces import prunable
from sagevocab.segmentation.segmenter import GreedySegmenter

log = logging.getLogger(__name__)

_LINES = 1000  # of those held out, at even distances, are asked


def train_whole(
    corpus: WordCorpus,
    pieces: Sequence[str],
    output: str | Path,
    settings: CausalSettings,
    *,
    seed: int,
    **machine: Any,
) -> None:
    """Train a model of a whole vocabulary and write its weights.

    Args:
        corpus, settings, seed: as for `train_causal`.
        pieces: the vocabulary.
        output: safetensors to write.
        machine: state_dir, threads and gpus, as for `train_causal`.

    Raises:
        UserError: no device, a loss that is not finite, too little memory.
    """
    once = replace(settings, validation_every=1.0)
    asked = corpus.sample(1, seed)  # what the training itself asks is of no use
    trainer = train(corpus, asked, GreedySegmenter(pieces), once, seed=seed, **machine)
    with atomic_path(output) as temporary:
        save_model(trainer.model.cpu(), str(temporary))


def measure_cut_models(
    weights: str | Path,
    heldout: WordCorpus,
    pieces: Sequence[str],
    prunings: Mapping[str, Sequence[str]],
    output: str | Path,
    settings: CausalSettings,
) -> None:
    """Cut a model of a vocabulary by every pruning, and write what lines cost.

    Args:
        weights: of the model, as `train_whole` wrote them.
        heldout: lines, of which some are asked.
        pieces: the vocabulary.
        prunings: by name, the pieces that are pruned from it, in their order; `LAST_MERGED` comes
            to them.
        output: parquet to write, a row a model and line: tokenizer (`WHOLE` or the pruning), size
            (pieces left), line (0, 1, ...), characters, symbols (pieces and the line's end), bits.
        settings: of the model; to `cut_sizes` it is cut.
    """
    model = build_model(len(pieces) + FIRST_PIECE, settings)
    load_model(model, str(weights))
    frames = [_ask(model.eval(), heldout, pieces, settings).assign(tokenizer=WHOLE)]
    last_first = [p for p, may in zip(pieces, prunable(pieces), strict=True) if may][::-1]
    for name, pruned in {LAST_MERGED: last_first, **prunings}.items():
        for size in settings.cut_sizes:
            gone = set(pruned[: len(pieces) - size])
            left = np.array([piece not in gone for piece in pieces])
            frame = _ask(cut(model, left, settings), heldout, _only(pieces, left), settings)
            frames.append(frame.assign(tokenizer=name))
            rate = frame["bits"].sum() / frame["characters"].sum()
            log.info("%s, %d pieces: %.4f bits a character", name, size, rate)
    write_parquet(output, pd.concat(frames, ignore_index=True))


def cut(model: LineModel, left: np.ndarray, settings: CausalSettings) -> LineModel:
    """Return a model with the rows of the pieces that are left: bool[pieces]."""
    rows = torch.from_numpy(np.flatnonzero(np.append([True] * FIRST_PIECE, left)))
    smaller = build_model(len(rows), settings)
    size = len(left) + FIRST_PIECE
    state = model.state_dict()
    smaller.load_state_dict({k: v[rows] if len(v) == size else v for k, v in state.items()})
    return smaller.eval()


def _only(pieces: Iterable[str], left: np.ndarray) -> list[str]:
    return [piece for piece, is_left in zip(pieces, left, strict=True) if is_left]


@torch.no_grad()
def _ask(
    model: LineModel, heldout: WordCorpus, pieces: Sequence[str], settings: CausalSettings
) -> pd.DataFrame:
    """Return what the lines cost, a row each."""
    coded = code_of_lines(heldout, GreedySegmenter(pieces))
    count = len(coded.characters)
    wanted = min(count, _LINES)
    lines = np.arange(wanted) * count // wanted
    bits = bits_of_lines(model, coded, lines, settings.longest, ROWS)
    columns = {"characters": coded.characters, "symbols": np.diff(coded.bounds), "bits": bits}
    chosen = {name: values[lines] for name, values in columns.items()}
    return pd.DataFrame({"size": len(pieces), "line": lines, **chosen})
