"""Where data comes from: the catalogue of data sets, what a `source` means by it, its retrieval.

A source of the configuration is resolved with the catalogue (datasets.yaml) into a plain dict that
says where the data is and of what form. It travels through the workflow's `params`. `retrieve`
brings the data to its place: from a server, the Hugging Face hub or an installed package, or
constructed. Beside the file stands `FILE.source.json`: the source, the URL that gave it and the
digest seen. Later stages read format and column from there.
"""

from __future__ import annotations

import glob
import importlib
import importlib.metadata
import importlib.util
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from xml.etree import ElementTree

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from reproduction.parquet import write_parquet
from sagevocab import tables
from sagevocab.errors import UserError, tell
from sagevocab.fields import Share, first_problem, optional
from sagevocab.state import atomic_path, file_digest, write_json
from sagevocab.tables import TABLE_ENDINGS, TABLES, file_ending

log = logging.getLogger(__name__)

KINDS = ("path", "constructed", "package", "dataset")
FORMATS = ("mediawiki", "text", "conllu", *TABLES, "conll")
# What the ending of a file's name says of its format.
ENDINGS = TABLE_ENDINGS | {
    ".conllu": "conllu",
    ".conll": "conll",
    ".txt": "text",
    ".xml": "mediawiki",
}
# The tasks that `data.construct` makes.
CONSTRUCTED = (
    *("cola", "mrpc", "qqp", "qnli", "mnli", "xnli_tr", "stsb"),
    *("sst2", "ner_en", "ner_tr"),
)
_ORIGINS = ("urls", "hub", "package")
CHECKSUMS = ("sha256", "sha1", "md5")
LATEST = "latest"

Entry = dict[str, Any]
Source = dict[str, Any]

# --- the catalogue


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Hub(_Strict):
    repo: str | None = None
    revision: str | None = None
    files: str | None = None


def _hex(digits: int) -> type:
    return Annotated[str, Field(pattern=f"^[0-9a-f]{{{digits}}}$")]


