"""Many random prunings: each draw has the values that its files would give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from claim_samples import PAPER, VALUES
from reproduction.analysis import counts
from reproduction.paper.claims_inputs import Case, Results
from reproduction.paper.random_prunings import measure_random_prunings
from sagevocab.counting import count_corpus
from sagevocab.pieces import is_single_character, read_pieces, write_pieces
from sagevocab.segment import GreedySegmenter
from sagevocab.words import Normalizer, WordCorpus

LINES = {
    "train": ["the cats and dogs", "things of the singer singing", "a cat is singing og songs"] * 3,
    "quora": ["is the thing a song", "dogs and dogs of singers"],
}
LONG = ["▁the", "▁cat", "ing", "▁sing", "▁th", "er", "og", "▁song", "s▁", "and", "▁dog", "gs"]
BPE_LONG = ["▁the", "▁cat", "ing", "▁th", "og", "gs"]
FINAL = 6


@pytest.fixture
def run(tmp_path: Path) -> Results:
    singles = sorted(set("▁".join(sum(LINES.values(), [])).replace(" ", "▁")))
    for name, long in {"bpe_initial": LONG, "bpe": BPE_LONG}.items():
        write_pieces(tmp_path / f"vocab/en/{name}/pieces.txt", [*singles, *long])
    normalizer = Normalizer("nmt_nfkc")
    for name, lines in LINES.items():
        WordCorpus.from_lines(lines, normalizer).save(tmp_path / f"corpus/en.{name}.words.npz")
    names = {"bpe": None, "draw": "printed"}
    return Results(tmp_path, ["en"], names, seed=1, domains={"quora": "en"})


def draw(run: Results, draws: int):
    singles = sum(map(is_single_character, read_pieces(run.initial("en") / "pieces.txt")))
    return measure_random_prunings(
        initial=run.initial("en") / "pieces.txt",
        bpe=run.vocabulary("en", "bpe") / "pieces.txt",
        words={name: run.words("en", name) for name in LINES},
        values=VALUES,
        language="en",
        final_size=singles + FINAL,
        draws=draws,
        seed=5,
    )


def count(run: Results, tokenizer: str) -> None:
    segmenter = GreedySegmenter(read_pieces(run.vocabulary("en", tokenizer) / "pieces.txt"))
    for corpus in LINES:
        counted = count_corpus(WordCorpus.load(run.words("en", corpus)), segmenter)
        counts.write_counts(counted, run.analysis("en", corpus, tokenizer))


def test_a_draw_has_the_values_of_its_files(run: Results):
    found = draw(run, 3)
    initial = read_pieces(run.initial("en") / "pieces.txt")
    count(run, "bpe")
    for number, row in found.iterrows():
        # The same generator by hand.
        long = np.array([n for n, piece in enumerate(initial) if not is_single_character(piece)])
        order = np.random.default_rng([5, number]).permutation(long)
        gone = set(order[: len(LONG) - FINAL].tolist())
        kept = [piece for n, piece in enumerate(initial) if n not in gone]
        write_pieces(run.vocabulary("en", "draw") / "pieces.txt", kept)
        for name in LINES:
            (run.analysis("en", name, "draw")).mkdir(parents=True, exist_ok=True)
        clear_caches()
        count(run, "draw")
        assert row.notna().sum() > 15
        for claim in PAPER["claims"]:
            if claim.id in found and not np.isnan(row[claim.id]):
                case = Case(run, "en", claim.corpus, "draw", PAPER, alone=True)
                expected = claim.measured_by.function(case, **claim.arguments).ours
                assert row[claim.id] == pytest.approx(expected), claim.id


def clear_caches() -> None:
    from reproduction.paper import claims_inputs

    for name in ("_pieces", "_line_totals", "_fertility"):
        getattr(claims_inputs, name).cache_clear()


def test_statements_of_word_types_are_drawn_and_no_others(run: Results):
    columns = set(draw(run, 1))
    assert {
        "token_ratio",
        "whole_words_more_quora",
        "bpe_only_short",
        "single_characters_more",
    } < columns
    assert not {"neighbours_dip_w5", "sage_breaks_chains", "bpe_only_short_with_mark"} & columns
    assert "whole_words_more_reviews" not in columns  # of another language


def test_draws_differ_and_come_again(run: Results):
    found = draw(run, 20)
    assert found["token_ratio"].nunique() > 5
    assert found.head(4).equals(draw(run, 4))
