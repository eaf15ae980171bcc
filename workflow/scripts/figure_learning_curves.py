"""Adapter of rule figure_learning_curves."""

from reproduction.job import job
from reproduction.paper.causal import read_causal
from reproduction.paper.curves import read_curves
from reproduction.paper.learning_curves import figure_learning_curves
from reproduction.paper.ngrams import read_ngrams

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    figure_learning_curves(
        read_curves(params.titles, params.compared, inputs.heldout, inputs.repeats, inputs.floors),
        labels=params.labels,
        baseline=params.baseline,
        seed=params.seed,
        causal=read_causal(
            params.causal_titles, params.causal_labels, params.causal_seeds, inputs.causal
        ),
        causal_lines=params.causal_lines,
        ngrams=read_ngrams(params.ngram_titles, params.compared, inputs.ngrams),
        **snakemake.output,
        style=inputs.style,
    )
