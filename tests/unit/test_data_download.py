"""Downloads from a server on the loopback that misbehaves on request; no wait takes place."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import http.server
import os
import random
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fault_server import CONTENT, FAULTS, OTHER, Running
from reproduction.data import download as module
from reproduction.data.download import (
    Expected,
    Fetched,
    ForbiddenError,
    UnavailableError,
    cache_name,
    download,
    publish,
)
from reproduction.resuming import turn
from sagevocab.errors import UserError

SHA256 = hashlib.sha256(CONTENT).hexdigest()
BROKEN = "-----BEGIN CERTIFICATE-----\nxx\n-----END CERTIFICATE-----\n"
PACKED, CHANGED = bz2.compress(CONTENT[:200_000]), bz2.compress(OTHER[:99_999])


@pytest.fixture
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    with Running() as server:
        yield server


@pytest.fixture(autouse=True)
def waits(monkeypatch) -> list[float]:
    """The waits that downloads want."""
    waits: list[float] = []
    monkeypatch.setattr(module, "sleep", waits.append)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return waits


def try_three_times(monkeypatch) -> None:
    """Give up after three attempts."""
    for name in ("ATTEMPTS", "ATTEMPTS_UNANSWERED"):
        monkeypatch.setattr(module, name, 3)


def get(urls: list[str], folder: Path, sha256=None, size=None, **options) -> Fetched:
    expected = Expected(size, {"sha256": sha256} if sha256 else {})
    fetched = download(urls, cache_dir=folder / "cache", expected=expected, **options)
    publish(fetched.path, folder / "out")
    return fetched


def part(urls: list[str], folder: Path, *span: int | None) -> bytes:
    return download(urls, cache_dir=folder, span=span).path.read_bytes()


def starts(server) -> list[int | None]:
    """The bytes from which the requests asked for the file."""
    asked = (headers.get("Range") for _, headers in server.requests)
    return [a and int(a.removeprefix("bytes=").rstrip("-")) for a in asked]


# --- faults

SLOW = r"sent \d+ bytes of it in 60 s"
# What a server does -> what a user reads if it never does anything else. None: it is no fault.
REASONS = {
    "none": None,
    "whole, without a length": None,
    "whole, as a part of a file of unknown size": None,
    "no ranges": None,
    "401": "HTTP 401 Unauthorized",
    "403": "HTTP 403 Forbidden",
    "404": "HTTP 404 Not Found",
    "410": "HTTP 410 Gone",
    "451": "HTTP 451 ",
    "400": "HTTP 400 Bad Request",
    "204": "HTTP 204 No Content",
    "202": "HTTP 202 Accepted",
    "421": "HTTP 421 ",
    "429": "HTTP 429 Too Many Requests",
    "500": "HTTP 500 ",
    "500, and a Retry-After that means nothing": "HTTP 500 ",
    "503": "HTTP 503 Service Unavailable",
    "504": "HTTP 504 ",
    "SlowDown": "HTTP 503 Service Unavailable",
    "hangs up without an answer": "the connection was cut|no connection",
    "cut": "the connection was cut",
    "chunks, cut": "the connection was cut",
    "gzip, though nobody asked": "compresses the file on the way, unasked",
    "drips the file": SLOW,
    "drips its status": SLOW,
    "drips a header": SLOW,
    "drips the page of a redirect": SLOW,
    "short, without a length": "breaks off or is damaged|instead of",
    "short, with a wrong length": "breaks off or is damaged|instead of",
    "empty": "gives an empty file|instead of",
    "damaged": "something else than a .bz2 file|instead of",
    "web page": "gives a web page instead of the file",
    "redirects to itself": "redirects without end",
    "redirects to no address": "answers with a header that means nothing",
    "redirects to bytes": "answers with a header that means nothing",
    "a length that is no number": "answers with a header that means nothing",
    "503, and a Retry-After after all years": "HTTP 503 ",
    "expired signature": "HTTP 403 Forbidden from the storage behind it",
    "storage wants a name": "HTTP 401 Unauthorized from the storage behind it",
    "storage lacks it": "HTTP 404 Not Found from the storage behind it",
    "206 that says no bytes": "answers another part than was requested",
    "206 from another byte": "answers another part than was requested",
    "416": "HTTP 416 ",
}


def test_every_fault_has_its_row() -> None:
    assert {*REASONS} == {*FAULTS} - {"changed"}


@pytest.mark.parametrize("known", [True, False], ids=["checksum", "no checksum"])
@pytest.mark.parametrize("fault", REASONS)
def test_a_fault_changes_nothing_and_one_that_stays_is_one_line_until_it_is_mended(
    server, tmp_path, monkeypatch, fault, known
) -> None:
    if "drips" in fault:
        try_three_times(monkeypatch)
    server.content, sha256 = PACKED, digest(PACKED) if known else None
    server.faults = [fault]
    get([f"{server.url}/once.bz2"], tmp_path, sha256=sha256)
    assert (tmp_path / "out").read_bytes() == PACKED
    (tmp_path / "out").unlink()
    server.faults = [fault] * 150
    urls = [f"{server.url}/a.bz2"]
    if REASONS[fault]:
        with pytest.raises(UserError, match=REASONS[fault]) as caught:
            get(urls, tmp_path, sha256=sha256, advice="set `x.path`")
        assert "\n" not in str(caught.value)
        assert "Signature" not in str(caught.value)
        assert str(caught.value).endswith("set `x.path`")
        assert isinstance(caught.value, UnavailableError) == (fault in ("404", "410", "451"))
        assert isinstance(caught.value, ForbiddenError) == (fault in ("401", "403"))
        assert not (tmp_path / "out").exists()
    with Running() as mirror:
        mirror.content = PACKED
        both = [*urls, f"{mirror.url}/a.bz2"]
        assert get(both, tmp_path / "mirrored").url == both[bool(REASONS[fault])]
        assert (tmp_path / "mirrored/out").read_bytes() == PACKED
    server.faults = []
    get(urls, tmp_path, sha256=sha256)
    assert (tmp_path / "out").read_bytes() == PACKED


@pytest.mark.parametrize("seed", range(10))
def test_any_row_of_faults_ends_in_the_right_bytes_or_in_one_line(
    server, tmp_path, monkeypatch, seed
) -> None:
    try_three_times(monkeypatch)
    rng = random.Random(seed)
    with Running() as mirror:
        for one in (server, mirror):
            one.content, one.changed = PACKED, CHANGED
            one.faults = rng.choices(sorted(FAULTS), k=rng.randrange(12))
        sha256 = rng.choice([None, digest(PACKED)])
        urls = [f"{server.url}/a.bz2", f"{mirror.url}/a.bz2"]
        try:
            get(urls, tmp_path, sha256=sha256)
        except UserError as error:
            assert "\n" not in str(error)
            assert not (tmp_path / "out").exists()
        else:
            assert (tmp_path / "out").read_bytes() in (PACKED, PACKED if sha256 else CHANGED)
        # Whatever it left, another run with servers that work again gives the file.
        (tmp_path / "out").unlink(missing_ok=True)
        server.faults, server.content = [], PACKED
        get(urls, tmp_path, sha256=digest(PACKED))
        assert (tmp_path / "out").read_bytes() == PACKED


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_changed_file_is_taken_whole_or_not_at_all(server, tmp_path) -> None:
    server.faults = ["cut", "changed"]
    get([f"{server.url}/a"], tmp_path)
    assert (tmp_path / "out").read_bytes() == OTHER
    server.content, server.faults = CONTENT, ["cut", "changed"]
    with pytest.raises(UserError, match="instead of"):
        get([f"{server.url}/b"], tmp_path, sha256=SHA256)


def test_a_server_of_two_that_is_busy_leaves_it_open_whether_the_file_is_gone(
    server, tmp_path
) -> None:
    with Running() as mirror:
        server.faults, mirror.faults = ["404"] * 2, ["503"] * 60
        urls = [f"{server.url}/a", f"{mirror.url}/a"]
        with pytest.raises(UserError, match="HTTP 404.*, nor .*HTTP 503.*run again") as caught:
            get(urls, tmp_path)
    assert not isinstance(caught.value, UnavailableError)


# --- patience


def test_new_bytes_make_up_for_failures(server, tmp_path, monkeypatch) -> None:
    try_three_times(monkeypatch)
    server.faults = ["cut", "503"] * 4
    get([f"{server.url}/a"], tmp_path, sha256=SHA256)
    assert len(server.requests) == 9


@pytest.mark.parametrize("left", [CONTENT[:1000], b"x" * 1000, CONTENT, CONTENT + b"more"])
@pytest.mark.parametrize("known", [True, False])
def test_what_an_earlier_run_left_is_continued_or_thrown_away(
    server, tmp_path, left, known
) -> None:
    url = f"{server.url}/a"
    part = tmp_path / "cache" / f"{cache_name(url)}.part"
    part.parent.mkdir()
    part.write_bytes(left)
    get([url], tmp_path, sha256=SHA256 if known else None)
    assert (tmp_path / "out").read_bytes() == CONTENT
    assert starts(server)[0] == (len(left) if known else None)
    assert not part.exists()


def test_waits_grow_and_obey_the_server(server, tmp_path, waits) -> None:
    server.faults = ["429", "503", *["500, and a Retry-After that means nothing"] * 7]
    get([f"{server.url}/a"], tmp_path)
    assert waits == [7, 60, 4, 8, 16, 32, 60, 60, 60]


def test_many_parts_do_not_wait_for_a_busy_server_each_time(server, tmp_path) -> None:
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


# --- what a file must be


def test_a_compressed_file_that_is_called_encoded_stays_compressed(server, tmp_path) -> None:
    server.content = gzip.compress(CONTENT, 1)
    server.validators = {"Content-Encoding": "x-gzip"}
    get([f"{server.url}/a.gz"], tmp_path)
    assert (tmp_path / "out").read_bytes() == server.content


def test_a_file_of_another_size_is_refused_and_not_kept(server, tmp_path) -> None:
    with pytest.raises(UserError, match="has 1048576 bytes instead of 5") as caught:
        get([f"{server.url}/a"], tmp_path, size=5)
    assert not isinstance(caught.value, UnavailableError)
    assert not (tmp_path / "out").exists()
    assert list((tmp_path / "cache").iterdir()) == []


def test_any_published_checksum_is_compared(server, tmp_path) -> None:
    right = {name: hashlib.new(name, CONTENT).hexdigest() for name in ("sha1", "md5")}
    right["git"] = hashlib.sha1(b"blob 1048576\0" + CONTENT).hexdigest()
    for name, checksum in right.items():
        where = {"cache_dir": tmp_path / name}
        download([f"{server.url}/a"], expected=Expected(None, {name: checksum}), **where)
        wrong = Expected(None, {name: checksum[::-1]})
        with pytest.raises(UserError, match=f"{name} {checksum}"):
            download([f"{server.url}/b"], expected=wrong, **where)


# --- networks


def test_a_name_that_does_not_resolve_and_plain_http_are_said(server, tmp_path) -> None:
    with pytest.raises(UserError, match=r"\(the name of the server does not resolve\)"):
        get(["http://no-such-host.invalid/a"], tmp_path)
    with pytest.raises(UserError, match=r"\(answers without encryption at an https address\)"):
        get([f"https://{server.url.removeprefix('http://')}/a"], tmp_path)


class Proxy(http.server.BaseHTTPRequestHandler):
    """A proxy that opens no tunnel; without a status, it hangs up."""

    def do_CONNECT(self) -> None:  # noqa: N802
        if self.server.status:
            self.send_error(self.server.status)
        self.close_connection = True

    def log_message(self, *args) -> None:
        pass


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (403, "the proxy answers HTTP 403; ask who runs it"),
        (407, "the proxy answers HTTP 407; HTTPS_PROXY needs name and password"),
        (502, r"the proxy answers HTTP 502\)"),
        (None, r"the connection was cut\)"),
    ],
)
def test_a_proxy_that_refuses_is_said_and_is_not_the_server(
    tmp_path, monkeypatch, status, message
) -> None:
    with Running(Proxy) as proxy:
        proxy.status = status
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with pytest.raises(UserError, match=rf"\({message}") as caught:
            get(["https://a.invalid/a"], tmp_path)
    assert type(caught.value) is UserError
    assert ("run again later" in str(caught.value)) == (status in (502, None))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with pytest.raises(UserError, match=r"\(the proxy cannot be reached; see HTTPS_PROXY\)"):
        get(["https://a.invalid/a"], tmp_path)


def test_a_proxy_without_encryption_at_an_https_address_is_said(tmp_path, monkeypatch) -> None:
    with Running(Proxy) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("http:", "https:"))
        with pytest.raises(
            UserError, match=r"\(the proxy is not encrypted; write HTTPS_PROXY=http:"
        ):
            get(["https://a.invalid/a"], tmp_path)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("http://", "HTTPS_PROXY is not an address"),
        ("http://127.0.0.1:port", "this, or HTTPS_PROXY, is not an address"),
        ("http://me:sec/ret@127.0.0.1:9", "this, or HTTPS_PROXY, is not an address"),
        ("http://me:sec\u20acret@127.0.0.1:9", "the password in HTTPS_PROXY"),
        ("socks5://127.0.0.1:9", "the proxy cannot be reached; see HTTPS_PROXY|is not an address"),
    ],
)
def test_an_address_of_a_proxy_that_cannot_be_used_is_said_without_its_password(
    tmp_path, monkeypatch, address, message
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", address)
    with pytest.raises(UserError, match=message) as caught:
        get(["https://a.invalid/a"], tmp_path)
    assert "sec" not in str(caught.value) and "ret@" not in str(caught.value)
    assert "run again later" not in str(caught.value) or "be reached" in str(caught.value)


@pytest.mark.parametrize("contact", ["me\nyou", "\u20ac"])
def test_a_contact_that_is_no_header_is_named(server, tmp_path, monkeypatch, contact) -> None:
    monkeypatch.setattr(module, "_CONTACT", contact)
    monkeypatch.setitem(module._HEADERS, "User-Agent", f"sagevocab ({contact})")
    with pytest.raises(UserError, match="SAGEVOCAB_CONTACT cannot stand") as caught:
        get([f"{server.url}/a"], tmp_path)
    assert "run again later" not in str(caught.value)


def test_headers_that_are_malformed_bring_no_signed_address_into_the_log(
    server, tmp_path, monkeypatch, caplog
) -> None:
    broken = {"X-A": "1\r\nno colon"}
    monkeypatch.setitem(FAULTS, "broken", lambda handler: handler.reply(500, b"", broken))
    server.faults = ["broken"]
    get([f"{server.url}/a?X-Amz-Signature=abc"], tmp_path)
    assert "Failed to parse" not in caplog.text


@pytest.mark.parametrize(
    "text", [None, "", "text", BROKEN], ids=["none", "empty", "text", "broken"]
)
def test_certificates_that_cannot_be_used_are_said(server, tmp_path, monkeypatch, text) -> None:
    bundle = tmp_path / "bundle.pem"
    if text is not None:
        bundle.write_text(text)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    with pytest.raises(
        UserError, match=r"\(REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE has no cert"
    ) as caught:
        get([server.url.replace("http:", "https:")], tmp_path)
    assert "run again later" not in str(caught.value)


def test_an_authorization_goes_to_no_other_server_and_is_in_no_message(server, tmp_path) -> None:
    server.faults = ["expired signature"] * 60
    with pytest.raises(UserError) as caught:
        get([f"{server.url}/a"], tmp_path, headers={"Authorization": "Bearer secret"})
    assert "secret" not in str(caught.value)
    sent = {path: headers.get("Authorization") for path, headers in server.requests}
    assert sent == {"/a": "Bearer secret", "/signed?X-Amz-Signature=abc": None}


@pytest.mark.parametrize(
    ("code", "shown"), [("GatedRepo", True), ("hf_secret", False), ("secret1", False)]
)
def test_of_a_code_that_may_be_a_token_nothing_is_said(
    server, tmp_path, code, shown, monkeypatch
) -> None:
    answer = {"X-Error-Code": code}
    monkeypatch.setitem(FAULTS, "code", lambda handler: handler.reply(401, b"no", answer))
    server.faults = ["code"] * 2
    with pytest.raises(ForbiddenError) as caught:
        get([f"{server.url}/a"], tmp_path)
    assert (code in str(caught.value)) == shown


@pytest.mark.parametrize("token", ["hf_abc\u2026def", "hf_abc\ndef"])
def test_a_token_that_cannot_be_sent_is_one_line_without_it(server, tmp_path, token) -> None:
    with pytest.raises(UserError, match="see whether HF_TOKEN is whole") as caught:
        get([f"{server.url}/a"], tmp_path, headers={"Authorization": f"Bearer {token}"})
    assert "hf_abc" not in str(caught.value)


# --- the cache


def test_a_finished_download_is_not_fetched_again(server, tmp_path) -> None:
    get([f"{server.url}/a"], tmp_path)
    (tmp_path / "out").unlink()
    get([f"{server.url}/a"], tmp_path, sha256=SHA256, size=len(CONTENT))
    assert (tmp_path / "out").read_bytes() == CONTENT
    assert len(server.requests) == 1


@pytest.mark.parametrize("span", [None, (0, len(PACKED))], ids=["file", "span"])
@pytest.mark.parametrize(
    "damaged", [PACKED[:-9], PACKED[:9] + bytes(len(PACKED) - 9), b"", b"<html>"]
)
def test_a_copy_that_is_damaged_is_fetched_again(server, tmp_path, damaged, span) -> None:
    server.content, urls = PACKED, [f"{server.url}/a.bz2"]
    path = download(urls, cache_dir=tmp_path, span=span).path
    path.write_bytes(damaged)
    assert download(urls, cache_dir=tmp_path, span=span).path.read_bytes() == PACKED


def test_a_file_that_does_not_end_as_it_should_is_refused(server, tmp_path) -> None:
    server.content = bz2.compress(b"<a></a>\n")
    url = f"{server.url}/a.bz2"
    whole = download([url], cache_dir=tmp_path, expected=Expected(end=b"</a>"))
    assert whole.path.read_bytes() == server.content
    with pytest.raises(UserError, match="a part of the file: it does not end with </b>"):
        download([url], cache_dir=tmp_path, expected=Expected(end=b"</b>"))


@pytest.mark.parametrize(("folder", "readers"), [(0o750, 0o040), (0o755, 0o044), (0o700, 0)])
def test_a_download_is_readable_to_whom_its_folder_is(server, tmp_path, folder, readers) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(folder)
    before = os.umask(0o077)
    try:
        path = get([f"{server.url}/a"], tmp_path).path
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) & 0o044 == readers


@pytest.mark.parametrize(("above", "mode"), [(0o755, 0o755), (0o750, 0o750), (0o700, 0o700)])
def test_a_cache_that_is_made_can_be_read_by_whom_the_folder_above_can(
    server, tmp_path, above, mode
) -> None:
    tmp_path.chmod(above)
    before = os.umask(0o077)
    try:
        download([f"{server.url}/a"], cache_dir=tmp_path / "new/cache")
    finally:
        os.umask(before)
    for folder in ("new", "new/cache"):
        assert stat.S_IMODE((tmp_path / folder).stat().st_mode) == mode


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be two people")
def test_a_cache_that_another_person_keeps_to_themselves_is_one_line(server) -> None:
    url = f"{server.url}/a"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        cache = Path(folder) / "cache"
        download([url], cache_dir=cache)
        cache.chmod(0o700)

        def refused() -> None:
            with pytest.raises(UserError, match=r"cannot be read \(Permission.*`download_dir`"):
                download([url], cache_dir=cache)

        assert by_person(1002, 0o022, refused) == 0


def test_a_run_does_not_change_the_dates_of_another(server, tmp_path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    kept = get([f"{server.url}/a"], tmp_path).path
    publish(kept, first)
    for path in (kept, first):
        os.utime(path, (1e9, 1e9))
    publish(kept, second)
    assert second.read_bytes() == CONTENT
    assert [path.stat().st_mtime for path in (kept, first)] == [1e9, 1e9]
    assert second.stat().st_mtime > 1e9
    second.write_bytes(b"")
    assert kept.read_bytes() == CONTENT


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be two people")
@pytest.mark.parametrize("ending", [".part", ""], ids=["unfinished", "damaged"])
def test_what_another_person_left_and_nobody_can_replace_is_named(server, ending) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        cache.chmod(0o1777)
        url = f"{server.url}/a"
        left = cache / f"{cache_name(url)}{ending}"

        def refused() -> None:
            with pytest.raises(UserError, match=f"{left}: .* its owner can delete it"):
                download([url], cache_dir=cache, expected=Expected(len(CONTENT)))

        assert by_person(1001, 0o022, lambda: left.write_bytes(CONTENT[:9])) == 0
        assert by_person(1002, 0o022, refused) == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be two people")
@pytest.mark.parametrize("umask", [0o022, 0o077])
@pytest.mark.parametrize(("left", "mode"), [("lock", 0o777), ("lock", 0o1777), ("part", 0o777)])
def test_what_another_person_left_stops_nobody(server, left, mode, umask) -> None:
    url = f"{server.url}/a"
    with tempfile.TemporaryDirectory() as folder:  # pytest's is its user's alone
        cache = Path(folder)
        cache.chmod(mode)
        path = cache / cache_name(url)

        def leave() -> object:
            if left == "part":
                return path.with_name(f"{path.name}.part").write_bytes(CONTENT[:1000])
            lock = turn(path.with_name(f"{path.name}.lock"), print)
            lock.__enter__()
            return lock

        assert by_person(1001, umask, leave) == 0
        assert by_person(1002, umask, lambda: download([url], cache_dir=cache)) == 0
        assert path.read_bytes() == CONTENT
        assert not [*cache.glob("*.part")]


def by_person(number: int, umask: int, work: Callable[[], object]) -> int:
    """Do work as another person, whose process then is killed; return its status."""
    person = os.fork()
    if not person:
        try:
            os.umask(umask)
            os.setuid(number)
            left = work()  # noqa: F841
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(person, 0)[1]


def test_a_cache_that_cannot_be_written_is_one_line(server, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file: cannot be written \(File exists.*`download_dir`"):
        download([f"{server.url}/a"], cache_dir=tmp_path / "file")
