"""Adapter of rule measure_rankings."""

from reproduction.job import job
from reproduction.parquet import read_parquet, write_columns
from reproduction.rankings import take_rankings
from sagevocab.corpus.words import WordCorpus
from sagevocab.huggingface.sentencepiece import merges_of_model, read_model
from sagevocab.pieces import read_pieces
from sagevocab.settings import settings_from
from sagevocab.word2vec.embeddings import Embeddings

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    rankings = take_rankings(
        WordCorpus.load(inputs.words),
        read_pieces(inputs.pieces),
        merges_of_model(read_model(inputs.model)),
        Embeddings.load(inputs.embeddings) if inputs.embeddings else None,
        read_parquet(inputs.ablations, ["iteration", "piece"]).to_dict("list"),
        settings_from(**params.sage, threads=snakemake.threads),
    )
    write_columns(snakemake.output.rankings, rankings)
