"""Where data comes from: local files, files of packages, downloads, sets of the Hugging Face hub.

A source of the configuration, with what the catalogue (datasets.yaml) says of its data set, is one
frozen model, checked once. Its `fetch` brings the data to its place: what the catalogue says, or an
error. Beside the file stands `FILE.source.json`: the source, the URL that gave it, the digest seen.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from reproduction.data.files import FORMATS, Form, format_of_name, local_files
from reproduction.data.packages import package_file
from reproduction.value_types import optional
from sagevocab.errors import SettingError, UserError
from sagevocab.files import TABLES, atomic_path, file_digest, write_json
from sagevocab.validation import Share, first_problem, unknown

if TYPE_CHECKING:
    from reproduction.data.streams import Sample

log = logging.getLogger(__name__)

# Keys of a stanza that say where data comes from. The first that is there counts.
KINDS = ("path", "constructed", "package", "dataset")
# Rows of tasks that are constructed: TASK.SPLIT.tsv, which `data.construct` reads.
_ROWS = Path(__file__).parents[2] / "resources/demo"

Entry = dict[str, Any]
Seen = dict[str, Any]


# --- the kinds of sources


class Source(Form):
    """What all sources have: what the data are, for people and for reading them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    # What says how data are found, and nothing of what they are.
    _UNRECORDED: ClassVar = {"index", "marks", "others", "stands_for", "sums"}
    # What is said for people: no retrieval runs again for another title or licence.
    _FOR_PEOPLE: ClassVar = {"title", "licence", "citation", "size", "note", "in_paper"}
    _FOR_PEOPLE |= {"marks", "others", "stands_for"}

    kind: str
    name: str | list[str]  # as the configuration has it
    split: Literal["train", "validation"] | None = None
    title: str | None = None
    version: str | None = None
    licence: str | None = None
    citation: str | None = None
    size: str | None = None
    note: str | None = None
    in_paper: bool | None = None
    constructed: bool | None = None  # rows of a task that stands for a real one
    stands_for: str | None = None  # the data set of the paper that it is not, and comes next to
    others: list[str] = []  # data sets that come next to this one

    @property
    def shown_title(self) -> str:
        """What it is: as configured or catalogued, else the names of its files."""
        return self.title or " and ".join(Path(file).name for file in local_files(self.name))

    @property
    def advice(self) -> str:
        """What a user can do where it can't be had."""
        return f"set `{self.key}.path` to a local copy"

    @property
    def instead(self) -> str:
        """What else a user can set where no server has it; empty if nothing is known."""
        names = " or ".join(self.others)
        return f"`{self.key}.dataset` to another text: {names}" if names else ""

    @property
    def form(self) -> dict[str, Any]:
        """What reading it depends on."""
        fields = {"key", "kind", "format", "column", "sentences", "clean"}
        fields |= {"labels", "scores"}
        return self.model_dump(include=fields, exclude_none=True)

    @property
    def origin(self) -> str:
        """Where it comes from, for people."""
        return " and ".join(map(str, local_files(self.name)))

    @property
    def decisive(self) -> dict[str, Any]:
        """What its retrieval depends on."""
        return self.model_dump(exclude=self._FOR_PEOPLE, exclude_none=True)

    @property
    def record(self) -> dict[str, Any]:
        """What is written beside the data."""
        return self.model_dump(exclude=self._UNRECORDED, exclude_none=True)


