"""Data sets of the Hugging Face hub, from a stand-in that speaks its protocol."""

from __future__ import annotations

import base64
import functools
import hashlib
import http.server
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.constants as constants
import pandas as pd
import pytest
from huggingface_hub import get_token

from fault_server import FAULTS, HubHandler, Running
from reproduction.data import download, hub
from reproduction.data.datasets import RowPart
from reproduction.data.extract import ExtractionSettings
from reproduction.data.sources import Hub, Source, retrieve
from reproduction.data.streams import Sample
from sagevocab.errors import UserError

COMMIT = "a" * 40
REPO = "someone/words"
ROWS = pd.DataFrame({"words": [["Ali", "geldi"]] * 20, "ner": [["PER", "O"]] * 20, "id": range(20)})
WHERE = {"repo": REPO, "revision": "refs/convert/parquet", "files": "tr/train/*.parquet"}


@functools.cache
def served() -> dict[str, bytes]:
    """What the hub has: rows in two files, and another file."""
    parts = {f"tr/train/{n:04d}.parquet": rows for n, rows in enumerate((ROWS[:13], ROWS[13:]))}
    return {name: rows.to_parquet() for name, rows in parts.items()} | {"README.md": b"words"}


@pytest.fixture
def site(monkeypatch) -> Iterator[http.server.ThreadingHTTPServer]:
    monkeypatch.setattr(download, "sleep", lambda _seconds: None)
    monkeypatch.setattr(hub, "get_token", lambda: "hf_secret")
    with Running(HubHandler) as server:
        server.repo, server.sha256, server.commit = REPO, None, COMMIT
        server.files = dict(served())
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        yield server


@pytest.fixture
def offline(monkeypatch):
    """Switch the network off."""
    return lambda: monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


def words(hub: dict | None = None, **fields) -> Hub:
    return Hub(key="x.source", name="words", hub=WHERE | (hub or {}), **fields)


def get(source: Source, folder: Path, part: Sample | None = None, seed: int = 1) -> dict:
    description, cache = folder / "out.source.json", folder / "cache"
    retrieve(source, folder / "out", description, cache_dir=cache, seed=seed, part=part)
    return json.loads(description.read_text())


def rows(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / "out")


@pytest.mark.parametrize("address", ["hub.example", "http://hub.invalid", "http://127.0.0.1:9"])
def test_an_endpoint_that_is_no_hub_is_named(site, tmp_path, monkeypatch, address) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", address)
    with pytest.raises(UserError, match="HF_ENDPOINT") as caught:
        get(words(), tmp_path)
    assert "\n" not in str(caught.value)


def test_several_files_of_the_hub_become_one_table(site, tmp_path) -> None:
    seen = get(words(), tmp_path)
    pd.testing.assert_frame_equal(rows(tmp_path), ROWS)
    assert seen["origin"] == f"{site.url}/datasets/{REPO}"
    assert (seen["commit"], seen["hub"]) == (COMMIT, WHERE)
    assert seen["sha256"] == hashlib.sha256((tmp_path / "out").read_bytes()).hexdigest()
    assert "refs%2Fconvert%2Fparquet" in site.requests[0][0]
    assert not any("README" in path for path, _ in site.requests)


def test_one_file_of_the_hub_stays_as_it_is(site, tmp_path) -> None:
    for name in ("tr/train/0001.parquet", "README.md"):  # one large, one that is in git
        get(words({"files": name}), tmp_path)
        assert (tmp_path / "out").read_bytes() == site.files[name]
        assert not (tmp_path / "out").is_symlink()


def test_shares_of_the_rows_are_disjoint_in_order_and_their_seeds(site, tmp_path) -> None:
    ids = []
    for share, seed in (([0.0, 0.9], 1), ([0.9, 1.0], 1), ([0.9, 1.0], 2)):
        get(words(share=share), tmp_path, seed=seed)
        ids.append(rows(tmp_path)["id"].tolist())
    assert [len(part) for part in ids] == [18, 2, 2]
    assert sorted(ids[0] + ids[1]) == list(range(20))
    assert ids[1] != ids[2]
    assert all(part == sorted(part) for part in ids)


def test_only_tables_of_parquet_are_joined_or_shared(site, tmp_path) -> None:
    for fields in ({}, {"share": [0.0, 0.9]}):
        with pytest.raises(UserError, match=r"words of datasets\.yaml: .*jsonl"):
            get(words(format="jsonl", **fields), tmp_path)