# What a split may say for itself; `null` stands for "not known" or "as the source says".
class _Part(_Strict):
    urls: list[str] | None = None
    index: list[str] | None = None
    sums: list[str] | None = None
    hub: _Hub | None = None
    sha256: _hex(64) | None = optional("64 hex digits")
    sha1: _hex(40) | None = optional("40 hex digits")
    md5: _hex(32) | None = optional("32 hex digits")
    bytes: int | None = None
    examples: int | None = None
    labels: list[str | int] | None = None
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
    citation: str | None = None
    size: str | None = None
    note: str | None = None
    in_paper: bool | None = None
    package: str | None = None
    format: Literal[*FORMATS] | None = None
    column: str | None = None
    sentences: bool | None = None
    clean: bool | None = None
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
    for field in ("repo", "revision", "files") if "hub" in origins else ():
        if not entry["hub"].get(field):
            raise UserError(f"{where}: `hub` needs a `{field}`")


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
        UserError: a data set or construction that does not exist; rows are chosen of no table.
    """
    kind = next(kind for kind in KINDS if source.get(kind))
    resolved = {name: source.get(name) for name in ("format", "column", "rows")}
    if kind in ("path", "package"):
        resolved["format"] = source.get("format") or format_told(source[kind])
        resolved |= {name: source[name] for name in ("title", "licence") if source.get(name)}
    resolved |= {"kind": kind, "name": source[kind], "key": key, "split": split, "sentences": False}
    if kind == "constructed":
        _check_constructed(source, key, split)
        return resolved | {"format": "parquet", "column": None}
    entry = _entry_of(kind, source[kind], catalogue, key)
    if entry is not None:
        resolved = _filled_in(resolved | _described(entry, catalogue, split), source)
    if source.get("where"):
        _check_has_columns(resolved)
        resolved["where"] = source["where"]
    return resolved


def _check_has_columns(resolved: dict[str, Any]) -> None:
    if resolved["format"] not in TABLES:
        raise UserError(
            f"{resolved['key']}.where: chooses rows of {', '.join(TABLES)}, and the format is "
            f"{resolved['format']}; leave it out"
        )


def _filled_in(resolved: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    """Put language and date into the addresses of an entry that is for any dump of Wikipedia."""
    addresses = " ".join(resolved.get("urls", ()))
    if "{language}" in addresses and not source.get("language"):
        raise UserError(f"{resolved['key']}.language: missing; say which Wikipedia, such as `tr`")
    if not ("{language}" in addresses or "{date}" in addresses):
        return resolved
    language = (source.get("language") or "").replace("-", "_")
    date = source.get("date") or LATEST
    values = {"language": language, "date": date}
    texts = {name: resolved[name].format(**values) for name in ("title", "version")}
    lists = {
        name: [url.format(**values) for url in resolved[name]] for name in _address_lists(resolved)
    }
    return resolved | texts | lists


def _address_lists(source: Source) -> list[str]:
    return [name for name in ("urls", "index", "sums") if source.get(name)]


def _check_constructed(source: dict[str, Any], key: str, split: str | None) -> None:
    if split is None:
        raise UserError(
            f"{key}.constructed: only the rows of tasks can be constructed, no text; use "
            "another source"
        )
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
        fields["format"] = fields.get("format") or "parquet"
    if fields.get("fallback"):
        name = fields["fallback"]
        fields["fallback"] = {"name": name} | _described(catalogue[name], catalogue, split)
    return {name: value for name, value in fields.items() if value is not None}


def format_told(path: str | Sequence[str]) -> str | None:
    """Return the format that the names of all files of a `path:` or `package:` tell, if they do.

    Endings of compression are passed over; `.xml-p1p999` is a part of a dump.
    """
    told = {_format_of_name(file) for file in local_files(path)}
    return told.pop() if len(told) == 1 else None


def _format_of_name(file: str) -> str | None:
    return ENDINGS.get(file_ending(file).partition("-")[0])


def first_columns(file: str, form: str) -> list[str] | None:
    """Return the columns that the first row of a csv, tsv or jsonl file has.

    None where that takes more than the start of a file: the job that reads it tells what is wrong.
    """
    if form not in ("csv", "tsv", "jsonl"):
        return None
    with suppress(UserError, ImportError):  # zst needs a package that jobs have
        return tables.first_columns(file, form) or None
    return None


def local_files(path: str | Sequence[str]) -> list[str]:
    """Return the files of a `path:`: a file, a folder, a pattern with `*`, or a list of such.

    The files of a folder or pattern are in the order of their names; hidden ones are left out.
    """
    paths = [path] if isinstance(path, str) else list(path)
    return [file for one in paths for file in _files_of(one)]


def _files_of(path: str) -> list[str]:
    if os.path.isdir(path):
        inside = sorted(name for name in os.listdir(path) if not name.startswith("."))
        found = [os.path.join(path, name) for name in inside]
    elif glob.has_magic(path) and not os.path.exists(path):
        found = sorted(glob.glob(path, recursive=True))
    else:
        return [path]
    files = [file for file in found if os.path.isfile(file)]
    return files or [path]


# --- retrieval


def retrieve(
    source: Source,
    output: str | Path,
    description: str | Path,
    *,
    cache_dir: str | Path,
    seed: int,
    sample: dict[str, Any] | None = None,
) -> None:
    """Bring the data of a resolved source (see `resolve_source`) to `output`.

    A data set that no server has is replaced by its fallback, with a warning; the description names
    both. A failing network, a busy server and damaged data are no reason to take other data.
    sample: of a dump with an index or a data set of the hub, how many `lines` are wanted, and how
        they are cut: `language` and `min_words`. None for all of it.

    Raises:
        UserError: neither can be had; the message names addresses and configuration key.
    """
    from reproduction.data.download import disk_errors

    output, cache_dir = Path(output), Path(cache_dir)
    with disk_errors(output, "make room"):
        source, seen = _retrieve_any(source, output, cache_dir, seed, sample)
        record = {name: value for name, value in source.items() if name not in _UNRECORDED}
        write_json(description, record | seen)


# What says how data are found, and nothing of what they are.
_UNRECORDED = ("fallback", "index", "sums")


def _retrieve_any(
    source: Source, output: Path, cache_dir: Path, seed: int, sample: dict[str, Any] | None
) -> tuple[Source, dict[str, Any]]:
    """Bring a source or its fallback to `output`; return which, and what was seen of it."""
    from reproduction.data.download import UnavailableError

    try:
        return _retrieve_one(source, output, cache_dir, seed, sample)
    except UnavailableError as error:
        if not source.get("fallback"):
            raise
        first = error
    log.warning("%s", first)
    source = _fallback(source)
    try:
        return _retrieve_any(source, output, cache_dir, seed, sample)
    except UserError as error:
        raise type(error)(f"{first}; in its place: {error}") from error


def _fallback(source: Source) -> Source:
    substitute, name = source["fallback"], source["name"]
    line = f"{source['key']}: {substitute['name']} is taken instead of {name}"
    log.warning("%s", line)
    tell(f"warning: {line}")
    kept = {field: source.get(field) for field in ("kind", "key", "split", "rows")}
    instead_of = source.get("instead_of", name)
    return kept | {"column": None, "sentences": False, "instead_of": instead_of} | substitute


def _retrieve_one(
    source: Source, output: Path, cache_dir: Path, seed: int, sample: dict[str, Any] | None
) -> tuple[Source, dict[str, Any]]:
    """Bring one source to `output`; return it, and where it came from and what it is."""
    if source["kind"] == "constructed":
        # By name: an edit of the constructions is no reason to fetch everything again.
        construct = importlib.import_module("reproduction.data.construct").construct
        write_parquet(output, construct(source["name"], source["split"], source["rows"], seed))
        return source, _seen(output, origin=f"constructed: {source['name']}")
    if source.get("hub"):
        return source, _retrieve_hub(source, output, cache_dir, seed, sample)
    if isinstance(source.get("package"), list):
        return source, _seen(output, origin=_join_package_files(source, output))
    if source.get("package"):
        return source, _retrieve_package_file(source, output, cache_dir)
    source = _dated(source)
    drawn = sample and source.get("index") and _draw(source, output, cache_dir, seed, sample)
    if drawn:
        origin = f"{source['urls'][0]} (streams drawn by its index)"
        return source, _seen(output, origin=origin, **drawn)
    return source, _retrieve_urls(source, output, cache_dir)


def _seen(output: Path, **more: Any) -> dict[str, Any]:
    return {"sha256": file_digest(output), "bytes": output.stat().st_size, **more}


def _advice(source: Source) -> str:
    advice = f"set `{source['key']}.path` to a local copy"
    other = source.get("fallback")
    return f"{advice} or `{source['key']}.dataset` to {other['name']}" if other else advice


def _retrieve_urls(source: Source, output: Path, cache_dir: Path) -> dict[str, Any]:
    from reproduction.data.download import Expected, download, publish

    checksums = {name: source[name] for name in CHECKSUMS if source.get(name)}
    checksums = checksums or _published_sums(source)
    expected = Expected(source.get("bytes"), checksums)
    fetched = download(
        source["urls"], cache_dir=cache_dir, expected=expected, advice=_advice(source)
    )
    publish(fetched.path, output, may_link=not fetched.url.startswith("file:"))
    seen = {"origin": fetched.url, "sha256": fetched.sha256, "bytes": fetched.size}
    return seen if fetched.url.startswith("file:") else seen | {"cached": str(fetched.path)}


def _retrieve_package_file(source: Source, output: Path, cache_dir: Path) -> dict[str, Any]:
    url = package_file(source["package"], source["key"]).as_uri()
    seen = _retrieve_urls(source | {"urls": [url]}, output, cache_dir)
    return seen | {"origin": source["package"]}  # its folder differs between machines


def _retrieve_hub(
    source: Source, output: Path, cache_dir: Path, seed: int, sample: dict[str, Any] | None
) -> dict[str, Any]:
    """Bring a file of a hub data set to `output`; several, or a part of them, as one table."""
    from reproduction.data.download import publish
    from reproduction.data.hub import Draw, hub_files, hub_url, join_rows

    draw = Draw(seed, lambda: _count_lines(source, seed, sample)) if sample else None
    found = hub_files(source["hub"], cache_dir, _advice(source), draw)
    if len(found.paths) == 1 and not source.get("share"):
        publish(found.paths[0], output)
    else:
        join_rows(found.paths, output, source.get("share"), seed)
    where = {"origin": hub_url(source["hub"]), "commit": found.commit}
    if draw:
        where["parts"] = f"{len(found.paths)} of {found.total} files"
    return _seen(output, cached=", ".join(map(str, found.paths)), **where)


# --- dumps of Wikipedia


def _published_sums(source: Source) -> dict[str, str]:
    """Return the checksum of the first address' file in the lists that servers publish, or none."""
    if not source.get("sums"):
        return {}
    name = Path(urlsplit(source["urls"][0]).path).name
    checksums: dict[str, str] = {}
    try:
        checksums = _sums(source, _advice(source)).get(name, {})
    except UserError as error:
        log.warning("%s", error)
    if not checksums:
        log.warning(
            "%s: no checksum of %s is published; it is read to its end", source["name"], name
        )
    return checksums


