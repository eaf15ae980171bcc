"""Nothing is lost in silence: what `train` reports of the text and of its progress."""

from __future__ import annotations

import logging
import re
import string
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sagevocab
from sagevocab.cli import main
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.errors import UserError
from sagevocab.huggingface.sentencepiece import pieces_of_model
from sagevocab.initial.sentencepiece_models import printable_ascii, train_sentencepiece
from sagevocab.pieces import WORD_START
from sagevocab.progress import Progress
from sagevocab.settings import TrainingSettings
from scripts_text import lines_in

LINES = lines_in("czech", 300)
# sentencepiece covers 0.9995 of the characters: these few stay out.
RARE = [*LINES * 5, "ж жч \u0336", "ж"]
QUICK = {"word2vec": {"epochs": 1, "dimension": 8}, "threads": 1, "progress": False}
PRINTABLE = {*string.printable} - {*string.whitespace}


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]


# --- printable ASCII

ENGLISH = [re.sub("[^ -~]", "", line).lower() for line in lines_in("czech", 300)]


def trained(lines: list[str], method: str, size: int, settings: TrainingSettings) -> list[str]:
    corpus = WordCorpus.from_lines(lines, Normalizer(settings.normalization))
    return pieces_of_model(train_sentencepiece(method, corpus, size, settings, "size"))


# Of a text in ASCII, sentencepiece's own `required_chars` leave out what the text lacks.
@pytest.mark.parametrize(
    ("lines", "method", "normalization"),
    [
        (LINES, "bpe", "nmt_nfkc"),
        (ENGLISH, "bpe", "nmt_nfkc_cf"),
        (LINES, "unigram", "nmt_nfkc_cf"),
        (ENGLISH, "unigram", "identity"),
    ],
)
def test_all_of_printable_ascii_is_a_piece(
    lines: list[str], method: str, normalization: str
) -> None:
    settings = TrainingSettings(normalization=normalization)
    pieces = trained(lines, method, 145, settings)
    kept = PRINTABLE - {*string.ascii_uppercase} if normalization.endswith("cf") else PRINTABLE
    assert len(pieces) == len({*pieces}) == 145
    assert {*printable_ascii(settings)} == kept
    assert {WORD_START, *kept} <= {*pieces}


def test_the_rest_of_ascii_takes_the_place_of_the_last_merges() -> None:
    pieces = trained(ENGLISH, "bpe", 160, TrainingSettings())
    added = sorted(PRINTABLE - {*"".join(ENGLISH)})
    off = TrainingSettings(ascii=False)
    fewer = trained(ENGLISH, "bpe", 160 - len(added), off)
    assert len(added) > 50
    assert pieces == fewer + added


# --- what becomes [UNK]


def test_unknown_characters_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    built = sagevocab.train(RARE, vocab_size=210, initial_size=250, **QUICK)
    assert list(built.unknown.items()) == [("ж", 3), ("\u0336", 1), ("ч", 1)]
    (given,) = [line for line in warnings_of(caplog) if "[UNK]" in line]
    assert "3 (5 times: ж, U+0336, ч); " in given
    assert "vocabulary.character_coverage to 1.0" in given


def test_nothing_is_said_where_every_character_is_a_piece(caplog) -> None:
    every = {"character_coverage": 1.0}
    built = sagevocab.train(RARE, vocab_size=210, initial_size=250, vocabulary=every, **QUICK)
    assert built.unknown == {}
    assert not any("[UNK]" in line for line in warnings_of(caplog))


def test_the_command_says_it_above_what_it_wrote(tmp_path: Path, capsys) -> None:
    path, out = tmp_path / "text", tmp_path / "out"
    path.write_text("".join(f"{line}\n" for line in RARE), encoding="utf-8")
    train = ["train", str(path), "--vocab-size", "210", "--initial-size", "250"]
    train += ["--word2vec.epochs", "1", "--word2vec.dimension", "8", "-o", str(out)]
    assert main(train) == 0
    given = capsys.readouterr().err
    assert f"sagevocab: {path}: characters without a piece" in given
    assert f"AutoTokenizer.from_pretrained({str(out)!r})" in given
    assert f"sagevocab encode {out} FILE" in given
    assert main([*train, "--force", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


# --- too little text, long lines


def test_a_text_too_small_for_the_vocabulary_is_a_warning(caplog) -> None:
    built = sagevocab.train(LINES, vocab_size=190, initial_size=220, **QUICK)
    words = built.record["text"]["words"]
    (given,) = [line for line in warnings_of(caplog) if " are few for " in line]
    few = f"the text: {words:,} words are few for 190 pieces ({words // 190} each): "
    assert given.startswith(few)
    caplog.clear()
    sagevocab.train(LINES * 10, vocab_size=190, initial_size=220, **QUICK)
    assert not any(" are few for " in line for line in warnings_of(caplog))


# --- errors before the text is read


def unread() -> Iterator[str]:
    """A text of which the first line alone may be looked at."""
    yield "a line"
    pytest.fail("the text was read")


def test_what_is_missing_is_found_before_the_text_is_read(monkeypatch) -> None:
    seen: list[Progress] = []
    with pytest.raises(UserError, match="^initial: none.model is neither"):
        sagevocab.train(unread(), initial="none.model", progress=seen.append)
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(UserError, match=r"^word2vec\.trainer: gensim is not installed; install"):
        sagevocab.train(unread(), word2vec={"trainer": "gensim"}, progress=seen.append)
    assert seen == []


# --- progress


def test_python_shows_stages_and_can_be_silent(capsys) -> None:
    shown = {**QUICK, "progress": True}
    sagevocab.train(LINES * 10, vocab_size=190, initial_size=220, **shown)
    stages = capsys.readouterr().err.splitlines()
    named = ("reading text", "initial vocabulary", "word2vec", "pruning")
    assert stages == [f"sagevocab: {stage}" for stage in named]
    sagevocab.train(LINES * 10, vocab_size=190, initial_size=220, **QUICK)
    assert capsys.readouterr().err == ""


def test_text_without_spaces_is_not_judged_by_its_words(caplog: pytest.LogCaptureFixture) -> None:
    small = {"vocab_size": 120, "word2vec": {"epochs": 1, "dimension": 4}, "progress": False}
    lines = ["".join(line.split()) * 3 for line in lines_in("czech", 100)]
    sagevocab.train(lines, **small)
    assert "are few for" not in caplog.text
