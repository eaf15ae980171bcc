"""Where data comes from: the catalogue of data sets, what a `source` means by it, its retrieval.

A source of the configuration is resolved with the catalogue (datasets.yaml) into a plain dict that
says where the data is and of what form. It travels through the workflow's `params`. `retrieve`
brings the data to its place: from a server, the Hugging Face hub or an installed package, or
constructed. Beside the file stands `FILE.source.json`: the source, the URL that gave it and the
digest seen. Later stages read format and column from there.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from sagevocab.errors import UserError
from sagevocab.settings import Share, first_problem, optional
from sagevocab.state import atomic_path, file_digest, fingerprint, write_json, write_parquet

if TYPE_CHECKING:
    import datasets

    from sagevocab.data.fetch import Fetched

log = logging.getLogger(__name__)

KINDS = ("path", "constructed", "package", "dataset")
FORMATS = ("mediawiki", "text", "conllu", "jsonl", "parquet", "csv", "tsv", "conll")
# The tasks that `data.construct` makes.
CONSTRUCTED = (
    *("cola", "mrpc", "qqp", "qnli", "mnli", "xnli_tr", "stsb"),
    *("sst2", "ner_en", "ner_tr"),
)
_ORIGINS = ("urls", "hub", "package")

Entry = dict[str, Any]
Source = dict[str, Any]

# --- the catalogue


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Hub(_Strict):
    repo: str | None = None
    config: str | None = None
    split: str | None = None
    revision: str | None = None
    data_files: str | list[str] | None = None


# What a split may say for itself; `null` stands for "not known" or "as the source says".
class _Part(_Strict):
    urls: list[str] | None = None
    hub: _Hub | None = None
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = optional("64 hex digits")
    bytes: int | None = None
    share: list[Share] | None = None

    @field_validator("share")
    @classmethod
    def _is_a_span(cls, share: list[float] | None) -> list[float] | None:
        if share is not None and (len(share) != 2 or share[0] >= share[1]):
            raise ValueError("must be [from, to] with 0 <= from < to <= 1")
        return share


class _Splits(_Strict):
    train: _Part | None = None
    validation: _Part | None = None


# The head of datasets.yaml says what the fields mean.
class _Entry(_Part):
    title: Annotated[str, Field(min_length=1)]
    version: Annotated[str, Field(min_length=1)]
    licence: Annotated[str, Field(min_length=1)]
    note: str | None = None
    in_paper: bool | None = None
    package: str | None = None
    format: Literal[*FORMATS] | None = None
    column: str | None = None
    sentences: bool | None = None
    fallback: str | None = None
    splits: _Splits | None = None


def load_catalogue(path: str | Path) -> dict[str, Entry]:
    """Read and check the catalogue.

    Raises:
        UserError: not YAML, or an entry with an unknown, missing or ill-formed field.
    """
    try:
        entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise UserError(f"{path}: cannot be read as YAML ({error})") from error
    if not isinstance(entries, dict):
        raise UserError(f"{path}: must map names of data sets to their descriptions")
    for name, entry in entries.items():
        try:
            _Entry.model_validate(entry)
        except ValidationError as error:
            raise UserError(f"{path}: {first_problem(error, _Entry, entry).under(name)}") from error
        for split in entry.get("splits") or (None,):
            _check_origin(f"{path}: {name}", _of_split(entry, split))
        if entry.get("fallback") not in (None, *entries):
            raise UserError(f"{path}: {name}: fallback {entry['fallback']!r} is no entry")
    return entries


def _check_origin(where: str, entry: Entry) -> None:
    origins = [origin for origin in _ORIGINS if entry.get(origin)]
    if len(origins) != 1:
        raise UserError(f"{where}: needs exactly one of {', '.join(_ORIGINS)}; has {origins}")
    if "hub" in origins and not entry["hub"].get("repo"):
        raise UserError(f"{where}: `hub` needs a `repo`")


def _of_split(entry: Entry, split: str | None) -> Entry:
    """An entry with the fields of one of its splits laid over it."""
    fields = {key: value for key, value in entry.items() if key != "splits"}
    own = (entry.get("splits") or {}).get(split) or {}
    if entry.get("hub") and own.get("hub"):
        own = own | {"hub": entry["hub"] | own["hub"]}
    return fields | own


# --- resolved sources


def resolve_source(
    source: dict[str, Any], catalogue: dict[str, Entry], *, key: str, split: str | None = None
) -> dict[str, Any]:
    """Return where the data of a configured source comes from and what form it has, in one dict.

    source: stanza with one of path, constructed, package, dataset; the first of these wins, so that
        an override needs only to add a key. What the winner says of its form wins over the stanza.
    key: configuration key of the stanza, kept for messages.
    split: train or validation, for task sets.

    Raises:
        UserError: a data set or construction that does not exist.
    """
    kind = next(kind for kind in KINDS if source.get(kind))
    resolved = {name: source.get(name) for name in ("format", "column", "rows")}
    if kind in ("path", "package"):
        resolved |= {name: source[name] for name in ("title", "licence") if source.get(name)}
    resolved |= {"kind": kind, "name": source[kind], "key": key, "split": split}
    resolved |= {"sentences": bool(source.get("sentences"))}
    if kind == "constructed":
        _check_constructed(source, key, split)
        return resolved | {"format": "parquet", "column": None}
    entry = _entry_of(kind, source[kind], catalogue, key)
    if entry is None:
        return resolved
    return resolved | _described(entry, catalogue, split)


def _check_constructed(source: dict[str, Any], key: str, split: str | None) -> None:
    if split is None:
        raise UserError(f"{key}.constructed: only the rows of tasks can be constructed, no text")
    if source["constructed"] not in CONSTRUCTED:
        raise UserError(
            f"{key}.constructed: there is no {source['constructed']!r}; "
            f"there are {', '.join(CONSTRUCTED)}"
        )
    if not source.get("rows"):
        raise UserError(f"{key}.rows: missing; say how many rows to construct")


def _entry_of(kind: str, name: str, catalogue: dict[str, Entry], key: str) -> Entry | None:
    if kind == "package":
        return next((e for e in catalogue.values() if e.get("package") == name), {"package": name})
    if kind == "dataset" and name not in catalogue:
        raise UserError(
            f"{key}.dataset: {name!r} is not in workflow/resources/datasets.yaml "
            f"(there are: {', '.join(sorted(catalogue))}); add it there or set {key}.path"
        )
    return catalogue.get(name) if kind == "dataset" else None


def _described(entry: Entry, catalogue: dict[str, Entry], split: str | None) -> dict[str, Any]:
    fields = _of_split(entry, split)
    if fields.get("hub"):
        fields["format"] = "parquet"
    if fields.get("fallback"):
        name = fields["fallback"]
        fields["fallback"] = {"name": name} | _described(catalogue[name], catalogue, split)
    return {name: value for name, value in fields.items() if value is not None}


def local_files(path: str | Sequence[str]) -> list[str]:
    """Return the files of a `path:`, which is one file or a list of them."""
    return [path] if isinstance(path, str) else list(path)


def read_source(source: dict[str, Any], files: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Return the data files of a source, and its description.

    The description of local files is as configured, else as they were retrieved.
    files: what a rule got for the source: its local files, or one file and its description.
    """
    if source["kind"] == "path":
        return list(files), source
    data, description = files
    return [data], json.loads(Path(description).read_text(encoding="utf-8"))


