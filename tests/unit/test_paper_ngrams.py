"""The table and the figure of n-grams: what is read, compared, printed and drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproduction.paper.ngrams import (
    LineBits,
    figure_ngrams,
    read_ngrams,
    summarise_ngrams,
    table_ngrams,
)
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError
from table_files import markdown_rows, rows_of, text_of

LINES = 50
CHARACTERS = np.linspace(20, 60, LINES)
ORDERS = np.array([2.5, 2, 1.8, 1.7, 1.6])


def line_bits(shift=0.0, sizes=(100, 1000), seed=1) -> LineBits:
    """Bits a character by order, less with more lines; lines scatter alike for equal seeds."""
    noise = np.random.default_rng(seed).normal(0, 0.2, LINES)
    rates = {size: ORDERS + shift + 1 / size for size in sizes}
    return LineBits(
        CHARACTERS, {size: (rate[:, None] + noise) * CHARACTERS for size, rate in rates.items()}
    )


@pytest.fixture
def panels():
    return {
        "English": {"BPE": line_bits(), "SaGe": line_bits(np.array([0.1, 0, -0.05, -0.05, 0.0]))},
        "Turkish": {"BPE": line_bits(seed=2), "SaGe": line_bits(0.02, seed=3)},
    }


def written(path, bits: LineBits):
    frames = [
        pd.DataFrame({"lines": size, "line": range(LINES), "characters": bits.characters}).assign(
            **{f"bits_{order}": row for order, row in enumerate(rows, start=1)}
        )
        for size, rows in bits.bits.items()
    ]
    write_parquet(path, pd.concat(frames))
    return path


def test_n_grams_are_read_by_language_and_tokenizer(tmp_path, panels):
    paths = {
        title: {label: written(tmp_path / f"{title} {label}", one) for label, one in panel.items()}
        for title, panel in panels.items()
    }
    read = read_ngrams(paths)
    for title, panel in panels.items():
        for label, one in panel.items():
            assert list(read[title][label].bits) == [100, 1000]
            for size, rows in one.bits.items():
                np.testing.assert_array_equal(read[title][label].bits[size], rows)


def test_other_lines_are_refused(tmp_path):
    other = LineBits(CHARACTERS + 1, line_bits().bits)
    paths = {"BPE": written(tmp_path / "a", line_bits()), "SaGe": written(tmp_path / "b", other)}
    with pytest.raises(UserError, match="n-grams of English predicted other held-out lines"):
        read_ngrams({"English": paths})


def test_rates_are_over_all_characters_and_differences_are_paired(panels):
    data = summarise_ngrams(panels, baseline="BPE", seed=4)
    data = data.set_index(["language", "tokenizer", "lines"])
    bpe, sage = (data.loc[("English", name, 1000)] for name in ("BPE", "SaGe"))
    bits = panels["English"]["BPE"].bits[1000]
    assert bpe["bits_3"] == pytest.approx(bits[2].sum() / CHARACTERS.sum())
    assert bpe["bits_3_low"] < bpe["bits_3"] < bpe["bits_3_high"]
    assert bpe["gain"] == pytest.approx(2.5 - 1.8)
    assert np.isnan(bpe["bits_3_difference"])
    # The same lines scatter alike, so that the difference is the same on every sample.
    ends = [f"bits_3_difference{end}" for end in ("", "_low", "_high")]
    np.testing.assert_allclose(sage[ends].astype(float), -0.05)
    assert sage["gain_difference"] == pytest.approx(0.1 + 0.05)
    other = data.loc[("Turkish", "SaGe", 100)]
    assert other["bits_1_difference_low"] < 0.02 < other["bits_1_difference_high"]


def test_the_table_shows_the_most_lines_and_order_three_at_all_sizes(panels, outputs):
    panels["Turkish"] = {name: line_bits(sizes=(100, 700)) for name in ("BPE", "SaGe")}
    table_ngrams(panels, baseline="BPE", seed=1, notes=["Presets: none."]).write(**outputs)
    rows, text = markdown_rows(outputs), text_of(outputs, "md")
    assert [row[:2] for row in rows] == [
        ["English", "BPE"],
        ["", "SaGe"],
        ["Turkish", "BPE"],
        ["", "SaGe"],
    ]
    head = [cell.strip() for cell in text.splitlines()[0].strip("|").split(" | ")]
    by_name = dict(zip(head, rows[1], strict=True))
    assert by_name["Order 3 minus BPE (100 lines)"] == "−0.050 ± 0.000"
    assert by_name["Order 3 minus BPE (700 lines)"] == "–"
    assert by_name["Gain from context (minus BPE)"] == "+0.150 ± 0.000"
    bits = float(by_name["Bits per character by order (3)"])
    own = panels["English"]["SaGe"].bits[1000][2]
    assert bits == pytest.approx(own.sum() / CHARACTERS.sum(), abs=5e-4)
    assert "English 50 after 1,000; Turkish 50 after 700" in text
    assert text.rstrip().endswith("Presets: none.")
    assert len(rows_of(outputs)) == 8


def test_the_figure_has_a_mark_a_size_the_better_at_the_right_and_no_row_for_bpe(
    panels, drawings, kept
):
    figure_ngrams(panels, baseline="BPE", seed=1, **drawings)
    axes = kept[0].axes
    assert len(axes) == 6
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["SaGe"]
    assert [one.get_ylabel() for one in axes[::3]] == ["English", "Turkish"]
    marks = [line for line in axes[0].lines if line.get_marker() not in ("", "None", None)]
    # Fewer bits than BPE.
    assert [mark.get_xdata()[0] for mark in marks] == pytest.approx([0.05, 0.05])
    assert [mark.get_markerfacecolor() == "white" for mark in marks] == [True, False]
    assert axes[2].get_title() == "(c) Gain from context"
    legend = [text.get_text() for text in kept[0].legends[0].get_texts()]
    assert legend == ["100 lines", "all, 1,000"]


def test_more_tokenizers_than_colours_are_drawn(drawings, kept):
    panel = {"BPE": line_bits(), **{f"random {n}": line_bits(n / 100) for n in range(9)}}
    figure_ngrams({"English": panel}, baseline="BPE", seed=1, **drawings)
    assert len(kept[0].axes[0].get_yticklabels()) == 9


@pytest.mark.parametrize("labels", [[], ["BPE"], ["SaGe", "Other"]])
def test_nothing_to_compare_is_reported_in_one_line(labels, drawings):
    panels = {"English": dict.fromkeys(labels, line_bits())} if labels else {}
    with pytest.raises(UserError, match=r"analysis\.ngram_lines .* n-grams need bpe"):
        figure_ngrams(panels, baseline="BPE", seed=1, **drawings)
