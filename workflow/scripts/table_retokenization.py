"""Adapter of rule table_retokenization."""

from reproduction.job import job
from reproduction.paper.inputs import by_panel, of_language, read_paper_values
from reproduction.paper.tables_examples import WordRule, table_retokenization, text_notes

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    printed = read_paper_values(inputs.paper)["retokenization"]
    table_retokenization(
        dict(zip(params.titles, inputs.lines, strict=True)),
        dict(zip(params.titles, inputs.initial, strict=True)),
        by_panel(params.titles, params.labels, inputs.ablations, str),
        window=params.window,
        words=WordRule(params.normalization, params.max_word_chars),
        paper=of_language(printed, params.languages, params.titles),
        notes=text_notes(params.presets, params.sources, inputs.descriptions),
        caption=params.caption,
        **snakemake.output,
    )
