"""Retrieval of every kind of source, the hub by a stand-in that speaks its protocol."""

from __future__ import annotations

import bz2
import hashlib
import http.server
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.constants as constants
import pandas as pd
import pytest
from huggingface_hub import _tree_cache

from fault_server import FAULTS, HubHandler, Running
from reproduction.data import download
from reproduction.data.descriptions import retrieved_source
from reproduction.data.extract import ExtractionSettings
from reproduction.data.files import Form, format_of_name, source_errors
from reproduction.data.sources import Download, Hub, Packaged, Source, resolve_source, retrieve
from reproduction.data.streams import Sample
from sagevocab.errors import UserError

COMMIT = "a" * 40
REPO = "someone/words"
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


@pytest.mark.parametrize("faults", [["503"] * 10, ["web page"] * 4, ["403"], None])
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


# --- the hub


ROWS = pd.DataFrame({"words": [["Ali", "geldi"]] * 20, "ner": [["PER", "O"]] * 20, "id": range(20)})


@pytest.fixture
def hub(monkeypatch) -> Iterator[http.server.ThreadingHTTPServer]:
    for clock in (download, time):  # the hub's client waits, too
        monkeypatch.setattr(clock, "sleep", lambda _seconds: None)
    with Running(HubHandler) as server:
        server.repo, server.sha256, server.commit = REPO, None, COMMIT
        server.files = {"README.md": b"words"}
        for number, rows in enumerate((ROWS[:13], ROWS[13:])):
            server.files[f"tr/train/{number:04d}.parquet"] = rows.to_parquet()
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        template = f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        yield server


WHERE = {"repo": REPO, "revision": "refs/convert/parquet", "files": "tr/train/*.parquet"}


def words(hub: dict | None = None, **fields) -> Hub:
    return Hub(key="x.source", name="words", hub=WHERE | (hub or {}), **fields)


def test_several_files_of_the_hub_become_one_table(hub, tmp_path) -> None:
    seen = get(words(), tmp_path)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out"), ROWS)
    assert seen["origin"] == f"{constants.ENDPOINT}/datasets/{REPO}"
    assert (seen["commit"], seen["hub"]) == (COMMIT, WHERE)
    assert seen["sha256"] == hashlib.sha256((tmp_path / "out").read_bytes()).hexdigest()
    assert any("refs%2Fconvert%2Fparquet" in path for path, _ in hub.requests)
    assert not any("README" in path for path, _ in hub.requests)


def test_one_file_of_the_hub_stays_as_it_is(hub, tmp_path) -> None:
    name = "tr/train/0001.parquet"
    seen = get(words({"files": name}), tmp_path)
    assert (tmp_path / "out").read_bytes() == hub.files[name]
    assert seen["cached"].startswith(str(tmp_path / "cache"))
    assert os.path.samefile(seen["cached"], tmp_path / "out")  # not twice on the disk
    assert not (tmp_path / "out").is_symlink()


def test_shares_of_the_rows_are_disjoint_in_order_and_their_seeds(hub, tmp_path) -> None:
    ids = []
    for share, seed in (([0.0, 0.9], 1), ([0.9, 1.0], 1), ([0.9, 1.0], 2)):
        get(words(share=share), tmp_path, seed=seed)
        ids.append(pd.read_parquet(tmp_path / "out")["id"].tolist())
    assert [len(part) for part in ids] == [18, 2, 2]
    assert sorted(ids[0] + ids[1]) == list(range(20))
    assert ids[1] != ids[2]
    assert all(part == sorted(part) for part in ids)


def test_only_tables_of_parquet_are_joined_or_shared(hub, tmp_path) -> None:
    for fields in ({}, {"share": [0.0, 0.9]}):
        with pytest.raises(UserError, match=r"words of datasets\.yaml: .*jsonl"):
            get(words(format="jsonl", **fields), tmp_path)


def test_what_was_downloaded_from_the_hub_serves_without_it(hub, tmp_path) -> None:
    get(words(), tmp_path)
    hub.shutdown()
    hub.server_close()
    hub.faults = ["hangs up without an answer"] * 99  # on connections that are still open
    (tmp_path / "out").unlink()
    get(words(), tmp_path)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out"), ROWS)
    with pytest.raises(UserError) as caught:
        get(words({"repo": "someone/else"}), tmp_path)
    assert "(no connection); run again later, or set `x.source.path` to a local copy" in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("hub_fields", "message"),
    [
        ({"repo": "someone/else"}, r"someone/else: cannot be fetched \(HTTP 404"),
        ({"files": "en/*"}, r"words: revision refs/convert/parquet has no file en/\*; set `x"),
    ],
)
def test_what_the_hub_does_not_have_is_one_line(hub, tmp_path, hub_fields, message) -> None:
    with pytest.raises(download.UnavailableError, match=message):
        get(words(hub_fields), tmp_path)


