"""transformers' Trainer as all models here use it: exact, under a budget, safe from kills.

What an update trains on, its micro-batches and its dropout are functions of the seed and of the
update's number. So an update depends only on the weights, the optimiser's moments and that number,
and a killed run resumes from a checkpoint as if it had not been killed.

An item of the training set is a process's share of a whole update, so Trainer counts updates, not
rows: its batch size and its accumulation are 1, and `training_step` accumulates.
"""

from __future__ import annotations

import functools
import json
import logging
import math
import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np
import pandas as pd
import torch
import transformers
from accelerate.utils import broadcast_object_list
from safetensors import SafetensorError, safe_open
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import Dataset
from transformers import (
    PreTrainedModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.trainer import OPTIMIZER_NAME, SCHEDULER_NAME, TRAINER_STATE_NAME
from transformers.utils import SAFE_WEIGHTS_NAME

from reproduction.lm.gpus import require_gpus
from reproduction.lm.settings import BudgetSchedule, crosses
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError

log = logging.getLogger(__name__)

REPORT_SECONDS = 10.0  # between two lines of the log
VOLTA = (7, 0)  # compute capability from which a GPU multiplies fp16 fast

# Purposes of a random stream; their numbers are part of what makes a run repeatable.
INITIAL_WEIGHTS, ORDER, DROPOUT, MASKS = range(4)

# Inputs of a model's forward pass, by its names.
Batch = dict[str, torch.Tensor]


# --- randomness


def generator(seed: int, *key: int) -> np.random.Generator:
    """Return NumPy's generator for `seed` and a purpose, update or epoch in `key`."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *key])))


def seed_torch(seed: int, *key: int) -> None:
    """Start torch's generators (dropout, initial weights) anew for `seed` and `key`."""
    torch.manual_seed(int(generator(seed, *key).integers(2**63)))


def examples_of(update: int, size: int, count: int, seed: int) -> np.ndarray:
    """Return which of `count` examples an update sees: int64[size].

    Examples come in an endless stream of permutations, one an epoch, each drawn from (seed,
    epoch): a batch may begin in one epoch and end in the next, and nothing is left out.
    """
    start = update * size
    parts = []
    while size:
        epoch, offset = divmod(start, count)
        part = order_of(epoch, count, seed)[offset : offset + size]
        parts.append(part)
        start, size = start + len(part), size - len(part)
    return np.concatenate(parts)


@functools.lru_cache(maxsize=2)
def order_of(epoch: int, count: int, seed: int) -> np.ndarray:
    """Return the order in which an epoch goes through `count` examples: int64[count]."""
    return generator(seed, ORDER, epoch).permutation(count)


# --- what Trainer is given


class Updates(Dataset):
    """Every process's share of every update: Trainer's loader gives item i to process i mod N."""

    def __init__(
        self, share_of: Callable[[int, int], tuple[list[Batch], int]], updates: int, processes: int
    ) -> None:
        """Take shares from `share_of`.

        share_of: (update, rank) -> the micro-batches of a process, and how many targets (masked
            tokens, symbols, examples) the whole update has.
        """
        self._share_of, self._updates, self._processes = share_of, updates, processes

    def __len__(self) -> int:
        """Return the number of shares."""
        return self._updates * self._processes

    def __getitem__(self, number: int) -> dict[str, Any]:
        """Return the share with this number."""
        batches, targets = self._share_of(*divmod(number, self._processes))
        return {"batches": [without_empty_mask(batch) for batch in batches], "targets": targets}


def without_empty_mask(batch: Batch) -> Batch:
    """Drop an attention mask that hides nothing: without one, GPUs attend faster."""
    mask = batch.get("attention_mask")
    if mask is None or not mask.all():
        return batch
    return {name: values for name, values in batch.items() if name != "attention_mask"}


def training_arguments(
    folder: Path, precision: str, gpus: int, threads: int, **optimiser: Any
) -> TrainingArguments:
    """Return Trainer's arguments, and set torch's threads.

    Args:
        folder: for checkpoints.
        precision: fp32, bf16, fp16, or auto: the fastest that the device computes in.
        gpus: of the job; 0 for the CPU.
        threads: threads of the CPU.
        optimiser: further arguments.

    Raises:
        UserError: there are fewer GPUs, or the CPU cannot train in fp16.
    """
    torch.set_num_threads(threads)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true" if threads > 1 else "false")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    require_gpus(gpus)
    torch.set_float32_matmul_precision("high" if gpus else "highest")
    chosen = _fastest_precision(gpus) if precision == "auto" else precision
    if chosen == "fp16" and not gpus:
        raise UserError(
            "lm.pretrain.precision (lm.causal.precision for causal models): fp16 needs a GPU; set "
            "bf16 or fp32"
        )
    if chosen == "bf16" and not gpus and _emulates_bf16():
        log.warning(
            "lm.pretrain.precision (lm.causal.precision for causal models): this processor "
            "emulates bf16, which takes many times as long as fp32; stop, and set fp32"
        )
    return TrainingArguments(
        output_dir=str(folder),
        use_cpu=not gpus,
        bf16=chosen == "bf16",
        fp16=chosen == "fp16",
        optim="adamw_torch_fused",
        per_device_train_batch_size=1,
        train_sampling_strategy="sequential",
        remove_unused_columns=False,
        # A worker inherits text and trainer: only forks can, and Python 3.14 has another default.
        dataloader_num_workers=int(gpus > 0 and multiprocessing.get_start_method() == "fork"),
        ddp_find_unused_parameters=False,
        save_strategy="no",  # `_Rhythm` decides
        save_total_limit=2,
        enable_jit_checkpoint=True,
        logging_steps=1,
        disable_tqdm=True,
        report_to=[],
        **optimiser,
    )


def _fastest_precision(gpus: int) -> str:
    """Cards before Ampere emulate bf16, slower than fp32; those before Volta are slow in fp16."""
    if not gpus:
        return "fp32"
    if torch.cuda.is_bf16_supported(including_emulation=False):
        return "bf16"
    return "fp16" if torch.cuda.get_device_capability() >= VOLTA else "fp32"


def _emulates_bf16() -> bool:
    """Tell whether torch knows that this processor has no instruction for products in bf16."""
    found = getattr(torch.cpu, "get_capabilities", dict)()  # torch 2.6 has no such function
    return found.get("architecture") == "x86_64" and not (found["avx512_bf16"] or found["amx_bf16"])


def place_of(arguments: TrainingArguments) -> dict[str, Any]:
    """Return what trains: device, processes, precision."""
    is_gpu = arguments.device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(arguments.device) if is_gpu else "CPU",
        "processes": arguments.world_size,
        "precision": "bf16" if arguments.bf16 else "fp16" if arguments.fp16 else "fp32",
    }


