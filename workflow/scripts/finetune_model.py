"""Adapter of rule finetune_model."""

from pathlib import Path

from sagevocab.provenance import job, lasting_imports

with lasting_imports():
    from sagevocab.data.datasets import task_errors
    from sagevocab.lm.finetune import FinetuneSettings, finetune
    from sagevocab.lm.tasks import Task
    from sagevocab.lm.team import reserve_gpus

with job(snakemake) as facts, task_errors(snakemake.wildcards.task):
    reserve_gpus(snakemake.resources.gpu)
    names, task = snakemake.wildcards, snakemake.params.task
    labels = None if task["labels"] is None else tuple(task["labels"])
    facts["sittings"] = finetune(
        Path(snakemake.input.weights).parent,
        snakemake.input.train,
        snakemake.input.validation,
        snakemake.output.scores,
        snakemake.output.predictions,
        Task(names.task, task["kind"], task["metric"], labels),
        FinetuneSettings(**snakemake.params.settings),
        language=names.lang,
        tokenizer=names.tok,
        seed=int(names.seed),
        precision=snakemake.params.precision,
        threads=snakemake.threads,
        gpus=snakemake.resources.gpu,
        state_dir=snakemake.params.state_dir,
        checkpoint_minutes=snakemake.config["lm"]["pretrain"]["checkpoint_minutes"],
    )
