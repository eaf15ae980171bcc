"""Files from the network: whole or not at all, checked, from the first address that gives them.

After a cut, a download goes on. The bytes received stay in `NAME.part`, with what the server said
of the file (ETag or date, size) beside them. The next attempt asks for the rest and joins it only
if the answer is about the same file and begins at the right byte; otherwise it starts over.
"""

from __future__ import annotations

import email.utils
import fcntl
import hashlib
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import requests
import urllib3

from sagevocab import __version__
from sagevocab.data.compression import DAMAGE, open_bytes
from sagevocab.errors import UserError, tell
from sagevocab.state import atomic_path

log = logging.getLogger(__name__)

ATTEMPTS = 10  # in a row without one new byte
ATTEMPTS_UNANSWERED = 4  # the same, of a server that never answers
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
sleep = time.sleep  # tests put another clock here


@dataclass(frozen=True)
class Expected:
    """What is known of a file before it is fetched.

    checksums: name of a hash function (sha256, sha1, md5) -> hex digest.
    """

    size: int | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fetched:
    """Where a file came from, its digest, its size in bytes, and where it is on this machine."""

    url: str
    sha256: str
    size: int
    path: Path


class UnavailableError(UserError):
    """Servers answered, and none gives the file: other data may be a way out."""


class _RefusedError(Exception):
    """This address does not give the file; the next one may."""

    def __init__(self, reason: str, *, answered: bool = True) -> None:
        super().__init__(reason)
        self.answered = answered


class _PassingError(Exception):
    """The same address may give the file, or the rest of it, when asked again."""

    def __init__(self, reason: str, *, wait: float = 0.0, answered: bool = True) -> None:
        super().__init__(reason)
        self.wait, self.answered = wait, answered


def fetch(urls: Sequence[str], output: Path, *, cache_dir: Path, **options: Any) -> Fetched:
    """Bring the file behind the first working one of `urls` to `output`; see `fetch_cached`.

    output: a hard link into the cache where the file system allows, else a copy.
    """
    fetched = fetch_cached(urls, cache_dir=cache_dir, **options)
    publish(fetched.path, Path(output), may_link=not fetched.url.startswith("file:"))
    return fetched


def fetch_cached(
    urls: Sequence[str],
    *,
    cache_dir: Path,
    expected: Expected | None = None,
    headers: Mapping[str, str] | None = None,
    advice: str = "download it by hand",
) -> Fetched:
    """Bring the file behind the first working one of `urls` (http, https, file) to this machine.

    cache_dir: keeps finished and partial downloads.
    headers: sent with every request, such as a token.
    advice: what a user without that network can do; the end of the error message.

    Raises:
        UnavailableError: servers answered, and none gives the file, each for the reason named.
        UserError: no server answered; or a disk is full.
    """
    expected, cache_dir = expected or Expected(), Path(cache_dir)
    refusals: dict[str, _RefusedError] = {}
    for url in urls:
        try:
            if urlsplit(url).scheme == "file":
                path = _local_file(url)
                sha256 = _checked(path, url, expected)
            else:
                path, sha256 = _cached_file(url, cache_dir, expected, headers or {})
        except _RefusedError as error:
            log.warning("%s: %s", url, error)
            refusals[url] = error
            continue
        size = path.stat().st_size
        log.info("%s: %d bytes, sha256 %s", url, size, sha256)
        return Fetched(url, sha256, size, path)
    raise _failure(refusals, advice)


def read_url(
    urls: Sequence[str],
    *,
    span: tuple[int, int] | None = None,
    check: Callable[[bytes], Any] = bytes,
    advice: str = "try again later",
) -> bytes:
    """Return what the first working one of `urls` (http, https, file) gives, without keeping it.

    span: the first byte to read and the one after the last.
    check: raises OSError or ValueError for data that are damaged.

    Raises:
        UnavailableError, UserError: as `fetch_cached`.
    """
    refusals: dict[str, _RefusedError] = {}
    for url in urls:
        try:
            return _patiently(url, lambda url=url: _read_once(url, span, check))
        except _RefusedError as error:
            refusals[url] = error
    raise _failure(refusals, advice)


def _failure(refusals: dict[str, _RefusedError], advice: str) -> UserError:
    """Return the error that names every address with its reason."""
    told = [f"{url} ({reason})" for url, reason in refusals.items()]
    first, reason = next(iter(refusals.items()))
    others = "".join(f", nor {other}" for other in told[1:])
    answered = any(error.answered for error in refusals.values())
    problem = UnavailableError if answered else UserError
    return problem(f"{first}: cannot be fetched ({reason}){others}; {advice}")


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
        if not (may_link and _linked(source, temporary)):
            shutil.copyfile(source, temporary)


def _linked(source: Path, place: Path) -> bool:
    try:
        os.link(source, place)
        # An old date would hide from the workflow that the file is new to it.
        os.utime(place)
    except OSError:
        place.unlink(missing_ok=True)
        return False
    return True


