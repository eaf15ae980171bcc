"""Whether this torch can compute on this machine's GPUs; if not, what to install, in one line.

A build of PyTorch holds kernels for some cards and needs a driver as new as its CUDA: for release
2.13, cu126 serves compute capabilities 5.0 to 9.0, cu130 those from 7.5. CUDA 12 needs driver 525,
CUDA 13 driver 580 (PyTorch's release compatibility matrix; NVIDIA's minor version compatibility).
"""

from __future__ import annotations

import torch

from sagevocab.errors import UserError

Capability = tuple[int, int]

_MAXWELL, _TURING, _BLACKWELL = (5, 0), (7, 5), (10, 0)
_DRIVERS = {"12": 525, "13": 580}  # by CUDA's major version
_GUIDE = "docs/models.md has a table of builds and cards"


def build_for(capability: Capability) -> str:
    """Return the build of PyTorch for a card; "" if there is none."""
    if capability < (5, 0):
        return ""
    return (
        "cu126"
        if capability < _TURING
        else "cu130"
        if capability >= _BLACKWELL
        else "cu126 or cu130"
    )


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
            "cu126 for a card before Turing or a driver before 580 (in conda's environments set "
            f"CONDA_OVERRIDE_CUDA; {_GUIDE})"
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
