"""A real SLURM of two nodes on this machine, in a folder of its own, without accounting.

Both nodes are this machine: two slurmd that listen on ports of their own. All processes of the
cluster carry its folder in their environment, and by it they are found and ended.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

NODES = ("127.0.0.1", "127.0.0.2")  # names by which the processes of a job reach one another
MARK = "SAGEVOCAB_TEST_CLUSTER"
_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel")

# Partitions are those that profiles/slurm names, so the profile runs as it stands.
_CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=30
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/spool-%n
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.txt
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
MinJobAge=300
KillWait=2
SlurmdTimeout=10
NodeName=127.0.0.1 NodeHostname={host} Port={ports[1]} CPUs={cpus} RealMemory={memory}
NodeName=127.0.0.2 NodeHostname={host} Port={ports[2]} CPUs={cpus} RealMemory={memory}
PartitionName=cpu Nodes=ALL Default=YES MaxTime=24:00:00 State=UP
PartitionName=gpu Nodes=ALL MaxTime=24:00:00 State=UP
"""


def missing() -> str:
    """Return in a line what this machine lacks for a cluster of its own; empty if nothing."""
    if os.name != "posix" or os.geteuid():
        return "a SLURM of its own is started by root only"
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    absent = [name for name in _PROGRAMS if not shutil.which(name)]
    if absent:
        return f"no {', '.join(absent)} (on Debian: apt-get install munge slurm-wlm)"
    return ""


class Cluster:
    """SLURM in `folder`, each node with `cpus` processors and `memory` MB. A context manager."""

    def __init__(self, folder: Path, cpus: int = 1, memory: int = 20_000) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "SLURM_CONF": str(folder / "slurm.conf"),
            MARK: str(folder),
        }
        for name in ("bin", "state", *(f"spool-{node}" for node in NODES)):
            (folder / name).mkdir(parents=True)
        folder.chmod(0o755)
        # Snakemake's plugin hides SLURM's variables from srun, the place of slurm.conf among them.
        srun = folder / "bin/srun"
        srun.write_text(
            f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun")} "$@"\n'
        )
        srun.chmod(0o755)
        (folder / "slurm.conf").write_text(
            _CONFIGURATION.format(
                folder=folder,
                ports=_free_ports(1 + len(NODES)),
                host=socket.gethostname().split(".")[0],
                cpus=cpus,
                memory=memory,
            )
        )

    def __enter__(self) -> Cluster:
        try:
            self._start_munge()
            self.start_controller()
            for node in NODES:
                self.start_node(node)
            self._wait_for_nodes()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End every process of the cluster, the jobs' too."""
        end_processes(self.folder)

    def start_controller(self) -> None:
        self._run("slurmctld")

    def stop_controller(self) -> None:
        """Stop slurmctld as an update of it would: it saves its state, and nobody answers."""
        pid = int((self.folder / "slurmctld.pid").read_text())
        os.kill(pid, signal.SIGTERM)
        while _environment(pid):
            time.sleep(0.1)

    def start_node(self, node: str) -> None:
        self._run("slurmd", "-N", node)

    def crash_node_of(self, job: str) -> str:
        """Kill slurmd and all that jobs run on a job's node, as a power cut would; return the node.

        Nothing happens, and it is empty, if the job has ended.
        """
        node = self._run("squeue", "-h", "-t", "RUNNING", "-j", job, "-o", "%N", check=False)
        node = node.strip()
        if not node:
            return ""
        jobs = self._run("squeue", "-h", "-w", node, "-o", "%i").split()
        keepers = tuple(f"slurmstepd: [{job}." for job in jobs)
        mark = f"SLURMD_NODENAME={node}".encode()
        _kill([int((self.folder / f"slurmd-{node}.pid").read_text())])
        _kill(
            pid
            for pid in _processes(self.folder)
            if mark in _environment(pid) or _command(pid).startswith(keepers)
        )
        return node

    def is_down(self, node: str) -> bool:
        """Return whether the controller has noticed that a node does not answer."""
        state = self._run("sinfo", "-h", "-N", "-p", "cpu", "-n", node, "-o", "%t", check=False)
        return state.startswith("down")

    def kill_job(self, job: str) -> bool:
        """SIGKILL all that a job runs; return whether anything ran.

        SLURM's own processes stay and see it fail.
        """
        mark = f"SLURM_JOB_ID={job}".encode()
        found = [pid for pid in _processes(self.folder) if mark in _environment(pid)]
        _kill(found)
        return bool(found)

    def jobs(self) -> list[tuple[str, str]]:
        """Return number and rule with wildcards of each job that runs; [] without answer."""
        columns = "JobID:|,Comment:|"
        found = self._run("squeue", "-h", "-t", "RUNNING", "-O", columns, check=False)
        rows = [line.split("|")[:2] for line in found.splitlines()]
        return [(job, comment.removeprefix("rule_")) for job, comment in rows]

    def cancel(self, job: str) -> bool:
        """Cancel a job; return whether it still ran."""
        try:
            self._run("scancel", job)
        except RuntimeError:
            return False
        return True

    def _start_munge(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        places = {
            "socket": "munge.socket",
            "pid-file": "munge.pid",
            "log-file": "munge.log",
            "seed-file": "munge.seed",
        }
        options = [f"--{option}={self.folder / name}" for option, name in places.items()]
        self._run("munged", "--force", f"--key-file={key}", *options)

    def _wait_for_nodes(self, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while True:
            states = self._run("sinfo", "-h", "-N", "-p", "cpu", "-o", "%t", check=False).split()
            if states == ["idle"] * len(NODES):
                return
            if time.monotonic() > deadline:
                raise RuntimeError(f"nodes are not idle but {states}; see {self.folder}/*.log")
            time.sleep(0.2)

    def _run(self, *command: str, check: bool = True) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout


def end_processes(folder: Path) -> None:
    """SIGKILL all that carries the mark of `folder` in its environment, and what it starts."""
    deadline = time.monotonic() + 10
    while (left := list(_processes(folder))) and time.monotonic() < deadline:
        _kill(left)
        time.sleep(0.2)


def _processes(folder: Path) -> Iterator[int]:
    mark = f"{MARK}={folder}".encode()
    for path in Path("/proc").glob("[0-9]*"):
        if mark in _environment(int(path.name)) and int(path.name) != os.getpid():
            yield int(path.name)


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _kill(pids: Iterable[int]) -> None:
    for pid in list(pids):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
