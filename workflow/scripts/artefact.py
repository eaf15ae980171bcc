"""Adapter of every rule in artefacts.smk: calls the function of a figure or a table."""

from importlib import import_module

from reproduction.job import job

with job(snakemake):
    params = snakemake.params
    module, _, name = params.function.rpartition(".")
    make = getattr(import_module(f"reproduction.{module}"), name)
    caption = {"caption": params.caption} if name.startswith("table_") else {}
    make(**params.reads, **params.settings, **caption, **snakemake.output)
