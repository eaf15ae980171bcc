"""One address: asked again with patience, gone on with after a cut, never mixed with another file.

The bytes received stay in `NAME.part`, with what the server said of the file (ETag or date, size)
beside them. The next attempt asks for the rest and joins it only if the answer is about the same
file and begins at the right byte; otherwise it starts over.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import requests
import urllib3

from sagevocab import __version__
from sagevocab.errors import tell

log = logging.getLogger(__name__)

ATTEMPTS = 10  # in a row without one new byte
ATTEMPTS_UNANSWERED = 4  # the same, of a server that has never answered
FIRST_WAIT_SECONDS = 1.0  # doubled after each such attempt
LONGEST_WAIT_SECONDS = 60.0
TIMEOUT_SECONDS = (10, 60)  # to connect, between two blocks
TELL_SECONDS = 30.0  # between two lines about rate and time left
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


# --- attempts

# One for all requests, since it keeps connections open: some servers refuse many new ones in a row.
_session = requests.Session()
_answered: set[str] = set()  # servers that have answered this process
_exhausted: set[str] = set()  # servers whose last request used up all attempts
_redirected: dict[str, str] = {}  # where an address led that gave a part of its file


def _server(url: str) -> str:
    return urlsplit(url).netloc


def answered(url: str) -> None:
    """Note that a server answers, so that its failures are met with more patience."""
    _answered.add(_server(url))


# A redirect is an answer, too, whether or not the server that it names gives one.
_session.hooks["response"] = lambda response, **_: answered(response.url)


def patiently(url: str, attempt: Callable[[], T], size: Callable[[], int] = lambda: 0) -> T:
    """Return what an attempt gives; repeat one that fails, with growing waits, while that may help.

    size: bytes received so far. More of them than ever before make up for the failures.
    """
    most, failures = size(), 0
    while True:
        try:
            result = attempt()
        except PassingError as error:
            failures = 1 if size() > most else failures + 1
            most = max(most, size())
            if failures >= (ATTEMPTS if _server(url) in _answered else ATTEMPTS_UNANSWERED):
                _exhausted.add(_server(url))
                raise RefusedError(str(error)) from error
            wait = max(error.wait, FIRST_WAIT_SECONDS * 2 ** (failures - 1))
            wait = min(wait, LONGEST_WAIT_SECONDS)
            log.info("%s: %s; next attempt in %.0f s", url, error, wait)
        else:
            _exhausted.discard(_server(url))
            return result
        sleep(wait)


def working_first(urls: Sequence[str]) -> list[str]:
    """Return addresses in their order, but last those whose server has just given nothing."""
    return sorted(urls, key=lambda url: _server(url) in _exhausted)


def size_of(path: Path) -> int:
    """Return how many bytes of a file are there."""
    return path.stat().st_size if path.exists() else 0


def drop(part: Path) -> None:
    """Delete a partial download, and what is known of it."""
    part.unlink(missing_ok=True)
    _Validator.of(part).forget()


@contextmanager
def _response(url: str, headers: Mapping[str, str]) -> Iterator[requests.Response]:
    """Ask once; failures of the network and of the server become the errors of this module."""
    try:
        with _session.get(url, headers=headers, stream=True, timeout=TIMEOUT_SECONDS) as response:
            check_status(url, response.status_code, response.reason, response.headers)
            yield response
    except (requests.exceptions.SSLError, ValueError) as error:  # ValueError: no URL
        raise RefusedError(_reason(error)) from error
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


def receive(url: str, part: Path, expected: Expected, headers: Mapping[str, str]) -> None:
    """Ask once and append what comes to `part`.

    Raises:
        RefusedError: the address does not give this file.
        PassingError: it did not give all of it; what came is kept if the rest may be joined to it.
    """
    known = _Validator.of(part)
    asked = _HEADERS | headers | known.range_headers(trusted=bool(expected.checksums))
    with _response(url, asked) as response:
        if response.status_code == 416:
            _settle_unsatisfiable(response, part)
            return
        is_encoded = _is_encoded(response, url)
        start, total = _place(response, part, known, is_encoded=is_encoded)
        try:
            expected.check_size(total)
        except RefusedError:
            drop(part)
            raise
        if is_encoded:
            known.forget()
        else:
            known.keep(response, total)
        _append(response, part, start, total, decode=is_encoded)
        _check_end(part, total or expected.size)


def _check_end(part: Path, total: int | None) -> None:
    size = size_of(part)
    if total is None or size == total:
        return
    if size > total:
        drop(part)
        raise PassingError(f"gave {size} bytes where {total} were announced")
    raise PassingError(f"the connection was cut at byte {size} of {total}")


class _Given(NamedTuple):
    """The bytes of an answer with status 206, and the size of the whole file if it is told."""

    first: int
    last: int
    total: int | None


def _given(response: requests.Response) -> _Given | None:
    found = re.match(r"bytes (\d+)-(\d+)/(\d+|\*)", response.headers.get("Content-Range", ""))
    if found is None:
        return None
    return _Given(int(found[1]), int(found[2]), None if found[3] == "*" else int(found[3]))


def _place(
    response: requests.Response, part: Path, known: _Validator, *, is_encoded: bool
) -> tuple[int, int | None]:
    """Return at which byte of the file an answer begins, and the file's size.

    An answer that does not fit what is there makes the download start over.
    """
    if response.status_code == 200:
        length = response.headers.get("Content-Length", "")
        return 0, int(length) if length.isdigit() and not is_encoded else None
    have, span = size_of(part), _given(response)
    if span is None or is_encoded:
        problem = "answers a part without saying which"
    elif span.first != have:
        problem = f"answers from byte {span.first} instead of {have}"
    elif have and known.has_changed(response, span.total):
        problem = "the file was changed meanwhile"
    else:
        return have, span.total
    drop(part)
    raise PassingError(problem)


def _settle_unsatisfiable(response: requests.Response, part: Path) -> None:
    """The server has nothing to add: `part` is whole, or it is no part of this file."""
    total = response.headers.get("Content-Range", "").rpartition("/")[2]
    if total != str(size_of(part)):
        drop(part)
        raise PassingError("the partial download no longer fits the file")


# What some servers call the compression of a file that is stored so.
_STORED = {".gz": ("gzip", "x-gzip"), ".bz2": ("x-bzip2",), ".xz": ("x-xz",), ".zst": ("zstd",)}


def _is_encoded(response: requests.Response, url: str) -> bool:
    """Whether the server compressed the file on the way, though nobody asked it to."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    stored = _STORED.get(Path(urlsplit(url).path).suffix, ())
    return encoding not in ("", "identity", *stored)


