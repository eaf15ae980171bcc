"""Masked-language-model pretraining of a pre-layer-norm BERT, from scratch, under a budget.

The scheme is the paper's (Section 5, Appendix A), which is that of Izsak et al. 2021: large
batches, a short warm-up and a linear decay over the budget, here hours or updates.

transformers' Trainer trains (see `training`). A run killed after a checkpoint resumes as if nothing
had happened: bit for bit on one CPU with a fixed number of threads, when the budget is updates.
(GPUs sum in no fixed order, and a budget in hours depends on the clock.)

Several processes, started by torchrun, share the rows of an update: data, masks and schedule are
those of a single process, dropout is each one's own.
"""

from __future__ import annotations

import logging
from pathlib import Path

import pandas as pd
import torch
from transformers import TrainingArguments

from reproduction.lm.heldout import FILE as HELDOUT
from reproduction.lm.heldout import open_heldout
from reproduction.lm.loss import nats_of
from reproduction.lm.masking import mask_rows, micro_batches, part_of
from reproduction.lm.model import build_model, model_card, save_model
from reproduction.lm.scoring import SUMMARY, score_words, summarise_words
from reproduction.lm.settings import FREE, RESULT_VERSION, PretrainSettings
from reproduction.lm.shards import open_shard
from reproduction.lm.tokenizer import load_encoder
from reproduction.lm.training import (
    INITIAL_WEIGHTS,
    MASKS,
    Batch,
    BudgetTrainer,
    examples_of,
    generator,
    memory_for,
    place_of,
    seed_torch,
    training_arguments,
)
from reproduction.parquet import write_parquet
from reproduction.resuming import remove_leftovers
from sagevocab.errors import UserError
from sagevocab.files import atomic_folder, fingerprint, write_text

log = logging.getLogger(__name__)


