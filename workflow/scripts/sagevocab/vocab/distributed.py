"""The sums of an ablation pass, taken by the workers of a `dask.distributed` cluster.

Each thread of a worker has a stretch of the lines, a shard, and keeps it from pass to pass. A pass
sends the workers two masks, of the pieces left and of those asked for, and gets back whole numbers.
Added in any order, these are the sums that one machine takes.

What a worker holds is the result of a task that Dask knows how to do again: where a worker is lost,
another loads its shard. What a shard remembers of its last pass only saves time.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from sagevocab.errors import UserError
from sagevocab.provenance import source_digest
from sagevocab.vocab import kernels
from sagevocab.vocab.decoding import Decoder
from sagevocab.vocab.kernels import Lines, Scores, Sums
from sagevocab.vocab.line_sums import LineSums, split

if TYPE_CHECKING:
    from distributed import Client, Future

_PATIENCE = 60  # seconds that a cluster may be without workers
_GO_ON = "start the cluster and this command again: it goes on from its last batch"


class ClusterSums:
    """Sums over lines, as `line_sums.LineSums` has them."""

    def __init__(
        self, lines: Lines, decoder: Decoder, keys: np.ndarray, window: int, address: str
    ) -> None:
        """Share the lines out among the workers of the scheduler at `address`.

        Raises:
            UserError: the cluster cannot be used; the message says what to do.
        """
        self._address, self._n_pieces = address, len(keys)
        self._client = _connect(address)
        self._scores: Future | None = None
        self._limits: tuple[np.ndarray, Future] | None = None
        with self._told():
            threads = self._client.nthreads()
            self._places = [worker for worker, n in sorted(threads.items()) for _ in range(n)]
            self._shards = [
                self._submit(_Shard, *_alone(part, decoder), keys, window, worker=worker)
                for part, worker in zip(split(lines, len(self._places)), self._places, strict=False)
            ]

    def close(self) -> None:
        """Leave the cluster; its workers forget their shards."""
        self._client.close()

    def use_scores(self, scores: Scores | None) -> None:
        """Take the embeddings for the passes that follow; each worker has a cache of its own."""
        self._scores = None
        if scores is not None:
            with self._told():
                self._scores = self._submit(_WorkerScores, *scores[1:])

    def take(self, alive: np.ndarray, wanted: np.ndarray, limits: np.ndarray) -> Sums:
        """Return the sums as `LineSums.take` does."""
        masks = np.packbits([alive, wanted], axis=1)
        with self._told():
            if self._limits is None or self._limits[0] is not limits:
                self._limits = limits, self._submit(np.array, limits)
            given = self._scores, self._limits[1], masks, signature()
            placed = zip(self._shards, self._places, strict=False)
            asked = [self._submit(_sums, shard, *given, worker=at) for shard, at in placed]
            shares = self._gathered(asked)
        sums = kernels.zero_sums(self._n_pieces)
        for share in shares:
            for total, part in zip(sums, share, strict=True):
                total[wanted] += part
        return kernels.add_sums([sums])

    def _submit(self, function: Any, *args: Any, worker: str | None = None) -> Future:
        """Have a worker, at best this one, call a function, whose result stays there."""
        import dask

        place = {"workers": [worker], "allow_other_workers": True} if worker else {}
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            return self._client.submit(function, *args, pure=False, **place)

    def _gathered(self, futures: list[Future]) -> list[np.ndarray]:
        """Wait for the results, as long as there are workers."""
        from distributed import wait

        seen = time.monotonic()
        while True:
            try:
                wait(futures, timeout=5)
                return self._client.gather(futures)
            except TimeoutError:
                if self._client.nthreads():
                    seen = time.monotonic()
                elif time.monotonic() - seen > _PATIENCE:
                    reason = f"{self._address} has lost all its workers; {_GO_ON}"
                    raise UserError(f"scheduler: {reason}") from None

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Make one line of what can befall a cluster."""
        from distributed import CancelledError, KilledWorker
        from distributed.client import FutureCancelledError

        try:
            with self._client.as_current():
                yield
        except KilledWorker as error:
            died = f"died one after the other at the same lines, the last at {error.last_worker}"
            advice = f"look into their logs, give them more memory, and {_GO_ON}"
            raise UserError(f"scheduler: workers of {self._address} {died}; {advice}") from error
        except (OSError, CancelledError, FutureCancelledError) as error:
            raise UserError(f"scheduler: {self._address} is gone ({error}); {_GO_ON}") from error


