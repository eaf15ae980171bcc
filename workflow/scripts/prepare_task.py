"""Adapter of rule prepare_task."""

from reproduction.data.datasets import RowPart, prepare_task, task_errors
from reproduction.data.files import Form
from reproduction.job import job

with job(snakemake), task_errors(snakemake.wildcards.task):
    params = snakemake.params
    for split, (form, part) in params.splits.items():
        prepare_task(
            snakemake.input[split],
            snakemake.output[split],
            Form(**form),
            kind=params.kind,
            columns=params.columns,
            labels=params.labels,
            part=RowPart(**part) if part else None,
        )
