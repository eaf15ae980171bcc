"""Adapter of every rule in artefacts.smk: calls the function of a figure or a table."""

from importlib import import_module

from reproduction.job import job

with job(snakemake):
    params = snakemake.params
    module, _, name = params.function.rpartition(".")
    make = getattr(import_module(f"reproduction.{module}"), name)
    if name.startswith("table_"):
        table = make(**params.reads, **params.settings)
        table.write(caption=params.caption, **snakemake.output)
    else:
        make(**params.reads, **params.settings, **snakemake.output)
