"""Adapter of rule train_causal."""

from pathlib import Path

from reproduction.job import job
from reproduction.lm.causal import train_causal
from reproduction.lm.gpus import reserve_gpus
from reproduction.lm.settings import CausalSettings
from sagevocab.corpus.text import read_lines
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.huggingface.segmenter import load_segmenter

with job(snakemake) as progress:
    inputs, params = snakemake.input, snakemake.params
    gpus = min(params.free["gpus"], 1)
    reserve_gpus(gpus)
    normalizer = Normalizer(params.normalization)
    train_causal(
        WordCorpus.load(inputs.words),
        WordCorpus.from_lines(read_lines(inputs.heldout), normalizer, params.max_word_chars),
        load_segmenter(Path(inputs.tokenizer).parent),
        snakemake.output.curve,
        CausalSettings(**params.settings, checkpoint_minutes=params.free["checkpoint_minutes"]),
        seed=int(snakemake.wildcards.seed),
        threads=snakemake.threads,
        gpus=gpus,
        state_dir=progress,
    )
