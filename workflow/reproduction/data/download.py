"""Files from the network: whole or not at all, checked, from the first address that gives them.

What a busy, slow or broken server withholds is asked for again with growing waits; what it
refuses, once more, seconds later. A cut download goes on where it ended if the file's checksum is
known, which shows whether the parts fit; else it starts over. Finished downloads stay in a cache,
which several people may share. A span of a file, such as a stream of a dump, is kept like a file.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import http.client
import logging
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import requests
import urllib3

from reproduction.resuming import turn
from sagevocab import __version__
from sagevocab.corpus.text import open_bytes
from sagevocab.errors import UserError, tell
from sagevocab.files import atomic_path

log = logging.getLogger(__name__)

ATTEMPTS = 10  # in a row without another block of the file
ATTEMPTS_UNANSWERED = 4  # the same, of a server that has never answered
LONGEST_WAIT_SECONDS = 60.0  # between attempts; the first wait is a second, each other twice that
SECOND_LOOK_SECONDS = 5.0  # until what was refused is asked for again
CONNECT_SECONDS = 10.0
PATIENCE_SECONDS = 60.0  # with an answer that brings less than SLOWEST bytes in them
SLOWEST = 10_000
REPORT_SECONDS = 30.0
_BLOCK = 1 << 16
_SHARE_BYTES = 0x40049409  # FICLONE of Linux
# Wikimedia's servers want to know whom to write to: https://meta.wikimedia.org/wiki/User-Agent_policy
_CONTACT = os.environ.get("SAGEVOCAB_CONTACT", "https://aclanthology.org/2023.eacl-main.45")
_HEADERS = {
    "User-Agent": f"sagevocab/{__version__} ({_CONTACT}) {requests.utils.default_user_agent()}",
    "Accept-Encoding": "identity",  # sizes and ranges count the bytes as they are stored
}

Span = tuple[int, int]  # the first byte to read and the one after the last
sleep = time.sleep  # tests have another


class UnavailableError(UserError):
    """Every server says, twice and seconds apart, that it has no such file."""


class ForbiddenError(UserError):
    """A server has the file, and does not give it to this user."""


class RefusedError(Exception):
    """This address does not give the file; the next one may."""

    def __init__(
        self, reason: str, *, gone: bool = False, forbidden: bool = False, lasting: bool = False
    ) -> None:
        """Say why.

        gone: the address has no such file. forbidden: it does not give the file to us. lasting: a
        setting of this machine is wrong, and time does not mend it.
        """
        super().__init__(reason)
        self.gone, self.forbidden, self.lasting = gone, forbidden, lasting


class PassingError(RefusedError):
    """The same address may give the file, or the rest of it, when asked again."""

    def __init__(self, reason: str, *, wait: float = 0.0) -> None:
        """Say why; wait: the seconds that the server asks for."""
        super().__init__(reason)
        self.wait = wait


@dataclass(frozen=True)
class Expected:
    """What is known of a file before it is fetched.

    checksums: name of a hash function (sha256, sha1, md5, or git for a blob's) -> hex digest.
    end: how its text ends, without white space; looked at where no checksum is known.
    check: reads a file, and raises RefusedError where it is not what it should be.
    """

    size: int | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)
    end: bytes = b""
    check: Callable[[Path], Any] | None = None


@dataclass(frozen=True)
class Fetched:
    """Where a file came from, its digest, and where it is on this machine."""

    url: str
    sha256: str
    path: Path


def download(
    urls: Sequence[str],
    *,
    cache_dir: Path,
    expected: Expected | None = None,
    span: Span | None = None,
    headers: Mapping[str, str] | None = None,
    offline: bool = False,
    advice: str = "download it by hand",
) -> Fetched:
    """Bring the file behind the first working one of `urls` to this machine.

    Args:
        urls: addresses of the same file, the best first.
        cache_dir: keeps finished and partial downloads.
        expected: what is known of the file.
        span: the part of the file that is wanted.
        headers: what is sent beside the usual; no redirect takes an authorization elsewhere.
        offline: whether no server may be asked for what is not in the cache.
        advice: what a user without that network can do; the end of the error message.

    Raises:
        UnavailableError: no server has the file.
        ForbiddenError: one does not give it to this user.
        UserError: one is busy, can't be reached, gives damaged or other data; or the cache can't be
            read or written.
    """
    wanted = expected or Expected()
    if span:
        wanted = Expected(span[1] - span[0])
    refusals: dict[str, RefusedError] = {}
    for url in _in_order(urls, cache_dir, span):
        path = cache_dir / cache_name(url, span)
        try:
            sha256 = _finished(path, url, wanted)
            if not sha256 and offline:
                raise RefusedError(f"HF_HUB_OFFLINE is set, and {cache_dir} lacks it; unset it")
            sha256 = sha256 or _fetched(path, _Request(url, span, headers or {}, wanted))
        except RefusedError as error:
            log.warning("%s: %s", url, error)
            refusals[url] = error
        else:
            if not span:
                log.info("%s: sha256 %s", url, sha256)
            return Fetched(url, sha256, path)
    raise _failure(refusals, advice)


def _in_order(urls: Sequence[str], cache_dir: Path, span: Span | None) -> list[str]:
    """Put addresses first whose file is here, and last those of servers that gave up just now."""
    return sorted(
        urls,
        key=lambda url: (
            # Not Path.is_file, which fails in a folder of another person's.
            not os.path.isfile(cache_dir / cache_name(url, span)),
            urlsplit(url).netloc in _exhausted,
        ),
    )


def _failure(refusals: Mapping[str, RefusedError], advice: str) -> UserError:
    """Return the error that names every address with its reason."""
    (first, reason), *others = refusals.items()
    failures = f"{first}: cannot be fetched ({reason})"
    failures += "".join(f", nor {url} ({error})" for url, error in others)
    if all(error.gone for error in refusals.values()):
        return UnavailableError(f"{failures}; {advice}")
    if any(error.forbidden for error in refusals.values()):
        return ForbiddenError(f"{failures}; {advice}")
    if all(error.lasting for error in refusals.values()):
        return UserError(f"{failures}; mend this, or {advice}")
    return UserError(f"{failures}; run again later, or {advice}")


@contextmanager
def disk_errors(place: Path, advice: str) -> Iterator[None]:
    """Turn a full or read-only disk into one line."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        room = "make room, or " if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise UserError(f"{place}: cannot be written ({reason}); {room}{advice}") from error


def publish(source: Path, output: Path) -> None:
    """Copy a file of the cache to its place; the copy is new by its date.

    Not by a hard link: the workflow looks at dates, and links of all runs have the same one. Where
    the file system can, both share their bytes until one changes; elsewhere they are on the disk
    twice.
    """
    with atomic_path(output) as temporary, source.open("rb") as file, temporary.open("wb") as copy:
        try:
            fcntl.ioctl(copy, _SHARE_BYTES, file.fileno())
        except OSError:
            shutil.copyfileobj(file, copy, 1 << 20)


# --- the cache


def cache_name(url: str, span: Span | None = None) -> str:
    """Return the name of a URL's file in the cache: mirrors with equal base names don't collide."""
    key = hashlib.sha256(url.encode()).hexdigest()[:16]
    base = Path(unquote(urlsplit(url).path)).name or "download"
    place = f".{span[0]}-{span[1]}" if span else ""
    return f"{key}-{base[-120:]}{place}"


def keep(path: Path, cache_dir: Path) -> None:
    """Put a copy of a download into another cache, if that can be written.

    Where another person's copy cannot be replaced, as in a folder like /tmp, it stands beside it.
    """
    for place in (cache_dir / path.name, cache_dir / f"{path.name}.{os.getuid()}"):
        try:
            _make_folder(cache_dir)
            with atomic_path(place) as copy:
                shutil.copyfile(path, copy)
                _make_readable(copy)
        except OSError as error:
            log.warning("%s: cannot be written (%s)", place, error.strerror)
        else:
            return


def kept_copies(url: str, cache_dir: Path) -> list[Path]:
    """Return the copies of a download that `keep` put there, the newest first."""
    name = re.compile(rf"{re.escape(cache_name(url))}(\.\d+)?")
    try:
        copies = [path for path in cache_dir.iterdir() if name.fullmatch(path.name)]
        return sorted(copies, key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return []


def _fetched(path: Path, request: _Request) -> str:
    """Bring a whole file to its place in the cache; return its SHA-256."""
    expected = request.expected
    with disk_errors(path.parent, "set `download_dir` to another folder"):
        _make_folder(path.parent)
        lock = path.with_name(f"{path.name}.lock")
        with turn(lock, lambda holder: log.info("%s: process %s fetches it", path, holder)):
            # Who held the lock before may have fetched it.
            if sha256 := _finished(path, request.url, expected):
                return sha256
            part = path.with_name(f"{path.name}.part")
            # Without a checksum, nothing would show that a rest is of another file.
            if not expected.checksums or not os.access(part, os.W_OK):
                with _of_another_person(part):
                    part.unlink(missing_ok=True)
            sha256 = request.receive_all(part)
            _make_readable(part)
            with _of_another_person(path):
                part.replace(path)
    return sha256


@contextmanager
def _of_another_person(file: Path) -> Iterator[None]:
    """Name a damaged or unfinished file that cannot be replaced, as in a folder like /tmp."""
    try:
        yield
    except PermissionError as error:
        raise UserError(
            f"{file}: another person's damaged or unfinished download cannot be replaced; its "
            "owner can delete it, or set `download_dir` to another folder"
        ) from error


def _finished(path: Path, url: str, expected: Expected) -> str | None:
    """Return the SHA-256 of a finished download; None if there is none, or not of this file."""
    try:
        return _checked(path, url, expected)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except RefusedError as error:
        log.warning("%s: %s; it is fetched again", path, error)
        return None
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); its owner can make it readable, or set "
            "`download_dir` to another folder"
        ) from error


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are missing; others can read it as files."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _make_readable(folder)


