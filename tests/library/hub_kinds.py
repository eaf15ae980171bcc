"""Finished tokenizers of Hugging Face of every kind that `prune` takes, trained on a few lines."""

from __future__ import annotations

import json
from collections.abc import Callable

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from scripts_text import lines_in
from vocabulary_samples import english

LINES = [*english()[:900], *lines_in("czech", 100), *lines_in("vietnamese", 60)]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def byte_level(*, ignore_merges: bool = False) -> Tokenizer:
    """As GPT-2 and, with ignore_merges, Llama 3, Qwen and Mistral's tekken."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    train(tokenizer, trainers.BpeTrainer(vocab_size=900, initial_alphabet=alphabet))
    tokenizer.add_special_tokens(["<|endoftext|>", AddedToken("<|pad|>")])
    spec = json.loads(tokenizer.to_str())
    spec["model"]["ignore_merges"] = ignore_merges
    if ignore_merges:  # as made of a file of tiktoken: every split is a merge, but some have none
        vocab = spec["model"]["vocab"]
        splits = ((piece[:at], piece[at:]) for piece in vocab for at in range(1, len(piece)))
        spec["model"]["merges"] = [s for s in splits if {*s} <= vocab.keys()]
        for word in ("Ġgovernment", "Ġhundreds"):
            spec["model"]["merges"] = [m for m in spec["model"]["merges"] if "".join(m) != word]
            vocab.setdefault(word, len(vocab))
        for number, token in enumerate(spec["added_tokens"]):
            token["id"] = len(spec["model"]["vocab"]) + number
    return Tokenizer.from_str(json.dumps(spec))


def with_fallback() -> Tokenizer:
    """As Llama 2: no pre-tokenizer, bytes for letters that are no pieces."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    specials = ["<unk>", "<s>", "</s>", *BYTES]
    train(tokenizer, trainers.BpeTrainer(vocab_size=1100, special_tokens=specials))
    spec = json.loads(tokenizer.to_str())
    spec["pre_tokenizer"] = None
    spec["added_tokens"] = spec["added_tokens"][:3]
    before = [{"type": "Prepend", "prepend": "▁"}]
    before += [{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
    spec["normalizer"] = {"type": "Sequence", "normalizers": before}
    tokenizer = Tokenizer.from_str(json.dumps(spec))
    tokenizer.post_processor = processors.TemplateProcessing(
        "<s> $A", "<s> $A <s> $B", [("<s>", tokenizer.token_to_id("<s>"))]
    )
    return tokenizer


def with_suffix() -> Tokenizer:
    """As CLIP: the last letter of a word has a suffix."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=["<unk>"], end_of_word_suffix="</w>"
    )
    train(tokenizer, trainer)
    return tokenizer


def unigram(*, fallback: bool = False) -> Tokenizer:
    """As T5 and XLM-R; with fallback, letters that are no pieces are bytes."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    specials = ["<pad>", "</s>", "<unk>"]
    train(
        tokenizer,
        trainers.UnigramTrainer(vocab_size=800, special_tokens=specials, unk_token="<unk>"),
    )
    spec = json.loads(tokenizer.to_str())
    if fallback:
        spec["model"]["byte_fallback"] = True
        spec["model"]["vocab"] += [[byte, -30.0] for byte in BYTES]
    tokenizer = Tokenizer.from_str(json.dumps(spec))
    tokenizer.post_processor = processors.TemplateProcessing(
        "$A </s>", special_tokens=[("</s>", tokenizer.token_to_id("</s>"))]
    )
    tokenizer.enable_padding(pad_id=0, pad_token="<pad>")
    return tokenizer


def word_piece() -> Tokenizer:
    """As BERT."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    train(tokenizer, trainers.WordPieceTrainer(vocab_size=900, special_tokens=specials))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def train(tokenizer: Tokenizer, trainer: trainers.Trainer) -> None:
    trainer.show_progress = False
    tokenizer.train_from_iterator(LINES, trainer)


KINDS: dict[str, Callable[[], Tokenizer]] = {
    "byte-level": byte_level,
    "ignore merges": lambda: byte_level(ignore_merges=True),
    "byte fallback": with_fallback,
    "suffix": with_suffix,
    "unigram": unigram,
    "unigram with bytes": lambda: unigram(fallback=True),
    "wordpiece": word_piece,
}
