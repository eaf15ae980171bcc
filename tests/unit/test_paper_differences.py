"""Differences from BPE by all methods: what is compared, in which families, and printed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from curve_samples import curve
from reproduction.analysis.metrics import class_scores, span_scores, value_scores
from reproduction.analysis.ngrams import ORDERS
from reproduction.analysis.scores import predictions_of, read_scores
from reproduction.analysis.stats import holm
from reproduction.lm import tasks as lm_tasks
from reproduction.paper import tables_differences
from reproduction.paper.differences import (
    FINE_TUNED,
    NGRAMS,
    OF_PIECES,
    Task,
    differences,
    of_causal,
    of_heldout,
    of_ngrams,
    of_probes,
    of_scores,
    printed_gains,
    read_differences,
    score_families,
)
from reproduction.paper.inputs import read_paper_values
from reproduction.paper.line_bits import CausalModel, NgramBits
from reproduction.paper.tables_differences import table_of_differences
from reproduction.paper.tables_scores import read_significant
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError
from score_samples import answers, write_score
from table_files import markdown_rows, text_of

LABELS = ["BPE", "SaGe (printed)"]
SST2 = Task("sst2", "SST-2", "English", "accuracy", "classes", 2)
NER = Task("ner", "NER (Turkish)", "Turkish", "span_f1", "tags", constructed=True)
STSB = Task("stsb", "STS-B", "English", "pearson", "similarity")
PAPER = read_paper_values(
    Path(tables_differences.__file__).parents[2] / "resources/paper_values.yaml"
)


# --- models of several seeds


def models(rates, lines=30) -> list[CausalModel]:
    """Models that need the same bits for each character of all lines: one rate a seed."""
    characters = np.linspace(20, 60, lines)
    return [CausalModel(characters, rate * characters, pd.DataFrame()) for rate in rates]


RATES = {"BPE": [2.0, 2.2, 2.1], "SaGe (printed)": [1.9, 2.15, 2.02], "random": [2.0, 2.2, 2.1]}


def test_models_of_one_seed_are_compared_with_one_another():
    panels = {"English": {label: models(rates) for label, rates in RATES.items()}}
    data = differences(of_causal(panels, "BPE", [], seed=1)).set_index("tokenizer")
    sage = data.loc["SaGe (printed)"]
    # Lines are alike, so that what is left is Student's test of three differences.
    test = stats.ttest_1samp(np.subtract(RATES["SaGe (printed)"], RATES["BPE"]), 0)
    interval = test.confidence_interval()
    found = sage[["difference", "low", "high", "p_value"]].tolist()
    assert found == pytest.approx([-0.23 / 3, interval.low, interval.high, test.pvalue])
    assert sage[["baseline_value", "value", "seeds", "rows"]].tolist() == pytest.approx(
        [2.1, 6.07 / 3, 3, 30]
    )
    # Equal models differ by nothing, whatever their seeds change.
    assert data.loc["random", ["difference", "low", "high", "p_value"]].tolist() == [0, 0, 0, 1]


def test_models_of_a_single_seed_are_shown_and_not_tested():
    panels = {"English": {label: models(rates[:1]) for label, rates in RATES.items()}}
    data = differences(of_causal(panels, "BPE", [], seed=1)).set_index("tokenizer")
    assert data.loc["SaGe (printed)", "difference"] == pytest.approx(-0.1)
    assert data["p_value"].isna().all() and not data["significant"].any()


def test_controls_have_a_family_of_their_own():
    panels = {
        title: {label: models(np.add(rates, shift * (label == "SaGe (printed)")))}
        | {other: models(RATES[other]) for other in RATES if other != label}
        for title, shift in (("English", 0.0), ("Turkish", -0.3))
        for label, rates in [("SaGe (printed)", RATES["SaGe (printed)"])]
    }
    data = differences(of_causal(panels, "BPE", ["random"], seed=1))
    sage = data[data["tokenizer"] == "SaGe (printed)"]
    for baseline in ("BPE", "random"):
        family = sage[sage["baseline"] == baseline]
        assert family["language"].tolist() == ["English", "Turkish"]
        np.testing.assert_allclose(family["p_adjusted"], holm(family["p_value"]))
    assert set(sage["measure"]) == {
        "Causal transformer",
        "Causal transformer, minus random instead",
    }
    assert set(data.loc[data["tokenizer"] == "random", "baseline"]) == {"BPE"}


def test_held_out_words_that_tables_reach_are_left_out():
    high = {"unigram": 1.95, "placed": 2.1}
    panels = {
        "English": {
            "BPE": [curve([4, 2.2]), curve([4, 2.3], seed=4)],
            "SaGe (printed)": [curve([4, 2.1], seed=1), curve([4, 2.0], seed=3)],
        },
        "Turkish": {"BPE": [curve([4, 2])], "SaGe (printed)": [curve([4, 1.9], floors=high)]},
    }
    data = differences(of_heldout(panels, "BPE", seed=1))
    (row,) = data.to_dict("records")
    assert (row["language"], row["seeds"], row["rows"]) == ("English", 2, 40)
    assert (row["difference"], row["floor"]) == pytest.approx((-0.2, 5.0))


# --- scores of tasks

MRPC, MNLI = (lm_tasks.Task(name, "sequence", metric, (0, 1)) for name, metric in
              (("mrpc", "f1"), ("mnli", "accuracy")))  # fmt: skip
OF_TASKS = [Task("mrpc", "MRPC", "English", "f1"), Task("mnli", "MNLI", "English", "accuracy")]
RIGHT = {"bpe": (0.6, 0.62), "sage": (0.9, 0.92), "sage_released": (0.6, 0.64)}
MODELS = {"bpe": "BPE", "sage": "SaGe (printed)", "sage_released": "SaGe (released)"}
GAINS = printed_gains(PAPER["tables"])


@pytest.fixture
def files(tmp_path) -> list[Path]:
    """SaGe is far better than BPE on both tasks, SaGe (released) is not."""
    return [
        write_score(tmp_path, name, task, seed, *answers(share, 200, start=11 * seed))
        for name, shares in RIGHT.items()
        for task in (MRPC, MNLI)
        for seed, share in enumerate(shares, start=1)
    ]


def scored(files, labels=MODELS, tasks=OF_TASKS):
    found = of_scores(read_scores(files), tasks, labels, GAINS, 1)
    return differences(found, sizes=score_families(labels, GAINS), paper=GAINS)


def test_scores_are_adjusted_over_all_tasks_of_the_paper(files):
    data = scored(files).set_index(["tokenizer", "task"])
    assert data.loc["SaGe (printed)", "difference"]["mnli"] == pytest.approx(0.30)
    assert data["significant"].tolist() == [True, False, True, False]
    assert len(GAINS) == 10
    for _, family in data.groupby("tokenizer"):
        least, most = np.sort(family["p_value"])
        first = min(1.0, 10 * least)
        expected = [first, max(first, min(1.0, 9 * most))]
        assert np.sort(family["p_adjusted"]).tolist() == pytest.approx(expected)
    assert data.loc[("SaGe (printed)", "mnli"), "paper"] == pytest.approx(0.0124)


def test_nothing_to_compare_is_one_line():
    with pytest.raises(UserError, match="no difference can be shown: .*; train longer"):
        differences(iter(()))


def test_a_task_that_no_model_learns_is_left_out(files):
    for path in files:
        if path.parent.name == "mnli":
            path.write_text(json.dumps({**json.loads(path.read_text()), "majority": 0.8}))
    kept = scored(files)
    assert list(zip(kept["tokenizer"], kept["task"], strict=True)) == [
        ("SaGe (printed)", "mrpc"),
        ("SaGe (released)", "mrpc"),
        ("SaGe (printed)", "mnli"),
    ]


# --- probes and n-grams


def answered(right, seed):
    """Answers to 200 rows held out and 50 others; each is right with a chance."""
    gold = np.random.default_rng(9).integers(2, size=250)
    rng = np.random.default_rng(seed)
    names = ["pieces", "vectors_1", "vectors_2"]
    found = {name: np.where(rng.random(250) < right, gold, 1 - gold) for name in names}
    split = ["heldout"] * 200 + ["validation"] * 50
    return pd.DataFrame({"split": split, "example": range(250), "label": gold, **found})


def tagged(right, seed):
    rng = np.random.default_rng(seed)
    gold = [["O", "B-X", "I-X"], ["B-Y"]] * 40
    found = [tags if rng.random() < right else ["O"] * len(tags) for tags in gold]
    columns = {"tags": gold, "pieces": found, "vectors_1": found, "vectors_2": found}
    return pd.DataFrame({"split": "validation", "example": range(80), **columns})


def similar(noise, seed):
    gold = np.linspace(0, 5, 90)
    rng = np.random.default_rng(seed)
    found = {f"vectors_{one}": gold + rng.normal(0, noise, 90) for one in (1, 2)}
    split = ["heldout"] * 60 + ["validation"] * 30
    return pd.DataFrame({"split": split, "example": range(90), "label": gold, **found})


FRAMES = {
    "sst2": {"BPE": answered(0.7, 1), "SaGe (printed)": answered(0.9, 2)},
    "ner": {"BPE": tagged(0.5, 1), "SaGe (printed)": tagged(0.9, 2)},
    "stsb": {"BPE": similar(3, 1), "SaGe (printed)": similar(3, 2)},
}


def line_bits(shift, orders=(2.5, 1.8, 1.6)) -> NgramBits:
    characters = np.linspace(20, 60, 50)
    noise = np.random.default_rng(1).normal(0, 0.01, (len(orders), 50))
    bits = (np.array(orders)[:, None] + shift + noise * (shift != 0)) * characters
    of_lines = dict(zip(ORDERS, bits, strict=True))
    more = {order: 2 * one for order, one in of_lines.items()}
    return NgramBits(characters, {100: more, 1000: of_lines})


PANELS = {"English": {"BPE": line_bits(0.0), "SaGe (printed)": line_bits(0.05)}}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Differences by probes and n-grams."""
    folder = tmp_path_factory.mktemp("probes")
    paths = {name: {label: folder / f"{name}.{label}" for label in LABELS} for name in FRAMES}
    for name, panel in FRAMES.items():
        for label, frame in panel.items():
            write_parquet(paths[name][label], frame)
    probes = [of_probes(one, paths[one.name], [1, 2], "BPE", 1) for one in (SST2, NER, STSB)]
    return differences(*probes, of_ngrams(PANELS, "BPE", 1), paper={"sst2": -0.01})


