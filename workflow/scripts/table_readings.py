"""Adapter of rule table_readings."""

from sagevocab.paper.studies import printed_quantities, read_assessment
from sagevocab.paper.tables_readings import table_readings
from sagevocab.provenance import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    assessments = map(read_assessment, inputs.readings)
    table_readings(
        dict(zip(params.titles, assessments, strict=True)),
        params.readings,
        params.full,
        paper=printed_quantities(inputs.paper),
        **snakemake.output,
    )
