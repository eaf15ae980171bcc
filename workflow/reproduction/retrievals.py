"""What a run takes from outside: which sources, and what is there of them."""

from __future__ import annotations

from pathlib import Path

from reproduction.data.sources import Download, Hub, Source
from reproduction.run import Run, Stanza


def retrievals(run: Run) -> list[tuple[Source, str]]:
    """Return every source of data, and what is made of it."""
    found = []
    for section, name, split in run.sources:
        source = run.source(section, name, split)
        if not source.constructed:
            found.append((source, run.source_files(section, name, split)[0]))
    return found


def retrieved_files(run: Run) -> list[str]:
    """Return what the run takes from outside: no local file, no rows that are constructed."""
    return [file for source, file in retrievals(run) if source.kind != "path"]


def dump_sample(run: Run, section: str, name: str, split: str | None = None) -> Stanza | None:
    """Return how many lines to draw from what is downloaded, and how; None for all of it.

    section, name, split: of the source, as `run.source` takes them.
    """
    if section != "language_settings":
        return None
    stanza, source = run.language(name), run.source(section, name, split)
    is_drawn = isinstance(source, Hub) or (isinstance(source, Download) and source.index)
    if stanza.lines is None or not is_drawn:
        return None
    return {"lines": stanza.lines + stanza.heldout_lines, "language": name}


def sources_table(run: Run) -> list[str]:
    """Return lines of a table of the run's sources: what, size, licence, is it there."""
    rows = [("source", "what", "size", "licence", "")]
    for source, file in retrievals(run):
        state = "there" if Path(file).exists() else "to be fetched"
        licence, size = source.licence or "", source.size or ""
        rows.append((source.key, source.shown_title, size, licence, state))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
