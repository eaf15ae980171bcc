"""Adapter of rule build_report."""

from reproduction.job import job
from reproduction.paper.report import build_report

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    vocabularies = iter(inputs.vocabularies)
    build_report(
        snakemake.output.html,
        title=params.title,
        run=params.run,
        claims_path=inputs.claims,
        findings=inputs.findings,
        figures=dict(zip(params.figures, inputs.figures, strict=True)),
        tables=dict(zip(params.tables, inputs.tables, strict=True)),
        captions=params.captions,
        vocabularies={
            language: {name: next(vocabularies) for name in params.run["labels"]}
            for language in params.languages
        },
        paper=inputs.paper,
        template=inputs.template,
    )
