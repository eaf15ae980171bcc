"""The paper's claims: verdict rules, measurements by hand, and what can't be measured."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from claim_samples import PAPER, TEMPLATE, record_of, records, results
from curve_samples import curve, write_floors, write_model
from reproduction.analysis import counts
from reproduction.analysis.scores import EXAMPLES_AND_SEEDS, TESTS
from reproduction.analysis.stats import holm
from reproduction.analysis.vocabulary import Share
from reproduction.lm.tasks import Task
from reproduction.paper import intervals
from reproduction.paper.claims import assess_claims
from reproduction.paper.claims_inputs import Case, Results
from reproduction.paper.claims_page import claims_markdown
from reproduction.paper.measures import Measurement
from reproduction.paper.statements import Statement, meets, verdict_of
from reproduction.parquet import write_parquet
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.errors import UserError
from sagevocab.pieces import write_pieces
from sagevocab.segmentation.counts import SegmentedCorpus, count_corpus
from sagevocab.segmentation.segmenter import GreedySegmenter
from score_samples import answers, write_score

SHARED = ["▁", "a", "b", "c", "g", "h", "i", "n", "o", "s", "▁a", "▁c", "in", "▁cat"]
BPE_ONLY = ["og", "ings", "ing", "at"]
SAGE_ONLY = ["▁bingo", "▁goats", "ation", "▁hat"]
DISCARDED_ELSEWHERE = ["▁go"]
BPE, SAGE = SHARED + BPE_ONLY, SHARED + SAGE_ONLY
# The first random pruning has SaGe's vocabulary, the others have BPE's.
CONTROLS = {"frequency": ["frequency"], "random": ["random", "random.seed2", "random.seed3"]}
VOCABULARIES = {"bpe": BPE, "sage": SAGE, "sage_released": SAGE, "random": SAGE}
VOCABULARIES |= dict.fromkeys(("frequency", "random.seed2", "random.seed3"), BPE)


# --- a small run, every number of which can be worked out by hand


# The words in pieces, BPE | SaGe:
#   cat ▁cat | ▁cat; cats ▁cat s | ▁cat s; bingo ▁ b ing o | ▁bingo; sings ▁ s ings | ▁ s in g s
#   goats ▁ g o at s | ▁goats; hog ▁ h og | ▁ h o g; hat ▁ h at | ▁hat
#   nation ▁ n at i o n | ▁ n ation
TRAIN_LINES = ["cat bingo sings sings", "goats cats hog hog", "cat sings hog sings"]
TRAIN_LINES += ["hat cat cats nation"]
DOMAIN_LINES = ["cat cat cat hog", "cats sings cat"]


def _measurements(folder: Path, corpus: WordCorpus, pieces: list[str]) -> None:
    tables = counts.tables_of(count_corpus(SegmentedCorpus(corpus, GreedySegmenter(pieces))))
    for name in ("frequencies", "fertility", "lines"):
        write_parquet(folder / f"{name}.parquet", tables[name])
    # Neighbours fall evenly from the first piece to the last, twice as many at twice the window.
    frequent = {"og": 40, "s": 100} if pieces == BPE else {"s": 300, "ation": 30}
    neighbours = pd.concat(
        pd.DataFrame(
            {
                "piece": pieces,
                "window": window,
                "distinct": [window * (len(pieces) - rank) for rank in range(len(pieces))],
                "count": [frequent.get(piece, 2) for piece in pieces],
            }
        )
        for window in (5, 2)
    )
    write_parquet(folder / "neighbours.parquet", neighbours)


def _write_language(root: Path, language: str, domains: list[str]) -> None:
    initial = root / f"vocab/{language}/bpe_initial/pieces.txt"
    write_pieces(initial, BPE + SAGE_ONLY + DISCARDED_ELSEWHERE)
    for name, pieces in VOCABULARIES.items():
        write_pieces(root / f"vocab/{language}/{name}/pieces.txt", pieces)
    for corpus in ["train", *domains]:
        lines = TRAIN_LINES if corpus == "train" else DOMAIN_LINES
        words = WordCorpus.from_lines(lines, Normalizer("nmt_nfkc"))
        words.save(root / f"corpus/{language}.{corpus}.words.npz")
        for name, pieces in VOCABULARIES.items():
            _measurements(root / f"analysis/{language}/{corpus}/{name}", words, pieces)


def _write_models(root: Path) -> None:
    scores = {"bpe": {"mrpc": (0.70, 0.72), "sst2": (0.9, 0.9)}}
    scores["sage"] = scores["sage_released"] = {"mrpc": (0.75, 0.78), "sst2": (0.8, 0.86)}
    bits = {"bpe": [4, 3, 2], "sage": [4, 2.5, 1.8], "sage_released": [4, 2.5, 1.8]}
    for name, tasks in scores.items():
        for label, values in tasks.items():
            task = Task(label, "sequence", "accuracy", (0, 1))
            for seed, value in enumerate(values, start=1):
                write_score(root / "scores/en", name, task, seed, *answers(value, start=7 * seed))
        write_model(root / "models/en" / name, curve(bits[name], lines=8))
        write_floors(root / f"analysis/en/floors/{name}.parquet", curve(bits[name], lines=8))


def _write_benchmarks(root: Path) -> None:
    seconds = {"train_bpe/en": 10, "train_bpe_initial/en": 12}
    seconds |= {"train_embeddings/en.greedy.seed1": 60, "build_sage/en.sage": 48}
    for place, taken in seconds.items():
        path = root / f"benchmarks/{place}.tsv"
        path.parent.mkdir(parents=True)
        path.write_text(f"s\th:m:s\n{taken}\t0:00:01\n", encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def _rare_pieces_count() -> Iterator[None]:
    """In texts of a few lines every piece is rare."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "FEWEST_OCCURRENCES", 1)
        yield


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A run in English, and in German, of which the paper says nothing; files stay as they are."""
    root = tmp_path_factory.mktemp("small") / "results/tiny"
    _write_language(root, "en", ["quora"])
    _write_language(root, "de", [])
    _write_models(root)
    _write_benchmarks(root)
    return results(
        root,
        languages=["en", "de"],
        tokenizers={"bpe": None, "sage": "printed", "sage_released": "released"},
        domains={"quora": "en"},
        tasks={"mrpc": "en", "sst2": "en"},
        starts={"sage": "greedy.seed1"},
        controls=CONTROLS,
        model_languages=["en"],
        lm_tokenizers=["bpe", "sage", "sage_released"],
        seeds=[1, 2],
        names={"en": "English", "quora": "questions"},
    )


@pytest.fixture(scope="module")
def found(small: Results) -> list[dict]:
    """All records of the small run."""
    return records(small)


@pytest.fixture
def run(small: Results, tmp_path: Path) -> Results:
    """A copy of the small run whose files a test may change."""
    shutil.copytree(small.folder, tmp_path / "tiny")
    return dataclasses.replace(small, folder=tmp_path / "tiny")


def one_of(found: list[dict], name: str, tokenizer: str = "sage", language: str = "en") -> dict:
    place = (name, tokenizer, language)
    return next(r for r in found if (r["id"], r["tokenizer"], r["language"]) == place)


# --- what the paper says


def test_printed_segmentations_spell_their_sentence():
    for example in PAPER["examples"]["sentences"]:
        for system in ("bpe", "sage"):
            spelled = example[system].replace(" ", "").replace("▁", " ").strip()
            assert spelled == example["text"]


@pytest.mark.parametrize("claim", PAPER["claims"], ids=lambda claim: claim.id)
def test_a_claim_can_be_judged(claim: Statement):
    ids = [other.id for other in PAPER["claims"]]
    assert ids.count(claim.id) == 1
    assert claim.objection or claim.measured_by
    if claim.measured_by:
        inspect.signature(claim.measured_by.function).bind(None, **claim.arguments)
    printed = claim.paper if isinstance(claim.paper, list) else [claim.paper]
    numbers = [value for value in printed if isinstance(value, int | float)]
    if claim.target:
        low, high = claim.target
        assert low < high and all(low <= number <= high for number in numbers)
        sign = claim.sign or claim.target
        assert sign[0] <= low and high <= sign[1]
    else:
        assert claim.paper and not numbers and not claim.sign


# --- the rule


INF = math.inf
PRINTED = {"paper": 0.83, "target": (0.78, 0.88)}
FACTOR = {"paper": 10, "target": (5, 20)}
RANGE = {"paper": [0.013, 0.08], "target": (0.013, 0.08)}
MORE = {"target": (0, INF)}
MOST = {"target": (0.5, INF)}
MUCH_MORE = {"target": (0.3, INF), "sign": (0, INF)}
MUCH_LESS = {"target": (-INF, -0.3), "sign": (-INF, 0)}
EQUAL = {"target": (-0.1, 0.1)}
ALWAYS = {"target": (1, INF), "sign": (0.5, INF), "measure": "chained_share"}
NEARLY_ALWAYS = {**ALWAYS, "target": (0.95, INF)}


def statement(**keys) -> Statement:
    """A statement of which the rule knows all that it needs."""
    usual = {"id": "x", "where": "", "statement": "", "paper": "more", "objection": "none"}
    return Statement(**usual | keys)


@pytest.mark.parametrize(
    ("claim", "measured", "verdict"),
    [
        (PRINTED, (0.79, 0.78, 0.80), "reproduced"),
        (PRINTED, (0.77, 0.71, 0.84), "reproduced"),
        (PRINTED, (0.6, 0.3, 0.9), "undecided"),
        (PRINTED, (0.6, 0.5, 0.7), "same direction"),
        (PRINTED, (0.77, 0.74, 0.8), "undecided"),
        (FACTOR, (5.0, None, None), "reproduced"),
        (FACTOR, (21.0, None, None), "same direction"),
        (FACTOR, (21.0, 19.0, 23.0), "undecided"),
        (RANGE, (0.05, 0.01, 0.09), "reproduced"),
        (RANGE, (0.02, -0.01, 0.05), "undecided"),
        (RANGE, (0.09, 0.07, 0.11), "undecided"),
        (RANGE, (0.09, 0.085, 0.11), "same direction"),
        (MORE, (0.1, 0.01, 0.2), "reproduced"),
        (MORE, (0.1, 0.0, 0.2), "undecided"),
        (MORE, (-0.1, -0.2, 0.3), "undecided"),
        (MORE, (0.1, None, None), "same direction"),
        (MORE, (-0.1, None, None), "not reproduced"),
        (MORE, (-0.1, -0.2, -0.01), "not reproduced"),
        (MOST, (0.6, 0.55, 0.7), "reproduced"),
        (MOST, (0.4, 0.35, 0.45), "not reproduced"),
        (MUCH_MORE, (0.4, 0.35, 0.5), "reproduced"),
        (MUCH_MORE, (0.4, 0.2, 0.6), "undecided"),
        (MUCH_MORE, (0.2, 0.1, 0.25), "same direction"),
        (MUCH_MORE, (0.1, -0.1, 0.2), "not reproduced"),
        (MUCH_LESS, (-0.2, -0.25, -0.1), "same direction"),
        (EQUAL, (0.02, -0.05, 0.09), "reproduced"),
        (EQUAL, (0.12, 0.08, 0.16), "undecided"),
        (EQUAL, (0.02, None, None), "same direction"),
        (EQUAL, (0.2, 0.19, 0.21), "not reproduced"),
        (ALWAYS, (1.0, 0.9, 1.0), "reproduced"),
        (ALWAYS, (0.99, 0.9, 1.0), "same direction"),
        (NEARLY_ALWAYS, (0.96, None, None), "reproduced"),
        (ALWAYS, (0.4, 0.3, 0.5), "not reproduced"),
    ],
)
def test_a_verdict_follows_from_the_target(claim: dict, measured: tuple, verdict: str):
    assert verdict_of(statement(**claim), Measurement(*measured, agrees=True)) == verdict


@pytest.mark.parametrize(
    ("holds", "agrees", "verdict"),
    [
        (True, True, "reproduced"),
        (False, True, "same direction"),
        (False, False, "not reproduced"),
        (False, None, "not reproduced"),
    ],
)
def test_an_example_comes_out_as_printed_or_in_part(holds, agrees, verdict):
    measured = Measurement("in words", holds=holds, agrees=agrees)
    assert verdict_of(statement(), measured) == verdict


def test_a_difference_in_words_is_reproduced_where_its_test_is_significant():
    found = [
        verdict_of(statement(**MORE), Measurement(0.1, 0.01, 0.2, test="t", p_adjusted=p_value))
        for p_value in (0.049, 0.05)
    ]
    assert found == ["reproduced", "same direction"]


@pytest.mark.parametrize(
    ("claim", "inside", "outside"),
    [
        ({"target": (1, INF)}, 1.1, 1),
        ({"target": (-INF, 1)}, 0.9, 1),
        (EQUAL, -0.09, 0.11),
        ({"paper": 0.78, "target": (0.73, 0.83)}, 0.83, 0.84),
        ({"paper": [24, 72], "target": (24, 72)}, 24, 23),
        (NEARLY_ALWAYS, 0.95, 0.94),
    ],
)
def test_a_value_alone_meets_a_statement_in_its_target(claim: dict, inside, outside):
    found = [meets(statement(**claim), Measurement(value)) for value in (inside, outside)]
    assert found == [True, False]


# --- intervals


def test_share_difference_is_newcombes_published_example_and_tested_by_fisher():
    measured = intervals.share_difference(Share(56, 70), Share(48, 80))
    assert measured.value == pytest.approx(0.2)
    assert (measured.low, measured.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    # The tea tasting: 1 + 16 of the 70 tables are as extreme to either side.
    assert intervals.fisher(Share(3, 4), Share(1, 4)) == pytest.approx(34 / 70)
    assert intervals.fisher(Share(0, 0), Share(1, 4)) is None


def test_bootstrap_pairs_what_two_columns_share():
    common = pd.Series({f"p{i}": float(i % 7) for i in range(300)})
    shifted = common + 1
    paired = intervals.bootstrap_means([shifted, common], lambda a, b: a - b, seed=3)
    assert (paired.low, paired.high) == pytest.approx((1.0, 1.0))
    apart = common.rename(index=lambda piece: f"other {piece}")
    unpaired = intervals.bootstrap_means([shifted, apart], lambda a, b: a - b, seed=3)
    expected = 1.96 * math.sqrt(2 * common.var() / len(common))
    assert unpaired.high - unpaired.low == pytest.approx(2 * expected, rel=0.15)
    assert unpaired == intervals.bootstrap_means([shifted, apart], lambda a, b: a - b, seed=3)


def test_words_of_a_line_go_together():
    # Two words a line with the same fate: half as many independent words as there are words.
    hits = np.tile([2, 0], 500)
    zero, words = np.zeros(1000, dtype=int), np.full(1000, 2)
    measured = intervals.line_share_difference(hits, zero, words, seed=1)
    assert measured.value == 0.5
    assert measured.high - measured.low == pytest.approx(2 * 1.96 * 0.5 / math.sqrt(1000), rel=0.1)


def test_seeds_are_in_value_interval_and_test_by_hand():
    # Standard errors of the text: 0.1; of the mean of three seeds: 1 / sqrt(3) times s = 0.2.
    seeds = [
        Measurement(value, value - 0.196, value + 0.196, unit="lines", test="t", p_value=p_value)
        for value, p_value in ((0.3, 0.01), (0.5, 0.04), (0.7, 0.02))
    ]
    together = intervals.over_seeds(seeds)
    assert together.seeds == pytest.approx((0.3, 0.5, 0.7))
    assert (together.value, together.p_value) == (pytest.approx(0.5), 0.04)
    of_seeds, variance = 0.04 / 3, 0.04 / 3 + 0.01
    degrees = variance**2 / (of_seeds**2 / 2)
    half = scipy_stats.t.ppf(0.975, degrees) * math.sqrt(variance)
    assert (together.low, together.high) == pytest.approx((0.5 - half, 0.5 + half), rel=1e-3)


def test_words_and_agreement_of_seeds_are_the_majoritys():
    words = (("a", False), ("b", True), ("b", True))
    together = intervals.over_seeds([Measurement(word, holds=holds) for word, holds in words])
    assert (together.value, together.holds, together.agrees) == ("a", True, None)


# --- measurements


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sage_only_word_initial", 3 / 4),
        ("bpe_only_word_initial", 0.0),
        ("bpe_subset", 1.0),
        ("discarded_in_bpe", 4 / 5),
        ("bpe_only_substrings", 2 / 3),
        ("single_characters_kept", 1.0),
        ("bpe_only_short", 3 / 4),
        ("sage_only_long", 3 / 4),
        ("sage_only_long_with_mark", 3 / 4),
        ("longer_pieces", (5 + 5 + 5 + 3) / 4 - (2 + 4 + 3 + 2) / 4),
        ("whole_words_more", 3 / 16),
        ("words_of_5_more", 2 / 16),
        ("words_of_2_3_fewer", -7 / 16),
        ("smaller_differences_quora", 2 / 7 - 8 / 16),
        ("words_of_quora", 7),
        ("token_ratio", 45 / 46),
        ("tokens_bpe", 46 / 4 * 150000),
        ("tokens_sage", 45 / 4 * 150000),
        ("frequency_rank_bpe_ings", 1),
        ("frequency_rank_sage_ation", 4),  # behind g, in and s
        ("single_characters_more", math.log(32.5 / 30.5)),
        ("top_is_single_characters_w5", 12 / 18),
        ("score_mrpc_sage", 0.765),
        ("better_on_mrpc", 0.055),
        ("cost_ratio", 12.0),
        ("ings_dismantled", "in g s"),
    ],
)
def test_measurements_worked_out_by_hand(found, name: str, value: float | str):
    tokenizer = "bpe" if name in ("tokens_bpe", "bpe_subset", "words_of_quora") else "sage"
    assert one_of(found, name, tokenizer)["value"] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "value"), [("bpe_only_shorter", 3 / 4 - 1 / 4), ("sage_only_longer", 3 / 4 - 0)]
)
def test_turkish_lengths_worked_out_by_hand(run, name: str, value: float):
    _write_language(run.folder, "tr", [])
    turkish = records(dataclasses.replace(run, languages=["tr"], domains={}))
    record = one_of(turkish, name, language="tr")
    assert record["value"] == pytest.approx(value, abs=1e-9)
    assert (record["interval"], record["test"]) == ("pieces", intervals.FISHER)


def test_each_measure_has_the_interval_and_the_test_of_what_it_resamples(found):
    for name, interval, test in (
        ("whole_words_more", "lines", intervals.LINES_EXCHANGED),
        ("smaller_differences_quora", "lines", intervals.LINES_RESAMPLED),
        ("prefers_word_initial", "pieces", intervals.FISHER),
        ("longer_pieces", "pieces", intervals.PIECES_EXCHANGED),
        ("context_advantage_lost_quora", "pieces", intervals.PIECES_RESAMPLED),
        ("better_on_mrpc", EXAMPLES_AND_SEEDS, TESTS[EXAMPLES_AND_SEEDS]),
        ("score_mrpc_sage", EXAMPLES_AND_SEEDS, None),
        ("neighbours_dip_w5", None, None),
        ("og_discarded", None, None),
    ):
        record = one_of(found, name)
        assert (record["interval"], record["test"]) == (interval, test), name
        assert (record["p_value"] is None) == (test is None), name
    # Whole words by line, SaGe minus BPE: bingo; goats; none; hat. 2 of 8 exchanges are as extreme.
    assert one_of(found, "whole_words_more")["p_value"] == 2 / 8


def test_holm_is_over_the_family_of_one_tokenizer(found):
    tests = {"intrinsic": 44, "downstream": 10, "pretraining": 2}  # of the paper, in all languages
    paper = [r for r in found if not r["beyond"]]
    for tokenizer in ("sage", "sage_released"):
        for family, size in tests.items():
            members = [r for r in paper if (r["tokenizer"], r["family"]) == (tokenizer, family)]
            assert members
            expected = holm([r["p_value"] for r in members], size)
            assert [r["p_adjusted"] for r in members] == pytest.approx(expected)
    beyond = [r for r in found if r["beyond"] and r["p_value"] is not None]
    assert {(r["language"], r["family"]) for r in beyond} == {("de", "beyond")}


def test_another_language_has_verdicts_where_the_statement_is_of_no_language(found):
    decided = {
        r["id"]: r for r in found if r["language"] == "de" and r["verdict"] != "not measurable here"
    }
    assert all(r["beyond"] for r in decided.values())
    assert decided["whole_words_more"]["value"] == pytest.approx(3 / 16)
    assert {"longer_pieces", "ratio_lower", "bpe_subset", "single_characters_more"} < set(decided)
    assert not {"og_discarded", "sage_only_word_initial"} & set(decided)


@pytest.mark.parametrize(("other", "compared"), [("sst2", True), ("mrpc", False)])
def test_what_no_model_has_learnt_is_not_measured(run: Results, other, compared):
    # The most frequent answer has 0.5.
    for name, unlearnt in (("sage", "mrpc"), ("bpe", other)):
        task = Task(unlearnt, "sequence", "accuracy", (0, 1))
        for seed, share in enumerate((0.55, 0.53), start=1):
            write_score(Path(run.folder, "scores/en"), name, task, seed, *answers(share))
    assert "0.5000" in record_of("score_mrpc_sage", run)["reason"]
    verdict = "not reproduced" if compared else "not measurable here"
    assert record_of("better_on_mrpc", run)["verdict"] == verdict


@pytest.mark.parametrize(
    ("bpe", "sage", "name", "value", "verdict"),
    [
        # Of the ranks from 50 on, one has fewer, and at the last nobody was seen.
        ([90] * 49 + [8, 7, 6, 0], [90] * 49 + [7, 7], "neighbours_dip_w5", 1 / 2, None),
        # Below at ranks 11 to 21, eleven in a row, then from 31 on.
        (
            [60] * 21 + [50] * 79,
            [60] * 10 + [59] * 11 + [58] * 9 + [40] * 70,
            "neighbours_dip_rank_w5",
            31,
            "reproduced",
        ),
        ([60] * 100, [60] * 10 + [59] * 90, "neighbours_dip_rank_w5", 11, "not reproduced"),
        ([50] * 100, [60] * 90 + [40] * 10, "neighbours_dip_rank_w5", 101, "not reproduced"),
    ],
)
def test_ranks_below_those_of_bpe(run: Results, bpe, sage, name, value, verdict):
    for tokenizer, numbers in {"bpe": bpe, "sage": sage}.items():
        pieces = [f"{tokenizer}{rank}" for rank in range(len(numbers))]
        table = pd.DataFrame({"piece": pieces, "window": 5, "distinct": numbers, "count": 9})
        write_parquet(run.path("analysis/en", "train", tokenizer) / "neighbours.parquet", table)
    record = record_of(name, run)
    assert record["value"] == pytest.approx(value)
    assert verdict in (None, record["verdict"])


@pytest.mark.parametrize(("lacking", "verdict"), [("", "reproduced"), ("▁prim", "same direction")])
def test_table_1_segmentation_as_printed_and_in_part(run: Results, lacking, verdict):
    printed = PAPER["examples"]["sentences"][1]["bpe"]
    write_pieces(
        run.path("vocab/en", "bpe") / "pieces.txt", sorted(set(printed.split()) - {lacking})
    )
    record = record_of("example_2_bpe", run, "bpe")
    assert record["verdict"] == verdict
    assert (record["value"] == printed) == (verdict == "reproduced")


def test_table_2_needs_its_piece(small: Results, run: Results):
    assert "`▁includ`" in record_of("retokenization", small, "bpe")["reason"]
    pieces = ["▁include", "▁includ", "▁inc", "de", "e", "d", "l", "u"]
    write_pieces(run.path("vocab/en/bpe_initial") / "pieces.txt", pieces)
    record = record_of("retokenization", run, "bpe")
    assert (record["value"], record["verdict"]) == ("▁includ e → ▁inc l u de", "reproduced")


def test_stability_of_the_ranking_is_measured_where_rankings_are_kept(run: Results):
    path = run.path("analysis/en", "train", "sage") / "rankings.parquet"
    rows = [(i, f"p{n:02d}", n + (i > 0) * (n % 2)) for i in (0, 8, 24) for n in range(40)]
    rankings = pd.DataFrame(rows, columns=["iteration", "piece", "loss"])
    write_parquet(path, rankings)
    record = record_of("loss_ranking_stable", run)
    expected = scipy_stats.spearmanr(range(40), [n + n % 2 for n in range(40)]).statistic
    assert record["value"] == pytest.approx(expected)
    assert record["verdict"] == "reproduced"
    write_parquet(path, rankings[rankings["iteration"] < 24])
    assert record_of("loss_ranking_stable", run)["verdict"] == "not measurable here"


def test_a_change_is_set_against_what_a_seed_changes(run: Results):
    pruned = {
        "sage": ("abcd", [1, 2, 4, 8]),
        "sage.seed2": ("abce", [1, 2, 6, 9]),
        "sage.seed3": ("abfg", [2, 1, 5, 7]),
        "sage_exact": ("abcd", [1, 4, 3, 8]),
    }
    for name, (pieces, losses) in pruned.items():
        frame = pd.DataFrame({"piece": list(pieces), "loss": map(float, losses)})
        write_parquet(run.path("vocab/en", name) / "ablations.parquet", frame)
        write_pieces(run.path("vocab/en", name) / "pieces.txt", SAGE)
    seeds = {"sage": ["sage.seed2", "sage.seed3"]}
    seeded = dataclasses.replace(run, further_seeds=seeds, heuristics={"sage_exact": "sage"})
    record = record_of("heuristics_minor", seeded)
    # Ranks 1 2 3 4 and 1 3 2 4; seeds have a b c in one order, then a b twice in the other.
    assert record["value"] == pytest.approx(0.8 - (1 - 1 - 1) / 3)
    seeds = [1, -1, -1]
    half = scipy_stats.t.ppf(0.975, 2) * np.std(seeds, ddof=1) * math.sqrt(4 / 3)
    assert record["high"] - record["value"] == pytest.approx(half)


def test_boundaries_between_morphemes_by_hand(run: Results):
    # Of 4 boundaries BPE places 2, 1 of them right; SaGe 4, 3 of them right.
    placed = {"bpe": ([1, 1], [1, 0]), **dict.fromkeys(run.listed - {"bpe"}, ([2, 2], [2, 1]))}
    for name, (every, right) in placed.items():
        frame = {"word": ["cats", "goats"], "placed": every, "wanted": [2, 2], "shared": right}
        path = run.path("analysis/en/morphology", f"{name}.parquet")
        write_parquet(path, pd.DataFrame(frame))
    listed = dataclasses.replace(run, morpheme_languages=["en"])
    record = record_of("suffixes_broken_down", listed)
    assert record["value"] == pytest.approx(2 * 3 / 8 - 2 * 1 / 6)


def test_texts_are_cut_to_one_length(small: Results):
    # The domain has 7 words, the training text 16 in lines of 4: each draw takes one line.
    case = Case(small, "en", "quora", "bpe", PAPER)
    domain, training = case.matched_neighbours("bpe", 5, 1)
    assert domain["count"].sum() == 12  # all of the domain's tokens
    assert 4 <= training["count"].sum() <= 14


# --- controls and seeds


def test_a_control_has_the_number_of_a_resampled_measurement(found):
    counted = {r["id"]: r for r in found if r["controls"] and r["language"] == "en"}
    assert {"whole_words_more", "longer_pieces", "context_advantage_lost_quora"} < set(counted)
    # A control that is BPE's vocabulary has no pieces of its own: some claims have one value.
    for record in counted.values():
        assert record["controls"]["random"][0] == record["value"]
    # Scores, times, seeds and claims about BPE have none.
    assert not {"score_mrpc_sage", "cost_ratio", "retraining_minor"} & set(counted)
    of_bpe = [record for record in found if record["tokenizer"] == "bpe"]
    assert of_bpe and not any(record["controls"] or record["agreeing"] for record in of_bpe)


def test_a_vocabulary_is_a_row_whatever_its_role(run: Results):
    for folder in (run.path("vocab/en", "sage"), run.path("analysis/en", "train", "sage")):
        shutil.copytree(folder, folder.with_name("sage.seed2"))
    seeded = dataclasses.replace(run, further_seeds={"sage": ["sage.seed2"]}, languages=["en"])
    claim = next(claim for claim in PAPER["claims"] if claim.id == "whole_words_more")
    frame = assess_claims(seeded, {**PAPER, "claims": [claim]})
    rows = frame[(frame["language"] == "en") & (frame["tokenizer"] != "sage_released")]
    shown = rows[["role", "tokenizer", "control", "seed", "value"]].astype(object)
    assert shown.where(rows.notna(), None).values.tolist() == [
        ["reading", "sage", None, None, 0.1875],
        ["reading", "sage", None, 1, 0.1875],
        ["reading", "sage", None, 2, 0.1875],
        ["control", "frequency", "frequency", 1, 0.0],
        ["control", "random", "random", 1, 0.1875],
        ["control", "random.seed2", "random", 2, 0.0],
        ["control", "random.seed3", "random", 3, 0.0],
    ]
    assert rows["verdict"].notna().tolist() == [True] + [False] * 6
    assert rows["meets"].tolist()[3:] == [False, True, False, False]


# --- what can't be measured, and what is an error


@pytest.mark.parametrize(
    ("change", "name", "language", "reason"),
    [
        ({"lm_tokenizers": []}, "score_mrpc_sage", "en", "lm.enabled"),
        ({"lm_tokenizers": ["bpe"]}, "better_on_mrpc", "en", "lm.tokenizers has no sage"),
        ({}, "better_on_cola", "en", "lm.languages.* has no cola"),
        ({}, "ratio_lower", "tr", "languages has no tr"),
        ({}, "whole_words_more_legal", "en", "domains has no legal"),
        ({"tokenizers": {"sage": "printed"}}, "ratio_lower", "en", "tokenizers has no bpe"),
        ({"folder": Path("none")}, "cost_ratio", "en", "train_bpe_initial"),
        ({}, "cost_hours", "en", "another engine"),
        ({}, "tokens_sage", "en", "the paper's own text"),
        ({"budget": {"pretrain": {"layers": 2}}}, "score_mrpc_sage", "en", "layers is 2, there 24"),
        ({}, "loss_ranking_stable", "en", "rankings"),
        ({}, "retraining_minor", "en", "analysis.heuristics has no sage_retrained"),
        ({"heuristics": {"sage_exact": "sage"}}, "heuristics_minor", "en", "several seeds"),
        ({}, "suffixes_broken_down", "en", "language_settings.en has no morphology"),
        ({"constructed": ["mrpc"]}, "score_mrpc_sage", "en", "constructed"),
    ],
)
def test_what_a_run_leaves_out_is_not_measurable(small, change, name, language, reason):
    record = record_of(name, dataclasses.replace(small, **change), language=language)
    assert record["verdict"] == "not measurable here"
    assert re.search(reason, record["reason"])


def test_a_number_of_the_papers_text_is_judged_by_the_text_that_it_is_of(small: Results):
    paper = dataclasses.replace(small, paper_texts=[("en", "train")])
    assert record_of("tokens_bpe", paper, "bpe")["reason"] is None
    assert "the paper's own text" in record_of("words_of_quora", paper, "bpe")["reason"]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("corpus/en.train.words.npz", "whole_words_more"),
        ("analysis/en/train/sage/lines.parquet", "token_ratio"),
        ("scores/en/sage/mrpc/2.json", "score_mrpc_sage"),
    ],
)
def test_a_missing_artefact_is_an_error_and_no_verdict(run: Results, file: str, name: str):
    run.path(file).unlink()
    with pytest.raises(UserError, match=re.escape(file)):
        record_of(name, run)


# --- the files


def test_markdown_keeps_a_bar_inside_its_cell(found):
    page = claims_markdown([{**one_of(found, "og_discarded"), "value": "a | b"}], TEMPLATE)
    assert "| a \\| b |" in page
