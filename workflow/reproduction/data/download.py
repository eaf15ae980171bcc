"""Files from the network: whole or not at all, checked, from the first address that gives them.

Every address is tried again with patience. The bytes received stay in `NAME.part`, with what the
server said of the file (ETag or date, size) beside them. The next attempt asks for the rest and
joins it only if the answer is about the same file and begins at the right byte; otherwise it starts
over. Finished downloads stay in a cache. A span of a file, such as a stream of a dump, is fetched
and kept like a file of its own.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import requests
import urllib3

from sagevocab import __version__
from sagevocab.compression import DAMAGE, open_bytes
from sagevocab.errors import UserError, tell
from sagevocab.state import atomic_path, turn

log = logging.getLogger(__name__)

ATTEMPTS = 10  # in a row without one new byte
ATTEMPTS_UNANSWERED = 4  # the same, of a server that has never answered
FIRST_WAIT_SECONDS = 1.0  # doubled after each such attempt
LONGEST_WAIT_SECONDS = 60.0
TIMEOUT_SECONDS = (10, 60)  # to connect, between two blocks
REPORT_SECONDS = 30.0  # between two lines about rate and time left
_BLOCK = 1 << 16  # the most that a cut loses
# Wikimedia's servers want to know whom to write to: https://meta.wikimedia.org/wiki/User-Agent_policy
_CONTACT = os.environ.get("SAGEVOCAB_CONTACT", "https://aclanthology.org/2023.eacl-main.45")
_HEADERS = {
    "User-Agent": f"sagevocab/{__version__} ({_CONTACT}) {requests.utils.default_user_agent()}",
    "Accept-Encoding": "identity",  # sizes and ranges count the bytes as they are stored
}

T = TypeVar("T")
# The first byte to read and the one after the last; None: to the end of the file.
Span = tuple[int, int | None]
sleep = time.sleep  # tests put another clock here


class UnavailableError(UserError):
    """No server has the file, and none will have it tomorrow: other data may be a way out."""


class RefusedError(Exception):
    """This address does not give the file; the next one may."""

    def __init__(self, reason: str, *, gone: bool = False, forbidden: bool = False) -> None:
        """Say why.

        gone: the address has no such file, and won't have it tomorrow. forbidden: it does not give
        the file to us.
        """
        super().__init__(reason)
        self.gone, self.forbidden = gone, forbidden


class PassingError(Exception):
    """The same address may give the file, or the rest of it, when asked again."""

    def __init__(self, reason: str, *, wait: float = 0.0) -> None:
        """Say why; wait: the seconds that the server asks for."""
        super().__init__(reason)
        self.wait = wait


@dataclass(frozen=True)
class Expected:
    """What is known of a file before it is fetched.

    checksums: name of a hash function (sha256, sha1, md5) -> hex digest.
    """

    size: int | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)

    def check_size(self, found: int | None) -> None:
        """Refuse a file of another size; None stands for one that is not known yet."""
        if found is not None and self.size is not None and found != self.size:
            raise RefusedError(f"has {found} bytes instead of {self.size}")


@dataclass(frozen=True)
class Fetched:
    """Where a file came from, its digest, its size in bytes, and where it is on this machine."""

    url: str
    sha256: str
    size: int
    path: Path


def download(
    urls: Sequence[str],
    *,
    cache_dir: Path,
    expected: Expected | None = None,
    span: Span | None = None,
    advice: str = "download it by hand",
) -> Fetched:
    """Bring the file behind the first working one of `urls` (http, https, file) to this machine.

    cache_dir: keeps finished and partial downloads. span: the part of the file that is wanted, of
    a server. advice: what a user without that network can do; the end of the error message.

    Raises:
        UnavailableError: no server has the file, or has what the checksum says.
        UserError: one is busy, can't be reached, gives damaged data or nothing to us; or a disk is
            full.
    """
    wanted = expected or Expected()
    if span and span[1] is not None:
        wanted = Expected(span[1] - span[0])
    refusals: dict[str, RefusedError] = {}
    for url in _in_order(urls, Path(cache_dir), span):
        try:
            if urlsplit(url).scheme == "file":
                path = _local_file(url)
                sha256 = _checked(path, url, wanted)
            else:
                path = Path(cache_dir) / cache_name(url, span)
                sha256 = _cached(path, url, wanted, span)
        except RefusedError as error:
            log.warning("%s: %s", url, error)
            refusals[url] = error
        else:
            size = path.stat().st_size
            if not span:
                log.info("%s: %d bytes, sha256 %s", url, size, sha256)
            return Fetched(url, sha256, size, path)
    raise failure(refusals, advice)


def _in_order(urls: Iterable[str], cache_dir: Path, span: Span | None) -> list[str]:
    """Put addresses first whose file is here, and last those of servers that gave up just now."""
    return sorted(
        urls,
        key=lambda url: (
            not (cache_dir / cache_name(url, span)).is_file(),
            urlsplit(url).netloc in _exhausted,
        ),
    )


def failure(refusals: Mapping[str, RefusedError], advice: str) -> UserError:
    """Return the error that names every address with its reason."""
    (first, reason), *others = refusals.items()
    failures = f"{first}: cannot be fetched ({reason})"
    failures += "".join(f", nor {url} ({error})" for url, error in others)
    if all(error.gone for error in refusals.values()):
        return UnavailableError(f"{failures}; {advice}")
    later = not any(error.forbidden for error in refusals.values())
    return UserError(f"{failures}; {'run again later, or ' if later else ''}{advice}")


@contextmanager
def disk_errors(place: str | Path, advice: str) -> Iterator[None]:
    """Turn a full or read-only disk into one line."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise UserError(f"{place}: cannot be written ({reason}); {advice}") from error