def _make_readable(path: Path) -> None:
    """Let those read a file or folder who can read the one above, whatever the umask."""
    bits = 0o055 if path.is_dir() else 0o044
    with suppress(PermissionError):  # of another person, who began the download
        path.chmod(path.stat().st_mode | path.parent.stat().st_mode & bits)


# --- what a file must be

_MAGIC = {
    ".bz2": b"BZh",
    ".gz": b"\x1f\x8b",
    ".xz": b"\xfd7zXZ\x00",
    ".zst": b"\x28\xb5\x2f\xfd",
}
_WEB_PAGE = re.compile(rb"\s*(<!--.*?-->\s*)?<(!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)


def _checked(path: Path, url: str, expected: Expected) -> str:
    """Return the SHA-256 of a file that has the expected content; refuse another.

    Where nobody published a checksum, a compressed file is read to its end.
    """
    suffix = Path(urlsplit(url).path).suffix
    with path.open("rb") as file:
        start = file.read(1024)
    if _WEB_PAGE.match(start) and not suffix.startswith(".htm"):
        raise RefusedError("gives a web page instead of the file")
    sha256 = _compared(path, expected)
    if expected.checksums:
        return sha256
    if not start:
        raise RefusedError("gives an empty file")
    if not start.startswith(_MAGIC.get(suffix, b"")):
        raise RefusedError(f"gives something else than a {suffix} file")
    end = b""
    try:
        with open_bytes(path) as file:
            while block := file.read(1 << 20):
                end = (end + block)[-1024:]
    except UserError as error:
        raise RefusedError("gives a file that breaks off or is damaged") from error
    if not end.rstrip().endswith(expected.end):
        raise RefusedError(
            f"gives a part of the file: it does not end with {expected.end.decode()}"
        )
    return sha256


def _compared(path: Path, expected: Expected) -> str:
    """Return the SHA-256 of a file; refuse another size, digest or content than expected."""
    size = path.stat().st_size
    if expected.size not in (None, size):
        raise RefusedError(f"has {size} bytes instead of {expected.size}")
    digests = {name: _hash(name, size) for name in {"sha256", *expected.checksums}}
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            for digest in digests.values():
                digest.update(block)
    for name, wanted in expected.checksums.items():
        if (found := digests[name].hexdigest()) != wanted.lower():
            raise RefusedError(f"has {name} {found} instead of {wanted}")
    if expected.check:
        expected.check(path)
    return digests["sha256"].hexdigest()


def _hash(name: str, size: int) -> Any:
    return hashlib.sha1(b"blob %d\0" % size) if name == "git" else hashlib.new(name)


# --- attempts


class _Session(requests.Session):
    """Sends an authorization that is given, and not one of ~/.netrc in its place."""

    def rebuild_auth(self, request: requests.PreparedRequest, response: requests.Response) -> None:
        """Keep it for an address of the same server that the server sends to, as for the first."""
        given = request.headers.get("Authorization")
        super().rebuild_auth(request, response)
        if given and not self.should_strip_auth(response.request.url, request.url):
            request.headers["Authorization"] = given


def _as_given(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


# It quotes signed addresses where headers are malformed.
logging.getLogger("urllib3").setLevel(logging.ERROR)
# One for all requests, since it keeps connections open: some servers refuse many new ones in a row.
_session = _Session()
_answered: set[str] = set()  # servers that have answered this process
_exhausted: set[str] = set()  # servers whose last request used up all attempts


def _note_answer(response: requests.Response, **_options: Any) -> None:
    """Note that a server answers, so that its failures are met with more patience.

    A redirect is an answer, too, whether or not the server that it names gives one.
    """
    _answered.add(urlsplit(response.url).netloc)


_session.hooks["response"] = _note_answer


@dataclass(frozen=True)
class _Request:
    """What is asked for: a file, or a span of it."""

    url: str
    span: Span | None
    headers: Mapping[str, str]
    expected: Expected

    def receive_all(self, part: Path) -> str:
        """Bring `part` to the whole file and return its SHA-256.

        Raises:
            RefusedError: the address refused twice, or it failed too often.
        """
        server, most, failures, refused = urlsplit(self.url).netloc, _size(part), 0, False
        while True:
            try:
                self._receive(part)
                sha256 = _checked(part, self.url, self.expected)
            except PassingError as error:
                failures = 1 if _size(part) >= most + _BLOCK else failures + 1
                most = max(most, _size(part))
                if failures >= (ATTEMPTS if server in _answered else ATTEMPTS_UNANSWERED):
                    _exhausted.add(server)
                    raise
                reason, wait = (
                    error,
                    min(max(error.wait, 2.0 ** (failures - 1)), LONGEST_WAIT_SECONDS),
                )
            except RefusedError as error:
                # One machine of many may lack a file for a moment, or show a page for an hour.
                part.unlink(missing_ok=True)
                if refused:
                    raise
                refused, reason, wait = True, error, SECOND_LOOK_SECONDS
            else:
                _exhausted.discard(server)
                return sha256
            if not self.expected.checksums:
                part.unlink(missing_ok=True)
            log.info("%s: %s; next attempt in %.0f s", self.url, reason, wait)
            sleep(wait)

    def _receive(self, part: Path) -> None:
        """Ask once and append what comes to `part`, which begins as the file or its span does.

        Raises:
            RefusedError: the address does not give this file.
            PassingError: it did not give all of it; what came is kept.
        """
        first, end = self.span or (0, None)
        begin = first + _size(part)
        asked = {"Range": f"bytes={begin}-{end - 1 if end else ''}"}
        with _Pace() as pace, self._answer(asked if begin or self.span else {}) as response:
            if response.status_code == 416 and part.exists():
                return  # nothing is left to come; the checksum decides
            self._check_encoding(response)
            total = self._total(response, part, begin)
            wanted = end - first if end else total
            blocks = iter(lambda: response.raw.read1(_BLOCK, decode_content=False), b"")
            reported = _reported(blocks, part.name.removesuffix(".part")[17:], wanted)
            with part.open("ab" if response.status_code == 206 else "wb") as file:
                for block in reported:
                    file.write(block)
                    pace.came += len(block)
        if wanted is not None and _size(part) != wanted:
            problem = f"the connection was cut at byte {_size(part)} of {wanted}"
            if _size(part) > wanted:
                part.unlink()
                problem = f"gives more than the {wanted} bytes that it announces"
            raise PassingError(problem)

    @contextmanager
    def _answer(self, asked: Mapping[str, str]) -> Iterator[requests.Response]:
        """Ask once; failures of the network and of the server become the errors of this module."""
        headers = {**_HEADERS, **self.headers, **asked}
        options = {"stream": True, "timeout": (CONNECT_SECONDS, None)}
        if "Authorization" in self.headers:
            options["auth"] = _as_given
        with _network_errors(OSError):  # of certificates; later ones are of this machine's disk
            response = _session.get(self.url, headers=headers, **options)
        with _network_errors(), response:
            self._check_status(response)
            yield response

    def _check_status(self, response: requests.Response) -> None:
        """Raise the error of this module that an answer's status stands for, if it is one."""
        status = response.status_code
        if status in (200, 206) or (status == 416 and "Range" in response.request.headers):
            return
        reason = f"HTTP {status} {http.client.responses.get(status, '')}".strip()
        # Texts of the server's may quote a token; the hub has a code, too.
        if re.fullmatch("[A-Za-z]{1,40}", code := response.headers.get("X-Error-Code", "")):
            reason += f", {code}"
        elsewhere = urlsplit(response.url).netloc != urlsplit(self.url).netloc
        if elsewhere:
            reason += " from the storage behind it"
        if elsewhere and status in (401, 403):  # a signed address is valid for a while only
            raise PassingError(reason)
        if status in (202, 408, 421, 425, 429) or status >= 500:
            raise PassingError(reason, wait=_retry_after(response))
        if status == 407:
            raise RefusedError(_refused_by_proxy(407), lasting=True)
        # The server has what its storage lacks.
        gone = status in (404, 410, 451) and not elsewhere
        raise RefusedError(reason, gone=gone, forbidden=status in (401, 403))

    def _total(self, response: requests.Response, part: Path, begin: int) -> int | None:
        """Return the size of the whole file; None if the answer does not tell.

        An answer that does not continue `part` makes the download start over.
        """
        if response.status_code == 200:
            if self.span:
                raise RefusedError("gives no parts of the file", gone=True)
            length = response.headers.get("Content-Length", "")
            return int(length) if length.isdigit() else None
        given = re.match(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
        if given and int(given[1]) == begin:
            return None if given[2] == "*" else int(given[2])
        part.unlink(missing_ok=True)
        raise PassingError("answers another part than was requested")

    def _check_encoding(self, response: requests.Response) -> None:
        """Refuse a file that was compressed on the way, though nobody asked for it.

        Some call a file encoded that is stored compressed: a .gz `x-gzip`, a .zst `zstd`.
        """
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        suffix = Path(urlsplit(self.url).path).suffix.removeprefix(".")
        stored = bool(suffix) and encoding.removeprefix("x-").startswith(suffix)
        if encoding not in ("", "identity") and not stored:
            raise RefusedError("compresses the file on the way, unasked")


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


class _Pace:
    """Gives up an answer that brings less than SLOWEST bytes in PATIENCE_SECONDS.

    By an alarm: the time limit of a connection begins anew with each byte, also of a header or a
    redirect.
    """

    def __init__(self) -> None:
        """Begin with no byte."""
        self.came = self._before = 0

    def __enter__(self) -> _Pace:
        """Set the alarm; only the main thread can."""
        self._handler = signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_SECONDS, PATIENCE_SECONDS)
        return self

    def __exit__(self, *_error: object) -> None:
        """Clear it."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._handler)

    def _look(self, *_alarm: object) -> None:
        came = self.came - self._before
        if came < SLOWEST:
            raise PassingError(f"sent {came} bytes of it in {PATIENCE_SECONDS:.0f} s")
        self._before = self.came


def _reported(blocks: Iterable[bytes], name: str, total: int | None) -> Iterator[bytes]:
    """Yield blocks, and say from time to time how much came."""
    whole = "" if total is None else f" of {total / 1e6:,.0f} MB"
    came, before, reported = 0, 0, time.monotonic()
    for block in blocks:
        yield block
        came += len(block)
        seconds = time.monotonic() - reported
        if seconds < REPORT_SECONDS:
            continue
        rate = (came - before) / seconds / 1e6
        line = f"{name}: {came / 1e6:,.0f} MB{whole}, {rate:.1f} MB/s"
        log.info("%s", line)
        tell(line)
        before, reported = came, time.monotonic()


def _retry_after(response: requests.Response) -> float:
    """Return the seconds to wait that a server asks for, as a number or as a date."""
    try:
        return urllib3.Retry().get_retry_after(response) or 0.0
    except (urllib3.exceptions.InvalidHeader, *_ODD):
        return 0.0


_ODD = (ValueError, OverflowError)  # of addresses and headers, such as that of a redirect
_NO_HEADER = "InvalidHeader|UnicodeEncodeError"
_ENDLESS = "TooManyRedirects"  # which the server can mend, and no setting here
# What the errors of a failed attempt are called or say -> what went wrong. The messages themselves
# have signed addresses in them.
_LASTING = {
    "appears to only use HTTP": "the proxy is not encrypted; write HTTPS_PROXY=http://HOST:PORT",
    _ENDLESS: "redirects without end",
    "invalid path|NO_CERTIFICATE|PEM lib": "REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE has no "
    "certificates; name the file of your network's, or unset it",
    "CERTIFICATE_VERIFY_FAILED": "its certificate cannot be verified; see REQUESTS_CA_BUNDLE",
    "WRONG_VERSION_NUMBER|HTTP_REQUEST": "answers without encryption at an https address",
    "InvalidProxyURL": "HTTPS_PROXY is not an address; write http://HOST:PORT",
    "InvalidURL|InvalidSchema|MissingSchema|LocationParseError": "this, or HTTPS_PROXY, is "
    "not an address",
    _NO_HEADER: "a header cannot be sent; see whether HF_TOKEN is "
    "whole, and the password in HTTPS_PROXY",
}
_PASSING = {
    "SOCKS|ProxyError.*(NewConnectionError|ConnectTimeout|NameResolutionError)": "the proxy "
    "cannot be reached; see HTTPS_PROXY",
    "ProxyError": "the proxy cut the connection",
    "gaierror|NameResolutionError": "the name of the server does not resolve",
    "Timeout": "no answer in time",
    "ProtocolError|IncompleteRead": "the connection was cut",
    "": "no connection",
}


def _is_header(text: str) -> bool:
    return text.isprintable() and text == text.encode("latin-1", "replace").decode("latin-1")


def _refused_by_proxy(status: int) -> str:
    ways_out = {
        403: "; ask who runs it to let this server through",
        407: "; HTTPS_PROXY needs name and password, http://NAME:PASSWORD@HOST",
    }
    return f"the proxy answers HTTP {status}{ways_out.get(status, '')}"


@contextmanager
def _network_errors(*more: type[Exception]) -> Iterator[None]:
    """Turn failures of the network, and others, into the errors of this module."""
    try:
        yield
    except (requests.RequestException, urllib3.exceptions.HTTPError, *_ODD, *more) as error:
        raise _network_error(error) from error


def _network_error(error: Exception) -> RefusedError:
    """Return the error of this module that a failure of the network stands for."""
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    text = " ".join(f"{type(cause).__name__}: {cause}" for cause in causes)
    if refusal := re.search(r"Tunnel connection failed: (\d{3})", text):
        reason = _refused_by_proxy(int(refusal[1]))
        is_busy = refusal[1].startswith("5")
        return PassingError(reason) if is_busy else RefusedError(reason, lasting=True)
    for sign, reason in _LASTING.items():
        if re.search(sign, text):
            if sign == _NO_HEADER and not _is_header(_CONTACT):
                reason = "SAGEVOCAB_CONTACT cannot stand in a header; write an address in one line"
            return RefusedError(reason, lasting=sign != _ENDLESS)
    if isinstance(error, _ODD):
        return RefusedError("answers with a header that means nothing")
    return PassingError(next(reason for sign, reason in _PASSING.items() if re.search(sign, text)))
