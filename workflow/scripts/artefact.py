"""Adapter of the rules of figures and tables."""

from reproduction.artefacts.registry import make
from reproduction.job import job
from reproduction.paper.frames import each

with job(snakemake):
    params, files = snakemake.params, iter(snakemake.input)
    make(
        params.name,
        reads=each(lambda _: next(files), params.reads),
        settings=params.settings,
        caption=params.caption,
        files=dict(snakemake.output.items()),
    )
