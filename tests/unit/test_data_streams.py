"""Reading a part of a dump by its index, from a server with a dump made of real pages."""

from __future__ import annotations

import bz2
import hashlib
import importlib.util
import json
import random
import re
import shutil
from pathlib import Path

import pytest

from fault_server import FAULTS, Running
from reproduction.data import download, streams
from reproduction.data.extract import ExtractionSettings, extract_lines
from reproduction.data.files import Form
from reproduction.data.sources import Download, retrieve
from reproduction.data.streams import EnoughLines, Sample, draw_streams
from sagevocab.corpus.text import read_lines
from sagevocab.errors import UserError

SETTINGS = ExtractionSettings(language="en", seed=3)
PAGES_A_STREAM = 2


@pytest.fixture(scope="module")
def multistream() -> tuple[bytes, bytes]:
    """The dump that gensim ships, as streams of a few pages, and its index."""
    folder = importlib.util.find_spec("gensim").submodule_search_locations[0]
    name = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
    xml = bz2.decompress((Path(folder) / "test/test_data" / name).read_bytes()).decode()
    first = xml.index("  <page>")
    pages = re.findall(r"  <page>.*?</page>\n", xml, re.DOTALL)[:40]
    dump, index = bytearray(bz2.compress(xml[:first].encode())), []
    for start in range(0, len(pages), PAGES_A_STREAM):
        some = pages[start : start + PAGES_A_STREAM]
        ids = (re.search(r"<id>(\d+)</id>", page)[1] for page in some)
        index += [f"{len(dump)}:{number}:A: title" for number in ids]
        dump += bz2.compress("".join(some).encode())
    dump += bz2.compress(b"</mediawiki>\n")
    return bytes(dump), bz2.compress("\n".join(index).encode())


@pytest.fixture
def site(multistream, tmp_path, monkeypatch):
    """A server of the dump, and a function that draws from it."""
    monkeypatch.setattr(download, "sleep", lambda _seconds: None)
    with Running() as server, Running() as other:
        server.content, other.content = multistream
        server.index, server.sums = [f"{other.url}/index.bz2"], None

        def draw(lines: int, urls=None, settings=SETTINGS, cache="cache", wiki=None) -> bytes:
            draw_streams(
                urls or [f"{server.url}/dump.bz2"],
                server.index,
                tmp_path / "drawn",
                Sample(lines, settings),
                cache_dir=tmp_path / cache,
                key="k",
                wiki=wiki,
            )
            return (tmp_path / "drawn").read_bytes()

        server.draw = draw
        yield server


def lines_of(dump: Path, output: Path) -> list[str]:
    form = Form(key="k", format="mediawiki")
    extract_lines([dump], output, form, SETTINGS)
    return list(read_lines(output))


def test_what_is_drawn_is_a_dump_with_enough_lines(site, tmp_path) -> None:
    drawn = site.draw(lines=100)
    assert len(drawn) < len(site.content) / 2
    bytes_read = sum(len(range(*span_of(headers))) for _, headers in site.requests)
    assert bytes_read < len(site.content) / 2
    pages = re.findall(rb"^    <id>(\d+)</id>", bz2.decompress(drawn), re.MULTILINE)
    assert len(pages) > PAGES_A_STREAM and pages == sorted(pages, key=int)  # as in the dump
    lines = lines_of(tmp_path / "drawn", tmp_path / "lines.zst")
    assert 100 <= len({*lines}) < 5000


def test_streams_of_another_wiki_are_refused_and_not_kept(site, tmp_path) -> None:
    for _ in range(2):
        with pytest.raises(UserError, match="bz2: gives a dump of enwiki instead of trwiki; "):
            site.draw(lines=10, wiki="trwiki")
        assert len(site.requests) == 1
        site.requests.clear()
    assert site.draw(lines=10, wiki="enwiki")


def span_of(headers: dict) -> tuple[int, int]:
    first, last = headers["Range"].removeprefix("bytes=").split("-")
    return int(first), int(last) + 1


def test_the_seed_decides_and_nothing_else_does(site) -> None:
    first = site.draw(lines=200)
    again = site.draw(lines=200, cache="other")
    with Running() as mirror:
        mirror.content, mirror.faults = site.content, ["429", "206 from another byte"]
        site.faults = ["404", "503"] * 4
        urls = [f"{site.url}/dump.bz2", f"{mirror.url}/dump.bz2"]
        elsewhere = site.draw(lines=200, urls=urls, cache="third")
    assert first == again == elsewhere
    site.faults = []
    assert site.draw(lines=200, settings=ExtractionSettings("en", seed=4)) != first


def test_more_lines_hold_what_fewer_do_and_continue_from_there(site, tmp_path) -> None:
    site.draw(lines=100)
    few = lines_of(tmp_path / "drawn", tmp_path / "few.zst")
    asked = len(site.requests)
    site.draw(lines=300)
    spans = [headers["Range"] for _, headers in site.requests]
    assert len(spans) == len({*spans}) > asked
    assert {*few} < {*lines_of(tmp_path / "drawn", tmp_path / "more.zst")}


def test_equal_lines_count_once() -> None:
    enough = EnoughLines(2)
    assert not enough.add(["a", "a"]) and not enough.add(["a"])
    assert enough.add(["b", "c"]) and enough.found == 2


def test_a_dump_that_has_as_many_lines_as_are_wanted_is_enough(site, tmp_path) -> None:
    with pytest.raises(UserError, match=r"^config key k\.lines: .*1000000") as caught:
        site.draw(lines=1_000_000)
    count = int(re.search("has ([0-9]+) distinct", str(caught.value))[1])
    site.draw(lines=count)
    assert len({*lines_of(tmp_path / "drawn", tmp_path / "drawn.zst")}) == count


