"""Adapter of rule measure_random_prunings."""

from reproduction.job import job
from reproduction.paper.random_prunings import measure_random_prunings
from reproduction.parquet import write_parquet

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    draws = measure_random_prunings(
        initial=inputs.initial,
        bpe=inputs.bpe,
        words=dict(zip(params.corpora, inputs.words, strict=True)),
        values=inputs.paper,
        language=snakemake.wildcards.lang,
        final_size=params.final_size,
        draws=params.draws,
        seed=params.seed,
    )
    write_parquet(snakemake.output.draws, draws)
