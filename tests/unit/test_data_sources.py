"""Retrieval of every kind of source but the hub."""

from __future__ import annotations

import bz2
import errno
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fault_server import Running
from reproduction.data import download, sources
from reproduction.data.files import format_of_name
from reproduction.data.sources import Download, Packaged, Source, resolve_source, retrieve
from reproduction.data.streams import Sample
from sagevocab.errors import UserError

LEE = "gensim:test/test_data/lee_background.cor"


@pytest.fixture(autouse=True)
def no_waits(monkeypatch) -> None:
    monkeypatch.setattr(download, "sleep", lambda _seconds: None)


def packaged(package, **fields) -> Packaged:
    return Packaged(key="x.source", name=package, package=package, format="text", **fields)


def behind(*urls: str, **fields) -> Download:
    fields = {"key": "x.source", "name": "wiki", "format": "text", **fields}
    return Download(urls=list(urls), **fields)


def get(source: Source, folder: Path, part: Sample | None = None, seed: int = 1) -> dict:
    description, cache = folder / "out.source.json", folder / "cache"
    retrieve(source, folder / "out", description, cache_dir=cache, seed=seed, part=part)
    return json.loads(description.read_text())


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("a.b/c.jsonl.gz", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.tsv.zst", "tsv"),
        ("some.text.txt.xz", "text"),
        ("enwiki-pages-articles1.xml-p1p41242.bz2", "mediawiki"),
        ("some-package:a/b.conllu", "conllu"),
        ("ner.conll", "conll"),
        (["a.txt", "b.txt.gz"], "text"),
        (["a.txt", "b.csv"], None),
        ("a.gz", None),
        ("a.dat", None),
        ("txt", None),
        (".", None),
    ],
)
def test_names_give_the_format(path, form, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert format_of_name(path) == form


def test_the_files_of_a_folder_tell_the_format_which_a_key_overrides(tmp_path) -> None:
    for name in ("a.jsonl", "b.jsonl.gz", ".hidden.txt"):
        (tmp_path / name).touch()
    stanza = {"path": str(tmp_path)}
    assert resolve_source(stanza | {"column": "c"}, {}, key="x").format == "jsonl"
    assert resolve_source(stanza | {"format": "text"}, {}, key="x").format == "text"


def test_a_file_of_a_package_is_found_without_importing_it(tmp_path) -> None:
    digest = "5d78d6dafd953bbf65797bef09a9ffb9ec430583381be705f8fd460000f370fb"
    seen = get(packaged(LEE, sha256=digest), tmp_path)
    assert (tmp_path / "out").stat().st_size == 360082
    assert (seen["origin"], seen["sha256"]) == (LEE, digest)
    with pytest.raises(UserError, match=f"{LEE}: has sha256 {digest} instead of {'0' * 64}"):
        get(packaged(LEE, sha256="0" * 64), tmp_path / "wrong")
    assert not (tmp_path / "wrong/out").exists()


@pytest.mark.parametrize(
    ("package", "message"),
    [
        ("no_such_package:a", r"x\.source\.package: 'no_such_package' is not installed"),
        ("gensim:no/such/file", r"no/such/file does not exist; set `x\.source\.path`"),
    ],
)
def test_a_missing_package_or_file_is_one_line(tmp_path, package, message) -> None:
    with pytest.raises(UserError, match=message):
        get(packaged(package), tmp_path)


def test_a_file_of_a_package_that_cannot_be_read_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sources, "package_file", lambda _name, _key: tmp_path)
    with pytest.raises(UserError, match=rf"^{tmp_path}: cannot be read \(Is a directory\)"):
        get(packaged(LEE), tmp_path)


