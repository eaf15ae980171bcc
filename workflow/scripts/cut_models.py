"""Adapter of rule cut_models."""

import torch

from reproduction.job import job
from reproduction.lm.cutting import measure_cut_models
from reproduction.lm.settings import CausalSettings
from reproduction.parquet import read_parquet
from sagevocab.corpus.text import read_lines
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.pieces import read_pieces

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    torch.set_num_threads(snakemake.threads)
    normalizer = Normalizer(params.normalization)
    files = zip(params.names, inputs.prunings, strict=True)
    measure_cut_models(
        inputs.weights,
        WordCorpus.from_lines(read_lines(inputs.heldout), normalizer, params.max_word_chars),
        read_pieces(inputs.pieces),
        {name: read_parquet(file, ["piece"])["piece"].tolist() for name, file in files},
        snakemake.output.bits,
        CausalSettings(**params.settings),
    )
