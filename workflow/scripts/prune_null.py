"""Adapter of rule prune_null."""

from reproduction.controls import frequency, prune_lowest, prune_random
from reproduction.job import job
from reproduction.parquet import write_columns
from sagevocab.export import WordSettings, export_greedy
from sagevocab.pieces import read_pieces
from sagevocab.words import WordCorpus

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    pieces, size = read_pieces(inputs.pieces), params.final_size
    if params.method == "random":
        left, pruned = prune_random(pieces, size, params.seed)
    else:
        corpus = WordCorpus.load(inputs.words)
        scores = frequency(corpus, pieces)
        left, pruned = prune_lowest(pieces, size, scores, params.prune_batch)
    export_greedy(params.artefact, left, WordSettings(**params.words))
    write_columns(snakemake.output.ablations, pruned)