def test_only_as_many_files_come_as_the_lines_need(site, tmp_path) -> None:
    texts = [f"Text {n} begins here. It has {n} ends, and {m}." for n in range(8) for m in range(9)]
    site.files = {
        f"data/{start}.parquet": pd.DataFrame({"text": texts[start::8]}).to_parquet()
        for start in range(8)
    }
    table = words({"files": "data/*"}, column="text", sentences=True, clean=True)
    seen, found = {}, {}
    for cache, seed, lines in [("a", 1, 20), ("b", 1, 20), ("c", 2, 20), ("d", 1, None)]:
        part = lines and Sample(lines, ExtractionSettings(language="en", seed=seed))
        seen[cache] = get(table, tmp_path / cache, part, seed)
        found[cache] = rows(tmp_path / cache)["text"].tolist()
    assert found["a"] == found["b"] != found["c"]
    assert seen["a"]["sha256"] == seen["b"]["sha256"]
    assert seen["a"]["parts"] == "2 of 8 files"
    assert len(found["a"]) == 18
    for some in found.values():  # files follow one another by their names
        places = [texts.index(text) % 8 for text in some]
        assert places == sorted(places)
    assert sorted(found["d"]) == sorted(texts)
    assert "parts" not in seen["d"]


# --- faults

# What the hub does -> what a user reads if it never does anything else.
REASONS = {
    "401": "HTTP 401 Unauthorized",
    "403": "HTTP 403 Forbidden",
    "404": "HTTP 404 Not Found",
    "429": "HTTP 429 Too Many Requests",
    "500": "HTTP 500 ",
    "503": "HTTP 503 Service Unavailable",
    "hangs up without an answer": "the connection was cut|no connection",
    "chunks, cut": "the connection was cut",
    "short, with a wrong length": "instead of|something else than a list",
    "empty": "instead of|something else than a list",
    "damaged": "instead of|something else than a list",
    "web page": "gives a web page|instead of",
    "redirects to itself": "redirects without end",
    "expired signature": "HTTP 403 Forbidden from the storage behind it",
    "storage wants a name": "HTTP 401 Unauthorized from the storage behind it",
    "storage lacks it": "HTTP 404 Not Found from the storage behind it",
    "odd list": "instead of|something else than a list",
    "redirects to no address": "answers with a header that means nothing",
    "deep list": "instead of|something else than a list",
    "list without a checksum": "instead of|something else than a list",
    "list with a text as size": "instead of|something else than a list",
    "list with a number as name": "instead of|something else than a list",
    "list with half a character": "instead of|something else than a list",
    "half a list": "instead of|lists not the 2 files",
    "list of another set": "instead of|lists the files of someone/else; it may be renamed",
}


@pytest.fixture(autouse=True)
def odd_lists(monkeypatch) -> None:
    half = {"rfilename": "tr/train/0001-of-2.parquet", "size": 5, "blobId": "0" * 40}
    whole = {"rfilename": "tr/train/0000.parquet", "size": 5, "blobId": "0" * 40}
    lists = {
        "odd list": {"sha": "a"},
        "half a list": {"sha": COMMIT, "siblings": [half]},
        "list of another set": {"id": "someone/else", "sha": COMMIT, "siblings": [whole]},
    }
    large = {"size": 5, "sha256": "0" * 64}
    odd = {
        "list without a checksum": whole | {"lfs": large | {"sha256": None}},
        "list with a text as size": whole | {"lfs": large | {"size": "5"}},
        "list with a number as name": whole | {"rfilename": 5},
        "list with half a character": whole | {"rfilename": "\ud800"},
    }
    lists |= {name: {"sha": COMMIT, "siblings": [file]} for name, file in odd.items()}
    bodies = {name: json.dumps(said).encode() for name, said in lists.items()}
    for name, body in (bodies | {"deep list": b"[" * 100_000}).items():
        monkeypatch.setitem(FAULTS, name, lambda handler, body=body: handler.reply(200, body))


