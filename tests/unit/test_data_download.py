"""The fetcher against a real HTTP server on the loopback that misbehaves on request."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import http.server
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from fault_server import CONTENT, FAULTS, OTHER, Running
from reproduction.data import download as module
from reproduction.data.download import (
    Expected,
    Fetched,
    UnavailableError,
    cache_name,
    download,
    publish,
)
from sagevocab.errors import UserError

SHA256 = hashlib.sha256(CONTENT).hexdigest()
PACKED, CHANGED = bz2.compress(CONTENT[:200_000]), bz2.compress(OTHER[:99_999])


@pytest.fixture
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    with Running() as server:
        yield server


@pytest.fixture(autouse=True)
def waits(monkeypatch) -> list[float]:
    """The waits that the fetcher asked for; none of them takes place."""
    waits: list[float] = []
    monkeypatch.setattr(module, "sleep", waits.append)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return waits


def get(urls: list[str], folder: Path, sha256=None, size=None, **options) -> Fetched:
    expected = Expected(size, {"sha256": sha256} if sha256 else {})
    fetched = download(urls, cache_dir=folder / "cache", expected=expected, **options)
    publish(fetched.path, folder / "out", may_link=not fetched.url.startswith("file:"))
    return fetched


def starts(server) -> list[int | None]:
    """The bytes from which the requests asked for the file."""
    asked = (headers.get("Range") for _, headers in server.requests)
    return [a and int(a.removeprefix("bytes=").rstrip("-")) for a in asked]


def test_a_finished_download_is_not_fetched_again(server, tmp_path) -> None:
    get([f"{server.url}/a"], tmp_path)
    (tmp_path / "out").unlink()
    get([f"{server.url}/a"], tmp_path, sha256=SHA256, size=len(CONTENT))
    assert (tmp_path / "out").read_bytes() == CONTENT
    assert len(server.requests) == 1


def test_a_finished_download_that_is_damaged_is_fetched_again(server, tmp_path) -> None:
    cached = get([f"{server.url}/a"], tmp_path).path
    cached.write_bytes(b"damaged")
    get([f"{server.url}/a"], tmp_path, sha256=SHA256)
    assert (tmp_path / "out").read_bytes() == CONTENT


def test_a_cut_connection_is_resumed_where_it_ended(server, tmp_path) -> None:
    server.faults = ["cut", "cut"]
    get([f"{server.url}/a"], tmp_path, sha256=SHA256)
    assert (tmp_path / "out").read_bytes() == CONTENT
    first, *resumed = starts(server)
    third = len(CONTENT) // 3
    assert first is None
    assert third - 65536 < resumed[0] <= third < resumed[1]
    assert server.requests[1][1]["If-Range"] == '"v1"'


def test_new_bytes_make_up_for_failures(server, tmp_path, monkeypatch) -> None:
    for name in ("ATTEMPTS", "ATTEMPTS_UNANSWERED"):
        monkeypatch.setattr(module, name, 3)
    server.faults = ["cut", "503"] * 4
    get([f"{server.url}/a"], tmp_path, sha256=SHA256)
    assert len(server.requests) == 9


@pytest.mark.parametrize(
    ("part", "validator", "server_validator", "digest", "asked"),
    [
        (CONTENT[:1000], '"v1"', '"v1"', None, 1000),  # resumes
        (b"x" * 1000, '"v0"', '"v1"', None, 1000),  # the file has changed
        (b"x" * 1000, None, None, None, None),  # nothing tells whether it has
        (CONTENT, None, '"v1"', SHA256, len(CONTENT)),  # whole already
        (CONTENT + b"more", None, '"v1"', SHA256, len(CONTENT) + 4),  # of another file
    ],
)
def test_what_an_earlier_run_left_is_joined_or_thrown_away(
    server, tmp_path, part, validator, server_validator, digest, asked
) -> None:
    server.validators = {"ETag": server_validator} if server_validator else {}
    url = f"{server.url}/a"
    left = tmp_path / "cache" / f"{cache_name(url)}.part"
    left.parent.mkdir()
    left.write_bytes(part)
    if validator:
        left.with_name(f"{left.name}.validator").write_text(validator)
    get([url], tmp_path, sha256=digest)
    assert (tmp_path / "out").read_bytes() == CONTENT
    assert starts(server)[0] == asked
    assert not left.exists()


def test_a_rest_is_not_asked_for_by_a_tag_that_other_bytes_may_have(server, tmp_path) -> None:
    server.validators, server.faults = {"ETag": 'W/"v1"'}, ["cut"]
    get([f"{server.url}/a"], tmp_path)
    assert (tmp_path / "out").read_bytes() == CONTENT
    assert starts(server) == [None, None]


@pytest.mark.parametrize("fault", ["206 that says no bytes", "206 from another byte", "416"])
def test_a_rest_that_does_not_fit_makes_the_download_start_over(server, tmp_path, fault) -> None:
    server.faults = ["cut", fault]
    get([f"{server.url}/a"], tmp_path)
    assert (tmp_path / "out").read_bytes() == CONTENT
    assert starts(server)[2] is None


@pytest.mark.parametrize("validators", [{"ETag": '"v1"'}, {"Last-Modified": "yesterday"}])
def test_a_changed_file_is_never_mixed_with_the_old_one(server, tmp_path, validators) -> None:
    server.validators = validators
    server.faults = ["cut", "changed"]
    get([f"{server.url}/a"], tmp_path)
    assert (tmp_path / "out").read_bytes() == OTHER


def test_a_rest_of_another_size_is_of_another_file(server, tmp_path, monkeypatch) -> None:
    def change_under_the_same_date(handler) -> None:
        handler.server.content = OTHER[:-7]
        handler.rest()

    monkeypatch.setitem(FAULTS, "same date", change_under_the_same_date)
    server.validators, server.faults = {"Last-Modified": "yesterday"}, ["cut", "same date"]
    get([f"{server.url}/a"], tmp_path)
    assert (tmp_path / "out").read_bytes() == OTHER[:-7]


@pytest.mark.parametrize("name", ["a", "a.bz2"])
def test_a_body_compressed_on_the_way_is_the_file(server, tmp_path, name) -> None:
    server.faults = ["gzip, though nobody asked"]
    get([f"{server.url}/{name}"], tmp_path, sha256=SHA256, size=len(CONTENT))
    assert (tmp_path / "out").read_bytes() == CONTENT
    assert len(server.requests) == 1


def test_a_compressed_file_that_is_called_encoded_stays_compressed(server, tmp_path) -> None:
    server.content = gzip.compress(CONTENT, 1)
    server.validators = {"Content-Encoding": "x-gzip", "ETag": '"v1"'}
    get([f"{server.url}/a.gz"], tmp_path)
    assert (tmp_path / "out").read_bytes() == server.content


def test_waits_grow_and_obey_the_server(server, tmp_path, waits) -> None:
    server.faults = ["429", "503", *["500, and a Retry-After that means nothing"] * 7]
    get([f"{server.url}/a"], tmp_path)
    assert waits == [7, 60, 4, 8, 16, 32, 60, 60, 60]


def test_after_ten_failures_the_next_address_has_its_turn(server, tmp_path, waits) -> None:
    server.faults = ["429"] * 10
    get([f"{server.url}/a", f"{server.url}/b"], tmp_path)
    get([f"{server.url}/a", f"{server.url}/b"], tmp_path)  # is here by now
    assert [path for path, _ in server.requests] == ["/a"] * 10 + ["/b"]
    assert len(waits) == 9


@pytest.mark.parametrize("fault", sorted({*FAULTS} - {"changed", "none"}))
def test_any_failure_leads_to_the_next_address(server, tmp_path, fault) -> None:
    server.content = PACKED
    with Running() as mirror:
        mirror.content, server.faults = server.content, [fault] * 10
        urls = [f"{server.url}/a.bz2", f"{mirror.url}/a.bz2"]
        size = len(mirror.content)
        assert get(urls, tmp_path, size=size).url in urls
        assert (tmp_path / "out").read_bytes() == mirror.content


@pytest.mark.parametrize(
    ("faults", "kind", "message"),
    [
        (["410", "404"], UnavailableError, "HTTP 410 Gone"),
        (["401", "404"], UserError, "HTTP 401 Unauthorized: Log in."),
        (["404", *["503"] * 10], UserError, "run again later"),
        (["web page"] * 4, UserError, "web page"),
        (["short, without a length"] * 4, UserError, "breaks off"),
        (["empty"] * 4, UserError, "something else than a .bz2 file"),
    ],
)
def test_the_message_names_each_address_with_its_reason(
    server, tmp_path, faults, kind, message
) -> None:
    server.content, server.faults = PACKED, faults
    urls = [f"{server.url}/a.bz2", f"{server.url}/b.bz2"]
    with pytest.raises(UserError) as caught:
        get(urls, tmp_path, advice="set `x.path`")
    assert type(caught.value) is kind
    assert message in str(caught.value)
    assert all(url in str(caught.value) for url in urls)
    assert not list((tmp_path / "cache").glob("*.bz2"))


@pytest.mark.parametrize("seed", range(15))
def test_any_row_of_faults_ends_in_the_right_bytes_or_in_one_line(server, tmp_path, seed) -> None:
    rng = random.Random(seed)
    with Running() as mirror:
        for one in (server, mirror):
            one.content, one.changed = PACKED, CHANGED
            one.validators = rng.choice([{"ETag": '"v1"'}, {"Last-Modified": "monday"}, {}])
            one.faults = rng.choices(sorted(FAULTS), k=rng.randrange(12))
        whole, changed = server.content, server.changed
        sha256 = rng.choice([None, hashlib.sha256(whole).hexdigest()])
        urls = [f"{server.url}/a.bz2", f"{mirror.url}/a.bz2"]
        try:
            get(urls, tmp_path, sha256=sha256)
        except UserError as error:
            assert "\n" not in str(error)
            assert not (tmp_path / "out").exists()
        else:
            assert (tmp_path / "out").read_bytes() in (whole, whole if sha256 else changed)
        # Whatever it left, another run with servers that work again gives the file.
        (tmp_path / "out").unlink(missing_ok=True)
        server.faults, server.content, server.validators = [], whole, {}
        get(urls, tmp_path, sha256=hashlib.sha256(whole).hexdigest())
        assert (tmp_path / "out").read_bytes() == whole


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"size": 5}, "has 1048576 bytes instead of 5"),
        ({"sha256": "0" * 64}, f"has sha256 {SHA256} instead of {'0' * 64}"),
    ],
)
def test_a_wrong_file_is_refused_and_not_kept(server, tmp_path, expected, message) -> None:
    with pytest.raises(UserError, match=message) as caught:
        get([f"{server.url}/a"], tmp_path, **expected)
    assert isinstance(caught.value, UnavailableError) == ("sha256" in expected)
    assert not (tmp_path / "out").exists()
    kept = [file for file in (tmp_path / "cache").iterdir() if file.suffix != ".lock"]
    assert kept == []


def test_any_published_checksum_is_compared(server, tmp_path) -> None:
    for name in ("sha1", "md5"):
        digest = hashlib.new(name, CONTENT).hexdigest()
        where = {"cache_dir": tmp_path / name}
        download([f"{server.url}/a"], expected=Expected(None, {name: digest}), **where)
        wrong = Expected(None, {name: digest[::-1]})
        with pytest.raises(UserError, match=f"{name} {digest}"):
            download([f"{server.url}/b"], expected=wrong, **where)


def test_a_wrong_mirror_gives_way_to_a_right_one(server, tmp_path) -> None:
    (tmp_path / "wrong").write_bytes(b"other")
    urls = [(tmp_path / "wrong").as_uri(), f"{server.url}/a"]
    assert get(urls, tmp_path, sha256=SHA256).url == urls[1]


def test_without_a_network_one_line_names_urls_and_advice(tmp_path) -> None:
    url = "http://127.0.0.1:9/dump.xml.bz2"
    with pytest.raises(UserError) as caught:
        get([url, f"{url}?mirror"], tmp_path, advice="set `x.path` to a local copy")
    line = str(caught.value)
    assert line.startswith(f"{url}: ")
    assert f"{url}?mirror (no connection)" in line and "set `x.path`" in line
    assert not isinstance(caught.value, UnavailableError)
    assert not (tmp_path / "out").exists()


def test_file_urls_are_copied_and_checked(tmp_path) -> None:
    source = tmp_path / "a file.txt"
    source.write_bytes(b"text")
    get([source.as_uri()], tmp_path, size=4, sha256=hashlib.sha256(b"text").hexdigest())
    assert (tmp_path / "out").read_bytes() == b"text"
    assert (tmp_path / "out").stat().st_ino != source.stat().st_ino
    with pytest.raises(UserError, match="has 4 bytes instead of 5"):
        get([source.as_uri()], tmp_path, size=5)
    with pytest.raises(UserError, match="no such file"):
        get([(tmp_path / "nowhere").as_uri()], tmp_path)


# --- disks


class Full:
    """Stands for a file on a full disk."""

    def __init__(self, file) -> None:
        self.file = file

    def __enter__(self):
        return self

    def __exit__(self, *_error) -> None:
        self.file.close()

    def write(self, _block: bytes) -> None:
        raise OSError(28, "No space left on device")


def test_a_full_disk_is_one_line(server, tmp_path, monkeypatch) -> None:
    really_open = Path.open

    def opened(path, mode="r", **options):
        file = really_open(path, mode, **options)
        return Full(file) if path.suffix == ".part" and "w" in mode else file

    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(UserError, match=r"cache: cannot be written \(No space.*`download_dir`"):
        get([f"{server.url}/a"], tmp_path)


@pytest.mark.parametrize("place", ["cache", "out"])
def test_a_folder_that_cannot_be_written_is_one_line(server, tmp_path, place) -> None:
    (tmp_path / "file").write_text("")
    folders = {"cache": tmp_path / "cache", "out": tmp_path} | {place: tmp_path / "file"}
    with pytest.raises(
        UserError, match=r"file(/out)?: cannot be written \((File exists|Not a dir)"
    ):
        fetched = download([f"{server.url}/a"], cache_dir=folders["cache"])
        publish(fetched.path, folders["out"] / "out")


# --- parts of a file


def part(urls: list[str], folder: Path, *span: int | None) -> bytes:
    return download(urls, cache_dir=folder, span=span).path.read_bytes()


def test_a_part_is_read_from_the_first_server_that_gives_parts(server, tmp_path) -> None:
    with Running() as mirror:
        server.faults = ["no ranges"]
        mirror.faults = ["206 from another byte", "cut", "429"]
        urls = [f"{server.url}/a", f"{mirror.url}/a"]
        assert part(urls, tmp_path, 5, 1005) == CONTENT[5:1005]
        assert len(mirror.requests) == 4


def test_a_part_that_nobody_gives_is_one_line(server, tmp_path) -> None:
    server.faults = ["no ranges", "404"]
    with pytest.raises(UserError, match=r"a: cannot .*\(gives no parts of the file\), nor .*404"):
        part([f"{server.url}/a", f"{server.url}/b"], tmp_path, 0, 10)


def test_parts_are_read_over_one_connection_from_where_the_address_led(server, tmp_path) -> None:
    url = f"{server.url}/moved/a"
    for start in range(5):
        assert part([url], tmp_path, start, 9) == CONTENT[start:9]
    assert [path for path, _ in server.requests] == ["/moved/a", *["/a"] * 5]
    assert server.connections == 1


@pytest.mark.parametrize("fault", ["403", "503"])
def test_where_an_address_led_may_be_for_a_while_only(server, tmp_path, fault) -> None:
    url = f"{server.url}/moved/a"
    part([url], tmp_path, 0, 9)
    server.faults = [fault]
    assert part([url], tmp_path, 5, 9) == CONTENT[5:9]
    assert [path for path, _ in server.requests] == ["/moved/a", "/a", "/a", "/moved/a", "/a"]


def test_damaged_data_make_it_follow_the_address_again(server, tmp_path, monkeypatch) -> None:
    streams = [bz2.compress(CONTENT[:99]), bz2.compress(OTHER[:99])]
    server.content = b"".join(streams)
    first, end = len(streams[0]), len(server.content)

    def damaged(handler) -> None:
        span = {"Content-Range": f"bytes {first}-{end - 1}/{end}"}
        handler.reply(206, bytes(end - first), span)

    monkeypatch.setitem(FAULTS, "damaged", damaged)
    url = f"{server.url}/moved/a.bz2"
    part([url], tmp_path, 0, first)
    server.faults = ["damaged"]
    assert part([url], tmp_path, first, end) == streams[1]
    again = ["/moved/a.bz2", "/a.bz2"]
    assert [path for path, _ in server.requests] == [*again, "/a.bz2", *again]


def test_many_parts_do_not_wait_for_a_busy_server_each_time(server, tmp_path, waits) -> None:
    with Running() as mirror:
        server.faults = ["429"] * 1000
        urls = [f"{server.url}/a", f"{mirror.url}/a"]
        for start in range(5):
            assert part(urls, tmp_path, start, 9) == CONTENT[start:9]
    assert (len(server.requests), len(mirror.requests)) == (10, 5)


def test_a_server_that_has_answered_gets_more_patience(server, tmp_path, waits) -> None:
    part([f"{server.url}/a"], tmp_path, 0, 9)
    server.faults = ["hangs up without an answer"] * 9
    assert part([f"{server.url}/b"], tmp_path, 5, 9) == CONTENT[5:9]
    assert sum(waits) > 240


def test_a_server_that_redirects_has_answered(server, tmp_path, waits) -> None:
    with pytest.raises(UserError, match="no connection"):
        get([f"{server.url}/lost/a"], tmp_path)
    assert sum(waits) > 240
