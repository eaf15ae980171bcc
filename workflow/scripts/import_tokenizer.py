"""Adapter of rule import_tokenizer."""

from reproduction.job import job
from sagevocab.export import WordSettings
from sagevocab.foreign import import_external

with job(snakemake):
    params = snakemake.params
    key = f"tokenizer_settings.{snakemake.wildcards.tok}.path"
    import_external(params.path, params.artefact, WordSettings(**params.words), None, key)
