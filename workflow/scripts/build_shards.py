"""Adapter of rule build_shards."""

import os
from pathlib import Path

# The tokenizer's threads are chosen when it is first used.
os.environ["RAYON_NUM_THREADS"] = str(snakemake.threads)

from reproduction.job import job
from reproduction.lm.heldout import HeldoutSettings
from reproduction.lm.shards import build_shards

with job(snakemake):
    build_shards(
        snakemake.input.train,
        snakemake.input.heldout,
        Path(snakemake.input.tokenizer).parent,
        Path(snakemake.output.index).parent,
        sequence_length=snakemake.params.sequence_length,
        questions=HeldoutSettings(**snakemake.params.questions),
    )
