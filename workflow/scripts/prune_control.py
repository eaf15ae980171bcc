"""Adapter of rule prune_control."""

from pathlib import Path

from reproduction.controls import SCORES, prune_lowest, prune_random
from reproduction.job import job
from reproduction.parquet import write_columns
from sagevocab.bpe import merges_of_model, read_model
from sagevocab.export import WordSettings, export_greedy
from sagevocab.pieces import read_pieces
from sagevocab.words import WordCorpus

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    pieces, size = read_pieces(inputs.pieces), params.pruning["final_size"]
    if params.method == "random":
        left, pruned = prune_random(pieces, size, params.seed)
    else:
        swallowed = params.method == "swallowed"
        merges = [merges_of_model(read_model(inputs.model))] if swallowed else []
        scores = SCORES[params.method](WordCorpus.load(inputs.words), pieces, *merges)
        left, pruned = prune_lowest(pieces, size, scores, params.pruning["prune_batch"])
    export_greedy(Path(snakemake.output.pieces).parent, left, WordSettings(**params.words))
    write_columns(snakemake.output.ablations, pruned)
