"""The ablation pass on a Dask cluster: the bytes of one machine, also where workers die."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from gensim.test.utils import datapath

import sagevocab
from sagevocab.cli import main
from sagevocab.vocab import distributed
from sagevocab.vocab.distributed import ClusterSums, check_cluster, signature

Client = pytest.importorskip("distributed").Client

SMALL = [
    *("--initial-size", "420", "--vocab-size", "330", "--character-coverage", "1", "--quiet"),
    *("--prune-batch", "6", "--rerank-every", "4", "--candidates", "40", "--threads", "2"),
    *("--word2vec-epochs", "1", "--word2vec-dimension", "8", "--retrain-every", "2"),
]
RELEASED = ["--preset", "released-1.0"]
READINGS = {
    "total": [],
    "total, merges": ["--decoder", "merges"],
    "mean, sampled by token": ["--loss", "mean_piece_lines", "--loss-lines", "10"],
    "released": [*RELEASED, "--loss-lines", "10"],
    "released, updated": [*RELEASED, "--no-push-back-line-start", "--retrain"],
    "released, greedy": [*RELEASED, "--decoder", "greedy"],
}
SOURCE = str(Path(sagevocab.__file__).parents[1])


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    news = Path(datapath("lee_background.cor")).read_text(encoding="utf-8")
    path = tmp_path_factory.mktemp("text") / "news.txt"
    path.write_text("\n".join(news.split(". ")[:400]), encoding="utf-8")
    return path


def trained(text: Path, reading: str, folder: Path, *options: str) -> dict[str, bytes]:
    """Run `sagevocab train`, and return every file that it wrote."""
    argv = ["train", str(text), "-o", str(folder), *SMALL, *READINGS[reading], *options]
    assert main(argv) == 0
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def local(text: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """What this machine alone writes, by reading."""
    folder = tmp_path_factory.mktemp("local")
    made = {name: trained(text, name, folder / name) for name in READINGS}
    assert len({files["pieces.txt"] for files in made.values()}) == len(READINGS)
    return made


class Cluster:
    """A scheduler and workers, started by hand as `docs/clusters.md` says; no nanny revives them."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.processes = [self._start("scheduler", "--port", "0", "--no-show")]
        self.workers: list[subprocess.Popen] = []

    def _start(self, *command: str) -> subprocess.Popen:
        options = ["--scheduler-file", str(self.file), "--no-dashboard", "--interface", "lo"]
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *command, *options],
            env={**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"},
            stderr=subprocess.DEVNULL,
        )

    def add(self, workers: int, threads: int = 1) -> None:
        """Start workers, and wait until they are there."""
        command = ["worker", "--nthreads", str(threads), "--no-nanny"]
        self.workers += [self._start(*command) for _ in range(workers)]
        with Client(scheduler_file=str(self.file), timeout=30, set_as_default=False) as client:
            client.wait_for_workers(len(self.workers), timeout=30)

    @property
    def address(self) -> str:
        with Client(scheduler_file=str(self.file), timeout=30, set_as_default=False) as client:
            return client.scheduler.address

    def kill(self, workers: int) -> None:
        for _ in range(workers):
            self.workers.pop().send_signal(signal.SIGKILL)

    def close(self) -> None:
        for process in (*self.workers, *self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with contextlib.closing(Cluster(tmp_path)) as made:
        yield made


def test_any_number_of_workers_writes_the_same_bytes(
    cluster: Cluster, text: Path, local: dict, tmp_path: Path
) -> None:
    for number, (workers, readings) in enumerate([(1, 2), (1, 6)]):
        cluster.add(workers)
        for reading in [*READINGS][-readings:]:
            made = trained(
                text, reading, tmp_path / f"{number} {reading}", "--scheduler", cluster.address
            )
            assert made == local[reading], (len(cluster.workers), reading)


@pytest.mark.parametrize("reading", ["total", "released"])
def test_a_worker_killed_in_the_middle_changes_no_byte(
    reading: str, cluster: Cluster, text: Path, local: dict, tmp_path: Path, monkeypatch
) -> None:
    wait, passes = ClusterSums._gathered, []

    def gathered(self: ClusterSums, futures: list) -> list:
        passes.append(len(futures))
        if len(passes) == 5:  # its tasks are on their way, and its workers hold their shards
            cluster.kill(1)
        return wait(self, futures)

    monkeypatch.setattr(ClusterSums, "_gathered", gathered)
    cluster.add(4)
    made = trained(text, reading, tmp_path / "out", "--scheduler", cluster.address)
    assert passes == [4] * 15
    assert len(cluster.workers) == 3
    assert made == local[reading]


# --- what cannot be used is one line


def refused(capsys: pytest.CaptureFixture, text: Path, address: str) -> str:
    capsys.readouterr()
    out = text.with_name("refused")
    assert main(["train", str(text), "-o", str(out), *SMALL, "--scheduler", address]) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    return told


def test_an_address_that_is_none_or_does_not_answer(
    text: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(distributed, "_PATIENCE", 1)
    told = refused(capsys, text, "localhost:8786")
    assert "--scheduler: 'localhost:8786' is not allowed" in told
    for address in ("tcp://127.0.0.1:1", "tcp://127.0.0.1:http", "tcp://no.such.host:1"):
        told = refused(capsys, text, address)
        assert f"--scheduler: no scheduler answers at {address}; start one" in told


def test_a_missing_package(text: Path, monkeypatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    told = refused(capsys, text, "tcp://127.0.0.1:1")
    assert "--scheduler: tcp://127.0.0.1:1 needs the package distributed" in told
    assert "pip install 'sagevocab[distributed]'" in told


def test_clusters_that_cannot_be_used(
    cluster: Cluster, text: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    address = cluster.address
    with monkeypatch.context() as patch:
        patch.setattr(distributed, "_PATIENCE", 1)
        told = refused(capsys, text, address)
        assert f"--scheduler: {address} has no workers; start some with `dask worker" in told
    cluster.add(1)
    check_cluster(address)
    # Other versions: at the start, and of a worker that came later.
    ours = signature()
    for name in ours:
        with monkeypatch.context() as patch:
            patch.setattr(distributed, "signature", lambda: {**ours, name: "other"})  # noqa: B023
            told = refused(capsys, text, address)
            assert "--scheduler: worker tcp://127.0.0.1:" in told
            assert f"has another {name}; start scheduler and workers from" in told
    connect = distributed._connect

    def connect_then_change(address: str):
        client = connect(address)
        monkeypatch.setattr(distributed, "signature", lambda: {**ours, "numpy": "other"})
        return client

    with monkeypatch.context() as patch:
        patch.setattr(distributed, "_connect", connect_then_change)
        patch.setattr("sagevocab.vocab.train.check_cluster", lambda _: None)
        assert "has another numpy; start" in refused(capsys, text, address)


@pytest.mark.parametrize("what", ["workers", "scheduler"])
def test_a_cluster_that_is_lost_leaves_progress_to_go_on_from(
    what: str, cluster: Cluster, text: Path, local: dict, tmp_path: Path, monkeypatch, capsys
) -> None:
    wait, passes = ClusterSums._gathered, []

    def gathered(self: ClusterSums, futures: list) -> list:
        passes.append(len(futures))
        if len(passes) == 5:
            cluster.kill(1)
            if what == "scheduler":
                cluster.processes[0].kill()
        return wait(self, futures)

    cluster.add(1)
    out = tmp_path / "out"
    argv = ["train", str(text), "-o", str(out), *SMALL]
    with monkeypatch.context() as patch:
        patch.setattr(ClusterSums, "_gathered", gathered)
        patch.setattr(distributed, "_PATIENCE", 2)
        began = time.monotonic()
        assert main([*argv, "--scheduler", cluster.address]) == 1
        assert time.monotonic() - began < 60
    told = capsys.readouterr().err
    assert "it goes on from its last batch" in told
    assert {"workers": "has lost all its workers", "scheduler": "is gone"}[what] in told
    assert trained(text, "total", out) == local["total"]
