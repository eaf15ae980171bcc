"""Adapter of rule table_stability."""

from reproduction.job import job
from reproduction.paper.tables_studies import table_stability

with job(snakemake):
    params = snakemake.params
    table_stability(params.rows, sizes=params.sizes, caption=params.caption, **snakemake.output)
