"""Files from the network: whole or not at all, checked, from the first mirror that has them.

`pooch` keeps the cache and checks the SHA-256; its downloaders start over after a cut, so the one
here resumes: what has arrived stays in `NAME.part` with the server's validator (ETag or date)
beside it, and the next attempt asks for the rest only if the file behind the URL is still the same.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import pooch
import requests
from tqdm import tqdm

from sagevocab import __version__
from sagevocab.errors import UserError
from sagevocab.state import atomic_path, file_digest

log = logging.getLogger(__name__)

ATTEMPTS = 4  # in a row without one new byte
BACKOFF_SECONDS = 0.5  # doubled after each such attempt
LONGEST_WAIT_SECONDS = 60.0  # the most a server's Retry-After is obeyed
TIMEOUT_SECONDS = (10, 60)  # to connect, between two blocks
_BLOCK = 1 << 16  # what a cut loses at most
_HEADERS = {
    "User-Agent": f"sagevocab/{__version__} ({requests.utils.default_user_agent()})",
    "Accept-Encoding": "identity",  # bytes as they are stored: sizes and ranges mean the same
}


@dataclass(frozen=True)
class Fetched:
    """Where a file came from, and what came."""

    url: str
    sha256: str
    size: int


class GoneError(UserError):
    """Every server answered that it does not have the file: another attempt is no use."""


class _UnavailableError(Exception):
    """This URL does not give the file; the next mirror may."""

    def __init__(self, reason: str, *, gone: bool = False) -> None:
        super().__init__(reason)
        self.gone = gone


class _InterruptedError(Exception):
    """The same URL may give the file (or the rest of it) when asked again."""

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
    way_out: str = "download it by hand",
) -> Fetched:
    """Bring the file behind the first working of `urls` (http, https, file) to `output`.

    cache_dir: keeps finished and partial downloads; `output` is a hard link into it where the
        file system allows, else a copy.
    sha256, size: what the file must have; the digest seen is logged if none is given.
    way_out: what a user without that network can do, the end of the error message.

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
    raise problem(f"{urls[0]}: {_summary(failures)}; {way_out}")


def _summary(failures: list[_UnavailableError]) -> str:
    others = len(failures) - 1
    mirrors = f", nor from {others} mirror{'s' * (others > 1)}" if others else ""
    return f"cannot be fetched ({failures[0]}){mirrors}"


def _check(path: Path, sha256: str | None, size: int | None) -> str:
    """Digest of a file that has the expected size and digest."""
    found = path.stat().st_size
    if size is not None and found != size:
        raise _UnavailableError(f"has {found} bytes instead of {size}")
    digest = file_digest(path)
    if sha256 is not None and digest != sha256.lower():
        raise _UnavailableError(f"has SHA-256 {digest} instead of {sha256}")
    return digest


def publish(source: Path, output: Path, *, may_link: bool = True) -> None:
    """Put a file of the cache to its place, by a hard link where that is possible and allowed."""
    with atomic_path(output) as temporary:
        if not (may_link and _linked(source, temporary)):
            shutil.copyfile(source, temporary)
        # An old date would hide from the workflow that the file is new to it.
        os.utime(temporary)


def _linked(source: Path, target: Path) -> bool:
    try:
        os.link(source, target)
    except OSError:
        return False
    return True


def _local_file(url: str) -> Path:
    path = Path(url2pathname(unquote(urlsplit(url).path)))
    if not path.is_file():
        raise _UnavailableError("no such file")
    return path


def cache_name(url: str) -> str:
    """Name of a URL's file in the cache: mirrors and equal base names don't collide."""
    key = hashlib.sha256(url.encode()).hexdigest()[:16]
    base = Path(unquote(urlsplit(url).path)).name or "download"
    return f"{key}-{base[-120:]}"