class Local(Source):
    """Files of this machine, which are read where they are."""

    kind: Literal["path"] = "path"


Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Packaged(Source):
    """A file that an installed package ships, or several text files, which are joined."""

    kind: Literal["package"] = "package"
    package: str | list[str]
    sha256: Sha256 | None = optional("64 hex digits")

    @property
    def _files(self) -> list[str]:
        return [self.package] if isinstance(self.package, str) else self.package

    @property
    def origin(self) -> str:
        """Where it comes from, for people."""
        return ", ".join(self._files)

    def fetch(self, output: Path, cache_dir: Path, seed: int, part: Sample | None) -> Seen:
        """Bring it to `output`; return where it came from and what it is."""
        contents = [_content(package_file(name, self.key)) for name in self._files]
        if len(contents) > 1:
            contents = [text if text.endswith(b"\n") else text + b"\n" for text in contents]
        with atomic_path(output) as temporary:
            temporary.write_bytes(b"".join(contents))
            seen = _seen(temporary, origin=self.origin)
            if self.sha256 not in (None, seen["sha256"]):
                raise UserError(
                    f"{self.origin}: has sha256 {seen['sha256']} instead of {self.sha256}; install "
                    f"the package in the version of requirements.lock, or {self.advice}"
                )
        return seen


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UserError(
            f"{file}: cannot be read ({error.strerror}); whoever installed the package can make it "
            "readable"
        ) from error


class Download(Source):
    """A file behind addresses; of any dump of Wikipedia, with language and date in them."""

    kind: Literal["download"] = "download"
    format: Literal[*FORMATS]
    urls: Annotated[list[str], Field(min_length=1)]
    sha256: Sha256 | None = optional("64 hex digits")
    index: list[str] | None = None
    sums: list[str] | None = None
    marks: list[str] = []  # keys of the configuration whose values are in the addresses

    @property
    def origin(self) -> str:
        """Where it comes from, for people."""
        return self.urls[0]

    @property
    def instead(self) -> str:
        """What else a user can set where no server has it; empty if nothing is known."""
        keys = " and ".join(f"`{self.key}.{mark}`" for mark in self.marks)
        return f"{keys} to what {_DUMPS} lists" if keys else super().instead

    def fetch(self, output: Path, cache_dir: Path, seed: int, part: Sample | None) -> Seen:
        """Bring it, or a part of a dump, to `output`; return where it came from and what it is."""
        from reproduction.data.download import Expected, download, publish
        from reproduction.data.streams import draw_streams

        if part and self.index:
            key = self.key.removesuffix(".source")
            where = {"cache_dir": cache_dir, "key": key, "advice": self.advice, "wiki": self._wiki}
            sums = self._checksum_of(self.index)
            drawn = draw_streams(self.urls, self.index, output, part, checksums=sums, **where)
            origin = f"{self.origin} (streams drawn by its index)"
            return _seen(output, origin=origin, **drawn)
        checksums = {"sha256": self.sha256} if self.sha256 else self._checksum_of(self.urls)
        end = b"</mediawiki>" if self.format == "mediawiki" else b""
        expected = Expected(None, checksums, end, self._check_wiki if self._wiki else None)
        fetched = download(self.urls, cache_dir=cache_dir, expected=expected, advice=self.advice)
        publish(fetched.path, output)
        return {
            "origin": fetched.url,
            "sha256": fetched.sha256,
            "bytes": output.stat().st_size,
        }

    def of_wikipedia(self, language: str | None, date: str | None) -> Download:
        """Put language and date into the addresses of an entry that is for any dump.

        Raises:
            SettingError: it needs one of them.
        """
        addresses, given = " ".join(self.urls), {"language": language, "date": date}
        needed = [key for key in given if f"{{{key}}}" in addresses]
        for key in needed:
            if not given[key]:
                raise SettingError(key, _MISSING[key])
        marks = {"{language}": (language or "").replace("-", "_"), "{date}": date or ""}

        def filled(text: str) -> str:
            for mark, value in marks.items():
                text = text.replace(mark, value)
            return text

        lists = {"urls": self.urls, "index": self.index, "sums": self.sums}
        changed = {key: [filled(url) for url in urls] for key, urls in lists.items() if urls}
        texts = {"title": self.title, "version": self.version}
        changed |= {key: filled(text) for key, text in texts.items() if text}
        return self.model_copy(update={**changed, "marks": needed})

    @property
    def _wiki(self) -> str | None:
        """The wiki that a dump is of, as its file's name has it: `trwiki`."""
        named = _WIKI.match(_base_name(self.urls)) if self.format == "mediawiki" else None
        return named[1] if named else None

    def _check_wiki(self, path: Path) -> None:
        """Refuse a dump that says it is of another wiki."""
        from reproduction.data.download import RefusedError
        from reproduction.data.dump import wrong_wiki
        from sagevocab.corpus.text import open_bytes

        with open_bytes(path) as stream:
            if reason := wrong_wiki(stream, self._wiki):
                raise RefusedError(reason)

    def _checksum_of(self, urls: list[str]) -> dict[str, str]:
        """Return the published SHA-1 of a file with these addresses, if there is one."""
        digest = self._published_checksums().get(_base_name(urls))
        return {"sha1": digest} if digest else {}

    def _published_checksums(self) -> dict[str, str]:
        """Return the checksums that servers publish: name of a file -> SHA-1; none if none is.

        Raises:
            UserError: a list is published, and does not name the file.
        """
        from reproduction.data.download import Expected, UnavailableError, download

        if not self.sums:
            return {}
        expected = Expected(check=lambda path: _read_sums(path, _base_name(self.urls)))
        try:
            with tempfile.TemporaryDirectory() as folder:  # a list of yesterday is no use
                where = {"cache_dir": Path(folder), "advice": self.advice}
                listed = download(self.sums, expected=expected, **where)
                return _read_sums(listed.path, _base_name(self.urls))
        except UnavailableError as error:
            log.warning("%s", error)
            log.warning("%s: no checksum is published; it is read to its end", self.name)
            return {}