@pytest.mark.parametrize("good", [0, 1, 2], ids=["list", "first file", "second file"])
@pytest.mark.parametrize("fault", REASONS)
def test_a_fault_of_the_hub_changes_nothing_and_one_that_stays_is_one_line_until_it_is_mended(
    site, tmp_path, fault, good
) -> None:
    site.content = bytes(9)
    site.faults = ["none"] * good + [fault]
    get(words(), tmp_path / "once")
    pd.testing.assert_frame_equal(rows(tmp_path / "once"), ROWS)
    site.faults = ["none"] * good + [fault] * 99
    with pytest.raises(UserError, match=REASONS[fault]) as caught:
        get(words(), tmp_path)
    line = str(caught.value)
    assert "\n" not in line and "set `x.source.path` to a local copy" in line
    assert "Signature" not in line and "secret" not in line
    assert isinstance(caught.value, download.UnavailableError) == (fault == "404")
    assert ("accept its terms there and set HF_TOKEN" in line) == (fault in ("401", "403"))
    assert not (tmp_path / "out").exists()
    site.faults = []
    assert get(words(), tmp_path)["commit"] == COMMIT
    pd.testing.assert_frame_equal(rows(tmp_path), ROWS)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"repo": "someone/else"},
            r"someone%2Felse|someone/else/.*HTTP 404 Not Found, RepoNotFound",
        ),
        (
            {"files": "tr/train-*"},
            r"refs%2Fconvert%2Fparquet\?blobs=true: .*\(has no file tr/train-\*, .*/datasets\.yaml "
            r".*near it: tr/train/000.*README\.md\); set `x",
        ),
    ],
)
def test_what_the_hub_does_not_have_is_one_line(site, tmp_path, fields, message) -> None:
    with pytest.raises(download.UnavailableError, match=message):
        get(words(fields), tmp_path)


def test_the_list_of_another_commit_is_refused(site, tmp_path) -> None:
    site.lists = "b" * 40  # as a mirror that does not look at the revision
    with pytest.raises(UserError, match=rf"\(lists the files of commit {site.lists}\)"):
        get(words({"revision": COMMIT}), tmp_path)
    assert not (tmp_path / "cache").exists()
    site.lists = None
    assert get(words({"revision": COMMIT}), tmp_path)["commit"] == COMMIT


@pytest.mark.parametrize(
    ("listed", "whole"),
    [
        (["0-of-2", "1-of-2"], True),
        (["1-of-2", "2-of-2"], True),
        (["0-of-2-0123abcd", "1-of-2-4567abcd"], True),
        (["1-of-2"], False),
        (["0-of-2", "2-of-2"], False),
        (["0-of-2-0123abcd", "0-of-2-4567abcd"], False),
        (["0-of-2", "1-of-2", "1-of-2-0123abcd"], False),
        (["0-of-0"], False),
    ],
)
def test_files_that_are_counted_are_all_there_each_once(site, tmp_path, listed, whole) -> None:
    site.files = {f"tr/train/x-{name}.parquet": ROWS.to_parquet() for name in listed}
    if whole:
        get(words(), tmp_path)
        get(words({"files": f"*{listed[-1]}*"}), tmp_path)  # one of them, if that is wanted
        return
    with pytest.raises(UserError, match=r"\(lists not the \d files tr/train/x-\*, each once"):
        get(words(), tmp_path)


def test_a_password_in_the_address_of_the_hub_is_sent_and_never_shown(
    site, tmp_path, monkeypatch, caplog
) -> None:
    caplog.set_level("INFO")
    address = site.url.replace("//", "//some:pass%40word@")
    monkeypatch.setattr(constants, "ENDPOINT", address)
    assert get(words(), tmp_path)["origin"] == f"{site.url}/datasets/{REPO}"
    sent = {headers.get("Authorization") for _, headers in site.requests}
    assert sent == {f"Basic {base64.b64encode(b'some:pass@word').decode()}"}
    site.faults = ["401"] * 9
    with pytest.raises(UserError) as caught:
        get(words(), tmp_path / "other")
    shown = f"{caught.value} {caplog.text} {(tmp_path / 'out.source.json').read_text()}"
    assert "pass" not in shown


def test_the_token_is_sent_and_nothing_of_netrc(site, tmp_path, monkeypatch) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login old password old\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setitem(FAULTS, "redirected", elsewhere_on_the_server)
    site.faults = ["none", "redirected"]
    get(words(), tmp_path)
    assert {headers.get("Authorization") for _, headers in site.requests} == {"Bearer hf_secret"}
    assert len(site.requests) == 4


def elsewhere_on_the_server(handler) -> None:
    handler.reply(302, b"", {"Location": handler.path})


def test_a_token_that_cannot_be_read_is_named(site, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(hub, "get_token", get_token)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path))  # a folder
    with pytest.raises(UserError, match=f"^{tmp_path}: your token cannot be read"):
        get(words(), tmp_path)


