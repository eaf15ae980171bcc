"""What a run takes from outside: which sources, what is there of them, and why some are not."""

from __future__ import annotations

from pathlib import Path

from reproduction.data.sources import Download, Hub, Source
from reproduction.run import RETRIEVED, Run, Stanza


def retrievals(run: Run) -> list[tuple[Source, str, str]]:
    """Return every source of data, what is made of it, and the log of its rule."""
    found = []
    for section, name, split in run.sources:
        source = run.source(section, name, split)
        if source.kind != "constructed":
            log = f"logs/{RETRIEVED[section][1]}/{f'{name}.{split}' if split else name}.log"
            file = run.source_files(section, name, split)[0]
            found.append((source, file, run.result(log)))
    return found


def retrieved_files(run: Run) -> list[str]:
    """Return what the run takes from outside: no local file, no rows that are constructed."""
    return [file for source, file, _log in retrievals(run) if source.kind != "path"]


def dump_sample(run: Run, language: str) -> Stanza | None:
    """Return how many lines to draw from what is downloaded, and how; None for all of it."""
    stanza, source = run.language(language), run.source("language_settings", language)
    is_drawn = isinstance(source, Hub) or (isinstance(source, Download) and source.index)
    if stanza.lines is None or not is_drawn:
        return None
    return {
        "lines": stanza.lines + stanza.heldout_lines,
        "language": language,
        "min_words": run.config.corpus.min_words,
    }


def sources_table(run: Run) -> list[str]:
    """Return lines of a table of the run's sources: what, size, licence, is it there."""
    rows = [("source", "what", "size", "licence", "")]
    for source, file, _log in retrievals(run):
        state = "there" if Path(file).exists() else "to be fetched"
        size = source.size or _megabytes(getattr(source, "bytes", None))
        rows.append((source.key, source.shown_title, size, source.licence or "", state))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def failed_retrievals(run: Run) -> list[str]:
    """Return why sources could not be retrieved, and the way around each."""
    logs = [Path(log) for _, file, log in retrievals(run) if not Path(file).exists()]
    texts = [log.read_text(encoding="utf-8") for log in logs if log.exists()]
    errors = [line for text in texts for line in text.splitlines() if line.startswith("error: ")]
    return [line.removeprefix("error: ") for line in dict.fromkeys(errors)]


def _megabytes(size: int | None) -> str:
    return "" if size is None else f"{size / 1e6:.1f} MB"
