"""A `dask.distributed` cluster: reached, looked at before it is used, and its failures told.

Its workers must compute the bytes that this machine does, so they are refused where they differ.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib.metadata
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sagevocab import kernels
from sagevocab.errors import UserError
from sagevocab.versions import code_digest

if TYPE_CHECKING:
    from distributed import Client

ANSWER = 10  # seconds that a scheduler has to answer
PATIENCE = 60  # seconds that a cluster may be without workers
LOOK = 5  # seconds between two looks at which workers are left
GO_ON = "start the cluster and this command again: it goes on from its last batch"
_SAME = (
    "start scheduler and workers from the environment that this command runs in, on machines of "
    "one kind"
)

_lock = threading.Lock()


def check_cluster(address: str) -> None:
    """Refuse a cluster that cannot be used: before Word2Vec, not after hours of it.

    Raises:
        UserError: the package is missing, nothing answers, or workers have other code.
    """
    connect(address).close()


def connect(address: str) -> Client:
    """Return a client of the scheduler, once there is a worker and all of them are like us.

    Raises:
        UserError: as `check_cluster`.
    """
    try:
        from distributed import Client, Security
    except ImportError as error:
        advice = "install it: pip install 'sagevocab[distributed]'"
        raise UserError(f"scheduler: {address} needs the package distributed; {advice}") from error
    security = Security().get_connection_args("client")
    if address.startswith("tls:") and security["ssl_context"] is None:
        advice = "name them in Dask's configuration (distributed.comm.tls)"
        raise UserError(f"scheduler: {address} needs certificates; {advice}")
    try:
        # A client without an answer stays half made, and blocks the next one when it is collected.
        # In a thread, because a notebook has an event loop of its own.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, _knock(address, security)).result()
        client = Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        advice = "start one with `dask scheduler`, or correct the address"
        raise UserError(f"scheduler: no scheduler answers at {address}; {advice}") from error
    try:
        _check_members(client, address)
    except BaseException:
        client.close()
        raise
    return client


async def _knock(address: str, security: dict[str, Any]) -> None:
    from distributed.comm import connect

    await (await connect(address, timeout=ANSWER, **security)).close()


def _check_members(client: Client, address: str) -> None:
    """Refuse a cluster without workers, or whose parts are not like us."""
    wait_for_workers(client, address)
    for worker, found in client.run(_found_signature, on_error="return").items():
        check_same(signature(), found, f"worker {worker}")
    try:
        found = client.run_on_scheduler(_found_signature)
    except Exception as error:
        found = error
    computing_nothing = {**signature(), "arithmetic": None}
    check_same(computing_nothing, found, address)


def wait_for_workers(client: Client, address: str) -> dict[str, int]:
    """Return the workers, at least one, and how many threads each has.

    Raises:
        UserError: none comes.
    """
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        advice = f"start some with `dask worker {address}`, then this command again"
        raise UserError(f"scheduler: {address} has no workers; {advice}") from error
    return client.nthreads()


@contextmanager
def told_failures(client: Client, address: str) -> Iterator[None]:
    """Make a user's error of what can befall a cluster in use.

    Raises:
        UserError: workers lack the library, or the scheduler is gone.
    """
    from distributed import CancelledError

    try:
        with client.as_current():
            yield
    except ImportError as error:  # of a worker that came later
        check_same({}, error, f"a worker of {address}")
    except (OSError, CancelledError) as error:
        raise UserError(f"scheduler: {address} is gone ({error}); {GO_ON}") from error


# --- what must be the same everywhere


def signature() -> dict[str, str]:
    """Return what the bytes of the sums depend on, by name: code, versions and the arithmetic.

    Processors and C libraries may differ in the last bit of an exponential.
    """
    with _lock:  # a worker's threads begin together; Python 3.11 fails to parse code in two
        return _signature()


@functools.cache
def _signature() -> dict[str, str]:
    versions = {name: importlib.metadata.version(name) for name in ("numba", "numpy")}
    arithmetic = hashlib.sha256(kernels.sample_pair_losses().tobytes()).hexdigest()
    return {"sagevocab": code_digest(), **versions, "arithmetic": arithmetic}


def _found_signature() -> dict[str, str]:
    return signature()


def check_same(ours: dict[str, str | None], theirs: Any, member: str) -> None:
    """Refuse a member of the cluster whose signature is not ours; None in ours may be anything.

    Raises:
        UserError: it differs; the message says in what.
    """
    if isinstance(theirs, Exception):
        raise UserError(f"scheduler: {member} cannot run sagevocab ({theirs}); {_SAME}")
    other = [name for name, value in ours.items() if value not in (None, theirs.get(name))]
    if other:
        raise UserError(f"scheduler: {member} has another {', '.join(other)}; {_SAME}")
