"""What SLURM's own logs of failed jobs say, for the resources that the next attempt asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

LOGS = Path(".snakemake/slurm_logs")  # where Snakemake's plugin keeps those of failed jobs, 10 days

# "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. ..." where cgroups limit a job,
# "slurmstepd: error: Exceeded job memory limit" where SLURM itself measures.
_KILLED = re.compile(rb"^slurmstepd\S*: error: .*(oom.?kill|memory limit)", re.M | re.I)


def memory_kills(rule: str, wildcards: Iterable[str], logs: Path = LOGS) -> int:
    """Return how often SLURM killed a job because it used more memory than it had asked for.

    Failures of other kinds do not count: time limits, cancelled and preempted jobs, lost nodes.

    Args:
        rule: name of the job's rule.
        wildcards: the values of its wildcards, in their order.
        logs: folder of the logs, from the working directory.
    """
    folder = logs / f"rule_{rule}" / "_".join(wildcards).replace("/", "_")
    return sum(bool(_KILLED.search(log.read_bytes())) for log in folder.glob("*.log"))
