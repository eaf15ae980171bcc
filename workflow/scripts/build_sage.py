"""Adapter of rule build_sage."""

from pathlib import Path

from reproduction.job import job
from reproduction.parquet import write_columns
from sagevocab.corpus.words import WordCorpus
from sagevocab.huggingface.export import WordSettings, export_greedy
from sagevocab.huggingface.sentencepiece import merges_of_model, read_model
from sagevocab.pieces import read_pieces
from sagevocab.pruning.sage import build_sage
from sagevocab.settings import settings_from
from sagevocab.word2vec.embeddings import Embeddings, Word2VecSettings

with job(snakemake):
    inputs, outputs, params = snakemake.input, snakemake.output, snakemake.params
    corpus, pieces = WordCorpus.load(inputs.words), read_pieces(inputs.pieces)
    merges = merges_of_model(read_model(inputs.model))
    embeddings = Embeddings.load(inputs.embeddings) if inputs.embeddings else None
    sage = settings_from(**params.sage, threads=snakemake.threads)
    word2vec = Word2VecSettings(**params.word2vec, seed=sage.seed).on(snakemake.threads)
    built = build_sage(corpus, pieces, merges, embeddings, sage, word2vec)
    export_greedy(Path(outputs.pieces).parent, built.pieces, WordSettings(**params.words))
    write_columns(outputs.ablations, built.ablations)
    built.embeddings.save(outputs.embeddings)
