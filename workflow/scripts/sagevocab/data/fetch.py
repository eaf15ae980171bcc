"""Files from the network: whole or not at all, checked, from the first mirror that has them.

After a cut, a download goes on: the bytes received stay in `NAME.part`, with the server's validator
(ETag or date) beside them, and the next attempt asks for the rest only if the file behind the URL
is still the same. (pooch keeps the cache and checks the SHA-256; its downloaders start over.)
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import pooch
import requests
import tenacity
from tqdm import tqdm

from sagevocab import __version__
from sagevocab.errors import UserError
from sagevocab.state import atomic_path, file_digest

log = logging.getLogger(__name__)

ATTEMPTS = 4  # in a row without one new byte
BACKOFF_SECONDS = 0.5  # doubled after each such attempt
LONGEST_WAIT_SECONDS = 60.0  # the longest Retry-After of a server that is obeyed
TIMEOUT_SECONDS = (10, 60)  # to connect, between two blocks
_BLOCK = 1 << 16  # the most that a cut loses
_HEADERS = {
    "User-Agent": f"sagevocab/{__version__} ({requests.utils.default_user_agent()})",
    "Accept-Encoding": "identity",  # sizes and ranges count the bytes as they are stored
}


@dataclass(frozen=True)
class Fetched:
    """Where a file came from, its digest and its size in bytes."""

    url: str
    sha256: str
    size: int


class GoneError(UserError):
    """Every server answered that it does not have the file; another attempt is useless."""


class _UnavailableError(Exception):
    """This URL does not give the file; the next mirror may."""

    def __init__(self, reason: str, *, gone: bool = False) -> None:
        super().__init__(reason)
        self.gone = gone


class _InterruptedError(Exception):
    """The same URL may give the file, or the rest of it, when asked again."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


def fetch(
    urls: Sequence[str],
    output: Path,
    *,
    cache_dir: Path,
    sha256: str | None = None,
    size: int | None = None,
    advice: str = "download it by hand",
) -> Fetched:
    """Bring the file behind the first working one of `urls` (http, https, file) to `output`.

    cache_dir: keeps finished and partial downloads; `output` is a hard link into it where the
        file system allows, else a copy.
    sha256, size: what the file must have.
    advice: what a user without that network can do; the end of the error message.

    Raises:
        GoneError: every server answered that it does not have the file.
        UserError: no URL gives a file of that size and digest.
    """
    failures: list[_UnavailableError] = []
    for url in urls:
        try:
            found = _local_file(url) if urlsplit(url).scheme == "file" else None
            source = found or _cached_file(url, Path(cache_dir), sha256, size)
            digest = _check(source, sha256, size)
        except _UnavailableError as error:
            log.warning("%s: %s", url, error)
            failures.append(error)
            continue
        publish(source, Path(output), may_link=found is None)
        log.info("%s: %d bytes, sha256 %s", url, source.stat().st_size, digest)
        return Fetched(url, digest, source.stat().st_size)
    problem = GoneError if all(error.gone for error in failures) else UserError
    raise problem(f"{urls[0]}: {_summary(failures)}; {advice}")


def _summary(failures: list[_UnavailableError]) -> str:
    others = len(failures) - 1
    mirrors = f", nor from {others} mirror{'s' * (others > 1)}" if others else ""
    return f"cannot be fetched ({failures[0]}){mirrors}"


def _check(path: Path, sha256: str | None, size: int | None) -> str:
    """Return the digest of a file; refuse another size or digest than expected."""
    _check_size(path.stat().st_size, size)
    digest = file_digest(path)
    if sha256 is not None and digest != sha256.lower():
        raise _UnavailableError(f"has SHA-256 {digest} instead of {sha256}")
    return digest


def _check_size(found: int | None, expected: int | None) -> None:
    if found is not None and expected is not None and found != expected:
        raise _UnavailableError(f"has {found} bytes instead of {expected}")


