"""Vocabularies of every method, trained in seconds, and lines to segment with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from gensim.test.utils import datapath
from sentencepiece import sentencepiece_model_pb2

from sagevocab.corpus.words import MAX_WORD_CHARS, Normalizer, WordCorpus, split_words
from sagevocab.huggingface.export import (
    Card,
    WordSettings,
    export_greedy,
    export_merges,
    export_unigram,
)
from sagevocab.huggingface.sentencepiece import (
    merges_of_model,
    pieces_of_model,
    read_model,
    scores_of_model,
    write_model,
)
from sagevocab.initial.sentencepiece_models import TrainingSettings, train_bpe, train_unigram
from sagevocab.pieces import SPECIAL_TOKENS, UNKNOWN_ID, is_single_character
from sagevocab.segmentation.segmenter import UNCOVERED, Segmenter

SIZE = 900
CARD = Card(language="xx", language_name="Test", method="test")
WORDS = WordSettings()
TOKENIZERS = ("bpe", "sage", "merges", "unigram", "short_words", "casefold", "as_is")


def english() -> list[str]:
    text = Path(datapath("lee_background.cor")).read_text(encoding="utf-8")
    return [sentence for line in text.split("\n") for sentence in line.split(". ") if sentence]


def make_folders(root: Path, lines: list[str]) -> dict[str, Path]:
    """A folder of each kind, trained on `lines`."""
    corpus = WordCorpus.from_lines(lines, Normalizer())
    settings = TrainingSettings(ascii=False)
    write_model(root / "bpe.model", train_bpe(corpus, SIZE, settings, "size"))
    write_model(root / "unigram.model", train_unigram(corpus, SIZE, settings, "size"))
    bpe, unigram = read_model(root / "bpe.model"), read_model(root / "unigram.model")
    pieces, merges = pieces_of_model(bpe), merges_of_model(bpe)
    pruned = [p for n, p in enumerate(pieces) if is_single_character(p) or n % 3]
    scored = (pieces_of_model(unigram), scores_of_model(unigram))
    export_greedy(root / "bpe", pieces, WORDS, CARD)
    export_greedy(root / "sage", pruned, WORDS, CARD)
    export_merges(root / "merges", pieces, merges, WORDS, CARD)
    export_unigram(root / "unigram", *scored, WORDS, CARD)
    export_merges(root / "short_words", pieces, merges, WordSettings(max_word_chars=4), CARD)
    export_unigram(root / "casefold", *scored, WordSettings("nmt_nfkc_cf"), CARD)
    export_greedy(root / "as_is", pieces, WordSettings("identity"), CARD)
    return {name: root / name for name in TOKENIZERS}


def merges_of(pieces: Sequence[str]) -> list[tuple[str, str]]:
    """The merges of a sentencepiece BPE model, whose pieces stand in the order of their ranks."""
    model = sentencepiece_model_pb2.ModelProto()
    for rank, piece in enumerate(pieces):
        model.pieces.add(piece=piece, score=-rank)
    return merges_of_model(model)


def encode(
    text: str,
    segmenter: Segmenter,
    normalizer: Normalizer,
    max_word_chars: int = MAX_WORD_CHARS,
) -> list[int]:
    """Turn text into Hugging Face ids: those of the exported folder, without special tokens."""
    words = split_words(normalizer(text), max_word_chars)
    if not words:
        return []
    numbers, _ = segmenter.segment_words(words)
    return np.where(numbers == UNCOVERED, UNKNOWN_ID, numbers + len(SPECIAL_TOKENS)).tolist()
