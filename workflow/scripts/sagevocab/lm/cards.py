"""Which GPUs of a machine a job trains on, where several jobs train side by side."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import gettempdir

import torch

from sagevocab.errors import UserError
from sagevocab.lm.training import require_gpus
from sagevocab.state import try_lock

log = logging.getLogger(__name__)

VISIBLE = "CUDA_VISIBLE_DEVICES"
WAIT_SECONDS = 5.0


@contextmanager
def claimed_gpus(count: int) -> Iterator[None]:
    """Show torch only `count` GPUs that no other job in here has, for as long as this lasts.

    Waits until there are so many. A job that sees no more than it needs was given them, by a batch
    system or because the machine has no others, and takes them as they are, without a claim. Enter
    it before torch touches a GPU: the variable that hides the others is read once.

    Raises:
        UserError: there are fewer, or the system counts them in a way that fixes the choice.
    """
    cards = visible_gpus() if count else []
    require_gpus(count, len(cards))
    if len(cards) <= count:
        yield
        return
    before = os.environ.get(VISIBLE)
    with ExitStack() as claims:
        os.environ[VISIBLE] = ",".join(_claim(cards, count, claims))
        log.info("%s=%s", VISIBLE, os.environ[VISIBLE])
        try:
            _check_choice(count)
            yield
        finally:
            os.environ.pop(VISIBLE, None)
            if before is not None:
                os.environ[VISIBLE] = before


def _check_choice(count: int) -> None:
    found = torch.cuda.device_count()
    if found != count:
        raise UserError(
            f"lm.gpus: of {found} GPUs {count} cannot be chosen here (NVIDIA's management library "
            f"does not answer); start snakemake with {VISIBLE} set to as many as lm.gpus"
        )


def visible_gpus() -> list[str]:
    """Return the GPUs that torch may use, each by what `CUDA_VISIBLE_DEVICES` calls it."""
    # Counted through the driver's management library, which leaves the choice of cards open.
    count = torch.cuda.device_count()
    named = os.environ.get(VISIBLE)
    names = map(str, range(count)) if named is None else named.split(",")
    return [name.strip() for name in names][:count]


def _claim(cards: list[str], count: int, claims: ExitStack) -> list[str]:
    folder = Path(gettempdir()) / f"sagevocab-gpus-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    claimed = _claim_now(folder, cards, count, claims)
    if not claimed:
        log.info("waiting for %d of %d GPUs: other trainings have them", count, len(cards))
    while not claimed:
        time.sleep(WAIT_SECONDS)
        claimed = _claim_now(folder, cards, count, claims)
    return claimed


def _claim_now(folder: Path, cards: list[str], count: int, claims: ExitStack) -> list[str]:
    """All or none: two jobs that each hold half of what they need would wait for ever."""
    with ExitStack() as held:
        free = (card for card in cards if _is_free(folder / card, held))
        claimed = list(islice(free, count))
        if len(claimed) == count:
            claims.enter_context(held.pop_all())
            return claimed
    return []


def _is_free(path: Path, held: ExitStack) -> bool:
    """Lock a card's file, until `held` ends."""
    return try_lock(held.enter_context(path.open("a")))
