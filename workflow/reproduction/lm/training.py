"""What pretraining and fine-tuning share: device, optimiser, order of examples, checkpoints.

Everything random in an update is drawn from a generator seeded by (seed, purpose, update). So an
update depends only on the weights, the optimiser's moments and its own number, and a killed run
resumes from a checkpoint exactly as if it had not been killed.
"""

from __future__ import annotations

import functools
import json
import logging
import math
import os
import pickle
import shutil
import struct
import sysconfig
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from reproduction.lm.gpus import driver_problem, require_gpus, require_kernels
from sagevocab.errors import UserError
from sagevocab.state import ResumableState, atomic_path, fingerprint, is_claimed, write_json

log = logging.getLogger(__name__)

KEPT_CHECKPOINTS = 2
_NAMES, _PARTS = "update-*", "training.json"
_LOGGED = torch.float64
SMALLEST_SCALE = 2.0**-10  # of the loss in fp16; a training that learns stays far above 1
REPORT_SECONDS = 10.0  # between two lines of the log

PRECISIONS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
VOLTA = (7, 0)  # compute capability from which a GPU multiplies fp16 fast and Triton compiles

# Purposes of a random stream; their numbers are part of what makes a run repeatable.
INITIAL_WEIGHTS, ORDER, DROPOUT, MASKS = range(4)


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


@dataclass(frozen=True)
class Device:
    """Where a model runs, and in what precision: a key of PRECISIONS."""

    device: torch.device
    precision: str = "fp32"

    def autocast(self) -> AbstractContextManager:
        """Return the context for forward passes; weights and moments stay float32."""
        if self.precision == "fp32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=PRECISIONS[self.precision])

    def update(self) -> AbstractContextManager:
        """Return the context for an update, in which weights are cast once, not every micro-batch.

        The casts live until the outermost context ends. Nothing is cast outside `autocast`.
        """
        return torch.autocast(self.device.type, enabled=False)

    @property
    def name(self) -> str:
        """What computes, as its driver calls it."""
        is_gpu = self.device.type == "cuda"
        return torch.cuda.get_device_name(self.device) if is_gpu else "CPU"

    def can_compile(self) -> bool:
        """Return whether this is a GPU for which torch.compile has what it needs."""
        if self.device.type != "cuda" or torch.cuda.get_device_capability(self.device) < VOLTA:
            return False
        compilers = filter(None, (os.environ.get("CC"), "gcc", "clang"))
        headers = Path(sysconfig.get_path("include"), "Python.h").is_file()
        return bool(find_spec("triton") and headers and any(map(shutil.which, compilers)))

    def scaler(self) -> torch.amp.GradScaler:
        """Return what keeps gradients in fp16's range; in other precisions it changes nothing."""
        return torch.amp.GradScaler(self.device.type, enabled=self.precision == "fp16")

    def put(self, array: np.ndarray) -> torch.Tensor:
        """Copy an array to the device; to a GPU beside other work."""
        tensor = torch.from_numpy(array)
        if self.device.type == "cuda":
            tensor = tensor.pin_memory()
        return tensor.to(self.device, non_blocking=True)


def choose_device(gpus: int, precision: str, threads: int, local_rank: int = 0) -> Device:
    """Set torch's threads and return the device of this process.

    Args:
        gpus: GPUs of the job; 0 for the CPU.
        precision: a key of PRECISIONS, or "auto": the fastest that the device computes in.
        threads: threads of the CPU.
        local_rank: which of the GPUs this process takes.

    Raises:
        UserError: there are fewer GPUs than asked for, this one cannot be used, or this build of
            torch has no kernels for it.
    """
    torch.set_num_threads(threads)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true" if threads > 1 else "false")
    if not gpus:
        return Device(torch.device("cpu"), "fp32" if precision == "auto" else precision)
    require_gpus(max(gpus, local_rank + 1))
    device = torch.device("cuda", local_rank)
    try:
        torch.cuda.set_device(device)
    except RuntimeError as error:
        raise UserError(f"lm.gpus: {device} cannot be used: {driver_problem(error)}") from error
    require_kernels(device)
    torch.set_float32_matmul_precision("high")
    return Device(device, _fastest_precision(device) if precision == "auto" else precision)


def _fastest_precision(device: torch.device) -> str:
    """Cards before Ampere emulate bf16, slower than fp32; those before Volta are slow in fp16."""
    if torch.cuda.is_bf16_supported(including_emulation=False):
        return "bf16"
    return "fp16" if torch.cuda.get_device_capability(device) >= VOLTA else "fp32"


def make_optimizer(
    model: torch.nn.Module,
    *,
    learning_rate: float,
    weight_decay: float,
    betas: tuple[float, float] = (0.9, 0.999),
    epsilon: float = 1e-8,
) -> torch.optim.AdamW:
    """Return AdamW that decays matrices (embeddings too), not biases and layer norms."""
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=betas, eps=epsilon, fused=True)


