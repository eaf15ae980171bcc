"""Masked-language-model pretraining of a pre-layer-norm BERT, from scratch, under a budget.

The scheme is the paper's (Section 5, Appendix A), which is that of Izsak et al. 2021: large
batches, a short warm-up and a linear decay that the budget drives, here hours, updates or tokens.

`_train` is the loop. An update depends on the seed and its own number alone (see `training`), so a
run killed after a checkpoint goes on as if nothing had happened: bit for bit on one device with a
fixed number of threads, when the budget is updates or tokens. A budget in hours depends on the
clock; the log holds the learning rate of every update, and `replay` repeats them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from transformers.models.roberta_prelayernorm import RobertaPreLayerNormForMaskedLM

from sagevocab.errors import UserError
from sagevocab.lm.encoder import TextEncoder, load_encoder
from sagevocab.lm.masking import MaskedRows, mask_rows
from sagevocab.lm.model import build_model, masked_logits, model_folder, save_model, summed_loss
from sagevocab.lm.schedule import BudgetSchedule, ReplaySchedule, Schedule, crosses
from sagevocab.lm.shards import Shard, open_shards
from sagevocab.lm.training import (
    DROPOUT,
    HELDOUT_MASKS,
    INITIAL_WEIGHTS,
    MASKS,
    REPORT_SECONDS,
    Checkpoints,
    Clock,
    Device,
    Progress,
    apply_gradients,
    choose_device,
    examples_of,
    generator,
    hours_minutes_seconds,
    make_optimizer,
    memory_for,
    seed_torch,
)
from sagevocab.provenance import source_digest
from sagevocab.state import ResumableState, fingerprint, write_parquet, write_text

log = logging.getLogger(__name__)

ARCHITECTURE = (
    "layers",
    "hidden",
    "heads",
    "intermediate",
    "activation",
    "dropout",
    "attention_dropout",
    "sequence_length",
)


@dataclass(frozen=True)
class PretrainSettings:
    """The keys of `lm.pretrain`; defaults are the paper's (Appendix A) or Izsak et al.'s.

    Exactly one of `hours`, `steps` (updates) and `tokens` (positions of the rows trained on) is
    the budget. Validation runs whenever another `validation_every` of the budget is spent, and at
    the end.
    """

    layers: int = 24
    hidden: int = 1024
    heads: int = 16
    intermediate: int = 4096
    activation: str = "gelu"
    dropout: float = 0.1
    attention_dropout: float = 0.1
    sequence_length: int = 128
    mask_rate: float = 0.15
    batch: int = 4032
    micro_batch: int = 32
    learning_rate: float = 1e-3
    schedule: str = "linear"
    warmup: float = 0.06
    weight_decay: float = 0.01
    adam_beta1: float = 0.9
    adam_beta2: float = 0.98
    adam_epsilon: float = 1e-6
    gradient_clipping: float = 0.0
    hours: float | None = None
    steps: int | None = None
    tokens: int | None = None
    validation_every: float = 0.05
    validation_batch: int = 16
    heldout_lines: int = 1000
    precision: str = "auto"
    compile: bool = False
    checkpoint_minutes: float = 30.0

    @classmethod
    def from_config(cls, section: dict[str, Any]) -> PretrainSettings:
        """Read the section `lm.pretrain` of a configuration.

        Raises:
            UserError: a key is unknown, or values don't fit together.
        """
        known = {field.name for field in fields(cls)}
        for key in section:
            if key not in known:
                raise UserError(f"lm.pretrain.{key}: no such key; known: {', '.join(known)}")
        return cls(**section)

    def __post_init__(self) -> None:
        """Refuse values that don't fit together."""
        if sum(value is not None for value in (self.hours, self.steps, self.tokens)) != 1:
            raise UserError(
                "lm.pretrain.hours, steps, tokens: one of them is the budget; set exactly one and "
                "the others to null"
            )
        for key, whole in (("micro_batch", "batch"), ("heads", "hidden")):
            part, value = getattr(self, key), getattr(self, whole)
            if value % part:
                raise UserError(
                    f"lm.pretrain.{key}: {part} does not divide {whole} ({value}); choose one that "
                    "does"
                )

    def budget_schedule(self) -> BudgetSchedule:
        """Return the schedule that the budget drives; tokens become whole updates, rounded up."""
        updates, seconds = self.steps, None
        if self.tokens is not None:
            updates = math.ceil(self.tokens / (self.batch * self.sequence_length))
        if self.hours is not None:
            seconds = self.hours * 3600
        return BudgetSchedule(
            peak=self.learning_rate,
            warmup=self.warmup,
            updates=updates,
            seconds=seconds,
            decay=self.schedule == "linear",
        )


