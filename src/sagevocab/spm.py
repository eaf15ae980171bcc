"""Sentencepiece models as Hugging Face tokenizers that give the same pieces and ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
)

from sagevocab.bpe import (
    Model,
    is_bpe,
    merges_of_model,
    open_model,
    pieces_of_model,
    scores_of_model,
    special_tokens_of_model,
)
from sagevocab.export import unlikely
from sagevocab.frames import split_special_tokens
from sagevocab.pieces import WORD_START
from sagevocab.specials import by_role
from sagevocab.state import write_json, write_text
from sagevocab.words import character_map


def tokenizer_of_model(path: Path, key: str) -> tuple[Tokenizer, dict[str, Any]]:
    """Read a sentencepiece model as a tokenizer with the model's pieces, ids and special tokens.

    A run of characters without a piece is one unknown token, as in sentencepiece, and nothing goes
    around a text.

    Args:
        path: the `.model` file.
        key: what messages begin with, the name of the argument or setting.

    Returns:
        The tokenizer, and its `tokenizer_config.json`.

    Raises:
        UserError: the model segments in a way that a tokenizer of Hugging Face cannot repeat.
    """
    model, rule = open_model(path, key)
    specials = special_tokens_of_model(model)
    tokenizer = Tokenizer(_model(model))
    tokenizer.normalizer = _normalizer(rule)
    words = pre_tokenizers.Metaspace(WORD_START, prepend_scheme="never")
    apart = split_special_tokens(specials.tokens, pieces_of_model(model))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, *apart])
    tokenizer.decoder = decoders.Metaspace(WORD_START, prepend_scheme="always")
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token in specials.tokens]
    )
    configuration = {
        **by_role(specials.roles, specials.tokens),
        "model_input_names": ["input_ids", "attention_mask"],
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
    }
    return tokenizer, configuration


def _normalizer(rule: str) -> normalizers.Normalizer:
    """Return what sentencepiece does to a text: only U+0020 is a space that it drops."""
    charsmap = character_map(rule)
    mapped = [normalizers.Precompiled(charsmap)] if charsmap else []
    spaces = [
        normalizers.Replace(Regex(rf"\A +|[ {WORD_START}]+\z"), ""),
        normalizers.Replace(Regex(" {2,}"), " "),
        normalizers.Prepend(WORD_START),
    ]
    return normalizers.Sequence([*mapped, *spaces])


def _model(model: Model) -> models.Model:
    """Return the model of `tokenizers` that segments words as a sentencepiece model does."""
    tokens = [piece.piece for piece in model.pieces]
    unknown = model.trainer_spec.unk_id
    if is_bpe(model):
        return models.BPE(
            vocab={token: number for number, token in enumerate(tokens)},
            merges=merges_of_model(model),
            unk_token=tokens[unknown],
            fuse_unk=True,
        )
    # Text that spells a special token is text: a model never chooses a piece with this score.
    never = unlikely(scores_of_model(model))
    scores = [piece.score if piece.type == piece.NORMAL else never for piece in model.pieces]
    return models.Unigram(
        list(zip(tokens, scores, strict=True)), unk_id=unknown, byte_fallback=False
    )


def export_model(path: Path, folder: Path, key: str) -> None:
    """Write the folder that `AutoTokenizer` loads for a sentencepiece model.

    Args:
        path: the `.model` file.
        folder: where `tokenizer.json` and `tokenizer_config.json` go.
        key: what messages begin with.

    Raises:
        UserError: as `tokenizer_of_model`.
    """
    tokenizer, configuration = tokenizer_of_model(path, key)
    write_text(folder / "tokenizer.json", tokenizer.to_str(pretty=True))
    write_json(folder / "tokenizer_config.json", configuration)
