"""Masked-language-model pretraining of a pre-layer-norm BERT, from scratch, under a budget.

The scheme is the paper's (Section 5, Appendix A), which is that of Izsak et al. 2021: large
batches, a short warm-up and a linear decay over the budget, here hours, updates or tokens.

`_train` is the loop. An update depends only on the seed and its own number (see `training`), so a
run killed after a checkpoint resumes as if nothing had happened: bit for bit on one CPU with a
fixed number of threads, when the budget is updates or tokens. (GPUs sum in no fixed order.) A
budget in hours depends on the clock; the log holds the learning rate of every update, and `replay`
repeats them.

Several processes share the rows of an update and add up their gradients (see `team`): data, masks
and schedule are those of a single process, dropout is each one's own.
"""

from __future__ import annotations

import logging
import math
from bisect import bisect_left
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from transformers.models.roberta_prelayernorm import RobertaPreLayerNormForMaskedLM

from reproduction.lm.batches import (
    Batch,
    Batches,
    MaskedRows,
    make_batch,
    mask_rows,
    masked_per_row,
)
from reproduction.lm.encoder import TextEncoder, load_encoder
from reproduction.lm.heldout import FILE as HELDOUT
from reproduction.lm.heldout import HeldoutWords, open_heldout, score_words, summarise_words
from reproduction.lm.journal import NO_VALIDATION, Journal, Scale, flops_per_update, peak_flops
from reproduction.lm.model import build_model, masked_logits, masked_loss, model_card, save_model
from reproduction.lm.settings import FREE, PretrainSettings, ReplaySchedule, Schedule, crosses
from reproduction.lm.shards import Shard, open_shard
from reproduction.lm.team import Gradients, Team, joined_team
from reproduction.lm.training import (
    DROPOUT,
    INITIAL_WEIGHTS,
    MASKS,
    Checkpoints,
    Clock,
    Device,
    Learner,
    Progress,
    choose_device,
    claim_state,
    compilation_for,
    examples_of,
    generator,
    is_out_of_memory,
    make_optimizer,
    memory_for,
    seed_torch,
)
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError
from sagevocab.state import atomic_folder, fingerprint, remove_leftovers, write_text

log = logging.getLogger(__name__)

ALONE = Team()
CPU_ROWS = 32  # of a micro-batch: more are no faster on a CPU

# Raise this when the same settings, text and seed give other weights than before, in whatever
# module the reason stands: finished models are then trained anew, and checkpoints not resumed.
RESULT_VERSION = 1


@dataclass(frozen=True)
class Pretraining:
    """What an update of one run needs, in one of the processes that train it."""

    settings: PretrainSettings
    seed: int
    encoder: TextEncoder
    train: Shard
    heldout: HeldoutWords
    device: Device
    team: Team
    model: RobertaPreLayerNormForMaskedLM
    learner: Learner
    gradients: Gradients
    batches: Batches
    loss_of: Callable[..., torch.Tensor]
    micro_batch: int = 1

    @property
    def is_compiled(self) -> bool:
        """Whether `loss_of` is compiled."""
        return self.loss_of is not masked_loss


