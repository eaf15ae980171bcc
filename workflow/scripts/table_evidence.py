"""Adapter of rule table_evidence."""

from sagevocab.paper.causal import read_causal
from sagevocab.paper.evidence import gather_evidence, read_models, read_probes
from sagevocab.paper.inputs import read_paper_values
from sagevocab.paper.ngrams import read_ngrams
from sagevocab.paper.notes import presets_note
from sagevocab.paper.tables_evidence import table_evidence
from sagevocab.provenance import job

with job(snakemake):
    inputs, params, label = snakemake.input, snakemake.params, snakemake.params.baseline
    data = gather_evidence(
        read_ngrams(params.titles, params.labels, inputs.ngrams),
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