def test_scores_of_probes_are_those_of_their_answers_to_held_out_rows(data):
    by_measure = data.set_index("measure")
    bpe, sage = (FRAMES["sst2"][label].query("split == 'heldout'") for label in LABELS)
    row = by_measure.loc["Pieces: SST-2"]
    assert (row["rows"], row["seeds"], row["split"]) == (200, 1, "heldout")
    expected = [(one["pieces"] == one["label"]).mean() for one in (bpe, sage)]
    assert [row["baseline_value"], row["value"]] == pytest.approx(expected)
    row = by_measure.loc["Vectors: SST-2"]
    seeds = [
        class_scores(sage["label"].to_numpy(), sage[name].to_numpy(), 2)["accuracy"]
        for name in ("vectors_1", "vectors_2")
    ]
    assert (row["value"], row["seeds"]) == (pytest.approx(np.mean(seeds)), 2)
    row = by_measure.loc["Pieces: NER, constructed"]
    frame = FRAMES["ner"]["SaGe (printed)"]
    assert row["split"] == "validation"
    assert row["value"] == pytest.approx(span_scores(frame["tags"], frame["pieces"])["span_f1"])
    frame = FRAMES["stsb"]["SaGe (printed)"].query("split == 'heldout'")
    gold = frame["label"].to_numpy()
    both = [value_scores(gold, frame[f"vectors_{one}"].to_numpy())["pearson"] for one in (1, 2)]
    assert by_measure.loc["Vectors: STS-B", "value"] == pytest.approx(np.mean(both))
    assert "Pieces: STS-B" not in by_measure.index


