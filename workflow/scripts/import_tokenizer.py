"""Adapter of rule import_tokenizer."""

from pathlib import Path

from reproduction.job import job
from sagevocab.huggingface.export import WordSettings
from sagevocab.huggingface.load import import_external

with job(snakemake):
    params, folder = snakemake.params, Path(snakemake.output.pieces).parent
    key = f"tokenizer_settings.{snakemake.wildcards.tok}.path"
    import_external(params.path, folder, WordSettings(**params.words), None, key)
