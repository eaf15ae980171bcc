"""What `train` returns is usable at once: it encodes and is compared as its folder is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer

import sagevocab
from sagevocab.errors import UserError
from sagevocab.huggingface.encoder import Encoder
from scripts_text import SENTENCES, lines_in

LINES = lines_in("czech", 200)
SMALL = {"word2vec": {"epochs": 1, "dimension": 8}, "threads": 1, "vocab_size": 150}


@pytest.fixture(scope="module")
def built() -> sagevocab.SageVocabulary:
    return sagevocab.train(LINES, **SMALL)


@pytest.fixture(scope="module")
def folder(built, tmp_path_factory) -> Path:
    return built.save(tmp_path_factory.mktemp("usable") / "czech")


def test_it_encodes_as_its_folder_does(built, folder: Path) -> None:
    loaded, hub = sagevocab.load(folder), AutoTokenizer.from_pretrained(folder)
    assert isinstance(built, Encoder) and isinstance(loaded, Encoder)
    assert len(built) == len(loaded) == len(hub) == 155
    for line in [*SENTENCES["czech"], *SENTENCES["thai"], "", " a  b "]:
        ids = built.encode(line)
        assert ids == loaded.encode(line) == hub(line, add_special_tokens=False)["input_ids"]
        assert built.tokenize(line) == loaded.tokenize(line) == hub.tokenize(line)
        assert built.decode(ids) == loaded.decode(ids) == hub.decode(ids, skip_special_tokens=True)


def test_special_tokens_in_text_are_text(built, folder: Path) -> None:
    for encoder in (built, sagevocab.load(folder)):
        assert not {0, 2, 3, 4} & set(encoder.encode("a [MASK] b[SEP]"))
        assert encoder.tokenizer().encode("[MASK]").ids == [2, 4, 3]


def test_every_form_of_a_tokenizer_is_compared(built, folder: Path) -> None:
    forms = [
        built,
        folder,
        sagevocab.load(folder),
        folder / "pieces.txt",
        built.pieces,
        AutoTokenizer.from_pretrained(folder),
        built.tokenizer(),
        Tokenizer.from_file(str(folder / "tokenizer.json")),
    ]
    table = sagevocab.compare(forms, LINES[:30])
    assert [row["tokenizer"] for row in table] == [
        "SageVocabulary",
        f"{folder} 1",
        f"{folder} 2",
        "pieces.txt",
        "a list of pieces",
        f"{folder} 3",
        "Tokenizer 1",
        "Tokenizer 2",
    ]
    for measure in ("pieces", "tokens", "unknown_share", "shared_with_first"):
        assert len({row[measure] for row in table}) == 1


def test_what_cannot_be_encoded_or_decoded_is_one_line(built) -> None:
    with pytest.raises(UserError, match="^text: list .*encode_lines"):
        built.encode(LINES[:2])
    with pytest.raises(UserError, match="^ids: 99999"):
        built.decode([5, 99999])
    with pytest.raises(UserError, match="^ids: 99999"):
        built.names([5, 99999])
    for ids in ([[1, 2]], 5, None, ["a"]):
        for use in (built.decode, built.names):
            with pytest.raises(UserError, match="^ids: "):
                use(ids)
    for lines in (LINES[0], None):
        with pytest.raises(UserError, match="^lines: "):
            list(built.encode_lines(lines))
    with pytest.raises(UserError, match="^text: NoneType is not a string"):
        list(built.encode_lines([LINES[0], None]))


def test_a_folder_that_save_pretrained_wrote_is_one_of_hugging_face(
    built, folder: Path, tmp_path: Path
) -> None:
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path / "saved")
    loaded = sagevocab.load(tmp_path / "saved")
    for line in [*SENTENCES["czech"], *SENTENCES["thai"], "", " a  b "]:
        assert loaded.encode(line) == built.encode(line)
    first, second = sagevocab.compare([folder, tmp_path / "saved"], LINES)
    assert first | {"tokenizer": "saved"} == second
    of_folder, of_saved = (
        sagevocab.prune(path, LINES, 120) for path in (folder, tmp_path / "saved")
    )
    assert of_folder.pruned == of_saved.pruned


def test_half_a_surrogate_pair_is_named(built) -> None:
    with pytest.raises(UserError, match="half a surrogate pair at position 2"):
        built.encode("a\ud83db")


@pytest.mark.parametrize("more", [{}, {"initial": "unigram"}])
def test_words_that_fall_in_two_are_told(more, caplog) -> None:
    lines = [*LINES, "می\u200cروم"]
    settings = SMALL | {"vocab_size": 120}
    sagevocab.train(lines, **settings, **more, progress=False)
    assert "non-joiner" in caplog.text and "vocabulary.normalization to nfkc" in caplog.text
    caplog.clear()
    sagevocab.train(lines, **settings, **more, progress=False, vocabulary={"normalization": "nfkc"})
    sagevocab.train(LINES, **settings, **more, progress=False)
    assert "non-joiner" not in caplog.text


def test_lossless_keeps_non_joiners(caplog) -> None:
    built = sagevocab.train([*LINES, "می\u200cروم"], 300, lossless=True, progress=False)
    assert built.decode(built.encode("می\u200cروم")) == "می\u200cروم"
    assert "non-joiner" not in caplog.text
