"""Adapter of the rules table_readings and table_readings_claims."""

from sagevocab.paper import tables_studies
from sagevocab.paper.studies import read_assessment
from sagevocab.provenance import job

with job(snakemake):
    params = snakemake.params
    write = getattr(tables_studies, snakemake.rule)
    assessments = map(read_assessment, snakemake.input.readings)
    write(
        dict(zip(params.titles, assessments, strict=True)),
        params.readings,
        caption=params.caption,
        **snakemake.output,
    )