# --- retrieval


def retrieve(
    source: Source, output: str | Path, description: str | Path, *, cache_dir: str | Path, seed: int
) -> None:
    """Bring the data of a resolved source (see `resolve_source`) to `output`.

    A data set that its servers no longer have is replaced by its fallback, with a warning; the
    description names both. A failing network is no reason to take other data.

    Raises:
        UserError: neither can be had; the message names URL and configuration key.
    """
    from sagevocab.data.fetch import GoneError

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
    substitute, name = source["fallback"], source["name"]
    log.warning("%s", error)
    log.warning("%s: %s is taken instead of %s", source["key"], substitute["name"], name)
    kept = {field: source.get(field) for field in ("kind", "key", "split", "rows")}
    return kept | {"column": None, "sentences": False, "instead_of": name} | substitute


def _retrieve_one(source: Source, output: Path, cache_dir: Path, seed: int) -> Fetched:
    """Bring one source to `output`; return where it came from and what it is."""
    from sagevocab.data.fetch import Fetched, fetch

    advice = f"set `{source['key']}.path` to a local copy"
    package = source.get("package")
    if source["kind"] == "constructed":
        # By name: an edit of the constructions is no reason to fetch everything again.
        construct = importlib.import_module("sagevocab.data.construct").construct
        write_parquet(output, construct(source["name"], source["split"], source["rows"], seed))
        origin = f"constructed: {source['name']}"
    elif source.get("hub"):
        origin = _retrieve_hub(source, output, cache_dir, seed, advice)
    elif isinstance(package, list):
        origin = _join_package_files(source, output)
    else:
        urls = [package_file(package, source["key"]).as_uri()] if package else source["urls"]
        expected = {"sha256": source.get("sha256"), "size": source.get("bytes")}
        fetched = fetch(urls, output, cache_dir=cache_dir, advice=advice, **expected)
        # The folder of a package differs between machines.
        return replace(fetched, url=package) if package else fetched
    return Fetched(origin, file_digest(output), output.stat().st_size)


