"""Retrieval of every kind of source but the hub."""

from __future__ import annotations

import bz2
import hashlib
import json
from pathlib import Path

import pytest

from fault_server import Running
from reproduction.data import download
from reproduction.data.descriptions import retrieved_source
from reproduction.data.files import Form, format_of_name, source_errors
from reproduction.data.sources import Download, Packaged, Source, resolve_source, retrieve
from reproduction.data.streams import Sample
from sagevocab.errors import UserError

FORM = Form(key="x", format="text", cached="results/downloads/a")


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
    assert resolve_source(stanza, {}, key="x").format == "jsonl"
    assert resolve_source(stanza | {"format": "text"}, {}, key="x").format == "text"


def test_a_file_of_a_package_is_found_without_importing_it(tmp_path) -> None:
    package = "gensim:test/test_data/lee_background.cor"
    digest = "5d78d6dafd953bbf65797bef09a9ffb9ec430583381be705f8fd460000f370fb"
    seen = get(packaged(package, sha256=digest, bytes=360082), tmp_path)
    assert (tmp_path / "out").stat().st_size == 360082
    assert (seen["origin"], seen["sha256"]) == (package, digest)
    with pytest.raises(UserError, match="has 360082 bytes instead of 5"):
        get(packaged(package, bytes=5), tmp_path)


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


def test_a_fallback_stands_in_for_what_is_gone_and_says_so(tmp_path, caplog) -> None:
    (tmp_path / "other").write_text("text")
    url = (tmp_path / "other").as_uri()
    last = behind(url, name="other", in_paper=False)
    with Running() as server:
        gone = [f"{server.url}/missing/{number}" for number in range(2)]
        source = behind(gone[0], fallback=behind(gone[1], name="first", fallback=last))
        seen = get(source, tmp_path)
        assert (tmp_path / "out").read_text() == "text"
        assert (seen["name"], seen["instead_of"], seen["in_paper"]) == ("other", "wiki", False)
        assert "other is taken instead of first" in caplog.text
        with pytest.raises(download.UnavailableError, match="missing/0: cannot"):
            get(behind(gone[0]), tmp_path)
        (tmp_path / "other").unlink()
        with pytest.raises(UserError, match="missing/0: .*; in its place: .*/1: .*; in its place"):
            get(source, tmp_path)


