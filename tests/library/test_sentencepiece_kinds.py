"""Kinds of sentencepiece models: the same pieces and ids as sentencepiece, or a refusal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import sentencepiece
from transformers import AutoTokenizer

import sagevocab
from sagevocab.errors import UserError
from sagevocab.huggingface.load import convert
from scripts_text import lines_in

LINES = [*lines_in("czech", 300), "12345 67 8", "http://a.b", "the cat"]
HARD = [
    *LINES[:40],
    *("", " ", "▁", "▁▁a", "a▁b", "a ▁ b", "a ▁", "  two  spaces ", " x", "a  b"),
    *("tab\there", "\u3000", "a\u00a0b\u2003c", "\u200c", "a\u200cb \u0001", "é e\u0301"),
    *("12345", "日本語 ＡＢＣ", "日本語x日本", "İI ı", "ﬁ ½ ﷺ", "🙂🙂 a🙂b🙂", "x" * 600),
    *("<s> y </s>", "<unk>", "[UNK]", "<cls>"),
]
MOVED = {"unk_id": 3, "bos_id": -1, "eos_id": -1, "pad_id": 0, "unk_piece": "[UNK]"}
EQUAL = {
    "plain": {},
    "unigram": {"model_type": "unigram"},
    "split_digits": {"split_digits": True},
    "identity": {"normalization_rule_name": "identity"},
    "unigram_identity": {"model_type": "unigram", "normalization_rule_name": "identity"},
    "folded": {"normalization_rule_name": "nmt_nfkc_cf"},
    "control": {"control_symbols": ["<cls>"], "pad_id": 3},
    "moved": MOVED,
    "unigram_moved": {"model_type": "unigram", **MOVED},
}
REFUSED = {
    "suffix": ({"treat_whitespace_as_suffix": True}, "treat_whitespace_as_suffix"),
    "bytes": ({"byte_fallback": True}, "byte_fallback"),
    "unigram_bytes": ({"model_type": "unigram", "byte_fallback": True}, "byte_fallback"),
    "no_prefix": ({"add_dummy_prefix": False}, "add_dummy_prefix"),
    "spaces": ({"remove_extra_whitespaces": False}, "remove_extra_whitespaces"),
    "symbols": ({"user_defined_symbols": ["<sep>", "http", "▁the"]}, "user-defined"),
    "crossing": ({"split_by_whitespace": False}, "crosses a space"),
    "word": ({"model_type": "word"}, "neither a BPE nor"),
    "char": ({"model_type": "char"}, "neither a BPE nor"),
    "control_character": ({"control_symbols": ["."]}, "special token '.'"),
    "control_word": ({"control_symbols": ["pro"]}, "'pro' is a word"),
    "unknown_is_a_word": ({"unk_piece": "pro"}, "'pro' is a word"),
    "back": ({"denormalization_rule_tsv": "rules.tsv"}, "denormalization_rule_tsv"),
    "rules": ({"normalization_rule_tsv": "rules.tsv"}, "another normalisation"),
}


def trained(folder: Path, **options: object) -> Path:
    path, buffer = folder / "x.model", io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_writer=buffer,
        minloglevel=2,
        **{"model_type": "bpe", "vocab_size": 600, "hard_vocab_limit": False, **options},
    )
    path.write_bytes(buffer.getvalue())
    return path


@pytest.mark.parametrize("kind", EQUAL)
def test_ids_are_those_of_sentencepiece(kind: str, tmp_path: Path) -> None:
    path = trained(tmp_path, **EQUAL[kind])
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    convert(path, tmp_path / "folder")
    hub = AutoTokenizer.from_pretrained(tmp_path / "folder")
    loaded, exported = sagevocab.load(path), sagevocab.load(tmp_path / "folder")
    assert len(loaded) == len(hub) == model.get_piece_size()
    for text in HARD:
        ids = model.encode(text)
        assert loaded.encode(text) == exported.encode(text) == ids, text
        assert loaded.tokenize(text) == [model.id_to_piece(number) for number in ids]
        assert hub(text, split_special_tokens=True)["input_ids"] == ids, text


@pytest.mark.parametrize("kind", REFUSED)
def test_what_would_segment_otherwise_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.tsv").write_text("61\t62\n", encoding="utf-8")
    options, reason = REFUSED[kind]
    path = trained(tmp_path, **options)
    for use in (
        lambda: sagevocab.load(path),
        lambda: sagevocab.train(LINES, 100, initial=path, progress=False),
        lambda: convert(path, tmp_path / "folder"),
    ):
        with pytest.raises(UserError, match=reason):
            use()
    assert not (tmp_path / "folder").exists()
