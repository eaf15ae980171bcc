"""The committed answers of probes and models give the committed scores again, by other code."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import pearsonr
from seqeval.metrics import f1_score
from sklearn.metrics import accuracy_score

from reproduction.paper.claims_frame import read_records
from sagevocab.files import read_json

REFERENCE = Path(__file__).parents[2] / "results/reference"
VALUES = REFERENCE.parents[1] / "workflow/resources/paper_values.yaml"
NAMES = {  # of the run of language models
    "bpe": "BPE",
    "sage": "SaGe (printed)",
    "sage_released": "SaGe (released loss)",
    "random": "pruned at random",
}
TESTS_OF_FAMILY = 44  # statistics.md
PROBED = ("sage", "random")
SCORES = {
    "sst2": accuracy_score,
    "stsb": lambda label, found: pearsonr(label.astype(float), found.astype(float)).statistic,
    "ner_en": lambda tags, found: f1_score(list(map(list, tags)), list(map(list, found))),
}


def means_over_seeds(run: Path, task: str, form: str, split: str) -> dict[str, float]:
    """Score of some tokenizers' probes of one form, the mean over their seeds."""
    answers = pd.read_parquet(run / f"probes/{task}.parquet").query("split == @split")
    gold = answers["tags" if "tags" in answers else "label"]
    scores: dict[str, list[float]] = {}
    for column in answers.columns[3:]:
        tokenizer, _, kind = column.partition(".")
        if kind.partition("_")[0] == form and tokenizer in ("bpe", *PROBED):
            scores.setdefault(tokenizer, []).append(SCORES[task](gold, answers[column]))
    return {name: sum(values) / len(values) for name, values in scores.items()}


@pytest.mark.parametrize(
    ("task", "form"), [("sst2", "pieces"), ("ner_en", "vectors"), ("stsb", "vectors")]
)
def test_scores_of_probes_are_those_of_their_answers(task, form):
    table = pd.read_csv(REFERENCE / "lm/tables/table_differences.csv")
    rows = table[(table["method"] == f"probes of {form}") & (table["task"] == task)]
    found = means_over_seeds(REFERENCE / "lm", task, form, rows["split"].iloc[0])
    for tokenizer in PROBED:
        row = rows[rows["tokenizer"] == NAMES[tokenizer]].iloc[0]
        assert row["baseline_value"] == pytest.approx(found["bpe"], abs=1e-9)
        assert row["value"] == pytest.approx(found[tokenizer], abs=1e-9)


@pytest.mark.parametrize("task", ["sst2", "stsb"])
def test_scores_of_fine_tuned_models_are_those_of_their_answers(task):
    table = pd.read_csv(REFERENCE / "lm/tables/table_differences.csv")
    table = table[(table["method"] == "fine-tuned models") & (table["task"] == task)]
    assert set(table["tokenizer"]) == {"SaGe (printed)", "SaGe (released loss)"}
    names = {label: name for name, label in NAMES.items()}
    answers = pd.read_parquet(REFERENCE / f"lm/predictions/{task}.parquet")
    gold = answers["tags" if "tags" in answers else "label"]
    for _, row in table.iterrows():
        for label, mean in (("BPE", row["baseline_value"]), (row["tokenizer"], row["value"])):
            seeds = [f"{names[label]}.{seed}" for seed in range(1, 7)]
            scores = [SCORES[task](gold, answers[seed]) for seed in seeds]
            assert sum(scores) / len(scores) == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize(("title", "language"), [("English", "en"), ("Turkish", "tr")])
def test_bits_of_n_grams_and_causal_models_are_those_of_their_lines(title, language):
    table = pd.read_csv(REFERENCE / "lm/tables/table_differences.csv").query("language == @title")
    ngrams = pd.read_parquet(REFERENCE / f"lm/ngrams/{language}.parquet")
    causal = pd.read_parquet(REFERENCE / f"lm/causal/{language}.parquet")
    asked = {
        "N-grams, order 3": (ngrams[ngrams["lines"] == ngrams["lines"].max()], "bits_3"),
        "Causal transformer": (causal[causal["step"] == causal["step"].max()], "bits"),
    }
    for measure, (lines, column) in asked.items():
        lines = lines.astype({column: float})
        totals = lines.groupby("tokenizer")[[column, "characters"]].sum()
        rates = totals[column] / totals["characters"]
        rows = table[table["measure"] == measure].set_index("tokenizer")
        for tokenizer in ("sage", "sage_released", "random"):
            row = rows.loc[NAMES[tokenizer]]
            assert row["baseline_value"] == pytest.approx(rates["bpe"], abs=1e-6)
            assert row["value"] == pytest.approx(rates[tokenizer], abs=1e-6)


