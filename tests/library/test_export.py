"""Folders that `AutoTokenizer` loads, model cards, and tokenizers from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoTokenizer, MegatronBertConfig

from sagevocab.errors import UserError
from sagevocab.huggingface.export import (
    Card,
    WordSettings,
    export_greedy,
    export_merges,
    export_unigram,
)
from sagevocab.huggingface.folders import read_description
from sagevocab.huggingface.load import convert, segmenter_of
from sagevocab.huggingface.segmenter import load_segmenter
from sagevocab.pieces import read_pieces

PIECES = ["▁", "a", "b", "c", "▁a", "ab", "▁abc", "bc"]
WORDS = WordSettings()
CARD = Card(language="en", language_name="English", method="BPE")


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def tokens(folder: Path, text: str) -> list[str]:
    return AutoTokenizer.from_pretrained(folder).tokenize(text)


# --- the folder


def test_folder_holds_what_the_contract_says(tmp_path):
    export_greedy(tmp_path, PIECES, WORDS, CARD)
    names = {"pieces.txt", "tokenizer.json", "tokenizer_config.json", "README.md"}
    assert files(tmp_path).keys() == names
    assert read_pieces(tmp_path / "pieces.txt") == PIECES
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert tokenizer.convert_tokens_to_ids(PIECES) == list(range(5, 5 + len(PIECES)))
    assert len(tokenizer) == 5 + len(PIECES)
    assert tokenizer.model_max_length == 512
    export_greedy(tmp_path, PIECES, WordSettings("nfkc_cf", 99), CARD)
    described = {"method": "greedy", "normalization": "nfkc_cf", "max_word_chars": 99}
    assert read_description(tmp_path) == described
    assert load_segmenter(tmp_path).segment("▁abcab") == [6, 5]


def test_methods_segment_differently(tmp_path):
    """`ab bc`, by hand. Greedy takes the longest from the left. The merge `bc` comes before `ab`.
    The likeliest pieces are those with the highest sum of scores.
    """
    export_greedy(tmp_path / "greedy", PIECES, WORDS, CARD)
    export_merges(tmp_path / "merges", PIECES, [("b", "c"), ("a", "b"), ("▁", "a")], WORDS, CARD)
    scores = [-1.0, -1.0, -1.0, -1.0, -5.0, -1.0, -99.0, -9.0]
    export_unigram(tmp_path / "unigram", PIECES, scores, WORDS, CARD)
    assert tokens(tmp_path / "greedy", "abc bc") == ["▁abc", "▁", "bc"]
    assert tokens(tmp_path / "merges", "abc bc") == ["▁a", "bc", "▁", "bc"]
    assert tokens(tmp_path / "unigram", "abc bc") == ["▁", "ab", "c", "▁", "b", "c"]


def test_a_piece_that_is_spelt_like_a_special_token(tmp_path):
    with pytest.raises(UserError, match=r"'\[MASK\]' is a piece and a special token"):
        export_greedy(tmp_path / "folder", [*PIECES, *"[MASK]", "[MASK]"], WORDS, CARD)
    assert not (tmp_path / "folder").exists()


def test_greedy_needs_every_character_as_a_piece(tmp_path):
    with pytest.raises(ValueError, match="'d'"):
        export_greedy(tmp_path / "folder", [*PIECES, "ad"], WORDS, CARD)


@pytest.mark.parametrize("output", ["mine", "mine/pieces.txt", "."])
def test_a_vocabulary_is_never_exported_over_itself(tmp_path, output):
    export_greedy(tmp_path / "mine", PIECES, WORDS, CARD)
    (tmp_path / "mine/sagevocab.json").write_text("{}", encoding="utf-8")
    before = files(tmp_path / "mine")
    with pytest.raises(UserError, match="is, holds or lies in"):
        convert(tmp_path / "mine/pieces.txt", tmp_path / output, force=True)
    assert files(tmp_path / "mine") == before


def test_tokenizer_beside_a_model(tmp_path):
    """A model folder has a config.json, whose model type must not decide the tokenizer's class."""
    export_greedy(tmp_path, PIECES, WORDS, CARD)
    MegatronBertConfig(vocab_size=13).save_pretrained(tmp_path)
    assert tokens(tmp_path, "abc [MASK] ab") == ["▁abc", "[MASK]", "▁a", "b"]


