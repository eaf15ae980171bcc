"""What is read of causal models, and their curves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from reproduction.paper.causal import draw_causal, read_causal
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
    paths = {
        label: [tmp_path / f"{label}.{seed}" for seed in (1, 2, 3)] for label in ("BPE", "SaGe")
    }
    for shift, of_seeds in zip((0.0, 0.2), paths.values(), strict=True):
        for seed, path in enumerate(of_seeds, 1):
            write_parquet(path, made(shift, seed + 10 * (shift > 0)))
    return read_causal({"English": paths})


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
        read_causal({"English": {"BPE": paths[:1], "SaGe": paths[1:]}})
