"""Adapter of rule pretrain_model."""

from pathlib import Path

from reproduction.data.descriptions import retrieved_source
from reproduction.job import job, lasting_imports
from sagevocab.export import describe_source

with lasting_imports():
    from reproduction.lm.gpus import reserve_gpus
    from reproduction.lm.journal import read_sittings
    from reproduction.lm.launch import run_together
    from reproduction.lm.pretrain import pretrain
    from reproduction.lm.settings import PretrainSettings

with job(snakemake) as facts:
    lm = snakemake.config["lm"]
    reserve_gpus(lm["gpus"])
    settings = PretrainSettings(**lm["pretrain"])
    run_together(
        pretrain,
        max(1, lm["gpus"]),
        nodes=lm["nodes"],
        shards=Path(snakemake.input.shards).parent,
        vocabulary=Path(snakemake.input.tokenizer).parent,
        output=Path(snakemake.output.weights).parent,
        settings=settings,
        name=snakemake.params.name,
        seed=snakemake.params.seed,
        threads=snakemake.threads,
        gpus=lm["gpus"],
        state_dir=snakemake.params.state_dir,
        replay=settings.replay_of(lang=snakemake.wildcards.lang, tok=snakemake.wildcards.tok),
        corpus=describe_source(retrieved_source(**snakemake.params.text)),
    )
    facts["sittings"] = read_sittings(snakemake.output.log)
