"""Adapter of rule probe_task."""

from pathlib import Path

from reproduction.analysis.probes import probe_task, read_rows
from reproduction.job import job
from reproduction.parquet import write_parquet
from sagevocab.files import read_npz
from sagevocab.huggingface.segmenter import load_segmenter

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    words = {"normalization": params.normalization, "max_word_chars": params.max_word_chars}
    answers = probe_task(
        read_rows(inputs.train, inputs.validation, params.kind, seed=params.seed),
        params.kind,
        load_segmenter(Path(inputs.tokenizer).parent),
        {seed: matrix for path in inputs.vectors for seed, matrix in read_npz(path).items()},
        **words,
    )
    write_parquet(snakemake.output.answers, answers)
