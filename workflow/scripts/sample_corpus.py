"""Adapter of rule sample_corpus."""

from reproduction.data.corpus import sample_corpus
from reproduction.job import job

with job(snakemake):
    sample_corpus(
        snakemake.input.sentences,
        snakemake.output.train,
        snakemake.output.heldout,
        lines=snakemake.params.lines,
        heldout_lines=snakemake.params.heldout_lines,
        shuffle=snakemake.params.shuffle,
        seed=snakemake.params.seed,
        key=f"language_settings.{snakemake.wildcards.lang}",
    )
