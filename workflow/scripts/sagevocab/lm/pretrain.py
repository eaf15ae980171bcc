"""Masked-language-model pretraining of a pre-layer-norm BERT, from scratch, under a budget.

The scheme is the paper's (Section 5, Appendix A), which is that of Izsak et al. 2021: large
batches, a short warm-up and a linear decay that the budget drives, here hours, updates or tokens.

`_train` is the loop. An update depends on the seed and its own number alone (see `training`), so a
run killed after a checkpoint goes on as if nothing had happened: bit for bit on one CPU with a
fixed number of threads, when the budget is updates or tokens. (GPUs sum in no fixed order.) A
budget in hours depends on the clock; the log holds the learning rate of every update, and `replay`
repeats them.

Several devices share the rows of an update and add up their gradients (see `team`): data, masks and
schedule are those of one device, dropout is each one's own.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from transformers.models.roberta_prelayernorm import RobertaPreLayerNormForMaskedLM

from sagevocab.errors import UserError
from sagevocab.lm.batches import Batch, Batches, Part, prepare
from sagevocab.lm.card import card
from sagevocab.lm.encoder import TextEncoder, load_encoder
from sagevocab.lm.heldout import FILE as HELDOUT
from sagevocab.lm.heldout import HeldoutWords, open_heldout, score_words, summarise_words
from sagevocab.lm.journal import NO_VALIDATION, Journal, Scale
from sagevocab.lm.launch import launch
from sagevocab.lm.live import Live
from sagevocab.lm.masking import MaskedRows, mask_rows, masked_per_row
from sagevocab.lm.memory import check_memory
from sagevocab.lm.model import build_model, masked_logits, masked_loss, model_folder, save_model
from sagevocab.lm.schedule import ReplaySchedule, Schedule, crosses
from sagevocab.lm.settings import ARCHITECTURE, FREE, PretrainSettings
from sagevocab.lm.shards import Shard, open_shard
from sagevocab.lm.team import Gradients, Team, even_parts, in_team, joined_team
from sagevocab.lm.throughput import flops_per_update, peak_flops
from sagevocab.lm.training import (
    DROPOUT,
    INITIAL_WEIGHTS,
    MASKS,
    Checkpoints,
    Clock,
    Device,
    Learner,
    Progress,
    check_gpus,
    choose_device,
    claim_state,
    compilation_for,
    examples_of,
    generator,
    make_optimizer,
    memory_for,
    seed_torch,
)
from sagevocab.provenance import source_digest
from sagevocab.state import fingerprint, write_parquet, write_text

log = logging.getLogger(__name__)

WORKER = "sagevocab.lm.worker"
ALONE = Team()


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
    processes: int | None = None,
    state_dir: str | Path | None = None,
    checkpoint_updates: int | None = None,
    replay: str | Path | None = None,
    live: str | Path | None = None,
) -> None:
    """Train a model and write it as a folder that `AutoModelForMaskedLM` loads.

    With several processes, one a GPU, it starts them with torchrun and waits for them. Started by
    torchrun itself (see `worker`), it is one of them.

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
        processes: how many train; None is one a GPU.
        state_dir: where checkpoints are kept until the run is done; None keeps none.
        checkpoint_updates: checkpoint after every so many updates too.
        replay: a training_log.parquet whose learning rates, one an update, replace schedule and
            budget; None takes `settings.replay`.
        live: folder in which log and learning curve are renewed while it runs; None for nowhere.

    Raises:
        UserError: shards of another tokenizer, too little text, no device, a loss that is not
            finite, too little memory.
    """
    processes = max(gpus, 1) if processes is None else processes
    replay = settings.replay if replay is None else replay
    options = {
        "threads": threads,
        "gpus": gpus,
        "processes": processes,
        "checkpoint_updates": checkpoint_updates,
        "state_dir": _text(state_dir),
        "replay": _text(replay),
        "live": _text(live),
    }
    places = {"shards": shards, "vocabulary": vocabulary, "output": output}
    task = {"name": name, "seed": seed}
    if processes > 1 and not in_team():
        check_gpus(gpus)
        paths = {key: _text(path) for key, path in places.items()}
        launch(WORKER, paths | {"settings": asdict(settings)} | task | options, processes)
        return
    with joined_team(gpus) as team:
        _pretrain(team, settings, **places, **task, **options)


def _text(path: str | Path | None) -> str | None:
    return None if path is None else str(path)


def _pretrain(
    team: Team,
    settings: PretrainSettings,
    *,
    shards: str | Path,
    vocabulary: str | Path,
    output: str | Path,
    name: str,
    seed: int,
    threads: int,
    gpus: int,
    processes: int,
    state_dir: str | Path | None,
    checkpoint_updates: int | None,
    replay: str | Path | None,
    live: str | Path | None,
) -> None:
    device = choose_device(gpus, settings.precision, max(1, threads // team.size), team.local_rank)
    encoder = load_encoder(vocabulary)
    train, heldout = open_rows(Path(shards), encoder, settings)
    schedule = _schedule(settings, replay)
    run = prepare_run(settings, seed, encoder, train, heldout, device, team)
    parts = _parts(run, Path(shards), schedule)
    checkpoints, progress = _resume(run, parts, state_dir, checkpoint_updates)
    _announce(run)
    with closing(Live(live if team.leads else None)) as shown, closing(run.batches):
        journal = _train(run, schedule, progress, checkpoints, shown)
    if team.leads:
        with model_folder(Path(output)) as folder:
            save_model(run.model, Path(vocabulary), folder)
            frame = journal.frame()
            write_parquet(folder / "training_log.parquet", frame)
            write_parquet(folder / "heldout.parquet", progress.heldout)
            write_text(folder / "README.md", card(name, settings, seed, frame))
        checkpoints.clear()


def _resume(
    run: Pretraining,
    parts: Mapping[str, Any],
    state_dir: str | Path | None,
    checkpoint_updates: int | None,
) -> tuple[Checkpoints, Progress]:
    """Open the checkpoints and load the newest; the first process keeps them, all read them."""
    if not run.team.leads:
        run.team.wait()
    state = claim_state(state_dir, parts)
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
    return checkpoints, progress


def _train(
    run: Pretraining,
    schedule: Schedule,
    progress: Progress,
    checkpoints: Checkpoints,
    live: Live,
) -> Journal:
    settings, team, clock = run.settings, run.team, Clock(progress.seconds)
    journal = Journal(_scale(run), progress, clock, live)
    spent = schedule.share(progress.updates, team.agree(progress.seconds))
    journal.begin(spent)
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
        journal.record(
            loss=loss,
            rate=rate,
            duration=now - began,
            waited=run.batches.waited,
            validation=validation,
        )
        journal.tell(spent, validated=due)
        checkpoints.save_if_due(clock, progress)
    return journal


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
    total = torch.zeros((), device=run.device.device)
    with memory_for("lm.pretrain.micro_batch"), compilation_for("lm.pretrain.compile"):
        batch = run.batches.take(update).to(run.device.device)
        for part in batch.parts:
            loss = _loss(run, batch, part) / batch.targets
            run.learner.backward(loss)
            total += loss.detach()
        total = run.gradients.total(total)
        run.learner.apply(rate, run.settings.gradient_clipping)
    return total.item()


def _loss(run: Pretraining, batch: Batch, part: Part) -> torch.Tensor:
    """Return the loss of a micro-batch, summed over its masked tokens."""
    inputs, positions, labels = (
        tensor[part.rows] for tensor in (batch.inputs, batch.positions, batch.labels)
    )
    present = batch.present[part.rows] if part.padded else None
    # The one micro-batch of an epoch that holds padding is not worth a compilation.
    loss_of = masked_loss if part.padded else run.loss_of
    with run.device.autocast():
        return loss_of(run.model, inputs, positions, labels, present)


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


def open_rows(
    folder: Path, encoder: TextEncoder, settings: PretrainSettings
) -> tuple[Shard, HeldoutWords]:
    """Return the rows to train on and the held-out words of a folder that `build_shards` wrote.

    Raises:
        UserError: shards of another tokenizer or length, fewer rows than a batch.
    """
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
    return train, open_heldout(folder, encoder)


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


def prepare_run(
    settings: PretrainSettings,
    seed: int,
    encoder: TextEncoder,
    train: Shard,
    heldout: HeldoutWords,
    device: Device,
    team: Team = ALONE,
) -> Pretraining:
    """Return a run before its first update: new weights, an optimiser, batches being made ahead.

    Raises:
        UserError: more processes than rows of an update, too little memory.
    """
    if team.size > settings.batch:
        raise UserError(
            f"lm.gpus: {team.size} are more than the rows of an update (lm.pretrain.batch: "
            f"{settings.batch}); take fewer"
        )
    model = _new_model(settings, seed, encoder, device, team)
    optimizer = make_optimizer(
        model,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        betas=(settings.adam_beta1, settings.adam_beta2),
        epsilon=settings.adam_epsilon,
    )

    def make(update: int) -> Batch:
        masked = masked_batch(settings, train, encoder, seed, update)
        return prepare(masked, team, settings.micro_batch, pin=device.device.type == "cuda")

    return Pretraining(
        settings=settings,
        seed=seed,
        encoder=encoder,
        train=train,
        heldout=heldout,
        device=device,
        team=team,
        model=model,
        learner=Learner(model, optimizer, device.scaler()),
        gradients=Gradients(model, team),
        batches=Batches(make),
        loss_of=torch.compile(masked_loss, dynamic=False) if settings.compile else masked_loss,
    )


def _new_model(
    settings: PretrainSettings, seed: int, encoder: TextEncoder, device: Device, team: Team
) -> RobertaPreLayerNormForMaskedLM:
    architecture = {key: getattr(settings, key) for key in ARCHITECTURE}
    with torch.device("meta"):
        weights = sum(p.numel() for p in build_model(encoder, **architecture).parameters())
    check_memory(weights, device.device, team.size)
    seed_torch(seed, INITIAL_WEIGHTS)
    with memory_for("lm.pretrain.layers, hidden"):
        return build_model(encoder, **architecture).to(device.device)


def _parts(run: Pretraining, shards: Path, schedule: Schedule) -> dict[str, Any]:
    """Return what the weights of a run depend on.

    How often it is saved, how many rows are in memory at once and how many devices share it are not
    among that: a run may go on otherwise in these, with the same rows, masks and schedule.
    """
    settings = asdict(run.settings) | {"precision": run.device.precision}
    return {
        **{f"lm.pretrain.{name}": settings[name] for name in settings if name not in FREE},
        "schedule": fingerprint(asdict(schedule)),
        "seed": run.seed,
        "tokenizer": run.encoder.digest,
        "text": fingerprint(shards / "train.npy", shards / HELDOUT),
        "code of this program": source_digest("lm.pretrain"),
    }


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
        peak=None if peak is None else peak * run.team.size,
    )


def _announce(run: Pretraining) -> None:
    settings = run.settings
    log.info(
        "%.1f M parameters on %s in %s; %d rows of %d tokens; %d tokens an update",
        sum(parameter.numel() for parameter in run.model.parameters()) / 1e6,
        run.device.device if run.team.size == 1 else f"{run.team.size} x {run.device.device.type}",
        run.device.precision,
        *run.train.rows.shape,
        settings.batch * settings.sequence_length,
    )
    share = run.team.share(settings.batch)
    parts = even_parts(share.stop - share.start, settings.micro_batch)
    sizes = {part.stop - part.start for part in parts}
    if sizes != {settings.micro_batch}:
        log.info(
            "micro-batches of %s rows instead of %d, so that %d processes share %d rows",
            " and ".join(map(str, sorted(sizes))),
            settings.micro_batch,
            run.team.size,
            settings.batch,
        )