@pytest.mark.parametrize("fault", ["no ranges", "404", "web page"])
def test_a_server_without_parts_is_reported(site, fault) -> None:
    site.faults = [fault] * 2
    with pytest.raises(download.UnavailableError, match=r"dump\.bz2: cannot be fetched \("):
        site.draw(lines=200)


OTHER_INDEX = bz2.compress(b"9:1:A\n99:2:B\n999:3:C\n")


@pytest.mark.parametrize(
    ("index", "named", "message"),
    [
        (OTHER_INDEX, True, "has sha1 .* instead of"),
        (bz2.compress(b"no index"), True, "has sha1 .* instead of"),
        (bz2.compress(b"no index"), False, "gives no index"),
        (bz2.compress(b"9:1:A\n5:2:B\n"), False, "gives no index"),
        (OTHER_INDEX[:30], False, "breaks off or is damaged"),
        (bz2.compress(b"\xff\n"), False, "breaks off or is damaged"),
    ],
)
def test_a_wrong_index_is_one_line_that_names_it_and_is_not_kept(
    site, tmp_path, multistream, index, named, message
) -> None:
    digests = {"dump.bz2": "0" * 40}
    if named:
        digests["index.bz2"] = hashlib.sha1(multistream[1]).hexdigest()
    with Running() as other, Running() as list_of:
        list_of.content = "".join(f"{sha1}  {file}\n" for file, sha1 in digests.items()).encode()
        other.content, site.index = index, [f"{other.url}/index.bz2"]
        site.sums = [f"{list_of.url}/sums"]
        with pytest.raises(UserError, match=rf"/index\.bz2: cannot .*{message}") as caught:
            retrieved(site, tmp_path)
        assert "\n" not in str(caught.value) and "k.lines: null" in str(caught.value)
        assert not any((tmp_path / "cache").iterdir()) and not (tmp_path / "out").exists()
        other.content = multistream[1]
        retrieved(site, tmp_path)


def test_a_source_with_an_index_is_drawn(site, tmp_path, multistream) -> None:
    seen, out = retrieved(site, tmp_path)
    assert "drawn by its index" in seen["origin"]
    assert out != site.content
    assert seen["index_sha256"] == hashlib.sha256(multistream[1]).hexdigest()
    assert re.fullmatch(r"\d+ of 19 streams", seen["parts"])


def retrieved(site, folder: Path, lines: int = 200) -> tuple[dict, bytes]:
    """Retrieve the dump: description and bytes."""
    source = Download(
        key="k.source",
        format="mediawiki",
        name="wiki",
        urls=[f"{site.url}/dump.bz2"],
        index=site.index,
        sums=site.sums,
    )
    out, description = folder / "out", folder / "out.json"
    part = Sample(lines, SETTINGS)
    retrieve(source, out, description, cache_dir=folder / "cache", seed=3, part=part)
    return json.loads(description.read_text()), out.read_bytes()


@pytest.mark.parametrize(
    ("good", "faults"),
    [
        (0, ["503", "damaged"]),
        (2, ["hangs up without an answer", "damaged", "404", "cut"]),
    ],
)
def test_a_fault_is_one_line_until_it_is_mended(site, tmp_path, good, faults, monkeypatch) -> None:
    monkeypatch.setitem(FAULTS, "damaged", damaged_part)
    whole = site.draw(lines=300, cache="other")
    for fault in faults:
        site.faults = ["none"] * good + [fault] * 10
        with pytest.raises(UserError, match=r"dump\.bz2: cannot be fetched \(.*k\.source\.path"):
            retrieved(site, tmp_path, lines=300)
        assert not (tmp_path / "out").exists()
        site.faults = []
        seen, drawn = retrieved(site, tmp_path, lines=300)
        assert (seen["name"], drawn) == ("wiki", whole)
        shutil.rmtree(tmp_path / "cache")
        (tmp_path / "out").unlink()


def damaged_part(handler) -> None:
    """Answer a part whose bytes are those of another file."""
    right, handler.server.content = handler.server.content, bytes(len(handler.server.content))
    handler.rest()
    handler.server.content = right


def test_drawing_keeps_its_connection_and_waits_for_a_server_that_refuses(
    site, monkeypatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(download, "sleep", waits.append)
    url = f"{site.url}/moved/dump.bz2"
    refusals = ["hangs up without an answer"] * 6  # until more than a minute is over
    site.faults = ["none"] * 6 + refusals
    drawn = site.draw(lines=500, urls=[url])
    assert sum(waits) > 60
    assert site.connections == 1 + len(refusals)
    assert drawn == site.draw(lines=500, cache="other")


def test_a_damaged_stream_is_not_taken(site, tmp_path, multistream) -> None:
    dump = bytearray(site.content)
    rng = random.Random(1)
    (tmp_path / "index.bz2").write_bytes(multistream[1])
    for start, end in streams.read_index(tmp_path / "index.bz2"):
        dump[rng.randrange(start + 20, end - 20)] ^= 255
    with Running() as damaged:
        damaged.content = bytes(dump)
        urls = [f"{damaged.url}/dump.bz2", f"{site.url}/dump.bz2"]
        assert site.draw(lines=200, urls=urls) == site.draw(lines=200, cache="other")
        with pytest.raises(UserError, match="breaks off or is damaged"):
            site.draw(lines=200, urls=urls[:1], cache="third")
