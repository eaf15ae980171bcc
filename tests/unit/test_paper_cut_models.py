"""What models lose with pruned pieces: percentages, pairs and families."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproduction.paper.cut_models import read_cut, table_cut

LOSSES = {  # per cent of three models, at 16 pieces
    "bpe": [5.0, 5.2, 5.1],
    "bigram_code": [3.0, 3.1, 2.9],
    "frequency": [3.1, 3.0, 3.2],
    "random": [20.0, 21.0, 19.0],
}


@pytest.fixture
def data(tmp_path):
    paths = {}
    for title in ("English", "Turkish"):
        for model in range(3):
            rows = [("whole", 20, 0, 3, 100.0), ("whole", 20, 1, 2, 100.0)]
            rows += [
                (name, 16, line, symbols, 100.0 * (1 + losses[model] / 100))
                for name, losses in LOSSES.items()
                for line, symbols in enumerate((4, 2))
            ]
            frame = pd.DataFrame(rows, columns=["tokenizer", "size", "line", "symbols", "bits"])
            path = tmp_path / f"{title}.{model}.parquet"
            frame.assign(characters=50).to_parquet(path)
            paths.setdefault(title, []).append(path)
    labels = {name: name for name in LOSSES}
    return table_cut(read_cut(paths), labels)


def test_losses_are_per_cent_of_the_whole_model(data):
    rows = [row for block in data.blocks for row in block]
    assert [row[1] for row in rows[:4]] == ["bigram_code", "frequency", "merged last", "random"]
    assert rows[0][2:] == ["3.0 ± 0.2 ≈", "1.200"]
    assert rows[1][2].endswith("≈")  # not significantly above the lowest
    assert not rows[3][2].endswith("≈")


def test_prunings_are_tested_in_pairs_of_models(data):
    frame = data.data
    tests = frame[frame["baseline"] != "whole"]
    assert tests.groupby("family").size().to_dict() == {
        "bigram_code, 16": 4,  # two prunings in two languages
        "cheapest, English, 16": 3,
        "cheapest, Turkish, 16": 3,
    }
    row = tests[(tests["family"] == "bigram_code, 16") & (tests["baseline"] == "random")].iloc[0]
    differences = np.subtract(LOSSES["bigram_code"], LOSSES["random"])
    half = 4.303 * differences.std(ddof=1) / np.sqrt(3)  # Student's t of 2 degrees of freedom
    assert row["difference"] == pytest.approx(differences.mean())
    assert (row["high"] - row["low"]) / 2 == pytest.approx(half, rel=1e-3)
