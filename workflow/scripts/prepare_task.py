"""Adapter of rule prepare_task."""

from reproduction.data.datasets import RowPart, prepare_task, task_errors
from reproduction.data.files import read_form, source_errors
from reproduction.job import job

with job(snakemake), task_errors(snakemake.wildcards.task):
    inputs, outputs, params = snakemake.input, snakemake.output, snakemake.params
    for split, (source, part) in params.splits.items():
        files, form = read_form(source, inputs[split])
        with source_errors(form):
            prepare_task(
                files,
                outputs[split],
                form,
                kind=params.kind,
                columns=params.columns,
                labels=params.labels,
                part=RowPart(**part) if part else None,
            )