def _base_name(urls: list[str]) -> str:
    return Path(urlsplit(urls[0]).path).name


def _read_sums(path: Path, name: str) -> dict[str, str]:
    """Read a list of checksums: name of a file -> SHA-1.

    It has lines `digest  name`, or is the Internet Archive's XML.

    Raises:
        RefusedError: it does not name the file `name`.
    """
    from reproduction.data.download import RefusedError

    text = path.read_text(encoding="utf-8", errors="replace")
    digests = {file: digest for digest, file in _SUMS.findall(text)}
    digests |= {unescape(file): digest for file, digest in _ARCHIVED.findall(text)}
    if name not in digests:
        raise RefusedError(f"lists no checksum of {name}")
    return digests


# How Wikimedia's servers name the file of a dump.
_WIKI = re.compile(r"([a-z_]+wik[a-z]+)-(\d{8}|latest)-")
# How lists of checksums name a file and its SHA-1.
_SUMS = re.compile(r"^([0-9a-f]{40})[ *]+(\S+)$", re.MULTILINE)
_ARCHIVED = re.compile(
    r'<file\b[^>]*\bname="([^"]*)"(?:(?!</file>).)*?<sha1>([0-9a-f]{40})</sha1>', re.DOTALL
)
_DUMPS = "https://dumps.wikimedia.org"
_MISSING = {
    "language": "missing; say which Wikipedia, such as `tr`",
    "date": f"missing; say which dump, such as `20260801`: {_DUMPS} lists them",
}


