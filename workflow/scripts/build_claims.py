"""Adapter of rule build_claims."""

from pathlib import Path

from sagevocab.paper.claims import build_claims
from sagevocab.paper.claims_inputs import Run
from sagevocab.provenance import job

with job(snakemake):
    settings = dict(snakemake.params.run)
    run = Run(
        folder=Path(settings.pop("folder")),
        benchmarks=Path(settings.pop("benchmarks")),
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