class Pretrainer(BudgetTrainer):
    """Trains a model on masked rows and validates it on held-out words."""

    section = "lm.pretrain"
    memory_key = "micro_batch"
    summary = SUMMARY

    def __init__(
        self,
        shards: Path,
        vocabulary: Path,
        arguments: TrainingArguments,
        settings: PretrainSettings,
        *,
        seed: int,
    ) -> None:
        """Prepare a run; for the arguments see `pretrain`.

        Raises:
            UserError: shards of another tokenizer, too few rows.
        """
        self.encoder = load_encoder(vocabulary)
        self.settings = settings
        self._train = open_shard(shards)
        self._heldout = open_heldout(shards, self.encoder)
        if len(self._train.rows) < settings.batch:
            raise UserError(
                f"{shards}: {len(self._train.rows)} rows are fewer than lm.pretrain.batch "
                f"({settings.batch}); train on more text or set a smaller batch"
            )
        if arguments.world_size > settings.batch:
            raise UserError(
                f"lm.gpus: {arguments.world_size} are more than the rows of an update "
                f"(lm.pretrain.batch: {settings.batch}); take fewer"
            )
        seed_torch(seed, INITIAL_WEIGHTS)
        super().__init__(
            build_model(self.encoder, settings),
            arguments,
            self._share,
            schedule=settings.budget_schedule(),
            validation_every=settings.validation_every,
            seed=seed,
            checkpoint_minutes=settings.checkpoint_minutes,
        )

    def masked_batch(self, update: int) -> Batch:
        """Return what an update trains on, over all processes: a function of seed and update.

        Masks are drawn for all its rows at once, so they don't depend on who trains on which.
        """
        rows = self._train.rows
        chosen = examples_of(update, self.settings.batch, len(rows), self.seed)
        rng = generator(self.seed, MASKS, update)
        return mask_rows(rows[chosen], self.settings.mask_rate, self.encoder, rng)

    def _share(self, update: int, rank: int) -> tuple[list[Batch], int]:
        masked = self.masked_batch(update)
        rows, processes = self.settings.batch, self.args.world_size
        own = part_of(masked, rows * rank // processes, rows * (rank + 1) // processes)
        targets = max(1, int((masked["labels"] >= 0).sum()))
        return micro_batches(own, self.settings.micro_batch), targets

    def summed_loss(self, model: torch.nn.Module, batch: Batch) -> torch.Tensor:
        """Return the loss in nats, summed over the masked tokens."""
        labels = batch.pop("labels")
        return nats_of(model(**batch), labels.flatten()).sum()

    def validate(self) -> tuple[pd.DataFrame, dict[str, float]]:
        """Ask the held-out words; see `score_words` and `summarise_words`."""
        with memory_for("lm.pretrain.validation_batch"):
            scores = score_words(
                lambda **inputs: self.model(**self._prepare_inputs(inputs)),
                self._heldout,
                pad=self.encoder.pad,
                batch=self.settings.validation_batch,
            )
        summary = summarise_words(scores)
        log.info("held-out words: %s", ", ".join(f"{k} {v:.4f}" for k, v in summary.items()))
        return scores, summary

    def training_log(self) -> pd.DataFrame:
        """Return `history` with the part of the corpus that was seen: epoch, tokens, characters."""
        history = self.history()
        epoch = history["step"] * self.settings.batch / len(self._train.rows)
        seen = {name: epoch * getattr(self._train, name) for name in ("tokens", "characters")}
        return history.assign(epoch=epoch, **seen)


def pretrain(
    shards: str | Path,
    vocabulary: str | Path,
    output: str | Path,
    settings: PretrainSettings,
    *,
    name: str,
    seed: int,
    state_dir: str | Path,
    threads: int = 1,
    gpus: int = 0,
    corpus: str | None = None,
) -> None:
    """Train a model and write it as a folder that `AutoModelForMaskedLM` loads.

    Processes that torchrun starts together with this call train one model.

    Args:
        shards: folder written by `build_shards` with the same tokenizer.
        vocabulary: folder of the tokenizer; its files are copied into the model's.
        output: folder of the model: weights, configuration, tokenizer, training log, scores of
            the held-out lines, card.
        settings: section `lm.pretrain`.
        name: what the card calls the model.
        seed: of weights, order, masks and dropout.
        state_dir: for checkpoints.
        threads: threads of the CPU, of each process.
        gpus: how many train; 0 for the CPU.
        corpus: what the card says of the text, if anything.

    Raises:
        UserError: shards of another tokenizer, too little text, no device, a loss that is not
            finite, too little memory.
    """
    shards, vocabulary, output = Path(shards), Path(vocabulary), Path(output)
    arguments = training_arguments(
        Path(state_dir) / _mark(settings, seed, shards, vocabulary)[:16],
        settings.precision,
        gpus,
        threads,
        torch_compile=bool(gpus) and settings.compile,
        weight_decay=settings.weight_decay,
        adam_beta1=settings.adam_beta1,
        adam_beta2=settings.adam_beta2,
        adam_epsilon=settings.adam_epsilon,
        max_grad_norm=settings.gradient_clipping,
    )
    trainer = Pretrainer(shards, vocabulary, arguments, settings, seed=seed)
    trainer.run()
    if trainer.is_world_process_zero():
        history = trainer.training_log()
        card = model_card(name, settings, seed, history, place_of(arguments), corpus)
        remove_leftovers(output)
        with atomic_folder(output, replace=True) as folder:
            save_model(trainer.model, vocabulary, folder)
            write_parquet(folder / "training_log.parquet", history)
            write_parquet(folder / "heldout.parquet", trainer.scores())
            write_text(folder / "README.md", card)


def _mark(settings: PretrainSettings, seed: int, shards: Path, vocabulary: Path) -> str:
    """Return the digest of what the weights depend on: checkpoints of others are not resumed.

    A run may resume with other values of the FREE keys, and with another number of devices: rows,
    masks and schedule stay the same.
    """
    decisive = {key: value for key, value in vars(settings).items() if key not in FREE}
    files = shards / "train.npy", shards / HELDOUT, vocabulary / "tokenizer.json"
    return fingerprint(decisive, seed, *files, RESULT_VERSION["pretrain"])
