"""Adapter of rule train_vectors."""

from pathlib import Path

from sagevocab.analysis.vectors import train_vectors
from sagevocab.provenance import job
from sagevocab.state import write_npz
from sagevocab.vocab.segment import load_segmenter
from sagevocab.vocab.settings import Word2VecSettings
from sagevocab.vocab.words import WordCorpus

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    vectors = train_vectors(
        WordCorpus.load(inputs.words),
        load_segmenter(Path(inputs.tokenizer).parent),
        Word2VecSettings(**params.word2vec).on(snakemake.threads),
        params.seeds,
        lines=params.lines,
        state_dir=params.state_dir,
    )
    write_npz(snakemake.output.vectors, **vectors)
