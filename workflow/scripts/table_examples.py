"""Adapter of rule table_examples."""

from reproduction.job import job
from reproduction.paper.inputs import by_panel, of_language, read_paper_values
from reproduction.paper.tables_examples import WordRule, read_greedy, table_examples, text_notes

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    printed = read_paper_values(inputs.paper)["examples"]
    table_examples(
        dict(zip(params.titles, inputs.lines, strict=True)),
        by_panel(params.titles, params.labels, inputs.pieces, read_greedy),
        words=WordRule(params.normalization, params.max_word_chars),
        paper=of_language(printed, params.languages, params.titles),
        notes=text_notes(params.presets, params.sources, inputs.descriptions),
        caption=params.caption,
        **snakemake.output,
    )
