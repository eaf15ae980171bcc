"""Learning curves: reading and pairing, what is reached when, the figure and the claim."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from claim_samples import record_of, results
from curve_samples import BITS, FLOOR_BITS, curve, write_floors, write_model
from readable import assert_nothing_is_cut, assert_readable
from reproduction.artefacts.registry import RESOURCES
from reproduction.paper.curves import (
    bits_per_character,
    difference_along,
    first_reached,
    paired,
    read_curve,
    read_curves,
)
from reproduction.paper.learning_curves import figure_learning_curves
from reproduction.paper.line_bits import CausalModel
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError

EMPTY = curve([4, 3]).of_lines(np.zeros(40, dtype=bool))


# --- reading and pairing


def test_a_curve_is_read_as_it_was_written(tmp_path):
    made = curve([4, 3, 2.5])
    read = read_curve(write_model(tmp_path, made), write_floors(tmp_path / "floors", made))
    pd.testing.assert_frame_equal(read.at, made.at)
    for name in ("lines", "words", "characters", "nats"):
        np.testing.assert_allclose(getattr(read, name), getattr(made, name))
    for name, nats in made.floors.items():
        np.testing.assert_allclose(read.floors[name], nats)


def test_files_that_do_not_fit_are_refused(tmp_path):
    path, floors = write_model(tmp_path, curve([3, 2])), tmp_path / "floors"
    with pytest.raises(UserError, match="floors: "):
        read_curve(path, floors)
    others = curve([3, 2])
    others.words[4] = 1
    with pytest.raises(UserError, match="floors: .*held-out words"):
        read_curve(path, write_floors(floors, others))
    write_parquet(path, pd.read_parquet(path).iloc[:-1])
    with pytest.raises(UserError, match=r"heldout\.parquet: "):
        read_curve(path, write_floors(floors, curve([3, 2])))
    nothing = {"models": [write_model(tmp_path, EMPTY)], "floors": write_floors(floors, EMPTY)}
    with pytest.raises(UserError, match=r"heldout_lines.*English"):
        read_curves({"English": {"BPE": nothing}})


def test_lines_pair_where_all_predicted_the_same_words_and_characters():
    one, two, three = (curve([3, 2], lines=6, seed=seed) for seed in range(3))
    two.words[1] = 1  # one word left out
    two.characters[2] = 7  # other words
    one.words[3] = two.words[3] = three.words[3] = 0  # nothing left for anyone
    three = three.of_lines(np.array([True, True, True, True, False, True]))
    pairs = paired([one, two, three])
    assert [pair.lines.tolist() for pair in pairs] == [[0, 5]] * 3
    np.testing.assert_array_equal(pairs[1].nats, two.nats[:, [0, 5]])


# --- statistics


def test_bits_by_hand():
    made = curve([4, 2], lines=2, spread=0)
    made.nats[:] = [[8 * BITS, 24 * BITS], [4 * BITS, 12 * BITS]]
    weights = np.array([[1.0, 1.0], [2.0, 0.0]])
    np.testing.assert_allclose(bits_per_character(made, weights), [[2, 1], [1, 0.5]])


def test_a_target_is_reached_between_validations_at_one_or_never():
    at = np.array([10.0, 20, 40])
    values = np.array([[4, 3, 2], [4, 3, 2], [4, 3, 2], [4, 3, 2], [4, 2, 3]], dtype=float)
    reached = first_reached(at, values, np.array([2.5, 3, 1.9, 5, 2.5]))
    assert reached.tolist() == [30, 20, math.inf, 10, 17.5]


def test_differences_are_taken_where_both_curves_have_been():
    first, second = curve([4, 3, 2], spread=0), curve([5, 4.5], steps=[15, 25], spread=0)
    at, values = difference_along(first, second, np.ones((2, 40)))
    assert at.tolist() == [1500, 2000, 2500]
    np.testing.assert_allclose(values, [[3.5 - 5, 3 - 4.75, 2.5 - 4.5]] * 2)
    late = curve([5, 4], steps=[40, 50])
    assert difference_along(first, late, np.ones((2, 40)))[1].shape == (2, 0)


# --- figure


@pytest.fixture
def panels():
    return {
        "English": {
            "BPE": [curve([4, 3, 2.2]), curve([4, 3.2, 2.3], seed=4)],
            "SaGe": [curve([3.8, 2.9, 2.1], seed=1), curve([4, 2.9, 2.0], seed=3)],
        },
        "Turkish": {"BPE": [curve([4, 3.5])], "SaGe": [curve([4, 3.6], seed=2)]},
    }


LABELS = ["BPE", "SaGe", "Unigram"]


def test_curves_are_means_over_seeds_minus_bpes_causal_ones_above_masked_ones(
    panels, drawings, kept
):
    validations = pd.DataFrame({"step": [5, 10], "seen": [1e6, 2e6]})
    rates = {"BPE": ([2.5, 2], [2.7, 2.2]), "SaGe": ([2.4, 2], [2.4, 2])}
    ones = np.ones(9)
    causal = {
        label: [CausalModel(ones, ones, validations.assign(rate=rate)) for rate in of_seeds]
        for label, of_seeds in rates.items()
    }
    options = {"labels": LABELS, "baseline": "BPE", "seed": 1, "causal": {"English": causal}}
    options["style"] = RESOURCES / "style.mplstyle"
    figure_learning_curves(panels, **options, **drawings)
    above, empty, masked, turkish = kept[0].axes
    assert [axes.get_visible() for axes in kept[0].axes] == [True, False, True, True]
    np.testing.assert_allclose(above.lines[1].get_xydata(), [[1, -0.2], [2, -0.1]])
    zero, sage = masked.lines
    assert set(zero.get_ydata()) == {0}
    np.testing.assert_allclose(sage.get_ydata(), [-0.1, -0.2, -0.2])
    assert [axes.get_xlabel().split("(")[1] for axes in (above, masked)] == [
        "millions)",
        "thousands)",
    ]
    assert_readable(kept[0])
    assert_nothing_is_cut(kept[0])


def test_where_lines_agree_a_band_is_students_over_seeds(drawings, kept):
    bits = {"BPE": ([4, 2.2], [4, 2.3]), "SaGe": ([4, 2.1], [4, 2.0])}
    panel = {label: [curve(one, spread=0) for one in seeds] for label, seeds in bits.items()}
    figure_learning_curves({"English": panel}, labels=LABELS, baseline="BPE", seed=1, **drawings)
    band = kept[0].axes[0].collections[0].get_paths()[0].vertices
    half = stats.t.ppf(0.975, 1) * 0.1  # the differences end at -0.1 and -0.3
    ends = band[band[:, 0] == band[:, 0].max()][:, 1]
    np.testing.assert_allclose([ends.min(), ends.max()], [-0.2 - half, -0.2 + half])


# --- the claim


def claimed(tmp_path, values, seeds=(), **changes):
    """The statement about updates, of models whose curves are `values` by tokenizer and seed."""
    for name, curves in values.items():
        for seed, one in zip((None, *seeds), curves, strict=True):
            folder = (
                f"models/en/{name}" if seed is None else f"studies/pretraining/en/{name}/{seed}"
            )
            write_model(tmp_path / folder, one)
        write_floors(tmp_path / f"analysis/en/floors/{name}.parquet", curves[0])
    usual = {"lm_tokenizers": ["bpe", "sage"], "model_languages": ["en"]}
    return record_of(
        "fewer_update_steps", results(tmp_path, pretraining_seeds=seeds, **usual | changes)
    )


def test_fewer_updates_are_reproduced_where_the_whole_interval_is_below_one(tmp_path):
    bpe, sage = curve([4, 3, 2], spread=0.01), curve([4, 2, 1.5], spread=0.01, seed=1)
    record = claimed(tmp_path, {"bpe": [bpe], "sage": [sage]})
    assert record["value"] == pytest.approx(20 / 30, rel=1e-3)
    assert record["low"] < record["value"] < record["high"] < 1
    assert (record["verdict"], record["interval"]) == ("reproduced", "lines")
    assert record["p_adjusted"] == pytest.approx(2 / 1001)
    other = claimed(tmp_path / "other", {"bpe": [sage], "sage": [bpe]})
    assert (other["verdict"], other["value"]) == ("not reproduced", pytest.approx(1.5, rel=1e-3))


def test_several_pretraining_seeds_are_what_the_interval_is_over(tmp_path):
    ends = {"bpe": [2, 2, 2], "sage": [1.9, 1.8, 2.2]}
    curves = {name: [curve([4, 3, end], spread=0.01) for end in own] for name, own in ends.items()}
    record = claimed(tmp_path, curves, seeds=(2, 3))
    # Updates to the worse of two final values: 20 + 10 / 1.1 and 20 + 10 / 1.2 of 30, 30 of 28.
    logs = np.log([(20 + 10 / 1.1) / 30, (20 + 10 / 1.2) / 30, 30 / 28])
    assert record["value"] == pytest.approx(np.exp(logs.mean()))
    assert record["interval"] == "pretraining seeds"
    assert record["p_value"] == pytest.approx(stats.ttest_1samp(logs, 0).pvalue)
    low, high = stats.t.interval(0.95, 2, logs.mean(), stats.sem(logs))
    assert (record["low"], record["high"]) == pytest.approx((np.exp(low), np.exp(high)))


@pytest.mark.parametrize(
    ("changes", "own", "reason"),
    [
        ({"lm_tokenizers": []}, curve([4, 3]), "lm.enabled is false"),
        ({"lm_tokenizers": ["sage"]}, curve([4, 3]), "lm.tokenizers has no bpe"),
        ({"languages": ["de"]}, curve([4, 3]), "languages has no en"),
        ({}, curve([4]), "a curve of one validation"),
        ({}, EMPTY, "no held-out lines"),
        # Both models end at 2 bits or below, and a table that sees no other word reaches 1.95.
        ({}, curve([4, 2, 1.5], floors={**FLOOR_BITS, "unigram": 1.95}), "2.000 .* 1.950; "),
    ],
)
def test_without_curves_it_is_not_measurable(tmp_path, changes, own, reason):
    record = claimed(tmp_path, {"bpe": [curve([4, 3, 2])], "sage": [own]}, **changes)
    assert record["verdict"] == "not measurable here"
    assert re.search(reason, record["reason"])
