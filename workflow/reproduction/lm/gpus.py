"""Whether this torch can compute on this machine's GPUs; if not, what to install, in one line.

A build of PyTorch holds kernels for some cards and needs a driver as new as its CUDA: for release
2.13, cu126 serves compute capabilities 5.0 to 9.0, cu130 those from 7.5. CUDA 12 needs driver 525,
CUDA 13 driver 580 (PyTorch's release compatibility matrix; NVIDIA's minor version compatibility).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import gettempdir

import torch

from sagevocab.errors import UserError
from sagevocab.state import try_lock

Capability = tuple[int, int]

_MAXWELL, _TURING, _BLACKWELL = (5, 0), (7, 5), (10, 0)
_DRIVERS = {"12": 525, "13": 580}  # by CUDA's major version
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_LOCKED: list[ExitStack] = []  # files of the GPUs that this process holds
_GUIDE = "docs/models.md has a table of builds and cards"


def build_for(capability: Capability) -> str:
    """Return the build of PyTorch for a card; "" if there is none."""
    if capability < _MAXWELL:
        return ""
    if capability < _TURING:
        return "cu126"
    return "cu126 or cu130" if capability < _BLACKWELL else "cu130"


def require_gpus(gpus: int, found: int | None = None) -> None:
    """Raise UserError if there are fewer GPUs than asked for; `found` is what torch sees."""
    found = torch.cuda.device_count() if found is None else found
    if not found and gpus:
        raise UserError(f"lm.gpus: {gpus}, but {_why_none()}; set lm.gpus: 0 to train on the CPU")
    if found < gpus:
        raise UserError(
            f"lm.gpus: {gpus}, but torch sees {found} GPU{'s' if found > 1 else ''}; set "
            f"lm.gpus: {found}"
        )


def _why_none() -> str:
    """Return why torch sees no GPU, and what may help."""
    if torch.version.cuda is None and torch.version.hip is None:
        return (
            f"torch {torch.__version__} is a build for the CPU: install PyTorch's cu130 build, or "
            f"cu126 for a card before Turing or a driver before 580 ({_GUIDE}, also in conda's "
            "environments)"
        )
    try:
        torch.cuda.init()
    except RuntimeError as error:
        return f"torch sees no GPU: {driver_problem(error)}"
    return "torch sees no GPU"


def driver_problem(error: RuntimeError) -> str:
    """Return in one line what keeps torch from a GPU, by the error that it raised."""
    text = str(error).partition("\n")[0]
    if "driver on your system is too old" not in text:
        return f"{text.rstrip('.')}; nvidia-smi shows driver, GPUs and who uses them"
    cuda = torch.version.cuda or ""
    major = cuda.partition(".")[0]
    needed = f" (CUDA {cuda} needs {_DRIVERS[major]} or newer)" if major in _DRIVERS else ""
    older = "" if major == "12" else ", or install PyTorch's cu126 build, which needs 525"
    return f"the NVIDIA driver is too old for torch {torch.__version__}{needed}; update it{older}"


def require_kernels(device: torch.device) -> None:
    """Raise UserError if this build of torch has no kernels for the card `device`."""
    built = torch.cuda.get_arch_list() if torch.version.cuda else []
    capability = torch.cuda.get_device_capability(device)
    if not built or any(_runs_on(name, capability) for name in built):
        return
    build, name = build_for(capability), torch.cuda.get_device_name(device)
    advice = f"install PyTorch's {build} build" if build else "take a newer card"
    raise UserError(
        f"lm.gpus: torch {torch.__version__} has no kernels for {name} (compute capability "
        f"{capability[0]}.{capability[1]}; it has {', '.join(built)}); {advice} ({_GUIDE})"
    )


def _runs_on(kernel: str, capability: Capability) -> bool:
    """Return whether a card runs sm_XY (its own generation) or compiles compute_XY for itself."""
    kind, _, number = kernel.partition("_")
    made_for = divmod(int(number.rstrip("af")), 10)
    same = kind == "compute" or made_for[0] == capability[0]
    return same and made_for <= capability


# --- sharing the machine's GPUs


def reserve_gpus(count: int, sharers: int = 1) -> None:
    """Reserve `count` of this machine's GPUs for this process and hide the others from torch.

    Snakemake counts the GPUs that its jobs use and does not say which. A GPU is reserved by locking
    a file, which the system unlocks when the process ends, however it ends. If
    `CUDA_VISIBLE_DEVICES` already names just as many GPUs, as batch systems do, the job takes
    those. Call this before torch uses a GPU: it reads the variable once.

    sharers: processes that may share a GPU; all of them say the same number.

    Raises:
        UserError: there are fewer GPUs, or other trainings hold too many of them.
    """
    names = visible_gpus() if count else []
    require_gpus(count, len(names))
    if count == 0 or (_VISIBLE in os.environ and len(names) == count):
        return
    shares: Sequence[int | None] = [None] if sharers == 1 else range(sharers)
    locked = (name for share in shares for name in names if _lock(name, share))
    free = list(islice(locked, count))
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


def _lock(gpu: str, share: int | None) -> bool:
    """Lock a GPU, or one of its shares: then others may lock the other shares, nobody all of it."""
    folder = Path(gettempdir()) / f"sagevocab-gpus-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    with ExitStack() as files:
        card = files.enter_context((folder / gpu).open("a"))
        held = try_lock(card, shared=share is not None)
        if share is not None:
            held = held and try_lock(files.enter_context((folder / f"{gpu}.{share}").open("a")))
        if held:
            _LOCKED.append(files.pop_all())  # stays open, and so locked
    return held
