"""Adapter of rule build_reference."""

from pathlib import Path

from sagevocab.paper.reference import build_reference
from sagevocab.provenance import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    build_reference(
        snakemake.output.folder,
        [*inputs.pages, *inputs.artefacts],
        texts=[
            {**text, "summary": summary}
            for text, summary in zip(params.texts, inputs.summaries, strict=True)
        ],
        lists=params.lists,
        tasks=[
            {**task, "rows": rows} for task, rows in zip(params.tasks, inputs.rows, strict=True)
        ],
        run=params.run,
        changes=params.changes,
        claims=inputs.get("claims"),
        paper=inputs.paper,
        command=params.command,
        tokenizers=[Path(file).parent for file in inputs.tokenizers],
        prunings=inputs.prunings,
        probes=inputs.probes,
        predictions=inputs.predictions,
        causal=inputs.causal,
        made={"Models were trained": inputs.models, "Scores were made": inputs.scores},
    )
