"""Files of a data set on the Hugging Face hub, by the hub's own client, with its checksums.

They stay in `download_dir`. `HF_ENDPOINT` names another server, `HF_TOKEN` is sent. What the client
has in its own cache serves where the hub can't be reached or `HF_HUB_OFFLINE` is set.
"""

from __future__ import annotations

import glob
import logging
import os
import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import huggingface_hub
import huggingface_hub.constants as constants
import numpy as np
from huggingface_hub.errors import CachedRepoTreeNotFoundError, EntryNotFoundError, HTTPError
from huggingface_hub.utils import disable_progress_bars
from huggingface_hub.utils.logging import set_verbosity_error

from reproduction.data.download import (
    PassingError,
    RefusedError,
    UnavailableError,
    answered,
    check_status,
    disk_errors,
    failure,
    patiently,
)
from sagevocab.errors import UserError, tell
from sagevocab.state import atomic_path, scratch_folder

if TYPE_CHECKING:
    from reproduction.data.sources import Hub, HubSet
    from reproduction.data.streams import Sample

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class HubFiles:
    """Files of a data set on this machine, in the order of their names, and their commit.

    total: how many files the data set has, drawn or not.
    """

    commit: str
    paths: list[Path]
    total: int


def hub_url(hub: HubSet) -> str:
    """Return the page of a hub data set, for people."""
    return f"{constants.ENDPOINT}/datasets/{hub.repo}"


def hub_files(source: Hub, cache_dir: Path, part: Sample | None = None) -> HubFiles:
    """Bring the files of a hub data set to this machine.

    part: how much of them is wanted; they come in a seeded order until they are enough. None for
    all.

    Raises:
        UnavailableError: the hub has no such data set, revision or file, or never what it lists.
        UserError: it can't be reached, and neither cache has the files.
    """
    disable_progress_bars()
    set_verbosity_error()  # its warnings have signed addresses in them
    if "REQUESTS_CA_BUNDLE" in os.environ:  # the client reads another name
        os.environ.setdefault("SSL_CERT_FILE", os.environ["REQUESTS_CA_BUNDLE"])
    if not constants.HF_HUB_OFFLINE:
        try:
            return _from_hub(source, cache_dir, part)
        except UserError as error:
            problem = error
    else:
        problem = UserError(
            f"{hub_url(source.hub)}: HF_HUB_OFFLINE is set, and {constants.HF_HUB_CACHE} lacks "
            f"revision {source.hub.revision}; unset it, or {source.advice}"
        )
    for cache in (cache_dir, Path(constants.HF_HUB_CACHE)):
        if found := _from_cache(source, cache, part):
            log.warning("%s; taken from %s", problem, cache)
            return found
    raise problem


def _from_hub(source: Hub, cache_dir: Path, part: Sample | None) -> HubFiles:
    """Bring files from the hub; what an earlier download finished is not fetched again."""
    hub, advice = source.hub, source.advice
    url = hub_url(hub)
    with disk_errors(cache_dir, "make room or set `download_dir`"):
        folder = _ask(url, advice, lambda: _snapshot(hub, [], cache_dir))
    names = _names(hub, folder, cache_dir)
    if not names:
        # The client keeps a commit's list of files for ever.
        shutil.rmtree(folder.parents[1] / "trees", ignore_errors=True)
        raise UnavailableError(f"{url}: revision {hub.revision} has no file {hub.files}; {advice}")
    log.info("%s: revision %s is commit %s", url, hub.revision, folder.name)

    def bring(some: Sequence[str]) -> None:
        with disk_errors(cache_dir, "make room or set `download_dir`"):
            for _ in range(2):
                wrong = _ask(url, advice, lambda: _download(hub, folder.name, some, cache_dir))
                if not wrong:
                    return
                log.warning("%s: %s", url, wrong[0])
        raise UnavailableError(f"{url}: {wrong[0]}; {advice}")

    return _taken(source, part, folder, names, bring)


def _from_cache(source: Hub, cache_dir: Path, part: Sample | None) -> HubFiles | None:
    """Return the files if a cache of the hub's client has all of them, or all that are drawn."""
    wanted = [source.hub.files] if part is None else []
    with suppress(EntryNotFoundError, FileNotFoundError):
        folder = _snapshot(source.hub, wanted, cache_dir, local_files_only=True)
        names = _names(source.hub, folder, cache_dir)
        total = re.search(r"-of-(\d+)\b", names[0]) if names else None
        if names and (total is None or int(total[1]) == len(names)):
            return _taken(source, part, folder, names, lambda some: os.stat(folder / some[0]))
    return None


