"""Adapter of rule measure_rankings."""

import pandas as pd

from reproduction.job import job
from sagevocab.bpe import merges_of_model, read_model
from sagevocab.embeddings import Embeddings
from sagevocab.pieces import read_pieces
from sagevocab.sage import settings_from, take_rankings
from sagevocab.state import write_parquet
from sagevocab.words import WordCorpus

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    rankings = take_rankings(
        WordCorpus.load(inputs.words),
        read_pieces(inputs.pieces),
        merges_of_model(read_model(inputs.model)),
        Embeddings.load(inputs.embeddings) if inputs.embeddings else None,
        pd.read_parquet(inputs.ablations),
        settings_from(**params.sage, threads=snakemake.threads),
        every=params.every,
    )
    write_parquet(snakemake.output.rankings, rankings)
