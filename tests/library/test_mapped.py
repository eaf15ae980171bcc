"""Arrays in files: what was written comes back, and no file is left, however the process ends."""

from __future__ import annotations

import errno
import io
import mmap
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from sagevocab.counting import SegmentedCorpus
from sagevocab.errors import UserError
from sagevocab.kernels import Lines
from sagevocab.loss import split
from sagevocab.mapped import ArrayFile
from sagevocab.segment import GreedySegmenter
from sagevocab.settings import Word2VecSettings
from sagevocab.skipgram import BlockTrainer
from sagevocab.words import Normalizer, WordCorpus


def is_mapped(array: np.ndarray) -> bool:
    """Return whether the memory of an array is that of a file."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, memoryview) and isinstance(array.obj, mmap.mmap)


def test_what_was_written_comes_back_and_the_file_has_no_name(tmp_path: Path) -> None:
    file = ArrayFile(np.int32, tmp_path)
    file.append([1, 2])
    file.append(np.array([3], np.int64))
    assert len(file) == 3
    file.copy(io.BytesIO(np.array([4, 5], np.int32).tobytes()))
    array = file.mapped()
    assert array.tolist() == [1, 2, 3, 4, 5]
    assert array.dtype == np.int32 and array.flags.aligned and array.flags.writeable
    assert is_mapped(array)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_an_array_too() -> None:
    assert ArrayFile(np.int64).mapped().tolist() == []


def test_all_that_grows_with_the_text_is_mapped(tmp_path: Path) -> None:
    lines = [f"a{number % 9} b c" for number in range(50)]
    corpus = WordCorpus.from_lines(lines, Normalizer(), folder=tmp_path)
    corpus.save(tmp_path / "words.npz")
    loaded = WordCorpus.load(tmp_path / "words.npz")
    words = WordCorpus.from_words([["▁a"], ["▁b"]], tmp_path)
    for one in (corpus, loaded, words):
        assert is_mapped(one.tokens) and is_mapped(one.line_offsets)
        assert all(is_mapped(part.types) for part in split(Lines(one.tokens, one.line_offsets, 0)))
    text = SegmentedCorpus(corpus, GreedySegmenter(["▁", "a", "b", "c"]))
    trainer = BlockTrainer(text, Word2VecSettings(dimension=4), tmp_path)
    assert is_mapped(trainer._text.rows) and is_mapped(trainer._text.ends)
    assert [path.name for path in tmp_path.iterdir()] == ["words.npz"]


def test_a_damaged_array_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "words.npz"
    WordCorpus.from_lines(["a b"] * 5000, Normalizer()).save(path)
    data = bytearray(path.read_bytes())
    data[data.index(b"tokens.npy") + 1000] ^= 1
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"words.npz: cannot be read \(it is damaged\)"):
        WordCorpus.load(path)


def test_a_full_disk_is_not_blamed_on_the_words_that_are_read(tmp_path: Path, monkeypatch) -> None:
    WordCorpus.from_lines(["a b"], Normalizer()).save(tmp_path / "words.npz")
    full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr(ArrayFile, "copy", full)
    with pytest.raises(OSError, match="No space left on device"):
        WordCorpus.load(tmp_path / "words.npz")


FULL = """
import resource, sys
import sagevocab
from sagevocab.errors import UserError

def lines():
    for number in range(100_000):
        yield f"line {number % 100} of many"
        if number == 1000:  # what was compiled is kept by then
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

try:
    sagevocab.train(lines(), 50, output=sys.argv[1], progress=False)
except UserError as error:
    print(error)
"""


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path / "out")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "out: cannot be written (File too large); make room" in found.stdout
    assert list(tmp_path.iterdir()) == []
