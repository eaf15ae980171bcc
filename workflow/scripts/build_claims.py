"""Adapter of rule build_claims."""

from pathlib import Path

from reproduction.job import job
from reproduction.paper.claims import build_claims
from reproduction.paper.claims_inputs import Results

with job(snakemake):
    texts = snakemake.params.texts
    printed = [(one["language"], one["corpus"]) for one in texts if one["in_paper"]]
    build_claims(
        Results(
            **snakemake.params.run,
            folder=Path(snakemake.output.frame).parent,
            paper_texts=printed,
        ),
        values=snakemake.input.paper,
        template=snakemake.input.template,
        **snakemake.output,
    )
