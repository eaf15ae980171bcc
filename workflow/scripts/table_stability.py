"""Adapter of rule table_stability."""

from sagevocab.paper.tables_studies import table_stability
from sagevocab.provenance import job

with job(snakemake):
    params = snakemake.params
    table_stability(params.rows, sizes=params.sizes, caption=params.caption, **snakemake.output)
