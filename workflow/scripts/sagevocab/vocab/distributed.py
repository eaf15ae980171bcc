"""The sums of an ablation pass, taken by the workers of a `dask.distributed` cluster.

Each thread of a worker has a stretch of the lines, a shard, and keeps it from pass to pass. A pass
sends the workers two masks, of the pieces left and of those asked for, and gets back whole numbers.
Added in any order, these are the sums that one machine takes.

What a worker holds is the result of a task that Dask knows how to do again: where a worker is lost,
another loads its shard. What a shard remembers of its last pass only saves time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from sagevocab.errors import UserError
from sagevocab.vocab import cluster, kernels
from sagevocab.vocab.decoding import Decoder
from sagevocab.vocab.kernels import Lines, Scores, Sums
from sagevocab.vocab.line_sums import LineSums, split

if TYPE_CHECKING:
    from distributed import Future


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
        self._client = cluster.connect(address)
        self._scores: Future | None = None
        self._limits: tuple[np.ndarray, Future] | None = None
        with cluster.told_failures(self._client, self._address):
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
            with cluster.told_failures(self._client, self._address):
                self._scores = self._submit(_WorkerScores, *scores[1:])

    def take(self, alive: np.ndarray, wanted: np.ndarray, limits: np.ndarray) -> Sums:
        """Return the sums as `LineSums.take` does."""
        masks = np.packbits([alive, wanted], axis=1)
        with cluster.told_failures(self._client, self._address):
            if self._limits is None or self._limits[0] is not limits:
                self._limits = limits, self._submit(np.array, limits)
            given = self._scores, self._limits[1], masks, cluster.signature()
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
                wait(futures, timeout=1)
                return self._client.gather(futures)
            except TimeoutError:
                if self._client.nthreads():
                    seen = time.monotonic()
                elif time.monotonic() - seen > cluster.PATIENCE:
                    reason = f"{self._address} has lost all its workers; {cluster.GO_ON}"
                    raise UserError(f"scheduler: {reason}") from None


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

    cluster.check_same(ours, cluster.signature(), f"worker {get_worker().address}")
    shard.use_scores(scores.scores)
    alive, wanted = np.unpackbits(masks, axis=1, count=len(limits)).astype(bool)
    return np.stack(shard.take(alive, wanted, limits))[:, wanted]