def _local_file(url: str) -> Path:
    path = Path(url2pathname(unquote(urlsplit(url).path)))
    if not path.is_file():
        raise _RefusedError("no such file")
    return path


# --- the cache


def cache_name(url: str) -> str:
    """Return the name of a URL's file in the cache: mirrors with equal base names don't collide."""
    key = hashlib.sha256(url.encode()).hexdigest()[:16]
    base = Path(unquote(urlsplit(url).path)).name or "download"
    return f"{key}-{base[-120:]}"


def _cached_file(
    url: str, cache_dir: Path, expected: Expected, headers: Mapping[str, str]
) -> tuple[Path, str]:
    """Return the URL's whole file in the cache and its SHA-256; download it if it is not there."""
    cached = cache_dir / cache_name(url)
    part = cached.with_name(f"{cached.name}.part")
    if sha256 := _finished(cached, url, expected):
        return cached, sha256
    with disk_errors(cache_dir, "make room or set `download_dir`"):
        cache_dir.mkdir(parents=True, exist_ok=True)
        with cached.with_name(f"{cached.name}.lock").open("a") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)  # one process at a time works on a download
            if sha256 := _finished(cached, url, expected):
                return cached, sha256
            sha256 = _download(url, part, expected, headers)
            part.replace(cached)
            _Validator.of(part).forget()
    return cached, sha256


def _finished(cached: Path, url: str, expected: Expected) -> str | None:
    """Return the SHA-256 of a finished download; None if there is none, or not of this file."""
    if not cached.is_file():
        return None
    try:
        return _compared(cached, expected)
    except _RefusedError as error:
        log.warning("%s: %s; it is fetched again from %s", cached, error, url)
        return None


# --- what a file must be


_MAGIC = {
    ".bz2": b"BZh",
    ".gz": b"\x1f\x8b",
    ".xz": b"\xfd7zXZ\x00",
    ".zst": b"\x28\xb5\x2f\xfd",
    ".parquet": b"PAR1",
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
        raise _RefusedError("gives a web page instead of the file")
    sha256 = _compared(path, expected)
    if not expected.checksums:
        if not start.startswith(_MAGIC.get(suffix, b"")):
            raise _RefusedError(f"gives something else than a {suffix} file")
        _read_to_end(path, suffix)
    return sha256


def _compared(path: Path, expected: Expected) -> str:
    """Return the SHA-256 of a file; refuse another size or digest than expected."""
    _check_size(path.stat().st_size, expected)
    digests = {name: hashlib.new(name) for name in {"sha256", *expected.checksums}}
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            for digest in digests.values():
                digest.update(block)
    for name, wanted in expected.checksums.items():
        if (found := digests[name].hexdigest()) != wanted.lower():
            raise _RefusedError(f"has {name} {found} instead of {wanted}")
    return digests["sha256"].hexdigest()


def _check_size(found: int | None, expected: Expected) -> None:
    if found is not None and expected.size is not None and found != expected.size:
        raise _RefusedError(f"has {found} bytes instead of {expected.size}")


def _read_to_end(path: Path, suffix: str) -> None:
    try:
        if suffix == ".parquet":
            import pyarrow.parquet as pq

            pq.read_metadata(path)
            return
        with open_bytes(path) as file:
            while file.read(1 << 20):
                pass
    # pyarrow's own errors are ValueErrors.
    except (*DAMAGE, ValueError) as error:
        raise _RefusedError(f"gives a file that breaks off or is damaged ({error})") from error


# --- downloading


def _patiently(url: str, attempt: Callable[[], T], size: Callable[[], int] = lambda: 0) -> T:
    """Return what an attempt gives; repeat one that fails, with growing waits, while that may help.

    size: bytes received so far. More of them than ever before make up for the failures.
    """
    most, failures, answered = size(), 0, False
    while True:
        try:
            return attempt()
        except _PassingError as error:
            failures = 1 if size() > most else failures + 1
            most, answered = max(most, size()), answered or error.answered
            if failures >= (ATTEMPTS if answered else ATTEMPTS_UNANSWERED):
                raise _RefusedError(str(error), answered=answered) from error
            wait = max(error.wait, FIRST_WAIT_SECONDS * 2 ** (failures - 1))
            wait = min(wait, LONGEST_WAIT_SECONDS)
            log.info("%s: %s; next attempt in %.0f s", url, error, wait)
        sleep(wait)


def _download(
    url: str,
    part: Path,
    expected: Expected,
    headers: Mapping[str, str],
    *,
    again: bool = True,
) -> str:
    """Bring `part` to the whole file and return its SHA-256.

    again: whether to start over if what came is not the file.
    """
    _patiently(url, lambda: _receive(url, part, expected, headers), lambda: _size_of(part))
    try:
        return _checked(part, url, expected)
    except _RefusedError as error:
        _drop(part)
        if not again:
            raise
        log.warning("%s: %s; starting over", url, error)
    return _download(url, part, expected, headers, again=False)


def _size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _drop(part: Path) -> None:
    part.unlink(missing_ok=True)
    _Validator.of(part).forget()


@contextmanager
def _response(url: str, headers: Mapping[str, str]) -> Iterator[requests.Response]:
    """Ask once; failures of the network and of the server become the errors of this module."""
    answered = False
    try:
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_SECONDS) as response:
            answered = True
            _check_status(response)
            yield response
    except (requests.exceptions.SSLError, ValueError) as error:  # ValueError: no URL
        raise _RefusedError(_reason(error), answered=answered) from error
    except _NETWORK_ERRORS as error:
        raise _PassingError(_reason(error), answered=answered) from error


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


