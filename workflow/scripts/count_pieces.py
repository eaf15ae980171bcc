"""Adapter of rule count_pieces."""

from pathlib import Path

from reproduction.analysis.counts import write_counts
from reproduction.analysis.summary import summarise
from reproduction.job import job
from sagevocab.counting import count_corpus
from sagevocab.segment import load_segmenter
from sagevocab.state import write_json
from sagevocab.words import WordCorpus

with job(snakemake):
    inputs, outputs, params = snakemake.input, snakemake.output, snakemake.params
    corpus = WordCorpus.load(inputs.words)
    segmenter = load_segmenter(Path(inputs.tokenizer).parent)
    counts = count_corpus(corpus, segmenter, params.windows, threads=snakemake.threads)
    write_counts(counts, outputs)
    summary = summarise(corpus, counts, efficiency_lines=params.efficiency_lines, seed=params.seed)
    write_json(outputs.summary, summary)
