"""Adapter of rule table_evidence."""

from reproduction.job import job
from reproduction.paper.causal import read_causal
from reproduction.paper.evidence import gather_evidence, read_models, read_probes
from reproduction.paper.inputs import by_panel, read_paper_values
from reproduction.paper.ngrams import read_ngrams
from reproduction.paper.notes import presets_note
from reproduction.paper.tables_evidence import table_evidence

with job(snakemake):
    inputs, params, label = snakemake.input, snakemake.params, snakemake.params.baseline
    data = gather_evidence(
        read_ngrams(by_panel(params.titles, params.labels, inputs.ngrams, str)),
        read_probes(params.tasks, params.seeds, params.labels, inputs.probes),
        read_models(inputs.differences, inputs.curves, params.task_languages, label),
        read_causal(params.causal_titles, params.compared, params.causal_seeds, inputs.causal),
        baseline=label,
        nulls=params.nulls,
        paper=read_paper_values(inputs.paper)["tables"],
        seed=params.seed,
    )
    shown = {"labels": params.labels, "baseline": label, "caption": params.caption}
    table_evidence(data, notes=[presets_note(params.presets.items())], **shown, **snakemake.output)
