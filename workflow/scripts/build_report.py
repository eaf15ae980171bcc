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
        figures=dict(zip(params.figures, inputs.figures, strict=True)),
        tables=dict(zip(params.tables, inputs.tables, strict=True)),
        titles=params.titles,
        captions=params.captions,
        vocabularies={
            language: {name: next(vocabularies) for name in params.run["labels"]}
            for language in params.languages
        },
        corpora=dict(zip(params.corpora, inputs.corpora, strict=True)),
        paper=inputs.paper,
        template=inputs.template,
        manifest=params.manifest,
        **{name: inputs.get(name, "") for name in ("claims_path", "findings")},
    )
