"""Adapter of the rules count_pieces_*, one a group of tokenizers."""

from pathlib import Path

from reproduction.analysis.counts import write_counts
from reproduction.analysis.summary import summarise
from reproduction.job import job
from sagevocab.corpus.words import WordCorpus
from sagevocab.files import write_json
from sagevocab.huggingface.segmenter import load_segmenter
from sagevocab.segmentation.counts import count_corpus

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    corpus = WordCorpus.load(inputs.words)
    folders = [Path(summary).parent for summary in snakemake.output.summaries]
    for tokenizer, folder in zip(inputs.tokenizers, folders, strict=True):
        segmenter = load_segmenter(Path(tokenizer).parent)
        counts = count_corpus(corpus, segmenter, params.windows, threads=snakemake.threads)
        write_counts(counts, folder)
        summary = summarise(
            corpus, counts, efficiency_lines=params.efficiency_lines, seed=params.seed
        )
        write_json(folder / "summary.json", summary)