@dataclass(frozen=True)
class Pretraining:
    """What an update of one run needs."""

    settings: PretrainSettings
    seed: int
    encoder: TextEncoder
    train: Shard
    heldout: MaskedRows
    device: Device
    model: RobertaPreLayerNormForMaskedLM
    optimizer: torch.optim.AdamW
    logits_of: Callable[..., torch.Tensor]


def pretrain(
    shards: str | Path,
    vocabulary: str | Path,
    output: str | Path,
    settings: PretrainSettings,
    *,
    name: str,
    synthetic: bool = False,
    seed: int,
    threads: int = 1,
    gpus: int = 0,
    state_dir: str | Path | None = None,
    checkpoint_updates: int | None = None,
    replay: str | Path | None = None,
) -> None:
    """Train a model and write it as a folder that `AutoModelForMaskedLM` loads.

    Args:
        shards: folder written by `build_shards` with the same tokenizer.
        vocabulary: folder of the tokenizer; its files are copied into the model's.
        output: folder of the model: weights, configuration, tokenizer, training log, card.
        settings: section `lm.pretrain`.
        name: what the card calls the model.
        synthetic: whether the corpus is generated text, which the card must say.
        seed: of weights, order, masks and dropout.
        threads: threads of the CPU.
        gpus: 0 for the CPU, 1 for a GPU.
        state_dir: where checkpoints are kept until the run is done; None keeps none.
        checkpoint_updates: checkpoint after every so many updates too.
        replay: a training_log.parquet whose learning rates, one an update, replace schedule and
            budget.

    Raises:
        UserError: shards of another tokenizer, too little text, no device, a loss that is not
            finite, too little memory.
    """
    device = choose_device(gpus, settings.precision, threads)
    encoder = load_encoder(vocabulary)
    train, heldout = _open(Path(shards), encoder, settings)
    schedule = _schedule(settings, replay)
    run = _prepare(settings, seed, encoder, train, heldout, device)
    state = ResumableState(state_dir, _fingerprint(run, Path(shards), schedule))
    checkpoints = Checkpoints(
        state, seconds=settings.checkpoint_minutes * 60, updates=checkpoint_updates
    )
    progress = checkpoints.restore(run.model, run.optimizer)
    _announce(run)
    _train(run, schedule, progress, checkpoints)
    with model_folder(Path(output)) as folder:
        save_model(run.model, Path(vocabulary), folder)
        frame = pd.DataFrame(progress.log).astype({"step": "int64"})
        write_parquet(folder / "training_log.parquet", frame)
        write_text(folder / "README.md", _card(name, synthetic, run, frame))
    state.clear()


def _train(
    run: Pretraining, schedule: Schedule, progress: Progress, checkpoints: Checkpoints
) -> None:
    settings, clock = run.settings, Clock(progress.seconds)
    spent = schedule.share(progress.updates, progress.seconds)
    while spent < 1:
        rate = schedule.rate(progress.updates, clock.seconds())
        loss = train_on(run, progress.updates, rate)
        if not math.isfinite(loss):
            raise UserError(
                f"lm.pretrain.learning_rate: the loss is {loss} after {progress.updates} updates "
                f"at a peak rate of {settings.learning_rate:g}; set a lower one"
            )
        progress.updates += 1
        before, spent = spent, schedule.share(progress.updates, clock.seconds())
        due = spent >= 1 or crosses(before, spent, settings.validation_every)
        heldout = validate(run) if due else (math.nan, math.nan)
        progress.seconds = clock.seconds()
        _record(run, progress, loss, rate, heldout)
        if due or progress.updates == 1 or clock.is_due("report", REPORT_SECONDS):
            _report(progress, spent)
        checkpoints.save_if_due(clock, run.model, run.optimizer, progress)


