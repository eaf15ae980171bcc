"""Adapter of rule count_pieces."""

from pathlib import Path

from sagevocab.analysis.counts import count_corpus, write_counts
from sagevocab.analysis.summary import summarise
from sagevocab.provenance import job
from sagevocab.state import write_json
from sagevocab.vocab.segment import load_segmenter
from sagevocab.vocab.words import WordCorpus

with job(snakemake):
    inputs, outputs, params = snakemake.input, snakemake.output, snakemake.params
    corpus = WordCorpus.load(inputs.words)
    segmenter = load_segmenter(Path(inputs.tokenizer).parent)
    counts = count_corpus(corpus, segmenter, params.windows, threads=snakemake.threads)
    write_counts(counts, outputs)
    summary = summarise(corpus, counts, efficiency_lines=params.efficiency_lines, seed=params.seed)
    write_json(outputs.summary, summary)