class HubSet(BaseModel):
    """Files of a data set on the Hugging Face hub.

    revision: a commit, branch or tag. files: a pattern of their names.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    repo: str
    revision: str
    files: str


class Hub(Source):
    """A file of a data set on the Hugging Face hub; several, or a part of them, as one table."""

    kind: Literal["hub"] = "hub"
    format: Literal[*FORMATS] = "parquet"
    hub: HubSet
    share: list[Share] | None = None  # [from, to] of a seeded shuffle of the rows
    examples: int | None = None  # how many rows it has, or its share of them

    @property
    def origin(self) -> str:
        """Where it comes from, for people."""
        return f"https://huggingface.co/datasets/{self.hub.repo}"

    @field_validator("share")
    @classmethod
    def _is_a_span(cls, share: list[float] | None) -> list[float] | None:
        if share is not None and (len(share) != 2 or share[0] >= share[1]):
            raise ValueError("must be [from, to] with 0 <= from < to <= 1")
        return share

    def fetch(self, output: Path, cache_dir: Path, seed: int, part: Sample | None) -> Seen:
        """Bring it to `output`; return where it came from and what it is."""
        from reproduction.data.datasets import RowPart
        from reproduction.data.download import publish
        from reproduction.data.hub import count_rows, hub_files, hub_url, join_rows

        found = hub_files(self, cache_dir, part)
        wanted = RowPart(tuple(self.share or (0.0, 1.0)), seed=seed)
        if self.examples and not part:
            rows = len(wanted.positions(count_rows(found.paths)))
            if rows != self.examples:
                raise UserError(
                    f"{hub_url(self.hub)}: gives {rows} rows, {self.name} has {self.examples} in "
                    "workflow/resources/datasets.yaml: a part is missing, or the set was changed; "
                    f"run again later, or {self.advice}"
                )
        if len(found.paths) == 1 and not self.share:
            publish(found.paths[0], output)
        elif self.format != "parquet":
            raise UserError(
                f"{self.name} of datasets.yaml: `share` and several files need the format parquet, "
                f"and this is {self.format}; name one file in `hub.files`, without `share`"
            )
        else:
            join_rows(found.paths, output, wanted)
        where = {"origin": hub_url(self.hub), "commit": found.commit}
        if part:
            where["parts"] = f"{len(found.paths)} of {found.total} files"
        return _seen(output, **where)


def _seen(output: Path, **more: Any) -> Seen:
    return {"sha256": file_digest(output), "bytes": output.stat().st_size, **more}


# --- the catalogue

_ORIGINS = {"urls": Download, "hub": Hub, "package": Packaged}


def load_catalogue(path: str | Path) -> dict[str, Entry]:
    """Read and check the catalogue: name of a data set -> its fields, as the file has them.

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
            for field in ("title", "version", "licence"):
                if not entry.get(field):
                    raise SettingError(field, "missing; give it a value")
            for split in entry.get("splits") or (None,):
                _catalogued(name, entries, {"key": name, "split": split})
        except SettingError as error:
            raise UserError(f"{path}: {error.under(name)}") from error
    return entries


def _catalogued(name: str, entries: dict[str, Entry], fields: dict[str, Any]) -> Source:
    """Return the source that an entry of the catalogue, or one of its splits, describes.

    fields: what the configuration says; the entry wins.

    Raises:
        SettingError: a field of the entry is wrong.
    """
    entry, split = entries[name], fields.get("split")
    own = (entry.get("splits") or {}).get(split) or {}
    both = {"hub": entry["hub"] | own["hub"]} if entry.get("hub") and own.get("hub") else {}
    said = {key: value for key, value in {**entry, **own, **both}.items() if value is not None}
    said.pop("splits", None)
    stands_for = said.get("stands_for", name)
    if stands_for not in entries:
        raise SettingError("stands_for", f"{stands_for!r} is not an entry; name one")
    near = [stands_for, *(key for key in entries if entries[key].get("stands_for") == stands_for)]
    said["others"] = [key for key in near if key != name and not entries[key].get("in_paper")]
    origins = [origin for origin in _ORIGINS if said.get(origin)]
    if len(origins) != 1:
        raise SettingError("", f"needs exactly one of {', '.join(_ORIGINS)}; has {origins}")
    kind, described = _ORIGINS[origins[0]], {"name": name, **fields, **said}
    try:
        return kind.model_validate(described)
    except ValidationError as error:
        raise first_problem(error, kind, described) from error


# --- sources of the configuration


def resolve_source(
    stanza: dict[str, Any], catalogue: dict[str, Entry], *, key: str, split: str | None = None
) -> Source:
    """Return the source that a stanza of the configuration means.

    stanza: has one of path, constructed, package, dataset.
    key: configuration key of the stanza, kept for messages.
    split: train or validation, for task sets.

    Raises:
        SettingError: a data set that does not exist, or a key that it contradicts or does not take.
    """
    try:
        source = _resolved(stanza, catalogue, key, split)
        _check_keys(stanza, source)
        return source
    except SettingError as error:
        raise error.under(key) from error


