"""Adapter of the rules export_bpe_merges and export_unigram_greedy."""

from pathlib import Path

from reproduction.job import job
from sagevocab.huggingface.export import WordSettings, export_greedy, export_merges
from sagevocab.huggingface.sentencepiece import merges_of_model, pieces_of_model, read_model

with job(snakemake):
    params, words = snakemake.params, WordSettings(**snakemake.params.words)
    model = read_model(snakemake.input.model)
    pieces, folder = pieces_of_model(model), Path(snakemake.output.pieces).parent
    if params.segmentation == "merges":
        export_merges(folder, pieces, merges_of_model(model), words)
    else:
        export_greedy(folder, pieces, words)
