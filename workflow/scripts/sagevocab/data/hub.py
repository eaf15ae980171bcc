"""Files of a data set on the Hugging Face hub, at a fixed revision, with the sums the hub lists.

The list of files and the files come through `sagevocab.data.fetch`, so they resume, are checked and
stay in `download_dir`. `HF_ENDPOINT` names another server, `HF_TOKEN` is sent. What the hub's own
client has in its cache serves where the hub can't be reached or `HF_HUB_OFFLINE` is set.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import quote

import huggingface_hub
import huggingface_hub.constants as constants
import numpy as np

from sagevocab.data.fetch import Fetched, UnavailableError, fetch_cached
from sagevocab.data.transfer import Expected
from sagevocab.errors import UserError
from sagevocab.state import atomic_path, scratch_folder

log = logging.getLogger(__name__)

Hub = dict[str, Any]


@dataclass(frozen=True)
class HubFiles:
    """Files of a data set on this machine, in the order of their names, and their commit."""

    commit: str
    paths: list[Path]


def hub_url(hub: Hub) -> str:
    """Return the page of a hub data set, for people."""
    return f"{constants.ENDPOINT}/datasets/{hub['repo']}"


def hub_files(hub: Hub, cache_dir: Path, advice: str) -> HubFiles:
    """Bring the files of a hub data set to this machine.

    hub: `repo`, `revision` (a commit, branch or tag) and `files`, a pattern of their names.

    Raises:
        UnavailableError: the hub has no such data set, revision or file.
        UserError: it can't be reached, and its client's cache lacks the files.
    """
    if constants.HF_HUB_OFFLINE:
        if found := _from_client(hub):
            return found
        raise UserError(
            f"{hub_url(hub)}: HF_HUB_OFFLINE is set, and {constants.HF_HUB_CACHE} lacks revision "
            f"{hub['revision']}; unset it, or {advice}"
        )
    try:
        return _from_hub(hub, cache_dir, advice)
    except UserError as error:
        found = _from_client(hub)
        if found is None:
            raise
        log.warning("%s; taken from the hub client's cache", error)
        return found


def _from_hub(hub: Hub, cache_dir: Path, advice: str) -> HubFiles:
    token = huggingface_hub.get_token()
    how = {
        "cache_dir": cache_dir,
        "advice": advice,
        "headers": {"Authorization": f"Bearer {token}"} if token else None,
    }
    api = f"{constants.ENDPOINT}/api/datasets/{hub['repo']}"
    listing = fetch_cached([f"{api}/revision/{quote(hub['revision'], safe='')}?blobs=true"], **how)
    content = _listing(listing, hub, advice)
    commit = content["sha"]
    files = [file for file in content["siblings"] if fnmatchcase(file["rfilename"], hub["files"])]
    if not files:
        raise UnavailableError(
            f"{hub_url(hub)}: revision {hub['revision']} has no file {hub['files']}; {advice}"
        )
    log.info("%s: revision %s is commit %s", hub_url(hub), hub["revision"], commit)
    paths = []
    for file in sorted(files, key=lambda file: file["rfilename"]):
        url = f"{hub_url(hub)}/resolve/{commit}/{quote(file['rfilename'])}"
        paths.append(fetch_cached([url], expected=_expected(file), **how).path)
    return HubFiles(commit, paths)


def _listing(fetched: Fetched, hub: Hub, advice: str) -> dict[str, Any]:
    try:
        content = json.loads(fetched.path.read_bytes())
        return {"sha": content["sha"], "siblings": content["siblings"]}
    except (ValueError, KeyError, TypeError) as error:
        fetched.path.unlink()
        raise UnavailableError(
            f"{hub_url(hub)}: cannot be fetched ({fetched.url} lists no files); {advice}"
        ) from error


def _expected(file: dict[str, Any]) -> Expected:
    """What the hub lists: of large files the SHA-256 too."""
    large = file.get("lfs") or {}
    checksums = {"sha256": large["sha256"]} if large.get("sha256") else {}
    return Expected(large.get("size", file.get("size")), checksums)


def _from_client(hub: Hub) -> HubFiles | None:
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
    return HubFiles(commit, paths) if is_whole else None


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
