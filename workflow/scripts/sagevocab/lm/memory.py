"""Whether a model fits a device, told before anything is trained."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import torch

from sagevocab.errors import UserError

# float32 weights, gradients and AdamW's two moments.
BYTES_PER_WEIGHT = 16
GIB = 2**30
NO_LIMIT = 2**60  # the first hierarchy's number for "none" is near 2**63


def check_memory(weights: int, device: torch.device, processes: int) -> None:
    """Refuse a model whose weights, gradients and moments alone are more than what is free.

    Args:
        weights: parameters of the model.
        device: where it is to be trained.
        processes: how many train on this machine; they share the memory of the CPU.

    Raises:
        UserError: it can't be trained here.
    """
    free = free_memory(device)
    needed = weights * BYTES_PER_WEIGHT * (processes if device.type == "cpu" else 1)
    if free is not None and needed > free:
        raise UserError(
            f"lm.pretrain.layers, hidden: {weights / 1e6:,.0f} M weights need "
            f"{needed / GIB:.1f} GiB with their gradients and moments, but {device} has "
            f"{free / GIB:.1f} GiB free; make the model smaller or take another device"
        )


def free_memory(device: torch.device) -> int | None:
    """Return the bytes that can still be had on `device`; None where the system does not say."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return min(filter(None, (_available_memory(), job_limit())), default=None)


def _available_memory() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return int(dict(line.split(":", 1) for line in lines)["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def job_limit(
    membership: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """Return the bytes that a batch system or container allows this process; None without a limit.

    A control group is limited by those above it, too. The kernel's first and second hierarchy of
    groups differ in the names of files; "max", or a number beyond any memory, is no limit.
    """
    try:
        groups = [line.split(":", 2) for line in membership.read_text().splitlines()]
    except OSError:
        return None
    files = []
    for _, controllers, path in groups:
        if controllers in ("", "memory"):
            name = "memory.limit_in_bytes" if controllers else "memory.max"
            own = PurePosixPath(path.lstrip("/"))
            files += [root / controllers / above / name for above in (own, *own.parents)]
    limits = [int(text) for file in files if (text := _text_of(file)).isdigit()]
    return min((limit for limit in limits if limit < NO_LIMIT), default=None)


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError:
        return ""
