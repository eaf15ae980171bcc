"""Adapter of the rules count_pieces_*, one a group of tokenizers."""

from pathlib import Path

from reproduction.analysis.counts import count_neighbours, write_counts
from reproduction.analysis.summary import summarise
from reproduction.job import job
from sagevocab.corpus.words import WordCorpus
from sagevocab.files import write_json
from sagevocab.huggingface.segmenter import load_segmenter
from sagevocab.segmentation.counts import SegmentedCorpus, count_corpus

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    corpus = WordCorpus.load(inputs.words)
    folders = [Path(summary).parent for summary in snakemake.output.summaries]
    for tokenizer, folder in zip(inputs.tokenizers, folders, strict=True):
        segmenter = load_segmenter(Path(tokenizer).parent)
        segmented = SegmentedCorpus(corpus, segmenter)
        counts = count_corpus(segmented)
        distinct = count_neighbours(segmented, params.windows, threads=snakemake.threads)
        write_counts(counts, folder, params.windows, distinct)
        summary = summarise(
            corpus, counts, efficiency_lines=params.efficiency_lines, seed=params.seed
        )
        write_json(folder / "summary.json", summary)
