"""Adapter of rule prepare_task."""

from reproduction.data.datasets import ExpectedRows, RowPart, prepare_task, task_errors
from reproduction.data.descriptions import read_source, source_errors
from reproduction.job import job

with job(snakemake), task_errors(snakemake.wildcards.task):
    inputs, outputs, params = snakemake.input, snakemake.output, snakemake.params
    for split, (source, part) in params.splits.items():
        files, description = read_source(source, inputs[split])
        with source_errors(description):
            prepare_task(
                files,
                outputs[split],
                description["format"],
                kind=params.kind,
                columns=params.columns,
                labels=params.labels,
                where=description.get("where"),
                part=RowPart(**part) if part else None,
                expected=ExpectedRows.of(description),
            )
