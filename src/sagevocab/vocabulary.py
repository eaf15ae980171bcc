"""What training gives: a vocabulary that encodes, and that is saved or uploaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sagevocab.errors import UserError
from sagevocab.files import Columns, atomic_folder, write_json, write_json_lines
from sagevocab.huggingface.encoder import Encoder
from sagevocab.huggingface.export import Card, check_output, disk_errors, export_greedy
from sagevocab.huggingface.pipelines import Pipeline
from sagevocab.word2vec.embeddings import Embeddings

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True, repr=False)
class SageVocabulary(Encoder):
    """A trained vocabulary, which encodes text as the folder does that `save` writes.

    pieces: in id order. initial: those it was pruned from. ablations: what was pruned, in order, as
    columns for `pandas.DataFrame` (see `sage.SageResult`). embeddings: the last trained, if any.
    pipeline: how text becomes words, and the special tokens. unknown: the characters of the text
    that become [UNK] and how often they are there, the most frequent first. record: settings, text
    and code that made it. sources: the files that were read, which `save` never replaces.
    """

    pieces: list[str]
    initial: list[str]
    ablations: Columns
    embeddings: Embeddings | None
    pipeline: Pipeline
    unknown: dict[str, int]
    card: Card
    record: Mapping[str, Any]
    sources: Sequence[Path] = ()

    def __repr__(self) -> str:
        """Return a line with the sizes."""
        pruned = f"{len(self.pieces)} pieces, pruned from {len(self.initial)}"
        return f"<SageVocabulary: {pruned}, {len(self.pipeline.special_tokens)} special tokens>"

    @cached_property
    def _whole(self) -> Tokenizer:
        return self.pipeline.tokenizer(self.pieces)

    def at_size(self, size: int) -> SageVocabulary:
        """Return the vocabulary as it was when pruning had left `size` pieces.

        Its pieces, ids and ablations are those of a training with the same initial vocabulary
        (`initial_size`, which otherwise grows with `vocab_size`) that ends at this size. The
        embeddings are those of this training: where they were trained again after that size, the
        shorter training's are older ones.

        Args:
            size: pieces, special tokens not counted; from those of this vocabulary to the initial
                ones.

        Raises:
            UserError: the training did not pass through this size.
        """
        least, most = len(self.pieces), len(self.initial)
        if not isinstance(size, Integral) or not least <= size <= most:
            raise UserError(
                f"size: {size!r} is not among the sizes of this training; give one from {least} to "
                f"{most}"
            )
        ablations = {name: values[: most - size] for name, values in self.ablations.items()}
        pruned = set(ablations["piece"])
        left = [piece for piece in self.initial if piece not in pruned]
        record = {**self.record, "at_size": int(size)}
        return replace(self, pieces=left, ablations=ablations, record=record)

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write the folder that `AutoTokenizer.from_pretrained` loads, whole or not at all.

        It holds `tokenizer.json`, `tokenizer_config.json`, `pieces.txt`, `ablations.jsonl` (a line
        for each pruned piece), `embeddings.npz` if vectors were trained, `sagevocab.json` (what
        made it) and a model card.

        Args:
            folder: the new folder.
            force: replace a tokenizer that is there.

        Returns:
            The folder.

        Raises:
            UserError: the folder is there already, holds what was read, or cannot be written.
        """
        check_output(folder, force, self.sources)
        with disk_errors(folder), atomic_folder(folder, replace=force) as temporary:
            export_greedy(temporary, self.pieces, self.pipeline, self.card)
            write_json_lines(temporary / "ablations.jsonl", self.ablations)
            if self.embeddings:
                self.embeddings.save(temporary / "embeddings.npz")
            write_json(temporary / "sagevocab.json", self.record)
        return Path(folder)
