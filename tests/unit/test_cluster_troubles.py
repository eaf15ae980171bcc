"""The troubles of `make test-cluster` all happen, on however fast a machine."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PROGRAM = Path(__file__).parents[1] / "cluster/run.py"
PLAN = "17 jobs: 4 build_sage, 9 train_bpe,\n4 train_embeddings. About 0.1 core hours.\n"


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec = importlib.util.spec_from_file_location("test_cluster_program", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "log").write_text(PLAN)
    monkeypatch.setattr(module, "LOG", tmp_path / "log")
    monkeypatch.setattr(module, "CONTROLLER_AWAY", 0)
    return module


class FastCluster:
    """Runs two of eight victims at a time, and what was killed again; each is seen twice."""

    def __init__(self) -> None:
        self.waiting = [f"{n}" for n in range(8)]
        self.running: dict[str, int] = {}
        self.happened: list[str] = []

    def jobs(self) -> list[tuple[str, str]]:
        self.running = {job: seen + 1 for job, seen in self.running.items() if seen < 2}
        while self.waiting and len(self.running) < 2:
            self.running[self.waiting.pop(0)] = 1
        return [(job, f"build_sage_wildcards_en_{job}") for job in self.running]

    def kill_job(self, job: str) -> bool:
        self.happened.append("kill a job")
        self.waiting.append(f"{job} again")
        return self.running.pop(job) > 0

    def cancel(self, job: str) -> bool:
        self.happened.append("cancel")
        self.waiting.append(f"{job} again")
        return self.running.pop(job) > 0

    def crash_node_of(self, job: str) -> str:
        self.happened.append("crash a node")
        self.waiting.append(job)
        del self.running[job]
        return "node"

    def is_down(self, node: str) -> bool:
        return node == "node"

    def start_node(self, node: str) -> None:
        self.happened.append(f"{node} is back")

    def stop_controller(self) -> None:
        self.happened.append("restart the controller")

    def start_controller(self) -> None:
        pass


def test_the_victims_of_a_plan_are_counted(program: ModuleType) -> None:
    assert program._planned() == 8


@pytest.mark.parametrize("seed", range(8))
def test_every_trouble_happens_while_few_short_jobs_run(
    program: ModuleType, seed: int, tmp_path: Path
) -> None:
    cluster = FastCluster()
    troubles = program.Troubles(cluster, seed, tmp_path / "results")
    while cluster.waiting or cluster.running:
        troubles.proceed()
    assert not troubles.left
    assert sorted(cluster.happened) == sorted([*program.TROUBLES, "node is back"])


def test_a_job_is_met_where_its_log_is_written_to(program: ModuleType, tmp_path: Path) -> None:
    log = tmp_path / "results/demo/logs/build_sage/en.sage.seed2.log"
    troubles = program.Troubles(FastCluster(), 1, tmp_path / "results")
    reached = [troubles.reached("build_sage_wildcards_en_sage.seed2")]
    log.parent.mkdir(parents=True)
    for text in ("", "pruning\n"):
        log.write_text(text)
        reached.append(troubles.reached("build_sage_wildcards_en_sage.seed2"))
    assert [program.MOMENTS[n] for n in reached] == list(program.MOMENTS)
