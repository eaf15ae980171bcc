"""Adapter of rule figure_tokenizers."""

from sagevocab.paper.tokenizers import by_text, figure_tokenizers
from sagevocab.provenance import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    texts = by_text(params.texts, params.labels, inputs.summaries)
    figure_tokenizers(texts, **snakemake.output, style=inputs.style)
