"""Files from the network: whole or not at all, checked, from the first address that gives them.

Finished downloads stay in a cache. How one address is asked, and how a download goes on after a
cut, is in `transfer`.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from reproduction.data.transfer import (
    Expected,
    RefusedError,
    Span,
    drop,
    patiently,
    read_bytes,
    read_part,
    receive,
    size_of,
    undamaged,
    working_first,
)
from sagevocab.compression import DAMAGE, open_bytes
from sagevocab.errors import UserError
from sagevocab.state import atomic_path

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fetched:
    """Where a file came from, its digest, its size in bytes, and where it is on this machine."""

    url: str
    sha256: str
    size: int
    path: Path


class UnavailableError(UserError):
    """No server has the file, and none will have it tomorrow: other data may be a way out."""


class ForbiddenError(UserError):
    """A server does not give the file to us."""


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
        UnavailableError: no server has the file, or has what the checksum says.
        ForbiddenError: one does not give it to us.
        UserError: one is busy, can't be reached or gives damaged data; or a disk is full.
    """
    expected, cache_dir = expected or Expected(), Path(cache_dir)
    refusals: dict[str, RefusedError] = {}
    for url in urls:
        try:
            if urlsplit(url).scheme == "file":
                path = _local_file(url)
                sha256 = _checked(path, url, expected)
            else:
                path, sha256 = _cached_file(url, cache_dir, expected, headers or {})
        except RefusedError as error:
            log.warning("%s: %s", url, error)
            refusals[url] = error
            continue
        size = path.stat().st_size
        log.info("%s: %d bytes, sha256 %s", url, size, sha256)
        return Fetched(url, sha256, size, path)
    raise failure(refusals, advice)


def read_url(
    urls: Sequence[str],
    *,
    span: Span | None = None,
    check: Callable[[bytes], Any] = bytes,
    headers: Mapping[str, str] | None = None,
    advice: str = "download it by hand",
) -> bytes:
    """Return what the first working one of `urls` (http, https, file) gives, without keeping it.

    span: which part of it to read. headers: sent with requests for all of it.
    check: raises OSError or ValueError for data that are damaged.

    Raises:
        UnavailableError, ForbiddenError, UserError: as `fetch_cached`.
    """
    refusals: dict[str, RefusedError] = {}
    for url in working_first(urls):
        try:
            return patiently(url, lambda url=url: _read_once(url, span, check, headers or {}))
        except RefusedError as error:
            refusals[url] = error
    raise failure(refusals, advice)


def failure(refusals: dict[str, RefusedError], advice: str) -> UserError:
    """Return the error that names every address with its reason."""
    told = [f"{url} ({reason})" for url, reason in refusals.items()]
    first, reason = next(iter(refusals.items()))
    others = "".join(f", nor {other}" for other in told[1:])
    kind, way_out = UserError, f"run again later, or {advice}"
    if all(error.gone for error in refusals.values()):
        kind, way_out = UnavailableError, advice
    elif any(error.forbidden for error in refusals.values()):
        kind, way_out = ForbiddenError, advice
    return kind(f"{first}: cannot be fetched ({reason}){others}; {way_out}")


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
        raise RefusedError("no such file", gone=True)
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
            drop(part)
    return cached, sha256


def _finished(cached: Path, url: str, expected: Expected) -> str | None:
    """Return the SHA-256 of a finished download; None if there is none, or not of this file."""
    if not cached.is_file():
        return None
    try:
        return _compared(cached, expected)
    except RefusedError as error:
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
        raise RefusedError("gives a web page instead of the file")
    sha256 = _compared(path, expected)
    if not expected.checksums:
        if not start.startswith(_MAGIC.get(suffix, b"")):
            raise RefusedError(f"gives something else than a {suffix} file")
        _read_to_end(path, suffix)
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
        raise RefusedError(f"gives a file that breaks off or is damaged ({error})") from error


# --- downloading


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
    patiently(url, lambda: receive(url, part, expected, headers), lambda: size_of(part))
    try:
        return _checked(part, url, expected)
    except RefusedError as error:
        drop(part)
        if not again:
            raise
        log.warning("%s: %s; starting over", url, error)
    return _download(url, part, expected, headers, again=False)


def _read_once(
    url: str, span: Span | None, check: Callable[[bytes], Any], headers: Mapping[str, str]
) -> bytes:
    if urlsplit(url).scheme == "file":
        data = _local_file(url).read_bytes()
        return data[slice(*span)] if span else data
    return read_part(url, span, check) if span else undamaged(read_bytes(url, headers), check)