@pytest.mark.parametrize("faults", [["503"] * 10, ["web page"] * 4, ["403"] * 2, None])
def test_a_failing_network_is_no_reason_for_other_data(tmp_path, monkeypatch, faults) -> None:
    monkeypatch.setattr(download, "sleep", lambda _seconds: None)
    (tmp_path / "other").write_text("text")
    fallback = behind((tmp_path / "other").as_uri(), name="other")
    with Running() as server:
        server.faults = faults
        url = "http://127.0.0.1:9" if faults is None else server.url
        message = r"/d: cannot.*set `x\.source\.path` to a local"
        with pytest.raises(UserError, match=message):
            get(behind(f"{url}/d", fallback=fallback), tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_no_reason_for_other_data(tmp_path) -> None:
    (tmp_path / "file").write_text("text")
    url = (tmp_path / "file").as_uri()
    source = behind(url, fallback=behind(url, name="other"))
    where = {"cache_dir": tmp_path / "cache", "seed": 1}
    with pytest.raises(UserError, match="out: cannot be written"):
        retrieve(source, tmp_path / "out", tmp_path / "file/description", **where)


def test_what_cannot_be_read_is_reported_with_the_download_to_delete() -> None:
    message = (
        "corpora/en: truncated; results/downloads/a is the download: delete it to fetch it again"
    )
    with pytest.raises(UserError, match=message), source_errors(FORM):
        raise UserError("corpora/en: truncated")
    with pytest.raises(UserError, match="truncated$"), source_errors(Form(key="x", format="text")):
        raise UserError("a: truncated")


# --- dumps of Wikipedia

NAME = "huwiki-20260801-pages-articles.xml.bz2"
DUMP = bz2.compress(b"<mediawiki></mediawiki>")
SHA1 = hashlib.sha1(DUMP).hexdigest()


@pytest.fixture
def latest(tmp_path) -> Download:
    """The latest dump of a server: files, links to them, and a list of checksums."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / NAME).write_bytes(DUMP)
    (folder / "sums").write_text(f"{SHA1[::-1]}  huwiki-20260801-stub.xml.gz\n{SHA1}  {NAME}\n")
    url = (folder / NAME.replace("20260801", "latest")).as_uri()
    version = {"title": "dump of latest", "version": "latest", "name": "wikipedia"}
    return behind(url, sums=[(folder / "sums").as_uri()], index=[], **version)


def test_the_newest_dump_is_the_one_that_the_sums_name(tmp_path, latest) -> None:
    seen = get(latest, tmp_path)
    assert (tmp_path / "out").read_bytes() == DUMP
    assert (seen["version"], seen["title"]) == ("20260801", "dump of 20260801")
    assert seen["origin"].endswith(NAME)
    assert "sums" not in seen


def test_a_dump_must_have_the_checksum_that_its_server_publishes(tmp_path, latest) -> None:
    (tmp_path / "served" / NAME).write_bytes(bz2.compress(b"<mediawiki/>"))
    with pytest.raises(UserError, match=f"instead of {SHA1}"):
        get(latest, tmp_path)


def test_without_sums_nothing_says_which_dump_is_the_newest(tmp_path, latest) -> None:
    (tmp_path / "served/sums").write_text("of nothing")
    with pytest.raises(UserError, match=r"does not say which dump .*set `x\.source\.date`"):
        get(latest, tmp_path)


def test_an_entry_for_any_language_needs_neither_index_nor_sums(tmp_path) -> None:
    (tmp_path / "hu.txt").write_text("text")
    form = {"title": "{language}", "version": "{date}", "licence": "any", "format": "text"}
    entry = form | {"urls": [(tmp_path / "{language}.txt").as_uri().replace("%7B", "{")]}
    entry["urls"] = [entry["urls"][0].replace("%7D", "}")]
    stanza = {"dataset": "any", "language": "hu", "date": "20240101"}
    resolved = resolve_source(stanza, {"any": entry}, key="x.source")
    assert (get(resolved, tmp_path)["title"], resolved.version) == ("hu", "20240101")
    resolved = resolve_source(stanza | {"date": None}, {"any": entry}, key="x.source")
    with pytest.raises(UserError, match=r"^config key x\.source\.date: .*set a date"):
        get(resolved, tmp_path)
    entry["urls"] = [entry["urls"][0].replace("{language}", "{date}")]
    resolved = resolve_source(
        {"dataset": "any", "date": "20240101"}, {"any": entry}, key="x.source"
    )
    assert resolved.urls[0].endswith("/20240101.txt")


def test_the_archives_list_of_files_has_checksums_too(tmp_path, latest) -> None:
    listed = f'<files><file name="{NAME}"><md5>a</md5><sha1>{SHA1[::-1]}</sha1></file></files>'
    (tmp_path / "served/sums").write_text(listed)
    with pytest.raises(UserError, match=f"instead of {SHA1[::-1]}"):
        get(latest, tmp_path)


def test_a_source_is_what_was_really_retrieved(tmp_path):
    record = {"kind": "dataset", "name": "b", "title": "Other dump", "instead_of": "a"}
    (tmp_path / "x.source.json").write_text(json.dumps(record), encoding="utf-8")
    configured = {"kind": "dataset", "name": "a", "title": "First dump"}
    assert retrieved_source(configured, [tmp_path / "x.source.json"]) == record
    assert retrieved_source(configured, []) == configured
    # A packaged text needs no retrieval to be called otherwise.
    packaged = {"kind": "package", "name": "a:b", "title": "Another title"}
    source = retrieved_source(packaged, [tmp_path / "x.source.json"])
    assert (source["title"], source["name"]) == ("Another title", "a:b")
