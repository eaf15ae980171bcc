"""Adapter of rule table_tokenizers."""

from sagevocab.paper.notes import presets_note
from sagevocab.paper.panels import by_panel
from sagevocab.paper.tables_tokenizers import by_text, read_summary, table_tokenizers
from sagevocab.provenance import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    listed = by_panel(params.listed, params.labels, inputs.morphology, read_summary)
    table_tokenizers(
        by_text(params.texts, params.labels, inputs.summaries),
        morphology=listed,
        notes=[presets_note(params.presets.items())],
        **snakemake.output,
    )
