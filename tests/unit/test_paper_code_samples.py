"""The bigram code on samples: what is gathered, paired and tested."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproduction.paper.code_samples import gather_samples, table_samples

# Bits a character of three samples, at order 3; order 5 needs a tenth less.
RATES = {
    "bpe": [2.10, 2.12, 2.11],
    "bigram_code": [2.00, 2.02, 2.015],
    "bigram_code_shuffled": [2.01, 2.02, 2.03],
    "unigram_code": [2.05, 2.09, 2.06],
    "counts": [2.2, 2.2, 2.2],
}


@pytest.fixture
def samples(tmp_path):
    for seed in range(3):
        for name, rates in RATES.items():
            folder = tmp_path / f"sample-{seed + 1}/analysis/en/ngrams"
            folder.mkdir(parents=True, exist_ok=True)
            bits = np.array([30, 70]) * rates[seed]
            frame = pd.DataFrame(
                {"lines": 100, "characters": [30, 70], "bits_3": bits, "bits_5": 0.9 * bits}
            )
            frame.to_parquet(folder / f"{name}.parquet")
    (tmp_path / "base/analysis/en/ngrams").mkdir(parents=True)
    frame.to_parquet(tmp_path / "base/analysis/en/ngrams/bpe.parquet")  # no sample
    return gather_samples(tmp_path)


def test_samples_are_paired_and_families_adjusted(samples):
    assert len(samples) == 3 * len(RATES)
    data = table_samples(samples).data
    rows = data[data["family"] != ""].set_index(["order", "baseline"])
    assert rows.groupby("family").size().to_dict() == {"contexts": 2, "others": 4}
    found = rows.loc[(3, "unigram code")]
    differences = np.subtract(RATES["bigram_code"], RATES["unigram_code"])
    half = 4.303 * differences.std(ddof=1) / np.sqrt(3)  # Student's t of 2 degrees of freedom
    assert found["difference"] == pytest.approx(differences.mean())
    assert found["high"] - found["difference"] == pytest.approx(half, rel=1e-3)
    of_family = rows[rows["family"] == "contexts"]
    assert of_family["p_adjusted"].min() == min(1, 12 * of_family["p_value"].min())
    assert data[data["family"] == ""]["p_value"].isna().all()


def test_a_star_marks_what_is_significant(samples):
    (block,) = table_samples(samples).blocks
    cells = dict(zip(table_samples(samples).head, block[0], strict=True))
    assert cells["minus BPE, order 3"].endswith("*")
    assert not cells["minus bigram code, shuffled words, order 3"].endswith("*")


def test_one_sample_has_a_sign_and_no_test(samples):
    (block,) = table_samples(samples[samples["seed"] == 1]).blocks
    assert block[0][:4] == ["English", "100", "−0.0100", "−0.0090"]
