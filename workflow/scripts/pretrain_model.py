"""Adapter of rule pretrain_model."""

from pathlib import Path

from sagevocab.provenance import job, lasting_imports

with lasting_imports():
    from sagevocab.lm.journal import read_sittings
    from sagevocab.lm.pretrain import pretrain
    from sagevocab.lm.settings import PretrainSettings
    from sagevocab.lm.team import reserve_gpus, run_together

with job(snakemake) as facts:
    reserve_gpus(snakemake.resources.gpu)
    settings = PretrainSettings(**snakemake.config["lm"]["pretrain"])
    run_together(
        pretrain,
        max(1, snakemake.resources.gpu),
        shards=Path(snakemake.input.shards).parent,
        vocabulary=Path(snakemake.input.tokenizer).parent,
        output=Path(snakemake.output.weights).parent,
        settings=settings,
        name=snakemake.params.name,
        seed=snakemake.params.seed,
        threads=snakemake.threads,
        gpus=snakemake.resources.gpu,
        state_dir=snakemake.params.state_dir,
        replay=settings.replay_of(lang=snakemake.wildcards.lang, tok=snakemake.wildcards.tok),
    )
    facts["sittings"] = read_sittings(snakemake.output.log)