@pytest.mark.parametrize(("lacking", "listed"), [("0000", "0001"), ("0001", "0002")])
def test_a_numbered_set_without_one_of_its_files_is_refused(
    site, tmp_path, lacking, listed
) -> None:
    numbers = {"0000", "0001", "0002", "0003"} - {lacking}
    site.files = {f"tr/train/{number}.parquet": ROWS.to_parquet() for number in numbers}
    message = rf"\(lists tr/train/{listed}\.parquet, not {lacking}\.parquet\)"
    with pytest.raises(UserError, match=message):
        get(words(), tmp_path)


def test_a_table_that_is_there_in_two_counts_is_refused_unless_one_is_chosen(
    site, tmp_path
) -> None:
    counts = ("0-of-1", "0-of-2", "1-of-2")
    site.files = {f"tr/train/x-{name}.parquet": ROWS.to_parquet() for name in counts}
    with pytest.raises(UserError, match=r"\(lists files tr/train/x-\* of 2 counts"):
        get(words(), tmp_path)
    get(words({"files": "tr/train/*-of-2.parquet"}), tmp_path)


# --- what is kept, and who shares it


def test_a_branch_that_moved_gives_the_new_files(site, tmp_path) -> None:
    get(words(), tmp_path)
    site.commit = "b" * 40
    assert get(words(), tmp_path)["commit"] == "b" * 40


@pytest.mark.parametrize("is_stuck", [True, False])
def test_without_the_hub_the_newest_list_that_can_be_read_serves(
    site, tmp_path, offline, is_stuck, monkeypatch
) -> None:
    get(words(), tmp_path)
    (first,) = (tmp_path / "cache").glob("*-parquet")
    os.utime(first, (1e9, 1e9))
    if is_stuck:
        refuse_to_replace(monkeypatch, first)
    site.commit = "b" * 40
    get(words(), tmp_path)
    assert (json.loads(first.read_text())["sha"] == COMMIT) == is_stuck
    offline()
    assert get(words(), tmp_path)["commit"] == "b" * 40
    if is_stuck:
        (second,) = (tmp_path / "cache").glob("*-parquet.*")
        refuse_to_read(monkeypatch, [second])
        assert get(words(), tmp_path)["commit"] == COMMIT


def test_without_a_network_the_variable_is_named_that_takes_what_is_kept(site, tmp_path) -> None:
    site.faults = ["503"] * 20
    with pytest.raises(UserError, match="`x.source.path` to a local copy$"):
        get(words(), tmp_path)
    site.faults = []
    get(words(), tmp_path)
    site.faults = ["503"] * 20
    with pytest.raises(UserError, match=f"; HF_HUB_OFFLINE=1 takes .* {tmp_path}/cache"):
        get(words(), tmp_path)


def refuse_to_replace(monkeypatch, kept: Path) -> None:
    """Let nobody replace a file, as another person's in a folder like /tmp."""

    def replaced(path, target):
        if target == kept:
            raise PermissionError(1, "Operation not permitted", str(path))
        return replace(path, target)

    replace = Path.replace
    monkeypatch.setattr(Path, "replace", replaced)


def test_a_kept_list_that_is_damaged_is_one_line_without_the_hub(site, tmp_path, offline) -> None:
    get(words(), tmp_path)
    (kept,) = (tmp_path / "cache").glob("*-parquet")
    kept.write_text("{")
    offline()
    with pytest.raises(UserError, match="else than a list.*HF_HUB_OFFLINE is set; unset it"):
        get(words(), tmp_path)


@pytest.mark.parametrize("share", [None, [0.5, 1.0]])
def test_a_set_has_as_many_rows_as_the_catalogue_says(site, tmp_path, offline, share) -> None:
    known = words(examples=10 if share else 20, share=share)
    whole = dict(site.files)
    del site.files["tr/train/0001.parquet"]  # the last, which no name shows
    for network in ("online", "offline"):
        if network == "offline":
            offline()
        message = rf"/{REPO}: gives {7 if share else 13} rows, words has .*datasets\.yaml: a part"
        with pytest.raises(UserError, match=f"{message} is missing.*`x.source.path`"):
            get(known, tmp_path)
        assert not (tmp_path / "out").exists()
    constants.HF_HUB_OFFLINE, site.files = False, whole
    get(known, tmp_path)
    assert len(rows(tmp_path)) == known.examples


