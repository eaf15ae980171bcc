"""Skip-gram vectors of a finished vocabulary, in the segmentation of its own tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sagevocab.corpus.words import WordCorpus
from sagevocab.segmentation.segmenter import Segmenter
from sagevocab.settings import Word2VecSettings
from sagevocab.word2vec.embeddings import train_embeddings


def train_vectors(
    corpus: WordCorpus,
    segmenter: Segmenter,
    settings: Word2VecSettings,
    seeds: Sequence[int],
    *,
    lines: int,
) -> dict[str, np.ndarray]:
    """Train vectors (E_T) of the segmenter's pieces once a seed, each on lines of its own.

    Args:
        corpus: the training text.
        segmenter: of the tokenizer.
        settings: of the embeddings; their seed and lines do not count.
        seeds: of the lines drawn and of the training.
        lines: how many are drawn; all where there are fewer.

    Returns:
        seed as text -> float32[pieces, dimension].

    Raises:
        UserError: the lines show no piece at all.
    """
    vectors = {}
    for seed in seeds:
        drawn = corpus.sample(lines, seed).with_types_of_lines()
        own = replace(settings, seed=seed, lines="all")
        vectors[str(seed)] = train_embeddings(drawn, segmenter, own).target
    return vectors
