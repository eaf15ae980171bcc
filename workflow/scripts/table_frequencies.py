"""Adapter of rule table_frequencies."""

from sagevocab.analysis.counts import read_frequencies
from sagevocab.paper.notes import presets_note
from sagevocab.paper.panels import by_panel, of_language
from sagevocab.paper.tables import read_paper_values, table_frequencies
from sagevocab.provenance import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    printed = read_paper_values(inputs.paper)["frequency_pieces"]
    table_frequencies(
        by_panel(params.titles, params.labels, inputs.frequencies, read_frequencies),
        paper_pieces=of_language(printed, params.languages, params.titles),
        top=params.top,
        notes=[presets_note(params.presets.items())],
        **snakemake.output,
    )
