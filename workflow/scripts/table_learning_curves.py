"""Adapter of rule table_learning_curves."""

from reproduction.job import job
from reproduction.paper.curves import cards_note, read_curves
from reproduction.paper.learning_curves import table_learning_curves
from reproduction.paper.notes import presets_note, pretraining_note

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    table_learning_curves(
        read_curves(params.titles, params.compared, inputs.heldout, inputs.repeats, inputs.floors),
        baseline=params.baseline,
        seed=params.seed,
        notes=[
            pretraining_note(params.pretrain),
            cards_note([*inputs.logs, *inputs.repeated_logs], params.pretrain["hours"]),
            presets_note(params.presets.items()),
        ],
        caption=params.caption,
        **snakemake.output,
    )
