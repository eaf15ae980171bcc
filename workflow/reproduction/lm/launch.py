"""Starting the processes that train one model together, by torch's launcher (that of torchrun).

On one machine the launcher runs in the job's own process. In a job of SLURM with several nodes,
`srun` starts a launcher on each; they find one another at the node where the job runs.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, record
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from reproduction.digests import search_path
from reproduction.lm.team import in_team
from sagevocab.errors import UserError

_SIGTERM = -15  # with which the launcher ends the other processes after a failure
_LAST_WORDS = 60  # seconds in which all nodes may say why they failed, after the first one did
_KILLED = (
    "lm.gpus: {} ended one of the training processes, and so all of them; the usual cause is too "
    "little memory (raise the job's mem_mb in the profile)"
)


def run_together(
    function: Callable[..., None],
    processes: int,
    *,
    nodes: int = 1,
    threads: int = 1,
    **arguments: Any,
) -> None:
    """Run `function(threads=..., **arguments)` in this process, or in several on each node.

    Several processes get the function and its arguments by pickle. The first one's log lines, and
    the others' warnings, go to standard output.

    Args:
        function: what each process runs.
        processes: on a node.
        nodes: of the SLURM job that this process runs in; 1 is this machine.
        threads: threads of the CPU on a node; the function gets those of all nodes.
        arguments: of the function.

    Raises:
        UserError: a process raised it, the system killed one, or there are no nodes.
        RuntimeError: a process raised anything else; its traceback is the text.
    """
    arguments["threads"] = threads * nodes
    if processes * nodes == 1 or in_team():
        function(**arguments)
        return
    work = pickle.dumps((sys.path, pickle.dumps((function, arguments))))
    if nodes == 1:
        place = {"rdzv_endpoint": "127.0.0.1:0", "local_addr": "127.0.0.1", "run_id": "alone"}
        _launch(work, processes, 1, place)
    else:
        _launch_on_nodes(work, processes, nodes, threads)


def _launch(work: bytes, processes: int, nodes: int, place: dict[str, Any]) -> None:
    """Run this node's processes until all have ended; `place` is where launchers meet."""
    launcher_log = logging.getLogger("torch.distributed.elastic")
    launcher_log.addHandler(logging.NullHandler())
    launcher_log.propagate = False  # it would repeat on the terminal what `_cause` says
    with TemporaryDirectory(prefix="sagevocab-") as name:
        task = Path(name) / "task.pickle"
        task.write_bytes(work)
        config = LaunchConfig(
            min_nodes=nodes,
            max_nodes=nodes,
            nproc_per_node=processes,
            rdzv_backend="c10d",
            max_restarts=0,
            logs_specs=DefaultLogsSpecs(log_dir=name, redirects=Std.ALL, tee=Std.OUT),
            log_line_prefix_template="[${rank}] ",
            **place,
        )
        try:
            elastic_launch(config, sys.executable)(*_call("run_in_team"), str(task))
        except ChildFailedError as error:
            raise _cause(error) from error
        except json.JSONDecodeError as error:  # of one that was ended while writing
            raise UserError(_KILLED.format("something")) from error


_START = """
import sys
import os
sys.path[:0] = sys.argv[1].split(os.pathsep)
from reproduction.lm import launch
getattr(launch, sys.argv[2])(*sys.argv[3:])
"""


def _call(function: str) -> list[str]:
    """Return the arguments with which Python runs a function of this module."""
    return ["-c", _START, os.pathsep.join(search_path()), function]


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
            return UserError("out of memory; raise the job's mem_mb in the profile")
    signals = {-f.exitcode for f in failures if f.exitcode < 0 and f.exitcode != _SIGTERM}
    if signals:
        return UserError(_KILLED.format(f"signal {min(signals)}"))
    return RuntimeError(raised[0].message["extraInfo"]["py_callstack"] if raised else str(error))


# --- in the processes


def run_in_team(task: str) -> None:
    """Run what `run_together` wrote to the file `task`, as one of its processes."""
    level = logging.INFO if os.environ["RANK"] == "0" else logging.WARNING
    form = "%(asctime)s %(name)s: %(message)s"
    logging.basicConfig(level=level, format=form, datefmt="%H:%M:%S", stream=sys.stdout)
    if sys.platform == "linux" and os.environ["LOCAL_WORLD_SIZE"] == os.environ["WORLD_SIZE"]:
        # The machine's own name need not resolve.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    threading.Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    try:
        record(_run)(task)
    except BaseException:
        sys.stdout.flush()
        # An ordinary exit could wait for collectives that the others will never join.
        os._exit(1)


def _run(task: str) -> None:
    sys.path[:], call = pickle.loads(Path(task).read_bytes())
    function, arguments = pickle.loads(call)
    function(**arguments)


def _end_with(parent: int) -> None:
    """End this process when its parent is gone, even if the parent was killed."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


# --- several nodes


def _launch_on_nodes(work: bytes, processes: int, nodes: int, threads: int) -> None:
    """Start a launcher on each node of this job; they get the work on standard input."""
    if "SLURM_JOB_ID" not in os.environ:
        raise UserError(
            f"lm.nodes: {nodes}, but this is no job of SLURM; start snakemake with "
            "--workflow-profile profiles/slurm, or set lm.nodes: 1"
        )
    meeting = f"{_node()}:{_free_port()}"
    command = [
        *("srun", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1"),
        *(f"--cpus-per-task={threads}", "--kill-on-bad-exit=0", f"--wait={_LAST_WORDS}"),
        *(sys.executable, *_call("launch_here")),
    ]
    with TemporaryFile() as job, TemporaryFile("w+", encoding="utf-8") as said:
        pickle.dump((work, processes, nodes, meeting), job)
        job.seek(0)
        with _started(command, stdin=job, stderr=said) as srun:
            for line in srun.stdout:
                print(line, end="", flush=True)
        if srun.returncode:
            said.seek(0)
            raise _first_cause(said.read())


def _started(command: list[str], **streams: Any) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, encoding="utf-8", errors="replace", **streams
        )
    except FileNotFoundError as error:
        raise UserError(f"lm.nodes: {command[0]} is not installed on this node") from error


def launch_here() -> None:
    """Run one node's processes of the work on standard input; tell its failure in a line."""
    work, processes, nodes, meeting = pickle.load(sys.stdin.buffer)
    place = {"rdzv_endpoint": meeting, "local_addr": _node(), "run_id": meeting}
    try:
        _launch(work, processes, nodes, place)
    except Exception as error:
        sys.exit(json.dumps([type(error).__name__, f"{error} (on {_node()})"]))


def _first_cause(said: str) -> Exception:
    """Return why nodes failed: an error for the user, if there is one, else what they wrote."""
    failures = [json.loads(line) for line in said.splitlines() if line.startswith('["')]
    # One node's error makes the others lose their connection, which is no UserError.
    for kind, text in failures:
        if kind == UserError.__name__:
            return UserError(text)
    if not failures:
        return UserError(f"lm.nodes: srun failed ({' '.join(said.split())})")
    return RuntimeError("\n".join(text for _, text in failures))


def _node() -> str:
    """Return this node's name, as SLURM knows it."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("", 0))
        return free.getsockname()[1]
