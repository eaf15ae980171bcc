"""The rule of the bigram code: which models are paired, and which differences are tested."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproduction.paper.code_models import gather_models, table_models

RATES = {  # bits a character, by run and tokenizer, of seeds 1 to 3
    ("contexts", "bpe"): [2.10, 2.12, 2.11],
    ("contexts", "bigram_code"): [2.00, 2.02, 2.015],
    ("contexts", "unigram_code"): [2.00, 2.03, 2.01],
    ("contexts", "random"): [2.02, 2.03, 2.01],
    ("equal", "bigram_code"): [1.99, 2.01, 1.995],
}


@pytest.fixture
def models(tmp_path):
    for (run, name), rates in RATES.items():
        for seed, rate in enumerate(rates, start=1):
            vocabulary = f"{name}.seed{seed}" if name == "random" and seed > 1 else name
            folder = "contexts" if run == "contexts" else f"equal-en-{seed}"
            path = tmp_path / folder / f"analysis/en/causal/{vocabulary}/{seed}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            bits = [9.0, 30 * rate, 70 * rate]  # the first validation does not count
            frame = pd.DataFrame({"step": [1, 2, 2], "characters": [3, 30, 70], "bits": bits})
            frame.to_parquet(path)
    return gather_models(tmp_path)


def test_the_rule_tests_pairs_of_seeds(models):
    rows = table_models(models).data
    tested = rows[rows["family"] == "holds"].set_index(["tokenizer", "baseline"])
    assert [*tested.index] == [
        ("bigram code", "BPE"),
        ("bigram code", "unigram code"),
        ("bigram code, random's predictions", "pruned at random"),
    ]
    found = tested.iloc[2]
    differences = np.subtract(RATES["equal", "bigram_code"], RATES["contexts", "random"])
    half = 4.303 * differences.std(ddof=1) / np.sqrt(3)  # Student's t of 2 degrees of freedom
    assert found["difference"] == pytest.approx(differences.mean())
    assert found["high"] - found["difference"] == pytest.approx(half, rel=1e-3)
    assert tested["significant"].tolist() == [True, False, False]


def test_what_the_rule_leaves_out_is_not_tested(models):
    rows = table_models(models).data
    assert rows[rows["family"] == ""]["p_value"].isna().all()
    assert ("bigram code", "pruned at random") in [
        *map(tuple, rows[["tokenizer", "baseline"]].values)
    ]
