"""Adapter of rule train_study_bpe."""

from sagevocab.provenance import job
from sagevocab.vocab.bpe import TrainingSettings, pieces_of_model, read_model, train_bpe
from sagevocab.vocab.pieces import write_pieces

with job(snakemake):
    size, settings = int(snakemake.wildcards.size), TrainingSettings(**snakemake.params.training)
    model = snakemake.output.model
    train_bpe(snakemake.input.lines, size, model, settings, "studies.values.initial_size")
    write_pieces(snakemake.output.pieces, pieces_of_model(read_model(model)))