def test_a_listing_that_names_no_file_is_not_kept(hub, tmp_path) -> None:
    files, hub.files = hub.files, {}
    with pytest.raises(download.UnavailableError, match="has no file"):
        get(words(), tmp_path)
    _tree_cache._IN_MEMORY_TREE_CACHE.clear()  # as another process has it
    hub.files = files
    assert get(words(), tmp_path)["commit"] == COMMIT


def test_a_branch_whose_old_files_are_gone_gives_the_new_ones(hub, tmp_path) -> None:
    get(words(), tmp_path)
    for file in (tmp_path / "cache").glob("*.parquet"):
        file.unlink()
    hub.commit = "b" * 40
    assert get(words(), tmp_path)["commit"] == "b" * 40
    assert get(words(), tmp_path)["commit"] == "b" * 40  # as kept


@pytest.mark.parametrize("fault", ["503", "web page", "odd list"])
def test_a_hub_that_is_busy_is_no_reason_for_other_data(hub, tmp_path, monkeypatch, fault) -> None:
    monkeypatch.setitem(FAULTS, "odd list", lambda handler: handler.reply(200, b'{"sha": "a"}'))
    hub.faults = [fault] * 10
    with pytest.raises(UserError, match="cannot be fetched") as caught:
        get(words(), tmp_path)
    assert not isinstance(caught.value, download.UnavailableError)
    assert get(words(), tmp_path)["commit"] == COMMIT


@pytest.mark.parametrize("good", [0, 1])
def test_a_gated_data_set_is_reported_with_the_token(hub, tmp_path, good) -> None:
    hub.faults = ["none"] * good + ["401"] * 9
    message = r"\(HTTP 401 Unauthorized: Log in\.\); set .* gated, accept .* HF_TOKEN; .* renamed"
    with pytest.raises(UserError, match=message) as caught:
        get(words(), tmp_path)
    assert not isinstance(caught.value, download.UnavailableError)


def test_only_as_many_files_come_as_the_lines_need(hub, tmp_path) -> None:
    texts = [f"Text {n} begins here. It has {n} ends, and {m}." for n in range(8) for m in range(9)]
    hub.files = {
        f"data/{start}.parquet": pd.DataFrame({"text": texts[start::8]}).to_parquet()
        for start in range(8)
    }
    form = {"column": "text", "sentences": True, "clean": True}
    table = words({"files": "data/*"}, **form)
    gone = behind(f"{hub.url}/gone", fallback=table)
    for source in (table, gone):
        seen, rows = {}, {}
        for cache, seed, lines in [("a", 1, 20), ("b", 1, 20), ("c", 2, 20), ("d", 1, None)]:
            part = lines and Sample(lines, ExtractionSettings(language="en", seed=seed))
            out, description = tmp_path / "out", tmp_path / "out.source.json"
            retrieve(source, out, description, cache_dir=tmp_path / cache, seed=seed, part=part)
            seen[cache] = json.loads(description.read_text())
            rows[cache] = pd.read_parquet(out)["text"].tolist()
            shutil.rmtree(tmp_path / cache)
        assert rows["a"] == rows["b"] != rows["c"]
        assert seen["a"]["sha256"] == seen["b"]["sha256"]
        assert seen["a"]["parts"] == "2 of 8 files"
        assert len(rows["a"]) == 18
        for some in rows.values():  # files follow one another by their names
            places = [texts.index(text) % 8 for text in some]
            assert places == sorted(places)
        assert sorted(rows["d"]) == sorted(texts)
        assert "parts" not in seen["d"]


def test_a_file_must_have_the_checksum_that_the_hub_lists(hub, tmp_path) -> None:
    hub.sha256 = "0" * 64
    with pytest.raises(download.UnavailableError, match=f"instead of {'0' * 64}"):
        get(words(), tmp_path)


def test_a_file_that_came_damaged_is_fetched_again(hub, tmp_path) -> None:
    hub.damaged = ["tr/train/0001.parquet"]
    get(words(), tmp_path)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out"), ROWS)
    assert hub.damaged == []


def test_the_cache_of_the_hubs_client_serves_offline(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "client/datasets--someone--words"
    snapshot = folder / "snapshots" / COMMIT / "tr/train"
    snapshot.mkdir(parents=True)
    ROWS.to_parquet(snapshot / "0000.parquet")
    (folder / "refs/refs/convert").mkdir(parents=True)
    (folder / "refs/refs/convert/parquet").write_text(COMMIT)
    for name, value in {"HF_HUB_OFFLINE": True, "HF_HUB_CACHE": str(tmp_path / "client")}.items():
        monkeypatch.setattr(constants, name, value)
    assert get(words(), tmp_path)["commit"] == COMMIT
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out"), ROWS)
    (snapshot / "0000.parquet").rename(snapshot / "0000-of-0002.parquet")  # one of two
    with pytest.raises(UserError, match="HF_HUB_OFFLINE"):
        get(words(), tmp_path)
    with pytest.raises(UserError, match="HF_HUB_OFFLINE"):
        get(words({"files": "en/*"}), tmp_path)


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
