"""Properties of lines, samples, sentences and tags, on generated input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.data import dump
from reproduction.data.corpus import choose_lines, clean_line, first_occurrences, split_sentences
from reproduction.data.datasets import tags_to_iob2
from reproduction.data.dump import plain_text

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\0"), max_size=40)


@given(TEXT)
def test_cleaning_twice_is_cleaning_once(line) -> None:
    once = clean_line(line)
    assert clean_line(once) == once
    assert "  " not in once and once == once.strip()


@given(st.text(st.sampled_from("aB1.!? \"'()IVd"), max_size=60), st.sampled_from(["en", "tr"]))
def test_sentences_are_the_paragraph_cut_at_spaces(text, language) -> None:
    paragraph = clean_line(text)
    assert " ".join(split_sentences(paragraph, language)) == paragraph


@given(st.text(st.sampled_from("a A1.!?… 。！「」。」あ東 ։।؟—°C"), max_size=60))
def test_no_character_is_lost_in_any_script(text) -> None:
    paragraph = clean_line(text)
    sentences = split_sentences(paragraph)
    assert "".join(sentences).replace(" ", "") == paragraph.replace(" ", "")
    assert all(sentence.strip() for sentence in sentences)


WIKITEXT_PARTS = ["{{x}}", "{{lang|fr|mot}}", "{{a|{{convert|5|km}}}}", "word ", "A word. ", "\n\n"]


@given(st.lists(st.sampled_from([*WIKITEXT_PARTS, "<ref>a</ref>", "<!-- c -->"]), max_size=20))
def test_what_is_cut_before_parsing_changes_nothing(parts) -> None:
    wikitext = "".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        cut = plain_text(wikitext)
        patch.setattr(dump, "_without_unseen", lambda text: text)
        assert plain_text(wikitext) == cut


@given(st.lists(st.integers(0, 50), min_size=1, max_size=200), st.integers(0, 1000), st.data())
def test_samples_are_disjoint_ordered_and_of_their_size(values, seed, data) -> None:
    first = first_occurrences(np.array(values, dtype=np.uint64))
    assert [values[i] for i in first] == list(dict.fromkeys(values))
    heldout = data.draw(st.integers(0, len(first)))
    count = data.draw(st.none() | st.integers(0, len(first) - heldout))
    train, kept_out = choose_lines(first, count, heldout, seed)
    assert len(train) == (len(first) - heldout if count is None else count)
    assert len(kept_out) == heldout
    assert len({*train, *kept_out}) == len(train) + heldout <= len({*first})
    assert {*train, *kept_out} <= {*first}
    for positions in (train, kept_out):
        assert list(positions) == sorted(positions)


# --- tags: spans are drawn, written in a scheme, and must come back as they were

CLASSES = st.sampled_from(["PER", "LOC", "ORG"])
SPANS = st.lists(st.tuples(st.integers(1, 4), st.none() | CLASSES), min_size=1, max_size=8)


def iob2(spans) -> list[str]:
    tags = []
    for length, name in spans:
        tags += ["O"] * length if name is None else [f"B-{name}"] + [f"I-{name}"] * (length - 1)
    return tags


def iob1(spans) -> list[str]:
    tags, previous = [], None
    for length, name in spans:
        if name is None:
            tags += ["O"] * length
        else:
            tags += [f"{'B' if previous == name else 'I'}-{name}"] + [f"I-{name}"] * (length - 1)
        previous = name
    return tags


def enclosed(spans, first: str, single: str, last: str) -> list[str]:
    tags = []
    for length, name in spans:
        if name is None:
            tags += ["O"] * length
        elif length == 1:
            tags.append(f"{single}-{name}")
        else:
            tags += [f"{first}-{name}", *[f"I-{name}"] * (length - 2), f"{last}-{name}"]
    return tags


@given(st.lists(SPANS, min_size=1, max_size=4))
def test_every_scheme_gives_back_the_same_spans(sentences) -> None:
    expected = [iob2(spans) for spans in sentences]
    assert tags_to_iob2(expected) == expected
    assert tags_to_iob2([iob1(spans) for spans in sentences]) == expected
    for first, single, last in ("BSE", "BUL", "IEE"):  # BIOES, BILOU, IOE2
        written = [enclosed(spans, first, single, last) for spans in sentences]
        assert tags_to_iob2(written) == expected


WIKITEXT = st.lists(
    st.sampled_from(
        ["[[", "]]", "{{", "}}", "|", "'''", "==", "\n", "* ", "{|", "|}", "<ref>", "</ref>"]
        + ["word", " ", ". ", "File:a.jpg", "<math>", "</math>", "(", ")", ";", "<!--", "-->"]
    ),
    max_size=25,
).map("".join)


@given(WIKITEXT)
@settings(max_examples=80)
def test_any_wikitext_becomes_lines_without_control_marks(wikitext) -> None:
    for line in plain_text(wikitext).split("\n"):
        assert "\x00" not in line and "\x01" not in line
        assert line == line.strip(" ") and "  " not in line
