"""Files of a data set on the Hugging Face hub: those that the hub lists, with its checksums.

Lists and files stay in `download_dir`. `HF_HUB_OFFLINE` asks no server and takes them from there;
otherwise the hub gives the list each time. `HF_ENDPOINT` names another server, `HF_TOKEN` is sent.
"""

from __future__ import annotations

import json
import logging
import re
import tempfile
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import huggingface_hub.constants as constants
import numpy as np
import pyarrow as pa
from huggingface_hub import get_token
from pyarrow import parquet

from reproduction.data.download import (
    Expected,
    ForbiddenError,
    RefusedError,
    download,
    keep,
    kept_copies,
)
from sagevocab.errors import UserError, tell
from sagevocab.files import atomic_path

if TYPE_CHECKING:
    from reproduction.data.datasets import RowPart
    from reproduction.data.sources import Hub, HubSet
    from reproduction.data.streams import Sample

log = logging.getLogger(__name__)

_HUB = "https://huggingface.co"
# What is said of an address that is not the hub's.
_NO_HUB = r"is not an address|does not resolve|no connection|something else than a list"
_COMMIT = re.compile("[0-9a-f]{40}")
_DIGEST = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
# 0003.parquet, as the hub names parts of a set that it converts; train-00003-of-00041.parquet
_NUMBERED = re.compile(r"(?P<start>(.*/)?)(?P<number>\d{4})\.parquet")
_COUNTED = re.compile(r"(?P<start>.*?)(?P<number>\d{1,9})-of-(?P<total>\d{1,9})\b")


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
    return f"{_server()}/datasets/{hub.repo}"


def _server() -> str:
    """Return the address of the hub without name and password, which no message may show."""
    return re.sub("//[^/]*@", "//", constants.ENDPOINT)


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
    commit, files = _listing(source, cache_dir)
    names = list(files)
    order = range(len(names))
    if part:
        order = np.random.default_rng(part.settings.seed).permutation(len(names))
    is_enough = part.count(source) if part else lambda _path: False
    drawn = {}
    for number in order:
        url = f"{hub_url(source.hub)}/resolve/{commit}/{quote(names[number])}"
        drawn[number] = _fetch(source, url, cache_dir, files[names[number]])
        tell(f"{names[number]}: {len(drawn)} of {len(names)} files")
        if is_enough(drawn[number]):
            break
    return HubFiles(commit, [drawn[number] for number in sorted(drawn)], len(names))


def _listing(source: Hub, cache_dir: Path) -> tuple[str, dict[str, Expected]]:
    """Return the commit of a revision, and which of the wanted files it has."""
    hub = source.hub
    address = f"{_server()}/api/datasets/{hub.repo}/revision"
    url = f"{address}/{quote(hub.revision, safe='')}?blobs=true"
    expected = Expected(check=lambda path: _read_listing(path, hub))
    if constants.HF_HUB_OFFLINE and (kept := _kept_listing(source, url, cache_dir)):
        commit, files = kept
    elif constants.HF_HUB_OFFLINE:
        commit, files = _read_listing(_fetch(source, url, cache_dir, expected), hub)
    else:  # a branch may have moved since, and one wrong answer must not stay
        with tempfile.TemporaryDirectory() as folder:
            try:
                path = _fetch(source, url, Path(folder), expected)
            except UserError as error:
                if kept_copies(url, cache_dir):
                    raise type(error)(
                        f"{error}; HF_HUB_OFFLINE=1 takes the list that {cache_dir} has"
                    ) from error
                raise
            keep(path, cache_dir)
            commit, files = _read_listing(path, hub)
    log.info("%s: revision %s is commit %s", hub_url(hub), hub.revision, commit)
    return commit, files


def _kept_listing(source: Hub, url: str, cache_dir: Path) -> tuple[str, dict[str, Expected]] | None:
    """Return what the newest list says that was kept and can be read, if there is one.

    Raises:
        UserError: it lacks the wanted files, or is damaged.
    """
    for path in kept_copies(url, cache_dir):
        try:
            return _read_listing(path, source.hub)
        except OSError as error:
            log.warning("%s: cannot be read (%s)", path, error.strerror)
        except RefusedError as error:
            raise UserError(
                f"{path}: {error}, and HF_HUB_OFFLINE is set; unset it, or {source.advice}"
            ) from error
    return None


