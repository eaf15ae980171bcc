"""Special tokens: BERT's, GPT's, none, or one's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoTokenizer

from sagevocab.huggingface.export import export_greedy
from sagevocab.huggingface.pipelines import WordPipeline
from sagevocab.huggingface.special_tokens import BERT, special_tokens_of
from sagevocab.settings import WordSettings

PIECES = ["▁", "a", "b", "▁a", "ab"]
OWN = ["<pad>", "<unk>", "<s>", "</s>", "<mask>", "<user>"]
GIVEN = {
    "bert": {"given": "bert"},
    "gpt": {"given": "gpt"},
    "none": {"given": "none"},
    "own": {"given": OWN},
}


def folder_of(place: Path, name: str) -> Path:
    export_greedy(place, PIECES, WordPipeline(WordSettings(), special_tokens_of(**GIVEN[name])))
    return place


@pytest.mark.parametrize(
    ("name", "specials", "one", "two", "longest"),
    [
        ("bert", BERT.tokens, [2, 8, 3], [2, 8, 3, 5, 7, 3], 512),
        ("gpt", ("<|endoftext|>", "[UNK]"), [5], [5, 2, 4], None),
        ("none", ("[UNK]",), [4], [4, 1, 3], None),
        ("own", tuple(OWN), [9], [9, 6, 8], None),
    ],
)
def test_ids_by_hand(tmp_path, name, specials, one, two, longest) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder_of(tmp_path, name))
    assert tokenizer.convert_ids_to_tokens(range(len(specials))) == list(specials)
    assert tokenizer("a")["input_ids"] == one
    assert tokenizer("a", "b")["input_ids"] == two
    assert tokenizer.model_max_length == (longest or tokenizer.model_max_length)
    assert longest or tokenizer.model_max_length > 10**20
    assert tokenizer("☃", add_special_tokens=False)["input_ids"].count(tokenizer.unk_token_id) == 1


def test_roles(tmp_path: Path) -> None:
    gpt = AutoTokenizer.from_pretrained(folder_of(tmp_path / "gpt", "gpt"))
    assert gpt.bos_token == gpt.eos_token == gpt.pad_token == "<|endoftext|>"
    own = AutoTokenizer.from_pretrained(folder_of(tmp_path / "own", "own"))
    assert (own.pad_token, own.unk_token, own.mask_token) == ("<pad>", "<unk>", "<mask>")
    assert (own.bos_token, own.eos_token, own.cls_token) == ("<s>", "</s>", None)
    assert own("a<user>b")["input_ids"] == [9, 5, 8]
    assert "<user>" in own.all_special_tokens


def test_a_text_with_commas_is_a_list_of_tokens() -> None:
    expected = special_tokens_of(["<unk>", "<s>", "[SEP]"])
    assert special_tokens_of("<unk>,<s>, [SEP]") == expected
    assert special_tokens_of("<unk>").tokens == ("<unk>",)
