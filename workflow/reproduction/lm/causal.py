"""Small causal transformers of pieces: bits per character of whole held-out lines.

The model is GPT-2's, with tied embeddings. It reads a line from left to right and predicts every
piece and the end of the line. Symbols, lines and bits are those of the n-grams
(`analysis.ngrams`), so the two stand side by side. No context reaches beyond a line: a row is a
line, in training as for those that are asked; what is longer than the longest row goes on in
another.

A budget is a number of lines, each seen once. A seed draws its own lines, their order and the first
weights; no tokenizer has a part in that, so in every update the models of a seed see the same
lines. A killed training resumes exactly (see `training`).
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from reproduction.analysis.ngrams import BOUND, FIRST_PIECE, CodedLines, code_of_lines
from reproduction.lm.loss import nats_of
from reproduction.lm.settings import BudgetSchedule, CausalSettings, crosses
from reproduction.lm.training import (
    INITIAL_WEIGHTS,
    REPORT_SECONDS,
    Checkpoints,
    Clock,
    Device,
    Learner,
    Progress,
    choose_device,
    make_optimizer,
    memory_for,
    order_of,
    seed_torch,
)
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError
from sagevocab.segment import Segmenter
from sagevocab.state import ResumableState, fingerprint
from sagevocab.words import WordCorpus

log = logging.getLogger(__name__)

# Raise this when the same settings, text and seed give other weights than before.
RESULT_VERSION = 2
ROWS_AT_ONCE = 16  # more need more memory for the output layer and are no faster on a CPU
WARMUP, WEIGHT_DECAY, BETAS = 0.06, 0.01, (0.9, 0.98)
LARGEST_NORM = 1.0  # of a gradient


@dataclass(frozen=True)
class _Run:
    """What an update needs. lines: those to train on, and those that are asked."""

    settings: CausalSettings
    seed: int
    device: Device
    model: GPT2LMHeadModel
    learner: Learner
    lines: CodedLines
    asked: CodedLines


def train_causal(
    corpus: WordCorpus,
    heldout: WordCorpus,
    segmenter: Segmenter,
    output: str | Path,
    settings: CausalSettings,
    *,
    seed: int,
    threads: int = 1,
    gpus: int = 0,
    state_dir: str | Path | None = None,
    checkpoint_updates: int | None = None,
) -> list[dict[str, Any]]:
    """Train a model and write what it needs for held-out lines.

    Args:
        corpus: the training text.
        heldout: lines to ask.
        segmenter: of the tokenizer.
        output: parquet to write, a row a validation and line: step; seen (characters trained on)
            and seconds (of training, on a CPU of its processor) so far; line (0, 1, ...);
            characters and bits, of the whole line. The last validation asks all lines, those
            before it `heldout_lines` of them.
        settings: section `lm.causal`.
        seed: of the lines drawn, their order and the first weights.
        threads: threads of the CPU.
        gpus: 0 for the CPU, 1 for a GPU.
        state_dir: where checkpoints are kept until the run is done; None keeps none.
        checkpoint_updates: checkpoint after every so many updates too.

    Returns what it was trained on, sitting by sitting.

    Raises:
        UserError: no device, a loss that is not finite, too little memory.
    """
    device = choose_device(gpus, settings.precision, threads)
    run = _prepare(corpus, heldout, segmenter, settings, seed, device)
    state = ResumableState(state_dir, _fingerprint(run))
    seconds = 60 * settings.checkpoint_minutes
    checkpoints = Checkpoints(state, run.learner, seconds=seconds, updates=checkpoint_updates)
    progress = checkpoints.restore()
    progress.sit_down(device, cards=1)
    _train(run, progress, checkpoints)
    run.learner.require_change(progress.updates)
    write_parquet(output, progress.heldout)
    state.clear()
    return progress.sittings


def _prepare(
    corpus: WordCorpus,
    heldout: WordCorpus,
    segmenter: Segmenter,
    settings: CausalSettings,
    seed: int,
    device: Device,
) -> _Run:
    lines = code_of_lines(corpus.sample(settings.lines, seed).with_own_types(), segmenter)
    asked = code_of_lines(heldout, segmenter)
    seed_torch(seed, INITIAL_WEIGHTS)
    with memory_for("lm.causal.layers, hidden"):
        model = build_model(len(segmenter.pieces) + FIRST_PIECE, settings).to(device.device)
    # The way back through PyTorch's fused attention is slow on a CPU.
    model.set_attn_implementation("eager" if device.device.type == "cpu" else "sdpa")
    optimizer = make_optimizer(
        model, learning_rate=settings.learning_rate, weight_decay=WEIGHT_DECAY, betas=BETAS
    )
    learner = Learner(model, optimizer, device.scaler())
    return _Run(settings, seed, device, model, learner, lines, asked)


def build_model(symbols: int, settings: CausalSettings) -> GPT2LMHeadModel:
    """Return an untrained model without dropout, as no line is seen twice."""
    config = GPT2Config(
        vocab_size=symbols,
        n_positions=settings.longest,
        n_embd=settings.hidden,
        n_layer=settings.layers,
        n_head=settings.heads,
        activation_function="gelu",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=BOUND,
        eos_token_id=BOUND,
        use_cache=False,
    )
    return GPT2LMHeadModel(config)


def _fingerprint(run: _Run) -> str:
    settings = {k: v for k, v in asdict(run.settings).items() if k != "checkpoint_minutes"}
    settings |= {"precision": run.device.precision, "seed": run.seed, "version": RESULT_VERSION}
    streams = (part.stream.tobytes() for part in (run.lines, run.asked))
    return fingerprint(settings, *streams)


# --- training


def _train(run: _Run, progress: Progress, checkpoints: Checkpoints) -> None:
    settings, count = run.settings, len(run.lines.characters)
    updates = math.ceil(count / settings.batch)
    schedule = BudgetSchedule(settings.learning_rate, WARMUP, updates)
    clock, seen = Clock(0.0), _characters_seen(run, updates)
    # Other jobs may share a processor: seconds are its own.
    now = time.process_time if run.device.device.type == "cpu" else time.monotonic
    log.info(
        "%.1f M parameters on %s in %s; %d lines of %d symbols, %d updates",
        sum(parameter.numel() for parameter in run.model.parameters()) / 1e6,
        *(run.device.name, run.device.precision, count, len(run.lines.stream), updates),
    )
    while progress.updates < updates:
        began = now()
        loss = train_on(run, progress.updates, schedule.rate(progress.updates, 0.0))
        if not math.isfinite(loss):
            raise UserError(
                f"lm.causal.learning_rate: the loss is {loss} after {progress.updates} updates; "
                "set a lower one"
            )
        progress.seconds += now() - began
        progress.updates += 1
        before, spent = (progress.updates - 1) / updates, progress.updates / updates
        if spent == 1 or crosses(before, spent, settings.validation_every):
            _validate(run, progress, seen[progress.updates - 1], asks_all=spent == 1)
        if clock.is_due("report", REPORT_SECONDS):
            left = timedelta(seconds=round(progress.seconds * (1 - spent) / spent))
            log.info(
                "update %d (%.0f %%), loss %.3f, %s left",
                *(progress.updates, 100 * spent, loss, left),
            )
        checkpoints.save_if_due(clock, progress)


def train_on(run: _Run, update: int, rate: float) -> float:
    """Do one update; return the mean loss in nats a symbol."""
    rows = rows_of(run.lines.stream, _lines_of(run, update), run.settings.longest)
    targets = sum(len(row.symbols) - 1 for row in rows)
    run.model.train()
    run.learner.optimizer.zero_grad(set_to_none=True)
    total = torch.zeros((), device=run.device.device)
    with memory_for("lm.causal.layers, hidden"):
        with run.device.update():
            for part in _parts(rows):
                loss = _nats(run, part).sum() / targets
                run.learner.backward(loss)
                total += loss.detach()
        run.learner.apply(rate, LARGEST_NORM)
    return total.item()


def _lines_of(run: _Run, update: int) -> np.ndarray:
    order = order_of(0, len(run.lines.characters), run.seed)
    return order[update * run.settings.batch : (update + 1) * run.settings.batch]


def _characters_seen(run: _Run, updates: int) -> np.ndarray:
    """Return the characters of the lines of all updates so far: int64[updates]."""
    lengths = [run.lines.characters[_lines_of(run, update)].sum() for update in range(updates)]
    return np.cumsum(lengths)


def _nats(run: _Run, rows: Sequence[Row]) -> torch.Tensor:
    """Return -log p of every symbol but the first of each row, row after row: float32[symbols].

    What fills up shorter rows stands behind their symbols, where a causal model does not see it.
    The output layer is computed for symbols alone.
    """
    lengths = np.array([len(row.symbols) for row in rows])
    present = np.arange(lengths.max()) < lengths[:, None]
    padded = np.full(present.shape, BOUND)
    padded[present] = np.concatenate([row.symbols for row in rows])
    asked = present[:, 1:]
    with run.device.autocast():
        states = run.model.transformer(run.device.put(padded[:, :-1])).last_hidden_state
        logits = run.model.lm_head(states[run.device.put(asked)])
    labels = run.device.put(padded[:, 1:][asked])
    return nats_of(logits, labels)


# --- rows


class Row(NamedTuple):
    """What a model reads from left to right: symbols, int64, of a line (0, 1, ...)."""

    line: int
    symbols: np.ndarray


def rows_of(stream: np.ndarray, lines: np.ndarray, longest: int) -> list[Row]:
    """Return lines as rows: BOUND, the pieces, and BOUND, which ends the line.

    stream: as `piece_stream` gives it. lines: which of them. A line of more than `longest` symbols
    to predict goes on in further rows, each begun by the last symbol of the row before.
    """
    bounds = np.flatnonzero(stream == BOUND)
    return [
        Row(line, stream[start : min(start + longest, bounds[line + 1]) + 1])
        for line in lines.tolist()
        for start in range(bounds[line], bounds[line + 1], longest)
    ]


def _parts(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield the rows, those of like length together."""
    ordered = sorted(rows, key=lambda row: len(row.symbols))
    for start in range(0, len(ordered), ROWS_AT_ONCE):
        yield ordered[start : start + ROWS_AT_ONCE]


# --- held-out lines


@torch.no_grad()
def _validate(run: _Run, progress: Progress, seen: int, *, asks_all: bool) -> None:
    """Ask held-out lines, at even distances, and keep the bits of each."""
    asked, count = run.asked, len(run.asked.characters)
    wanted = count if asks_all else min(count, run.settings.heldout_lines)
    lines = np.arange(wanted) * count // wanted
    bits = asked.spelled.copy()
    run.model.eval()
    for part in _parts(rows_of(asked.stream, lines, run.settings.longest)):
        nats = _nats(run, part).double().cpu().numpy()
        line = np.repeat([row.line for row in part], [len(row.symbols) - 1 for row in part])
        np.add.at(bits, line, nats / math.log(2))
    scores = pd.DataFrame({"seen": seen, "seconds": progress.seconds, "line": lines})
    scores = scores.assign(characters=asked.characters[lines], bits=bits[lines])
    progress.validated(scores)
    total = scores.sum()
    log.info(
        "%d held-out lines: %.4f bits a character after %d characters, %.0f s",
        *(wanted, total["bits"] / total["characters"], seen, progress.seconds),
    )
