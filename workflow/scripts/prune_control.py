"""Adapter of rule prune_control."""

from pathlib import Path

from reproduction.controls import SCORES, prune_lowest, prune_random
from reproduction.job import job
from reproduction.parquet import write_columns
from sagevocab.corpus.words import WordCorpus
from sagevocab.huggingface.export import WordSettings, export_greedy
from sagevocab.huggingface.sentencepiece import merges_of_model, read_model
from sagevocab.pieces import read_pieces

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    pieces, control = read_pieces(inputs.pieces), params.control
    method, size = control["method"], control["vocab_size"]
    if method == "random":
        left, pruned = prune_random(pieces, size, control["seed"])
    else:
        swallowed = method == "swallowed"
        merges = [merges_of_model(read_model(inputs.model))] if swallowed else []
        scores = SCORES[method](WordCorpus.load(inputs.words), pieces, *merges)
        left, pruned = prune_lowest(pieces, size, scores, control["prune_batch"])
    export_greedy(Path(snakemake.output.pieces).parent, left, WordSettings(**params.words))
    write_columns(snakemake.output.ablations, pruned)
