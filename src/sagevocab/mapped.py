"""Arrays as long as a text: they lie in files, which the system keeps in memory while it has room.

The files have no name. So nobody has to remove them: the system does, with the last use of the
array or the end of the process, however it ends.
"""

from __future__ import annotations

import mmap
import shutil
import tempfile
from pathlib import Path
from typing import IO, Any

import numpy as np


class ArrayFile:
    """A file of numbers, written from front to back and then mapped."""

    def __init__(self, dtype: type, folder: str | Path | None = None) -> None:
        """Begin a file in `folder`, or in that of the system's temporary files."""
        self._dtype = np.dtype(dtype)
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - it is closed by `mapped`

    def __len__(self) -> int:
        """How many numbers were written."""
        return self._file.tell() // self._dtype.itemsize

    def append(self, numbers: Any) -> None:
        """Write numbers after those that are there."""
        self._file.write(np.ascontiguousarray(numbers, self._dtype).data)

    def copy(self, source: IO[bytes]) -> None:
        """Write the rest of an open file after what is there."""
        shutil.copyfileobj(source, self._file)

    def mapped(self) -> np.ndarray:
        """Return the numbers; nothing can be written any more."""
        with self._file as file:
            file.flush()
            if not file.tell():  # nothing cannot be mapped
                return np.zeros(0, self._dtype)
            return np.frombuffer(mmap.mmap(file.fileno(), file.tell()), self._dtype)
