"""Synthetic sources by name: text generators write lines, task generators rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sagevocab.errors import UserError
from sagevocab.state import atomic_path, write_parquet

Source = dict[str, Any]


def generate(source: Source, output: Path, seed: int) -> str:
    """Write the rows of a resolved source of kind `generator`; return what to call its origin.

    Raises:
        UserError: no such generator, or no number of rows.
    """
    rows = source.get("rows")
    if not rows:
        raise UserError(f"{source['key']}.rows: a generator needs the number of rows to make")
    if source["split"] is None:
        with atomic_path(output) as temporary, temporary.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in _lines(source, rows, seed))
    else:
        from sagevocab.data.synthetic import tasks

        write_parquet(output, tasks.rows(source["name"], source["split"], rows, seed))
    return f"generator {source['name']}"


def _lines(source: Source, rows: int, seed: int) -> Iterator[str]:
    name = source["name"]
    if name == "turkish":
        from sagevocab.data.synthetic import turkish

        return turkish.sentences(rows, seed)
    from sagevocab.data.synthetic import domains

    if name not in ("quora", "legal", "reviews"):
        raise UserError(
            f"{source['key']}.generator: there is no text generator {name!r}; "
            "there are turkish, quora, legal and reviews"
        )
    return getattr(domains, name)(rows, seed)
