"""The sums of an ablation pass, taken by the workers of a `dask.distributed` cluster.

Each thread of a worker has a stretch of the lines, a shard, and keeps it from pass to pass. A pass
sends the workers two masks, of the pieces left and of those asked for, and gets back whole numbers.
Added in any order, these are the sums that one machine takes. Where a worker is lost, another gets
its shard and takes the sums afresh: what a shard remembers of its last pass only saves time.
"""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from sagevocab import cluster, kernels
from sagevocab.decoding import Decoder
from sagevocab.errors import UserError
from sagevocab.kernels import Lines, Scores, Sums
from sagevocab.line_sums import LineSums, split

if TYPE_CHECKING:
    from distributed import Future

_ATTEMPTS = 4  # at the sums of a shard
_DIE = (
    "died one after the other at the same lines; look into their logs, give them more memory, and "
    "then"
)


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
        self._decoder, self._rest = decoder, (keys, window)
        self._client = cluster.connect(address)
        self._limits: tuple[np.ndarray, Future] | None = None
        self._scores: Future | None = None
        with cluster.told_failures(self._client, address):
            self._parts = split(lines, sum(self._client.nthreads().values()))
        self._places = [""] * len(self._parts)  # by part, the worker that has it
        self._lines: dict[int, Future] = {}  # by part, on that worker
        self._shards: dict[int, Future] = {}  # the same with embeddings

    def close(self) -> None:
        """Leave the cluster; its workers forget their shards."""
        self._client.close()

    def use_scores(self, scores: Scores | None) -> None:
        """Take the embeddings for the passes that follow; each worker has a cache of its own."""
        self._scores, self._shards = None, {}
        if scores is not None:
            with cluster.told_failures(self._client, self._address):
                self._scores = self._submit(_shared_scores, uuid.uuid4().hex, *scores[1:])

    def take(self, alive: np.ndarray, wanted: np.ndarray, limits: np.ndarray) -> Sums:
        """Return the sums as `LineSums.take` does."""
        masks = np.packbits([alive, wanted], axis=1)
        with cluster.told_failures(self._client, self._address):
            if self._limits is None or self._limits[0] is not limits:
                self._limits = limits, self._submit(np.array, limits)
            shares = self._shares(self._limits[1], masks, cluster.signature())
        sums = kernels.zero_sums(self._n_pieces)
        for share in shares:
            for total, part in zip(sums, share, strict=True):
                total[wanted] += part
        return kernels.add_sums([sums])

    def _shares(self, *given: Any) -> list[np.ndarray]:
        """Return the sums of every shard, and ask again for those whose worker is lost."""
        asked: dict[int, Future] = {}
        times = Counter[int]()  # that a shard was asked for
        shares: dict[int, np.ndarray] = {}
        while len(shares) < len(self._parts):
            for number in self._settle():
                asked.pop(number, None)
            for number in range(len(self._parts)):
                if number not in shares and number not in asked:
                    asked[number] = self._ask(number, *given)
                    times[number] += 1
            if max(times.values()) > _ATTEMPTS:
                raise UserError(f"scheduler: workers of {self._address} {_DIE} {cluster.GO_ON}")
            shares |= self._arrived(asked)
        return list(shares.values())

    def _arrived(self, asked: dict[int, Future]) -> dict[int, np.ndarray]:
        """Take the results out of `asked`, up to one that is not there after a while."""
        shares = {}
        for number in list(asked):
            try:
                shares[number] = asked[number].result(timeout=cluster.LOOK)
            except TimeoutError:
                break
            del asked[number]
        return shares

    def _settle(self) -> list[int]:
        """Give shards of lost workers, and those too many on one, to others; return which."""
        threads = self._client.nthreads() or cluster.wait_for_workers(self._client, self._address)
        load, moved = Counter(self._places), []
        for number, place in enumerate(self._places):
            best = min(sorted(threads), key=lambda worker: load[worker] / threads[worker])
            free = load[best] < threads[best]
            if place not in threads or (free and load[place] > threads[place]):
                load.update({best: 1, place: -1})
                self._places[number] = best
                self._lines.pop(number, None)
                self._shards.pop(number, None)
                moved.append(number)
        return moved

    def _ask(self, number: int, *given: Any) -> Future:
        """Ask a worker for the sums of its shard, which it loads if it has not."""
        place = self._places[number]
        if number not in self._lines:
            parts = *_alone(self._parts[number], self._decoder), *self._rest
            self._lines[number] = self._submit(_together, *parts, worker=place)
        if number not in self._shards:
            made_of = self._scores, self._lines[number]
            self._shards[number] = self._submit(_Shard, *made_of, worker=place)
        return self._submit(_sums, self._shards[number], *given, worker=place)

    def _submit(self, function: Any, *args: Any, worker: str | None = None) -> Future:
        """Have a worker, this one or any, call a function, whose result stays there.

        A worker that is named is the only one that may: Dask would move shards to idle workers,
        where they take their sums afresh.
        """
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            return self._client.submit(function, *args, pure=False, workers=worker and [worker])


# --- on the workers


_alive: WeakValueDictionary[str, _WorkerScores] = WeakValueDictionary()
_lock = threading.Lock()


class _WorkerScores:
    """Embeddings on a worker, and one cache of pair losses for all its threads."""

    def __init__(self, name: str, *scores: Any) -> None:
        self._made_of = name, *scores
        self.scores = Scores(np.zeros(1 << int(scores[0]), np.uint64), *scores)

    def __reduce__(self) -> tuple:
        return _shared_scores, self._made_of


def _shared_scores(name: str, *scores: Any) -> _WorkerScores:
    """Return the embeddings of this name: a worker that gets them again goes on with its cache."""
    with _lock:
        if (made := _alive.get(name)) is None:
            _alive[name] = made = _WorkerScores(name, *scores)
        return made


class _Shard(LineSums):
    """Lines on a worker, with embeddings."""

    def __init__(self, scores: _WorkerScores, lines: tuple) -> None:
        super().__init__(*lines)
        self.use_scores(scores.scores)
        self._made_of = scores, lines

    def __reduce__(self) -> tuple:
        return _Shard, self._made_of


def _together(*parts: Any) -> tuple:
    return parts


def _alone(part: Lines, decoder: Decoder) -> tuple[Lines, Decoder]:
    """Return a part of the lines with no more than its own word types, and their decoder."""
    words = part.types[part.offsets[0] : part.offsets[-1]]
    kinds, types = np.unique(words, return_inverse=True)
    offsets = part.offsets - part.offsets[0]
    return Lines(types.astype(np.int32), offsets, part.number), decoder.of_types(kinds)


def _sums(
    shard: _Shard,
    limits: np.ndarray,
    masks: np.ndarray,
    ours: dict[str, str],
) -> np.ndarray:
    """Return a shard's sums of the pieces wanted: int64[sums, pieces]."""
    from distributed import get_worker

    cluster.check_same(ours, cluster.signature(), f"worker {get_worker().address}")
    alive, wanted = np.unpackbits(masks, axis=1, count=len(limits)).astype(bool)
    return np.stack(shard.take(alive, wanted, limits))[:, wanted]