def _read_listing(path: Path, hub: HubSet) -> tuple[str, dict[str, Expected]]:
    """Read what the hub says of a revision: its commit, and what is known of each wanted file.

    Raises:
        RefusedError: it says something else, is of another data set or commit, no file has such a
            name, or it lacks files that the names of others count or leave a hole for.
    """
    try:
        said = json.loads(path.read_bytes())
        commit = _COMMIT.fullmatch(said["sha"])[0]
        files = {one["rfilename"]: _expected(one) for one in said["siblings"]}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise RefusedError("gives something else than a list of its files") from error
    if said.get("id", hub.repo) != hub.repo:
        raise RefusedError(f"lists the files of {said['id']}; it may be renamed")
    if _COMMIT.fullmatch(hub.revision) and commit != hub.revision:
        raise RefusedError(f"lists the files of commit {commit}")
    wanted = {name: files[name] for name in sorted(files) if fnmatchcase(name, hub.files)}
    if not wanted:
        near = ", ".join(get_close_matches(hub.files, files, n=3, cutoff=0.0)) or "none"
        raise RefusedError(
            f"has no file {hub.files}, as workflow/resources/datasets.yaml has it; near it: {near}",
            gone=True,
        )
    numbers, counted = _numbers(files), _numbers(wanted)
    for start, times in Counter(start for start, _ in counted).items():
        if times > 1:
            raise RefusedError(f"lists files {start}* of {times} counts; `hub.files` must take one")
    for start, total in counted:
        found = sorted(numbers[start, total])
        if len(found) != total or found not in ([*range(total)], [*range(1, total + 1)]):
            raise RefusedError(f"lists not the {total} files {start}*, each once")
    _check_no_hole(files, wanted)
    return commit, wanted


def _check_no_hole(listed: Iterable[str], wanted: Iterable[str]) -> None:
    """Refuse a set of which one of the files that are numbered from 0 is not listed."""
    numbers = defaultdict(list)
    for match in filter(None, map(_NUMBERED.fullmatch, sorted(listed))):
        numbers[match["start"]].append(int(match["number"]))
    for start in {match["start"] for match in filter(None, map(_NUMBERED.fullmatch, wanted))}:
        for number, found in enumerate(numbers[start]):
            if number != found:
                raise RefusedError(f"lists {start}{found:04d}.parquet, not {number:04d}.parquet")


def _numbers(names: Iterable[str]) -> dict[tuple[str, int], list[int]]:
    """Return the numbers of files that count themselves: start of a name and total -> numbers."""
    numbers = defaultdict(list)
    for match in filter(None, map(_COUNTED.match, names)):
        numbers[match["start"], int(match["total"])].append(int(match["number"]))
    return numbers


def _expected(said: dict[str, Any]) -> Expected:
    """Return what the hub says of a file: large ones have a SHA-256, others git's checksum.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: it says something else.
    """
    if large := said.get("lfs"):
        name, size, digest = "sha256", large["size"], large["sha256"]
    else:
        name, size, digest = "git", said["size"], said["blobId"]
    said["rfilename"].encode()  # fails unless it is a text that an address can have
    if not isinstance(size, int) or not _DIGEST.fullmatch(digest):
        raise ValueError("no size or no checksum")
    return Expected(size, {name: digest})


def _fetch(source: Hub, url: str, cache_dir: Path, expected: Expected) -> Path:
    """Bring a file of the hub to the cache."""
    where = {"cache_dir": cache_dir, "offline": constants.HF_HUB_OFFLINE, "advice": source.advice}
    try:
        return download([url], expected=expected, headers=_authorization(), **where).path
    except ForbiddenError as error:
        raise ForbiddenError(
            f"{error}; if {hub_url(source.hub)} is gated, accept its terms there and set HF_TOKEN; "
            "it may be renamed"
        ) from error
    except UserError as error:
        if constants.ENDPOINT == _HUB or not re.search(_NO_HUB, str(error)):
            raise
        raise type(error)(f"{error}; see whether HF_ENDPOINT is right") from error


def _authorization() -> dict[str, str]:
    """Return the header with the name and password in `HF_ENDPOINT`, or the user's token."""
    if given := re.search("//([^/]*)@", constants.ENDPOINT):
        pair = b64encode(unquote(given[1]).encode()).decode()
        return {"Authorization": f"Basic {pair}"}
    try:
        token = get_token()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{constants.HF_TOKEN_PATH}: your token cannot be read "
            f"({getattr(error, 'strerror', 'no text')}); mend or delete the file, or set HF_TOKEN"
        ) from error
    return {"Authorization": f"Bearer {token}"} if token else {}


def count_rows(paths: Iterable[Path]) -> int:
    """Return how many rows several parquet files have together.

    Raises:
        UserError: one is not a parquet file.
    """
    return sum(_parquet(path).metadata.num_rows for path in paths)


def join_rows(paths: Sequence[Path], output: Path, part: RowPart) -> None:
    """Write a part of the rows of several parquet files, which stay in their order, to one.

    Raises:
        UserError: they have different columns, or one is not a parquet file.
    """
    files = [*map(_parquet, paths)]
    for path, file in zip(paths, files, strict=True):
        if file.schema_arrow != files[0].schema_arrow:
            raise UserError(f"{path}: has other columns than {paths[0]}; name one in `hub.files`")
    chosen = np.zeros(count_rows(paths), dtype=bool)
    chosen[part.positions(len(chosen))] = True
    batches = (batch for file in files for batch in file.iter_batches())
    first = 0
    with (
        atomic_path(output) as temporary,
        parquet.ParquetWriter(temporary, files[0].schema_arrow) as writer,
    ):
        for batch in batches:
            writer.write_batch(batch.filter(pa.array(chosen[first : first + len(batch)])))
            first += len(batch)


def _parquet(path: Path) -> parquet.ParquetFile:
    try:
        return parquet.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise UserError(
            f"{path}: is not a parquet file, though the hub gives its checksum; delete it and "
            "fetch it again, or set the source's `path`"
        ) from error
