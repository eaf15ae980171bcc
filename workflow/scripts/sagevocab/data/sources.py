"""A resolved source becomes a file: found in a package, fetched, or constructed.

Beside the file stands `FILE.source.json`, the source as it was resolved, with the URL that gave it
and the digest seen; later stages read format and column from it.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sagevocab.data.fetch import Fetched, GoneError, check_connection, fetch, publish
from sagevocab.errors import UserError
from sagevocab.state import atomic_path, file_digest, fingerprint, write_json, write_parquet

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
    if source["kind"] == "constructed":
        # By name, so that an edit of the constructions is no reason to fetch everything again.
        construct = importlib.import_module("sagevocab.data.construct").construct
        write_parquet(output, construct(source["name"], source["split"], source["rows"], seed))
        origin = f"constructed: {source['name']}"
    elif isinstance(source.get("package"), list):
        origin = _join_package_files(source, output)
    elif source.get("hub"):
        origin = _retrieve_hub(source, output, cache_dir, seed)
    else:
        return _retrieve_file(source, output, cache_dir)
    return Fetched(origin, file_digest(output), output.stat().st_size)


def _retrieve_file(source: Source, output: Path, cache_dir: Path) -> Fetched:
    package = source.get("package")
    fetched = fetch(
        [package_file(package, source["key"]).as_uri()] if package else source["urls"],
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


def package_file(name: str, key: str = "source") -> Path:
    """Find "package:path/in/it", a file that an installed package ships, without importing it.

    The package is a module or a distribution. Of a distribution, the path starts where its files
    are installed (`turkish-treebanks:data/wiki.conllu`), or in its folder of metadata
    (`pillow:licenses/LICENSE`).
    key: configuration key of the source, for messages.

    Raises:
        UserError: no such package, or no such file in it.
    """
    package, _, inside = name.partition(":")
    files = [*_module_files(package, inside), *_distribution_files(package, inside)]
    if not files:
        raise UserError(f"{key}.package: {package!r} is not installed; pip install it")
    for file in files:
        if file.is_file():
            return file
    raise UserError(f"{key}.package: {files[0]} does not exist; set `{key}.path` to a local copy")


def _module_files(package: str, inside: str) -> Iterator[Path]:
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    for folder in (spec and spec.submodule_search_locations) or ():
        yield Path(folder) / inside


def _distribution_files(name: str, inside: str) -> Iterator[Path]:
    """Where a file of a distribution may be, the places that its own list of files names first."""
    try:
        distribution = importlib.metadata.distribution(name)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return
    for file in distribution.files or ():
        in_metadata = file.parts[0].endswith(".dist-info")
        if inside == "/".join(file.parts[1:] if in_metadata else file.parts):
            yield Path(distribution.locate_file(file))
    yield Path(distribution.locate_file(inside))


def _join_package_files(source: Source, output: Path) -> str:
    """Write several text files of packages one after the other; return what to call them."""
    with atomic_path(output) as temporary, temporary.open("wb") as joined:
        for name in source["package"]:
            content = package_file(name, source["key"]).read_bytes()
            joined.write(content if content.endswith(b"\n") else content + b"\n")
    return ", ".join(source["package"])


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
