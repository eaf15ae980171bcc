"""Adapter of rule export_again."""

from pathlib import Path

from reproduction.job import job
from sagevocab.huggingface.export import WordSettings, export_greedy, export_merges
from sagevocab.huggingface.sentencepiece import merges_of_model, pieces_of_model, read_model

with job(snakemake):
    params, words = snakemake.params, WordSettings(**snakemake.params.words)
    model = read_model(snakemake.input.model)
    pieces, folder = pieces_of_model(model), Path(snakemake.output.pieces).parent
    if params.method == "bpe_merges":
        export_merges(folder, pieces, merges_of_model(model), words)
    else:
        export_greedy(folder, pieces, words)