def publish(source: Path, output: Path, *, may_link: bool = True) -> None:
    """Put a file of the cache to its place, by a hard link where that is possible and allowed."""
    with atomic_path(output) as temporary:
        try:
            if not may_link:
                raise OSError
            os.link(source, temporary)
        except OSError:
            shutil.copyfile(source, temporary)
        # An old date would hide from the workflow that the file is new to it.
        os.utime(temporary)


def _local_file(url: str) -> Path:
    path = Path(url2pathname(unquote(urlsplit(url).path)))
    if not path.is_file():
        raise _UnavailableError("no such file")
    return path


def cache_name(url: str) -> str:
    """Return the name of a URL's file in the cache: mirrors with equal base names don't collide."""
    key = hashlib.sha256(url.encode()).hexdigest()[:16]
    base = Path(unquote(urlsplit(url).path)).name or "download"
    return f"{key}-{base[-120:]}"


def _cached_file(url: str, cache_dir: Path, sha256: str | None, size: int | None) -> Path:
    """Return the path of the URL's whole file in the cache; download it if it is not there."""
    name = cache_name(url)
    cache_dir.mkdir(parents=True, exist_ok=True)
    pooch.get_logger().setLevel("WARNING")
    with (cache_dir / f"{name}.lock").open("a") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)  # one process at a time works on a download
        part = cache_dir / f"{name}.part"

        def download(url: str, output_file: str, _pooch: object) -> None:
            _download(url, part, size, trusted=sha256 is not None)
            part.replace(output_file)
            _validator_file(part).unlink(missing_ok=True)

        try:
            found = Path(
                pooch.retrieve(
                    url, known_hash=sha256, fname=name, path=cache_dir, downloader=download
                )
            )
        except ValueError as error:
            raise _UnavailableError(f"does not have the SHA-256 {sha256}") from error
    try:
        _check_size(found.stat().st_size, size)
    except _UnavailableError:
        found.unlink()  # or the next run would take it for the file
        raise
    return found


def check_connection(url: str, advice: str) -> None:
    """Ask a server for a sign of life, once.

    Raises:
        UserError: it can't be reached.
    """
    try:
        requests.head(url, headers=_HEADERS, timeout=TIMEOUT_SECONDS)
    except requests.RequestException as error:
        raise UserError(f"{url}: cannot be fetched ({_reason(error)}); {advice}") from error


class _Stall:
    """Counts the attempts in a row that added nothing to `part`."""

    def __init__(self, part: Path) -> None:
        self._part, self._size, self.attempts = part, _size_of(part), 0

    def count(self, _state: tenacity.RetryCallState) -> None:
        size = _size_of(self._part)
        self.attempts = 1 if size > self._size else self.attempts + 1
        self._size = size


def _download(url: str, part: Path, size: int | None, *, trusted: bool) -> None:
    """Bring `part` to the whole file; ask again for as long as that helps.

    trusted: the digest is checked afterwards, so a rest may be joined without a validator.
    """
    stall = _Stall(part)

    def wait(state: tenacity.RetryCallState) -> float:
        asked = getattr(state.outcome.exception(), "wait", 0.0)
        return max(asked, BACKOFF_SECONDS * 2 ** (stall.attempts - 1))

    def tell(state: tenacity.RetryCallState) -> None:
        reason, pause = _reason(state.outcome.exception()), state.next_action.sleep
        log.info("%s: %s; next attempt in %.1f s", url, reason, pause)

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type((requests.RequestException, _InterruptedError)),
        after=stall.count,
        stop=lambda _state: stall.attempts >= ATTEMPTS,
        wait=wait,
        before_sleep=tell,
        reraise=True,
    )
    try:
        retrying(_receive, url, part, size, trusted=trusted)
    except (requests.RequestException, _InterruptedError) as error:
        raise _UnavailableError(_reason(error)) from error


_REASONS = (
    (requests.exceptions.SSLError, "its certificate cannot be verified"),
    (requests.exceptions.ProxyError, "the proxy cannot be reached"),
    (requests.Timeout, "no answer in time"),
    (requests.exceptions.ChunkedEncodingError, "the connection was cut"),
    (requests.ConnectionError, "no connection"),
)


