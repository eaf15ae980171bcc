"""Adapter of rule findings."""

from sagevocab.paper.findings import build_findings
from sagevocab.paper.inputs import as_retrieved
from sagevocab.provenance import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    build_findings(
        snakemake.output.md,
        snakemake.output.tex,
        template=inputs.template,
        claims=inputs.claims,
        tables=dict(zip(params.tables, inputs.tables, strict=True)),
        values=inputs.paper,
        run=params.run,
        texts=as_retrieved(params.texts, inputs.descriptions),
        figures=params.figures,
    )
