"""Adapter of rule prepare_task."""

from sagevocab.data.datasets import RowPart, prepare_task, task_errors
from sagevocab.data.sources import read_source
from sagevocab.provenance import job

with job(snakemake), task_errors(snakemake.wildcards.task):
    files, description = read_source(snakemake.params.source, snakemake.input.source)
    prepare_task(
        files,
        snakemake.output.rows,
        description["format"],
        kind=snakemake.params.kind,
        columns=snakemake.params.columns,
        labels=snakemake.params.labels,
        part=RowPart(**snakemake.params.part) if snakemake.params.part else None,
    )
