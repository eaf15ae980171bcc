"""Small causal transformers of pieces: bits per character of whole held-out lines.

The model is GPT-2's, with tied embeddings. It reads a line from left to right and predicts every
piece and the end of the line. Symbols, lines and bits are those of the n-grams
(`analysis.ngrams`), so the two compare. No context reaches beyond a line: a row is a
line, in training as for those that are scored; what is longer than the longest row continues in
another.

A budget is a number of lines, each seen once. A seed draws its own lines, their order and the first
weights; no tokenizer has a part in that, so in every update the models of a seed see the same
lines. transformers' Trainer trains; a killed training resumes exactly (see `training`).
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import GPT2Config, GPT2LMHeadModel, TrainingArguments

from reproduction.analysis.ngrams import BOUND, FIRST_PIECE, CodedLines, code_of_lines
from reproduction.lm.loss import nats_of
from reproduction.lm.settings import FREE_OF_MODELS, RESULT_VERSION, BudgetSchedule, CausalSettings
from reproduction.lm.training import (
    INITIAL_WEIGHTS,
    Batch,
    BudgetTrainer,
    order_of,
    seed_torch,
    training_arguments,
)
from reproduction.parquet import write_parquet
from sagevocab.corpus.words import WordCorpus
from sagevocab.files import fingerprint
from sagevocab.segmentation.segmenter import Segmenter

log = logging.getLogger(__name__)

# Rows at once, and symbols of such rows on a GPU, which is faster with more; a CPU is not. Logits
# and their gradients take some 10 bytes for each symbol and piece: with 16,000 pieces at most 5 GB.
ROWS, SYMBOLS_ON_GPU = 16, 2**15
WARMUP, WEIGHT_DECAY, BETAS = 0.06, 0.01, (0.9, 0.98)
LARGEST_NORM = 1.0  # of a gradient


class LineModel(GPT2LMHeadModel):
    """GPT-2 that returns what symbols cost, and computes its output layer for them alone."""

    def forward(self, symbols: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return -log p of every symbol but the first of each row, row after row: float32[n].

        Args:
            symbols: int64[rows, longest]. What fills up shorter rows stands behind their symbols,
                where a causal model does not see it.
            lengths: int64[rows], the symbols of each row.
        """
        asked = torch.arange(1, symbols.shape[1], device=symbols.device) < lengths.unsqueeze(1)
        states = self.transformer(symbols[:, :-1]).last_hidden_state
        return nats_of(self.lm_head(states[asked]), symbols[:, 1:][asked])