def batch_of(run: Pretraining, update: int) -> MaskedRows:
    """Return what an update trains on: a function of the seed and the update, nothing else."""
    settings = run.settings
    chosen = examples_of(update, settings.batch, len(run.train.rows), run.seed)
    rng = generator(run.seed, MASKS, update)
    return mask_rows(run.train.rows[chosen], settings.mask_rate, run.encoder, rng)


def train_on(run: Pretraining, update: int, rate: float) -> float:
    """Do one update, a micro-batch at a time; return the mean loss in nats a masked token."""
    batch, size = batch_of(run, update), run.settings.micro_batch
    targets = max(1, batch.targets())
    seed_torch(run.seed, DROPOUT, update)
    run.model.train()
    run.optimizer.zero_grad(set_to_none=True)
    total = torch.zeros((), device=run.device.device)
    with memory_for("lm.pretrain.micro_batch"):
        for start in range(0, len(batch), size):
            logits, labels = _forward(run, batch[start : start + size])
            loss = summed_loss(logits, labels) / targets
            loss.backward()
            total += loss.detach()
    apply_gradients(run.model, run.optimizer, rate, run.settings.gradient_clipping)
    return total.item()


@torch.no_grad()
def validate(run: Pretraining) -> tuple[float, float]:
    """Return mean loss (nats a masked token) and accuracy on held-out rows.

    The masks are the same every time. Both are NaN when nothing is held out.
    """
    targets = run.heldout.targets()
    if not targets:
        return math.nan, math.nan
    run.model.eval()
    size = run.settings.validation_batch
    loss, right = 0.0, 0
    with memory_for("lm.pretrain.validation_batch"):
        for start in range(0, len(run.heldout), size):
            logits, labels = _forward(run, run.heldout[start : start + size])
            loss += summed_loss(logits, labels).item()
            right += int((logits.argmax(-1) == labels).sum())
    return loss / targets, right / targets


def _forward(run: Pretraining, part: MaskedRows) -> tuple[torch.Tensor, torch.Tensor]:
    put = run.device.put
    present = None if part.present is None else put(part.present)
    with run.device.autocast():
        logits = run.logits_of(run.model, put(part.inputs), put(part.positions), present)
    return logits, put(part.labels).flatten()


def _open(folder: Path, encoder: TextEncoder, settings: PretrainSettings) -> tuple[Shard, Shard]:
    shards = open_shards(folder, encoder)
    train = shards["train"]
    count, length = train.rows.shape
    if length != settings.sequence_length:
        raise UserError(
            f"{train.path}: rows of {length} tokens, but lm.pretrain.sequence_length is "
            f"{settings.sequence_length}; build the shards again"
        )
    if count < settings.batch:
        raise UserError(
            f"{train.path}: {count} rows are fewer than lm.pretrain.batch ({settings.batch}); "
            "train on more text or set a smaller batch"
        )
    return train, shards["heldout"]


def _schedule(settings: PretrainSettings, replay: str | Path | None) -> Schedule:
    if replay is None:
        return settings.budget_schedule()
    rates = pd.read_parquet(replay, columns=["learning_rate"])["learning_rate"]
    return ReplaySchedule(tuple(rates))


def _prepare(
    settings: PretrainSettings,
    seed: int,
    encoder: TextEncoder,
    train: Shard,
    heldout: Shard,
    device: Device,
) -> Pretraining:
    seed_torch(seed, INITIAL_WEIGHTS)
    architecture = {key: getattr(settings, key) for key in ARCHITECTURE}
    model = build_model(encoder, **architecture).to(device.device)
    optimizer = make_optimizer(
        model,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        betas=(settings.adam_beta1, settings.adam_beta2),
        epsilon=settings.adam_epsilon,
    )
    rng = generator(seed, HELDOUT_MASKS)
    return Pretraining(
        settings=settings,
        seed=seed,
        encoder=encoder,
        train=train,
        heldout=mask_rows(heldout.rows, settings.mask_rate, encoder, rng),
        device=device,
        model=model,
        optimizer=optimizer,
        logits_of=torch.compile(masked_logits) if settings.compile else masked_logits,
    )


