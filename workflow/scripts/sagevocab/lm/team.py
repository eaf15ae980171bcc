"""The processes that train one model together, one per GPU (or several on a CPU), on one machine.

Every process holds the whole model, takes its share of an update's rows and adds its gradients to
those of the others, once per update. An update computes what a single process would compute, up to
the order of a sum; only dropout is drawn by each process for itself.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import IO, Any

import torch
from torch import distributed
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, record
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from sagevocab.errors import UserError
from sagevocab.lm.gpus import require_gpus
from sagevocab.provenance import PACKAGE
from sagevocab.state import try_lock

# What torchrun and other launchers set for each process.
_LAUNCHED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# The first process validates and saves while the others wait.
_PATIENCE = timedelta(hours=2)
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_LOCKED: list[IO] = []  # files of the GPUs that this process holds
_SIGTERM = -15  # with which the launcher ends the other processes after a failure


@dataclass(frozen=True)
class Team:
    """One of `size` processes: number `rank`, number `local_rank` on its machine."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0

    @property
    def leads(self) -> bool:
        """Whether this process is the one that validates, logs and saves."""
        return self.rank == 0

    def share(self, rows: int) -> slice:
        """Return this process's part of an update's rows; parts differ by one row at most."""
        bounds = [rows * part // self.size for part in (self.rank, self.rank + 1)]
        return slice(*bounds)

    def agree(self, value: float) -> float:
        """Return the first process's `value`: clocks differ, decisions must not."""
        if self.size == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64)
        distributed.broadcast(shared, src=0)
        return shared.item()

    def wait(self) -> None:
        """Return when all processes have called this."""
        self.agree(0.0)


class Gradients:
    """The gradients of a model as one tensor, so that a team sums them in one operation.

    The tensor's last value is the loss. A single process needs none of this: its parameters keep
    the gradients that torch makes.
    """

    def __init__(self, model: torch.nn.Module, team: Team) -> None:
        """Make the gradients of `model` views of one tensor, if `team` has to sum them."""
        self._parameters = list(model.parameters())
        self._flat: torch.Tensor | None = None
        if team.size > 1:
            sizes = [parameter.numel() for parameter in self._parameters]
            like = self._parameters[0]
            self._flat = torch.zeros(sum(sizes) + 1, dtype=like.dtype, device=like.device)
            parts = self._flat[:-1].split(sizes)
            for parameter, part in zip(self._parameters, parts, strict=True):
                parameter.grad = part.view_as(parameter)

    def clear(self) -> None:
        """Drop the gradients of the previous update."""
        if self._flat is not None:
            self._flat.zero_()
            return
        for parameter in self._parameters:
            parameter.grad = None

    def total(self, loss: torch.Tensor) -> torch.Tensor:
        """Sum gradients and `loss` (a scalar) over the team; return the loss."""
        if self._flat is None:
            return loss
        self._flat[-1] = loss
        distributed.all_reduce(self._flat)
        return self._flat[-1]


def in_team() -> bool:
    """Return whether a launcher started this process as one of several."""
    return all(name in os.environ for name in _LAUNCHED) and int(os.environ["WORLD_SIZE"]) > 1


