"""Fine-tuning of a pretrained model on one task, and its score (paper, Section 5, Appendix A).

Heads are transformers' own. Training follows Hugging Face's fine-tuning scripts, which the paper
names: AdamW, linear decay after a warm-up in updates, clipped gradients, no choice of a best
epoch. The score is that of the model after the last update, on the validation split.
"""

from __future__ import annotations

import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors import SafetensorError
from scipy.special import softmax
from torch.nn import functional
from transformers import (
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedModel,
    TrainingArguments,
)

from reproduction.lm.model import WEIGHTS, longest_input
from reproduction.lm.settings import RESULT_VERSION, FinetuneSettings
from reproduction.lm.tasks import (
    OUTSIDE,
    TRUNCATED,
    Examples,
    Task,
    encode,
    most_frequent,
    tag_names,
)
from reproduction.lm.tokenizer import IGNORED, load_tokenizer
from reproduction.lm.training import (
    INITIAL_WEIGHTS,
    Batch,
    ExactTrainer,
    memory_for,
    order_of,
    seed_torch,
    training_arguments,
    without_empty_mask,
)
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError
from sagevocab.files import fingerprint, write_json

log = logging.getLogger(__name__)


class Finetuner(ExactTrainer):
    """Trains a pretrained model with a new head on the examples of a task."""

    section = "lm.finetune"
    memory_key = "batch"

    def __init__(
        self,
        model: PreTrainedModel,
        arguments: TrainingArguments,
        task: Task,
        settings: FinetuneSettings,
        examples: Examples,
        *,
        seed: int,
        checkpoint_minutes: float,
    ) -> None:
        """Prepare a run."""
        self.task, self._settings, self._examples = task, settings, examples
        super().__init__(
            model,
            arguments,
            self._share,
            updates=settings.updates(len(examples)),
            seed=seed,
            checkpoint_minutes=checkpoint_minutes,
        )

    def _share(self, update: int, rank: int) -> tuple[list[Batch], int]:
        """Return what an update trains on; a model is fine-tuned by one process."""
        size = self._settings.batch
        chosen = examples_in_epoch(self._settings, update, len(self._examples), self.seed)
        starts = range(0, len(chosen), size)
        batches = [self._examples.batch(chosen[start : start + size]) for start in starts]
        labels = [batch["labels"] for batch in batches]
        if not self.task.is_tagging:
            return batches, len(chosen)
        return batches, max(1, sum(int((one != IGNORED).sum()) for one in labels))

    def summed_loss(self, model: torch.nn.Module, batch: Batch) -> torch.Tensor:
        """Return the loss of a micro-batch, summed over its examples, or its words."""
        targets = batch.pop("labels")
        logits = model(**batch).logits.float()
        if self.task.is_regression:
            return functional.mse_loss(logits.squeeze(-1), targets, reduction="sum")
        flat = logits.flatten(0, -2), targets.flatten()
        return functional.cross_entropy(*flat, ignore_index=IGNORED, reduction="sum")

    @torch.no_grad()
    def logits_of(self, examples: Examples) -> list[np.ndarray]:
        """Return the logits of each example; for tagging those of each word's first token.

        Examples of like length go together, which changes nothing but the time.
        """
        self.model.eval()
        order, size = examples.by_length(), self._settings.eval_batch
        logits: dict[int, np.ndarray] = {}
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            batch = self._prepare_inputs(without_empty_mask(examples.batch(chosen)))
            del batch["labels"]
            with memory_for("lm.finetune.eval_batch"):
                found = self.model(**batch).logits.float().cpu().numpy()
            for row, example in zip(found, chosen, strict=True):
                logits[example] = row[examples.words[example]] if examples.words else row
        return [logits[example] for example in range(len(order))]


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
    state_dir: str | Path,
    precision: str = "auto",
    threads: int = 1,
    gpus: int = 0,
    checkpoint_minutes: float = 30.0,
) -> None:
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
        state_dir: for checkpoints.
        precision: as for `pretrain`.
        threads: threads of the CPU.
        gpus: 0 for the CPU, 1 for a GPU.
        checkpoint_minutes: minutes between checkpoints.

    Raises:
        UserError: an unreadable model, no device, a loss that is not finite, too little memory.
    """
    folder = Path(model)
    splits, tags = load_splits(train, validation, task, folder, settings.max_sequence_length)
    seed_torch(seed, INITIAL_WEIGHTS)
    body = load_model(folder, task, tags, settings)
    files = folder / WEIGHTS, folder / "tokenizer.json", Path(train), Path(validation)
    decisive = {key: value for key, value in vars(settings).items() if key != "seeds"}
    mark = fingerprint(asdict(task), decisive, seed, precision, *files, RESULT_VERSION["finetune"])
    arguments = training_arguments(
        Path(state_dir) / mark[:16],
        precision,
        gpus,
        threads,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_grad_norm,
        lr_scheduler_type=settings.schedule,
        warmup_steps=settings.warmup_steps,
    )
    trainer = Finetuner(
        body,
        arguments,
        task,
        settings,
        splits["train"],
        seed=seed,
        checkpoint_minutes=checkpoint_minutes,
    )
    trainer.run()

    frame, predicted = predict(trainer, splits["validation"], tags)
    names = {"language": language, "tokenizer": tokenizer, "seed": seed}
    record = _record(task, splits, predicted) | names | {"updates": trainer.state.global_step}
    log.info(
        "%s: %s %.4f (most frequent answer %.4f)",
        *(record[key] for key in ("task", "metric", "value", "majority")),
    )
    write_parquet(predictions, frame)
    write_json(scores, record)


def load_splits(
    train: str | Path, validation: str | Path, task: Task, model: Path, longest: int
) -> tuple[dict[str, Examples], list[str]]:
    """Read and encode both splits, as `data.datasets.prepare_task` writes them.

    Returns the splits by name, and the tags of a tagging task by number, those of training.

    Raises:
        UserError: the folder `model` holds no tokenizer.
    """
    tokenizer = load_tokenizer(model)
    splits, tags = {}, []
    for name, path in (("train", train), ("validation", validation)):
        rows = pd.read_parquet(path)
        if task.is_tagging:
            tags = tags or tag_names(rows)
        splits[name] = encode(rows, task, tags, tokenizer, longest)
        log.info("%s: %d examples, %d truncated", path, len(rows), splits[name].truncated)
    return splits, tags


def examples_in_epoch(settings: FinetuneSettings, update: int, count: int, seed: int) -> np.ndarray:
    """Return which of `count` examples an update sees; none is seen twice in an epoch."""
    epoch, place = divmod(update, settings.updates_per_epoch(count))
    size = settings.batch * settings.accumulation
    return order_of(epoch, count, seed)[place * size : (place + 1) * size]


def predict(trainer: Finetuner, split: Examples, tags: list[str]) -> tuple[pd.DataFrame, Any]:
    """Return the predictions of a split: as a table with a row an example, and as `gold_of` does.

    Classes are numbers, with the probability that the model gives to the predicted one. A word
    that was cut off is tagged "O".
    """
    logits = trainer.logits_of(split)
    table = {"example": np.arange(len(logits))}
    if trainer.task.is_tagging:
        names = np.array(tags)
        predicted = [
            np.where(words == TRUNCATED, OUTSIDE, names[scores.argmax(axis=1)]).tolist()
            for words, scores in zip(split.words, logits, strict=True)
        ]
        table |= {"tokens": split.rows["tokens"], "tags": split.gold, "predicted": predicted}
    elif trainer.task.is_regression:
        predicted = np.concatenate(logits)
        table |= {"label": split.gold, "predicted": predicted}
    else:
        scores = np.stack(logits)
        predicted = scores.argmax(axis=1)
        probability = softmax(scores, axis=1).max(axis=1)
        table |= {"label": split.gold, "predicted": predicted, "probability": probability}
    return pd.DataFrame(table), predicted


def load_model(
    folder: Path, task: Task, tags: list[str], settings: FinetuneSettings
) -> PreTrainedModel:
    """Return the pretrained model with an untrained head for `task`.

    Raises:
        UserError: the folder holds no model, or one for shorter inputs.
    """
    if task.is_tagging:
        head, outputs = AutoModelForTokenClassification, len(tags)
    else:
        head, outputs = AutoModelForSequenceClassification, len(task.labels or ("value",))
    try:
        model = head.from_pretrained(
            folder,
            num_labels=outputs,
            local_files_only=True,
            use_safetensors=True,  # other formats of weights are pickles
            trust_remote_code=False,
        )
    except (OSError, ValueError, SafetensorError) as error:
        raise UserError(
            f"{folder}: is not a pretrained model ({error}); pretrain it first"
        ) from error
    longest = longest_input(model.config)
    if settings.max_sequence_length > longest:
        raise UserError(
            f"lm.finetune.max_sequence_length: {settings.max_sequence_length}, but {folder} was "
            f"pretrained on sequences of {longest}; set {longest} or less"
        )
    return model


def _record(task: Task, splits: dict[str, Examples], predicted: Any) -> dict[str, Any]:
    train, validation = splits["train"], splits["validation"]
    scores = task.scores(validation.gold, predicted)
    words = [len(row) for row in validation.words] or range(len(validation.rows))
    majority = task.scores(validation.gold, most_frequent(train.gold, words, task))
    cut = sum(int((row == TRUNCATED).sum()) for row in validation.words)
    return {
        "task": task.name,
        "metric": task.metric,
        "classes": len(task.labels) if task.labels else None,
        "value": scores[task.metric],
        "all_metrics": scores,
        "majority": majority[task.metric],
        "examples": len(validation.rows),
        "train_examples": len(train.rows),
        "truncated_examples": validation.truncated,
        "truncated_words": cut,
    }
