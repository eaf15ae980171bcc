"""Adapter of rule measure_morphology."""

from pathlib import Path

from sagevocab.analysis.morphology import boundary_agreement, read_morphemes
from sagevocab.provenance import job
from sagevocab.state import write_json
from sagevocab.vocab.segment import load_segmenter
from sagevocab.vocab.words import Normalizer

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    agreement = boundary_agreement(
        read_morphemes(inputs.morphemes, params.format),
        load_segmenter(Path(inputs.tokenizer).parent),
        Normalizer(params.normalization),
        max_word_chars=params.max_word_chars,
        seed=params.seed,
    )
    write_json(snakemake.output.agreement, agreement)
