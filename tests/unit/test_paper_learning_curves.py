"""Learning curves: reading and pairing, what is reached when, the figure and the claim."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from claim_samples import record_of, results
from curve_samples import BITS, curve, write_floors, write_model
from reproduction.paper.causal import CausalModel
from reproduction.paper.curves import (
    bits_per_character,
    cards_note,
    difference_along,
    first_reached,
    paired,
    read_curve,
    read_curves,
)
from reproduction.paper.learning_curves import figure_learning_curves
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError

EMPTY = curve([4, 3]).of_lines(np.zeros(40, dtype=bool))


# --- reading and pairing


def test_a_curve_is_read_as_it_was_written(tmp_path):
    made = curve([4, 3, 2.5])
    read = read_curve(write_model(tmp_path, made), write_floors(tmp_path / "floors", made))
    pd.testing.assert_frame_equal(read.at, made.at)
    for name in ("lines", "words", "characters", "nats", "right"):
        np.testing.assert_allclose(getattr(read, name), getattr(made, name))
    for name, nats in made.floors.items():
        np.testing.assert_allclose(read.floors[name], nats)


def test_floors_of_other_words_are_refused(tmp_path):
    path = write_model(tmp_path, curve([3, 2]))
    others = curve([3, 2])
    others.words[4] = 1
    with pytest.raises(UserError, match=r"floors: these are not the held-out words"):
        read_curve(path, write_floors(tmp_path / "floors", others))


def test_lines_pair_where_all_predicted_the_same_words_and_characters():
    one, two, three = (curve([3, 2], lines=6, seed=seed) for seed in range(3))
    two.words[1] = 1  # one word left out
    two.characters[2] = 7  # other words
    one.words[3] = two.words[3] = three.words[3] = 0  # nothing left for anyone
    three = three.of_lines(np.array([True, True, True, True, False, True]))
    pairs = paired([one, two, three])
    assert [pair.lines.tolist() for pair in pairs] == [[0, 5]] * 3
    np.testing.assert_array_equal(pairs[1].nats, two.nats[:, [0, 5]])


def test_curves_are_read_by_language_tokenizer_and_seed(tmp_path):
    made = {
        (lang, tok, seed): curve([number + 3, 2], seed=number)
        for number, (lang, tok, seed) in enumerate(
            (lang, tok, seed) for lang in "ab" for tok in "xy" for seed in (0, 1, 2)
        )
    }
    paths = {key: write_model(tmp_path.joinpath(*map(str, key)), one) for key, one in made.items()}
    floors = {key: write_floors(path.with_name("floors"), made[key]) for key, path in paths.items()}
    panels = read_curves(
        {
            lang: {
                tok: {
                    "models": [paths[lang, tok, seed] for seed in (0, 1, 2)],
                    "floors": floors[lang, tok, 0],
                }
                for tok in "xy"
            }
            for lang in "ab"
        }
    )
    assert [list(panel) for panel in panels.values()] == [["x", "y"]] * 2
    found = [one for panel in panels.values() for curves in panel.values() for one in curves]
    for one, expected in zip(found, made.values(), strict=True):
        np.testing.assert_allclose(one.nats, expected.nats)


def test_nothing_held_out_is_reported_in_one_line(tmp_path):
    path, floors = write_model(tmp_path, EMPTY), write_floors(tmp_path / "floors", EMPTY)
    with pytest.raises(UserError, match=r"heldout_lines.*English has no held-out lines"):
        read_curves({"English": {"BPE": {"models": [path], "floors": floors}}})


def test_a_file_that_lacks_or_misses_lines_is_reported(tmp_path):
    with pytest.raises(UserError, match=r"heldout\.parquet: cannot be read"):
        read_curve(tmp_path / "heldout.parquet", tmp_path / "floors")
    path = write_model(tmp_path, curve([3, 2]))
    with pytest.raises(UserError, match=r"floors: cannot be read"):
        read_curve(path, tmp_path / "floors")
    write_parquet(path, pd.read_parquet(path).iloc[:-1])
    with pytest.raises(UserError, match=r"heldout\.parquet: validations or lines are missing"):
        read_curve(path, write_floors(tmp_path / "floors", curve([3, 2])))


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
    at, values = difference_along(first, second, np.ones((2, 40)), "step")
    assert at.tolist() == [15, 20, 25]
    np.testing.assert_allclose(values, [[3.5 - 5, 3 - 4.75, 2.5 - 4.5]] * 2)
    late = curve([5, 4], steps=[40, 50])
    assert difference_along(first, late, np.ones((2, 40)), "step")[1].shape == (2, 0)


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


def test_masked_models_are_one_row_of_differences_and_means_over_seeds(panels, drawings, kept):
    figure_learning_curves(panels, labels=LABELS, baseline="BPE", seed=1, **drawings)
    english, turkish = kept[0].axes
    zero, own = english.lines
    assert set(zero.get_ydata()) == {0}
    np.testing.assert_allclose(own.get_ydata(), [-0.1, -0.2, -0.2])
    assert english.get_ylabel() == "Masked\nBits per character\nminus BPE"
    assert english.get_xlabel() == "Characters seen (thousands)"
    titles = [axes.get_title(loc="left") or axes.get_title() for axes in (english, turkish)]
    assert titles == ["(a) English", "(b) Turkish"]
    (legend,) = kept[0].legends
    assert [text.get_text() for text in legend.get_texts()] == ["BPE", "SaGe"]


def test_where_lines_agree_a_band_is_students_over_seeds(drawings, kept):
    bits = {"BPE": ([4, 2.2], [4, 2.3]), "SaGe": ([4, 2.1], [4, 2.0])}
    panel = {label: [curve(one, spread=0) for one in seeds] for label, seeds in bits.items()}
    figure_learning_curves({"English": panel}, labels=LABELS, baseline="BPE", seed=1, **drawings)
    band = kept[0].axes[0].collections[0].get_paths()[0].vertices
    half = stats.t.ppf(0.975, 1) * 0.1  # the differences end at -0.1 and -0.3
    ends = band[band[:, 0] == band[:, 0].max()][:, 1]
    np.testing.assert_allclose([ends.min(), ends.max()], [-0.2 - half, -0.2 + half])


def test_causal_models_are_the_row_above_in_the_languages_that_have_some(panels, drawings, kept):
    validations = pd.DataFrame({"step": [5, 10], "seen": [1e6, 2e6], "seconds": [60, 120]})
    models = {
        label: [
            CausalModel(np.ones(9), np.ones(9), validations.assign(rate=rate)) for rate in rates
        ]
        for label, rates in {
            "BPE": ([2.5, 2], [2.7, 2.2]),
            "SaGe": ([2.4, 2], [2.4, 2]),
            "Unigram": ([9, 8], [9, 8]),
        }.items()
    }
    causal = {"English": models}
    options = {"labels": LABELS, "baseline": "BPE", "seed": 1, "causal": causal}
    figure_learning_curves(panels, **options, **drawings)
    axes = kept[0].axes
    assert [one.get_visible() for one in axes] == [True, False, True, True]
    assert axes[0].get_ylabel().startswith("Causal") and axes[2].get_ylabel().startswith("Masked")
    assert [text.get_text() for text in kept[0].legends[0].get_texts()] == LABELS
    np.testing.assert_allclose(axes[0].lines[1].get_ydata(), [-0.2, -0.1])
    np.testing.assert_allclose(axes[0].lines[1].get_xdata(), [1, 2])
    assert axes[0].get_xlabel() == "Characters seen (millions)"


def test_without_bpe_the_bits_themselves_are_drawn(panels, drawings, kept):
    figure_learning_curves(panels, labels=LABELS, baseline=None, seed=1, **drawings)
    np.testing.assert_allclose(kept[0].axes[0].lines[0].get_ydata(), [4, 3.1, 2.25])
    assert kept[0].axes[0].get_ylabel() == "Masked\nBits per character"


def test_one_validation_is_drawn(drawings):
    panels = {"English": {"BPE": [curve([4])]}}
    figure_learning_curves(panels, labels=LABELS, baseline="BPE", seed=1, **drawings)
    assert all(path.stat().st_size for path in drawings.values())


def test_a_figure_of_no_model_is_refused(drawings):
    with pytest.raises(UserError, match=r"lm\.enabled"):
        figure_learning_curves({}, labels=[], baseline=None, seed=1, **drawings)


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
    assert record["ours"] == pytest.approx(20 / 30, rel=1e-3)
    assert record["low"] < record["ours"] < record["high"] < 1
    assert (record["verdict"], record["interval"]) == ("reproduced", "lines")
    assert record["p_adjusted"] == pytest.approx(2 / 1001)
    other = claimed(tmp_path / "other", {"bpe": [sage], "sage": [bpe]})
    assert (other["verdict"], other["ours"]) == ("not reproduced", pytest.approx(1.5, rel=1e-3))


def test_several_pretraining_seeds_are_what_the_interval_is_over(tmp_path):
    ends = {"bpe": [2, 2, 2], "sage": [1.9, 1.8, 2.2]}
    curves = {name: [curve([4, 3, end], spread=0.01) for end in own] for name, own in ends.items()}
    record = claimed(tmp_path, curves, seeds=(2, 3))
    # Updates to the worse of two final values: 20 + 10 / 1.1 and 20 + 10 / 1.2 of 30, 30 of 28.
    logs = np.log([(20 + 10 / 1.1) / 30, (20 + 10 / 1.2) / 30, 30 / 28])
    assert record["ours"] == pytest.approx(np.exp(logs.mean()))
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
    ],
)
def test_without_curves_it_is_not_measurable(tmp_path, changes, own, reason):
    record = claimed(tmp_path, {"bpe": [own], "sage": [own]}, **changes)
    assert record["verdict"] == "not measurable here"
    assert reason in record["reason"]


def test_above_the_context_free_floor_it_is_not_measurable(tmp_path):
    # Both end at or below 2 bits; the better of SaGe's two floors without contexts is 1.95.
    bpe, sage = curve([4, 3, 2], spread=0), curve([4, 2, 1.5], spread=0)
    assert claimed(tmp_path / "low", {"bpe": [bpe], "sage": [sage]})["verdict"] == "reproduced"
    floors = {"unigram": 1.95, "placed": 2.1, "bigram": 1}
    sage = curve([4, 2, 1.5], spread=0, floors=floors)
    record = claimed(tmp_path / "high", {"bpe": [bpe], "sage": [sage]})
    assert record["verdict"] == "not measurable here"
    assert "2.000 bits per character" in record["reason"]
    assert "reach 1.950; train longer (lm.pretrain)" in record["reason"]


@pytest.mark.parametrize(
    ("cards", "hours", "message"),
    [
        (["A", "B"], 24.0, "trained on 1 x A in bf16; 1 x B in bf16: "),
        (["A", "A, compiled"], 24.0, "1 x A in bf16; 1 x A in bf16, compiled: "),
        (["A", "B"], None, ""),
        (["A", "A"], 24.0, ""),
    ],
)
def test_hours_on_different_cards_are_reported(tmp_path, cards, hours, message):
    logs = [tmp_path / str(number) for number in range(3)]
    for log, card in zip(logs, cards, strict=False):
        card, _, compiled = card.partition(", ")
        place = {"cards": 1, "card": card, "precision": "bf16", "compiled": bool(compiled)}
        pd.DataFrame({"step": [1, 2], **place}).to_parquet(log)
    pd.DataFrame({"step": [1]}).to_parquet(logs[2])  # of a model from before
    assert message in cards_note(logs, hours)
    assert bool(cards_note(logs, hours)) == bool(message)
