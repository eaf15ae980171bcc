"""Adapter of rule sample_again."""

from reproduction.data.corpus import sample_at_most
from reproduction.job import job

with job(snakemake):
    params = snakemake.params
    sample_at_most(
        snakemake.input.lines, snakemake.output.lines, lines=params.lines, seed=params.seed
    )
