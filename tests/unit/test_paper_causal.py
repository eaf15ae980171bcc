"""What is shown of causal models: differences over lines and seeds, and curves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from reproduction.analysis.stats import holm
from reproduction.paper.causal import draw_causal, read_causal
from reproduction.paper.evidence import gather_evidence
from reproduction.paper.style import tokenizer_styles
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError


def made(shift, seed, lines=40):
    """What a model of given bits per character leaves, after two validations."""
    rng = np.random.default_rng(seed)
    characters = np.arange(20, 20 + lines)
    rates = 2 + shift + rng.normal(0, 0.01) + rng.normal(0, 0.1, lines)
    some = {"step": 5, "seen": 500 + seed, "seconds": 60.0, "line": np.arange(0, lines, 4)}
    early = pd.DataFrame(some).assign(characters=characters[::4], bits=3.0 * characters[::4])
    late = pd.DataFrame({"step": 10, "seen": 1000 + seed, "seconds": 120.0, "line": range(lines)})
    return pd.concat([early, late.assign(characters=characters, bits=rates * characters)])


@pytest.fixture
def panels(tmp_path):
    paths = []
    for title, shift in (("English", 0.2), ("Turkish", 0.0)):
        for label, own in (("BPE", 0.0), ("SaGe", shift)):
            for seed in (1, 2, 3):
                paths.append(tmp_path / f"{title}.{label}.{seed}")
                write_parquet(paths[-1], made(own, seed + 10 * len(paths)))
    return read_causal(["English", "Turkish"], ["BPE", "SaGe"], 3, paths)


def evidence_of(panels, **given) -> pd.DataFrame:
    """The frame of differences of causal models alone."""
    models = pd.DataFrame()
    return gather_evidence({}, [], models, panels, baseline="BPE", paper={}, seed=1, **given)


def test_differences_are_over_lines_and_seeds_with_a_family_of_their_own(panels):
    data = evidence_of(panels)
    assert data["language"].tolist() == ["English", "Turkish"]
    english = data.iloc[0]
    rates = {
        label: [one.bits.sum() / one.characters.sum() for one in own]
        for label, own in panels["English"].items()
    }
    assert english["value"] == pytest.approx(np.mean(rates["SaGe"]))
    assert english["baseline_value"] == pytest.approx(np.mean(rates["BPE"]))
    assert english["low"] < english["value"] - english["baseline_value"] < english["high"]
    assert (english["seeds"], english["rows"], english["significant"]) == (3, 40, True)
    assert not data["significant"].iloc[1]
    np.testing.assert_allclose(data["p_adjusted"], holm(data["p_value"]))
    assert (data["baseline"] == "BPE").all()
    assert (data["seen_from"] > 0).all()


def test_sage_is_compared_with_what_is_pruned_without_contexts(panels):
    nulled = {title: {**own, "random": own["BPE"]} for title, own in panels.items()}
    data = evidence_of(nulled, controls=["random"])
    kinds = data[["tokenizer", "baseline"]].drop_duplicates()
    assert kinds.to_numpy().tolist() == [["SaGe", "BPE"], ["random", "BPE"], ["SaGe", "random"]]
    bpe, random, beside = (rows for _, rows in data.groupby(["baseline", "tokenizer"]))
    assert beside["difference"].tolist() == bpe["difference"].tolist()
    assert (random["difference"] == 0).all()
    assert set(beside["measure"]) == {"Causal transformer, minus random instead"}
    np.testing.assert_allclose(beside["p_adjusted"], holm(beside["p_value"]))


def test_curves_are_of_the_lines_that_every_validation_asks(panels):
    own = panels["English"]["SaGe"][0]
    assert own.curve["rate"].iloc[0] == pytest.approx(3)
    assert own.curve["rate"].iloc[1] == pytest.approx(
        own.bits[::4].sum() / own.characters[::4].sum()
    )
    axes = Figure().subplots()
    same = {
        label: [replace(one, curve=one.curve.assign(seen=[500, 1000])) for one in models]
        for label, models in panels["English"].items()
    }
    draw_causal(axes, same, tokenizer_styles(["BPE", "SaGe"]), "BPE")
    ours, theirs = (
        np.mean([one.curve["rate"] for one in panels["English"][label]], axis=0)
        for label in ("SaGe", "BPE")
    )
    np.testing.assert_allclose(axes.lines[-1].get_ydata(), ours - theirs)


def test_models_of_other_lines_are_refused(tmp_path):
    paths = [tmp_path / "one", tmp_path / "two"]
    for path, lines in zip(paths, (40, 44), strict=True):
        write_parquet(path, made(0, 1, lines))
    with pytest.raises(UserError, match="causal models of English predicted other held-out"):
        read_causal(["English"], ["BPE", "SaGe"], 1, paths)
