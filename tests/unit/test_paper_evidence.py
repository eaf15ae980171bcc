"""The table and the figure of all methods: what is read, compared, printed and drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproduction.analysis.metrics import class_scores, span_scores, value_scores
from reproduction.analysis.stats import holm
from reproduction.paper.evidence import gather_evidence, read_models, read_probes
from reproduction.paper.figures_evidence import figure_evidence
from reproduction.paper.ngrams import LineBits
from reproduction.paper.style import tokenizer_styles
from reproduction.paper.tables_evidence import table_evidence
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError
from table_files import markdown_rows, text_of

LABELS = ["BPE", "SaGe"]
PAPER = {"scores": {"bpe": {"sst2": 0.80}, "sage": {"sst2": 0.79}}}
SST2 = {"name": "sst2", "label": "SST-2", "language": "English", "kind": "classes"}
SST2 |= {"metric": "accuracy", "classes": 2, "constructed": False}
NER = {"name": "ner", "label": "NER (Turkish)", "language": "Turkish", "kind": "tags"}
NER |= {"metric": "span_f1", "classes": None, "constructed": True}
STSB = {"name": "stsb", "label": "STS-B", "language": "English", "kind": "similarity"}
STSB |= {"metric": "pearson", "classes": None, "constructed": False}


def answers(right, seed, seeds=(1, 2)):
    """Answers to 200 rows held out and 50 others; each is right with a chance."""
    rng = np.random.default_rng(9)
    gold = rng.integers(2, size=250)
    rng = np.random.default_rng(seed)
    names = ["pieces", *(f"vectors_{one}" for one in seeds)]
    found = {name: np.where(rng.random(250) < right, gold, 1 - gold) for name in names}
    split = ["heldout"] * 200 + ["validation"] * 50
    return pd.DataFrame({"split": split, "example": range(250), "label": gold, **found})


def tagged(right, seed):
    rng = np.random.default_rng(seed)
    gold = [["O", "B-X", "I-X"], ["B-Y"]] * 40
    found = [tags if rng.random() < right else ["O"] * len(tags) for tags in gold]
    split = ["validation"] * len(gold)
    return pd.DataFrame(
        {"split": split, "example": range(80), "tags": gold, "pieces": found, "vectors_1": found}
    ).assign(vectors_2=found)


def similar(noise, seed):
    gold = np.linspace(0, 5, 90)
    rng = np.random.default_rng(seed)
    found = {f"vectors_{one}": gold + rng.normal(0, noise, 90) for one in (1, 2)}
    split = ["heldout"] * 60 + ["validation"] * 30
    return pd.DataFrame({"split": split, "example": range(90), "label": gold, **found})


def line_bits(shift):
    characters = np.linspace(20, 60, 50)
    rates = np.array([2.5, 2, 1.8, 1.7, 1.6]) + shift
    noise = np.random.default_rng(1).normal(0, 0.01, (5, 50))
    bits = (rates[:, None] + noise * (shift != 0)) * characters
    return LineBits(characters, {100: bits + 1, 1000: bits})


NGRAMS = {"English": {"BPE": line_bits(0.0), "SaGe": line_bits(0.05)}}
NO_MODELS = pd.DataFrame()
FRAMES = {
    "sst2": {"BPE": answers(0.7, 1), "SaGe": answers(0.9, 2)},
    "ner": {"BPE": tagged(0.5, 1), "SaGe": tagged(0.9, 2)},
    "stsb": {"BPE": similar(3, 1), "SaGe": similar(3, 2)},
}


@pytest.fixture
def probed(tmp_path):
    paths = []
    for name, panel in FRAMES.items():
        for label, frame in panel.items():
            write_parquet(tmp_path / f"{name}.{label}", frame)
            paths.append(tmp_path / f"{name}.{label}")
    return read_probes([SST2, NER, STSB], [1, 2], LABELS, paths)


@pytest.fixture
def data(probed):
    return gathered(probed)


def gathered(probed, ngrams=NGRAMS, models=NO_MODELS):
    return gather_evidence(ngrams, probed, models, {}, baseline="BPE", paper=PAPER, seed=1)


def test_scores_are_those_of_the_answers(data):
    own = data.set_index(["measure", "split"])
    bpe, sage = (FRAMES["sst2"][label].query("split == 'heldout'") for label in LABELS)
    row = own.loc[("Pieces: SST-2", "heldout")]
    assert (row["rows"], row["seeds"]) == (200, 1)
    expected = [(one["pieces"] == one["label"]).mean() for one in (bpe, sage)]
    assert [row["baseline_value"], row["value"]] == pytest.approx(expected)
    row = own.loc[("Vectors: SST-2", "heldout")]
    seeds = [
        class_scores(sage["label"].to_numpy(), sage[name].to_numpy(), 2)["accuracy"]
        for name in ("vectors_1", "vectors_2")
    ]
    assert (row["value"], row["seeds"]) == (pytest.approx(np.mean(seeds)), 2)
    row = own.loc[("Pieces: NER, constructed", "validation")]
    frame = FRAMES["ner"]["SaGe"]
    assert row["value"] == pytest.approx(span_scores(frame["tags"], frame["pieces"])["span_f1"])
    row = own.loc[("Vectors: STS-B", "validation")]
    frame = FRAMES["stsb"]["SaGe"].query("split == 'validation'")
    both = [
        value_scores(frame["label"].to_numpy(), frame[f"vectors_{one}"].to_numpy())
        for one in (1, 2)
    ]
    for name, column in (("pearson", "value"), ("spearman", "spearman")):
        assert row[column] == pytest.approx(np.mean([one[name] for one in both]))
    assert "Pieces: STS-B" not in set(data["measure"])


def test_n_grams_are_those_of_the_most_lines(data):
    row = data.set_index("measure").loc["N-grams, order 3"]
    ours, theirs = (NGRAMS["English"][label] for label in ("SaGe", "BPE"))
    change = (ours.bits[1000][2] - theirs.bits[1000][2]).sum() / ours.characters.sum()
    assert row["difference"] == pytest.approx(change)
    assert (row["p_value"], row["more_is_better"]) == (1e-4, False)
    gain = data.set_index("measure").loc["Gain from context"]
    assert gain["more_is_better"]
    assert abs(gain["difference"]) < gain["seen_from"]


def test_what_is_held_out_is_tested_and_the_family_is_of_all_methods(data):
    tested = data[data["tested"]]
    assert tested.groupby("measure")["split"].unique().map(list).to_dict() == {
        "N-grams, order 3": ["heldout"],
        "N-grams, order 5": ["heldout"],
        "Gain from context": ["heldout"],
        "Pieces: SST-2": ["heldout"],
        "Vectors: SST-2": ["heldout"],
        "Pieces: NER, constructed": ["validation"],
        "Vectors: NER, constructed": ["validation"],
        "Vectors: STS-B": ["heldout"],
    }
    np.testing.assert_allclose(tested["p_adjusted"], holm(tested["p_value"]))
    others = data[~data["tested"]]
    assert others["p_value"].isna().all()
    assert not others["significant"].any()
    half = (tested["high"] - tested["low"]) / 2
    np.testing.assert_allclose(tested["seen_from"], half * 2.8 / 1.96)


def test_other_rows_are_refused(tmp_path):
    paths = [tmp_path / "a", tmp_path / "b"]
    write_parquet(paths[0], answers(0.7, 1))
    write_parquet(paths[1], answers(0.7, 1).assign(label=1))
    with pytest.raises(UserError, match="probes of sst2 predicted other rows"):
        read_probes([SST2], [1, 2], LABELS, paths)


def test_nothing_to_compare_is_reported_in_one_line():
    with pytest.raises(UserError, match="evidence needs bpe, another tokenizer"):
        gathered([], ngrams={})


# --- language models


@pytest.fixture
def models(tmp_path):
    """Tables of two tasks, of which one is learnt, and of two languages, one above its floor."""
    scores = {"tokenizer": "sage", "label": "SaGe", "metric": "accuracy", "constructed": False}
    scores |= {"baseline_mean": 0.8, "mean": 0.82, "seeds": 3, "difference": 0.02, "low": 0.01}
    scores |= {"high": 0.03, "low_seeds": -0.01, "high_seeds": 0.05, "p_value": 0.1}
    scores |= {"p_adjusted": 0.4, "significant": False}
    rows = [
        {**scores, "task": name, "task_label": name.upper(), "learnt": name == "sst2"}
        for name in ("sst2", "cola")
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "scores.csv", index=False)
    bits, name = {"lines": 900, "seeds": 6, "above_floor": False}, "bits_per_character"
    change = {f"{name}_difference{end}": at for end, at in (("", 0.1), ("_low", 0), ("_high", 0.2))}
    change |= {f"{name}_p_value": 0.01, f"{name}_p_adjusted": 0.02}
    rows = [
        {**bits, "language": "English", "tokenizer": "BPE", name: 2.0},
        {**bits, "language": "English", "tokenizer": "SaGe", name: 2.1, **change},
        {
            **bits,
            "language": "Turkish",
            "tokenizer": "SaGe",
            name: 9,
            **change,
            "above_floor": True,
        },
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "curves.csv", index=False)
    titles = {"sst2": "English", "cola": "English"}
    return read_models([tmp_path / "scores.csv"], [tmp_path / "curves.csv"], titles, "BPE")


def test_models_keep_their_own_families_and_unlearnt_ones_are_left_out(probed, models):
    data = gathered(probed, models=models)
    own = data[data["method"] == "language models"].set_index("measure")
    assert list(own.index) == ["Held-out words", "Fine-tuned: SST2"]
    assert own["p_adjusted"].tolist() == [0.02, 0.4]
    assert own["significant"].tolist() == [True, False]
    assert own.loc["Fine-tuned: SST2", ["low", "high"]].tolist() == [-0.01, 0.05]
    alone = gathered(probed)
    others = data[data["method"] != "language models"]
    np.testing.assert_array_equal(others["p_adjusted"], alone["p_adjusted"])


def test_a_damaged_table_is_named(tmp_path, drawings):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match=r"table\.csv: no table of models"):
        read_models([path], [], {}, "BPE")
    with pytest.raises(UserError, match="is no table of evidence"):
        figure_evidence(path, labels=LABELS, baseline="BPE", **drawings)


# --- table and figure


def test_the_table_has_a_row_a_measure_and_a_column_a_tokenizer(data, outputs):
    table_evidence(data, labels=LABELS, baseline="BPE", notes=["Presets: none."]).write(**outputs)
    rows = {row[1]: row for row in markdown_rows(outputs)}
    assert [name for name in rows if "SST-2" in name] == [
        "Pieces: SST-2 (accuracy)",
        "Vectors: SST-2 (accuracy)",
    ]
    own = data[data["tested"]].set_index("measure").loc["Pieces: SST-2"]
    _, _, asked, bpe, sage, seen, paper = rows["Pieces: SST-2 (accuracy)"]
    assert asked == "200"
    assert bpe == f"{100 * own['baseline_value']:.2f}"
    half = (own["high"] - own["low"]) / 2
    assert sage == f"+{100 * own['difference']:.2f} ± {100 * half:.2f}\\*"
    assert (seen, paper) == (f"{100 * own['seen_from']:.2f}", "−1.00")
    assert rows["N-grams, order 3 (bits)"][-1] == "–"
    text = text_of(outputs, "md")
    assert "by Holm over the 8 tests of a tokenizer" in text


def test_the_figure_has_better_to_the_right_and_fills_what_is_significant(
    data, outputs, drawings, kept
):
    table_evidence(data, labels=LABELS, baseline="BPE").write(**outputs)
    figure_evidence(outputs["csv"], labels=LABELS, baseline="BPE", **drawings)
    shown = [axes for axes in kept[0].axes if axes.get_visible()]
    panels = {" ".join(axes.get_title().split()): axes for axes in shown}
    assert list(panels)[:3] == [
        "(a) N-grams, order 3",
        "(b) N-grams, order 5",
        "(c) Gain from context",
    ]
    assert len(panels) == 8
    axes = panels["(a) N-grams, order 3"]
    (mark,) = [line for line in axes.lines if line.get_marker() == "o"]
    assert mark.get_xdata()[0] == pytest.approx(-0.05, abs=0.01)  # more bits, so worse
    assert (
        mark.get_markerfacecolor() == mark.get_color() == tokenizer_styles(["SaGe"])["SaGe"].colour
    )
    (mark,) = [line for line in panels["(c) Gain from context"].lines if line.get_marker() == "o"]
    assert mark.get_markerfacecolor() == "white"
    assert axes.get_xlabel() == "bits per character,\nfewer →"
    assert panels["(c) Gain from context"].get_xlabel() == "bits per character,\nmore →"
    (turkish,) = [axes for name, axes in panels.items() if "Pieces: NER" in name]
    (mark,) = [line for line in turkish.lines if line.get_marker() == "D"]
    assert mark.get_xdata()[0] > 0
    assert [label.get_text() for label in kept[0].axes[0].get_yticklabels()] == ["SaGe"]
    legend = [text.get_text() for text in kept[0].legends[0].get_texts()]
    assert legend == ["English", "Turkish", "open: not significant", "power below 80 %"]


def test_a_tokenizer_that_was_not_run_has_a_row_that_says_so(data, outputs, drawings, kept):
    table_evidence(data, labels=LABELS, baseline="BPE").write(**outputs)
    rows = pd.read_csv(outputs["csv"])
    one = rows[rows["measure"] == "N-grams, order 3"].assign(tokenizer="random")
    pd.concat([rows, one]).to_csv(outputs["csv"], index=False)
    figure_evidence(outputs["csv"], labels=[*LABELS, "random"], baseline="BPE", **drawings)
    first, second, *_ = kept[0].axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["SaGe", "random"]
    assert not first.texts
    assert [(text.get_text(), text.get_position()[1]) for text in second.texts] == [("not run", 1)]


def test_a_metric_without_a_unit_is_its_own(probed, models, outputs, drawings, kept):
    other = models.assign(metric=models["metric"].replace("accuracy", "kappa"))
    table_evidence(gathered(probed, models=other), labels=LABELS, baseline="BPE").write(**outputs)
    names = [row[1] for row in markdown_rows(outputs)]
    assert "Fine-tuned: SST2 (kappa)" in names
    figure_evidence(outputs["csv"], labels=LABELS, baseline="BPE", **drawings)
    assert "kappa (× 100),\nmore →" in [axes.get_xlabel() for axes in kept[0].axes]
