"""The fetcher against a real HTTP server on the loopback that misbehaves on request."""

from __future__ import annotations

import hashlib
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sagevocab.data import fetch as module
from sagevocab.data.fetch import GoneError, cache_name, fetch
from sagevocab.errors import UserError

CONTENT = bytes(range(256)) * 4096  # 1 MiB
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args) -> None:
        pass

    def do_GET(self) -> None:
        server = self.server
        server.requests.append((self.path, dict(self.headers)))
        if self.path.startswith("/missing"):
            self.reply(404, b"no")
        elif self.path == "/flaky" and len(server.requests) < 3:
            self.reply(500 + len(server.requests), b"later", {"Retry-After": "0"})
        elif self.path == "/cut" and len(server.requests) <= server.cuts:
            self.cut()
        else:
            self.whole_or_rest()

    def whole_or_rest(self) -> None:
        content, headers = self.server.content, dict(self.server.validators)
        asked = self.headers.get("Range")
        validator = self.headers.get("If-Range")
        if not asked or (validator and validator not in headers.values()):
            self.reply(200, content, headers)
            return
        start = int(asked.removeprefix("bytes=").rstrip("-"))
        if start >= len(content):
            self.reply(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            return
        span = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self.reply(206, content[start:], headers | {"Content-Range": span})

    def cut(self) -> None:
        """Announce everything, send a third of what is left, hang up."""
        asked = self.headers.get("Range", "bytes=0-")
        start = int(asked.removeprefix("bytes=").rstrip("-"))
        rest = self.server.content[start:]
        self.send_response(206 if start else 200)
        for name, value in self.server.validators.items():
            self.send_header(name, value)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: len(rest) // 3])
        self.wfile.flush()
        self.close_connection = True

    def reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.requests, server.cuts = [], 2
    server.content, server.validators = CONTENT, {"ETag": '"v1"'}
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch) -> None:
    monkeypatch.setattr(module, "BACKOFF_SECONDS", 0.0)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def get(urls: list[str], folder: Path, **options) -> module.Fetched:
    return fetch(urls, folder / "out", cache_dir=folder / "cache", **options)


def test_a_finished_download_is_not_fetched_again(server, tmp_path) -> None:
    get([f"{server.url}/a"], tmp_path)
    (tmp_path / "out").unlink()
    get([f"{server.url}/a"], tmp_path, sha256=SHA256, size=len(CONTENT))
    assert (tmp_path / "out").read_bytes() == CONTENT
    assert len(server.requests) == 1


def test_the_output_is_newer_than_what_was_there_before(server, tmp_path) -> None:
    get([f"{server.url}/a"], tmp_path)
    cached = next((tmp_path / "cache").glob("*-a"))
    os.utime(cached, (0, 0))
    get([f"{server.url}/a"], tmp_path)
    assert (tmp_path / "out").stat().st_mtime > 1e9


def test_a_cut_connection_is_resumed_where_it_ended(server, tmp_path) -> None:
    get([f"{server.url}/cut"], tmp_path, sha256=SHA256)
    assert (tmp_path / "out").read_bytes() == CONTENT
    starts = [headers.get("Range") for _, headers in server.requests]
    assert starts[0] is None
    assert len(starts) == 3
    resumed = [int(start.removeprefix("bytes=").rstrip("-")) for start in starts[1:]]
    third = len(CONTENT) // 3
    assert third - 65536 < resumed[0] <= third < resumed[1]
    assert server.requests[1][1]["If-Range"] == '"v1"'


@pytest.mark.parametrize(
    ("part", "validator", "server_validator", "digest", "asked"),
    [
        (CONTENT[:1000], '"v1"', '"v1"', None, "bytes=1000-"),  # goes on
        (b"x" * 1000, '"v0"', '"v1"', None, "bytes=1000-"),  # the file has changed
        (b"x" * 1000, None, None, None, None),  # nothing tells whether it has
        (CONTENT, None, '"v1"', SHA256, f"bytes={len(CONTENT)}-"),  # whole already
        (CONTENT + b"more", None, '"v1"', SHA256, f"bytes={len(CONTENT) + 4}-"),  # of another file
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
    assert server.requests[0][1].get("Range") == asked
    assert not left.exists()


def test_server_errors_are_retried(server, tmp_path) -> None:
    get([f"{server.url}/flaky"], tmp_path)
    assert (tmp_path / "out").read_bytes() == CONTENT
    assert len(server.requests) == 3


def test_the_second_mirror_serves_when_the_first_has_nothing(server, tmp_path) -> None:
    fetched = get([f"{server.url}/missing", f"{server.url}/a"], tmp_path)
    assert fetched.url == f"{server.url}/a"
    assert [path for path, _ in server.requests] == ["/missing", "/a"]


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ({"size": 5}, "has 1048576 bytes instead of 5"),
        ({"sha256": "0" * 64}, f"the SHA-256 {'0' * 64}"),
    ],
)
def test_a_wrong_file_is_refused_and_not_kept(server, tmp_path, expected, told) -> None:
    with pytest.raises(UserError, match=told):
        get([f"{server.url}/a"], tmp_path, **expected)
    assert not (tmp_path / "out").exists()
    kept = [file for file in (tmp_path / "cache").iterdir() if file.suffix != ".lock"]
    assert kept == []


def test_a_wrong_mirror_gives_way_to_a_right_one(server, tmp_path) -> None:
    (tmp_path / "wrong").write_bytes(b"other")
    urls = [(tmp_path / "wrong").as_uri(), f"{server.url}/a"]
    assert get(urls, tmp_path, sha256=SHA256).url == urls[1]


def test_gone_everywhere_is_told_apart_from_a_failing_network(server, tmp_path) -> None:
    with pytest.raises(GoneError, match="HTTP 404"):
        get([f"{server.url}/missing", f"{server.url}/missing?again"], tmp_path)


def test_without_a_network_one_line_names_url_and_advice(tmp_path) -> None:
    url = "http://127.0.0.1:9/dump.xml.bz2"
    with pytest.raises(UserError) as caught:
        get([url, f"{url}?mirror"], tmp_path, advice="set `x.path` to a local copy")
    message = str(caught.value)
    assert message == (
        f"{url}: cannot be fetched (no connection), nor from 1 mirror; set `x.path` to a local copy"
    )
    assert not isinstance(caught.value, GoneError)
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