@dataclass
class Learner:
    """A model, its optimiser, and the scaler of its gradients (see `Device.scaler`).

    skipped: updates that were left out because gradients overflowed in fp16.
    """

    model: torch.nn.Module
    optimizer: torch.optim.AdamW
    scaler: torch.amp.GradScaler
    skipped: int = 0

    def backward(self, loss: torch.Tensor) -> None:
        """Add the gradients of `loss`, scaled."""
        self.scaler.scale(loss).backward()

    def apply(self, rate: float, largest_norm: float) -> None:
        """Update the weights with learning rate `rate`; a `largest_norm` of 0 clips nothing.

        In fp16, gradients that overflow are left out and the scale is halved.

        Raises:
            UserError: they overflow at every scale.
        """
        if largest_norm:
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), largest_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        before = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        scale = self.scaler.get_scale()
        self.skipped += scale < before
        if scale < SMALLEST_SCALE:
            raise self._learns_nothing()

    def require_change(self, updates: int) -> None:
        """Raise UserError if all of the `updates` that a finished training did were left out."""
        if self.skipped and self.skipped == updates:
            raise self._learns_nothing()

    def _learns_nothing(self) -> UserError:
        return UserError(
            "lm.pretrain.precision, lm.causal.precision: fp16 learns nothing: gradients overflow "
            f"even at a scale of {self.scaler.get_scale():.2g}, {self.skipped} updates were left "
            "out; set bf16 or fp32, or a lower learning_rate"
        )

    def scaling(self) -> dict[str, float]:
        """Return what happened in fp16: the scale of the loss, updates left out; else nothing."""
        if not self.scaler.is_enabled():
            return {}
        return {"loss_scale": self.scaler.get_scale(), "skipped": self.skipped}


@dataclass
class Progress:
    """How far a run is: updates done, seconds of training over all sittings, one log row each.

    `heldout` has one row a held-out line and validation; None if there was no validation.
    `sittings` says on what each process trained from which update on.
    """

    updates: int = 0
    seconds: float = 0.0
    log: dict[str, list[float]] = field(default_factory=dict)
    heldout: pd.DataFrame | None = None
    sittings: list[dict[str, Any]] = field(default_factory=list)

    def sit_down(self, device: Device, **facts: Any) -> None:
        """Note that the next updates are done on `device`."""
        place = {"sitting": len(self.sittings) + 1, "first_step": self.updates + 1}
        self.sittings.append(place | {"card": device.name, "precision": device.precision} | facts)

    def record(self, **values: float) -> None:
        """Append one row to the log."""
        for name, value in values.items():
            self.log.setdefault(name, []).append(value)

    def validated(self, scores: pd.DataFrame) -> None:
        """Append the rows of a validation after the updates so far."""
        rows = scores.assign(step=self.updates)[["step", *scores.columns]]
        parts = [rows] if self.heldout is None else [self.heldout, rows]
        self.heldout = pd.concat(parts, ignore_index=True)


class Clock:
    """Seconds of training, continued from an earlier sitting; says when something is due."""

    def __init__(self, seconds: float) -> None:
        """Start at `seconds`."""
        self._started = time.monotonic() - seconds
        self._last: dict[str, float] = {}

    def seconds(self) -> float:
        """Return the seconds of training so far."""
        return time.monotonic() - self._started

    def is_due(self, what: str, every: float) -> bool:
        """Return whether `every` seconds have passed since this was last due, or first asked."""
        now = time.monotonic()
        last = self._last.setdefault(what, now)
        if now - last < every:
            return False
        self._last[what] = now
        return True


def claim_state(folder: str | Path | None, parts: Mapping[str, Any]) -> ResumableState:
    """Open the folder of a training's checkpoints.

    parts: what the training's weights depend on, each by the name that the user knows. Checkpoints
    of another training are hours of work, so they are kept, and an error says what differs.

    Raises:
        UserError: the folder holds checkpoints of a training with other `parts`.
    """
    mark = fingerprint(dict(parts))
    if folder is not None and not is_claimed(Path(folder), mark) and any(Path(folder).glob(_NAMES)):
        raise UserError(
            f"{folder}: holds the checkpoints of a training with other "
            f"{_difference(Path(folder), parts)}; set that back to go on with it, or delete the "
            "folder to begin again"
        )
    state = ResumableState(folder, mark)
    if state.folder is not None:
        write_json(state.folder / _PARTS, parts)
    return state


