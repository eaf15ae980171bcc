"""Adapter of rule table_readings_claims."""

from sagevocab.paper.studies import read_assessment
from sagevocab.paper.tables_readings import table_readings_claims
from sagevocab.provenance import job

with job(snakemake):
    params = snakemake.params
    assessments = map(read_assessment, snakemake.input.readings)
    table_readings_claims(
        dict(zip(params.titles, assessments, strict=True)),
        params.readings,
        params.full,
        **snakemake.output,
    )
