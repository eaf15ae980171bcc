"""Files of a data set on the Hugging Face hub: those that the hub lists, with its checksums.

The list of a commit and its files stay in `download_dir`, where they serve without the hub.
`HF_ENDPOINT` names another server, `HF_TOKEN` is sent, `HF_HUB_OFFLINE` asks no server.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import huggingface_hub.constants as constants
import numpy as np
from huggingface_hub import get_token

from reproduction.data.download import (
    Expected,
    ForbiddenError,
    UnavailableError,
    cache_name,
    download,
    make_readable,
    unreadable,
)
from reproduction.resuming import scratch_folder
from sagevocab.errors import UserError, tell
from sagevocab.files import atomic_path

if TYPE_CHECKING:
    from reproduction.data.sources import Hub, HubSet
    from reproduction.data.streams import Sample

log = logging.getLogger(__name__)

_COMMIT = re.compile("[0-9a-f]{40}")


@dataclass(frozen=True)
class HubFiles:
    """Files of a data set on this machine, in the order of their names, and their commit.

    total: how many files the data set has, drawn or not.
    """

    commit: str
    paths: list[Path]
    total: int


@dataclass(frozen=True)
class _Listing:
    """The files of a data set that are wanted, by name, and their commit."""

    commit: str
    files: dict[str, Expected]


def hub_url(hub: HubSet) -> str:
    """Return the page of a hub data set, for people."""
    return f"{constants.ENDPOINT}/datasets/{hub.repo}"


def hub_files(source: Hub, cache_dir: Path, part: Sample | None = None) -> HubFiles:
    """Bring the files of a hub data set to this machine.

    Args:
        source: the data set, and a pattern of the names of its files.
        cache_dir: keeps finished and partial downloads.
        part: how much is wanted; files come in a seeded order until they are enough. None for all.

    Raises:
        UnavailableError: the hub has no such data set, revision or file.
        UserError: it can't be reached and the cache lacks a file, or it gives other data.
    """
    listing = _listing(source, cache_dir)
    names = list(listing.files)
    if part is None:
        paths = [_file(source, listing, name, cache_dir) for name in names]
        return HubFiles(listing.commit, paths, len(names))
    drawn, is_enough = {}, part.count(source)
    for number in np.random.default_rng(part.settings.seed).permutation(len(names)):
        path = _file(source, listing, names[number], cache_dir)
        drawn[number] = path
        tell(f"{names[number]}: the {len(drawn)}. of {len(names)} files")
        if is_enough(path):
            break
    return HubFiles(listing.commit, [drawn[number] for number in sorted(drawn)], len(names))


def _file(source: Hub, listing: _Listing, name: str, cache_dir: Path) -> Path:
    """Bring a file to the cache, unless it is there."""
    url = f"{hub_url(source.hub)}/resolve/{listing.commit}/{quote(name)}"
    if constants.HF_HUB_OFFLINE and not (cache_dir / cache_name(url)).exists():
        raise _offline(source, cache_dir, name)
    return _fetch(source, url, cache_dir, listing.files[name])


def _listing(source: Hub, cache_dir: Path) -> _Listing:
    """Return which files the hub says a revision has; as once kept, where it can't be asked."""
    hub = source.hub
    address = f"{constants.ENDPOINT}/api/datasets/{hub.repo}/revision"
    url = f"{address}/{quote(hub.revision, safe='')}?blobs=true"
    kept = cache_dir / cache_name(url)
    if constants.HF_HUB_OFFLINE:
        if not kept.exists():
            raise _offline(source, cache_dir, f"the list of revision {hub.revision}")
        return _read_listing(source, kept)
    if _COMMIT.fullmatch(hub.revision) and kept.exists():  # a commit never changes
        with suppress(UserError):
            return _read_listing(source, kept)
    with tempfile.TemporaryDirectory() as folder:  # a branch may have moved since
        try:
            path = _fetch(source, url, Path(folder))
        except (UnavailableError, ForbiddenError):
            raise
        except UserError as error:
            if not kept.exists():
                raise
            log.warning("%s; its files are those of %s", error, kept)
            return _read_listing(source, kept)
        listing = _read_listing(source, path)
        try:
            with atomic_path(kept) as copy:
                shutil.copyfile(path, copy)
                make_readable(copy)
        except OSError as error:
            log.warning("%s: cannot be written (%s)", kept, error.strerror)
    return listing


def _offline(source: Hub, cache_dir: Path, what: str) -> UserError:
    return UserError(
        f"{hub_url(source.hub)}: HF_HUB_OFFLINE is set, and {cache_dir} lacks {what}; unset it, or "
        f"{source.advice}"
    )


def _read_listing(source: Hub, path: Path) -> _Listing:
    """Read what the hub says of a revision.

    Raises:
        UnavailableError: no file has such a name.
        UserError: the list can't be read, or lacks files that the names of others count.
    """
    hub, url = source.hub, hub_url(source.hub)
    try:
        said = json.loads(path.read_bytes())
        files = {one["rfilename"]: _expected(one) for one in said["siblings"]}
        commit = _COMMIT.fullmatch(said["sha"])[0]
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(
            f"{url}: gives something else than a list of its files; run again later, or "
            f"{source.advice}"
        ) from error
    wanted = {name: files[name] for name in sorted(files) if fnmatchcase(name, hub.files)}
    if not wanted:
        raise UnavailableError(
            f"{url}: revision {hub.revision} has no file {hub.files}; {source.advice}"
        )
    _check_is_whole(wanted, files, f"{url}: revision {hub.revision}", source.advice)
    log.info("%s: revision %s is commit %s", url, hub.revision, commit)
    return _Listing(commit, wanted)


def _expected(said: dict[str, Any]) -> Expected:
    """Return what the hub says of a file: large ones have a SHA-256, others git's checksum."""
    if large := said.get("lfs"):
        return Expected(large["size"], {"sha256": large["sha256"]})
    return Expected(said["size"], {"git": said["blobId"]})


def _check_is_whole(wanted: Iterable[str], listed: Iterable[str], where: str, advice: str) -> None:
    """Refuse a list that lacks files which its own names count, as in `train-00003-of-00041`."""
    found = Counter(map(_counted, listed))
    for start, total in {_counted(name) for name in wanted} - {("", None)}:
        if found[start, total] != total:
            raise UserError(
                f"{where} lists {found[start, total]} of the {total} files {start}*; {advice}"
            )


def _counted(name: str) -> tuple[str, int | None]:
    """Return the beginning of the names of a set of files, and how many they are by their names."""
    match = re.match(r"(.*?)\d+-of-(\d+)\b", name)
    return (match[1], int(match[2])) if match else ("", None)


def _fetch(source: Hub, url: str, cache_dir: Path, expected: Expected | None = None) -> Path:
    """Bring a file of the hub to a folder, with the user's token."""
    token = get_token()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    where = {"cache_dir": cache_dir, "advice": source.advice}
    try:
        return download([url], expected=expected, headers=headers, **where).path
    except ForbiddenError as error:
        raise ForbiddenError(
            f"{error}; if {hub_url(source.hub)} is gated, accept its terms there and set HF_TOKEN; "
            "it may be renamed"
        ) from error


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
