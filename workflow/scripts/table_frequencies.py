"""Adapter of rule table_frequencies."""

from sagevocab.analysis.counts import read_frequencies
from sagevocab.paper.inputs import by_panel, of_language, read_paper_values
from sagevocab.paper.notes import presets_note
from sagevocab.paper.tables import table_frequencies
from sagevocab.provenance import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    printed = read_paper_values(inputs.paper)["frequency_pieces"]
    table_frequencies(
        by_panel(params.titles, params.labels, inputs.frequencies, read_frequencies),
        paper_pieces=of_language(printed, params.languages, params.titles),
        top=params.top,
        notes=[presets_note(params.presets.items())],
        caption=params.caption,
        **snakemake.output,
    )
