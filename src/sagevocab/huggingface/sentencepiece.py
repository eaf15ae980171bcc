"""Sentencepiece models: what they hold, and as tokenizers with the same pieces and ids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from sentencepiece import sentencepiece_model_pb2
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
)

from sagevocab.corpus.words import NORMALIZATIONS, character_map
from sagevocab.errors import UserError
from sagevocab.files import atomic_path
from sagevocab.huggingface.export import unlikely
from sagevocab.huggingface.pipelines import TEXT_END, TEXT_START, free_cuts, split_special_tokens
from sagevocab.huggingface.special_tokens import (
    SpecialTokens,
    by_role,
    refuse_words,
    roles_of,
)
from sagevocab.pieces import NO_MODEL, WORD_START

# --- what a sentencepiece model holds

Model = sentencepiece_model_pb2.ModelProto


def write_model(path: str | Path, model: Model) -> None:
    """Write a sentencepiece model, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(model.SerializeToString())


def read_model(path: str | Path) -> Model:
    """Read a sentencepiece model.

    Raises:
        UserError: the file is missing or holds no such model.
    """
    try:
        return parse_model(Path(path).read_bytes(), path)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); name a sentencepiece .model file"
        ) from error


def open_model(path: Path, key: str) -> tuple[Model, str]:
    """Read a sentencepiece model; return it and the rule whose character map it carries.

    Raises:
        UserError: it cannot be expressed in this project's pieces, or has another normalisation
            than sentencepiece's five.
    """
    model = read_model(path)
    # A list of pieces segments as pruning does, but not as the model does.
    instead = "a list of pieces" if key == "initial" else "its Hugging Face folder"
    if reason := _unlike_pieces(model):
        raise UserError(f"{key}: {path} {reason}; train it otherwise, or give {instead}")
    pieces = pieces_of_model(model)
    if not any(len(piece) == 1 for piece in pieces):
        raise UserError(f"{key}: {path} has no piece of one character; give another model")
    crossing = [piece for piece in pieces if WORD_START in piece[1:]]
    specials = special_tokens_of_model(model).tokens
    single = [token for token in specials if len(token) == 1]
    if single:
        raise UserError(
            f"{key}: {path} has the special token {single[0]!r}, which the model would take for "
            "the character in text; train it with a longer name for this token"
        )
    refuse_words(specials, f"{key}: {path}")
    if crossing:
        raise UserError(
            f"{key}: the piece {crossing[0]!r} of {path} crosses a space; train without such pieces"
        )
    charsmap = model.normalizer_spec.precompiled_charsmap
    for rule in NORMALIZATIONS:
        if character_map(rule) == charsmap:
            return model, rule
    raise UserError(
        f"{key}: {path} has another normalisation than sentencepiece comes with; "
        f"give one that uses any of {', '.join(NORMALIZATIONS)}, or {instead}"
    )


def _unlike_pieces(model: Model) -> str | None:
    """Say which option of a sentencepiece model pieces cannot express; None if there is none."""
    training, normalizer = model.trainer_spec, model.normalizer_spec
    types = {piece.type for piece in model.pieces}
    found = {
        "is neither a BPE nor a UnigramLM model": training.model_type
        not in (training.BPE, training.UNIGRAM),
        "falls back to bytes (byte_fallback)": Model.SentencePiece.BYTE in types,
        "has user-defined symbols, which no other piece may cross": (
            Model.SentencePiece.USER_DEFINED in types
        ),
        "has unused pieces": Model.SentencePiece.UNUSED in types,
        "marks the end of words, not their start (treat_whitespace_as_suffix)": (
            training.treat_whitespace_as_suffix
        ),
        "does not mark the first word of a text (add_dummy_prefix=False)": (
            not normalizer.add_dummy_prefix
        ),
        "keeps runs of spaces (remove_extra_whitespaces=False)": (
            not normalizer.remove_extra_whitespaces
        ),
        "does not write spaces as ▁ (escape_whitespaces=False)": (
            not normalizer.escape_whitespaces
        ),
        "has a rule that changes decoded text (denormalization_rule_tsv)": bool(
            model.denormalizer_spec.precompiled_charsmap
        ),
    }
    return next((reason for reason, is_so in found.items() if is_so), None)


