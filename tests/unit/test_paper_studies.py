"""The studies' tables and figures, on vocabularies small enough to work out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from claim_samples import PAPER, VALUES, results
from reproduction.analysis import counts
from reproduction.analysis.counts import neighbour_ratio, read_neighbours, write_counts
from reproduction.paper import studies
from reproduction.paper.claims import assess_claims
from reproduction.paper.claims_inputs import TRAIN, Case, Results
from reproduction.paper.figures import figure_rankings
from reproduction.paper.measures_texts import relative_ratio_difference
from reproduction.paper.studies import (
    FULL,
    SAMPLE,
    Spread,
    assess_readings,
    builds_of,
    common_share,
    common_shares,
    quantities,
    read_assessment,
    read_build,
    spread_of,
    stable_ranking,
    verdict_over_seeds,
)
from reproduction.paper.tables_studies import (
    table_readings,
    table_sensitivity,
    table_stability,
)
from reproduction.parquet import write_parquet
from sagevocab.counting import count_corpus
from sagevocab.errors import UserError
from sagevocab.pieces import write_pieces
from sagevocab.segment import GreedySegmenter
from sagevocab.words import Normalizer, WordCorpus
from table_files import markdown_rows, rows_of, text_of

LINES = ["the cat sat", "a cat"]
SINGLE = ["▁", "t", "h", "e", "c", "a", "s"]
INITIAL = [*SINGLE, "▁the", "▁cat", "▁sat", "at", "he", "▁a", "th", "▁s", "▁c"]
BPE = [*SINGLE, "▁the", "at", "▁c", "he"]
FIRST = [*SINGLE, "▁the", "▁cat", "▁s", "he"]
SECOND = [*SINGLE, "▁the", "▁cat", "▁sat", "he"]
OTHERS_ON_SAMPLE = ("printed.seed2", "printed.prune_batch-50", "printed.initial_size-20")
PRINTED = {"scale": SAMPLE, "name": "printed", "label": "as printed", "preset": "printed"}
READINGS = [PRINTED, {"scale": FULL, "name": "sage", "label": "SaGe", "preset": "printed"}]


def write_build(root: Path, place: str, pieces: list[str], corpus: WordCorpus) -> None:
    folder, measured = root / "vocab" / place.format(""), root / "analysis" / place.format("train/")
    write_pieces(folder / "pieces.txt", pieces)
    write_counts(count_corpus(corpus, GreedySegmenter(pieces), [5, 2]), measured)
    if pieces != BPE:
        gone = [piece for piece in INITIAL if piece not in pieces]
        write_parquet(folder / "ablations.parquet", pd.DataFrame({"piece": gone, "iteration": 0}))


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A study of one reading with two seeds, a variant of it, and the run itself."""
    root = tmp_path_factory.mktemp("run")
    corpus = WordCorpus.from_lines(LINES, Normalizer("nmt_nfkc"), 256)
    (root / "corpus").mkdir()
    for text in ("en", "en.sample1"):
        corpus.save(root / f"corpus/{text}.train.words.npz")
        write_pieces(root / f"vocab/{text}/bpe_initial/pieces.txt", INITIAL)
    sample = {"bpe": BPE, "printed.seed1": FIRST, **dict.fromkeys(OTHERS_ON_SAMPLE, SECOND)}
    for text, built in (("en", {"bpe": BPE, "sage": FIRST}), ("en.sample1", sample)):
        for name, pieces in built.items():
            write_build(root, f"{text}/{{}}{name}", pieces, corpus)
    return root


def run_of(root: Path, *sage: str, **changes) -> Results:
    tokenizers = {"bpe": None, **dict.fromkeys(sage, "printed")}
    given = {"languages": ["en", "tr"], "tokenizers": tokenizers, "names": {"en": "English"}}
    return results(root, **given | changes)


@pytest.fixture(scope="module")
def study(root) -> Results:
    return run_of(root, "printed.seed1", *OTHERS_ON_SAMPLE, sample=".sample1")


