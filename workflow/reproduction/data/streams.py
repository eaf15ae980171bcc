"""A seeded part of a large text: megabytes instead of gigabytes.

A multistream dump is a row of bz2 streams with a hundred pages each, and its index says where each
begins. Streams are drawn in a seeded order until their pages have the wanted number of distinct
clean lines. What was drawn depends on the seed and the dump alone, not on servers or cores, and is
written as a dump of its own. A table of several files is drawn file by file (`EnoughLines`).
"""

from __future__ import annotations

import bz2
import io
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.data.corpus import check_enough, line_digest
from reproduction.data.download import Expected, RefusedError, Span, download
from reproduction.data.dump import Article, articles_in, wrong_wiki
from reproduction.data.extract import ExtractionSettings, column_lines, parse_articles
from reproduction.data.files import Form
from sagevocab.corpus.text import read_lines
from sagevocab.errors import UserError, tell
from sagevocab.files import atomic_path

log = logging.getLogger(__name__)

_END = b"</mediawiki>\n"


@dataclass(frozen=True)
class Sample:
    """How much of a text is wanted: distinct `lines`, as `settings` cut them."""

    lines: int
    settings: ExtractionSettings

    def count(self, form: Form) -> Callable[[Path], bool]:
        """Begin to count lines in files of a table; say after each whether they are enough."""
        enough = EnoughLines(self.lines)
        return lambda path: enough.add(column_lines(path, form, self.settings))


def draw_streams(
    urls: Sequence[str],
    index_urls: Sequence[str],
    output: Path,
    sample: Sample,
    *,
    cache_dir: Path,
    key: str,
    checksums: Mapping[str, str] | None = None,
    wiki: str | None = None,
    advice: str = "download it by hand",
) -> dict[str, Any]:
    """Write a dump of seeded streams with enough distinct clean lines; say what it is.

    urls, index_urls: addresses of the dump and of its index. sample: how many lines, how they are
    cut, and the seed. cache_dir: keeps the index, and the streams for a run that resumes. key:
    configuration key of the text. wiki: the name that the dump must not contradict. advice: what a
    user without that network can do.

    Raises:
        UnavailableError: no server has the dump or its index, or none gives parts of the dump.
        UserError: no server answers, the index is none, the dump is of another wiki, or the whole
            dump has fewer lines.
    """
    advice = f"{advice}, or `{key}.lines: null` to read all of the dump"
    expected = Expected(checksums=checksums or {}, check=read_index)
    index = download(index_urls, cache_dir=cache_dir, expected=expected, advice=advice)
    spans = read_index(index.path)
    dump = _Dump(urls, cache_dir, advice)
    begin = (0, spans[0][0])
    header = bz2.decompress(dump.read(begin))
    if reason := wrong_wiki(io.BytesIO(header), wiki):
        dump.file(begin).unlink()
        raise UserError(f"{urls[0]}: {reason}; {advice}")
    enough = EnoughLines(sample.lines)
    chosen = _draw(spans, dump, header, sample.settings, enough)
    check_enough(urls[0], enough.found, sample.lines, key)
    with atomic_path(output) as temporary, temporary.open("wb") as file:
        for span in [begin, *sorted(chosen)]:
            file.write(dump.read(span))
        file.write(bz2.compress(_END))
    parts = f"{len(chosen)} of {len(spans)} streams"
    log.info("%s: %s drawn, with %d distinct lines or more", urls[0], parts, sample.lines)
    return {"parts": parts, "index_sha256": index.sha256}


class EnoughLines:
    """Counts distinct lines until there are as many as are wanted."""

    def __init__(self, wanted: int) -> None:
        """Begin with none."""
        self.wanted = wanted
        self._seen: set[int] = set()

    @property
    def found(self) -> int:
        """How many were counted."""
        return len(self._seen)

    def add(self, lines: Iterable[str]) -> bool:
        """Count lines; return whether no more are needed."""
        for line in lines:
            self._seen.add(line_digest(line))
            if self.found >= self.wanted:
                return True
        return False


def _draw(
    spans: list[Span],
    dump: _Dump,
    header: bytes,
    settings: ExtractionSettings,
    enough: EnoughLines,
) -> list[Span]:
    """Return streams with enough lines, or all."""
    chosen: list[Span] = []
    for number in np.random.default_rng(settings.seed).permutation(len(spans)):
        span = spans[number]
        chosen.append(span)
        articles = stream_articles(header, dump.read(span), str(dump.file(span)))
        if enough.add(parse_articles(list(articles), settings).sentences):
            break
        if len(chosen) % 100 == 0:
            found = f"{enough.found} of {enough.wanted} lines"
            line = f"{dump.name}: {found} after {len(chosen)} streams"
            log.info("%s", line)
            tell(line)
    return chosen


def read_index(path: Path) -> list[Span]:
    """Return first byte and end of every stream of pages but the last, whose end it lacks.

    Of a dump's 100,000 streams and more, that one is never drawn.

    Raises:
        RefusedError: the file is no index of a multistream dump.
    """
    starts: list[int] = []
    try:
        for line in read_lines(path):
            first = line.partition(":")[0]
            start = int(first) if first.isdecimal() else -1
            if not starts or start != starts[-1]:
                starts.append(start)
    except UserError as error:
        raise RefusedError("gives a file that breaks off or is damaged") from error
    spans = list(pairwise(starts))
    if not spans or any(start >= end for start, end in spans) or spans[0][0] < 0:
        raise RefusedError("gives no index of a dump with several streams")
    return spans


def stream_articles(header: bytes, stream: bytes, name: str) -> Iterator[Article]:
    """Yield the articles among the pages of one stream.

    header: the beginning of the dump, which opens its root element. name: for messages.

    Raises:
        UserError: the stream holds something else.
    """
    xml = io.BytesIO(header + bz2.decompress(stream) + _END)
    return (article for article in articles_in(xml, name) if article is not None)


@dataclass(frozen=True)
class _Dump:
    """A remote dump, of which the streams that were read stay in the cache."""

    urls: Sequence[str]
    cache_dir: Path
    advice: str

    @property
    def name(self) -> str:
        """What it is in messages."""
        return self.urls[0]

    def file(self, span: Span) -> Path:
        """Return where a stream is kept, once it is here."""
        where = {"cache_dir": self.cache_dir, "advice": self.advice}
        return download(self.urls, span=span, **where).path

    def read(self, span: Span) -> bytes:
        """Return the bytes from the first of `span` to before its end."""
        return self.file(span).read_bytes()