def _check_status(response: requests.Response) -> None:
    status = response.status_code
    if status in (200, 206, 416):
        return
    reason = f"HTTP {status} {response.reason}"
    if status in (408, 425, 429) or status >= 500:
        raise _PassingError(reason, wait=_retry_after(response.headers.get("Retry-After", "")))
    raise _RefusedError(reason)


def _retry_after(value: str) -> float:
    """Return the seconds to wait that a server asks for, as a number or as a date."""
    if value.strip().isdigit():
        return float(value)
    try:
        return email.utils.parsedate_to_datetime(value).timestamp() - time.time()
    except ValueError:
        return 0.0


def _receive(url: str, part: Path, expected: Expected, headers: Mapping[str, str]) -> None:
    """Ask once and append what comes to `part`."""
    known = _Validator.of(part)
    asked = _HEADERS | headers | known.range_headers(trusted=bool(expected.checksums))
    with _response(url, asked) as response:
        if response.status_code == 416:
            _settle_unsatisfiable(response, part)
            return
        is_encoded = _is_encoded(response, url)
        start, total = _place(response, part, known, is_encoded=is_encoded)
        try:
            _check_size(total, expected)
        except _RefusedError:
            _drop(part)
            raise
        if is_encoded:
            known.forget()
        else:
            known.keep(response, total)
        try:
            _append(response, part, start, total, decode=is_encoded)
            _check_end(part, total or expected.size)
        except (_PassingError, *_NETWORK_ERRORS):
            if is_encoded:
                _drop(part)
            raise


def _check_end(part: Path, total: int | None) -> None:
    size = _size_of(part)
    if total is None or size == total:
        return
    if size > total:
        _drop(part)
        raise _PassingError(f"gave {size} bytes where {total} were announced")
    raise _PassingError(f"the connection was cut at byte {size} of {total}")


class _Span(NamedTuple):
    """The bytes of an answer with status 206, and the size of the whole file if it is told."""

    first: int
    last: int
    total: int | None


def _span(response: requests.Response) -> _Span | None:
    found = re.match(r"bytes (\d+)-(\d+)/(\d+|\*)", response.headers.get("Content-Range", ""))
    if found is None:
        return None
    return _Span(int(found[1]), int(found[2]), None if found[3] == "*" else int(found[3]))


def _place(
    response: requests.Response, part: Path, known: _Validator, *, is_encoded: bool
) -> tuple[int, int | None]:
    """Return at which byte of the file an answer begins, and the file's size.

    An answer that does not fit what is there makes the download start over.
    """
    if response.status_code == 200:
        length = response.headers.get("Content-Length", "")
        return 0, int(length) if length.isdigit() and not is_encoded else None
    have, span = _size_of(part), _span(response)
    if span is None or is_encoded:
        problem = "answers a part without saying which"
    elif span.first != have:
        problem = f"answers from byte {span.first} instead of {have}"
    elif have and known.has_changed(response, span.total):
        problem = "the file was changed meanwhile"
    else:
        return have, span.total
    _drop(part)
    raise _PassingError(problem)


def _settle_unsatisfiable(response: requests.Response, part: Path) -> None:
    """The server has nothing to add: `part` is whole, or it is no part of this file."""
    total = response.headers.get("Content-Range", "").rpartition("/")[2]
    if total != str(_size_of(part)):
        _drop(part)
        raise _PassingError("the partial download no longer fits the file")


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


def _read_once(
    url: str, span: tuple[int, int] | None, check: Callable[[bytes], Any] = bytes
) -> bytes:
    if urlsplit(url).scheme == "file":
        data = _local_file(url).read_bytes()
        return data[slice(*span)] if span else data
    asked = {"Range": f"bytes={span[0]}-{span[1] - 1}"} if span else {}
    with _response(url, _HEADERS | asked) as response:
        if span and response.status_code != 206:
            raise _RefusedError("gives no parts of the file")
        found = _span(response)
        if span and (found is None or (found.first, found.last + 1) != span):
            raise _PassingError("answers another part than was asked for")
        data = b"".join(response.raw.stream(_BLOCK, decode_content=not span))
    if span and len(data) != span[1] - span[0]:
        raise _PassingError("the connection was cut")
    try:
        check(data)
    except (OSError, ValueError) as error:
        raise _RefusedError(f"gives damaged data ({error})") from error
    return data


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
        have = _size_of(self.part)
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