def _cached_file(url: str, cache_dir: Path, sha256: str | None, size: int | None) -> Path:
    """Path of the URL's whole file in the cache, downloaded if it is not there yet."""
    name = cache_name(url)
    cache_dir.mkdir(parents=True, exist_ok=True)
    pooch.get_logger().setLevel("WARNING")
    with _locked(cache_dir / f"{name}.lock"):
        part = cache_dir / f"{name}.part"

        def download(url: str, output_file: str, _pooch: object) -> None:
            _download(url, part, size, trusted=sha256 is not None)
            part.replace(output_file)
            _validator_file(part).unlink(missing_ok=True)

        try:
            found = pooch.retrieve(
                url, known_hash=sha256, fname=name, path=cache_dir, downloader=download
            )
        except ValueError as error:
            raise _UnavailableError(f"does not have the SHA-256 {sha256}") from error
    if size is not None and _size_of(Path(found)) != size:
        wrong = _size_of(Path(found))
        Path(found).unlink()  # the next run shall not take it for the file
        raise _UnavailableError(f"has {wrong} bytes instead of {size}")
    return Path(found)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time work on a download."""
    with path.open("a") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        yield


def _download(url: str, part: Path, size: int | None, *, trusted: bool) -> None:
    """Bring `part` to the whole file, asking again as long as that helps.

    trusted: the digest is checked afterwards, so that a rest may be joined without a validator.
    """
    failures = 0
    while True:
        before = _size_of(part)
        try:
            _receive(url, part, size, trusted=trusted)
            return
        except (requests.RequestException, _InterruptedError) as error:
            failures = 1 if _size_of(part) > before else failures + 1
            reason, wait = _reason(error), getattr(error, "wait", 0.0)
        if failures >= ATTEMPTS:
            raise _UnavailableError(reason)
        pause = max(wait, BACKOFF_SECONDS * 2 ** (failures - 1))
        log.info("%s: %s; next attempt in %.1f s", url, reason, pause)
        time.sleep(pause)


def check_connection(url: str, way_out: str) -> None:
    """Ask a server for a sign of life, once.

    Raises:
        UserError: it can't be reached.
    """
    try:
        requests.head(url, headers=_HEADERS, timeout=TIMEOUT_SECONDS)
    except requests.RequestException as error:
        raise UserError(f"{url}: cannot be fetched ({_reason(error)}); {way_out}") from error


def _reason(error: Exception) -> str:
    """What went wrong in a few words; the messages of `requests` are nested and long."""
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate cannot be verified"
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy cannot be reached"
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection was cut"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return str(error).splitlines()[0]


def _size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _validator_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.validator")


def _range_headers(part: Path, *, trusted: bool) -> dict[str, str]:
    """Headers that ask for the rest of `part`; none, and no `part`, where joining is unsafe."""
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
    """Ask once and append to `part` what comes."""
    headers = _HEADERS | _range_headers(part, trusted=trusted)
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_SECONDS) as response:
        if response.status_code == 416:
            _settle_unsatisfiable(response, part)
            return
        _raise_for_status(response)
        start = _size_of(part) if response.status_code == 206 else 0
        total = _announced_total(response, start)
        if size is not None and total is not None and total != size:
            part.unlink(missing_ok=True)
            raise _UnavailableError(f"has {total} bytes instead of {size}")
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
        raise _InterruptedError(reason, wait=_retry_after(response))
    raise _UnavailableError(reason, gone=status in (404, 410))


def _retry_after(response: requests.Response) -> float:
    seconds = response.headers.get("Retry-After", "")
    return min(float(seconds), LONGEST_WAIT_SECONDS) if seconds.isdigit() else 0.0


def _settle_unsatisfiable(response: requests.Response, part: Path) -> None:
    """Nothing is left to send: `part` is whole, or it is not a part of this file."""
    total = response.headers.get("Content-Range", "").rpartition("/")[2]
    if total == str(_size_of(part)):
        return
    part.unlink()
    raise _InterruptedError("the partial download does not fit the file any more")


def _announced_total(response: requests.Response, start: int) -> int | None:
    """Size of the whole file by the server's headers."""
    if response.status_code == 206:
        first, _, total = response.headers["Content-Range"].removeprefix("bytes ").partition("/")
        if first.split("-")[0] != str(start):
            raise _UnavailableError(f"answers bytes {first} instead of {start}-")
        return int(total) if total.isdigit() else None
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdigit() else None


def _keep_validator(response: requests.Response, part: Path) -> None:
    tag = response.headers.get("ETag", "")
    strong = "" if tag.startswith("W/") else tag
    validator = strong or response.headers.get("Last-Modified", "")
    if validator:
        _validator_file(part).write_text(validator, encoding="utf-8")
    else:
        _validator_file(part).unlink(missing_ok=True)


def _append(response: requests.Response, part: Path, start: int, total: int | None) -> None:
    terminal = sys.__stderr__  # the rule's log holds redirected streams, and no progress bars
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
    """Open for writing; a full or read-only disk is the user's to mend."""
    try:
        with path.open(mode) as file:
            yield file
    except requests.RequestException:  # an OSError too, but of the network
        raise
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written ({error.strerror}); make room or set `download_dir`"
        ) from error
