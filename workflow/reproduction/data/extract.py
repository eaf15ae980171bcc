"""From sources of text to corpora: one clean sentence or text per line, in the source's order.

Parsing wikitext takes most of the time, so articles are spread over processes and their sentences
gathered in order: the bytes do not depend on the number of processes. An extraction saves its
progress in a state folder and resumes from there.
"""

from __future__ import annotations

import itertools
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from mwparserfromhell.parser import ParserError

from reproduction.data.corpus import clean_line, is_clean_sentence, sample_corpus, split_sentences
from reproduction.data.datasets import read_column
from reproduction.data.dump import Article, plain_text, read_articles
from reproduction.data.files import Form
from reproduction.resuming import ResumableState, scratch_folder
from sagevocab.corpus.text import write_lines, zstd
from sagevocab.errors import UserError, tell
from sagevocab.files import fingerprint

log = logging.getLogger(__name__)

_BATCH_CHARACTERS = 1 << 18
_BATCHES_PER_PROCESS = 4
_ENOUGH_TO_JUDGE = 1000
MOST_FAILED = 0.01  # share of a dump's articles that can't be parsed, at most
SAVE_SECONDS = 60.0
# Errors that the wikitext parser raises on pages it can't parse.
UNREADABLE = (ParserError, RecursionError, ValueError)


@dataclass(frozen=True)
class ExtractionSettings:
    """How sentences are taken from a source."""

    language: str = ""  # code, for the rules of sentence ends
    min_words: int = 3  # shorter sentences of a dump are dropped
    seed: int = 1  # of what is drawn: streams of a dump, a sample of lines


class _Batch(NamedTuple):
    """The clean sentences of a number of articles, and how many were not clean."""

    sentences: list[str]
    refused: int
    articles: int
    failed: int


def extract_lines(
    sources: Sequence[str | Path],
    output: str | Path,
    form: Form,
    settings: ExtractionSettings,
    *,
    threads: int = 1,
    state_dir: str | Path | None = None,
    code: str = "",
    save_seconds: float = SAVE_SECONDS,
) -> int:
    """Write the lines of one source after the other to `output` (.txt.zst); return their number.

    sources: files of one format.
    form: of the sources; a MediaWiki dump is always cut into sentences.
    state_dir, code: folder for the progress on a dump, and the version of the code that made it.

    Raises:
        UserError: a source is damaged, of another format, or none has a usable line.
    """
    names = ", ".join(map(str, sources))
    state = ResumableState(state_dir, _fingerprint(sources, settings, code) if state_dir else "")
    if form.format == "mediawiki":
        lines = _dump_sentences(sources, settings, threads, state, save_seconds)
    else:
        lines = itertools.chain.from_iterable(column_lines(s, form, settings) for s in sources)
    count = write_lines(output, lines)
    if not count:
        Path(output).unlink()
        raise UserError(
            f"{names}: holds no usable line of text; check the file, `format`, `column`"
        )
    log.info("%s: %d lines", names, count)
    state.clear()
    return count


def extract_sample(
    sources: Sequence[str | Path],
    output: str | Path,
    form: Form,
    settings: ExtractionSettings,
    *,
    lines: int | None,
    threads: int = 1,
) -> int:
    """Write a seeded sample (None: all) of the sources' distinct lines; return their number.

    Raises:
        UserError: as `extract_lines`, or fewer distinct lines than asked for.
    """
    key = form.key.removesuffix(".source")
    with scratch_folder(output) as folder:
        everything = folder / "lines.txt.zst"
        extract_lines(sources, everything, form, settings, threads=threads)
        count, _ = sample_corpus(everything, output, None, lines=lines, seed=settings.seed, key=key)
    return count


def column_lines(source: str | Path, form: Form, settings: ExtractionSettings) -> Iterator[str]:
    """Yield the lines of a text file or of one column of a table; a text may give several.

    Raises:
        UserError: as `read_column`.
    """
    texts = read_column(source, form)
    lines = (line for text in texts for line in text.split("\n"))
    if form.clean:
        yield from _clean_sentences(lines, str(source), settings)
    else:
        parts = _sentences(lines, settings) if form.sentences else lines
        yield from filter(None, map(clean_line, parts))


def _sentences(paragraphs: Iterable[str], settings: ExtractionSettings) -> Iterator[str]:
    """Sentences of paragraphs, whole or not."""
    for paragraph in paragraphs:
        yield from split_sentences(clean_line(paragraph), settings.language)


def _clean_sentences(
    paragraphs: Iterable[str], name: str, settings: ExtractionSettings
) -> Iterator[str]:
    """Sentences as of a dump: without headings, items of lists and captions."""
    kept = refused = 0
    for sentence in _sentences(paragraphs, settings):
        if is_clean_sentence(sentence, settings.min_words):
            kept += 1
            yield sentence
        else:
            refused += 1
    _warn_of_refusals(name, kept, refused)


# --- dumps


