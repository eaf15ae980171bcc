"""N-grams: what is read, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproduction.paper.ngrams import LineBits, read_ngrams
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError

LINES = 50
CHARACTERS = np.linspace(20, 60, LINES)
ORDERS = np.array([2.5, 2, 1.8, 1.7, 1.6])


def line_bits(shift=0.0, sizes=(100, 1000), seed=1) -> LineBits:
    """Bits a character by order, less with more lines; lines scatter alike for equal seeds."""
    noise = np.random.default_rng(seed).normal(0, 0.2, LINES)
    rates = {size: ORDERS + shift + 1 / size for size in sizes}
    return LineBits(
        CHARACTERS, {size: (rate[:, None] + noise) * CHARACTERS for size, rate in rates.items()}
    )


@pytest.fixture
def panels():
    return {
        "English": {"BPE": line_bits(), "SaGe": line_bits(np.array([0.1, 0, -0.05, -0.05, 0.0]))},
        "Turkish": {"BPE": line_bits(seed=2), "SaGe": line_bits(0.02, seed=3)},
    }


def written(path, bits: LineBits):
    frames = [
        pd.DataFrame({"lines": size, "line": range(LINES), "characters": bits.characters}).assign(
            **{f"bits_{order}": row for order, row in enumerate(rows, start=1)}
        )
        for size, rows in bits.bits.items()
    ]
    write_parquet(path, pd.concat(frames))
    return str(path)


def test_n_grams_are_read_by_language_and_tokenizer(tmp_path, panels):
    paths = {
        title: {label: written(tmp_path / f"{title} {label}", one) for label, one in panel.items()}
        for title, panel in panels.items()
    }
    read = read_ngrams(paths)
    for title, panel in panels.items():
        for label, one in panel.items():
            assert list(read[title][label].bits) == [100, 1000]
            for size, rows in one.bits.items():
                np.testing.assert_array_equal(read[title][label].bits[size], rows)


def test_other_lines_are_refused(tmp_path):
    other = LineBits(CHARACTERS + 1, line_bits().bits)
    paths = {"BPE": written(tmp_path / "a", line_bits()), "SaGe": written(tmp_path / "b", other)}
    with pytest.raises(UserError, match="n-grams of English predicted other held-out lines"):
        read_ngrams({"English": paths})
