"""Adapter of rule finetune_model."""

from pathlib import Path

from reproduction.data.datasets import task_errors
from reproduction.job import job
from reproduction.lm.finetune import FinetuneSettings, finetune
from reproduction.lm.gpus import reserve_gpus
from reproduction.lm.tasks import Task

with job(snakemake) as progress, task_errors(snakemake.wildcards.task):
    free = snakemake.params.free
    gpus = min(free["gpus"], 1)
    reserve_gpus(gpus)
    names, task = snakemake.wildcards, snakemake.params.task
    labels = None if task["labels"] is None else tuple(task["labels"])
    finetune(
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
        gpus=gpus,
        state_dir=progress,
        checkpoint_minutes=free["checkpoint_minutes"],
    )
