"""Adapter of rule build_study."""

from sagevocab.analysis.counts import count_corpus, write_counts
from sagevocab.provenance import job
from sagevocab.state import write_parquet
from sagevocab.vocab.bpe import merges_of_model, read_model
from sagevocab.vocab.embeddings import Embeddings, Word2VecSettings
from sagevocab.vocab.pieces import read_pieces, write_pieces
from sagevocab.vocab.sage import build_sage, settings_from
from sagevocab.vocab.segment import GreedySegmenter
from sagevocab.vocab.words import WordCorpus

with job(snakemake):
    inputs, outputs, params = snakemake.input, snakemake.output, snakemake.params
    corpus, pieces = WordCorpus.load(inputs.words), read_pieces(inputs.pieces)
    merges = merges_of_model(read_model(inputs.model))
    embeddings = Embeddings.load(inputs.embeddings)
    sage = settings_from(**params.sage, threads=snakemake.threads)
    word2vec = Word2VecSettings(**params.word2vec, seed=sage.seed)
    built = build_sage(corpus, pieces, merges, embeddings, sage, word2vec, params.state_dir)
    counts = count_corpus(corpus, GreedySegmenter(built.pieces), params.windows)
    write_pieces(outputs.pieces, built.pieces)
    write_parquet(outputs.ablations, built.ablations)
    write_counts(counts, outputs)
