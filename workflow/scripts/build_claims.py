"""Adapter of rule build_claims."""

from pathlib import Path

from reproduction.job import job
from reproduction.paper.claims import build_claims
from reproduction.paper.claims_inputs import Results
from reproduction.paper.inputs import as_retrieved

with job(snakemake):
    settings = dict(snakemake.params.run)
    texts = as_retrieved(snakemake.params.texts, snakemake.input.descriptions)
    run = Results(
        folder=Path(settings.pop("folder")),
        benchmarks=Path(settings.pop("benchmarks")),
        paper_texts=[(one["language"], one["corpus"]) for one in texts if one["in_paper"]],
        **settings,
    )
    build_claims(
        run,
        values=snakemake.input.paper,
        inputs=snakemake.input,
        state_dir=snakemake.params.state_dir,
        code=snakemake.params.code,
        **snakemake.output,
    )
