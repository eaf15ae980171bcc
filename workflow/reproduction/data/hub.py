"""Files of a data set on the Hugging Face hub, at a fixed revision, with the sums the hub lists.

The list of files and the files come through `data.fetch`, so they resume, are checked and stay
in `download_dir`. `HF_ENDPOINT` names another server, `HF_TOKEN` is sent. What the hub's own
client has in its cache serves where the hub can't be reached or `HF_HUB_OFFLINE` is set.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import huggingface_hub
import huggingface_hub.constants as constants
import numpy as np

from reproduction.data.fetch import (
    ForbiddenError,
    UnavailableError,
    cache_name,
    disk_errors,
    fetch_cached,
    read_url,
)
from reproduction.data.transfer import Expected
from sagevocab.errors import UserError
from sagevocab.state import atomic_path, scratch_folder

log = logging.getLogger(__name__)

Hub = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class HubFiles:
    """Files of a data set on this machine, in the order of their names, and their commit.

    total: how many files the data set has, drawn or not.
    """

    commit: str
    paths: list[Path]
    total: int


@dataclass(frozen=True)
class Draw:
    """Which of several files are taken: in a seeded order as many as are enough.

    count: begins a count, which says after each file whether no more are needed.
    """

    seed: int
    count: Callable[[], Callable[[Path], bool]]


def hub_url(hub: Hub) -> str:
    """Return the page of a hub data set, for people."""
    return f"{constants.ENDPOINT}/datasets/{hub['repo']}"


def hub_files(hub: Hub, cache_dir: Path, advice: str, draw: Draw | None = None) -> HubFiles:
    """Bring the files of a hub data set, or as many as are drawn, to this machine.

    hub: `repo`, `revision` (a commit, branch or tag) and `files`, a pattern of their names.

    Raises:
        UnavailableError: the hub has no such data set, revision or file.
        UserError: it can't be reached, and its client's cache lacks the files.
    """
    if constants.HF_HUB_OFFLINE:
        if found := _from_client(hub, draw):
            return found
        raise UserError(
            f"{hub_url(hub)}: HF_HUB_OFFLINE is set, and {constants.HF_HUB_CACHE} lacks revision "
            f"{hub['revision']}; unset it, or {advice}"
        )
    try:
        return _from_hub(hub, cache_dir, advice, draw)
    except UserError as error:
        found = _from_client(hub, draw)
        if found is None and isinstance(error, ForbiddenError):
            raise UserError(
                f"{error}; if {hub_url(hub)} is gated, accept its terms there and set HF_TOKEN; it "
                "may also be renamed"
            ) from error
        if found is None:
            raise
        log.warning("%s; taken from the hub client's cache", error)
        return found


def _from_hub(hub: Hub, cache_dir: Path, advice: str, draw: Draw | None) -> HubFiles:
    token = huggingface_hub.get_token()
    how = {"advice": advice, "headers": {"Authorization": f"Bearer {token}"} if token else {}}
    api = f"{constants.ENDPOINT}/api/datasets/{hub['repo']}"
    url = f"{api}/revision/{quote(hub['revision'], safe='')}?blobs=true"
    kept = Path(cache_dir) / cache_name(url)
    if kept.is_file():
        # The hub may have dropped the files of an earlier commit of a branch.
        with suppress(UnavailableError, ValueError):
            return _listed_files(hub, kept.read_bytes(), cache_dir, how, draw)
    listing = read_url([url], check=_listed, **how)
    found = _listed_files(hub, listing, cache_dir, how, draw)
    with disk_errors(kept, "make room or set `download_dir`"), atomic_path(kept) as temporary:
        temporary.write_bytes(listing)
    return found


def _listed_files(
    hub: Hub, listing: bytes, cache_dir: Path, how: dict[str, Any], draw: Draw | None
) -> HubFiles:
    """Bring the files of a listing that match the pattern to this machine."""
    commit, siblings = _listed(listing)
    files = [file for file in siblings if fnmatchcase(file["rfilename"], hub["files"])]
    if not files:
        raise UnavailableError(
            f"{hub_url(hub)}: revision {hub['revision']} has no file {hub['files']}; "
            f"{how['advice']}"
        )
    log.info("%s: revision %s is commit %s", hub_url(hub), hub["revision"], commit)

    def fetched(file: dict[str, Any]) -> Path:
        url = f"{hub_url(hub)}/resolve/{commit}/{quote(file['rfilename'])}"
        return fetch_cached([url], cache_dir=cache_dir, expected=_expected(file), **how).path

    files.sort(key=lambda file: file["rfilename"])
    return HubFiles(commit, _drawn(files, fetched, draw), len(files))


def _drawn(files: Sequence[T], bring: Callable[[T], Path], draw: Draw | None) -> list[Path]:
    """Bring files to this machine, in a seeded order until they are enough; in their own order."""
    if draw is None:
        return [bring(file) for file in files]
    paths, is_enough = {}, draw.count()
    for number in np.random.default_rng(draw.seed).permutation(len(files)):
        paths[number] = bring(files[number])
        if is_enough(paths[number]):
            break
    return [paths[number] for number in sorted(paths)]


def _listed(listing: bytes) -> tuple[str, list[dict[str, Any]]]:
    """Return the commit and the files of a listing.

    Raises:
        ValueError: it is none.
    """
    try:
        content = json.loads(listing)
        return content["sha"], list(content["siblings"])
    except (KeyError, TypeError) as error:
        raise ValueError("no list of files") from error


def _expected(file: dict[str, Any]) -> Expected:
    """What the hub lists: of large files the SHA-256 too."""
    large = file.get("lfs") or {}
    checksums = {"sha256": large["sha256"]} if large.get("sha256") else {}
    return Expected(large.get("size", file.get("size")), checksums)


def _from_client(hub: Hub, draw: Draw | None) -> HubFiles | None:
    """Return the files if the hub's client has all of them in its cache.

    Its layout: https://huggingface.co/docs/huggingface_hub/guides/manage-cache
    """
    repo = Path(constants.HF_HUB_CACHE, f"datasets--{hub['repo'].replace('/', '--')}")
    reference = repo / "refs" / hub["revision"]
    commit = reference.read_text().strip() if reference.is_file() else hub["revision"]
    folder = repo / "snapshots" / commit
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    paths = [files[name] for name in sorted(files) if fnmatchcase(name, hub["files"])]
    parts = re.search(r"-of-(\d+)\b", paths[0].name) if paths else None
    is_whole = bool(paths) and (parts is None or int(parts[1]) == len(paths))
    return HubFiles(commit, _drawn(paths, Path, draw), len(paths)) if is_whole else None


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
