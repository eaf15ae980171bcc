"""Adapter of rule measure_rankings."""

import pandas as pd

from sagevocab.provenance import job
from sagevocab.state import write_parquet
from sagevocab.vocab.bpe import merges_of_model, read_model
from sagevocab.vocab.embeddings import Embeddings
from sagevocab.vocab.pieces import read_pieces
from sagevocab.vocab.sage import settings_from, take_rankings
from sagevocab.vocab.words import WordCorpus

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    rankings = take_rankings(
        WordCorpus.load(inputs.words),
        read_pieces(inputs.pieces),
        merges_of_model(read_model(inputs.model)),
        Embeddings.load(inputs.embeddings),
        pd.read_parquet(inputs.ablations),
        settings_from(**params.sage, threads=snakemake.threads, scheduler=params.scheduler),
        every=params.every,
    )
    write_parquet(snakemake.output.rankings, rankings)
