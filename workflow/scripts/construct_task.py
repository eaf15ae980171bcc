"""Adapter of rule construct_task."""

from reproduction.data.construct import construct
from reproduction.job import job
from reproduction.parquet import write_parquet

with job(snakemake):
    source = snakemake.params.source
    asked = (source["name"], source["split"], source["rows"], snakemake.params.seed)
    rows = construct(*asked, key=source["key"])
    write_parquet(snakemake.output.rows, rows)
