"""Whether a model fits a device, told before anything is trained."""

from __future__ import annotations

import torch

from sagevocab.errors import UserError

# float32 weights, gradients and AdamW's two moments.
BYTES_PER_WEIGHT = 16
GIB = 2**30


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
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