def _fingerprint(run: Pretraining, shards: Path, schedule: Schedule) -> str:
    """Identify a run by all that its weights depend on; how often it is saved is not among it."""
    return fingerprint(
        asdict(run.settings) | {"checkpoint_minutes": None},
        asdict(schedule),
        run.seed,
        run.encoder.digest,
        shards / "train.npy",
        shards / "heldout.npy",
        source_digest("lm.pretrain"),
    )


def _announce(run: Pretraining) -> None:
    settings = run.settings
    log.info(
        "%.1f M parameters on %s in %s; %d rows of %d tokens; %d tokens an update",
        sum(parameter.numel() for parameter in run.model.parameters()) / 1e6,
        run.device.device,
        "bf16" if run.device.bf16 else "fp32",
        *run.train.rows.shape,
        settings.batch * settings.sequence_length,
    )


def _record(
    run: Pretraining,
    progress: Progress,
    loss: float,
    rate: float,
    heldout: tuple[float, float],
) -> None:
    """Append an update to the log; tokens are without special ones, characters the text's own."""
    rows = progress.updates * run.settings.batch
    epoch = rows / len(run.train.rows)
    progress.record(
        step=progress.updates,
        epoch=epoch,
        tokens=epoch * run.train.counts.tokens,
        characters=epoch * run.train.counts.characters,
        loss=loss,
        learning_rate=rate,
        seconds=progress.seconds,
        tokens_per_second=rows * run.settings.sequence_length / max(progress.seconds, 1e-9),
        heldout_loss=heldout[0],
        heldout_accuracy=heldout[1],
    )


def _report(progress: Progress, spent: float) -> None:
    row = {name: values[-1] for name, values in progress.log.items()}
    left = progress.seconds * (1 - min(spent, 1)) / spent
    log.info(
        "update %d (%.0f %%), epoch %.2f, loss %.3f, learning rate %.2e, %.0f tokens/s, %s left",
        progress.updates,
        100 * spent,
        row["epoch"],
        row["loss"],
        row["learning_rate"],
        row["tokens_per_second"],
        hours_minutes_seconds(left),
    )
    if math.isfinite(row["heldout_loss"]):
        log.info("held-out loss %.3f, accuracy %.3f", row["heldout_loss"], row["heldout_accuracy"])


def _card(name: str, synthetic: bool, run: Pretraining, frame: pd.DataFrame) -> str:
    settings, last = run.settings, frame.iloc[-1]
    warning = "\n**Synthetic**: trained on generated text; it says nothing about the language.\n"
    return f"""---
library_name: transformers
tags: [masked-lm, subword{", synthetic" if synthetic else ""}]
pipeline_tag: fill-mask
---

# {name}
{warning if synthetic else ""}
A masked language model, pretrained from scratch with sagevocab: pre-layer-norm BERT
(RobertaPreLayerNorm) of {settings.layers} layers, {settings.hidden} wide. It was trained on the
corpus that its vocabulary was trained on.

    from transformers import AutoModelForMaskedLM, AutoTokenizer
    model = AutoModelForMaskedLM.from_pretrained("path/to/this/folder")
    tokenizer = AutoTokenizer.from_pretrained("path/to/this/folder")

| | |
|---|---|
| updates | {len(frame):,} of {settings.batch:,} sequences of {settings.sequence_length} tokens |
| passes over the corpus | {last.epoch:.2f} |
| peak learning rate | {settings.learning_rate:g} |
| seed | {run.seed} |
| held-out loss | {last.heldout_loss:.4f} nats a masked token |
| held-out accuracy | {last.heldout_accuracy:.4f} |

Every update is a row of `training_log.parquet`. Losses of models with different vocabularies can't
be compared token by token.
"""