def test_one_wrong_list_of_a_commit_does_not_stay(site, tmp_path) -> None:
    pinned = words({"revision": COMMIT})
    whole, last = dict(site.files), "tr/train/0001.parquet"
    del site.files[last]  # the last part is not listed, which no name shows
    get(pinned, tmp_path)
    site.files = whole
    (tmp_path / "out").unlink()
    get(pinned, tmp_path)
    pd.testing.assert_frame_equal(rows(tmp_path), ROWS)


def test_a_part_that_is_no_parquet_is_one_line_and_heals(site, tmp_path) -> None:
    pinned, whole = words({"revision": COMMIT}), dict(site.files)
    site.files["tr/train/0001.parquet"] = b"version https://git-lfs.github.com/spec/v1"
    with pytest.raises(UserError, match=r"0001\.parquet: is not a parquet file.*fetch it again"):
        get(pinned, tmp_path)
    site.files = whole
    get(pinned, tmp_path)
    pd.testing.assert_frame_equal(rows(tmp_path), ROWS)


def test_what_was_downloaded_serves_without_the_hub(site, tmp_path, offline) -> None:
    get(words(), tmp_path)
    offline()
    asked = len(site.requests)
    (tmp_path / "out").unlink()
    get(words(), tmp_path)
    pd.testing.assert_frame_equal(rows(tmp_path), ROWS)
    (file,) = (tmp_path / "cache").glob("*-0001.parquet")
    for spoil in (lambda: file.write_bytes(b"damaged"), file.unlink):
        spoil()
        with pytest.raises(UserError, match="HF_HUB_OFFLINE is set.*unset it"):  # never a part
            get(words(), tmp_path)
    with pytest.raises(UserError, match="HF_HUB_OFFLINE is set"):
        get(words({"repo": "someone/else"}), tmp_path)
    assert len(site.requests) == asked


# What the first person took, and what the second wants of the same folder.
TAKEN = {
    "one file": {"files": "tr/train/0000.parquet"},
    "all": {},
    "another set": {"files": "README.md"},
}


@pytest.mark.parametrize("network", ["online", "offline"])
@pytest.mark.parametrize("second", TAKEN)
@pytest.mark.parametrize("first", TAKEN)
@pytest.mark.parametrize("readable", [True, False])
def test_two_people_get_the_whole_set_or_an_error(
    site, tmp_path, offline, first, second, network, readable, monkeypatch
) -> None:
    """Root reads everything, so what the first keeps to themselves is played."""
    (tmp_path / "cache").mkdir(mode=0o750)
    before = os.umask(0o077)
    try:
        get(words(TAKEN[first]), tmp_path)
    finally:
        os.umask(before)
    kept = [*(tmp_path / "cache").iterdir()]
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o040 for path in kept)
    alone = tmp_path / "alone"
    get(words(TAKEN[second]), alone)
    if network == "offline":
        offline()
    if not readable:
        refuse_to_read(monkeypatch, kept)
    (tmp_path / "out").unlink()
    try:
        get(words(TAKEN[second]), tmp_path)
    except UserError as error:
        assert network == "offline" or not readable
        assert "HF_HUB_OFFLINE is set" in str(error) or "its owner can make it" in str(error)
        assert not (tmp_path / "out").exists()
        assert not readable or first != second
    else:
        assert (tmp_path / "out").read_bytes() == (alone / "out").read_bytes()


def refuse_to_read(monkeypatch, kept: list[Path]) -> None:
    """Let nobody read some files, until another takes their place."""

    def guarded(function):
        def read(path, *arguments, **options):
            if path in kept:
                raise PermissionError(13, "Permission denied", str(path))
            return function(path, *arguments, **options)

        return read

    def replaced(path, target):
        if target in kept:
            kept.remove(target)
        return replace(path, target)

    replace = Path.replace
    for name in ("open", "read_bytes"):
        monkeypatch.setattr(Path, name, guarded(getattr(Path, name)))
    monkeypatch.setattr(Path, "replace", replaced)


def test_parts_with_other_columns_are_not_joined(tmp_path: Path) -> None:
    parts = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    pd.DataFrame({"text": ["a"]}).to_parquet(parts[0])
    pd.DataFrame({"text": [1]}).to_parquet(parts[1])
    with pytest.raises(UserError, match="has other columns"):
        hub.join_rows(parts, tmp_path / "all.parquet", RowPart())
    assert not (tmp_path / "all.parquet").exists()
