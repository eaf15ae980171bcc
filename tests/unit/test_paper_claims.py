"""The paper's claims: verdict rules, measurements by hand, and what can't be measured."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sagevocab.errors import UserError
from sagevocab.paper import intervals
from sagevocab.paper.claims import (
    MEASURES,
    assess,
    build_claims,
    claims_markdown,
    read_claims,
    show_ours,
    show_value,
)
from sagevocab.paper.evidence import Case, Run
from sagevocab.paper.verdicts import Measurement, NotMeasurableError, verdict_of
from sagevocab.state import write_json, write_parquet
from sagevocab.vocab.pieces import write_pieces

VALUES = Path(__file__).parents[2] / "workflow/resources/paper_values.yaml"

SHARED = ["▁", "a", "b", "c", "g", "h", "i", "n", "o", "s", "▁a", "▁c", "in", "▁cat"]
BPE_ONLY = ["og", "ings", "ing", "at"]
SAGE_ONLY = ["▁bingo", "▁goats", "ation", "▁hat"]
DISCARDED_ELSEWHERE = ["▁go"]
BPE, SAGE = SHARED + BPE_ONLY, SHARED + SAGE_ONLY
TASKS = {"mrpc": "en", "sst2": "en"}


# --- a small run, every number of which can be worked out by hand


def _measurements(folder: Path, pieces: list[str], counts: dict[str, int], words: dict[int, int]):
    frequency = [counts.get(piece, 2) for piece in pieces]
    write_parquet(
        folder / "frequencies.parquet", pd.DataFrame({"piece": pieces, "count": frequency})
    )
    fertility = pd.DataFrame({"subwords": list(words), "words": list(words.values())})
    write_parquet(folder / "fertility.parquet", fertility)
    neighbours = pd.concat(
        pd.DataFrame(
            {
                "piece": pieces,
                "window": window,
                "distinct": [window * (len(pieces) - rank) for rank in range(len(pieces))],
                "count": frequency,
            }
        )
        for window in (5, 2)
    )
    write_parquet(folder / "neighbours.parquet", neighbours)
    tokens = [4, 6, 5, 5] if "og" in counts else [5, 7, 6, 7]
    write_parquet(folder / "lines.parquet", pd.DataFrame({"words": [3, 4, 3, 4], "tokens": tokens}))


def _write_language(root: Path, language: str, domains: list[str]) -> None:
    vocabularies = {"bpe": BPE, "sage": SAGE}
    write_pieces(
        root / f"vocab/{language}/bpe_initial/pieces.txt", BPE + SAGE_ONLY + DISCARDED_ELSEWHERE
    )
    for name, pieces in vocabularies.items():
        write_pieces(root / f"vocab/{language}/{name}/pieces.txt", pieces)
        for corpus in ["train", *domains]:
            bpe = name == "bpe"
            _measurements(
                root / f"analysis/{language}/{corpus}/{name}",
                pieces,
                {"og": 40, "s": 100} if bpe else {"s": 300, "ation": 30},
                {1: 500, 2: 300, 3: 150, 5: 50} if bpe else {1: 560, 2: 230, 3: 110, 6: 100},
            )


@pytest.fixture
def run(tmp_path: Path) -> Run:
    root = tmp_path / "results/tiny"
    _write_language(root, "en", ["quora"])
    scores = {"bpe": {"mrpc": (0.70, 0.72), "sst2": (0.9, 0.9)}}
    scores["sage"] = {"mrpc": (0.75, 0.78), "sst2": (0.8, 0.86)}
    for name, tasks in scores.items():
        for task, values in tasks.items():
            for seed, value in enumerate(values, start=1):
                write_json(root / f"scores/en/{name}/{task}/{seed}.json", {"value": value})
    seconds = {"train_bpe": 10, "train_bpe_initial": 12, "train_embeddings": 60, "build_sage": 48}
    for rule, taken in seconds.items():
        tokenizer = "" if rule.startswith("train_bpe") else ".sage"
        path = tmp_path / f"benchmarks/{rule}/en{tokenizer}.tsv"
        path.parent.mkdir(parents=True)
        path.write_text(f"s\th:m:s\n{taken}\t0:00:01\n", encoding="utf-8")
    return Run(
        folder=root,
        languages=["en"],
        domains={"quora": "en"},
        tasks=TASKS,
        tokenizers={"bpe": None, "sage": "algorithm-1"},
        lm_tokenizers=["bpe", "sage"],
        seeds=[1, 2],
        seed=1,
        final_size=18,
        names={"en": "English", "quora": "questions"},
        benchmarks=tmp_path / "benchmarks",
    )


@pytest.fixture(scope="module")
def values() -> dict:
    return read_claims(VALUES)


def _record(run: Run, values: dict, name: str, tokenizer: str = "sage", language: str = "en"):
    claim = next(claim for claim in values["claims"] if claim["id"] == name)
    return assess(claim, Case(run, language, claim.get("corpus", "train"), tokenizer, values))


# --- what the paper says


def test_every_printed_value_of_both_score_tables_is_a_claim(values: dict):
    by_id = {claim["id"]: claim for claim in values["claims"]}
    for table in values["tables"].values():
        for system, tasks in table.items():
            for task, printed in tasks.items():
                assert by_id[f"score_{task}_{system}"]["paper"] == printed
    assert by_id["score_qnli_sage"]["paper"] == 0.7483
    assert by_id["score_cola_bpe"]["paper"] == 0.0777


def test_the_twelve_pieces_of_the_frequency_table_have_their_direction(values: dict):
    rules = {claim["id"]: claim["kind"] for claim in values["claims"]}
    pieces = values["frequency_pieces"]
    assert {piece: rules[f"frequency_sage_{piece}"] for piece in pieces["sage"]} == dict.fromkeys(
        ["e", "s", "ing", "ist", "ation", "ate"], "more"
    )
    assert {piece: rules[f"frequency_bpe_{piece}"] for piece in pieces["bpe"]} == dict.fromkeys(
        ["es", "ic", "ings", "ff", "ations", "ates"], "less"
    )


def test_printed_segmentations_spell_their_sentence(values: dict):
    for example in values["examples"]["sentences"]:
        for system in ("bpe", "sage"):
            spelled = example[system].replace(" ", "").replace("▁", " ").strip()
            assert spelled == example["text"]


def test_claims_name_known_measures_or_say_why_there_is_none(values: dict):
    measured = [claim for claim in values["claims"] if "unmeasured" not in claim]
    assert {claim["measure"] for claim in measured} == set(MEASURES)
    assert all(claim["unmeasured"] for claim in values["claims"] if "unmeasured" in claim)
    assert len(values["claims"]) > 100


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"measure": "nonsense"}, "measure 'nonsense' is none of"),
        ({"id": "og_selected"}, "stands there twice"),
        ({"where": None}, "key where is missing"),
    ],
)
def test_a_wrong_claims_file_is_told_in_one_line(tmp_path: Path, edit: dict, message: str):
    document = yaml.safe_load(VALUES.read_text(encoding="utf-8"))
    claim = next(c for c in document["claims"] if c["id"] == "bpe_subset")
    claim.update(edit)
    for key in [key for key, value in edit.items() if value is None]:
        del claim[key]
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_claims(path)


# --- the rules


@pytest.mark.parametrize(
    ("claim", "measured", "verdict"),
    [
        ({"kind": "value", "paper": 0.83, "tolerance": 0.05}, (0.79, 0.78, 0.80), "reproduced"),
        ({"kind": "value", "paper": 0.83, "tolerance": 0.05}, (0.77, 0.71, 0.84), "reproduced"),
        ({"kind": "value", "paper": 0.83, "tolerance": 0.05}, (0.6, 0.3, 0.9), "same direction"),
        ({"kind": "value", "paper": 0.83, "tolerance": 0.05}, (0.6, 0.5, 0.7), "same direction"),
        ({"kind": "factor", "paper": 10, "factor": 2}, (5.0, None, None), "reproduced"),
        ({"kind": "factor", "paper": 10, "factor": 2}, (21.0, None, None), "same direction"),
        ({"kind": "range", "paper": [0.013, 0.08]}, (0.05, None, None), "reproduced"),
        ({"kind": "range", "paper": [0.013, 0.08]}, (0.09, None, None), "same direction"),
        ({"kind": "more"}, (0.1, 0.01, 0.2), "reproduced"),
        ({"kind": "more"}, (0.1, -0.01, 0.2), "same direction"),
        ({"kind": "more"}, (0.1, None, None), "same direction"),
        ({"kind": "more"}, (-0.1, -0.2, 0.3), "not reproduced"),
        ({"kind": "more", "threshold": 0.5}, (0.6, 0.55, 0.7), "reproduced"),
        ({"kind": "more", "threshold": 0.5}, (0.4, 0.35, 0.7), "not reproduced"),
        ({"kind": "less"}, (-0.1, -0.2, -0.05), "reproduced"),
        ({"kind": "less"}, (-0.1, -0.2, 0.05), "same direction"),
        ({"kind": "less"}, (0.1, -0.2, 0.25), "not reproduced"),
        ({"kind": "equal", "margin": 0.1}, (0.02, -0.05, 0.09), "reproduced"),
        ({"kind": "equal", "margin": 0.1}, (0.02, -0.2, 0.24), "same direction"),
        ({"kind": "equal", "margin": 0.1}, (0.2, 0.19, 0.21), "not reproduced"),
        ({"kind": "always"}, (1.0, 0.9, 1.0), "reproduced"),
        ({"kind": "always"}, (0.99, 0.9, 1.0), "same direction"),
        ({"kind": "always", "at_least": 0.95}, (0.96, None, None), "reproduced"),
        ({"kind": "always"}, (0.4, 0.3, 0.5), "not reproduced"),
    ],
)
def test_verdict_follows_the_rule_of_its_kind(claim: dict, measured: tuple, verdict: str):
    measurement = Measurement(*measured, agrees=True)
    assert verdict_of({"id": "x", **claim}, measurement) == verdict


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
    assert verdict_of({"id": "x", "kind": "example"}, measured) == verdict


def test_a_number_of_nothing_is_not_measurable_and_an_unknown_rule_an_error():
    with pytest.raises(NotMeasurableError):
        verdict_of({"id": "x", "kind": "more"}, Measurement(math.nan))
    with pytest.raises(UserError, match="claim x: kind 'maybe'"):
        verdict_of({"id": "x", "kind": "maybe"}, Measurement(1.0))


@given(st.floats(-10, 10), st.floats(0, 5), st.floats(0, 5))
def test_more_and_less_are_mirror_images(value: float, below: float, above: float):
    more = verdict_of({"id": "x", "kind": "more"}, Measurement(value, value - below, value + above))
    less = verdict_of(
        {"id": "x", "kind": "less"}, Measurement(-value, -value - above, -value + below)
    )
    assert more == less


# --- intervals


def test_share_difference_is_newcombes_published_example():
    estimate = intervals.share_difference((56, 70), (48, 80))
    assert estimate.value == pytest.approx(0.2)
    assert (estimate.low, estimate.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


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


def test_log_ratio_holds_zero_where_counts_are_equal_and_bears_none():
    same = intervals.log_ratio(50, 50)
    assert same.value == 0 and same.low < 0 < same.high
    assert intervals.log_ratio(200, 0).low > 0


def test_one_seed_has_no_interval():
    assert intervals.mean_of_seeds([0.5]) == (0.5, None, None)
    mean, low, high = intervals.mean_of_seeds([0.7, 0.8, 0.9])
    assert mean == pytest.approx(0.8)
    assert high - low == pytest.approx(2 * 4.3027 * 0.1 / math.sqrt(3), rel=1e-4)


# --- measurements


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("sage_only_word_initial", 3 / 4),
        ("bpe_only_word_initial", 0.0),
        ("bpe_subset", 1.0),
        ("discarded_in_bpe", 4 / 5),
        ("bpe_only_substrings", 2 / 4),
        ("single_characters_kept", 1.0),
        ("bpe_only_short", 3 / 4),
        ("sage_only_long", 3 / 4),
        ("sage_only_long_with_mark", 3 / 4),
        ("longer_pieces", (5 + 5 + 5 + 3) / 4 - (2 + 4 + 3 + 2) / 4),
        ("whole_words_more", 0.06),
        ("words_of_5_more", 0.05),
        ("words_of_2_3_fewer", -0.11),
        ("token_ratio", 25 / 20),
        ("tokens_bpe", 5 * 150000),
        ("tokens_sage", 6.25 * 150000),
        ("frequency_sage_s", math.log(300.5 / 100.5)),
        ("frequency_bpe_ings", math.log(0.5 / 2.5)),
        ("frequency_sage_ation", math.log(30.5 / 0.5)),
        ("single_characters_more", math.log((300 + 11 * 2 + 0.5) / (100 + 11 * 2 + 0.5))),
        ("top_is_single_characters_w5", 12 / 18),
        ("score_mrpc_sage", 0.765),
        ("better_on_mrpc", 0.055),
        ("cost_ratio", 12.0),
    ],
)
def test_measurements_worked_out_by_hand(run: Run, values: dict, name: str, ours: float):
    tokenizer = "bpe" if name in ("tokens_bpe", "bpe_subset") else "sage"
    assert _record(run, values, name, tokenizer)["ours"] == pytest.approx(ours, abs=1e-12)


def test_verdicts_of_the_small_run(run: Run, values: dict):
    verdicts = {
        name: _record(run, values, name)["verdict"]
        for name in ("og_discarded", "cost_ratio", "frequency_bpe_ings", "worse_on_sst2")
    }
    assert verdicts == {
        "og_discarded": "reproduced",
        "cost_ratio": "reproduced",
        "frequency_bpe_ings": "same direction",
        "worse_on_sst2": "same direction",
    }
    record = _record(run, values, "ings_dismantled")
    assert (record["ours"], record["verdict"]) == ("in g s", "same direction")


def test_length_gaps_name_the_two_lengths(run: Run, values: dict):
    record = _record(run, values, "length_gap")
    assert record["ours"] == "lengths 2 (+2), 5 (-3) (BPE minus SaGe)"
    assert record["verdict"] == "same direction"


def test_ranks_at_which_nobody_was_seen_do_not_count(run: Run, values: dict):
    tails = {"bpe": [8, 7, 6, 0], "sage": [7, 7]}
    for name, tail in tails.items():
        path = run.folder / f"analysis/en/train/{name}/neighbours.parquet"
        rows = [
            {"piece": f"{name}{rank}", "window": window, "distinct": distinct, "count": 9}
            for window in (5, 2)
            for rank, distinct in enumerate([90] * 49 + tail)
        ]
        write_parquet(path, pd.DataFrame(rows))
    assert _record(run, values, "neighbours_dip_w5")["ours"] == pytest.approx(1 / 2)


def test_table_1_segmentation_as_printed_and_in_part(tmp_path: Path, run: Run, values: dict):
    example = values["examples"]["sentences"][1]
    write_pieces(run.folder / "vocab/en/bpe/pieces.txt", sorted(set(example["bpe"].split())))
    record = _record(run, values, "example_2_bpe", "bpe")
    assert (record["ours"], record["verdict"]) == (example["bpe"], "reproduced")
    fewer = sorted(set(example["bpe"].split()) - {"▁prim"})
    other = dataclasses.replace(run, folder=tmp_path / "other")
    write_pieces(other.folder / "vocab/en/bpe/pieces.txt", fewer)
    assert _record(other, values, "example_2_bpe", "bpe")["verdict"] == "same direction"


def test_table_2_needs_its_piece(tmp_path: Path, run: Run, values: dict):
    assert "`▁includ`" in _record(run, values, "retokenization", "bpe")["reason"]
    other = dataclasses.replace(run, folder=tmp_path / "other")
    pieces = ["▁include", "▁includ", "▁inc", "de", "e", "d", "l", "u"]
    write_pieces(other.folder / "vocab/en/bpe_initial/pieces.txt", pieces)
    record = _record(other, values, "retokenization", "bpe")
    assert record["ours"] == "▁includ e → ▁inc l u de"
    assert record["verdict"] == "reproduced"


# --- what can't be measured, and what is an error


@pytest.mark.parametrize(
    ("change", "name", "language", "reason"),
    [
        ({"lm_tokenizers": []}, "score_mrpc_sage", "en", "lm.enabled is false"),
        ({"lm_tokenizers": ["bpe"]}, "better_on_mrpc", "en", "lm.tokenizers has no sage"),
        ({}, "better_on_cola", "en", "tasks (of the run's languages) has no cola"),
        ({}, "ratio_lower", "tr", "languages has no tr"),
        ({}, "whole_words_more_legal", "en", "domains has no legal"),
        ({"tokenizers": {"sage": "algorithm-1"}}, "ratio_lower", "en", "tokenizers has no bpe"),
        ({"benchmarks": None}, "cost_ratio", "en", "keeps no benchmarks"),
        ({"benchmarks": Path("none")}, "cost_ratio", "en", "no benchmark of train_bpe_initial"),
        ({}, "cost_hours", "en", "here 4 lines and 18 pieces, there 750,000 and 16,000"),
        ({}, "loss_ranking_stable", "en", "ablations.parquet"),
        ({"synthetic": ["mrpc"]}, "score_mrpc_sage", "en", "a generator made the text"),
    ],
)
def test_what_a_run_leaves_out_is_not_measurable(run, values, change, name, language, reason):
    record = _record(dataclasses.replace(run, **change), values, name, language=language)
    assert record["verdict"] == "not measurable here"
    assert reason in record["reason"]


def test_a_number_of_synthetic_text_is_kept_beside_the_reason(run: Run, values: dict):
    record = _record(dataclasses.replace(run, synthetic=["mrpc"]), values, "score_mrpc_sage")
    assert record["ours"] == pytest.approx(0.765)
    assert record["synthetic"]


def test_a_missing_artefact_is_an_error_and_no_verdict(run: Run, values: dict):
    (run.folder / "analysis/en/train/sage/fertility.parquet").unlink()
    with pytest.raises(UserError, match="fertility.parquet"):
        _record(run, values, "whole_words_more")
    (run.folder / "scores/en/sage/mrpc/2.json").unlink()
    with pytest.raises(UserError, match=r"2\.json"):
        _record(run, values, "score_mrpc_sage")


# --- the files


def test_claims_are_the_same_bytes_twice_and_name_preset_and_origin(run: Run, tmp_path: Path):
    run = dataclasses.replace(run, synthetic=["quora"])
    for folder in ("one", "two"):
        build_claims(
            run,
            values=VALUES,
            json=tmp_path / folder / "claims.json",
            md=tmp_path / folder / "claims.md",
        )
    first, second = ((tmp_path / name / "claims.json").read_bytes() for name in ("one", "two"))
    assert first == second
    records = json.loads(first)
    keys = [(r["id"], r["language"], r["tokenizer"]) for r in records]
    assert len(keys) == len(set(keys))
    assert {r["preset"] for r in records if r["tokenizer"] == "sage"} == {"algorithm-1"}
    assert {r["timing"] for r in records if r["id"].startswith("cost")} == {True}
    assert all(r["reason"] for r in records if r["verdict"] == "not measurable here")
    assert all(r["synthetic"] for r in records if r["corpus"] == "quora")
    markdown = (tmp_path / "one/claims.md").read_text(encoding="utf-8")
    shown = sum(
        int(line.split("|")[3]) for line in markdown.splitlines() if line.startswith("| reproduced")
    )
    assert shown == sum(r["synthetic"] and r["verdict"] == "reproduced" for r in records)


def test_every_sage_tokenizer_of_the_run_has_its_own_verdict(run: Run, values: dict):
    folder = run.folder / "vocab/en/sage_released"
    write_pieces(folder / "pieces.txt", SHARED + ["▁bingo", "▁goats", "▁hat", "▁going"])
    both = {**run.tokenizers, "sage_released": "released-1.0"}
    run = dataclasses.replace(run, tokenizers=both)
    record = _record(run, values, "sage_only_word_initial", "sage_released")
    assert (record["ours"], record["preset"]) == (1.0, "released-1.0")


def test_markdown_keeps_a_bar_inside_its_cell(run: Run, values: dict):
    record = {**_record(run, values, "og_discarded"), "ours": "a | b"}
    row = next(line for line in claims_markdown([record]).splitlines() if "og_discarded" in line)
    assert "a \\| b" in row


def test_numbers_are_shown_as_they_are_read():
    assert show_value(4_000_000) == "4,000,000"
    assert show_value(-0.01234) == "−0.0123"
    assert show_value([0.013, 0.08]) == "0.013 to 0.08"
    assert show_ours({"ours": 0.5, "low": 0.25, "high": 0.75}) == "0.5 [0.25, 0.75]"
    assert show_ours({"ours": None, "low": None, "high": None}) == "–"
