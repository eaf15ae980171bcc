"""N-grams: what is read, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproduction.paper.ngrams import read_ngrams
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError


@pytest.mark.parametrize("longer", [0, 1])
def test_n_grams_are_bits_by_order_and_line_of_the_same_lines_alone(tmp_path, longer):
    bits = np.random.default_rng(1).random((2, 5, 3))  # by size, order and line
    paths = {label: str(tmp_path / label) for label in ("BPE", "SaGe")}
    for label, path in paths.items():
        characters = [20 + longer * (label == "SaGe"), 30, 40]
        frames = [
            pd.DataFrame({"lines": size, "line": range(3), "characters": characters}).assign(
                **{f"bits_{order}": row for order, row in enumerate(rows, start=1)}
            )
            for size, rows in zip((100, 1000), bits, strict=True)
        ]
        write_parquet(path, pd.concat(frames))
    if longer:
        with pytest.raises(UserError, match="n-grams of English"):
            read_ngrams({"English": paths})
        return
    read = read_ngrams({"English": paths})["English"]["SaGe"]
    assert list(read.bits) == [100, 1000]
    np.testing.assert_array_equal(list(read.bits.values()), bits)
