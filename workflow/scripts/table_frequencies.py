"""Adapter of rule table_frequencies."""

from reproduction.analysis.counts import read_frequencies
from reproduction.job import job
from reproduction.paper.inputs import by_panel, of_language, read_paper_values
from reproduction.paper.notes import presets_note
from reproduction.paper.tables import table_frequencies

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
