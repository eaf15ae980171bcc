"""Adapter of rule pretrain_model."""

from pathlib import Path

from sagevocab.lm.cards import claimed_gpus
from sagevocab.lm.pretrain import PretrainSettings, pretrain
from sagevocab.provenance import job

with job(snakemake), claimed_gpus(snakemake.params.gpus):
    settings = PretrainSettings.from_config(snakemake.params.settings)
    pretrain(
        Path(snakemake.input.shards).parent,
        Path(snakemake.input.tokenizer).parent,
        Path(snakemake.output.weights).parent,
        settings,
        name=snakemake.params.name,
        synthetic=snakemake.params.synthetic,
        seed=snakemake.params.seed,
        threads=snakemake.threads,
        gpus=snakemake.params.gpus,
        state_dir=snakemake.params.state_dir,
        replay=settings.replay_of(lang=snakemake.wildcards.lang, tok=snakemake.wildcards.tok),
        live=snakemake.params.live,
    )