# --- files in installed packages


def package_file(name: str, key: str = "source") -> Path:
    """Find "package:path/in/it", a file that an installed package ships, without importing it.

    The package is a module or a distribution. In a distribution, the path starts where its files
    are installed (`turkish-treebanks:data/wiki.conllu`) or in its folder of metadata
    (`pillow:licenses/LICENSE`).
    key: configuration key of the source, for messages.

    Raises:
        UserError: no such package, or no such file in it.
    """
    package, _, inside = name.partition(":")
    places: list[Path] = []
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    if spec and spec.submodule_search_locations:
        places += [Path(folder, inside) for folder in spec.submodule_search_locations]
    with suppress(importlib.metadata.PackageNotFoundError, ValueError):
        distribution = importlib.metadata.distribution(package)
        places += [*_listed(distribution, inside), Path(distribution.locate_file(inside))]
    if not places:
        raise UserError(f"{key}.package: {package!r} is not installed; pip install it")
    for file in places:
        if file.is_file():
            return file
    raise UserError(f"{key}.package: {places[0]} does not exist; set `{key}.path` to a local copy")


def _listed(distribution: importlib.metadata.Distribution, inside: str) -> Iterator[Path]:
    """Yield the file that a distribution lists under this path, in or beside its metadata."""
    for file in distribution.files or ():
        in_metadata = file.parts[0].endswith(".dist-info")
        if inside == "/".join(file.parts[1:] if in_metadata else file.parts):
            yield Path(distribution.locate_file(file))


def _join_package_files(source: Source, output: Path) -> str:
    """Write several text files of packages one after the other; return their names."""
    with atomic_path(output) as temporary, temporary.open("wb") as joined:
        for name in source["package"]:
            content = package_file(name, source["key"]).read_bytes()
            joined.write(content if content.endswith(b"\n") else content + b"\n")
    return ", ".join(source["package"])


# --- the Hugging Face hub


def _retrieve_hub(source: Source, output: Path, cache_dir: Path, seed: int, advice: str) -> str:
    """Bring rows of a hub data set to `output` as parquet, through a copy in the cache."""
    import numpy as np

    from sagevocab.data.fetch import check_connection, publish

    hub, share, url = source["hub"], source.get("share"), hub_url(source["hub"])
    key = fingerprint(url, hub, share, seed if share else None)
    cached = cache_dir / f"{key[:16]}-{hub['repo'].replace('/', '-')}.parquet"
    if not cached.exists():
        check_connection(url, advice)
        rows = _load_hub(hub, cache_dir, advice)
        if share:
            order = np.random.default_rng(seed).permutation(len(rows))
            start, end = (round(len(rows) * edge) for edge in share)
            rows = rows.select(np.sort(order[start:end]))
        with atomic_path(cached) as temporary:
            rows.to_parquet(temporary)
        log.info("%s: %d rows", url, len(rows))
    publish(cached, output)
    return url


def hub_url(hub: dict[str, Any]) -> str:
    """Return the page of a hub data set, for people."""
    import huggingface_hub.constants as constants

    return f"{constants.ENDPOINT}/datasets/{hub['repo']}"


def _load_hub(hub: dict[str, Any], cache_dir: Path, advice: str) -> datasets.Dataset:
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
    # The client raises errors of half a dozen packages.
    except Exception as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise UserError(f"{hub_url(hub)}: cannot be fetched ({reason}); {advice}") from error
