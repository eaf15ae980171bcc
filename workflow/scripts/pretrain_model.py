"""Adapter of rule pretrain_model."""

from pathlib import Path

from reproduction.describe import describe_source
from reproduction.job import job
from reproduction.lm.gpus import reserve_gpus
from reproduction.lm.settings import PretrainSettings
from reproduction.lm.torchrun import pretrain_together

with job(snakemake) as progress:
    free = dict(snakemake.params.free)
    gpus = free.pop("gpus")
    reserve_gpus(gpus)
    processes = max(1, gpus)
    pretrain_together(
        processes,
        shards=Path(snakemake.input.shards).parent,
        vocabulary=Path(snakemake.input.tokenizer).parent,
        output=Path(snakemake.output.weights).parent,
        settings=PretrainSettings(**snakemake.params.settings, **free),
        name=snakemake.params.name,
        seed=int(snakemake.params.seed),
        state_dir=progress,
        threads=max(1, snakemake.threads // processes),
        gpus=gpus,
        corpus=describe_source(snakemake.params.text),
    )