@contextmanager
def joined_team(gpus: int) -> Iterator[Team]:
    """Join the processes that were launched with this one; a lone process is a team of one."""
    if not in_team():
        yield Team()
        return
    team = Team(*(int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK")))
    if gpus and torch.cuda.is_available():
        torch.cuda.set_device(team.local_rank % torch.cuda.device_count())
    backend = "cpu:gloo,cuda:nccl" if gpus else "gloo"
    distributed.init_process_group(backend, timeout=_PATIENCE)
    yield team
    team.wait()
    # Not after an error: the others may be inside a collective that would then never return.
    distributed.destroy_process_group()


# --- starting the processes


def run_together(function: Callable[..., None], processes: int, **arguments: Any) -> None:
    """Run `function(**arguments)` in this process, or in several that torch's launcher starts.

    Several processes get the function and its arguments by pickle. The first one's log lines, and
    the others' warnings, go to standard output.

    Raises:
        UserError: a process raised it, or the system killed one.
        RuntimeError: a process raised anything else; its traceback is the text.
    """
    if processes == 1 or in_team():
        function(**arguments)
        return
    launcher_log = logging.getLogger("torch.distributed.elastic")
    launcher_log.addHandler(logging.NullHandler())
    launcher_log.propagate = False  # it would repeat on the terminal what `_cause` says
    with TemporaryDirectory(prefix="sagevocab-") as name:
        task = Path(name) / "task.pickle"
        call = pickle.dumps((function, arguments))
        task.write_bytes(pickle.dumps((sys.path, os.getpid(), call)))
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=processes,
            run_id=Path(name).name,
            rdzv_backend="c10d",
            rdzv_endpoint="127.0.0.1:0",
            local_addr="127.0.0.1",
            max_restarts=0,
            logs_specs=DefaultLogsSpecs(log_dir=name, redirects=Std.ALL, tee=Std.OUT),
            log_line_prefix_template="[${rank}] ",
        )
        try:
            elastic_launch(config, sys.executable)("-c", _START, str(PACKAGE.parent), str(task))
        except ChildFailedError as error:
            raise _cause(error) from error


_START = """
import sys
sys.path.insert(0, sys.argv[1])
from sagevocab.lm.team import run_in_team
run_in_team(sys.argv[2])
"""


def _cause(error: ChildFailedError) -> Exception:
    """Return why the processes stopped: an error that a process raised, or a signal."""
    failures = error.failures.values()
    raised = [failure for failure in failures if isinstance(failure.message, dict)]
    # The first error makes the other processes lose their connection and raise, too.
    raised.sort(key=lambda failure: Path(failure.error_file).stat().st_mtime_ns)
    for failure in raised:
        kind, _, text = failure.message["message"].partition(": ")
        if kind == UserError.__name__:
            return UserError(text)
        if kind == MemoryError.__name__:
            return UserError("out of memory; raise mem_mb with --set-resources")
    signals = {-f.exitcode for f in failures if f.exitcode < 0 and f.exitcode != _SIGTERM}
    if signals:
        return UserError(
            f"lm.gpus: signal {min(signals)} ended one of the training processes, and so all of "
            "them; the usual cause is too little memory (raise mem_mb with --set-resources)"
        )
    return RuntimeError(raised[0].message["extraInfo"]["py_callstack"] if raised else str(error))


def run_in_team(task: str) -> None:
    """Run what `run_together` wrote to the file `task`, as one of its processes."""
    level = logging.INFO if os.environ["RANK"] == "0" else logging.WARNING
    form = "%(asctime)s %(name)s: %(message)s"
    logging.basicConfig(level=level, format=form, datefmt="%H:%M:%S", stream=sys.stdout)
    if sys.platform == "linux":
        # The machine's own name need not resolve.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    try:
        record(_run)(task)
    except BaseException:
        sys.stdout.flush()
        # An ordinary exit could wait for collectives that the others will never join.
        os._exit(1)


def _run(task: str) -> None:
    sys.path[:], parent, call = pickle.loads(Path(task).read_bytes())
    threading.Thread(target=_end_with, args=[parent], daemon=True).start()
    function, arguments = pickle.loads(call)
    function(**arguments)


def _end_with(parent: int) -> None:
    """End this process when its parent is gone, even if the parent was killed."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


# --- sharing the machine's GPUs


def reserve_gpus(count: int) -> None:
    """Reserve `count` of this machine's GPUs for this process and hide the others from torch.

    Snakemake counts the GPUs that its jobs use and does not say which. A GPU is reserved by locking
    a file, which the system unlocks when the process ends, however it ends. If
    `CUDA_VISIBLE_DEVICES` already names just as many GPUs, as batch systems do, the job takes
    those. Call this before torch uses a GPU: it reads the variable once.

    Raises:
        UserError: there are fewer GPUs, or other trainings hold too many of them.
    """
    names = visible_gpus() if count else []
    require_gpus(count, len(names))
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
    folder = Path(gettempdir()) / f"sagevocab-gpus-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    file = (folder / gpu).open("a")
    _LOCKED.append(file)
    return try_lock(file)