class CausalTrainer(BudgetTrainer):
    """Trains a model on lines and validates it on held-out lines."""

    section = "lm.causal"
    memory_key = "layers, hidden"

    def __init__(
        self,
        model: LineModel,
        arguments: TrainingArguments,
        settings: CausalSettings,
        lines: CodedLines,
        asked: CodedLines,
        *,
        seed: int,
    ) -> None:
        """Prepare a run. lines: to train on. asked: held out."""
        self._settings, self._lines, self._asked = settings, lines, asked
        self._rows = ROWS
        if not arguments.use_cpu:
            self._rows = max(ROWS, SYMBOLS_ON_GPU // settings.longest)
        updates = math.ceil(len(lines.characters) / settings.batch)
        super().__init__(
            model,
            arguments,
            self._share,
            schedule=BudgetSchedule(settings.learning_rate, WARMUP, updates),
            validation_every=settings.validation_every,
            # Other jobs may share a processor: seconds are its own.
            clock=time.process_time if arguments.use_cpu else time.monotonic,
            seed=seed,
            checkpoint_minutes=settings.checkpoint_minutes,
        )

    def _share(self, update: int, rank: int) -> tuple[list[Batch], int]:
        """Return what an update trains on; one process trains a model."""
        rows = rows_of(self._lines, self._lines_of(update, update + 1), self._settings.longest)
        batches = [_padded(part) for part in parts_of(rows, self._rows)]
        return batches, sum(len(row.symbols) - 1 for row in rows)

    def _lines_of(self, first: int, end: int) -> np.ndarray:
        """Return the lines of the updates from `first` on, before `end`."""
        size, count = self._settings.batch, len(self._lines.characters)
        return order_of(0, count, self.seed)[first * size : end * size]

    def summed_loss(self, model: torch.nn.Module, batch: Batch) -> torch.Tensor:
        """Return the loss in nats, summed over the symbols."""
        return model(**batch).sum()

    def validate(self) -> tuple[pd.DataFrame, dict[str, float]]:
        """Ask held-out lines, at even distances; return the bits of each."""
        asked, count = self._asked, len(self._asked.characters)
        wanted = count if self.spent() >= 1 else min(count, self._settings.heldout_lines)
        lines = np.arange(wanted) * count // wanted
        prepared = self._settings.longest, self._rows, self._prepare_inputs
        bits = bits_of_lines(self.model, asked, lines, *prepared)
        seen = self._lines.characters[self._lines_of(0, self.state.global_step)].sum()
        scores = pd.DataFrame({"seen": seen, "seconds": self.rhythm.seconds, "line": lines})
        scores = scores.assign(characters=asked.characters[lines], bits=bits[lines])
        per_character = scores["bits"].sum() / scores["characters"].sum()
        log.info(
            "%d held-out lines: %.4f bits a character after %d characters, %.0f s",
            *(wanted, per_character, seen, self.rhythm.seconds),
        )
        return scores, {"bits_per_character": per_character}


def train_causal(
    corpus: WordCorpus,
    heldout: WordCorpus,
    segmenter: Segmenter,
    output: str | Path,
    settings: CausalSettings,
    *,
    seed: int,
    state_dir: str | Path,
    threads: int = 1,
    gpus: int = 0,
) -> None:
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
        state_dir: for checkpoints.
        threads: threads of the CPU.
        gpus: 0 for the CPU, 1 for a GPU.

    Raises:
        UserError: no device, a loss that is not finite, too little memory.
    """
    trainer = train(
        corpus, heldout, segmenter, settings,
        seed=seed, state_dir=state_dir, threads=threads, gpus=gpus,
    )  # fmt: skip
    write_parquet(output, trainer.scores())


def train(
    corpus: WordCorpus,
    heldout: WordCorpus,
    segmenter: Segmenter,
    settings: CausalSettings,
    *,
    seed: int,
    state_dir: str | Path,
    threads: int = 1,
    gpus: int = 0,
) -> CausalTrainer:
    """Train a model; the arguments are those of `train_causal`."""
    lines = code_of_lines(corpus.sample(settings.lines, seed).with_types_of_lines(), segmenter)
    asked = code_of_lines(heldout, segmenter)
    decisive = {k: v for k, v in vars(settings).items() if k not in FREE_OF_MODELS}
    streams = (part.stream.tobytes() for part in (lines, asked))
    mark = fingerprint(decisive, seed, RESULT_VERSION["causal"], *streams)
    arguments = training_arguments(
        Path(state_dir) / mark[:16],
        settings.precision,
        gpus,
        threads,
        weight_decay=WEIGHT_DECAY,
        adam_beta1=BETAS[0],
        adam_beta2=BETAS[1],
        max_grad_norm=LARGEST_NORM,
    )
    seed_torch(seed, INITIAL_WEIGHTS)
    model = build_model(len(segmenter.pieces) + FIRST_PIECE, settings)
    # On CPUs, the backward pass of fused attention is slow.
    model.set_attn_implementation("sdpa" if gpus else "eager")
    trainer = CausalTrainer(model, arguments, settings, lines, asked, seed=seed)
    trainer.run()
    return trainer


def build_model(symbols: int, settings: CausalSettings) -> LineModel:
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
    return LineModel(config)


# --- rows


class Row(NamedTuple):
    """What a model reads from left to right: symbols, int64, of a line (0, 1, ...)."""

    line: int
    symbols: np.ndarray


def rows_of(coded: CodedLines, lines: np.ndarray, longest: int) -> list[Row]:
    """Return lines as rows: BOUND, the pieces, and BOUND, which ends the line.

    lines: which of them. A line of more than `longest` symbols to predict continues in further
    rows, each begun by the last symbol of the row before.
    """
    stream, bounds = coded.stream, coded.bounds
    return [
        Row(line, stream[start : min(start + longest, bounds[line + 1]) + 1])
        for line in lines.tolist()
        for start in range(bounds[line], bounds[line + 1], longest)
    ]


def parts_of(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    """Yield `size` rows at a time, those of like length together."""
    ordered = sorted(rows, key=lambda row: len(row.symbols))
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


def bits_of_lines(
    model: torch.nn.Module,
    coded: CodedLines,
    lines: np.ndarray,
    longest: int,
    size: int,
    prepare: Callable[[Batch], Batch] = lambda batch: batch,
) -> np.ndarray:
    """Return what a model needs for each line: float64[all lines]; only those of `lines` are asked.

    lines: which. longest: as for `rows_of`. size: rows at once. prepare: brings a batch to the
    model's device.
    """
    bits = coded.spelled.copy()
    for part in parts_of(rows_of(coded, lines, longest), size):
        nats = model(**prepare(_padded(part))).double().cpu().numpy()
        line = np.repeat([row.line for row in part], [len(row.symbols) - 1 for row in part])
        np.add.at(bits, line, nats / math.log(2))
    return bits


def _padded(rows: Sequence[Row]) -> Batch:
    """Return rows as the inputs of a `LineModel`."""
    symbols = [torch.from_numpy(row.symbols) for row in rows]
    return {
        "symbols": pad_sequence(symbols, batch_first=True, padding_value=BOUND),
        "lengths": torch.tensor([len(row) for row in symbols]),
    }