def publish(source: Path, output: Path, *, may_link: bool = True) -> None:
    """Put a file of the cache to its place, by a hard link where that is possible and allowed.

    Raises:
        UserError: it can't be written there.
    """
    advice = "make room, or run in a folder that can be written (snakemake --directory)"
    with disk_errors(output, advice), atomic_path(output) as temporary:
        try:
            if not may_link:
                raise OSError("a copy is wanted")
            os.link(source.resolve(), temporary)  # the hub's client keeps links to its files
            # An old date would hide from the workflow that the file is new to it.
            os.utime(temporary)
        except OSError:
            temporary.unlink(missing_ok=True)
            shutil.copyfile(source, temporary)


def _local_file(url: str) -> Path:
    path = Path(url2pathname(unquote(urlsplit(url).path)))
    if not path.is_file():
        raise RefusedError("no such file", gone=True)
    return path


# --- the cache


def cache_name(url: str, span: Span | None = None) -> str:
    """Return the name of a URL's file in the cache: mirrors with equal base names don't collide."""
    key = hashlib.sha256(url.encode()).hexdigest()[:16]
    base = Path(unquote(urlsplit(url).path)).name or "download"
    place = f".{span[0]}-{span[1] or 'end'}" if span else ""
    return f"{key}-{base[-120:]}{place}"


def _cached(path: Path, url: str, expected: Expected, span: Span | None) -> str:
    """Bring a whole file to its place in the cache, unless it is there; return its SHA-256."""
    if sha256 := _finished(path, url, expected):
        return sha256
    with disk_errors(path.parent, "make room or set `download_dir`"):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.with_name(f"{path.name}.lock")
        with turn(lock, lambda holder: log.info("%s: process %s fetches it", url, holder)):
            if sha256 := _finished(path, url, expected):
                return sha256
            part = _Part(path.with_name(f"{path.name}.part"))
            sha256 = _received(url, part, expected, span)
            part.path.replace(path)
            part.drop()
    return sha256


def _finished(path: Path, url: str, expected: Expected) -> str | None:
    """Return the SHA-256 of a finished download; None if there is none, or not of this file."""
    try:
        return _compared(path, expected)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except RefusedError as error:
        log.warning("%s: %s; it is fetched again from %s", path, error, url)
        return None