def _difference(folder: Path, parts: Mapping[str, Any]) -> str:
    try:
        theirs = json.loads((folder / _PARTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        theirs = parts
    ours = json.loads(json.dumps(parts))
    names = [name for name in ours if theirs.get(name) != ours[name]]
    # The schedule follows from other keys unless it is a replayed log.
    keys = [name for name in names if name != "schedule"]
    return ", ".join(keys or names) or "settings, inputs or code"


class Checkpoints:
    """The last two states of a run, each a file that appears whole or not at all.

    They hold tensors and plain values only, and are read as such: loading one runs no code.
    """

    def __init__(
        self,
        state: ResumableState,
        learner: Learner,
        *,
        seconds: float = math.inf,
        updates: int | None = None,
    ) -> None:
        """Keep the states of `learner` in the folder of `state`.

        One is saved whenever `seconds` have passed, and after every `updates` updates.
        """
        self._state, self._learner = state, learner
        self._seconds, self._updates = seconds, updates
        self._unreadable: list[Path] = []

    def save_if_due(self, clock: Clock, progress: Progress) -> None:
        """Save a checkpoint if it is time for one."""
        counted = self._updates and progress.updates % self._updates == 0
        if clock.is_due("checkpoint", self._seconds) or counted:
            self.save(progress)

    def save(self, progress: Progress) -> None:
        """Write one checkpoint and remove the oldest beyond the last two."""
        folder, learner = self._state.folder, self._learner
        if folder is None:
            return
        # What a kill left half written and what could not be read would otherwise stay for good.
        for useless in [*self._unreadable, *folder.glob(f".{_NAMES}")]:
            useless.unlink(missing_ok=True)
        heldout = progress.heldout
        content = {
            "model": learner.model.state_dict(),
            "optimizer": learner.optimizer.state_dict(),
            "scaler": learner.scaler.state_dict(),
            "skipped": learner.skipped,
            "updates": progress.updates,
            "seconds": progress.seconds,
            "log": {name: torch.tensor(v, dtype=_LOGGED) for name, v in progress.log.items()},
            "heldout": heldout if heldout is None else _columns(heldout),
            "sittings": progress.sittings,
        }
        with atomic_path(folder / f"update-{progress.updates:09d}.pt") as path:
            torch.save(content, path)
        log.info("checkpoint after %d updates", progress.updates)
        for old in self._newest_first()[KEPT_CHECKPOINTS:]:
            old.unlink()

    def restore(self) -> Progress:
        """Load the newest readable checkpoint into the learner; a new run without one."""
        for path in self._newest_first():
            try:
                content = _checkpoint(path)
            except _UNREADABLE as error:
                log.warning("%s: is damaged (%s); the one before it is taken, if any", path, error)
                self._unreadable.append(path)
                continue
            self._learner.model.load_state_dict(content["model"])
            self._learner.optimizer.load_state_dict(content["optimizer"])
            self._learner.scaler.load_state_dict(content["scaler"])
            self._learner.skipped = content.get("skipped", 0)
            rows = {name: values.tolist() for name, values in content["log"].items()}
            heldout = content["heldout"]
            if heldout is not None:
                heldout = pd.DataFrame({name: v.numpy() for name, v in heldout.items()})
            log.info("resuming after %d updates", content["updates"])
            sittings = content.get("sittings", [])
            return Progress(content["updates"], content["seconds"], rows, heldout, sittings)
        return Progress()

    def clear(self) -> None:
        """Remove them: what they were for is written."""
        self._state.clear()

    def _newest_first(self) -> list[Path]:
        folder = self._state.folder
        return [] if folder is None else sorted(folder.glob(_NAMES), reverse=True)


_UNREADABLE = (
    *(RuntimeError, OSError, ValueError, EOFError, struct.error),
    *(pickle.UnpicklingError, zipfile.BadZipFile),
)


def _checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint; torch does not look at the checksums that it writes itself.

    Raises one of _UNREADABLE for a damaged file.
    """
    with zipfile.ZipFile(path) as archive:
        if archive.testzip():
            raise ValueError("a checksum does not fit")
    return torch.load(path, map_location="cpu", weights_only=True)


def _columns(frame: pd.DataFrame) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(column.to_numpy()) for name, column in frame.items()}


# --- errors of torch that are the user's to solve

# What allocators without an error class of their own say: torch's on the CPU, CUDA's and NCCL's.
_NO_MEMORY = (
    "DefaultCPUAllocator",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDA error: out of memory",
    "Failed to CUDA malloc",
)


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error of torch says that the device has too little memory."""
    known = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return known or any(text in str(error) for text in _NO_MEMORY)


@contextmanager
def memory_for(key: str) -> Iterator[None]:
    """Run code whose memory grows with the configuration key `key`.

    Raises:
        UserError: the device has too little; names the key to lower.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise UserError(
            f"{key}: too little memory on the device; set a smaller one, or a smaller model"
        ) from error


@contextmanager
def compilation_for(key: str) -> Iterator[None]:
    """Run code that torch compiles because the configuration key `key` says so.

    Raises:
        UserError: there is no compiler, or the model cannot be compiled.
    """
    try:
        yield
    except RuntimeError as error:
        # By name, as the classes live in a module that takes seconds to import.
        if not type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
            raise
        reason = str(error).strip().partition("\n")[0]
        raise UserError(f"{key}: torch cannot compile here ({reason}); set it to false") from error
