"""Adapter of rule train_embeddings."""

from sagevocab.provenance import job
from sagevocab.vocab.bpe import merges_of_model, read_model
from sagevocab.vocab.embeddings import Word2VecSettings, train_embeddings
from sagevocab.vocab.pieces import read_pieces
from sagevocab.vocab.segment import GreedySegmenter, MergeSegmenter
from sagevocab.vocab.words import WordCorpus

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    corpus, pieces = WordCorpus.load(inputs.words), read_pieces(inputs.pieces)
    segmenter = GreedySegmenter(pieces)
    if params.decoder == "merges":
        segmenter = MergeSegmenter(pieces, merges_of_model(read_model(inputs.model)), pieces)
    settings = Word2VecSettings(**params.word2vec, seed=params.seed).on(snakemake.threads)
    embeddings = train_embeddings(corpus, segmenter, settings, params.state_dir)
    embeddings.save(snakemake.output.embeddings)
