"""What the files of a source are: which they are, their format, and how a text is read from it."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from sagevocab.files import TABLE_ENDINGS, TABLES, file_ending

FORMATS = ("mediawiki", "text", "conllu", *TABLES, "conll")
# What the ending of a file's name says of its format.
ENDINGS = TABLE_ENDINGS | {
    ".conllu": "conllu",
    ".conll": "conll",
    ".txt": "text",
    ".xml": "mediawiki",
}


class Form(BaseModel):
    """How files are read; a field that is None is not known, or does not apply."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    key: str  # the configuration key of the source, for messages
    kind: str = "path"
    format: str
    column: str | None = None  # of a table, which holds the text
    sentences: bool = False  # whether texts are cut into sentences, or into their lines
    clean: bool = False  # whether only whole sentences are taken, as of a dump
    labels: list[str | int] | None = None  # the classes of a split as its rows hold them
    scores: list[float] | None = None  # the lowest and the highest score of a regression

    @property
    def column_key(self) -> str:
        """Where a user sets the column."""
        if self.kind in ("hub", "download"):
            return f"the column of {self.key}.dataset in workflow/resources/datasets.yaml"
        return f"{self.key}.column"


def local_files(path: str | Sequence[str]) -> list[str]:
    """Return the files of a `path:`: a file, a folder, a pattern with `*`, or a list of such.

    The files of a folder or pattern are in the order of their names; hidden ones are left out.
    """
    paths = [path] if isinstance(path, str) else list(path)
    return [file for one in paths for file in _files_of(one)]


def _files_of(path: str) -> list[str]:
    if os.path.isdir(path):
        inside = sorted(name for name in os.listdir(path) if not name.startswith("."))
        found = [os.path.join(path, name) for name in inside]
    elif glob.has_magic(path) and not os.path.exists(path):
        found = sorted(glob.glob(path, recursive=True))
    else:
        return [path]
    files = [file for file in found if os.path.isfile(file)]
    return files or [path]


def format_of_name(path: str | Sequence[str]) -> str | None:
    """Return the format that the names of all files of a `path:` or `package:` tell, if they do.

    Endings of compression are passed over; `.xml-p1p999` is a part of a dump.
    """
    formats = {ENDINGS.get(file_ending(file).partition("-")[0]) for file in local_files(path)}
    return formats.pop() if len(formats) == 1 else None