def _append(
    response: requests.Response, part: Path, start: int, total: int | None, *, decode: bool
) -> None:
    rate = _Rate(part.name.removesuffix(".part")[17:], start, total)
    with part.open("ab" if start else "wb") as file:
        for block in response.raw.stream(_BLOCK, decode_content=decode):
            file.write(block)
            rate.add(len(block))


def read_bytes(url: str, headers: Mapping[str, str]) -> bytes:
    """Return what a URL gives.

    Raises:
        RefusedError, PassingError: it is not to be had, or not at once.
    """
    with _response(url, _HEADERS | headers) as response:
        return b"".join(response.raw.stream(_BLOCK, decode_content=True))


def read_part(url: str, span: Span, check: Callable[[bytes], Any]) -> bytes:
    """Return a part of the file behind a URL.

    Where the URL led is remembered and tried first the next time, until that fails.
    check: raises OSError or ValueError for data that are damaged.

    Raises:
        RefusedError, PassingError: it is not to be had, or not at once.
    """
    address = _redirected.pop(url, url)
    try:
        data, led_to = _part(address, span)
        undamaged(data, check)
    except RefusedError as error:
        if address == url:
            raise
        raise PassingError(str(error)) from error  # such an address may be for a while only
    _redirected[url] = led_to
    return data