def _reason(error: BaseException) -> str:
    """Say what went wrong in a few words; the messages of `requests` are nested and long."""
    known = (reason for kind, reason in _REASONS if isinstance(error, kind))
    return next(known, None) or str(error).splitlines()[0]


def _size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _validator_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.validator")


def _range_headers(part: Path, *, trusted: bool) -> dict[str, str]:
    """Return headers that ask for the rest of `part`; delete a `part` that can't be joined."""
    have = _size_of(part)
    if not have:
        return {}
    if _validator_file(part).exists():
        validator = _validator_file(part).read_text(encoding="utf-8")
        return {"Range": f"bytes={have}-", "If-Range": validator}
    if trusted:
        return {"Range": f"bytes={have}-"}
    part.unlink()
    return {}


def _receive(url: str, part: Path, size: int | None, *, trusted: bool) -> None:
    """Ask once and append what comes to `part`."""
    headers = _HEADERS | _range_headers(part, trusted=trusted)
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_SECONDS) as response:
        if response.status_code == 416:
            _settle_unsatisfiable(response, part)
            return
        _raise_for_status(response)
        start = _size_of(part) if response.status_code == 206 else 0
        total = _announced_total(response, start)
        try:
            _check_size(total, size)
        except _UnavailableError:
            part.unlink(missing_ok=True)
            raise
        _keep_validator(response, part)
        _append(response, part, start, total)
    if total is not None and _size_of(part) != total:
        raise _InterruptedError(f"the connection was cut at byte {_size_of(part)} of {total}")


def _raise_for_status(response: requests.Response) -> None:
    status = response.status_code
    if status in (200, 206):
        return
    reason = f"HTTP {status} {response.reason}"
    if status in (408, 429) or status >= 500:
        seconds = response.headers.get("Retry-After", "")
        wait = min(float(seconds), LONGEST_WAIT_SECONDS) if seconds.isdigit() else 0.0
        raise _InterruptedError(reason, wait)
    raise _UnavailableError(reason, gone=status in (404, 410))


def _settle_unsatisfiable(response: requests.Response, part: Path) -> None:
    """The server has nothing to add: `part` is whole, or it is no part of this file."""
    total = response.headers.get("Content-Range", "").rpartition("/")[2]
    if total == str(_size_of(part)):
        return
    part.unlink()
    raise _InterruptedError("the partial download no longer fits the file")


def _announced_total(response: requests.Response, start: int) -> int | None:
    """Return the size of the whole file, as the headers say."""
    if response.status_code == 206:
        first, _, total = response.headers["Content-Range"].removeprefix("bytes ").partition("/")
        if first.split("-")[0] != str(start):
            raise _UnavailableError(f"answers bytes {first} instead of {start}-")
    else:
        total = response.headers.get("Content-Length", "")
    return int(total) if total.isdigit() else None


def _keep_validator(response: requests.Response, part: Path) -> None:
    tag = response.headers.get("ETag", "")
    strong = "" if tag.startswith("W/") else tag
    validator = strong or response.headers.get("Last-Modified", "")
    if validator:
        _validator_file(part).write_text(validator, encoding="utf-8")
    else:
        _validator_file(part).unlink(missing_ok=True)


def _append(response: requests.Response, part: Path, start: int, total: int | None) -> None:
    terminal = sys.__stderr__  # not the rule's log, which wants no progress bars
    bar = tqdm(
        total=total,
        initial=start,
        unit="B",
        unit_scale=True,
        desc=part.name.removesuffix(".part")[17:],
        file=terminal,
        disable=terminal is None or not terminal.isatty(),
    )
    with bar, _opened(part, "ab" if start else "wb") as file:
        for block in response.iter_content(_BLOCK):
            file.write(block)
            bar.update(len(block))


@contextmanager
def _opened(path: Path, mode: str) -> Iterator:
    """Open for writing; a full or read-only disk is a UserError."""
    try:
        with path.open(mode) as file:
            yield file
    except requests.RequestException:  # an OSError too, but of the network
        raise
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written ({error.strerror}); make room or set `download_dir`"
        ) from error
