"""Adapter of rule table_tokenizers."""

from reproduction.job import job
from reproduction.paper.inputs import by_panel
from reproduction.paper.notes import presets_note
from reproduction.paper.tokenizers import by_text, table_tokenizers
from sagevocab.state import read_json

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    listed = by_panel(params.listed, params.labels, inputs.morphology, read_json)
    table_tokenizers(
        by_text(params.texts, params.labels, inputs.summaries),
        morphology=listed,
        notes=[presets_note(params.presets.items())],
        caption=params.caption,
        **snakemake.output,
    )
