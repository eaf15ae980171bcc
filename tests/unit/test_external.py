"""Tokenizers from elsewhere in the form of a run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import sentencepiece
from transformers import AutoTokenizer

import reproduction
import sagevocab
from hub_kinds import KINDS
from reproduction.external import check_external, import_external
from sagevocab.errors import UserError
from sagevocab.huggingface.segmenter import load_segmenter
from sagevocab.pieces import read_pieces
from sagevocab.settings import WordSettings
from scripts_text import lines_in

LINES = lines_in("czech", 300)
WORDS = WordSettings("nfkc", 256)
KEY = "tokenizer_settings.mine.path"


def model(path: Path, **options) -> Path:
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_prefix=str(path.with_suffix("")),
        minloglevel=2,
        **{"vocab_size": 120, **options},
    )
    return path


@pytest.mark.parametrize("method", ["bpe", "unigram"])
@pytest.mark.parametrize("rule", ["nmt_nfkc", "identity", "nfkc_cf"])
def test_a_model_keeps_its_normalisation(tmp_path, method, rule):
    path = model(tmp_path / "x.model", normalization_rule_name=rule, model_type=method)
    import_external(path, tmp_path / "out", WORDS, KEY)
    config = json.loads((tmp_path / "out/tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["sagevocab"]["normalization"] == rule
    given = sentencepiece.SentencePieceProcessor(model_file=str(path))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    for line in LINES[:20]:
        assert tokenizer.tokenize(line) == given.encode(line, out_type=str)


@pytest.mark.parametrize("name", ["wordpiece", "byte-level", "unigram"])
def test_a_tokenizer_of_hugging_face_stays_as_it_is(tmp_path, name):
    tokenizer = KINDS[name]()
    (tmp_path / "given").mkdir()
    tokenizer.save(str(tmp_path / "given/tokenizer.json"))
    check_external(tmp_path / "given", KEY)
    import_external(tmp_path / "given", tmp_path / "out", WORDS, KEY)
    imported = AutoTokenizer.from_pretrained(tmp_path / "out")
    for line in LINES[:20]:
        expected = tokenizer.encode(line, add_special_tokens=False).ids
        assert imported(line, add_special_tokens=False)["input_ids"] == expected
    assert load_segmenter(tmp_path / "out").pieces == read_pieces(tmp_path / "out/pieces.txt")


NO_TOKENIZERS = {
    "bad.json": b"{}",
    "list.json": b"[1]",
    "cut.json": b'{"model": {"ty',
    "bad.model": b"\x00\xff",
    "empty.model": b"",
    "folder/tokenizer.json": b"garbage",
    "text.bin": b"\x00\x01garbage",
}


def test_files_that_are_no_tokenizers(tmp_path: Path) -> None:
    """The check before a run and the job itself refuse them."""
    for name in ("folder", "nothing"):
        (tmp_path / name).mkdir()
    for name, content in NO_TOKENIZERS.items():
        (tmp_path / name).write_bytes(content)
    for name in ("missing", "nothing", "folder", *NO_TOKENIZERS):
        with pytest.raises(UserError, match=KEY):
            check_external(tmp_path / name, KEY)
        with pytest.raises(UserError, match=f"{KEY}|{name}"):
            import_external(tmp_path / name, tmp_path / "out", WORDS, KEY)
    assert not (tmp_path / "out").exists()


def test_the_check_lets_tokenizers_pass_and_imports_nothing_heavy(tmp_path):
    pieces = tmp_path / "pieces.txt"
    pieces.write_text("▁\na\n", encoding="utf-8")
    KINDS["wordpiece"]().save(str(tmp_path / "bert.json"))
    model(tmp_path / "x.model")
    program = (
        "import sys; from reproduction.external import check_external;"
        "[check_external(path, 'key') for path in sys.argv[1:]];"
        "print({'tokenizers', 'sentencepiece', 'transformers', 'numba'} & set(sys.modules))"
    )
    paths = [str(tmp_path / name) for name in ("pieces.txt", "bert.json", "x.model")]
    places = [Path(package.__file__).parents[1] for package in (sagevocab, reproduction)]
    done = subprocess.run(
        [sys.executable, "-c", program, *paths],
        env={"PYTHONPATH": ":".join(map(str, places))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "set()"