def _received(url: str, part: _Part, expected: Expected, span: Span | None) -> str:
    """Bring `part` to the whole file and return its SHA-256; start over once if it is another."""
    for first in (True, False):
        patiently(url, lambda: _receive(url, part, expected, span), lambda: part.size)
        try:
            return _checked(part.path, url, expected)
        except RefusedError as error:
            part.drop()
            _redirected.pop(url, None)
            if not first:
                raise
            log.warning("%s: %s; starting over", url, error)
    raise AssertionError("two attempts end in a file or an error")


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
    if not start.startswith(_MAGIC.get(suffix, b"")):
        raise RefusedError(f"gives something else than a {suffix} file")
    try:
        with open_bytes(path) as file:
            while file.read(1 << 20):
                pass
    except DAMAGE as error:
        raise RefusedError(f"gives a file that breaks off or is damaged ({error})") from error
    return sha256


def _compared(path: Path, expected: Expected) -> str:
    """Return the SHA-256 of a file; refuse another size or digest than expected."""
    expected.check_size(path.stat().st_size)
    digests = {name: hashlib.new(name) for name in {"sha256", *expected.checksums}}
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            for digest in digests.values():
                digest.update(block)
    for name, wanted in expected.checksums.items():
        if (found := digests[name].hexdigest()) != wanted.lower():
            raise RefusedError(f"has {name} {found} instead of {wanted}", gone=True)
    return digests["sha256"].hexdigest()


# --- attempts

# One for all requests, since it keeps connections open: some servers refuse many new ones in a row.
_session = requests.Session()
_answered: set[str] = set()  # servers that have answered this process
_exhausted: set[str] = set()  # servers whose last request used up all attempts
_redirected: dict[str, str] = {}  # where an address led that gave a span of its file


def answered(url: str) -> None:
    """Note that a server answers, so that its failures are met with more patience."""
    _answered.add(urlsplit(url).netloc)


# A redirect is an answer, too, whether or not the server that it names gives one.
_session.hooks["response"] = lambda response, **_: answered(response.url)


def patiently(url: str, attempt: Callable[[], T], size: Callable[[], int] = lambda: 0) -> T:
    """Return what an attempt gives; repeat one that fails, with growing waits, while that may help.

    size: bytes received so far. More of them than ever before make up for the failures.

    Raises:
        RefusedError: as the attempt, or it failed too often.
    """
    server, most, failures = urlsplit(url).netloc, size(), 0
    while True:
        try:
            result = attempt()
        except PassingError as error:
            failures = 1 if size() > most else failures + 1
            most = max(most, size())
            if failures >= (ATTEMPTS if server in _answered else ATTEMPTS_UNANSWERED):
                _exhausted.add(server)
                raise RefusedError(str(error)) from error
            wait = max(error.wait, FIRST_WAIT_SECONDS * 2 ** (failures - 1))
            wait = min(wait, LONGEST_WAIT_SECONDS)
            log.info("%s: %s; next attempt in %.0f s", url, error, wait)
        else:
            _exhausted.discard(server)
            return result
        sleep(wait)


@contextmanager
def _response(url: str, **headers: str) -> Iterator[requests.Response]:
    """Ask once; failures of the network and of the server become the errors of this module."""
    options = {"headers": _HEADERS | headers, "stream": True, "timeout": TIMEOUT_SECONDS}
    address = _redirected.pop(url, url)
    try:
        with _session.get(address, **options) as response:
            check_status(address, response.status_code, response.reason, response.headers)
            yield response
    except (RefusedError, requests.exceptions.SSLError, ValueError) as error:  # ValueError: no URL
        if address != url:  # where a redirect led may be for a while only
            raise PassingError(_reason(error)) from error
        raise error if isinstance(error, RefusedError) else RefusedError(_reason(error)) from error
    except _NETWORK_ERRORS as error:
        raise PassingError(_reason(error)) from error


