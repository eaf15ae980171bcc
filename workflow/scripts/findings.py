"""Adapter of rule findings."""

from reproduction.job import job
from reproduction.paper.findings import build_findings

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    build_findings(
        snakemake.output.md,
        template=inputs.template,
        claims=inputs.claims,
        tables=dict(zip(params.tables, inputs.tables, strict=True)),
        values=inputs.paper,
        run=params.run,
        texts=params.texts,
        figures=params.figures,
    )
