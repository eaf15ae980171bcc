"""Adapter of rule count_study_bpe."""

from sagevocab.analysis.counts import count_corpus, write_counts
from sagevocab.provenance import job
from sagevocab.vocab.pieces import read_pieces
from sagevocab.vocab.segment import GreedySegmenter
from sagevocab.vocab.words import WordCorpus

with job(snakemake):
    corpus = WordCorpus.load(snakemake.input.words)
    segmenter = GreedySegmenter(read_pieces(snakemake.input.pieces))
    counts = count_corpus(corpus, segmenter, snakemake.params.windows, threads=snakemake.threads)
    write_counts(counts, snakemake.output)
