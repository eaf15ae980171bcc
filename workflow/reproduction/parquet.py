"""Parquet files, which the library does without: tables appear whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sagevocab.errors import UserError
from sagevocab.files import Columns, atomic_path

if TYPE_CHECKING:
    import pandas as pd


def write_parquet(path: str | Path, frame: pd.DataFrame) -> None:
    """Write `frame` without its index, whole or not at all.

    Most columns are numbers that differ from row to row. Files are a fifth smaller where these are
    compressed as they are, not by a dictionary of them.
    """
    with atomic_path(path) as temporary:
        frame.to_parquet(
            temporary, index=False, compression="zstd", compression_level=9, use_dictionary=False
        )


def write_columns(path: str | Path, columns: Columns) -> None:
    """Write a table of the library as parquet; its `piece` is text, even where it has no row."""
    import pandas as pd

    frame = pd.DataFrame(columns)
    write_parquet(path, frame.astype({"piece": "str"}))


def read_parquet(path: str | Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read columns of a parquet file, by default all.

    Raises:
        UserError: it is missing or damaged, or lacks a column.
    """
    import pandas as pd

    try:
        return pd.read_parquet(path, columns=None if columns is None else list(columns))
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path}: cannot be read ({reason}); delete it and run again") from error
