"""Tokenizers of Hugging Face of many kinds, trained in seconds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

BYTES = {"initial_alphabet": pre_tokenizers.ByteLevel.alphabet()}
# Llama 3's.
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def fitted(tokenizer: Tokenizer, lines: list[str], trainer: Callable, **options: Any) -> Tokenizer:
    tokenizer.train_from_iterator(lines, trainer(vocab_size=600, show_progress=False, **options))
    return tokenizer


def ends(tokenizer: Tokenizer, first: str, last: str) -> list[tuple[str, int]]:
    return [(token, tokenizer.token_to_id(token)) for token in (first, last)]


def bert(lines: list[str]) -> Tokenizer:
    """BERT: special tokens between pieces that are not used; `##` inside words."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    specials = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    spec = json.loads(
        fitted(made, lines, trainers.WordPieceTrainer, special_tokens=specials).to_str()
    )
    spec["added_tokens"] = [one for one in spec["added_tokens"] if one["id"] != 1]
    made = Tokenizer.from_str(json.dumps(spec))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=ends(made, "[CLS]", "[SEP]"),
    )
    return made


def gpt2(lines: list[str]) -> Tokenizer:
    """GPT-2: letters of bytes, the special token at the end."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    fitted(made, lines, trainers.BpeTrainer, **BYTES)
    made.add_special_tokens(["<|endoftext|>"])
    return made


def llama3(lines: list[str]) -> Tokenizer:
    """Llama 3: words by a regular expression, then bytes; a token before each text."""
    made = Tokenizer(models.BPE(ignore_merges=True))
    split = pre_tokenizers.Split(Regex(WORDS), "isolated")
    letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = pre_tokenizers.Sequence([split, letters])
    made.decoder = decoders.ByteLevel()
    fitted(made, lines, trainers.BpeTrainer, **BYTES)
    made.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>"])
    template = processors.TemplateProcessing(
        single="<|begin_of_text|> $A",
        special_tokens=ends(made, "<|begin_of_text|>", "<|end_of_text|>")[:1],
    )
    made.post_processor = processors.Sequence([processors.ByteLevel(), template])
    return made


def roberta(lines: list[str]) -> Tokenizer:
    """RoBERTa: as GPT-2, with special tokens at both ends of the ids."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    fitted(made, lines, trainers.BpeTrainer, special_tokens=specials, **BYTES)
    made.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    start, end = ends(made, "<s>", "</s>")
    made.post_processor = processors.RobertaProcessing(end, start, add_prefix_space=False)
    return made


def t5(lines: list[str]) -> Tokenizer:
    """T5: UnigramLM over `▁`, padding, tokens that are added behind."""
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    specials = {"special_tokens": ["<pad>", "</s>", "<unk>"], "unk_token": "<unk>"}
    fitted(made, lines, trainers.UnigramTrainer, **specials)
    made.add_special_tokens(["<extra_id_0>"])
    made.add_tokens(["<user>"])
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    made.enable_padding(pad_id=0, pad_token="<pad>")
    return made


def underlined(lines: list[str]) -> Tokenizer:
    """Metaspace with another mark."""
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="_")
    made.decoder = decoders.Metaspace(replacement="_")
    return fitted(made, lines, trainers.BpeTrainer, special_tokens=["<unk>"])


def unmarked(lines: list[str]) -> Tokenizer:
    """BPE without any mark, and without an unknown token."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return fitted(made, lines, trainers.BpeTrainer)


def inside_marked(lines: list[str]) -> Tokenizer:
    """BPE that marks the inside of words."""
    made = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="@@"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.decoder = decoders.WordPiece("@@")
    options = {"special_tokens": ["<unk>"], "continuing_subword_prefix": "@@"}
    return fitted(made, lines, trainers.BpeTrainer, **options)


MAKERS = (bert, gpt2, llama3, roberta, t5, underlined, unmarked, inside_marked)
KINDS = {make.__name__: make for make in MAKERS}
