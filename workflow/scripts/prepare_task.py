"""Adapter of rule prepare_task."""

from sagevocab.data.catalogue import read_description
from sagevocab.data.datasets import prepare_task
from sagevocab.provenance import job

with job(snakemake):
    prepare_task(
        snakemake.input.source[0],
        snakemake.output.rows,
        read_description(snakemake.params.source, snakemake.input.source)["format"],
        kind=snakemake.params.kind,
        columns=snakemake.params.columns,
        labels=snakemake.params.labels,
    )