def _names(hub: HubSet, folder: Path, cache_dir: Path) -> list[str]:
    """Return which files of a snapshot are wanted; of one without a list, those that are there."""
    where = {"repo_type": "dataset", "revision": folder.name, "cache_dir": cache_dir}
    try:
        names = [file.path for file in huggingface_hub.get_cached_repo_tree(hub.repo, **where)]
    except CachedRepoTreeNotFoundError:
        names = [path.relative_to(folder).as_posix() for path in folder.rglob("*")]
    return sorted(name for name in names if fnmatchcase(name, hub.files))


def _taken(
    source: Hub,
    part: Sample | None,
    folder: Path,
    names: Sequence[str],
    bring: Callable[[Sequence[str]], Any],
) -> HubFiles:
    """Bring files to a snapshot's folder: all, or in a seeded order until they are enough."""
    chosen = list(names)
    if part is None:
        bring(names)
    else:
        chosen, is_enough = [], part.count(source)
        for number in np.random.default_rng(part.settings.seed).permutation(len(names)):
            chosen.append(names[number])
            bring(chosen[-1:])
            tell(f"{names[number]}: the {len(chosen)}. of {len(names)} files")
            if is_enough(folder / chosen[-1]):
                break
    return HubFiles(folder.name, [folder / name for name in sorted(chosen)], len(names))


# --- the hub's client, with our patience and errors


def _snapshot(hub: HubSet, patterns: Sequence[str], cache_dir: Path, **options: Any) -> Path:
    """Bring files that match a pattern to a cache of the hub's client; return their snapshot."""
    options = {"repo_type": "dataset", "revision": hub.revision, "cache_dir": cache_dir, **options}
    found = huggingface_hub.snapshot_download(hub.repo, allow_patterns=patterns, **options)
    return Path(cache_dir, *Path(found).parts[-3:])  # relative, as the cache may be


def _download(hub: HubSet, commit: str, names: Sequence[str], cache_dir: Path) -> list[str]:
    """Bring files to the cache, and return what is wrong with them; what is wrong is deleted."""
    folder = _snapshot(hub, [glob.escape(name) for name in names], cache_dir, revision=commit)
    verify = huggingface_hub.HfApi().verify_repo_checksums
    where = {"repo_type": "dataset", "revision": commit, "cache_dir": cache_dir}
    found = verify(hub.repo, **where).mismatches
    wrong = [one for one in found if one["path"] in names]
    for one in wrong:
        (folder / one["path"]).resolve().unlink(missing_ok=True)
    return [
        f"{one['path']} has {one['algorithm']} {one['actual']} instead of {one['expected']}"
        for one in wrong
    ]


def _ask(url: str, advice: str, attempt: Callable[[], T]) -> T:
    """Return what the hub's client gives, asked again while that may help.

    Raises:
        UnavailableError: the hub does not have it.
        UserError: it can't be reached, is busy, or does not give it to us.
    """
    try:
        return patiently(url, lambda: _once(url, attempt))
    except RefusedError as error:
        if error.forbidden:
            advice += "; if it is gated, accept its terms there and set HF_TOKEN; it may be renamed"
        raise failure({url: error}, advice) from error


def _once(url: str, attempt: Callable[[], T]) -> T:
    try:
        return attempt()
    except (HTTPError, EntryNotFoundError) as error:
        response = getattr(error, "response", None) or getattr(error.__cause__, "response", None)
        if response is None:
            raise PassingError("no connection") from error
        check_status(url, response.status_code, response.reason_phrase, response.headers)
        raise PassingError(_first_line(error)) from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        if getattr(error, "errno", None):  # the disk's
            raise
        answered(url)
        raise PassingError(f"gives something else ({_first_line(error)})") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def join_rows(
    paths: Sequence[Path], output: Path, share: tuple[float, float] | None, seed: int
) -> None:
    """Write the rows of several parquet files to one.

    share: [from, to] of a seeded shuffle of the rows, which stay in their order; None for all.
    """
    import datasets

    datasets.disable_progress_bars()
    with scratch_folder(output) as cache:
        rows = datasets.Dataset.from_parquet([str(path) for path in paths], cache_dir=str(cache))
        if share:
            order = np.random.default_rng(seed).permutation(len(rows))
            start, end = (round(len(rows) * edge) for edge in share)
            rows = rows.select(np.sort(order[start:end]))
        with atomic_path(output) as temporary:
            rows.to_parquet(temporary)
