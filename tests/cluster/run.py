"""make test-cluster: the demo on a real SLURM that loses jobs and a node, beside a local run.

Starts a SLURM of two nodes on this machine and runs the workflow there by `profiles/slurm`. On the
way it kills jobs and a node, cancels jobs, and restarts the controller, at moments and on victims
that a seed chooses. All results must then be those of a local run, byte for byte; tests/trees.py
says what may differ. Nothing is left
behind, whether it ends by itself, by Ctrl-C or by its limit.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(Path(__file__).parent)]

import slurm  # noqa: E402

from checkouts import copy_checkout  # noqa: E402
from trees import differences  # noqa: E402

LOGS = Path(".snakemake/slurm_logs")
LOG = ROOT / "build/test-cluster.log"
CORES = os.cpu_count() or 2
CPUS, MEMORY = max(1, CORES // len(slurm.NODES)), 20_000  # of a node
OPTIONS = ["--workflow-profile", "profiles/slurm", "--max-threads", str(CPUS)]
OPTIONS += ["--resources", f"mem_mb={MEMORY}", "runtime=1440"]

# What goes wrong, each once, in an order and at moments that the seed draws.
TROUBLES = ("kill a job", "kill a job", "crash a node", "cancel", "restart the controller")
# Rules that keep checkpoints: their jobs are the victims.
VICTIMS = ("build_sage", "train_embeddings", "pretrain_model", "measure_rankings", "finetune_model")
CONTROLLER_AWAY = 8  # seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=90, help="limit of the run on SLURM")
    parser.add_argument("--targets", default="all", help="less than all is quicker")
    parser.add_argument("--config", type=Path, default=ROOT / "config/demo.yaml")
    parser.add_argument("--local", type=Path, help="results/RUN of a local run of the same code")
    arguments = parser.parse_args()
    lacking = slurm.missing() or _missing_plugin()
    if lacking:
        sys.exit(f"error: make test-cluster cannot run here: {lacking}")
    LOG.parent.mkdir(exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with TemporaryDirectory(prefix="slurm-") as name:
        folder = Path(name)
        results = Path("results") / yaml.safe_load(arguments.config.read_text())["run"]
        try:
            local = arguments.local or _run_locally(folder / "local", arguments) / results
        finally:
            slurm.end_processes(folder / "local")
        failures = _run_on_slurm(folder, arguments)
        failures += differences(local, folder / "checkout" / results)
    print("\n".join(failures) or "All results are those of the local run, byte for byte.")
    sys.exit(bool(failures))


def _missing_plugin() -> str:
    name = "snakemake_executor_plugin_slurm"
    return "" if importlib.util.find_spec(name) else f"no Python package {name}"


def _command(configs: list[Path], targets: str, *options: str) -> list[str]:
    fixed = ["--configfile", *(str(path.resolve()) for path in configs), "--", *targets.split()]
    return [sys.executable, "-m", "snakemake", *options, *fixed]


def _run_locally(folder: Path, arguments: argparse.Namespace) -> Path:
    checkout, environment = copy_checkout(folder), {**os.environ, slurm.MARK: str(folder)}
    started, log = time.monotonic(), LOG.with_suffix(".local.log")
    options = ("--cores", str(CORES), "--scheduler", "greedy")
    command = _command([arguments.config], arguments.targets, *options)
    with log.open("w") as out:
        run = subprocess.run(command, cwd=checkout, env=environment, stdout=out, stderr=out)
        if run.returncode:
            sys.exit(f"error: the local run failed, so there is nothing to compare with: see {log}")
    print(f"Local run: {time.monotonic() - started:.0f} s on {CORES} cores", flush=True)
    return checkout


def _run_on_slurm(folder: Path, arguments: argparse.Namespace) -> list[str]:
    """Run the targets on a SLURM in trouble; report, and return what is not as it should be."""
    checkout = copy_checkout(folder / "checkout")
    started = time.monotonic()
    with slurm.Cluster(folder / "slurm", CPUS, MEMORY) as cluster, LOG.open("w") as out:
        run = subprocess.Popen(
            _command([arguments.config], arguments.targets, *OPTIONS),
            cwd=checkout,
            env=cluster.environment,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        troubles = Troubles(cluster, arguments.seed)
        while run.poll() is None and time.monotonic() - started < 60 * arguments.minutes:
            troubles.proceed()
            time.sleep(0.2)
        code = run.poll()
        _report(folder, time.monotonic() - started)
    if code == 0:
        return [f"This did not happen: {trouble}" for _, trouble in troubles.left]
    shutil.copytree(checkout / LOGS, LOG.parent / "slurm_logs", dirs_exist_ok=True)
    ended = "did not end in time" if code is None else "failed"
    return [f"The run on SLURM {ended}: see {LOG}"]


class Troubles:
    """What goes wrong in a run: in an order, and when so many jobs have begun, as a seed draws.

    A trouble is due when a share of the planned victims have begun, and befalls one that runs.
    """

    def __init__(self, cluster: slurm.Cluster, seed: int) -> None:
        self._cluster, self._random = cluster, random.Random(seed)
        shares = sorted(self._random.uniform(0, 0.5) for _ in TROUBLES)
        kinds = self._random.sample(TROUBLES, len(TROUBLES))
        self.left = list(zip(shares, kinds, strict=True))
        self._begun: set[str] = set()
        self._befallen: set[str] = set()  # victims, which take a while to end
        self._away = ""  # a node

    def proceed(self) -> None:
        """Make the next trouble if it is due and has a victim; bring a crashed node back."""
        if self._away and self._cluster.is_down(self._away):
            self._cluster.start_node(self._away)
            self._away = ""
        running = {job: name for job, name in self._cluster.jobs() if name.startswith(VICTIMS)}
        self._begun |= set(running)
        able = sorted(set(running) - self._befallen)
        if self._away or not able or not self.left:
            return
        share, trouble = self.left[0]
        job = self._random.choice(able)
        if len(self._begun) > share * _planned() and self._happens(trouble, job):
            print(f"{trouble}, while job {job} ({running[job]}) runs", flush=True)
            self.left.pop(0)
            self._befallen.add(job)

    def _happens(self, trouble: str, job: str) -> bool:
        """Return whether a trouble was made; it is not where the job has ended meanwhile."""
        if trouble == "kill a job":
            return self._cluster.kill_job(job)
        if trouble == "cancel":
            return self._cluster.cancel(job)
        if trouble == "crash a node":
            self._away = self._cluster.crash_node_of(job)
            return bool(self._away)
        self._cluster.stop_controller()
        time.sleep(CONTROLLER_AWAY)
        self._cluster.start_controller()
        return True


def _planned() -> int:
    """Return how many jobs of the rules of VICTIMS Snakemake has planned; 0 before it says so."""
    plan = re.search(r"^\d+ jobs: [^.]*", LOG.read_text(), re.M)
    counts = re.findall(r"(\d+) (\w+)", plan[0]) if plan else []
    return sum(int(count) for count, rule in counts if rule.startswith(VICTIMS))


def _report(folder: Path, seconds: float) -> None:
    """Print how many jobs were submitted, and how many ended well."""
    submitted = len(re.findall(r"^Job \d+ has been submitted", LOG.read_text(), re.M))
    jobs = (folder / "slurm/jobs.txt").read_text()
    ended_well = jobs.count("JobState=COMPLETED")
    print(
        f"Run on SLURM: {seconds:.0f} s, {submitted} submissions, {ended_well} ended well",
        flush=True,
    )


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped: all that ran is ended, and its folder is removed")
