"""A seeded part of a large dump, read by its index: megabytes in the place of gigabytes.

A multistream dump is a row of bz2 streams with a hundred pages each, and its index says where each
begins. Streams are drawn in a seeded order until their pages have the wanted number of distinct
clean lines. What was drawn depends on the seed and the dump alone, not on servers or cores, and is
written as a dump of its own.
"""

from __future__ import annotations

import bz2
import io
import logging
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from sagevocab.data.corpus import line_digest, read_lines
from sagevocab.data.dump import Article, articles_in
from sagevocab.data.extract import ExtractionSettings, parse_articles
from sagevocab.data.fetch import (
    UnavailableError,
    cache_name,
    disk_errors,
    fetch_cached,
    read_url,
)
from sagevocab.errors import UserError, tell
from sagevocab.state import atomic_path

log = logging.getLogger(__name__)

Span = tuple[int, int]
_END = b"</mediawiki>\n"


class NoIndexError(UserError):
    """The dump can't be read by an index, so all of it must be."""


def draw_streams(
    urls: Sequence[str],
    index_urls: Sequence[str],
    output: Path,
    settings: ExtractionSettings,
    *,
    lines: int,
    cache_dir: Path,
    advice: str = "try again later",
) -> int:
    """Write a dump of seeded streams with at least `lines` distinct clean lines; return how many.

    urls, index_urls: addresses of the dump and of its index. settings: how lines are cut, and the
    seed. cache_dir: keeps the index, and the streams for a run that goes on. advice: what a user
    without that network can do.

    Raises:
        NoIndexError: no server has the index, or none gives parts of the dump.
        UserError: no server answers, or the whole dump has fewer lines.
    """
    try:
        spans = read_index(fetch_cached(index_urls, cache_dir=cache_dir, advice=advice).path)
        folder = Path(cache_dir) / f"{cache_name(urls[0])}.streams"
        dump = _Parts(urls, folder, advice)
        header = bz2.decompress(dump.read((0, spans[0][0])))
    except (UnavailableError, OSError, ValueError) as error:
        raise NoIndexError(f"{urls[0]}: cannot be read by its index ({error})") from error
    chosen, found = _draw(spans, dump, header, settings, lines)
    with atomic_path(output) as temporary, temporary.open("wb") as file:
        for span in [(0, spans[0][0]), *sorted(chosen)]:
            file.write(dump.read(span))
        file.write(bz2.compress(_END))
    total = sum(end - start for start, end in chosen)
    log.info(
        "%s: %d of %d streams drawn, %d bytes, with %d distinct lines",
        *(urls[0], len(chosen), len(spans), total, found),
    )
    return found


def _draw(
    spans: list[Span], dump: _Parts, header: bytes, settings: ExtractionSettings, lines: int
) -> tuple[list[Span], int]:
    chosen: list[Span] = []
    seen: set[int] = set()
    for number in np.random.default_rng(settings.seed).permutation(len(spans)):
        if len(seen) >= lines:
            return chosen, len(seen)
        chosen.append(spans[number])
        span = spans[number]
        articles = stream_articles(header, dump.read(span), str(dump.file(span)))
        seen.update(map(line_digest, parse_articles(list(articles), settings).sentences))
        if len(chosen) % 100 == 0:
            line = f"{dump.name}: {len(seen)} of {lines} lines after {len(chosen)} streams"
            log.info("%s", line)
            tell(line)
    if len(seen) < lines:
        raise UserError(
            f"{dump.name}: has {len(seen)} distinct lines, fewer than the {lines} asked for"
        )
    return chosen, len(seen)


def read_index(path: Path) -> list[Span]:
    """Return first byte and end of every stream of pages but the last, whose end it lacks.

    Raises:
        ValueError: the file is no index of a multistream dump.
    """
    starts: list[int] = []
    for line in read_lines(path):
        start = int(line.partition(":")[0])
        if not starts or start != starts[-1]:
            starts.append(start)
    spans = list(pairwise(starts))
    if not spans or any(start >= end for start, end in spans):
        raise ValueError(f"{path} is no index of a dump with several streams")
    return spans


def stream_articles(header: bytes, stream: bytes, name: str) -> Iterator[Article]:
    """Yield the articles among the pages of one stream.

    header: the beginning of the dump, which opens its root element. name: for messages.

    Raises:
        UserError: the stream is damaged.
    """
    try:
        xml = io.BytesIO(header + bz2.decompress(stream) + _END)
    except (OSError, ValueError) as error:
        raise UserError(f"{name}: is damaged ({error}); delete it and run again") from error
    return (article for article in articles_in(xml, name) if article is not None)


class _Parts:
    """Parts of a remote file, kept on disk once they were read."""

    def __init__(self, urls: Sequence[str], folder: Path, advice: str) -> None:
        self._urls, self._folder, self._advice, self.name = urls, folder, advice, urls[0]

    def file(self, span: Span) -> Path:
        """Return where a part is kept."""
        return self._folder / f"{span[0]}-{span[1]}"

    def read(self, span: Span) -> bytes:
        """Return the bytes from the first of `span` to before its end."""
        file = self.file(span)
        if file.is_file():
            return file.read_bytes()
        data = read_url(self._urls, span=span, check=bz2.decompress, advice=self._advice)
        advice = "make room or set `download_dir`"
        with disk_errors(self._folder, advice), atomic_path(file) as temporary:
            temporary.write_bytes(data)
        return data
