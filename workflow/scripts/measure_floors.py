"""Adapter of rule measure_floors."""

from pathlib import Path

from sagevocab.lm.floors import measure_floors
from sagevocab.provenance import job
from sagevocab.state import write_parquet

with job(snakemake):
    inputs = snakemake.input
    shards, vocabulary = Path(inputs.questions).parent, Path(inputs.tokenizer).parent
    write_parquet(snakemake.output.floors, measure_floors(inputs.train, shards, vocabulary))
