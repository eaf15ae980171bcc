"""Adapter of rule reference_tables."""

from pathlib import Path

from reproduction.job import job
from reproduction.paper.reference_tables import write_reference_tables

REFERENCE = Path("results/reference")

with job(snakemake):
    write_reference_tables(REFERENCE, REFERENCE, snakemake.input.style)
