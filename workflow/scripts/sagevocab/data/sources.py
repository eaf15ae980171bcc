"""A resolved source becomes a file: generated, found in a package, or fetched.

Beside the file stands `FILE.source.json`, the source as it was resolved, with the URL that gave it
and the digest seen; later stages read format and column from it.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sagevocab.data.fetch import Fetched, GoneError, check_connection, fetch, publish
from sagevocab.errors import UserError
from sagevocab.state import atomic_path, file_digest, fingerprint, write_json

if TYPE_CHECKING:
    import datasets

log = logging.getLogger(__name__)

Source = dict[str, Any]


def retrieve(
    source: Source, output: str | Path, description: str | Path, *, cache_dir: str | Path, seed: int
) -> None:
    """Bring the data of a resolved source (see `catalogue.resolve_source`) to `output`.

    A data set that its servers don't have any more gives way to its fallback, another one, with a
    warning, and the description says so. A network that fails is no reason to take other data.

    Raises:
        UserError: neither can be had; the message names URL and configuration key.
    """
    output, cache_dir = Path(output), Path(cache_dir)
    try:
        fetched = _retrieve_one(source, output, cache_dir, seed)
    except GoneError as error:
        if not source.get("fallback"):
            raise
        source = _fallback(source, error)
        fetched = _retrieve_one(source, output, cache_dir, seed)
    record = {name: value for name, value in source.items() if name != "fallback"}
    seen = {"origin": fetched.url, "sha256": fetched.sha256, "bytes": fetched.size}
    write_json(description, record | seen)


def _fallback(source: Source, error: UserError) -> Source:
    substitute = source["fallback"]
    log.warning("%s", error)
    log.warning(
        "%s: %s is taken instead of %s", *(source["key"], substitute["name"], source["name"])
    )
    kept = {name: source.get(name) for name in ("kind", "key", "split", "rows")}
    return kept | {"column": None, "sentences": False, "instead_of": source["name"]} | substitute


def _retrieve_one(source: Source, output: Path, cache_dir: Path, seed: int) -> Fetched:
    """Bring one source to `output`; return where it came from and what it is."""
    if source["kind"] == "generator":
        # By name, so that an edit of a generator is no reason to fetch everything again.
        generate = importlib.import_module("sagevocab.data.generate").generate
        origin = generate(source, output, seed)
    elif source.get("hub"):
        origin = _retrieve_hub(source, output, cache_dir, seed)
    else:
        return _retrieve_file(source, output, cache_dir)
    return Fetched(origin, file_digest(output), output.stat().st_size)


def _retrieve_file(source: Source, output: Path, cache_dir: Path) -> Fetched:
    package = source.get("package")
    fetched = fetch(
        [_package_url(source)] if package else source["urls"],
        output,
        cache_dir=cache_dir,
        sha256=source.get("sha256"),
        size=source.get("bytes"),
        way_out=_way_out(source),
    )
    # Where a package is installed is this machine's affair.
    return replace(fetched, url=package) if package else fetched


def _way_out(source: Source) -> str:
    return f"set `{source['key']}.path` to a local copy"


# --- files in installed packages


def _package_url(source: Source) -> str:
    """file:// URL of "package:path/in/it", found without importing the package."""
    package, _, inside = source["package"].partition(":")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"{source['key']}.package: {package!r} is not installed; pip install it")
    path = Path(spec.submodule_search_locations[0]) / inside
    if not path.is_file():
        raise UserError(f"{source['key']}.package: {path} does not exist; {_way_out(source)}")
    return path.as_uri()


# --- the Hugging Face hub


def _retrieve_hub(source: Source, output: Path, cache_dir: Path, seed: int) -> str:
    """Bring rows of a hub data set to `output` as parquet, through a copy in the cache."""
    hub, url = source["hub"], hub_url(source["hub"])
    key = fingerprint(url, hub, source.get("share"), seed if source.get("share") else None)
    cached = cache_dir / f"{key[:16]}-{hub['repo'].replace('/', '-')}.parquet"
    if not cached.exists():
        check_connection(url, _way_out(source))
        rows = _load_hub(hub, cache_dir, _way_out(source))
        if source.get("share"):
            rows = rows.select(share_of_rows(len(rows), source["share"], seed))
        with atomic_path(cached) as temporary:
            rows.to_parquet(temporary)
        log.info("%s: %d rows", url, len(rows))
    publish(cached, output)
    return url


def hub_url(hub: dict[str, Any]) -> str:
    """Page of a hub data set, for people."""
    import huggingface_hub.constants as constants

    return f"{constants.ENDPOINT}/datasets/{hub['repo']}"


def _load_hub(hub: dict[str, Any], cache_dir: Path, way_out: str) -> datasets.Dataset:
    import datasets

    datasets.disable_progress_bars()
    try:
        return datasets.load_dataset(
            hub["repo"],
            hub.get("config"),
            split=hub.get("split") or "train",
            revision=hub.get("revision"),
            data_files=hub.get("data_files"),
            cache_dir=str(cache_dir / "hub"),
        )
    # The client raises errors of half a dozen packages, depending on where it notices.
    except Exception as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise UserError(f"{hub_url(hub)}: cannot be fetched ({reason}); {way_out}") from error


def share_of_rows(count: int, share: list[float], seed: int) -> np.ndarray:
    """Positions of a part of a seeded shuffle, ascending; adjacent shares never overlap."""
    order = np.random.default_rng(seed).permutation(count)
    start, end = (round(count * edge) for edge in share)
    return np.sort(order[start:end])
