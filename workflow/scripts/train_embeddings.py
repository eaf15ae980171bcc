"""Adapter of rule train_embeddings."""

from reproduction.job import job
from sagevocab.corpus.words import WordCorpus
from sagevocab.huggingface.sentencepiece import merges_of_model, read_model
from sagevocab.pieces import read_pieces
from sagevocab.pruning.sage import initial_embeddings
from sagevocab.segmentation.segmenter import GreedySegmenter, MergeSegmenter
from sagevocab.settings import SageSettings
from sagevocab.word2vec.embeddings import Word2VecSettings

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    corpus, pieces = WordCorpus.load(inputs.words), read_pieces(inputs.pieces)
    segmenter = GreedySegmenter(pieces)
    if params.decoder == "merges":
        segmenter = MergeSegmenter(pieces, merges_of_model(read_model(inputs.model)), pieces)
    contexts = snakemake.wildcards.contexts.removeprefix(".") or "real"
    seed = int(params.seed)
    sage = SageSettings(contexts=contexts, seed=seed)
    word2vec = Word2VecSettings(**params.word2vec, seed=seed).on(snakemake.threads)
    embeddings = initial_embeddings(corpus, segmenter, sage, word2vec)
    embeddings.save(snakemake.output.embeddings)