def _sums(source: Source, advice: str) -> dict[str, dict[str, str]]:
    """Return file name -> checksums: lists of `digest  name`, or the Internet Archive's XML."""
    from reproduction.data.download import read_url

    text = read_url(source["sums"], advice=advice).decode("utf-8", "replace")
    listed = re.findall(r"^([0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})[ *]+(\S+)$", text, re.MULTILINE)
    sums = {name: {_KIND_OF_DIGEST[len(digest)]: digest} for digest, name in listed}
    return sums or _archive_sums(text)


def _archive_sums(text: str) -> dict[str, dict[str, str]]:
    """Return the checksums in a list of files of the Internet Archive."""
    try:
        files = ElementTree.fromstring(text).iter("file")
    except ElementTree.ParseError:
        return {}
    return {file.get("name", ""): {"sha1": file.findtext("sha1", "")} for file in files}


_KIND_OF_DIGEST = {32: "md5", 40: "sha1", 64: "sha256"}


def _dated(source: Source) -> Source:
    """Return a source whose `latest` dump is replaced by the date that its list of sums names."""
    if source.get("version") != LATEST:
        return source
    key = source["key"]
    if not source.get("sums"):
        raise UserError(
            f"{key}.date: {source['name']} has no `sums` in datasets.yaml, which say which dump is "
            "the latest; set a date"
        )
    name = Path(urlsplit(source["urls"][0]).path).name
    pattern = re.compile(re.escape(name).replace(LATEST, r"(\d{8})"))
    sums = _sums(source, f"check `{key}.language`, or {_advice(source)}")
    dates = [found[1] for found in map(pattern.fullmatch, sums) if found]
    if not dates:
        raise UserError(
            f"{source['sums'][0]}: does not say which dump is the latest; set `{key}.date`, or "
            f"{_advice(source)}"
        )
    log.info("%s: the latest dump is of %s", key, dates[0])
    lists = {
        field: [url.replace(LATEST, dates[0]) for url in source[field]]
        for field in _address_lists(source)
    }
    return (
        source | lists | {"version": dates[0], "title": source["title"].replace(LATEST, dates[0])}
    )