def _dump_sentences(
    sources: Sequence[str | Path],
    settings: ExtractionSettings,
    threads: int,
    state: ResumableState,
    save_seconds: float,
) -> Iterator[str]:
    """Sentences of a dump: first those of an earlier, unfinished run, then the rest."""
    names = ", ".join(map(str, sources))
    progress = _Progress(names, state, save_seconds)
    for sentences in progress.saved():
        yield from sentences
    articles = itertools.chain.from_iterable(map(read_articles, sources))
    remaining = itertools.islice(articles, progress.articles, None)
    for batch in _parsed(_batches(remaining), settings, threads):
        yield from batch.sentences
        progress.add(batch)
    progress.check()
    _warn_of_refusals(names, progress.sentences, progress.refused)


def _warn_of_refusals(names: str, kept: int, refused: int) -> None:
    """Say so where most sentences are left out: the text may be in a script we cut badly."""
    if refused <= kept:
        return
    line = (
        f"warning: {names}: {refused} of {kept + refused} sentences are left out: too short, not "
        "ended by a full stop, or with remains of markup; look at some of the source"
    )
    log.warning("%s", line)
    tell(line)


def _batches(articles: Iterable[Article]) -> Iterator[list[Article]]:
    batch, characters = [], 0
    for article in articles:
        batch.append(article)
        characters += len(article.text)
        if characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _parsed(
    batches: Iterable[list[Article]], settings: ExtractionSettings, threads: int
) -> Iterator[_Batch]:
    """Parse batches in `threads` processes, yield the results in order."""
    if threads == 1:
        yield from (parse_articles(batch, settings) for batch in batches)
        return
    # fork: children can't import a script that Snakemake runs.
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(threads, context, initializer=_follow_parent) as pool:
        waiting: deque = deque()
        for batch in batches:
            waiting.append(pool.submit(parse_articles, batch, settings))
            if len(waiting) >= threads * _BATCHES_PER_PROCESS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _follow_parent() -> None:
    """Leave Ctrl-C to the parent, and end this process when the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def parse_articles(articles: list[Article], settings: ExtractionSettings) -> _Batch:
    """Clean sentences of some articles; an article that can't be parsed is counted and left out."""
    sentences, failed, found = [], 0, 0
    for article in articles:
        try:
            text = plain_text(article.text, article.namespaces)
        except UNREADABLE as error:
            log.warning("article %r left out: %s", article.title, error)
            failed += 1
            continue
        parts = list(_sentences(text.split("\n"), settings))
        found += len(parts)
        sentences.extend(part for part in parts if is_clean_sentence(part, settings.min_words))
    return _Batch(sentences, found - len(sentences), len(articles), failed)


class _Progress:
    """Counts articles and failures, and keeps finished sentences in the state folder."""

    def __init__(self, source: str, state: ResumableState, every: float) -> None:
        self.articles = self.failed = self.sentences = self.refused = 0
        self._source, self._state, self._every = source, state, every
        self._parts = 0
        self._unsaved: list[str] = []
        self._last_save = time.monotonic()

    def saved(self) -> Iterator[list[str]]:
        """Sentences of each saved part; afterwards the counts say where to resume."""
        while (part := self._state.load(f"part-{self._parts:06d}")) is not None:
            self._parts += 1
            self.articles, self.failed = int(part["articles"]), int(part["failed"])
            self.refused = int(part["refused"])
            text = zstd.decompress(part["text"].tobytes())
            sentences = text.decode("utf-8").splitlines() if text else []
            self.sentences += len(sentences)
            yield sentences
        if self._parts:
            log.info("%s: resumed after %d articles", self._source, self.articles)

    def add(self, batch: _Batch) -> None:
        """Count a batch; save it with those before it when it is time."""
        self.articles += batch.articles
        self.failed += batch.failed
        self.refused += batch.refused
        self.sentences += len(batch.sentences)
        self._unsaved.extend(batch.sentences)
        if time.monotonic() - self._last_save >= self._every:
            self._save()

    def _save(self) -> None:
        text = "\n".join(self._unsaved).encode("utf-8")
        self._state.save(
            f"part-{self._parts:06d}",
            text=np.frombuffer(zstd.compress(text), dtype=np.uint8),
            articles=np.int64(self.articles),
            failed=np.int64(self.failed),
            refused=np.int64(self.refused),
        )
        self._parts += 1
        self._unsaved = []
        self._last_save = time.monotonic()
        if self.articles >= _ENOUGH_TO_JUDGE:
            self.check()

    def check(self) -> None:
        """Log the totals; too many failures are an error."""
        log.info(
            "%s: %d articles (%d left out as unreadable), %d sentences (%d more were not whole)",
            *(self._source, self.articles, self.failed, self.sentences, self.refused),
        )
        if self.failed > MOST_FAILED * self.articles:
            raise UserError(
                f"{self._source}: {self.failed} of {self.articles} articles can't be parsed, more "
                f"than the share of {MOST_FAILED}; is the dump damaged?"
            )


def _fingerprint(sources: Sequence[str | Path], settings: ExtractionSettings, code: str) -> str:
    """Return what saved progress depends on: settings, code, the sources' sizes and dates.

    Reading all of a 20 GB dump to recognise it would take minutes.
    """
    status = [Path(source).stat() for source in sources]
    dated = [(one.st_size, one.st_mtime_ns) for one in status]
    return fingerprint(dated, asdict(settings), code)
