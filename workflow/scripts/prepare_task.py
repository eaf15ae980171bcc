"""Adapter of rule prepare_task."""

from reproduction.data.construct import construct
from reproduction.data.datasets import RowPart, prepare_task, task_errors
from reproduction.data.files import Form
from reproduction.job import job
from reproduction.parquet import write_parquet
from sagevocab.state import scratch_folder

with job(snakemake), task_errors(snakemake.wildcards.task):
    inputs, outputs, params = snakemake.input, snakemake.output, snakemake.params
    for split, (source, part) in params.splits.items():
        files, form = inputs[split], Form(**source)
        with scratch_folder(outputs[split]) as folder:
            if source["kind"] == "constructed":
                files = [str(folder / "rows.parquet")]
                asked = (source["name"], source["split"], source["rows"], source["seed"])
                write_parquet(files[0], construct(*asked, key=source["key"]))
            prepare_task(
                files,
                outputs[split],
                form,
                kind=params.kind,
                columns=params.columns,
                labels=params.labels,
                part=RowPart(**part) if part else None,
            )
