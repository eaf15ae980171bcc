"""Adapter of rule pretrain_model."""

from pathlib import Path

from sagevocab.lm.cards import claimed_gpus
from sagevocab.lm.pretrain import pretrain
from sagevocab.lm.settings import PretrainSettings
from sagevocab.provenance import job

with job(snakemake), claimed_gpus(snakemake.resources.gpu):
    settings = PretrainSettings.from_config(snakemake.config["lm"]["pretrain"])
    pretrain(
        Path(snakemake.input.shards).parent,
        Path(snakemake.input.tokenizer).parent,
        Path(snakemake.output.weights).parent,
        settings,
        name=snakemake.params.name,
        seed=snakemake.params.seed,
        threads=snakemake.threads,
        gpus=snakemake.resources.gpu,
        state_dir=snakemake.params.state_dir,
        replay=settings.replay_of(lang=snakemake.wildcards.lang, tok=snakemake.wildcards.tok),
        live=snakemake.params.live,
    )