def _resolved(
    stanza: dict[str, Any], catalogue: dict[str, Entry], key: str, split: str | None
) -> Source:
    kind = next(kind for kind in KINDS if stanza.get(kind))
    name = stanza[kind]
    if kind == "constructed":
        return _constructed(name, key, split)
    given = {"key": key, "split": split}
    given |= {"column": stanza["column"]} if stanza.get("column") else {}
    if kind == "dataset":
        return _dataset(stanza, catalogue, given)
    given |= {field: stanza[field] for field in ("title", "licence") if stanza.get(field)}
    given |= {"name": name, "format": stanza.get("format") or format_of_name(name)}
    if kind == "path":
        return Local(**given)
    listed = next((entry for entry, said in catalogue.items() if said.get("package") == name), None)
    if listed is None:
        return Packaged(**given, package=name)
    return _catalogued(listed, catalogue, given)


def _check_keys(stanza: dict[str, Any], source: Source) -> None:
    """Refuse a key of a stanza that its source would pass over, and a text without its column."""
    kind = next(kind for kind in KINDS if stanza.get(kind))
    place = f"`dataset: {source.name}`" if kind == "dataset" else f"`{kind}`"
    for key in ("language", "date"):
        if stanza.get(key) and key not in getattr(source, "marks", ()):
            raise SettingError(
                key,
                f"{place} does not take it; leave it out, or set `dataset: wikipedia`, which takes "
                "language and date",
            )
    for key in ("format", "column", "title", "licence"):
        known = getattr(source, key)
        if not stanza.get(key):
            continue
        if kind == "constructed":
            raise SettingError(key, f"{place} does not take it; leave it out")
        if key == "column" and source.split:
            raise SettingError(key, "a task does not take it; name its columns in `columns`")
        if stanza[key] != known:
            raise SettingError(
                key, f"{source.name} has {known!r} in the catalogue; leave the key out"
            )
    if stanza.get("column") and source.format not in TABLES:
        raise SettingError("column", f"the format {source.format} has no columns; leave it out")
    if source.format in TABLES and not source.split and not source.column:
        raise SettingError("column", f"missing; name the column of the {source.format} with texts")


def _constructed(task: str, key: str, split: str | None) -> Local:
    if split is None:
        raise SettingError(
            "constructed", "only the rows of tasks are constructed, no text; use another source"
        )
    file = _ROWS / f"{task}.{split}.tsv"
    if not file.exists():
        known = sorted({other.name.partition(".")[0] for other in _ROWS.iterdir()})
        raise SettingError("constructed", f"there is no {task!r}; there are {', '.join(known)}")
    name = os.path.relpath(file)  # from the working directory, as rules name files
    return Local(key=key, split=split, name=name, format="places", constructed=True)


def _dataset(stanza: dict[str, Any], catalogue: dict[str, Entry], given: dict[str, Any]) -> Source:
    name = stanza["dataset"]
    if name not in catalogue:
        raise SettingError(
            "dataset",
            f"{name!r} is {unknown(name, sorted(catalogue))}; add it to "
            f"workflow/resources/datasets.yaml or set {given['key']}.path",
        )
    source = _catalogued(name, catalogue, given)
    if isinstance(source, Download):
        return source.of_wikipedia(stanza.get("language"), stanza.get("date"))
    return source


# --- retrieval


def retrieve(
    source: Packaged | Download | Hub,
    output: str | Path,
    description: str | Path,
    *,
    cache_dir: str | Path,
    seed: int,
    part: Sample | None = None,
) -> None:
    """Bring the data of a source to `output`, and write what it is beside it.

    part: of a dump with an index or a data set of the hub, how much is wanted; None for all of it.

    Raises:
        UserError: it can't be had; the message names addresses and configuration key.
    """
    from reproduction.data.download import UnavailableError, disk_errors

    try:
        with disk_errors(
            Path(output), "run in a folder that can be written (snakemake --directory)"
        ):
            seen = source.fetch(Path(output), Path(cache_dir), seed, part)
            write_json(description, {**source.record, **seen})
    except UnavailableError as error:
        if not source.instead:
            raise
        raise UserError(f"{error}, or {source.instead}") from error
