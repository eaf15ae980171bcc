"""Adapter of rule figure_tokenizers."""

from reproduction.job import job
from reproduction.paper.tokenizers import by_text, figure_tokenizers

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    texts = by_text(params.texts, params.labels, inputs.summaries)
    figure_tokenizers(texts, **snakemake.output, style=inputs.style)