# --- model cards


def test_card_tells_language_method_sizes_and_what_made_it(tmp_path):
    card = Card("tr", "Turkish", "SaGe", {"Training corpus": "a | b", "loss": "total"})
    export_greedy(tmp_path, PIECES, WORDS, card)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert text.startswith("---\nlanguage: tr\n")
    assert "# Turkish subword vocabulary: SaGe" in text
    rows = {"| Pieces | 8 |", "| Training corpus | a \\| b |", "| loss | total |"}
    assert rows <= {*text.splitlines()}


# --- tokenizers from elsewhere


def test_a_list_with_special_tokens_and_without_characters(tmp_path):
    lines = ["<unk>", "<s>", "▁ab", "b", "[MASK]", ""]
    (tmp_path / "pieces.txt").write_text("\n".join(lines), encoding="utf-8")
    convert(tmp_path / "pieces.txt", tmp_path / "out")
    assert read_pieces(tmp_path / "out/pieces.txt") == ["▁ab", "b", "a", "▁"]
    assert tokens(tmp_path / "out", "abba") == ["▁ab", "b", "a"]


def bert_like() -> Tokenizer:
    vocab = ["[PAD]", "[unused0]", "play", "##ing", "##s", "the", "[UNK]", "[MASK]", "##▁x", "x"]
    model = models.WordPiece({t: n for n, t in enumerate(vocab)}, unk_token="[UNK]")
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[MASK]"])
    return tokenizer


def test_wordpiece_gives_word_start_notation():
    segmenter = segmenter_of(bert_like())
    assert segmenter.pieces == ["▁[unused0]", "▁play", "ing", "s", "▁the", "▁x", "x"]
    assert segmenter.segment("▁playings") == [1, 2, 3]


def test_bytes_gives_word_start_notation(tmp_path):
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = [*letters, "Ġt", "Ġthe", "th", "Ã©", "ĠĠ", "<|endoftext|>", "Ċa"]
    merges = [("Ġ", "t"), ("t", "h"), ("Ã", "©"), ("Ġ", "Ġ"), ("Ċ", "a")]
    model = models.BPE({token: number for number, token in enumerate(vocab)}, merges)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    segmenter = segmenter_of(tmp_path / "tokenizer.json")
    pieces = segmenter.pieces
    assert pieces[len(letters) :] == ["▁t", "▁the", "th", "é", "ĠĠ", "Ċa"]
    assert pieces[letters.index("Ġ")] == "▁"
    assert pieces[letters.index("Ã")] == "<0xC3>"
    assert [pieces[number] for number in segmenter.segment("▁té")] == ["▁t", "é"]
    assert [pieces[number] for number in segmenter.segment("▁é")] == ["▁", "é"]


def test_tokens_that_were_added_and_are_not_special_are_pieces():
    tokenizer = bert_like()
    tokenizer.add_tokens(["<user>"])
    segmenter = segmenter_of(tokenizer)
    assert segmenter.pieces[-1] == "▁<user>"
    assert segmenter.segment("▁<user>") == [len(segmenter.pieces) - 1]


def test_a_tokenizer_that_prepends_the_mark_itself():
    """As Llama's does: a space before the word would be a second mark."""
    vocab = {token: number for number, token in enumerate(["<unk>", "▁", "a", "▁a"])}
    tokenizer = Tokenizer(models.BPE(vocab, [("▁", "a")], unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.add_special_tokens(["<unk>"])
    segmenter = segmenter_of(tokenizer)
    assert [segmenter.pieces[number] for number in segmenter.segment("▁aa")] == ["▁a", "a"]