def test_text_files_of_packages_are_joined_line_by_line(tmp_path, monkeypatch) -> None:
    (tmp_path / "shipped").mkdir()
    for name, text in (("__init__.py", ""), ("a.txt", "one"), ("b.txt", "two\n")):
        (tmp_path / "shipped" / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    # The last is beside the metadata of its distribution.
    packages = ["shipped:a.txt", "shipped:b.txt", "transformers:licenses/LICENSE"]
    seen = get(packaged(packages), tmp_path)
    text = (tmp_path / "out").read_text(encoding="utf-8")
    assert text.startswith("one\ntwo\n") and "Apache License" in text
    assert seen["origin"] == ", ".join(packages)
    assert seen["bytes"] == len(text.encode())


def test_what_is_gone_names_the_data_sets_next_to_it(tmp_path) -> None:
    with Running() as server:
        source = behind(f"{server.url}/missing/a", others=["first", "second"])
        with pytest.raises(UserError) as caught:
            get(source, tmp_path)
        assert str(caught.value).endswith(
            "set `x.source.path` to a local copy, or `x.source.dataset` to another text: first or "
            "second"
        )
        for faults in (["503"] * 10, ["web page"] * 2, ["403"] * 2):
            server.faults = faults
            with pytest.raises(UserError, match="set `x.source.path` to a local copy$"):
                get(behind(f"{server.url}/a", others=["first"]), tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_wikipedia_that_is_nowhere_names_the_keys_that_chose_it(tmp_path) -> None:
    with Running() as server:
        addresses = [f"{server.url}/missing/{{language}}/{{date}}"]
        entry = {"title": "W", "version": "1", "licence": "any", "format": "text"}
        catalogue = {"wikipedia": entry | {"urls": addresses}}
        stanza = {"dataset": "wikipedia", "language": "hungarian", "date": "20260801"}
        source = resolve_source(stanza, catalogue, key="x.source")
        with pytest.raises(
            UserError,
            match=r"hungarian/20260801: .*, or `x\.source\.language` and `x\.source\.date` ",
        ):
            get(source, tmp_path)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("text")
    source, where = packaged(LEE), {"cache_dir": tmp_path / "cache", "seed": 1}
    with pytest.raises(UserError, match=r"file/out: cannot be written \((File exists|Not a dir)"):
        retrieve(source, tmp_path / "file/out", tmp_path / "description", **where)
    with pytest.raises(UserError, match="out: cannot be written"):
        retrieve(source, tmp_path / "out", tmp_path / "file/description", **where)
    for number, room in ((errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EACCES, False)):
        fault = OSError(number, os.strerror(number))
        monkeypatch.setattr(sources, "write_json", lambda *_, fault=fault: raise_(fault))
        with pytest.raises(UserError, match="out: cannot be written") as caught:
            retrieve(source, tmp_path / "out", tmp_path / "description", **where)
        assert ("make room" in str(caught.value)) == room


def raise_(error: Exception) -> None:
    raise error


# --- dumps of Wikipedia

NAME = "huwiki-20260801-pages-articles.xml.bz2"
DUMP = bz2.compress(b"<mediawiki></mediawiki>")
SHA1 = hashlib.sha1(DUMP).hexdigest()


@pytest.fixture
def dump() -> Iterator[tuple]:
    """A dump on a server, and a list of checksums on another."""
    with Running() as server, Running() as other:
        server.content = DUMP
        other.content = f"{SHA1[::-1]}  huwiki-20260801-stub.xml.gz\n{SHA1}  {NAME}\n".encode()
        source = behind(f"{server.url}/{NAME}", sums=[f"{other.url}/sums"])
        yield source, server, other


def test_the_list_of_checksums_is_that_of_today(tmp_path, dump) -> None:
    source, _, other = dump
    get(source, tmp_path)
    listed = f'<file name="a"><size>1</size></file><file name="{NAME}"><md5>a</md5>'
    listed += f'<sha1>{SHA1[::-1]}</sha1></file><file name="b"><sha1>{"0" * 40}</sha1></file>'
    other.content = f"<files>{listed}</files>".encode()  # as the Internet Archive has it
    with pytest.raises(UserError, match=f"instead of {SHA1[::-1]}"):
        get(source, tmp_path)


@pytest.mark.parametrize("fault", ["none", "empty", "damaged", "web page", "403", "503"])
def test_only_where_no_list_of_checksums_is_a_dump_goes_without(tmp_path, dump, fault) -> None:
    source, server, other = dump
    other.faults = ["404"] * 2
    get(source, tmp_path)
    other.content = f"{SHA1}  huwiki-20260801-stub.xml.gz\n".encode()  # of another file
    other.faults = [fault] * 20
    with pytest.raises(
        UserError, match=r"/sums: cannot be fetched \(.*`x\.source\.path`"
    ) as caught:
        get(source, tmp_path / "elsewhere")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "elsewhere/out").exists()
    with Running() as mirror:
        mirror.content = f"{SHA1}  {NAME}\n".encode()
        other.faults = [fault] * 20
        both = source.model_copy(update={"sums": [*source.sums, f"{mirror.url}/sums"]})
        get(both, tmp_path / "elsewhere")


def test_a_dump_that_is_not_closed_is_a_part_and_is_not_kept(tmp_path) -> None:
    with Running() as server:
        source = behind(f"{server.url}/dump.xml.bz2", format="mediawiki")
        for part in (b"<mediawiki><page></page>", b""):
            server.content = bz2.compress(part)
            with pytest.raises(UserError, match="a part of the file.*</mediawiki>"):
                get(source, tmp_path)
        server.content = DUMP
        get(source, tmp_path)
    assert (tmp_path / "out").read_bytes() == DUMP


def of_wiki(name: str) -> bytes:
    named = f"<siteinfo><dbname>{name}</dbname></siteinfo>" if name else ""
    return bz2.compress(f"<mediawiki>{named}<page><title>A</title></page></mediawiki>".encode())


def test_a_dump_of_another_wiki_is_refused_with_both_names(tmp_path, dump) -> None:
    source, server, other = dump
    source = source.model_copy(update={"format": "mediawiki"})
    other.faults = ["404"] * 20
    for number, name in enumerate(("huwiki", "")):  # old exports have none
        server.content = of_wiki(name)
        get(source, tmp_path / str(number))
        assert (tmp_path / str(number) / "out").read_bytes() == server.content
    server.content = of_wiki("trwiki")
    with pytest.raises(UserError, match="dump of trwiki instead of huwiki.*source.path") as caught:
        get(source, tmp_path / "wrong")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "wrong/out").exists()
    elsewhere = source.model_copy(update={"urls": [f"{server.url}/dump.xml.bz2"]})
    get(elsewhere, tmp_path / "elsewhere")  # whose name names no wiki


def test_an_entry_for_any_language_needs_neither_index_nor_sums(tmp_path) -> None:
    form = {"title": "{language}", "version": "{date}", "licence": "any", "format": "text"}
    entry = form | {"urls": ["https://x.org/{language}.txt"]}
    stanza = {"dataset": "any", "language": "hu"}
    resolved = resolve_source(stanza, {"any": entry}, key="x.source")
    assert resolved.title == "hu"
    assert resolved.urls == ["https://x.org/hu.txt"]
    entry = form | {"urls": ["https://x.org/{date}.txt"]}
    stanza = {"dataset": "any", "date": "20240101"}
    resolved = resolve_source(stanza, {"any": entry}, key="x.source")
    assert resolved.version == "20240101"
    assert resolved.urls == ["https://x.org/20240101.txt"]