def test_the_least_p_value_is_adjusted_by_the_size_of_its_family():
    records = read_records(REFERENCE / "intrinsic/frames/claims.parquet", VALUES)
    tested = [r for r in records if (r["tokenizer"], r["family"]) == ("sage", "intrinsic")]
    p_value, p_adjusted = min((record["p_value"], record["p_adjusted"]) for record in tested)
    assert 0 < p_adjusted < 1
    assert p_adjusted == pytest.approx(TESTS_OF_FAMILY * p_value, rel=1e-6)


# --- contexts or counts

CONTROLS = {
    "its own seeds": None,
    "pruned at random": "random",
    "least frequent pruned": "frequency",
    "extra tokens": "extra_tokens",
    "counts": "counts",
}


def pruned_by(language: str) -> dict[str, set[str]]:
    """The pieces that each tokenizer and control pruned, by name and seed."""
    table = pd.read_parquet(REFERENCE / f"intrinsic/prunings/{language}.parquet")
    table = table.set_index("piece")
    return {name: set(table.index[table[name] >= 0]) for name in table}


def in_common(pruned: dict[str, set[str]], sage: str, control: str | None) -> float:
    own, other = ([n for n in pruned if n.partition(".")[0] == name] for name in (sage, control))
    pairs = product(own, other) if control else combinations(own, 2)
    shares = [len(pruned[one] & pruned[two]) / len(pruned[one]) for one, two in pairs]
    return sum(shares) / len(shares)


def share(pieces: set[str], holds) -> float:
    return sum(map(holds, pieces)) / len(pieces)


def starts_word(piece: str) -> bool:
    return piece.startswith("▁")


def is_short(piece: str) -> bool:
    return len(piece.removeprefix("▁")) in (2, 3)


SHARES = {  # of the pieces of SaGe and of BPE
    "sage_only_word_initial": lambda sage, bpe: share(sage - bpe, starts_word),
    "bpe_only_word_initial": lambda sage, bpe: share(bpe - sage, starts_word),
    "bpe_only_short": lambda sage, bpe: share(bpe - sage, is_short),
}


@pytest.mark.parametrize("statement", SHARES)
def test_values_of_sage_and_of_all_controls_are_those_of_their_prunings(statement):
    initial = set(pd.read_parquet(REFERENCE / "intrinsic/prunings/en.parquet")["piece"])
    bpe = set((REFERENCE / "intrinsic/tokenizers/en/bpe/pieces.txt").read_text("utf-8").split())
    pruned = pruned_by("en")
    records = read_records(REFERENCE / "intrinsic/frames/claims.parquet", VALUES)
    records = [
        one
        for one in records
        if one["id"] == statement and one["language"] == "en" and one["tokenizer"] != "bpe"
    ]
    assert {one["tokenizer"] for one in records} == {"sage", "sage_released"}
    for record in records:
        assert len(record["controls"]) == 10
        for name, values in {**record["controls"], record["tokenizer"]: record["seeds"]}.items():
            seeds = [one for one in pruned if one.partition(".")[0] == name]
            found = [SHARES[statement](initial - pruned[seed], bpe) for seed in seeds]
            assert sorted(values) == pytest.approx(sorted(found)), name


@pytest.mark.parametrize("language", ["English", "Turkish"])
@pytest.mark.parametrize("sage", ["SaGe (printed)", "SaGe (released)"])
def test_overlaps_of_controls_are_those_of_their_prunings(language, sage):
    name = {"SaGe (printed)": "sage", "SaGe (released)": "sage_released"}[sage]
    table = pd.read_csv(REFERENCE / "intrinsic/tables/table_overlap.csv")
    means = table[(table["language"] == language) & (table["reading"] == sage)]
    means = means.set_index("control")["mean"]
    pruned = pruned_by({"English": "en", "Turkish": "tr"}[language])
    blind = {f"{sage} without vectors": f"{name}_zero"}
    found = {label: in_common(pruned, name, one) for label, one in (CONTROLS | blind).items()}
    assert found == pytest.approx({label: means[label] for label in found})


@pytest.mark.parametrize("language", ["en", "tr"])
def test_the_preset_released_prunes_what_the_program_prunes_in_its_order(language: str) -> None:
    pruned = read_json(REFERENCE / f"controls/released_program/{language}.json")
    kinds = [name.removeprefix("program, ") for name in pruned if name.startswith("program, ")]
    assert kinds == ["seed 1", "seed 2", "shuffled words", "without vectors"]
    assert all(pruned[f"exact, {kind}"] == pruned[f"program, {kind}"] for kind in kinds)
