"""The tables: what is escaped, the settings that they name, and segmented sentences."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml

from reproduction.analysis.examples import Segmentation
from reproduction.paper import latex, table, tables, tables_examples
from reproduction.paper.inputs import read_paper_values
from reproduction.paper.table import Table
from table_files import rows_of, text_of

RESOURCES = Path(tables.__file__).parents[2] / "resources"
VALUES = read_paper_values(RESOURCES / "paper_values.yaml")


# --- the forms


def test_markdown_escapes_emphasis_but_not_names():
    assert table.markdown("max_seq_length *a* | _b_ <i> `c`") == (
        r"max_seq_length \*a\* \| \_b\_ \<i\> \`c\`"
    )


def test_neighbouring_tokens_in_bold_share_their_marks():
    cell = Segmentation(("▁a", "b", "c", "d_"), frozenset({1, 2}))
    assert latex.latex(cell) == r"\_a \textbf{b c} d\_"
    assert table.markdown(cell) == r"▁a **b c** d\_"
    assert table.markdown(Segmentation(("a", "b"), frozenset({0, 1}))) == "**a b**"


def test_a_csv_has_ten_significant_digits_of_a_number(outputs):
    Table(["a"], [], [{"a": 2 / 3, "b": 12345678.912345678, "c": 1}]).write(**outputs)
    assert text_of(outputs, "csv") == "a,b,c\n0.6666666667,12345678.91,1\n"


# --- hyperparameters

PAPER_ROWS = VALUES["hyperparameters"]


def test_the_papers_configuration_has_every_key_that_the_tables_name():
    config = yaml.safe_load((RESOURCES.parents[1] / "config.yaml").read_text(encoding="utf-8"))
    keys = dict(tables.flat_settings(config))
    rows = [row for table in PAPER_ROWS.values() for row in table if "config" in row]
    for row in rows:
        # Which micro-batch is best depends on the card, and decides speed alone.
        ours = 126 if row["config"] == "lm.pretrain.micro_batch" else row["value"]
        assert keys[row["config"]] == ours, row["key"]


# --- segmented sentences


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "lines.txt"
    lines = [
        "The dialogues of the old film were very long.",
        "The pseudogene is a part of the long story.",
        "The stooges were a part of the long film.",
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path, lines


def vocabulary(lines, *pieces):
    characters = {character for line in lines for character in line if character != " "}
    singles = sorted(characters) + ["▁"] + sorted(f"▁{character}" for character in characters)
    whole = ["▁The", "▁the", "▁of", "▁were", "▁long", "▁film", "▁part"]
    return [*singles, *whole, *pieces]


def test_examples_hold_a_piece_that_only_bpe_keeps(corpus, outputs):
    path, lines = corpus
    shared = ("ue", "▁dial", "▁pseud", "▁sto", "en")
    bpe = tables_examples.GreedySegmenter(vocabulary(lines, *shared, "og"))
    sage = tables_examples.GreedySegmenter(vocabulary(lines, *shared))
    panel = {"BPE": bpe, "SaGe (printed)": sage, "SaGe (released)": sage}
    tables_examples.table_examples(
        {"English": path}, {"English": panel}, VALUES, words={}, languages={"en": "English"}
    ).write(**outputs)
    rows = rows_of(outputs)
    found = [row for row in rows if row["source"].startswith("corpus")]
    assert {row["piece"] for row in found} == {"og"}
    assert {row["source"] for row in found} == {"corpus, SaGe (printed)", "corpus, SaGe (released)"}
    for row in found:
        assert ("og" in row["changed"].split()) == (row["tokenizer"] == "BPE")
    printed_rows = [row for row in rows if row["source"] == "paper"]
    names = ["BPE", "SaGe (printed)", "SaGe (released)", "BPE (paper)", "SaGe (paper)"]
    assert [row["tokenizer"] for row in printed_rows] == names * 3
    assert printed_rows[3]["changed"] == "▁dial og ues"
    assert "**▁dial og ues**" in text_of(outputs, "md")
    assert r"\textbf{\_dial og ues}" in text_of(outputs, "tex")


def test_an_ablation_is_found_in_the_corpus_or_said_to_be_absent(tmp_path, outputs):
    lines = ["We use an include directive when we are here."]
    path = tmp_path / "lines.txt"
    path.write_text(f"{lines[0]}\n", encoding="utf-8")
    pieces = [*vocabulary(lines), "▁includ", "▁inc", "de", "▁direct", "ive", "▁when", "▁are"]
    initial = tmp_path / "pieces.txt"
    initial.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    ablations = {}
    for label, pruned in {"SaGe (printed)": "▁includ", "SaGe (released)": "▁are"}.items():
        ablations[label] = tmp_path / f"{label}.parquet"
        pd.DataFrame({"piece": [pruned]}).to_parquet(ablations[label])
    tables_examples.table_retokenization(
        {"English": path},
        {"English": initial},
        {"English": ablations},
        VALUES,
        words={},
        languages={"tr": "Turkish"},
    ).write(**outputs)
    whole, without, absent = rows_of(outputs)
    assert (whole["ablated"], whole["vocabulary"]) == ("▁includ", "whole")
    assert without["vocabulary"] == "without ▁includ"
    assert "[ e ▁direct" in whole["segmentation"]
    assert "[ de ▁direct" in without["segmentation"]
    assert absent["segmentation"] == "no such sentence in the corpus"
