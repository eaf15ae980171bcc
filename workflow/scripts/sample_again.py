"""Adapter of rule sample_again."""

from sagevocab.data.corpus import sample_at_most
from sagevocab.provenance import job

with job(snakemake):
    params = snakemake.params
    sample_at_most(
        snakemake.input.lines, snakemake.output.lines, lines=params.lines, seed=params.seed
    )