def test_n_grams_are_those_of_the_most_lines(data):
    row = data.set_index("measure").loc["N-grams, order 3"]
    sage, bpe = (PANELS["English"][label] for label in ("SaGe (printed)", "BPE"))
    change = (sage.bits[1000][3] - bpe.bits[1000][3]).sum() / sage.characters.sum()
    assert row["difference"] == pytest.approx(change)
    assert (row["p_value"], row["more_is_better"]) == (1e-4, False)
    gain = data.set_index("measure").loc["Gain from context"]
    assert gain["more_is_better"] and abs(gain["difference"]) < gain["seen_from"]


def test_probes_and_n_grams_are_one_family(data):
    assert data["method"].drop_duplicates().tolist() == [
        "probes of vectors",
        OF_PIECES,
        NGRAMS,
    ]
    np.testing.assert_allclose(data["p_adjusted"], holm(data["p_value"]))
    half = (data["high"] - data["low"]) / 2
    np.testing.assert_allclose(data["seen_from"], half * 2.8 / 1.96)


# --- table and figure


def test_the_table_has_a_row_a_measure_and_a_column_a_tokenizer(data, outputs):
    table = table_of_differences(data, labels=LABELS, baseline="BPE", notes=["Presets: none."])
    table.write(**outputs)
    rows = {row[1]: row for row in markdown_rows(outputs)}
    row = data.set_index("measure").loc["Pieces: SST-2"]
    _, _, asked, bpe, sage, seen, paper = rows["Pieces: SST-2 (accuracy)"]
    assert (asked, bpe) == ("200", f"{100 * row['baseline_value']:.2f}")
    half = (row["high"] - row["low"]) / 2
    assert sage == f"+{100 * row['difference']:.2f} ± {100 * half:.2f}\\*"
    assert (seen, paper) == (f"{100 * row['seen_from']:.2f}", "−1.00")
    assert rows["N-grams, order 3 (bits)"][-1] == "–"
    assert text_of(outputs, "md").rstrip().endswith("Presets: none.")
    read = read_differences(outputs["csv"])
    assert read["significant"].tolist() == data["significant"].tolist()