def check_cluster(address: str) -> None:
    """Refuse a cluster that cannot be used: before Word2Vec, not after hours of it.

    Raises:
        UserError: the package is missing, nothing answers, or workers have other code.
    """
    _connect(address).close()


def _connect(address: str) -> Client:
    """Return a client of the scheduler, once there is a worker and all of them are like us."""
    try:
        from distributed import Client
    except ImportError as error:
        advice = "install it: pip install 'sagevocab[distributed]'"
        raise UserError(f"scheduler: {address} needs the package distributed; {advice}") from error
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        advice = "start one with `dask scheduler`, or correct the address"
        raise UserError(f"scheduler: no scheduler answers at {address}; {advice}") from error
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
        for worker, found in client.run(_found_signature, on_error="return").items():
            _check_same(signature(), found, worker)
    except TimeoutError as error:
        client.close()
        advice = f"start some with `dask worker {address}`"
        raise UserError(f"scheduler: {address} has no workers; {advice}") from error
    except BaseException:
        client.close()
        raise
    return client


# --- what must be the same everywhere


@functools.cache
def signature() -> dict[str, str]:
    """Return what the bytes of the sums depend on, by name: code, versions and the arithmetic.

    Processors and C libraries may differ in the last bit of an exponential.
    """
    versions = {name: importlib.metadata.version(name) for name in ("numba", "numpy")}
    arithmetic = hashlib.sha256(kernels.sample_pair_losses().tobytes()).hexdigest()
    return {"sagevocab": source_digest("vocab.distributed"), **versions, "arithmetic": arithmetic}


def _found_signature() -> dict[str, str]:
    return signature()


def _check_same(ours: dict[str, str], theirs: Any, worker: str) -> None:
    if isinstance(theirs, Exception):
        raise UserError(f"scheduler: worker {worker} cannot run sagevocab ({theirs}); {_SAME}")
    other = [name for name, value in ours.items() if theirs.get(name) != value]
    if other:
        raise UserError(f"scheduler: worker {worker} has another {', '.join(other)}; {_SAME}")


_SAME = (
    "start scheduler and workers from the environment that this command runs in, on machines of "
    "one kind"
)


# --- on the workers


class _Shard(LineSums):
    """Lines on a worker. Where Dask moves them, they go without what was taken before."""

    def __init__(self, *made_of: Any) -> None:
        super().__init__(*made_of)
        self._made_of = made_of

    def __reduce__(self) -> tuple:
        return _Shard, self._made_of


class _WorkerScores:
    """Embeddings on a worker, and one cache of pair losses for all its threads."""

    def __init__(self, *made_of: Any) -> None:
        self._made_of = made_of
        self.scores = Scores(np.zeros(1 << int(made_of[0]), np.uint64), *made_of)

    def __reduce__(self) -> tuple:
        return _WorkerScores, self._made_of


def _alone(part: Lines, decoder: Decoder) -> tuple[Lines, Decoder]:
    """Return a part of the lines with no more than its own word types, and their decoder."""
    words = part.types[part.offsets[0] : part.offsets[-1]]
    kinds, types = np.unique(words, return_inverse=True)
    offsets = part.offsets - part.offsets[0]
    return Lines(types.astype(np.int32), offsets, part.number), decoder.of_types(kinds)


def _sums(
    shard: _Shard,
    scores: _WorkerScores,
    limits: np.ndarray,
    masks: np.ndarray,
    ours: dict[str, str],
) -> np.ndarray:
    """Return a shard's sums of the pieces wanted: int64[sums, pieces]."""
    from distributed import get_worker

    _check_same(ours, signature(), get_worker().address)
    shard.use_scores(scores.scores)
    alive, wanted = np.unpackbits(masks, axis=1, count=len(limits)).astype(bool)
    return np.stack(shard.take(alive, wanted, limits))[:, wanted]
