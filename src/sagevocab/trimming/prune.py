"""`prune`: a tokenizer with fewer entries, which cuts as before wherever it can.

The result is the same `tokenizer.json` without some pieces: normalizer, pre-tokenizer, decoder and
special tokens stay as they are, ids close up in their old order. `old_ids` says what each new id
was, so that the rows of a model can be taken along.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from sagevocab.corpus.text import Texts, describe_texts, lines_of, paths_of
from sagevocab.errors import UserError
from sagevocab.huggingface.detect import kind_of, name_of, path_of, require_tokenizer
from sagevocab.huggingface.export import check_output
from sagevocab.huggingface.pretrained import load_hub, parsed
from sagevocab.trimming.choice import BY, order_of_pruning, part_counts
from sagevocab.trimming.chunks import Chunks
from sagevocab.trimming.folder import files_beside, sources_of, write_folder
from sagevocab.trimming.models import BYTES, Model, model_of

Spec = dict[str, Any]
_TO_GIVE = "give a Hugging Face folder or a tokenizer.json (sagevocab export writes one)"


@dataclass(frozen=True, repr=False)
class PrunedTokenizer:
    """A tokenizer with fewer entries.

    tokenizer: the reduced one. old_ids: int64[entries], by new id. pruned: the pieces that went, in
    their order. tokens: how many the text had before, and has now, added tokens aside.
    """

    tokenizer: Tokenizer
    old_ids: np.ndarray
    pruned: list[str]
    tokens: tuple[int, int]
    _files: Mapping[str, bytes]
    _sources: list[Path]

    def __repr__(self) -> str:
        """Return the sizes alone: the whole would be megabytes."""
        entries, pruned = len(self.old_ids), len(self.pruned)
        return f"<PrunedTokenizer: {entries} entries, {pruned} pruned, tokens: {self.tokens}>"

    def save(self, output: str | Path, *, force: bool = False) -> None:
        """Write a folder for `AutoTokenizer.from_pretrained`, with `old_ids.npy` beside.

        Args:
            output: a new folder.
            force: replace a tokenizer that is there.

        Raises:
            UserError: the folder cannot be written, or holds something, or is, holds or lies in
                what was read.
        """
        write_folder(
            Path(output),
            self.tokenizer,
            self.old_ids,
            len(self.old_ids) + len(self.pruned),
            self._files,
            force=force,
            sources=self._sources,
        )


def prune(
    tokenizer: Any,
    texts: Texts,
    vocab_size: int,
    *,
    by: str = BY[0],
    scores: Mapping[str, float] | None = None,
    keep: Iterable[str] = (),
    column: str | None = None,
    bad_text: str = "refuse",
    output: str | Path | None = None,
    force: bool = False,
) -> PrunedTokenizer:
    """Prune a finished tokenizer to the entries that a text needs most.

    Text whose cut has none of the pruned pieces is cut as before. Sizes are nested: a smaller one
    prunes what a larger one does, and more.

    Args:
        tokenizer: a folder, a `tokenizer.json`, or a tokenizer of `transformers` or `tokenizers`
            with a BPE, Unigram or WordPiece model.
        texts: what it is for, as `train` takes it.
        vocab_size: entries in the end, added tokens among them.
        by: `tokens` (those that the text gains without a piece) or `frequency`.
        scores: what pieces are worth, by piece as the file has it, in place of `by`; of all that
            can go.
        keep: pieces that stay, as the file has them.
        column: of tables, the one that holds the text.
        bad_text: as for `train`.
        output: a new folder to write.
        force: replace a tokenizer that is there.

    Returns:
        The tokenizer with its old ids; `save` writes a folder.

    Raises:
        UserError: the tokenizer cannot be pruned exactly, or not so far.
    """
    if by not in BY:
        raise UserError(f"by: {by!r} is not a criterion; give {' or '.join(BY)}, or scores=")
    if scores is not None and by != BY[0]:
        raise UserError(f"by: {by} has no meaning with scores; leave one of them out")
    sources = [*sources_of(tokenizer), *paths_of(texts)]
    if output is not None:
        check_output(output, force, sources)
    name = name_of(tokenizer)
    if (source := path_of(tokenizer)) is not None:
        require_tokenizer(Path(source), to_give=_TO_GIVE)
        if kind_of(Path(source)) != "hub":
            raise UserError(f"tokenizer: {name} is a model or a list of pieces; {_TO_GIVE}")
    whole = load_hub(tokenizer, "tokenizer")
    spec = parsed(whole, f"tokenizer: {name}")
    model = model_of(spec, _protected(whole, spec, keep), f"tokenizer: {name}")
    lengths = part_counts(model)
    _check_scores(scores, whole, lengths)
    wanted = whole.get_vocab_size(with_added_tokens=True) - _checked_size(vocab_size)
    if wanted < 0:
        raise UserError(
            f"vocab_size: {vocab_size} is more than the {wanted + vocab_size} entries of {name}; "
            "give fewer"
        )
    _require_enough(len(lengths), wanted, vocab_size, name)  # before the text is read
    chunks = Chunks(whole, spec, lines_of(texts, column, bad_text))
    if not (before := chunks.total):
        place = describe_texts(texts)
        raise UserError(f"{place}: holds no text; give text that the tokenizer should fit")
    pruned = list(islice(order_of_pruning(model, chunks, by, lengths, scores), wanted))
    _require_enough(len(pruned), wanted, vocab_size, name)
    reduced, old_ids = _without(whole, spec, model)
    chunks.encode_again(model, pruned)
    tokens = before, chunks.total
    result = PrunedTokenizer(reduced, old_ids, pruned, tokens, files_beside(tokenizer), sources)
    if output is not None:
        result.save(output, force=force)
    return result


def _checked_size(vocab_size: Any) -> int:
    if isinstance(vocab_size, bool) or not isinstance(vocab_size, Integral) or vocab_size < 1:
        raise UserError(f"vocab_size: {vocab_size!r} is not a number of entries")
    return int(vocab_size)


def _require_enough(can_go: int, wanted: int, vocab_size: int, name: str) -> None:
    """Refuse a size for which more pieces would have to go than can."""
    if can_go < wanted:
        raise UserError(
            f"vocab_size: {vocab_size} is too small: without {can_go} pieces, no more can go "
            f"from {name}; give {vocab_size + wanted - can_go} or more"
        )


def _check_scores(scores: Any, tokenizer: Tokenizer, can_go: Iterable[str]) -> None:
    """Refuse scores that are not finite numbers by piece, or not of all pieces that can go."""
    if scores is None:
        return
    if not isinstance(scores, Mapping):
        raise UserError(f"scores: {type(scores).__name__} is not a mapping from pieces to numbers")
    for piece, score in scores.items():
        _require_piece("scores", piece, tokenizer)
        if isinstance(score, str) or not isinstance(score, Real) or not math.isfinite(score):
            raise UserError(f"scores: {piece!r} has {score!r}, which is not a finite number")
    if missing := sorted(set(can_go) - scores.keys()):
        raise UserError(
            f"scores: {len(missing)} pieces that can go have no score, such as {missing[0]!r}; "
            "give each a score, or name those that stay in keep"
        )


def _require_piece(key: str, piece: Any, tokenizer: Tokenizer) -> None:
    if not isinstance(piece, str) or tokenizer.token_to_id(piece) is None:
        raise UserError(f"{key}: {piece!r} is not in the vocabulary; write it as the file does")


def _protected(tokenizer: Tokenizer, spec: Spec, keep: Iterable[str]) -> set[str]:
    """Return what never goes: added tokens, bytes, what the post-processor adds, and `keep`.

    Raises:
        UserError: a piece of `keep` is not in the vocabulary.
    """
    if isinstance(keep, str) or not isinstance(keep, Iterable):
        raise UserError(f"keep: {keep!r} is not a list of pieces; give one")
    keep = list(keep)
    for piece in keep:
        _require_piece("keep", piece, tokenizer)
    around: list[str] = []

    def note(number: int) -> int:
        around.append(tokenizer.id_to_token(number))
        return number

    _renumbered(spec.get("post_processor"), note)
    padding = spec.get("padding") or {}
    around += [padding["pad_token"]] if padding else []
    return {token["content"] for token in spec["added_tokens"]} | {*BYTES, *keep, *around}


def _without(tokenizer: Tokenizer, spec: Spec, model: Model) -> tuple[Tokenizer, np.ndarray]:
    """Return the tokenizer without the pieces that have gone, and its ids' old ones."""
    gone = model.gone
    entries = tokenizer.get_vocab(with_added_tokens=True)
    old_ids = np.array(sorted(number for piece, number in entries.items() if piece not in gone))
    new_id = {int(old): new for new, old in enumerate(old_ids)}
    # The file's numbers of added tokens are not always those in use.
    added = [{**one, "id": new_id[entries[one["content"]]]} for one in spec["added_tokens"]]
    around = _renumbered(spec.get("post_processor"), new_id.__getitem__)
    reduced = {**spec, "model": model.reduced(), "added_tokens": added, "post_processor": around}
    if padding := spec.get("padding"):
        reduced["padding"] = {**padding, "pad_id": new_id[padding["pad_id"]]}
    pruned = Tokenizer.from_str(json.dumps(reduced, ensure_ascii=False))
    for piece, number in pruned.get_vocab(with_added_tokens=True).items():
        if entries[piece] != old_ids[number]:
            raise RuntimeError(f"{piece!r} has the id {number}, which was {old_ids[number]}")
    return pruned, old_ids


def _renumbered(part: Any, new: Callable[[int], int]) -> Any:
    """Return a post-processor with other ids: those of templates, of BERT's and RoBERTa's ends."""
    if isinstance(part, list):
        return [_renumbered(one, new) for one in part]
    if not isinstance(part, dict):
        return part
    changed = {}
    for key, value in part.items():
        if key == "ids":
            changed[key] = [new(number) for number in value]
        elif key in ("sep", "cls"):
            changed[key] = [value[0], new(value[1])]
        else:
            changed[key] = _renumbered(value, new)
    return changed
