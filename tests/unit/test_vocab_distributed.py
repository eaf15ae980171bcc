"""The ablation pass on a Dask cluster: the bytes of one machine, also where workers die."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gensim.test.utils import datapath

import sagevocab
from sagevocab import cluster as module
from sagevocab import distributed
from sagevocab.cli import main
from sagevocab.cluster import check_cluster, signature
from sagevocab.distributed import ClusterSums
from sagevocab.kernels import Sums

Client = pytest.importorskip("distributed").Client

SMALL = [
    *("--initial-size", "420", "--vocab-size", "330", "--character-coverage", "1", "--quiet"),
    *("--prune-batch", "6", "--rerank-every", "4", "--candidates", "40", "--threads", "2"),
    *("--word2vec-epochs", "1", "--word2vec-dimension", "8", "--retrain-every", "2"),
]
RELEASED = ["--preset", "released-1.0"]
READINGS = {
    "mean by token": ["--loss", "mean_piece_lines", "--loss-lines", "10", "--decoder", "merges"],
    "mean by string": [*RELEASED, "--decoder", "greedy", "--no-push-back-line-start"],
    "total": [],
    "released": [*RELEASED, "--loss-lines", "10"],
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
    """A scheduler and workers, started by hand as `docs/clusters.md` says; no nanny revives one."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--no-show")
        self.workers: list[subprocess.Popen] = []
        with self.client() as client:
            self.address = client.scheduler.address

    def _start(self, *command: str) -> subprocess.Popen:
        options = ["--scheduler-file", str(self.file), "--no-dashboard", "--interface", "lo"]
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *command, *options],
            env={**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"},
            stderr=subprocess.DEVNULL,
        )

    def client(self) -> Client:
        return Client(scheduler_file=str(self.file), timeout=60, set_as_default=False)

    def with_workers(self, number: int) -> str:
        """Start or kill workers until there are so many; return the address."""
        while len(self.workers) > number:
            self.kill_worker()
        while len(self.workers) < number:
            threads = "2" if len(self.workers) == 1 else "1"  # the second worker has two
            self.workers.append(self._start("worker", "--nthreads", threads, "--no-nanny"))
        with self.client() as client:
            while len(client.nthreads()) != number:
                time.sleep(0.05)
        return self.address

    def kill_worker(self) -> None:
        worker = self.workers.pop()
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with contextlib.closing(Cluster(tmp_path_factory.mktemp("cluster"))) as made:
        yield made


def in_pass(number: int, act: Callable[[], None], patch: pytest.MonkeyPatch) -> list[int]:
    """Act when the tasks of this pass are on their way; return where each pass's tasks are counted.

    The workers hold their shards and the sums of the pass before then.
    """
    take, arrived, passes = ClusterSums.take, ClusterSums._arrived, []

    def counted(self: ClusterSums, *args) -> Sums:
        passes.append(0)
        return take(self, *args)

    def acted(self: ClusterSums, asked: dict) -> dict:
        passes[-1] = passes[-1] or len(asked)
        if len(passes) == number and passes[-1] == len(asked) and number not in done:
            done.add(number)
            act()
        return arrived(self, asked)

    done: set[int] = set()
    patch.setattr(ClusterSums, "take", counted)
    patch.setattr(ClusterSums, "_arrived", acted)
    patch.setattr(module, "LOOK", 0.5)
    return passes


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
    monkeypatch.setattr(module, "ANSWER", 1)
    told = refused(capsys, text, "localhost:8786")
    assert "--scheduler: 'localhost:8786' is not allowed" in told
    for address in ("tcp://127.0.0.1:1", "tcp://127.0.0.1:http", "tcp://no.such.host:1"):
        told = refused(capsys, text, address)
        assert f"--scheduler: no scheduler answers at {address}; start one" in told
    told = refused(capsys, text, "tls://127.0.0.1:1")
    assert "--scheduler: tls://127.0.0.1:1 needs certificates" in told


def test_a_missing_package(text: Path, monkeypatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    told = refused(capsys, text, "tcp://127.0.0.1:1")
    assert "--scheduler: tcp://127.0.0.1:1 needs the package distributed" in told
    assert "pip install 'sagevocab[distributed]'" in told


def test_clusters_that_cannot_be_used(
    cluster: Cluster, text: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    address = cluster.with_workers(0)
    with monkeypatch.context() as patch:
        patch.setattr(module, "PATIENCE", 0.1)
        told = refused(capsys, text, address)
        assert f"--scheduler: {address} has no workers; start some with `dask worker" in told
    cluster.with_workers(1)
    check_cluster(address)
    # Other versions: at the start, and of a worker that came later.
    ours = signature()
    for name in ours:
        with monkeypatch.context() as patch:
            patch.setattr(module, "signature", lambda: {**ours, name: "other"})  # noqa: B023
            told = refused(capsys, text, address)
            assert "--scheduler: worker tcp://127.0.0.1:" in told
            assert f"has another {name}; start scheduler and workers from" in told
    connect = module.connect

    def connect_then_change(address: str):
        client = connect(address)
        monkeypatch.setattr(module, "signature", lambda: {**ours, "numpy": "other"})
        return client

    with monkeypatch.context() as patch:
        patch.setattr(module, "connect", connect_then_change)
        patch.setattr("sagevocab.training.check_cluster", lambda _: None)
        assert "has another numpy; start" in refused(capsys, text, address)


# --- the same bytes


@pytest.mark.parametrize(
    ("workers", "readings"), [(1, ["total", "released"]), (2, [*READINGS]), (4, ["released"])]
)
def test_any_number_of_workers_writes_the_same_bytes(
    workers: int, readings: list[str], cluster: Cluster, text: Path, local: dict, tmp_path: Path
) -> None:
    address = cluster.with_workers(workers)
    for reading in readings:
        made = trained(text, reading, tmp_path / reading, "--scheduler", address)
        assert made == local[reading], reading


def test_a_worker_killed_in_the_middle_changes_no_byte(
    cluster: Cluster, text: Path, local: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = cluster.with_workers(4)
    passes = in_pass(5, cluster.kill_worker, monkeypatch)
    loaded, alone = [], distributed._alone
    monkeypatch.setattr(distributed, "_alone", lambda *part: loaded.append(1) or alone(*part))
    made = trained(text, "total", tmp_path / "out", "--scheduler", address)
    assert passes == [5] * 15  # the threads of four workers
    assert len(loaded) == 5 + 1  # the lost shard once more, and no other
    assert len(cluster.workers) == 3
    assert made == local["total"]


@pytest.mark.parametrize("what", ["workers", "scheduler"])
def test_a_cluster_that_is_lost_leaves_progress_to_go_on_from(
    what: str,
    cluster: Cluster,
    text: Path,
    local: dict,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    def lose() -> None:
        cluster.kill_worker()
        if what == "scheduler":
            cluster.scheduler.kill()

    address = cluster.with_workers(1)
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(module, "PATIENCE", 1)
        in_pass(5, lose, patch)
        argv = ["train", str(text), "-o", str(out), *SMALL, "--scheduler", address]
        assert main(argv) == 1
    told = capsys.readouterr().err
    assert {"workers": "has no workers", "scheduler": "is gone"}[what] in told
    assert trained(text, "total", out) == local["total"]
