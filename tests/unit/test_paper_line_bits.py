"""What is read of n-grams and causal models of held-out lines, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reproduction.analysis.ngrams import ORDERS
from reproduction.paper.line_bits import read_causal, read_ngrams
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError


def written(path: Path, frame: pd.DataFrame) -> str:
    write_parquet(path, frame)
    return str(path)


def n_grams(bits: np.ndarray, characters: list[int]) -> pd.DataFrame:
    """A row a size and line; bits: by size, order and line."""
    frames = [
        pd.DataFrame({"lines": size, "line": range(3), "characters": characters}).assign(
            **{f"bits_{order}": row for order, row in zip(ORDERS, rows, strict=True)}
        )
        for size, rows in zip((100, 1000), bits, strict=True)
    ]
    return pd.concat(frames)


def test_n_grams_are_bits_by_order_and_line_of_the_same_lines_alone(tmp_path):
    bits = np.random.default_rng(1).random((2, len(ORDERS), 3))
    one = written(tmp_path / "one", n_grams(bits, [20, 30, 40]))
    read = read_ngrams({"English": {"BPE": one, "SaGe": one}})["English"]["SaGe"]
    assert list(read.bits) == [100, 1000]
    found = [[by_order[order] for order in ORDERS] for by_order in read.bits.values()]
    np.testing.assert_array_equal(found, bits)
    other = written(tmp_path / "other", n_grams(bits, [21, 30, 40]))
    with pytest.raises(UserError, match="n-grams of English"):
        read_ngrams({"English": {"BPE": one, "SaGe": other}})


def model(lines: int) -> pd.DataFrame:
    """Two validations: the first of every fourth line, at 3 bits a character, the last of all."""
    characters = np.arange(20, 20 + lines)
    early = pd.DataFrame({"step": 5, "seen": 500, "line": range(0, lines, 4)})
    late = pd.DataFrame({"step": 10, "seen": 1000, "line": range(lines)})
    return pd.concat(
        [
            early.assign(characters=characters[::4], bits=3.0 * characters[::4]),
            late.assign(characters=characters, bits=2.0 * characters + np.arange(lines)),
        ]
    )


def test_curves_of_causal_models_are_of_the_lines_of_every_validation(tmp_path):
    one = written(tmp_path / "one", model(40))
    [read] = read_causal({"English": {"SaGe": [one]}})["English"]["SaGe"]
    rate = (2.0 * read.characters + np.arange(40))[::4].sum() / read.characters[::4].sum()
    assert read.curve["rate"].tolist() == pytest.approx([3, rate])
    assert read.curve["seen"].tolist() == [500, 1000]
    assert len(read.bits) == 40
    other = written(tmp_path / "other", model(44))
    with pytest.raises(UserError, match="causal models of English predicted other held-out"):
        read_causal({"English": {"BPE": [one], "SaGe": [other]}})