def pretrain(
    shards: str | Path,
    vocabulary: str | Path,
    output: str | Path,
    settings: PretrainSettings,
    *,
    name: str,
    seed: int,
    threads: int = 1,
    gpus: int = 0,
    state_dir: str | Path | None = None,
    checkpoint_updates: int | None = None,
    replay: str | Path | None = None,
    corpus: str | None = None,
) -> None:
    """Train a model and write it as a folder that `AutoModelForMaskedLM` loads.

    Processes that a launcher starts together with this call train one model (`team.run_together`,
    torchrun).

    Args:
        shards: folder written by `build_shards` with the same tokenizer.
        vocabulary: folder of the tokenizer; its files are copied into the model's.
        output: folder of the model: weights, configuration, tokenizer, training log, scores of
            the held-out lines, card.
        settings: section `lm.pretrain`.
        name: what the card calls the model.
        seed: of weights, order, masks and dropout.
        threads: threads of the CPU, of all processes together.
        gpus: how many train; 0 for the CPU.
        state_dir: where checkpoints are kept until the run is done; None keeps none.
        checkpoint_updates: save a checkpoint after every so many updates too.
        replay: a training_log.parquet whose learning rates, one per update, replace schedule and
            budget; None takes `settings.replay`.
        corpus: what the card says of the text, if anything.

    Raises:
        UserError: shards of another tokenizer, too little text, no device, a loss that is not
            finite, too little memory.
    """
    shards, replay = Path(shards), settings.replay if replay is None else replay
    with joined_team(gpus) as team:
        threads = max(1, threads // team.size)
        device = choose_device(gpus, settings.precision, threads, team.local_rank)
        run = prepare_run(settings, seed, load_encoder(vocabulary), shards, device, team)
        schedule = _schedule(settings, replay)
        checkpoints, progress = _resume(run, shards, schedule, state_dir, checkpoint_updates)
        _announce(run)
        with closing(run.batches):
            frame = _train(run, schedule, progress, checkpoints)
        run.learner.require_change(progress.updates)
        if team.leads:
            remove_leftovers(output)
            with atomic_folder(output, replace=True) as folder:
                save_model(run.model, Path(vocabulary), folder)
                write_parquet(folder / "training_log.parquet", frame)
                write_parquet(folder / "heldout.parquet", progress.heldout)
                card = model_card(name, settings, seed, frame, corpus)
                write_text(folder / "README.md", card)
            checkpoints.clear()


def prepare_run(
    settings: PretrainSettings,
    seed: int,
    encoder: TextEncoder,
    shards: Path,
    device: Device,
    team: Team = ALONE,
) -> Pretraining:
    """Return a run before its first update: rows, new weights, an optimiser.

    Raises:
        UserError: shards of another tokenizer or length, too few rows, too little memory.
    """
    train = _open_rows(shards, encoder, settings, team)
    seed_torch(seed, INITIAL_WEIGHTS)
    with memory_for("lm.pretrain.layers, hidden"):
        model = build_model(encoder, settings).to(device.device)
    optimizer = make_optimizer(
        model,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        betas=(settings.adam_beta1, settings.adam_beta2),
        epsilon=settings.adam_epsilon,
    )

    def make(update: int) -> Batch:
        masked = masked_batch(settings, train, encoder, seed, update)
        return make_batch(masked, team, run.micro_batch, device.put)

    compiles = device.can_compile() if settings.compile == "auto" else settings.compile
    run = Pretraining(
        settings=settings,
        seed=seed,
        encoder=encoder,
        train=train,
        heldout=open_heldout(shards, encoder),
        device=device,
        team=team,
        model=model,
        learner=Learner(model, optimizer, device.scaler()),
        gradients=Gradients(model, team),
        batches=Batches(make),
        loss_of=torch.compile(masked_loss, dynamic=False) if compiles else masked_loss,
    )
    run = replace(run, micro_batch=_micro_batch(run))  # `make` reads this `run`
    return run


def _micro_batch(run: Pretraining) -> int:
    """Return `micro_batch`; "auto" is the largest divisor of `batch` that the device has room for.

    A GPU's is found by trial. It changes speed, and which numbers dropout draws.
    """
    asked, batch = run.settings.micro_batch, run.settings.batch
    if asked != "auto":
        return asked
    own = run.team.share(batch)
    sizes = [rows for rows in range(1, own.stop - own.start + 1) if batch % rows == 0]
    if run.device.device.type == "cpu":
        return max(rows for rows in sizes if rows <= CPU_ROWS)
    # One row is not tried: where not even that fits, the first update says so.
    return sizes[bisect_left(sizes[1:], True, key=lambda rows: not _fits(run, rows))]


def _fits(run: Pretraining, rows: int) -> bool:
    """Return whether the device has memory for updates with micro-batches of so many rows.

    The trial leaves room for AdamW's two moments, which the first update makes, and a reserve. It
    adds up gradients as an update does, without compilation, which takes minutes and saves memory.
    """
    run.model.train()
    try:
        held = [torch.empty_like(weight) for weight in run.model.parameters() for _ in range(2)]
        held += [_reserve(run.device.device)]
        part = masked_batch(run.settings, run.train, run.encoder, run.seed, 0)[:rows]
        trial = make_batch(part, ALONE, rows, run.device.put)
        _add_gradients(replace(run, loss_of=masked_loss), replace(trial, parts=trial.parts * 2))
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return False
    finally:
        run.gradients.clear()
        held = []
        torch.cuda.empty_cache()
    return True


def _reserve(device: torch.device) -> torch.Tensor:
    """Return a twentieth of a GPU's memory, for what a trial cannot foresee."""
    memory = torch.cuda.get_device_properties(device).total_memory
    return torch.empty(memory // 20, dtype=torch.uint8, device=device)


def _open_rows(folder: Path, encoder: TextEncoder, settings: PretrainSettings, team: Team) -> Shard:
    train = open_shard(folder, encoder)
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
    if team.size > settings.batch:
        raise UserError(
            f"lm.gpus: {team.size} are more than the rows of an update (lm.pretrain.batch: "
            f"{settings.batch}); take fewer"
        )
    return train


def _schedule(settings: PretrainSettings, replay: str | Path | None) -> Schedule:
    if replay is None:
        return settings.budget_schedule()
    try:
        rates = pd.read_parquet(replay, columns=["learning_rate"])["learning_rate"]
    except (OSError, ValueError, KeyError) as error:  # ValueError: of pyarrow, too
        reason = "no such file" if isinstance(error, FileNotFoundError) else "no training log"
        raise UserError(
            f"lm.pretrain.replay: {replay}: {reason}; name the training_log.parquet of a run"
        ) from error
    return ReplaySchedule(tuple(rates))


def _resume(
    run: Pretraining,
    shards: Path,
    schedule: Schedule,
    state_dir: str | Path | None,
    checkpoint_updates: int | None,
) -> tuple[Checkpoints, Progress]:
    """Open the checkpoints and load the newest; the first process keeps them, all read them."""
    if not run.team.leads:
        run.team.wait()
    state = claim_state(state_dir, _parts(run, shards, schedule))
    if run.team.leads:
        run.team.wait()
    seconds = run.settings.checkpoint_minutes * 60
    checkpoints = Checkpoints(state, run.learner, seconds=seconds, updates=checkpoint_updates)
    progress = checkpoints.restore()
    if run.team.agree(progress.updates) != progress.updates:
        raise UserError(
            f"{state_dir}: the training processes read different checkpoints; they must see the "
            "same files (or delete the folder to begin again)"
        )
    progress.sit_down(
        run.device, cards=run.team.size, micro_batch=run.micro_batch, compiled=run.is_compiled
    )
    return checkpoints, progress


def _parts(run: Pretraining, shards: Path, schedule: Schedule) -> dict[str, Any]:
    """Return what the weights of a run depend on.

    A run may resume with other values of the FREE keys, and with another number of devices: rows,
    masks and schedule stay the same.
    """
    settings = dict(vars(run.settings)) | {"precision": run.device.precision}
    return {
        **{f"lm.pretrain.{name}": settings[name] for name in settings if name not in FREE},
        "schedule": fingerprint(asdict(schedule)),
        "seed": run.seed,
        "tokenizer": run.encoder.digest,
        "text": fingerprint(shards / "train.npy", shards / HELDOUT),
        "version of this program": RESULT_VERSION,
    }


def _announce(run: Pretraining) -> None:
    settings = run.settings
    log.info(
        "%.1f M parameters on %d x %s in %s%s; %d rows of %d tokens; %d tokens per update, %d rows "
        "at once",
        sum(parameter.numel() for parameter in run.model.parameters()) / 1e6,
        run.team.size,
        run.device.name,
        run.device.precision,
        ", compiled" if run.is_compiled else "",
        *run.train.rows.shape,
        settings.batch * settings.sequence_length,
        run.micro_batch,
    )


def _train(
    run: Pretraining, schedule: Schedule, progress: Progress, checkpoints: Checkpoints
) -> pd.DataFrame:
    """Train until the budget is spent; return the log of the process that leads."""
    settings, team, clock = run.settings, run.team, Clock(progress.seconds)
    spent = schedule.share(progress.updates, team.agree(progress.seconds))
    journal = Journal(_scale(run), progress, clock, spent)
    while spent < 1:
        began = clock.seconds()
        rate = schedule.rate(progress.updates, team.agree(began))
        loss = train_on(run, progress.updates, rate)
        if not math.isfinite(loss):
            raise UserError(
                f"lm.pretrain.learning_rate: the loss is {loss} after {progress.updates} updates "
                f"at a rate of {rate:g}; set a lower one"
            )
        progress.updates += 1
        now = clock.seconds()
        before, spent = spent, schedule.share(progress.updates, team.agree(now))
        if not team.leads:
            continue
        due = spent >= 1 or crosses(before, spent, settings.validation_every)
        validation = validate(run, progress) if due else NO_VALIDATION
        progress.seconds = clock.seconds()
        more = validation | run.learner.scaling()
        journal.record(loss, rate, now - began, run.batches.waited, more)
        journal.report(spent, validated=due)
        checkpoints.save_if_due(clock, progress)
    if not team.leads:
        return pd.DataFrame()
    sittings = pd.DataFrame(progress.sittings)
    return pd.merge_asof(journal.frame(), sittings, left_on="step", right_on="first_step")


def _scale(run: Pretraining) -> Scale:
    settings, counts = run.settings, run.train.counts
    length = settings.sequence_length
    masked = masked_per_row(length, settings.mask_rate)
    peak = peak_flops(run.device.device, run.device.precision) if run.team.leads else None
    return Scale(
        rows=settings.batch,
        length=length,
        corpus_rows=len(run.train.rows),
        corpus_tokens=counts.tokens,
        corpus_characters=counts.characters,
        flops=flops_per_update(run.model.config, settings.batch, length, masked),
        peak=peak and peak * run.team.size,
    )


def masked_batch(
    settings: PretrainSettings, train: Shard, encoder: TextEncoder, seed: int, update: int
) -> MaskedRows:
    """Return what an update trains on, over all processes: a function of the seed and the update.

    Masks are drawn for all its rows at once, so they don't depend on who trains on which.
    """
    chosen = examples_of(update, settings.batch, len(train.rows), seed)
    rng = generator(seed, MASKS, update)
    return mask_rows(train.rows[chosen], settings.mask_rate, encoder, rng)


def train_on(run: Pretraining, update: int, rate: float) -> float:
    """Do one update, a micro-batch at a time; return the mean loss in nats a masked token.

    With several processes each does its part of the rows; all return the same loss.
    """
    rank = run.team.rank
    seed_torch(run.seed, DROPOUT, update, *([rank] if rank else []))
    run.model.train()
    run.gradients.clear()
    with memory_for("lm.pretrain.micro_batch"), compilation_for("lm.pretrain.compile"):
        total = _add_gradients(run, run.batches.take(update))
        total = run.gradients.total(total)
        run.learner.apply(rate, run.settings.gradient_clipping)
    return total.item()


def _add_gradients(run: Pretraining, batch: Batch) -> torch.Tensor:
    """Add up the gradients of this process's micro-batches; return their part of the mean loss."""
    total = torch.zeros((), device=run.device.device)
    with run.device.update():
        for part in batch.parts:
            loss = _loss(run, part) / batch.targets
            run.learner.backward(loss)
            total += loss.detach()
    return total


def _loss(run: Pretraining, part: MaskedRows) -> torch.Tensor:
    """Return the loss of a micro-batch, summed over its masked tokens."""
    # The one micro-batch of an epoch that holds padding is not worth a compilation.
    loss_of = run.loss_of if part.present is None else masked_loss
    with run.device.autocast():
        return loss_of(run.model, part.inputs, part.positions, part.labels, part.present)


@torch.no_grad()
def validate(run: Pretraining, progress: Progress) -> dict[str, float]:
    """Ask the held-out words, keep the scores of every line, return those of all together."""

    def logits_of(
        inputs: torch.Tensor, positions: torch.Tensor, present: torch.Tensor | None
    ) -> torch.Tensor:
        with run.device.autocast():
            return masked_logits(run.model, inputs, positions, present)

    run.model.eval()
    with memory_for("lm.pretrain.validation_batch"):
        scores = score_words(
            logits_of,
            run.heldout,
            pad=run.encoder.pad,
            put=run.device.put,
            batch=run.settings.validation_batch,
        )
    progress.validated(scores)
    return summarise_words(scores)
