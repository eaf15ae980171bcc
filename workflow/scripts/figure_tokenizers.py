"""Adapter of rule figure_tokenizers."""

from sagevocab.paper.tokenizers import by_text, figure_tokenizers
from sagevocab.provenance import job

with job(snakemake):
    inputs, outputs, params = snakemake.input, snakemake.output, snakemake.params
    figure_tokenizers(
        by_text(params.texts, params.labels, inputs.summaries),
        pdf=outputs.pdf,
        png=outputs.png,
        style=inputs.style,
    )