def parse_model(data: bytes, path: str | Path) -> Model:
    """Return the model that bytes hold; path: where they are from.

    Raises:
        UserError: they hold none.
    """
    model = Model()
    try:
        model.ParseFromString(data)
    except DecodeError:
        model.Clear()
    if not all(isinstance(piece.piece, str) for piece in model.pieces):  # else damaged: bytes
        model.Clear()
    if not model.pieces:
        raise UserError(f"{path}: {NO_MODEL}")
    return model


_SPECIALS = (Model.SentencePiece.UNKNOWN, Model.SentencePiece.CONTROL)


def ordinary_pieces(model: Model) -> list[Model.SentencePiece]:
    """Return the entries of a model that are not special tokens, in id order."""
    return [piece for piece in model.pieces if piece.type not in _SPECIALS]


def pieces_of_model(model: Model) -> list[str]:
    """Return the pieces in id order, without special tokens."""
    return [piece.piece for piece in ordinary_pieces(model)]


def scores_of_model(model: Model) -> list[float]:
    """Return the scores of `pieces_of_model`: log probabilities, or minus the rank of a merge."""
    return [piece.score for piece in ordinary_pieces(model)]


def special_tokens_of_model(model: Model) -> SpecialTokens:
    """Return the unknown and control symbols, in id order; nothing goes around a text."""
    tokens = tuple(piece.piece for piece in model.pieces if piece.type in _SPECIALS)
    numbers, spec = range(len(model.pieces)), model.trainer_spec
    by_id = {
        role: model.pieces[number].piece
        for role, number in (
            *(("unk_token", spec.unk_id), ("pad_token", spec.pad_id)),
            *(("bos_token", spec.bos_id), ("eos_token", spec.eos_id)),
        )
        if number in numbers
    }
    roles = roles_of(tokens) | {role: token for role, token in by_id.items() if token in tokens}
    return SpecialTokens(tokens, roles)


def is_bpe(model: Model) -> bool:
    """Return whether a model segments by byte-pair merges."""
    return model.trainer_spec.model_type == model.trainer_spec.BPE


def merges_of_model(model: Model) -> list[tuple[str, str]]:
    """Return the byte-pair merges by rank.

    sentencepiece merges two neighbours whenever their concatenation is a piece, the best-ranked
    piece first: so every way to cut a piece into two pieces is a merge of that piece's rank.
    """
    scores = dict(zip(pieces_of_model(model), scores_of_model(model), strict=True))
    ranked = sorted(scores, key=lambda piece: -scores[piece])
    return [
        (piece[:cut], piece[cut:])
        for piece in ranked
        for cut in range(1, len(piece))
        if piece[:cut] in scores and piece[cut:] in scores
    ]


# --- as a tokenizer of Hugging Face


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
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, *_apart(model, specials.tokens)])
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


def _apart(model: Model, specials: Sequence[str]) -> list[pre_tokenizers.PreTokenizer]:
    """Return what cuts special tokens that text spells, where the model may match them.

    No merge gives one. UnigramLM takes one instead of characters without a piece, which no piece
    reaches over; a token without such a place has to stay whole, as pieces cross each cut.
    """
    if is_bpe(model):
        return []
    pieces = pieces_of_model(model)
    cuts = zip(specials, free_cuts(specials, pieces), strict=True)
    return split_special_tokens([token for token, free in cuts if free], pieces)


def _normalizer(rule: str) -> normalizers.Normalizer:
    """Return what sentencepiece does to a text: only U+0020 is a space that it drops."""
    charsmap = character_map(rule)
    mapped = [normalizers.Precompiled(charsmap)] if charsmap else []
    spaces = [
        normalizers.Replace(
            Regex(rf"{TEXT_START} +|(?<![ {WORD_START}])[ {WORD_START}]+{TEXT_END}"), ""
        ),
        normalizers.Replace(Regex(" {2,}"), " "),
        # JavaScript's `Prepend` makes a word of an empty text.
        normalizers.Replace(Regex(rf"{TEXT_START}(?!{TEXT_END})"), WORD_START),
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