def last_checkpoint(folder: Path) -> str | None:
    """Return the newest whole checkpoint; remove newer ones, which a kill left half written.

    Trainer takes the one with the highest number, whole or not, and starts the optimiser anew where
    its file is missing.
    """
    found = {int(path.name.rpartition("-")[2]): path for path in folder.glob("checkpoint-*")}
    for _, path in sorted(found.items(), reverse=True):
        if _is_whole(path):
            return str(path)
        log.warning("%s: is damaged; resuming from the checkpoint before it, if any", path)
        shutil.rmtree(path, ignore_errors=True)
    return None


def _is_whole(checkpoint: Path) -> bool:
    """Return whether every file is there to its end."""
    try:
        json.loads((checkpoint / TRAINER_STATE_NAME).read_text(encoding="utf-8"))
        with safe_open(checkpoint / SAFE_WEIGHTS_NAME, framework="pt"):
            pass
    except (OSError, ValueError, SafetensorError):
        return False
    # The directory of a zip archive, as torch writes, is at its end.
    return all(is_zipfile(checkpoint / name) for name in (OPTIMIZER_NAME, SCHEDULER_NAME))


# --- the trainers


class ExactTrainer(Trainer):
    """Trains a model update by update; checkpoints depend on the clock alone.

    Attributes:
        section: of the configuration, for messages.
        memory_key: the key of it with which the memory of an update grows.
    """

    section = "lm"
    memory_key = ""

    def __init__(
        self,
        model: PreTrainedModel,
        arguments: TrainingArguments,
        share_of: Callable[[int, int], tuple[list[Batch], int]],
        *,
        updates: int,
        seed: int,
        checkpoint_minutes: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare the training of `model`.

        Args:
            model: with its first weights.
            arguments: as `training_arguments` gives them.
            share_of: see `Updates`.
            updates: of the whole training; if the clock ends it, more than there can be.
            seed: of dropout.
            checkpoint_minutes: between two checkpoints.
            clock: counts the seconds of the updates.
        """
        arguments.max_steps = updates
        self.rhythm = _Rhythm(self, checkpoint_minutes, clock)
        super().__init__(
            model,
            arguments,
            data_collator=itemgetter(0),  # of a batch of one item
            train_dataset=Updates(share_of, updates, arguments.world_size),
            callbacks=[self.rhythm],
        )
        self.remove_callback(PrinterCallback)
        self.seed = seed

    def summed_loss(self, model: torch.nn.Module, batch: Batch) -> torch.Tensor:
        """Return the loss of a micro-batch, summed over its targets."""
        raise NotImplementedError

    def spent(self) -> float:
        """Return the share of the budget that is spent."""
        return self.state.global_step / self.args.max_steps

    def wants_validation(self, before: float, spent: float) -> bool:
        """Return whether to validate after an update that took `before` to `spent`."""
        return False

    def run(self) -> None:
        """Train to the end, from the newest checkpoint if there is one.

        Raises:
            UserError: the process got a signal to end, a loss is not finite, too little memory.
        """
        newest = last_checkpoint(Path(self.args.output_dir))
        log.info(
            "%.1f M parameters on %s",
            self.model.num_parameters() / 1e6,
            ", ".join(f"{key} {value}" for key, value in place_of(self.args).items()),
        )
        if newest:
            log.info("resuming after %s updates", newest.rpartition("-")[2])
        self.train(resume_from_checkpoint=newest)
        if self.spent() < 1:
            raise UserError(
                f"the training was ended by a signal after {self.state.global_step} updates and "
                "saved; run the same command again, and it resumes"
            )

    # --- what Trainer calls

    def get_decay_parameter_names(self, model: torch.nn.Module) -> list[str]:
        """Return the matrices, embeddings too.

        Trainer's own pattern takes every weight of `roberta_prelayernorm` for one of a layer norm.
        """
        return [name for name, weight in model.named_parameters() if weight.ndim >= 2]

    def training_step(
        self,
        model: torch.nn.Module,
        inputs: dict[str, Any],
        num_items_in_batch: Any = None,
    ) -> torch.Tensor:
        """Add up the gradients of this process's micro-batches; return the mean loss.

        Raises:
            UserError: the loss is not finite, or the device has too little memory.
        """
        rank = self.args.process_index
        seed_torch(self.seed, DROPOUT, self.state.global_step, *([rank] if rank else []))
        *others, last = inputs["batches"]
        loss: Any = 0
        with memory_for(f"{self.section}.{self.memory_key}"):
            for batch in others:
                with self.accelerator.no_sync(model):
                    loss += super().training_step(model, batch, inputs["targets"])
            loss += super().training_step(model, last, inputs["targets"])
        if not math.isfinite(loss):
            raise UserError(
                f"{self.section}.learning_rate: the loss is {loss} after {self.state.global_step} "
                f"updates at a rate of {self._get_learning_rate():g}; set a lower one"
            )
        return loss

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: Batch,
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> torch.Tensor:
        """Return the part of an update's mean loss that a micro-batch is.

        DistributedDataParallel takes the mean of the gradients of all processes.
        """
        share = num_items_in_batch / self.accelerator.num_processes
        return self.summed_loss(model, inputs) / share

    def store_flos(self) -> None:
        """Count no operations: all processes would have to meet, and the first saves alone."""


class BudgetTrainer(ExactTrainer):
    """Trains under a budget, validates at shares of it, and keeps the scores of all validations.

    Attributes:
        summary: names of what `validate` returns for the log, in the order of its columns.
    """

    summary: Sequence[str] = ()

    def __init__(
        self,
        model: PreTrainedModel,
        arguments: TrainingArguments,
        *given: Any,
        schedule: BudgetSchedule,
        validation_every: float,
        **named: Any,
    ) -> None:
        """Prepare the training, as `ExactTrainer` does.

        Args:
            model: for `ExactTrainer`.
            arguments: for `ExactTrainer`, but for the learning rate, which is that of `schedule`.
            given: for `ExactTrainer`.
            schedule: of the learning rate.
            validation_every: share of the budget between two validations; one more ends it.
            named: for `ExactTrainer`.
        """
        self._schedule, self._every = schedule, validation_every
        arguments.learning_rate = 1.0  # `create_scheduler` multiplies it
        # More updates than a clock leaves room for.
        updates = schedule.updates or 10**7
        super().__init__(model, arguments, *given, updates=updates, **named)

    def validate(self) -> tuple[pd.DataFrame, dict[str, float]]:
        """Return the scores of held-out lines, a row each, and a summary for the log."""
        raise NotImplementedError

    def spent(self) -> float:
        """Return the share of the budget that is spent."""
        return self._schedule.share(self.state.global_step, self.rhythm.seconds)

    def wants_validation(self, before: float, spent: float) -> bool:
        """Return whether to validate after an update that took `before` to `spent`."""
        return spent >= 1 or crosses(before, spent, self._every)

    def history(self) -> pd.DataFrame:
        """Return a row an update: step, loss, learning_rate, seconds; validations beside theirs."""
        log = pd.DataFrame(self.state.log_history)
        updates = log.loc[log["loss"].notna(), ["step", "loss", "learning_rate", "seconds"]]
        validations = log.loc[log["validated"].notna(), ["step", *self.summary]]
        return updates.merge(validations, how="left", on="step")

    def scores(self) -> pd.DataFrame:
        """Return what `validate` returned at each validation, after a column `step`.

        A training run that was killed may have validated after other updates, too, since the clock
        moves on.
        """
        validated = sorted({row["step"] for row in self.state.log_history if "validated" in row})
        return pd.concat(map(pd.read_parquet, map(self._score_file, validated)), ignore_index=True)

    # --- what Trainer calls

    def create_scheduler(
        self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None
    ) -> LambdaLR:
        """Return the scheduler of the budget."""
        if self.lr_scheduler is None:
            self.lr_scheduler = LambdaLR(
                self.optimizer, lambda update: self._schedule.rate(update, self.rhythm.seconds)
            )
        return self.lr_scheduler

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log the seconds, too; a restart goes on from those that were logged last."""
        super().log(logs | {"seconds": self.rhythm.seconds}, start_time)

    @torch.no_grad()
    def evaluate(self, *given: Any, **named: Any) -> dict[str, float]:
        """Validate, and keep the scores: those of held-out lines are in no checkpoint."""
        step = self.state.global_step
        self.model.eval()
        scores, summary = self.validate()
        if self.is_world_process_zero():
            rows = scores.assign(step=step)[["step", *scores.columns]]
            write_parquet(self._score_file(step), rows)
        self.log(summary | {"validated": True})
        return summary

    def _score_file(self, step: int) -> Path:
        return Path(self.args.output_dir) / f"validation-{step:09d}.parquet"


class _Rhythm(TrainerCallback):
    """Counts the seconds, ends by the budget, validates by it, saves by the clock, and reports.

    Attributes:
        seconds: of all updates, those before a restart included. All processes follow the clock of
            the first. The first update of a process is left out: it starts the device and compiles
            the model.
    """

    def __init__(self, trainer: ExactTrainer, minutes: float, clock: Callable[[], float]) -> None:
        self._trainer, self._minutes, self._clock = trainer, minutes, clock
        self._is_warm, self.seconds = False, 0.0

    def on_train_begin(self, args, state, control, **named) -> None:
        if state.log_history:
            self.seconds = state.log_history[-1].get("seconds", 0.0)
        self._saved = self._reported = self._began = time.monotonic()
        self._spent = self._spent_before = self._trainer.spent()

    def on_step_begin(self, args, state, control, **named) -> None:
        self._update_began = self._clock()

    def on_optimizer_step(self, args, state, control, **named) -> None:
        """Count an update, before the rate of the next is set."""
        (took,) = broadcast_object_list([self._clock() - self._update_began])
        if self._is_warm:
            self.seconds += took
        else:
            log.info("the first update took %.1f s, which the budget leaves out", took)
        self._is_warm = True

    def on_step_end(self, args, state, control, **named) -> None:
        before, self._spent = self._spent, self._trainer.spent()
        is_last = self._spent >= 1
        if is_last:
            control.should_training_stop = True
        control.should_evaluate = self._trainer.wants_validation(before, self._spent)
        # What follows the last update is quickly done again. One process saves for all.
        if not is_last and state.is_world_process_zero:
            control.should_save = time.monotonic() - self._saved >= 60 * self._minutes

    def on_save(self, args, state, control, **named) -> None:
        self._saved = time.monotonic()
        log.info("checkpoint after %d updates", state.global_step)

    def on_epoch_end(self, args, state, control, **named) -> None:
        control.should_evaluate = control.should_save = False  # done after the last update

    def on_log(self, args, state, control, logs, **named) -> None:
        now = time.monotonic()
        is_validation = "validated" in logs
        if "loss" not in logs or not (is_validation or now - self._reported >= REPORT_SECONDS):
            return
        self._reported = now
        pace = (self._spent - self._spent_before) / (now - self._began)
        log.info(
            "update %d (%.0f %%), loss %.3f, learning rate %.2e, %s left",
            *(state.global_step, 100 * self._spent, logs["loss"], logs["learning_rate"]),
            timedelta(seconds=round((1 - self._spent) / max(pace, 1e-12))),
        )


# --- errors of torch that are the user's to solve

# What allocators without an error class of their own say: torch's on the CPU, CUDA's and NCCL's.
_NO_MEMORY = (
    "DefaultCPUAllocator",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDA error: out of memory",
    "Failed to CUDA malloc",
)


@contextmanager
def memory_for(key: str) -> Iterator[None]:
    """Run code whose memory grows with the configuration key `key`.

    Raises:
        UserError: the device has too little; names the key to lower.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        known = isinstance(error, torch.OutOfMemoryError | MemoryError)
        if not known and not any(text in str(error) for text in _NO_MEMORY):
            raise
        raise UserError(
            f"{key}: too little memory on the device; set a smaller one, or a smaller model"
        ) from error