@pytest.fixture(scope="module")
def assessment(root, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("assessed") / "en.json"
    assess(root, path)
    return path


def assess(root: Path, path: Path, **keep) -> None:
    study = run_of(root, "printed.seed1", "printed.seed2", sample=".sample1")
    builds = [("printed", 1), ("printed", 2)]
    assess_readings(
        "en", study, builds, run_of(root, "sage"), values=VALUES, window=5, output=path, **keep
    )


# --- pieces in common


def test_the_share_in_common_is_of_the_mean_size():
    assert common_share("abcd", "bcde") == 0.75
    assert common_share("ab", "abcd") == pytest.approx(2 / 3)
    assert common_share("ab", "cd") == 0
    assert pd.isna(common_share("", ""))


def test_every_two_builds_are_compared(root):
    folders = [root / f"vocab/en.sample1/printed.seed{seed}" for seed in (1, 2)]
    builds = [read_build(folder) for folder in folders]
    vocabulary, pruned = common_shares([*builds, builds[0]])
    # first and second differ in one of 11 pieces and one of the 5 pruned; the third is the first
    assert vocabulary == Spread(
        pytest.approx((10 / 11 + 1 + 10 / 11) / 3), pytest.approx(10 / 11), 1.0, 3
    )
    assert pruned == Spread(pytest.approx((0.8 + 1 + 0.8) / 3), 0.8, 1.0, 3)


def test_bpe_prunes_nothing_and_a_damaged_record_is_one_line(root, tmp_path):
    bpe = read_build(root / "vocab/en.sample1/bpe")
    assert common_shares([bpe, bpe])[1].count == 0
    write_pieces(tmp_path / "pieces.txt", BPE)
    (tmp_path / "ablations.parquet").write_bytes(b"no parquet")
    with pytest.raises(UserError, match="ablations.parquet: cannot be read"):
        read_build(tmp_path)


# --- readings as tokenizers of a run


@pytest.mark.parametrize("fewest", [1, 2])
def test_neighbours_per_occurrence_are_those_of_the_claim(study, monkeypatch, fewest):
    monkeypatch.setattr(counts, "FEWEST_OCCURRENCES", fewest)
    case = Case(study, "en", TRAIN, "printed.seed1", {}, alone=True)
    claim = relative_ratio_difference(case, window=5)
    assert (claim.left_out > 0) == (fewest > 1)
    assert quantities(case, 5)["ratio_to_bpe"] == pytest.approx(1 + claim.ours)


def test_quantities_by_hand(study, root, monkeypatch):
    monkeypatch.setattr(counts, "FEWEST_OCCURRENCES", 1)
    found = quantities(Case(study, "en", TRAIN, "printed.seed1", {}), 5)
    sage, bpe = (
        neighbour_ratio(read_neighbours(root / "analysis/en.sample1/train" / path), 5).mean()
        for path in ("printed.seed1/neighbours.parquet", "bpe/neighbours.parquet")
    )
    # SaGe-only: ▁cat, ▁s; BPE-only: at, ▁c. Words: the 1, cat 1 twice, sat 3 (▁s a t), a 2; in BPE
    # the 1, cat 2 twice, sat 3 (▁ s at), a 2.
    assert found["sage_only_word_initial"] == 1
    assert found["bpe_only_word_initial"] == 0.5
    assert found["bpe_only_short"] == 0.5
    assert found["sage_only_long"] == 0
    assert found["token_ratio"] == pytest.approx(8 / 10)
    assert found["whole_words"] == pytest.approx(3 / 5)
    assert found["long_words"] == 0
    assert found["fertility"] == pytest.approx(8 / 5)
    assert found["ratio_to_bpe"] == pytest.approx(sage / bpe)


def test_only_claims_about_sage_on_the_training_corpus_count():
    claims = {claim.id: claim for claim in PAPER["claims"]}
    assessed = {name for name, claim in claims.items() if claim.is_of_counts}
    assert {"token_ratio", "bpe_only_short", "ratio_lower", "og_discarded"} <= assessed
    others = {"tokens_bpe", "whole_words_more_quora", "cost_ratio", "score_mrpc_sage"}
    assert not assessed & (others | {"loss_ranking_stable", "fewer_update_steps"})


def test_the_verdict_of_a_reading_is_the_most_frequent_or_the_less_favourable():
    assert verdict_over_seeds(["reproduced", "not reproduced", "reproduced"]) == "reproduced"
    assert verdict_over_seeds(["reproduced", "same direction"]) == "same direction"
    three = ["same direction", "not reproduced", "reproduced"]
    assert verdict_over_seeds(three) == "not reproduced"
    assert verdict_over_seeds(["reproduced"]) == "reproduced"
    assert verdict_over_seeds(["undecided", "same direction"]) == "undecided"
    assert verdict_over_seeds(["undecided", "not reproduced"]) == "not reproduced"


def test_a_reading_is_assessed_with_every_seed_and_at_full_size(assessment):
    document = read_assessment(assessment)
    assert [(b["scale"], b["name"], b["seed"]) for b in document["builds"]] == [
        (SAMPLE, "printed", 1),
        (SAMPLE, "printed", 2),
        (FULL, "sage", 1),
    ]
    order = [claim.id for claim in PAPER["claims"] if claim.is_of_counts]
    claims = [claim["id"] for claim in document["builds"][0]["claims"]]
    assert claims == [name for name in order if name in claims]
    assert document["baselines"][SAMPLE]["fertility"] == pytest.approx(10 / 5)
    spread = spread_of(builds_of(document, PRINTED), "token_ratio")
    assert spread == Spread(pytest.approx(0.7), pytest.approx(0.6), pytest.approx(0.8), 2)
    # the sample's first seed and the run's own tokenizer are the same vocabulary on the same text
    first, _, full = document["builds"]
    assert first["claims"] == full["claims"]
    assert first["quantities"] == full["quantities"]


def test_a_reading_gets_the_verdicts_that_the_run_gives_its_tokenizer(assessment, root):
    of_counts = {**PAPER, "claims": [claim for claim in PAPER["claims"] if claim.is_of_counts]}
    records = assess_claims(run_of(root, "sage", languages=["en"]), of_counts)
    expected = {one["id"]: one["verdict"] for one in records if one["language"] == "en"}
    claims = read_assessment(assessment)["builds"][2]["claims"]
    assert {claim["id"]: claim["verdict"] for claim in claims} == expected
    assert expected["og_discarded"] == "not measurable here"


def test_what_is_judged_is_not_judged_again(assessment, root, tmp_path, monkeypatch):
    judged = []

    def assess_some(run, values):
        judged.extend(run.sage_tokenizers)
        if len(judged) == 2:
            raise KeyboardInterrupt
        return assess_claims(run, values)

    monkeypatch.setattr(studies, "assess_claims", assess_some)
    keep = {"state_dir": tmp_path / "state", "code": "1"}
    with pytest.raises(KeyboardInterrupt):
        assess(root, tmp_path / "en.json", **keep)
    assess(root, tmp_path / "en.json", **keep)
    second = "printed.seed2"
    assert judged == ["printed.seed1", second, second, "sage"]
    assert (tmp_path / "en.json").read_bytes() == assessment.read_bytes()
    assert not (tmp_path / "state").exists()


def test_a_damaged_assessment_is_one_line(tmp_path):
    (tmp_path / "en.json").write_text(json.dumps({"language": "en"}))
    with pytest.raises(UserError, match="holds no readings"):
        read_assessment(tmp_path / "en.json")


def test_the_papers_values_come_from_its_claims(assessment):
    printed = read_assessment(assessment)["paper"]
    assert printed["bpe_only_word_initial"] == 0.22
    assert printed["token_ratio"] == 1.125
    assert "whole_words" not in printed
    assert stable_ranking(VALUES) == (24, 0.8)


# --- tables


def test_the_table_of_readings_counts_claims_and_sets_the_paper_beside(assessment, outputs):
    table_readings({"English": read_assessment(assessment)}, READINGS).write(**outputs)
    rows = {row[1]: row for row in markdown_rows(outputs)}
    names = ["the paper", "BPE", "as printed", "seeds", "BPE, full size", "SaGe, full size"]
    assert list(rows) == names
    assert rows["the paper"][6:11] == ["83.0", "22.0", "56.0", "55.0", "1.125"]
    assert rows["as printed"][2:5] == ["greedy", "total", "own"]
    assert rows["as printed"][10] == "0.700"
    assert rows["seeds"][10] == "0.200"
    assert rows["SaGe, full size"][10] == "0.800"
    data = pd.DataFrame(rows_of(outputs))
    verdicts = data[(data["scale"] == SAMPLE) & (data["kind"] == "claim")]["verdict"]
    counts = verdicts.value_counts()
    given = ("reproduced", "same direction", "undecided", "not reproduced")
    assert rows["as printed"][5] == " / ".join(str(counts.get(name, 0)) for name in given)
    assert set(data["preset"]) == {"printed"}


def test_stability_by_hand(root, outputs):
    made = root / "vocab/en.sample1"
    seeds = [made / f"printed.seed{seed}" for seed in (1, 2)]
    bpe = [made / "bpe"] * 2
    rows = [
        {"language": "English", "label": "BPE", "preset": None, "seeds": [], "samples": bpe},
        {
            "language": "English",
            "label": "as printed",
            "preset": "printed",
            "seeds": seeds,
            "samples": [seeds[0], seeds[1], seeds[0]],
        },
    ]
    table_stability(rows, sizes=(16, 11)).write(**outputs)
    assert markdown_rows(outputs) == [
        ["English", "BPE", "–", "–", "100.0", "–"],
        ["", "as printed", "90.9", "80.0", "93.9 (90.9–100.0)", "86.7 (80.0–100.0)"],
    ]
    assert "69 % of the vocabulary and 31 % of the pruned" in text_of(outputs, "md")


def test_sensitivity_by_hand(study, outputs):
    variants = [
        {"key": "prune_batch", "value": 50, "usual": 100},
        {"key": "initial_size", "value": 20, "usual": 16},
    ]
    for variant in variants:
        name = f"printed.{variant['key']}-{variant['value']}"
        variant["build"] = name
    row = {
        "language": "en",
        "label": "as printed",
        "preset": "printed",
        "base": "printed.seed1",
        "seeds": ["printed.seed2"],
        "variants": variants,
    }
    table_sensitivity(study, [row], titles={"en": "English"}, window=5).write(**outputs)
    second = ["90.9", "80.0", "0.600", "80.0", "100.0", "50.0"]
    assert markdown_rows(outputs) == [
        ["English", "as printed", "as configured", "", "–", "–", "0.800", "60.0", "100.0", "50.0"],
        ["", "", "another seed", "", *second],
        ["", "", r"prune_batch (k)", "50 for 100", *second],
        ["", "", r"initial_size (n·V)", "20 for 16", second[0], "–", *second[2:]],
    ]
    assert "English, as printed: 80.0 %" in text_of(outputs, "md")


# --- figures


def rankings() -> pd.DataFrame:
    losses = {0: [1.0, 2.0, 3.0, 4.0], 4: [1.0, 2.0, 4.0, 3.0], 8: [4.0, 3.0, 2.0, 1.0]}
    return pd.concat(
        pd.DataFrame({"iteration": iteration, "piece": list("abcd"), "loss": loss})
        for iteration, loss in losses.items()
    )


def test_the_bound_of_the_claim_is_named_and_looks_like_no_tokenizer(drawings, kept):
    panels = {"English": {"SaGe": rankings()}}
    figure_rankings(panels, labels=["BPE", "SaGe"], stable=(4, 0.8), **drawings)
    *curves, bound = kept[0].legends[0].legend_handles
    assert bound.get_label() == "claim: 4 iterations apart or more, at least 0.8"
    drawn = [line for line in kept[0].axes[0].lines if line.get_color() == bound.get_color()]
    assert [line.get_xdata()[0] for line in drawn[:1]] == [4] and drawn[1].get_ydata()[0] == 0.8
    assert len(curves) == 1 and curves[0].get_linewidth() > bound.get_linewidth()


@pytest.mark.parametrize(
    ("write", "given"),
    [
        (table_readings, {"assessments": {}, "readings": []}),
        (table_stability, {"rows": [], "sizes": (16, 11)}),
        (table_sensitivity, {"study": None, "rows": [], "titles": {}, "window": 5}),
    ],
)
def test_without_studies_every_target_says_so(write, given):
    with pytest.raises(UserError, match=r"config key studies: .*studies.enabled"):
        write(**given)


def test_a_short_pruning_has_one_ranking_and_no_correlation(drawings):
    rankings = pd.DataFrame({"iteration": 0, "piece": ["a", "b"], "loss": [1.0, 2.0]})
    panels = {"English": {"SaGe": rankings}}
    figure_rankings(panels, labels=["SaGe"], stable=(24, 0.8), **drawings)
    assert all(path.exists() for path in drawings.values())


def test_without_sage_there_are_no_rankings(drawings):
    with pytest.raises(UserError, match="config key tokenizers: figure_rankings"):
        figure_rankings({"English": {}}, labels=["BPE"], stable=(24, 0.8), **drawings)
    assert not any(path.exists() for path in drawings.values())
