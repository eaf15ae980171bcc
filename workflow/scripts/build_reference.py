"""Adapter of rule build_reference."""

from pathlib import Path

from reproduction.job import job
from reproduction.paper.reference import build_reference

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    build_reference(
        snakemake.output.folder,
        [*inputs.pages, *inputs.artefacts],
        template=inputs.template,
        texts=[
            {**text, "summary": summary}
            for text, summary in zip(params.texts, inputs.summaries, strict=True)
        ],
        sources=params.sources,
        run=params.run,
        paper=inputs.paper,
        command=params.command,
        tokenizers=[Path(file).parent for file in inputs.tokenizers],
        calls=params.calls,
        results=Path(inputs.artefacts[0]).parents[1],
        prunings=inputs.prunings,
    )
