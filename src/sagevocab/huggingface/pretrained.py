"""Hugging Face tokenizers as vocabularies to prune: their frame, pieces and merges."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, pre_tokenizers

from sagevocab.corpus.words import MAX_WORD_CHARS
from sagevocab.errors import UserError
from sagevocab.huggingface.detect import tokenizer_json
from sagevocab.huggingface.markers import Prefixed, steps_of, unknown_of, writes_bytes
from sagevocab.huggingface.pipelines import ENDS, HubFrame
from sagevocab.huggingface.special_tokens import SPELLINGS, UNKNOWN, by_role, roles_of
from sagevocab.pieces import WORD_START, tokens_by_id

log = logging.getLogger(__name__)

Merges = list[tuple[str, str]]
# Of `tokenizer_config.json`, what holds for the same tokens with another model. What belongs to
# the class of the given tokenizer is in `tokenizer.json` already.
_CARRIED = (
    *("model_max_length", "padding_side", "truncation_side", "model_input_names"),
    "chat_template",
)
_MODELS = ("WordPiece", "BPE", "Unigram")
_SAMPLE = "one two"  # whatever splits into words at all makes two of it
_UNLIMITED = 10**20  # `transformers` writes 10^30 for no limit


def load_hub(path: Path, key: str) -> Tokenizer:
    """Load a Hugging Face folder or `tokenizer.json` as it is; nothing is downloaded.

    Raises:
        UserError: it is neither.
    """
    file = tokenizer_json(path, key)
    try:
        return Tokenizer.from_file(str(file)) if file else _converted(path)
    except Exception as error:  # the library raises bare exceptions of many kinds
        if file:
            problem = f"{file} is not a Hugging Face tokenizer, or is damaged ({error})"
            raise UserError(f"{key}: {problem}; copy or build it again, or give another") from error
        problem = f"{path} is not a Hugging Face tokenizer folder ({error})"
        raise UserError(f"{key}: {problem}; give one with a tokenizer.json") from error


def _converted(folder: Path) -> Tokenizer:
    """Let `transformers` make a `tokenizer.json` of an older folder; nothing is downloaded."""
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        advice = "pip install 'sagevocab[transformers]', or give a folder with a tokenizer.json"
        raise UserError(f"{folder}: needs the package transformers; {advice}") from error

    tokenizer = AutoTokenizer.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False
    )
    return tokenizer.backend_tokenizer


def tokenizer_of(source: Any, key: str) -> Tokenizer:
    """Return the tokenizer that an object is, or that one of `transformers` has.

    Raises:
        UserError: it is neither.
    """
    tokenizer = getattr(source, "backend_tokenizer", source)
    if not isinstance(tokenizer, Tokenizer):
        raise UserError(
            f"{key}: {type(source).__name__} is not a tokenizer that can be read; give a folder, "
            "a file, a list of pieces, or a fast tokenizer of transformers or tokenizers"
        )
    return tokenizer


def hub_parts(source: Any, key: str) -> tuple[Tokenizer, dict[str, Any]]:
    """Return a tokenizer and its configuration, of a folder, a `tokenizer.json` or an object.

    source: a path, a `tokenizers.Tokenizer`, or a tokenizer of `transformers`.

    Raises:
        UserError: it is none of these, or is damaged.
    """
    if isinstance(source, Path):
        return load_hub(source, key), _configuration(source) if source.is_dir() else {}
    tokenizer = tokenizer_of(source, key)
    if tokenizer is source:
        return source, {}
    with tempfile.TemporaryDirectory(prefix="sagevocab-") as folder:
        source.save_pretrained(folder)
        return hub_parts(Path(folder), key)


def _configuration(folder: Path) -> dict[str, Any]:
    """Return what a folder says of its tokenizer beside `tokenizer.json`."""
    found: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        with suppress(OSError, ValueError, TypeError):
            found.update(json.loads((folder / name).read_text(encoding="utf-8")))
    with suppress(OSError):
        found["chat_template"] = (folder / "chat_template.jinja").read_text(encoding="utf-8")
    return found


def read_hub(
    tokenizer: Tokenizer,
    configuration: Mapping[str, Any],
    key: str,
    max_word_chars: int = MAX_WORD_CHARS,
) -> tuple[HubFrame, Merges | None]:
    """Return the frame of a tokenizer, which holds its pieces, and its merges by rank.

    Characters of its pieces that have none get one at the end, where words can be cut; so do
    letters of bytes.

    Args:
        tokenizer: of Hugging Face.
        configuration: its `tokenizer_config.json`.
        key: what messages begin with: where the tokenizer is from.
        max_word_chars: longer words are cut there.

    Returns:
        The frame, and the merges: None where there are none, or where parts of words have a prefix.

    Raises:
        UserError: its words cannot be segmented by greedy longest match, with the reason.
    """
    spec = parsed(tokenizer, key)
    description = configuration.get("sagevocab")
    if isinstance(description, Mapping) and description.get("method") == "greedy":
        spec["pre_tokenizer"] = _without_steps(spec["pre_tokenizer"])
    model = spec["model"]
    _check_model(model, key)
    order = tokens_by_id(tokenizer)
    unknown = unknown_of(model)
    if unknown is None and not writes_bytes(spec):
        unknown = UNKNOWN
        order += [UNKNOWN] * (UNKNOWN not in order)
    roles = roles_in(configuration, spec, order)
    spec["added_tokens"] += _more_added(spec, {unknown, *roles.values()}, order)
    spec["model"] = {
        "unk_token": unknown,
        "continuing_subword_prefix": model.get("continuing_subword_prefix") or "",
        "max_input_chars_per_word": model.get("max_input_chars_per_word"),
    }
    carried = _carried(configuration, roles, spec, order)
    frame = HubFrame(spec, order, carried, max_word_chars)
    missing = _missing(frame, spec)
    frame = frame.with_tokens(missing)
    _check_pieces(frame.pieces, key)
    _check_words(HubFrame(spec, order, {}), key)
    if missing:
        log.warning("%s: %d characters of its pieces are added as pieces", key, len(missing))
    return frame, merges_of(model, frame)


def _without_steps(step: Mapping[str, Any] | None) -> Any:
    """Return the pre-tokenizer that a frame was given, without what it put behind it."""
    return next(iter((step or {}).get("pretokenizers", [step])), None)


def parsed(tokenizer: Tokenizer, key: str) -> dict[str, Any]:
    """Return the parsed `tokenizer.json` of a tokenizer.

    Raises:
        UserError: it has parts of its own code.
    """
    try:
        return json.loads(tokenizer.to_str())
    except Exception as error:  # of parts that are Python code
        raise UserError(
            f"{key}: this tokenizer has parts of its own code and cannot be written ({error}); "
            "give one that a tokenizer.json holds whole"
        ) from error


def _check_model(model: Mapping[str, Any], key: str) -> None:
    """Refuse models whose pieces greedy longest match cannot use."""
    advice = "; give another tokenizer or a list of pieces"
    if model["type"] not in _MODELS:
        raise UserError(
            f"{key}: a tokenizer of type {model['type']} has no pieces inside words{advice}"
        )
    if model.get("end_of_word_suffix"):
        suffix = model["end_of_word_suffix"]
        raise UserError(
            f"{key}: pieces that end a word have a suffix there ({suffix}), which greedy longest "
            f"match cannot see{advice}"
        )
    if model.get("byte_fallback"):
        raise UserError(
            f"{key}: this tokenizer falls back to bytes where it has no piece, which greedy "
            "longest match cannot; give a byte-level tokenizer or a list of pieces"
        )


def _check_words(frame: HubFrame, key: str) -> None:
    """Refuse a frame that makes one word of a whole line; its words may be long."""
    if len(frame.words_of(_SAMPLE)) < 2:
        raise UserError(
            f"{key}: this tokenizer does not split text into words (no pre-tokenizer does), so a "
            "whole line is one word; give one that does, or a list of pieces"
        )


def _check_pieces(pieces: Sequence[str], key: str) -> None:
    if not pieces or not all(pieces):
        raise UserError(f"{key}: this tokenizer has no pieces, or an empty one; give another")
    if len(set(pieces)) < len(pieces) or any("\n" in piece for piece in pieces):
        raise UserError(f"{key}: this tokenizer has noncharacters in its pieces; give another")


# --- tokens that are no pieces


def _more_added(
    spec: Mapping[str, Any], named: set[str | None], order: Sequence[str]
) -> list[dict[str, Any]]:
    """Return added tokens for those that have a meaning beyond text and are not among them."""
    named |= set(_tokens_around(spec["post_processor"]))
    named.add((spec["padding"] or {}).get("pad_token"))
    known = {token["content"] for token in spec["added_tokens"]}
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return [
        {"id": number, "content": token, **plain, "special": True}
        for number, token in enumerate(order)
        if token in named and token not in known
    ]


def _tokens_around(post_processor: dict[str, Any] | None) -> Iterator[str]:
    """Yield the tokens that a post-processor puts around a text."""
    for step in steps_of(post_processor):
        for named in step.get("special_tokens", {}).values():
            yield from named["tokens"]
        yield from (step[end][0] for end in ENDS if end in step)


def roles_in(
    configuration: Mapping[str, Any], spec: Mapping[str, Any], order: Sequence[str]
) -> dict[str, str]:
    """Return the roles of tokens: as configured, else by the spelling of special tokens."""
    special = [token["content"] for token in spec["added_tokens"] if token["special"]]
    given = {role: _content(configuration.get(role)) for role in SPELLINGS}
    known = set(order)
    if any(given.values()):
        return {role: token for role, token in given.items() if token in known}
    return roles_of(special)


def _content(token: Any) -> str | None:
    """Return the text of a token as configurations write it: as it is, or with its flags."""
    text = token.get("content") if isinstance(token, Mapping) else token
    return text if isinstance(text, str) else None


def _carried(
    configuration: Mapping[str, Any],
    roles: Mapping[str, str],
    spec: Mapping[str, Any],
    order: Sequence[str],
) -> dict[str, Any]:
    """Return the configuration for the same tokens with another model."""
    kept = {name: configuration[name] for name in _CARRIED if configuration.get(name) is not None}
    longest = kept.pop("model_max_length", None)
    if isinstance(longest, int) and longest < _UNLIMITED:
        kept["model_max_length"] = longest
    if (unknown := spec["model"]["unk_token"]) is not None:
        roles = {"unk_token": unknown, **roles}
    special = {token["content"] for token in spec["added_tokens"] if token["special"]}
    return {**kept, **by_role(roles, (token for token in order if token in special))}


# --- pieces and merges


def _missing(frame: HubFrame, spec: Mapping[str, Any]) -> list[str]:
    """Return the tokens that greedy segmentation needs and the tokenizer lacks; sorted."""
    notation, known = frame.notation, set(frame.pieces)
    if isinstance(notation, Prefixed):
        return []
    if writes_bytes(spec):
        needed = set(map(notation.piece, pre_tokenizers.ByteLevel.alphabet()))
    else:
        needed = set("".join(frame.pieces))
        if any(piece.startswith(WORD_START) for piece in known):
            needed.add(WORD_START)
    return sorted(map(notation.token, needed - known))


def merges_of(model: Mapping[str, Any], frame: HubFrame) -> Merges | None:
    """Return the merges of pieces by rank, if a parsed model has such that pieces can use."""
    if model["type"] != "BPE" or frame.notation.prefix:
        return None
    piece, known = frame.notation.piece, set(frame.pieces)
    pairs = [(piece(left), piece(right)) for left, right in model["merges"]]
    return [(a, b) for a, b in pairs if known.issuperset((a, b, a + b))]