def _draw(
    source: Source, output: Path, cache_dir: Path, seed: int, sample: dict[str, Any]
) -> dict[str, Any] | None:
    """Draw streams of a dump by its index and say how many; None where that is impossible."""
    # By name: an edit of the extraction is no reason to fetch everything again.
    streams = importlib.import_module("reproduction.data.streams")
    try:
        return streams.draw_streams(
            source["urls"],
            source["index"],
            output,
            _cutting(seed, sample),
            lines=sample["lines"],
            cache_dir=cache_dir,
            key=source["key"].removesuffix(".source"),
            advice=_advice(source),
        )
    except streams.NoIndexError as error:
        log.warning("%s; the whole dump is read", error)
        return None


def _count_lines(source: Source, seed: int, sample: dict[str, Any]) -> Callable[[Path], bool]:
    """Begin to count the lines in files of a table until there are enough."""
    enough = importlib.import_module("reproduction.data.streams").EnoughLines(sample["lines"])
    settings = _cutting(seed, sample)
    return lambda path: enough.add_file(path, source, settings)


def _cutting(seed: int, sample: dict[str, Any]) -> Any:
    """Return the settings by which a sample is cut into lines."""
    return importlib.import_module("reproduction.data.extract").ExtractionSettings(
        language=sample["language"], min_words=sample["min_words"], seed=seed
    )


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