def undamaged(data: bytes, check: Callable[[bytes], Any]) -> bytes:
    """Return data that are not damaged.

    Raises:
        PassingError: `check` raised OSError or ValueError.
    """
    try:
        check(data)
    except (OSError, ValueError) as error:
        raise PassingError(f"gives damaged data ({error})") from error
    return data


def _part(address: str, span: Span) -> tuple[bytes, str]:
    """Return a part of a file, and the address that gave it."""
    first, end = span
    asked = {"Range": f"bytes={first}-{'' if end is None else end - 1}"}
    with _response(address, _HEADERS | asked) as response:
        if response.status_code != 206:
            raise RefusedError("gives no parts of the file", gone=True)
        found = _given(response)
        wanted = (first, found and found.total if end is None else end)
        if found is None or (found.first, found.last + 1) != wanted:
            raise PassingError("answers another part than was asked for")
        data = b"".join(response.raw.stream(_BLOCK, decode_content=False))
        if len(data) != found.last + 1 - first:
            raise PassingError("the connection was cut")
        return data, response.url


@dataclass(frozen=True)
class _Validator:
    """What the server said of the file that a partial download belongs to."""

    part: Path
    tag: str = ""  # a strong ETag, else the date of the last change
    total: str = ""

    @classmethod
    def of(cls, part: Path) -> _Validator:
        file = cls(part).file
        if not file.exists():
            return cls(part)
        tag, _, total = file.read_text(encoding="utf-8").partition("\n")
        return cls(part, tag, total)

    @property
    def file(self) -> Path:
        return self.part.with_name(f"{self.part.name}.validator")

    def forget(self) -> None:
        self.file.unlink(missing_ok=True)

    def keep(self, response: requests.Response, total: int | None) -> None:
        if tag := _tag_of(response):
            self.file.write_text(f"{tag}\n{total or ''}", encoding="utf-8")
        else:
            self.forget()

    def range_headers(self, *, trusted: bool) -> dict[str, str]:
        """Return headers that ask for the rest of `part`; delete a `part` that can't be joined.

        trusted: a digest is checked afterwards, so a rest may be joined without a validator.
        """
        have = size_of(self.part)
        if have and not (self.tag or trusted):
            self.part.unlink()
            return {}
        asked = {"Range": f"bytes={have}-"} if have else {}
        return asked | ({"If-Range": self.tag} if have and self.tag else {})

    def has_changed(self, response: requests.Response, total: int | None) -> bool:
        """Whether the rest that a server sends is of another file: not all obey If-Range.

        An answer to If-Range repeats an ETag, but need not repeat a date.
        """
        tag = _tag_of(response)
        other_tag = tag != self.tag and bool(tag or self.tag.startswith('"'))
        other_size = bool(self.total) and total is not None and self.total != str(total)
        return bool(self.tag) and (other_tag or other_size)


def _tag_of(response: requests.Response) -> str:
    tag = response.headers.get("ETag", "")
    strong = "" if tag.startswith("W/") else tag
    return strong or response.headers.get("Last-Modified", "")


class _Rate:
    """Says from time to time how much of a download is there, how fast it comes, what is left."""

    def __init__(self, name: str, start: int, total: int | None) -> None:
        self._name, self._start, self._have, self._total = name, start, start, total
        self._began = self._told = time.monotonic()

    def add(self, count: int) -> None:
        """Count bytes."""
        self._have += count
        now = time.monotonic()
        if now - self._told >= TELL_SECONDS:
            self._told = now
            self._tell((self._have - self._start) / (now - self._began))

    def _tell(self, rate: float) -> None:
        line = f"{self._name}: {self._have / 1e6:,.0f} MB"
        if self._total:
            minutes = (self._total - self._have) / rate / 60
            line += f" of {self._total / 1e6:,.0f} MB, {minutes:.0f} min left"
        line += f", {rate / 1e6:.1f} MB/s"
        log.info("%s", line)
        tell(line)
