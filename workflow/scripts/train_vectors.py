"""Adapter of rule train_vectors."""

from pathlib import Path

from reproduction.analysis.vectors import train_vectors
from reproduction.job import job
from sagevocab.corpus.words import WordCorpus
from sagevocab.files import write_npz
from sagevocab.huggingface.segmenter import load_segmenter
from sagevocab.settings import Word2VecSettings

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    vectors = train_vectors(
        WordCorpus.load(inputs.words),
        load_segmenter(Path(inputs.tokenizer).parent),
        Word2VecSettings(**params.word2vec).on(snakemake.threads),
        params.seeds,
        lines=params.lines,
    )
    write_npz(snakemake.output.vectors, **vectors)
