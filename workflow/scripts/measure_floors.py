"""Adapter of rule measure_floors."""

from pathlib import Path

from reproduction.job import job
from reproduction.lm.floors import measure_floors
from reproduction.lm.tokenizer import load_encoder
from reproduction.parquet import write_parquet

with job(snakemake):
    inputs = snakemake.input
    shards, encoder = Path(inputs.questions).parent, load_encoder(Path(inputs.tokenizer).parent)
    write_parquet(snakemake.output.floors, measure_floors(inputs.train, shards, encoder))
