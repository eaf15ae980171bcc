"""Targets: what the list of them says, and what is near one that no rule makes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

_TARGET = re.compile(r"[a-z][a-z0-9_]{2,}|results/\S+")


def hints(
    arguments: Sequence[str], targets: Iterable[str], is_made: Callable[[str], bool]
) -> Iterator[str]:
    """Yield a line for each word that looks like a misspelt target, with the nearest ones.

    A word that resembles none is left to Snakemake: it may be the value of an option.

    Args:
        arguments: of the command line.
        targets: the names of rules, and the files without wildcards that they make.
        is_made: whether a rule makes a file.
    """
    known = sorted(targets)
    for word in arguments:
        if not _TARGET.fullmatch(word) or word in known or is_made(word) or Path(word).exists():
            continue
        if near := get_close_matches(word, known, cutoff=0.7):
            yield (
                f"hint: there is no target {word}; near it are {', '.join(near)}; "
                "snakemake --list-target-rules shows all"
            )


def first_sentence(text: str | None) -> str:
    """Return the first sentence of a docstring, on one line."""
    return re.split(r"(?<=\.)\s", " ".join((text or "").split()), maxsplit=1)[0]
