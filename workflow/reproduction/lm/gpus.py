"""GPUs of this machine: whether there are enough, and which of them a job takes."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from tempfile import gettempdir
from typing import IO

import torch

from reproduction.resuming import try_lock
from sagevocab.errors import UserError

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_LOCKED: list[IO] = []  # files of the GPUs that this process holds


def require_gpus(gpus: int) -> None:
    """Raise UserError if torch sees fewer GPUs than a job needs."""
    found = torch.cuda.device_count() if gpus else 0
    if found < gpus:
        raise UserError(
            f"lm.gpus: {gpus}, but torch {torch.__version__} sees {found}; set lm.gpus: {found}, "
            "or install the driver and the build of PyTorch for the card (docs/models.md)"
        )


def reserve_gpus(count: int) -> None:
    """Reserve `count` of this machine's GPUs for this process and hide the others from torch.

    Snakemake counts the GPUs that its jobs use and does not say which. A GPU is reserved by locking
    a file, which the system unlocks when the process ends, however it ends. If
    `CUDA_VISIBLE_DEVICES` already names just as many GPUs, as batch systems do, the job takes
    those. Call this before torch uses a GPU: it reads the variable once.

    Raises:
        UserError: there are fewer GPUs, or other trainings hold too many of them.
    """
    require_gpus(count)
    names = visible_gpus() if count else []
    if count == 0 or (_VISIBLE in os.environ and len(names) == count):
        return
    free = list(islice(filter(_lock, names), count))
    if len(free) < count:
        raise UserError(
            f"lm.gpus: {count}, but other trainings on this machine leave {len(free)} of "
            f"{len(names)} GPUs; wait for them, or start fewer at once (--resources gpu=N)"
        )
    os.environ[_VISIBLE] = ",".join(free)
    if torch.cuda.device_count() != count:  # where NVML does not answer, it is too late
        raise UserError(
            f"lm.gpus: {count} of {len(names)} GPUs cannot be chosen on this machine; "
            f"start snakemake with {_VISIBLE} naming as many as lm.gpus"
        )


def visible_gpus() -> list[str]:
    """Return the GPUs that torch may use, each by its name in `CUDA_VISIBLE_DEVICES`."""
    count = torch.cuda.device_count()  # asks the driver without choosing a GPU
    named = os.environ.get(_VISIBLE)
    names = map(str, range(count)) if named is None else named.split(",")
    return [name.strip() for name in names][:count]


def _lock(gpu: str) -> bool:
    """Lock a GPU for this process; return whether no other holds it."""
    folder = Path(gettempdir()) / f"sagevocab-gpus-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    file = (folder / gpu).open("a")
    if not try_lock(file):
        file.close()
        return False
    _LOCKED.append(file)  # stays open, and so locked
    return True
