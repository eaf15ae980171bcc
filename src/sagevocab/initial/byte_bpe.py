"""Byte-level BPE, of which tokenizers are pruned that give every text back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from sagevocab.corpus.words import WordCorpus
from sagevocab.errors import UserError
from sagevocab.huggingface.pipelines import BytePipeline
from sagevocab.initial.sentencepiece_models import TooManyPiecesError
from sagevocab.pieces import tokens_by_id

_LETTERS = 256


def train_bytes(
    corpus: WordCorpus,
    size: int,
    pipeline: BytePipeline,
    max_piece_length: int,
    *,
    name: str,
    key: str,
) -> Tokenizer:
    """Train byte-level BPE on a corpus; its result depends on the lines alone.

    Args:
        corpus: of the words of the pipeline.
        size: number of pieces, the 256 letters among them.
        pipeline: without pieces.
        max_piece_length: in bytes.
        name: of the text, for messages.
        key: the setting that the size is from, for messages.

    Returns:
        The tokenizer, of which only the model counts.

    Raises:
        UserError: the text allows no vocabulary of this size.
    """
    if size < _LETTERS:
        raise UserError(f"{key}: {size} pieces are fewer than the 256 bytes; set it to more")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pipeline.pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        max_token_length=max_piece_length,
        show_progress=False,
    )
    tokenizer.train_from_iterator(_lines(corpus, pipeline), trainer)
    found = tokens_by_id(tokenizer)
    if len(found) < size:
        raise TooManyPiecesError(size, len(found), name, key)
    return tokenizer


def _lines(corpus: WordCorpus, pipeline: BytePipeline) -> Iterator[str]:
    """Yield the lines of a corpus as they were, for nothing of them is lost."""
    texts = [pipeline.text_of([word]) for word in corpus.types]
    for start, end in pairwise(corpus.line_offsets):
        yield "".join([texts[number] for number in corpus.tokens[start:end].tolist()])
