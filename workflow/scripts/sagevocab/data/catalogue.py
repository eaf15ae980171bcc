"""The catalogue of data sets (datasets.yaml) and what a `source` of the configuration means by it.

A resolved source is a plain dict that says everything about where data comes from and what it is;
it travels through the workflow's `params`, and a copy of it stands beside every retrieved file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from sagevocab.errors import UserError

KINDS = ("path", "constructed", "package", "dataset")
FORMATS = ("mediawiki", "text", "conllu", "jsonl", "parquet", "csv", "tsv", "conll")
# The tasks that `data.construct` makes.
CONSTRUCTED = (
    *("cola", "mrpc", "qqp", "qnli", "mnli", "xnli_tr", "stsb"),
    *("sst2", "ner_en", "ner_tr"),
)
# field -> type; what every entry may hold. `null` stands for "not known" or "as the source says".
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "title": str,
    "version": str,
    "licence": str,
    "note": str,
    "in_paper": bool,
    "urls": list,
    "hub": dict,
    "package": str,
    "format": str,
    "column": str,
    "sentences": bool,
    "sha256": str,
    "bytes": int,
    "share": list,
    "fallback": str,
    "splits": dict,
}
_REQUIRED = ("title", "version", "licence")
_HUB_FIELDS = ("repo", "config", "split", "revision", "data_files")
_SPLITS = ("train", "validation")
_SPLIT_FIELDS = ("urls", "hub", "sha256", "bytes", "share")
_ORIGINS = ("urls", "hub", "package")
_SHA256 = re.compile(r"[0-9a-f]{64}")

Entry = dict[str, Any]


def load_catalogue(path: str | Path) -> dict[str, Entry]:
    """Read and check the catalogue.

    Raises:
        UserError: not YAML, or an entry with an unknown, missing or ill-formed field.
    """
    try:
        entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())
        raise UserError(f"{path}: cannot be read as YAML ({problem})") from error
    if not isinstance(entries, dict):
        raise UserError(f"{path}: must map names of data sets to their descriptions")
    for name, entry in entries.items():
        _check_entry(f"{path}: {name}", entry)
        if entry.get("fallback") not in (None, *entries):
            raise UserError(f"{path}: {name}: fallback {entry['fallback']!r} is no entry")
    return entries


def _check_entry(where: str, entry: Any) -> None:
    if not isinstance(entry, dict):
        raise UserError(f"{where}: must be a mapping")
    for field in _REQUIRED:
        if not entry.get(field):
            raise UserError(f"{where}: field `{field}` is missing")
    _check_fields(where, entry, tuple(_FIELDS))
    splits = entry.get("splits") or {}
    for split, part in splits.items():
        if split not in _SPLITS or not isinstance(part, dict):
            raise UserError(f"{where}: `splits` may map {' and '.join(_SPLITS)} to fields")
        _check_fields(f"{where}: {split}", part, _SPLIT_FIELDS)
    for split in splits or (None,):
        _check_origin(where if split is None else f"{where}: {split}", _of_split(entry, split))


def _check_fields(where: str, fields: dict[str, Any], allowed: tuple[str, ...]) -> None:
    for field, value in fields.items():
        if field not in allowed:
            raise UserError(f"{where}: unknown field `{field}`; known are {', '.join(allowed)}")
        if value is not None and not isinstance(value, _FIELDS[field]):
            raise UserError(f"{where}: `{field}` must be of type {_FIELDS[field].__name__}")
    _check_values(where, fields)


def _check_values(where: str, fields: dict[str, Any]) -> None:
    digest = fields.get("sha256")
    if digest is not None and not _SHA256.fullmatch(digest):
        raise UserError(f"{where}: `sha256` must be 64 hexadecimal digits, or null")
    if fields.get("format") not in (None, *FORMATS):
        raise UserError(f"{where}: `format` must be one of {', '.join(FORMATS)}")
    unknown = set(fields.get("hub") or ()) - set(_HUB_FIELDS)
    if unknown:
        raise UserError(f"{where}: `hub` has unknown fields: {', '.join(sorted(unknown))}")
    if fields.get("share") is not None and not _is_share(fields["share"]):
        raise UserError(f"{where}: `share` must be [from, to] with 0 <= from < to <= 1")


def _is_share(share: list) -> bool:
    numbers = [part for part in share if isinstance(part, int | float)]
    return len(numbers) == len(share) == 2 and 0 <= numbers[0] < numbers[1] <= 1


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


def resolve_source(
    source: dict[str, Any], catalogue: dict[str, Entry], *, key: str, split: str | None = None
) -> dict[str, Any]:
    """Say in one dict where the data of a configured source comes from, and of what form it is.

    source: stanza with one of path, constructed, package, dataset; the first of these wins, so that
        an override needs only to add a key. What the winner says of its form wins over the stanza.
    key: configuration key of the stanza, kept for messages.
    split: train or validation, for task sets.

    Raises:
        UserError: none of the four keys, or a data set or construction that does not exist.
    """
    kind = next((kind for kind in KINDS if source.get(kind)), None)
    if kind is None:
        raise UserError(f"{key}: names no source; give one of {', '.join(KINDS)}")
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
