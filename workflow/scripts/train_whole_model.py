"""Adapter of rule train_whole_model."""

from reproduction.job import job
from reproduction.lm.cutting import train_whole
from reproduction.lm.gpus import reserve_gpus
from reproduction.lm.settings import CausalSettings
from sagevocab.corpus.words import WordCorpus
from sagevocab.pieces import read_pieces

with job(snakemake) as progress:
    inputs, params = snakemake.input, snakemake.params
    gpus = min(params.free["gpus"], 1)
    reserve_gpus(gpus)
    train_whole(
        WordCorpus.load(inputs.words),
        read_pieces(inputs.pieces),
        snakemake.output.weights,
        CausalSettings(**params.settings, checkpoint_minutes=params.free["checkpoint_minutes"]),
        seed=int(snakemake.wildcards.seed),
        threads=snakemake.threads,
        gpus=gpus,
        state_dir=progress,
    )
