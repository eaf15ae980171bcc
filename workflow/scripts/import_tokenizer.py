"""Adapter of rule import_tokenizer."""

from pathlib import Path

from reproduction.external import import_external
from reproduction.job import job
from sagevocab.settings import WordSettings

with job(snakemake):
    params, folder = snakemake.params, Path(snakemake.output.pieces).parent
    key = f"tokenizer_settings.{snakemake.wildcards.tok}.path"
    import_external(params.path, folder, WordSettings(**params.words), key)
