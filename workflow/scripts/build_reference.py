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
            {**source, **text, "summary": summary}
            for source, text, summary in zip(
                params.sources, params.texts, inputs.summaries, strict=True
            )
        ],
        lists=params.lists,
        tasks=[
            {**task, "rows": rows} for task, rows in zip(params.tasks, inputs.rows, strict=True)
        ],
        run=params.run,
        paper=inputs.paper,
        command=params.command,
        tokenizers=[Path(file).parent for file in inputs.tokenizers],
        calls=params.calls,
        results=Path(inputs.artefacts[0]).parents[1],
        prunings=inputs.prunings,
    )
