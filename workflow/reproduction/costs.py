"""About what a plan costs: core hours, GPU hours, downloads. `snakemake -n TARGET` ends with it.

Times are those of the reference run (two cores of a cloud machine), of one job on `LINES` lines;
they grow with the lines of a text. GPU hours are the budget of the configuration, and for
fine-tuning what an H200 needs (docs/models.md). Of what is trained on the CPU only causal models
count; a BERT is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reproduction.data.files import local_files
from sagevocab.files import COMPRESSED

if TYPE_CHECKING:
    from reproduction.run import Run

LINES = 750_000
# Rule -> core seconds of a job on LINES lines.
CORE_SECONDS = {
    "extract_corpus": 900,
    "extract_domain": 30,
    "index_words": 26,
    "sample_corpus": 8,
    "train_bpe": 17,
    "train_bpe_initial": 17,
    "train_unigram": 200,
    "train_unigram_initial": 340,
    "train_wordpiece": 25,
    "train_embeddings": 2160,
    "build_sage": 45,
    "prune_control": 7,
    "measure_rankings": 300,
    "count_pieces_compared": 21,
    "count_pieces_thin": 14,
    "count_pieces_others": 40,
    "count_pieces_seeds": 60,
    "build_shards": 80,
    "measure_floors": 60,
}
# Rule -> core seconds of a job, and the lines beyond which it takes no longer.
CAPPED_SECONDS = {
    "build_claims": (840, LINES),
    "table_differences": (120, LINES),
    "prepare_task": (30, LINES),
    "measure_ngrams": (24, LINES),
    "train_vectors": (350, 100_000),
    "probe_task": (60, 100_000),
}
# Rules that train a causal model, or evaluate cut ones for about as long.
OF_CAUSAL_MODELS = ("train_causal", "train_whole_model", "cut_models")
CAUSAL_SECONDS = 2.5e-9  # a line and a weight, of a core with bf16
BLOCKS_SECONDS = 50  # of train_embeddings with `trainer: blocks`
RELEASED_SECONDS = 330  # of build_sage with the preset `released`
WHOLE_WIKIPEDIA = 2_900_000  # lines of a text that is taken whole, as Turkish
PACKAGED = 5_000  # lines of a text that a package ships
LINE_BYTES = 100  # of a local text
COMPRESSED_LINE_BYTES = 35  # of one that is compressed
START_SECONDS = 2.0  # of any job
FINETUNING_HOURS = 100 / 90  # of a GPU
UPDATES_AN_HOUR = 4700 / 24  # of a pretraining, on the card of the paper
# What the catalogue says of a size: "about 12 GB; 300 MB for `lines`".
_SIZE, _UNITS = re.compile(r"([\d.]+) ([MG]B)"), {"MB": 1e6, "GB": 1e9}


@dataclass(frozen=True)
class Costs:
    """What jobs cost: hours of cores and of GPUs, bytes to download as far as they are known."""

    core_hours: float
    gpu_hours: float
    downloads: int

    def __str__(self) -> str:
        """Return a sentence."""
        parts = [f"{_figure(self.core_hours)} core hours"]
        parts += [f"{_figure(self.gpu_hours)} GPU hours"] if self.gpu_hours else []
        parts += [f"{self.downloads / 1e9:.2g} GB to download"] if self.downloads else []
        return f"About {', '.join(parts)}."


def costs_of(run: Run, jobs: Mapping[str, int]) -> Costs:
    """Return about what jobs of a run cost.

    Args:
        run: the run.
        jobs: rule -> number of its jobs.
    """
    seconds, gpu = core_seconds(run), gpu_hours(run)
    on_cores = {rule: count for rule, count in jobs.items() if rule not in gpu}
    return Costs(
        core_hours=sum(n * seconds.get(rule, START_SECONDS) for rule, n in on_cores.items()) / 3600,
        gpu_hours=sum(count * gpu.get(rule, 0.0) for rule, count in jobs.items()),
        downloads=_downloads(run) if "retrieve_source" in jobs else 0,
    )


def seconds_of_jobs(run: Run) -> dict[str, float]:
    """Return rule -> about how many seconds a job takes."""
    return core_seconds(run) | {rule: 3600 * hours for rule, hours in gpu_hours(run).items()}


def core_seconds(run: Run) -> dict[str, float]:
    """Return rule -> about how many seconds of a core a job takes."""
    texts = [_lines(run, language) for language in run.languages]
    lines = sum(texts) / len(texts)
    seconds = {rule: lines / LINES * one for rule, one in CORE_SECONDS.items()}
    if run.config.word2vec.trainer == "blocks":
        seconds["train_embeddings"] = lines / LINES * BLOCKS_SECONDS
    presets = [run.tokenizer(name).preset for name in run.built_by("sage")]
    if presets:
        released = presets.count("released") / len(presets)
        of_a_build = released * RELEASED_SECONDS + (1 - released) * CORE_SECONDS["build_sage"]
        seconds["build_sage"] = lines / LINES * of_a_build
    for rule, (one, most) in CAPPED_SECONDS.items():
        seconds[rule] = min(lines / most, 1) * one
    if not run.config.lm.gpus:
        causal = run.config.lm.causal
        weights = run.config.vocabulary.vocab_size * causal.hidden
        weights += 12 * causal.layers * causal.hidden**2
        one = CAUSAL_SECONDS * causal.lines * weights
        seconds |= dict.fromkeys(OF_CAUSAL_MODELS, one)
    return {rule: START_SECONDS + one for rule, one in seconds.items()}


def gpu_hours(run: Run) -> dict[str, float]:
    """Return rule -> about how many hours of a GPU a job takes; none where there are no GPUs."""
    pretrain, gpus = run.config.lm.pretrain, run.config.lm.gpus
    if not gpus:
        return {}
    hours = pretrain.steps / UPDATES_AN_HOUR if pretrain.steps else pretrain.hours * gpus
    return {
        "pretrain_model": hours,
        "repeat_pretraining": hours,
        "finetune_model": FINETUNING_HOURS,
    }


def _figure(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.1f}"


def _lines(run: Run, language: str) -> float:
    """Return about how many lines of a language are trained on."""
    lines, source = run.language(language).lines, run.source("language_settings", language)
    if source.kind == "path":
        there = sum(map(_lines_of_file, local_files(source.name)))
    else:
        there = PACKAGED if source.kind == "package" else WHOLE_WIKIPEDIA
    return min(lines or there, there)


def _lines_of_file(file: str | Path) -> float:
    is_compressed = Path(file).suffix in COMPRESSED
    return Path(file).stat().st_size / (COMPRESSED_LINE_BYTES if is_compressed else LINE_BYTES)


def _downloads(run: Run) -> int:
    """Return about how many bytes a run downloads, by the sizes in the catalogue."""
    sizes: dict[str, float] = {}
    for section, name, split in run.sources:
        source = run.source(section, name, split)
        whole, _, of_part = (source.size or "").partition(";")
        is_part = of_part and section == "language_settings" and run.language(name).lines
        if said := _SIZE.search(of_part if is_part else whole):
            sizes[str(source.name)] = float(said[1]) * _UNITS[said[2]]
    return round(sum(sizes.values()))
