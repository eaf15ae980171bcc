"""Adapter of rule measure_morphology."""

from pathlib import Path

from reproduction.analysis.morphology import boundary_agreement, count_boundaries, read_morphemes
from reproduction.job import job
from reproduction.parquet import write_parquet
from sagevocab.corpus.words import Normalizer
from sagevocab.files import write_json
from sagevocab.huggingface.segmenter import load_segmenter

with job(snakemake):
    inputs, outputs, params = snakemake.input, snakemake.output, snakemake.params
    morphemes = read_morphemes(inputs.morphemes, params.format)
    segmenter = load_segmenter(Path(inputs.tokenizer).parent)
    normalizer = Normalizer(params.normalization)
    counts = count_boundaries(
        morphemes, segmenter, normalizer, max_word_chars=params.max_word_chars
    )
    write_parquet(outputs.words, counts)
    agreement = boundary_agreement(counts, listed=len(morphemes), seed=params.seed)
    write_json(outputs.agreement, agreement)