_NETWORK_ERRORS = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    ConnectionError,
    TimeoutError,
)
_REASONS = (
    (requests.exceptions.SSLError, "its certificate cannot be verified"),
    (requests.exceptions.ProxyError, "the proxy cannot be reached"),
    ((requests.Timeout, urllib3.exceptions.TimeoutError, TimeoutError), "no answer in time"),
    (requests.exceptions.TooManyRedirects, "redirects without end"),
    (urllib3.exceptions.DecodeError, "its compression is damaged"),
    (urllib3.exceptions.ProtocolError, "the connection was cut"),
    ((requests.ConnectionError, ConnectionError), "no connection"),
)


def _reason(error: BaseException) -> str:
    """Say what went wrong in a few words; the messages of `requests` are nested and long."""
    known = (reason for kind, reason in _REASONS if isinstance(error, kind))
    return next(known, None) or (str(error).splitlines() or [type(error).__name__])[0]


def check_status(url: str, status: int, phrase: str, headers: Mapping[str, str]) -> None:
    """Raise the error of this module that an answer's status stands for, if it is one."""
    answered(url)
    if status in (200, 206, 416):
        return
    reason = f"HTTP {status} {phrase}"
    if status in (408, 425, 429) or status >= 500:
        raise PassingError(reason, wait=_retry_after(headers.get("Retry-After", "")))
    # The Hugging Face hub says more in a header.
    reason = ": ".join(filter(None, (reason, headers.get("X-Error-Message"))))
    raise RefusedError(reason, gone=status in (404, 410, 451), forbidden=status in (401, 403))


def _retry_after(value: str) -> float:
    """Return the seconds to wait that a server asks for, as a number or as a date."""
    try:
        return urllib3.Retry().parse_retry_after(value)
    except urllib3.exceptions.InvalidHeader:
        return 0.0


# --- a whole file


@dataclass(frozen=True)
class _Part:
    """The bytes received of a file, and beside them what the server said of it."""

    path: Path

    @property
    def size(self) -> int:
        """How many bytes are there."""
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def _said(self) -> Path:
        return self.path.with_name(f"{self.path.name}.validator")

    @property
    def said(self) -> tuple[str, str]:
        """A strong ETag, else the date of the last change; the size. Empty if not known."""
        text = self._said.read_text(encoding="utf-8") if self._said.exists() else ""
        tag, _, total = text.partition("\n")
        return tag, total

    def keep(self, tag: str, total: int | None) -> None:
        """Note what the server says of the file; without a tag, nothing."""
        self._said.unlink(missing_ok=True)
        if tag:
            self._said.write_text(f"{tag}\n{total or ''}", encoding="utf-8")

    def drop(self) -> None:
        """Delete it, and what is known of it."""
        self.path.unlink(missing_ok=True)
        self._said.unlink(missing_ok=True)


def _receive(url: str, part: _Part, expected: Expected, span: Span | None) -> None:
    """Ask once and append what comes to `part`; a span, which is small, starts over each time.

    Raises:
        RefusedError: the address does not give this file.
        PassingError: it did not give all of it; what came is kept if the rest may be joined to it.
    """
    tag, _ = part.said
    # Without a tag and a checksum, nothing would show that a rest is of another file.
    if span or not (tag or expected.checksums):
        part.drop()
    first, end = span or (0, None)
    begin = first + part.size
    asked = {"Range": f"bytes={begin}-{'' if end is None else end - 1}"} if begin or span else {}
    asked |= {"If-Range": tag} if part.size and tag else {}
    with _response(url, **asked) as response:
        if span and response.status_code != 206:
            raise RefusedError("gives no parts of the file", gone=True)
        if response.status_code == 416:
            _settle_unsatisfiable(response, part)
            return
        is_encoded = _is_encoded(response, url)
        start, total = _place(response, part, first, is_encoded=is_encoded)
        if end is None:
            try:
                expected.check_size(total)
            except RefusedError:
                part.drop()
                raise
        part.keep("" if is_encoded else _tag_of(response), total)
        rate = _Rate(part.path.name.removesuffix(".part")[17:], start, total)
        with part.path.open("ab" if start else "wb") as file:
            for block in response.raw.stream(_BLOCK, decode_content=is_encoded):
                file.write(block)
                rate.add(len(block))
        if span:
            _redirected[url] = response.url
    wanted = total if total and end is None else expected.size
    size = part.size
    if wanted is not None and size > wanted:
        part.drop()
        raise PassingError(f"gave {size} bytes where {wanted} were announced")
    if wanted is not None and size < wanted:
        raise PassingError(f"the connection was cut at byte {size} of {wanted}")