def test_families_of_methods_are_apart_and_scores_alone_mark_the_other_tables(files, outputs):
    both = differences(
        of_ngrams(PANELS, "BPE", 1),
        of_scores(read_scores(files), OF_TASKS, MODELS, GAINS, 1),
        sizes=score_families(MODELS, GAINS),
    )
    of_models = both[both["method"] == FINE_TUNED]
    np.testing.assert_array_equal(of_models["p_adjusted"], scored(files)["p_adjusted"])
    assert both.loc[both["method"] == NGRAMS, "significant"].any()
    table_of_differences(both, labels=[*MODELS.values()], baseline="BPE").write(**outputs)
    assert read_significant([outputs["csv"]]) == {
        ("SaGe (printed)", "mrpc"),
        ("SaGe (printed)", "mnli"),
    }


# --- what is refused


def test_predictions_of_another_score_are_refused(files):
    record = json.loads(files[0].read_text())
    files[0].write_text(json.dumps({**record, "value": 0.5}))
    with pytest.raises(UserError, match=r"1\.predictions\.parquet: "):
        scored(files)
    table = pd.read_parquet(predictions_of(files[1]))
    table.assign(label=1 - table["label"]).to_parquet(predictions_of(files[1]))
    with pytest.raises(UserError, match=r"2\.predictions\.parquet: "):
        scored(files)
    with pytest.raises(UserError, match="scores/mine/mrpc: "):
        scored(files, {"bpe": "BPE", "mine": "Mine"})


def test_what_can_not_be_compared_is_refused(tmp_path):
    paths = {"sst2": {"BPE": tmp_path / "a", "SaGe (printed)": tmp_path / "b"}}
    write_parquet(paths["sst2"]["BPE"], answered(0.7, 1))
    write_parquet(paths["sst2"]["SaGe (printed)"], answered(0.7, 1).assign(label=1))
    with pytest.raises(UserError, match="probes of sst2"):
        list(of_probes(SST2, paths["sst2"], [1, 2], "BPE", 1))
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match=r"table\.csv: "):
        read_significant([tmp_path / "table.csv"])
