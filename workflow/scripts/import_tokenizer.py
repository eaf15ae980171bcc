"""Adapter of rule import_tokenizer."""

from sagevocab.provenance import job
from sagevocab.vocab.export import WordSettings
from sagevocab.vocab.external import import_external

with job(snakemake):
    params = snakemake.params
    key = f"tokenizer_settings.{snakemake.wildcards.tok}.path"
    import_external(params.path, params.artefact, WordSettings(**params.words), None, key)
