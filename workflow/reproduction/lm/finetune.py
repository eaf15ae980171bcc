"""Fine-tuning of a pretrained model on one task, and its score (paper, Section 5, Appendix A).

Heads are transformers' own. Training follows Hugging Face's fine-tuning scripts, which the paper
names: AdamW, linear decay after a warm-up in updates, clipped gradients, no choice of a best
epoch. The score is that of the model after the last update, on the validation split.
"""

from __future__ import annotations

import logging
import math
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import transformers
from safetensors import SafetensorError
from scipy.special import softmax
from torch.nn import functional
from transformers import (
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedModel,
)

from reproduction.lm.encoder import IGNORED, TextEncoder, load_encoder
from reproduction.lm.model import WEIGHTS, longest_input
from reproduction.lm.settings import FinetuneSettings, Schedule
from reproduction.lm.tasks import (
    OUTSIDE,
    TRUNCATED,
    Examples,
    Task,
    encode_texts,
    encode_words,
    gold_of,
    most_frequent,
    tag_names,
)
from reproduction.lm.training import (
    DROPOUT,
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
from sagevocab.state import ResumableState, fingerprint, write_json

log = logging.getLogger(__name__)

# Raise this when the same settings, model, rows and seed give other predictions or scores.
RESULT_VERSION = 1


@dataclass(frozen=True)
class Split:
    """Rows of a task, what is right in each (see `gold_of`), and their encoding."""

    rows: pd.DataFrame
    gold: Any
    examples: Examples


@dataclass(frozen=True)
class Finetuning:
    """What an update of one run needs; `tags` are those of a tagging task by number."""

    task: Task
    settings: FinetuneSettings
    seed: int
    encoder: TextEncoder
    tags: list[str]
    device: Device
    model: PreTrainedModel
    learner: Learner


def finetune(
    model: str | Path,
    train: str | Path,
    validation: str | Path,
    scores: str | Path,
    predictions: str | Path,
    task: Task,
    settings: FinetuneSettings,
    *,
    language: str,
    tokenizer: str,
    seed: int,
    precision: str = "auto",
    threads: int = 1,
    gpus: int = 0,
    state_dir: str | Path | None = None,
    checkpoint_minutes: float = 30.0,
    checkpoint_updates: int | None = None,
) -> list[dict[str, Any]]:
    """Fine-tune a model on a task and write its score and its predictions.

    Args:
        model: folder written by `pretrain`.
        train: training rows, parquet, as `data.datasets.prepare_task` writes them.
        validation: rows to score, likewise.
        scores: JSON to write: the task's metric, all metrics, what the most frequent answer
            scores, and how many examples there were.
        predictions: parquet to write, one row an example.
        task: what is to be learnt.
        settings: section `lm.finetune`.
        language: of the model, for the record.
        tokenizer: of the model, for the record.
        seed: of the head, order and dropout.
        precision: as for `pretrain`.
        threads: threads of the CPU.
        gpus: 0 for the CPU, 1 for a GPU.
        state_dir: where checkpoints are kept until the run is done; None keeps none.
        checkpoint_minutes: minutes between checkpoints.
        checkpoint_updates: checkpoint after every so many updates too.

    Returns what it was trained on, sitting by sitting.

    Raises:
        UserError: an unreadable model, no device, a loss that is not finite, too little memory.
    """
    device = choose_device(gpus, precision, threads)
    encoder = load_encoder(model)
    splits, tags = load_splits(train, validation, task, encoder, settings.max_sequence_length)
    run = prepare_run(Path(model), task, settings, seed, encoder, tags, device)
    schedule = settings.learning_rates(len(splits["train"].rows))
    state = ResumableState(state_dir, _fingerprint(run, model, train, validation))
    checkpoints = Checkpoints(
        state, run.learner, seconds=checkpoint_minutes * 60, updates=checkpoint_updates
    )
    progress = checkpoints.restore()
    progress.sit_down(device, cards=1)
    _train(run, splits["train"], schedule, progress, checkpoints)
    run.learner.require_change(progress.updates)

    frame, predicted = predict(run, splits["validation"])
    run_record = {"language": language, "tokenizer": tokenizer, "updates": progress.updates}
    record = _record(run, splits, predicted) | run_record
    log.info(
        "%s: %s %.4f (most frequent answer %.4f)",
        *(record[key] for key in ("task", "metric", "value", "majority")),
    )
    write_parquet(predictions, frame)
    write_json(scores, record)
    state.clear()
    return progress.sittings


def load_splits(
    train: str | Path, validation: str | Path, task: Task, encoder: TextEncoder, longest: int
) -> tuple[dict[str, Split], list[str]]:
    """Read and encode both splits, as `data.datasets.prepare_task` writes them.

    Returns the splits by name, and the tags of a tagging task by number, those of training.
    """
    splits, tags = {}, []
    for name, path in (("train", train), ("validation", validation)):
        rows = pd.read_parquet(path)
        gold = gold_of(rows, task)
        if task.is_tagging:
            tags = tags or tag_names(rows)
            examples = encode_words(rows, tags, encoder, longest)
        else:
            examples = encode_texts(rows, gold, encoder, longest)
        splits[name] = Split(rows, gold, examples)
        log.info("%s: %d examples, %d truncated", path, len(rows), examples.truncated)
    return splits, tags


def examples_in_epoch(settings: FinetuneSettings, update: int, count: int, seed: int) -> np.ndarray:
    """Return which of `count` examples an update sees; none is seen twice in an epoch."""
    epoch, place = divmod(update, settings.updates_per_epoch(count))
    size = settings.batch * settings.accumulation
    return order_of(epoch, count, seed)[place * size : (place + 1) * size]


def train_on(run: Finetuning, examples: Examples, update: int, rate: float) -> float:
    """Do one update, `batch` examples at a time; return the mean loss."""
    chosen = examples_in_epoch(run.settings, update, len(examples), run.seed)
    batches = np.split(chosen, range(run.settings.batch, len(chosen), run.settings.batch))
    padded = [examples.padded(batch, run.encoder.pad) for batch in batches]
    targets = max(1, sum(_target_count(run.task, batch["targets"]) for batch in padded))
    seed_torch(run.seed, DROPOUT, update)
    run.model.train()
    run.learner.optimizer.zero_grad(set_to_none=True)
    total = torch.zeros((), device=run.device.device)
    with memory_for("lm.finetune.batch"):
        with run.device.update():
            for batch in padded:
                loss = _summed_loss(run.task, _logits(run, batch), run.device.put(batch["targets"]))
                loss = loss / targets
                run.learner.backward(loss)
                total += loss.detach()
        run.learner.apply(rate, run.settings.max_grad_norm)
    return total.item()


def predict(run: Finetuning, split: Split) -> tuple[pd.DataFrame, Any]:
    """Return the predictions of a split: as a table with a row an example, and as `gold_of` does.

    Classes are numbers, with the probability that the model gives to the predicted one. A word
    that was cut off is tagged "O".
    """
    logits = _all_logits(run, split.examples)
    table = {"example": np.arange(len(logits))}
    if run.task.is_tagging:
        predicted = _tags(run, split.examples, logits)
        table |= {"tokens": split.rows["tokens"], "tags": split.gold, "predicted": predicted}
    elif run.task.is_regression:
        predicted = np.concatenate(logits)
        table |= {"label": split.gold, "predicted": predicted}
    else:
        scores = np.stack(logits)
        predicted = scores.argmax(axis=1)
        probability = softmax(scores, axis=1).max(axis=1)
        table |= {"label": split.gold, "predicted": predicted, "probability": probability}
    return pd.DataFrame(table), predicted


def _train(
    run: Finetuning,
    split: Split,
    schedule: Schedule,
    progress: Progress,
    checkpoints: Checkpoints,
) -> None:
    clock = Clock(progress.seconds)
    while (spent := schedule.share(progress.updates, progress.seconds)) < 1:
        rate = schedule.rate(progress.updates, progress.seconds)
        loss = train_on(run, split.examples, progress.updates, rate)
        if not math.isfinite(loss):
            raise UserError(
                f"lm.finetune.learning_rate: the loss is {loss} after {progress.updates} updates "
                f"at a peak rate of {run.settings.learning_rate:g}; set a lower one"
            )
        progress.updates += 1
        progress.seconds = clock.seconds()
        if clock.is_due("report", REPORT_SECONDS):
            left = timedelta(seconds=round(progress.seconds * (1 - spent) / max(spent, 1e-9)))
            scaling = "".join(f", {key} {x:g}" for key, x in run.learner.scaling().items())
            log.info(
                "update %d (%.0f %%), loss %.3f%s, %s left",
                *(progress.updates, 100 * spent, loss, scaling, left),
            )
        checkpoints.save_if_due(clock, progress)
    log.info("%d updates in %.1f s", progress.updates, clock.seconds())


def prepare_run(
    folder: Path,
    task: Task,
    settings: FinetuneSettings,
    seed: int,
    encoder: TextEncoder,
    tags: list[str],
    device: Device,
) -> Finetuning:
    """Return a run before its first update: the pretrained model with a new head, an optimiser.

    Raises:
        UserError: the folder holds no model, or one for shorter inputs; too little memory.
    """
    seed_torch(seed, INITIAL_WEIGHTS)
    with memory_for("lm.pretrain.layers, hidden"):
        model = load_model(folder, task, tags).to(device.device)
    longest = longest_input(model.config)
    if settings.max_sequence_length > longest:
        raise UserError(
            f"lm.finetune.max_sequence_length: {settings.max_sequence_length}, but {folder} was "
            f"pretrained on sequences of {longest}; set {longest} or less"
        )
    optimizer = make_optimizer(
        model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay
    )
    learner = Learner(model, optimizer, device.scaler())
    return Finetuning(task, settings, seed, encoder, tags, device, model, learner)


def load_model(folder: Path, task: Task, tags: list[str]) -> PreTrainedModel:
    """Return the pretrained model with an untrained head for `task`.

    Raises:
        UserError: the folder holds no model.
    """
    transformers.logging.set_verbosity_error()  # it would warn that the head is untrained
    transformers.logging.disable_progress_bar()
    if task.is_tagging:
        head, outputs = AutoModelForTokenClassification, len(tags)
    else:
        head, outputs = AutoModelForSequenceClassification, len(task.labels or ("value",))
    try:
        return head.from_pretrained(
            folder,
            num_labels=outputs,
            local_files_only=True,
            use_safetensors=True,  # other formats of weights are pickles
            trust_remote_code=False,
        )
    except (OSError, ValueError, SafetensorError) as error:
        raise UserError(f"{folder}: is no pretrained model ({error}); pretrain it first") from error


def _target_count(task: Task, targets: np.ndarray) -> int:
    return int((targets != IGNORED).sum()) if task.is_tagging else len(targets)


def _logits(run: Finetuning, batch: dict[str, Any]) -> torch.Tensor:
    present = batch["present"]
    with run.device.autocast():
        output = run.model(
            input_ids=run.device.put(batch["ids"]),
            attention_mask=None if present is None else run.device.put(present),
            token_type_ids=run.device.put(batch["segments"]),
        )
    return output.logits.float()


def _summed_loss(task: Task, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    if task.is_regression:
        return functional.mse_loss(logits.squeeze(-1), targets, reduction="sum")
    flat = logits.flatten(0, -2)
    return functional.cross_entropy(flat, targets.flatten(), ignore_index=IGNORED, reduction="sum")


@torch.no_grad()
def _all_logits(run: Finetuning, examples: Examples) -> list[np.ndarray]:
    """Return the logits of each example; for tagging those of each word's first token.

    Examples of like length go together, which changes nothing but the time.
    """
    run.model.eval()
    order = np.argsort([len(ids) for ids in examples.ids], kind="stable")
    size = run.settings.eval_batch
    logits: dict[int, np.ndarray] = {}
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        with memory_for("lm.finetune.eval_batch"):
            batch = _logits(run, examples.padded(chosen, run.encoder.pad)).cpu().numpy()
        for row, example in zip(batch, chosen, strict=True):
            logits[example] = row[examples.words[example]] if examples.words else row
    return [logits[example] for example in range(len(order))]


def _tags(run: Finetuning, examples: Examples, logits: list[np.ndarray]) -> list[list[str]]:
    names = np.array(run.tags)
    return [
        np.where(words == TRUNCATED, OUTSIDE, names[scores.argmax(axis=1)]).tolist()
        for words, scores in zip(examples.words, logits, strict=True)
    ]


def _fingerprint(
    run: Finetuning, model: str | Path, train: str | Path, validation: str | Path
) -> str:
    return fingerprint(
        asdict(run.task),
        vars(run.settings),
        run.seed,
        run.encoder.digest,
        run.device.precision,
        *(Path(path) for path in (Path(model) / WEIGHTS, train, validation)),
        RESULT_VERSION,
    )


def _record(run: Finetuning, splits: dict[str, Split], predicted: Any) -> dict[str, Any]:
    task, train, validation = run.task, splits["train"], splits["validation"]
    scores = task.scores(validation.gold, predicted)
    words = [len(row) for row in validation.examples.words] or range(len(validation.rows))
    majority = task.scores(validation.gold, most_frequent(train.gold, words, task))
    cut = sum(int((row == TRUNCATED).sum()) for row in validation.examples.words)
    return {
        "task": task.name,
        "seed": run.seed,
        "metric": task.metric,
        "classes": len(task.labels) if task.labels else None,
        "value": scores[task.metric],
        "all_metrics": scores,
        "majority": majority[task.metric],
        "examples": len(validation.rows),
        "train_examples": len(train.rows),
        "truncated_examples": validation.examples.truncated,
        "truncated_words": cut,
    }