def _place(
    response: requests.Response, part: _Part, first: int, *, is_encoded: bool
) -> tuple[int, int | None]:
    """Return how many bytes of `part` an answer continues, and how many there are from `first` on.

    An answer that does not fit what is there makes the download start over.
    """
    if response.status_code == 200:
        length = response.headers.get("Content-Length", "")
        return 0, int(length) if length.isdigit() and not is_encoded else None
    have = part.size
    given = re.match(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
    if given is None or is_encoded:
        problem = "answers a part without saying which"
    elif int(given[1]) != first + have:
        problem = f"answers from byte {given[1]} instead of {first + have}"
    else:
        total = None if given[2] == "*" else int(given[2]) - first
        if not (have and _has_changed(part, _tag_of(response), total)):
            return have, total
        problem = "the file was changed meanwhile"
    part.drop()
    raise PassingError(problem)


def _has_changed(part: _Part, tag: str, total: int | None) -> bool:
    """Whether the rest that a server sends is of another file: not all obey If-Range.

    An answer to If-Range repeats an ETag, but need not repeat a date.
    """
    known_tag, known_total = part.said
    other_tag = tag != known_tag and bool(tag or known_tag.startswith('"'))
    other_size = bool(known_total) and total is not None and known_total != str(total)
    return bool(known_tag) and (other_tag or other_size)


def _tag_of(response: requests.Response) -> str:
    tag = response.headers.get("ETag", "")
    strong = "" if tag.startswith("W/") else tag
    return strong or response.headers.get("Last-Modified", "")


def _settle_unsatisfiable(response: requests.Response, part: _Part) -> None:
    """The server has nothing to add: `part` is whole, or it is no part of this file."""
    total = response.headers.get("Content-Range", "").rpartition("/")[2]
    if total != str(part.size):
        part.drop()
        raise PassingError("the partial download no longer fits the file")


# What some servers call the compression of a file that is stored so.
_STORED = {".gz": ("gzip", "x-gzip"), ".bz2": ("x-bzip2",), ".xz": ("x-xz",), ".zst": ("zstd",)}


def _is_encoded(response: requests.Response, url: str) -> bool:
    """Whether the server compressed the file on the way, though nobody asked it to."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    stored = _STORED.get(Path(urlsplit(url).path).suffix, ())
    return encoding not in ("", "identity", *stored)


class _Rate:
    """Says from time to time how much of a download is there, how fast it comes, what is left."""

    def __init__(self, name: str, start: int, total: int | None) -> None:
        self._name, self._start, self._have, self._total = name, start, start, total
        self._began = self._reported = time.monotonic()

    def add(self, count: int) -> None:
        """Count bytes."""
        self._have += count
        now = time.monotonic()
        if now - self._reported < REPORT_SECONDS:
            return
        self._reported = now
        rate = (self._have - self._start) / (now - self._began)
        line = f"{self._name}: {self._have / 1e6:,.0f} MB"
        if self._total:
            minutes = (self._total - self._have) / rate / 60
            line += f" of {self._total / 1e6:,.0f} MB, {minutes:.0f} min left"
        line += f", {rate / 1e6:.1f} MB/s"
        log.info("%s", line)
        tell(line)
