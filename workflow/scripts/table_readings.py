"""Adapter of the rules table_readings and table_readings_claims."""

from reproduction.job import job
from reproduction.paper import tables_studies
from reproduction.paper.studies import read_assessment

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
