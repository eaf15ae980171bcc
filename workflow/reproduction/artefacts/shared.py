"""What several figures and tables ask of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reproduction.artefacts.registry import Run

# Title of a panel -> label of a tokenizer -> file.
Panels = Mapping[str, Mapping[str, str]]
# The tokenizers that the paper's figures and tables compare, in their order.
PAPER_TOKENIZERS = ("bpe", "sage", "sage_released")


# --- which tokenizers


def paper_tokenizers(run: Run) -> list[str]:
    """Return those of the paper's tokenizers that the run has."""
    return [name for name in PAPER_TOKENIZERS if name in run.tokenizers]


def ordered_tokenizers(run: Run) -> list[str]:
    """Return all tokenizers, those of the paper first: a figure gives colours by order."""
    return list(dict.fromkeys([*paper_tokenizers(run), *run.tokenizers]))


def compared_sage(run: Run) -> list[str]:
    """Return those of the compared that are readings of SaGe, pruned from BPE's pieces."""
    return [name for name in run.compared if name in run.sage_readings]


def further_controls(run: Run) -> list[str]:
    """Return the controls beside random pruning and the least frequent pieces."""
    return [name for name in run.unseeded_controls if name not in run.simple_controls]


def without_contexts(run: Run, sage: str) -> list[str]:
    """Return the controls that are a reading of SaGe, but for its contexts."""

    def unseeing(name: str) -> dict[str, Any]:
        return {**run.tokenizer(name).reading, "contexts": None}

    blind = [n for n in further_controls(run) if run.tokenizer(n).method == "sage"]
    return [name for name in blind if unseeing(name) == unseeing(sage)]


# --- what they are called


def labels_of(run: Run, tokenizers: list[str]) -> dict[str, str]:
    """Return the labels of tokenizers by their names."""
    return dict(zip(tokenizers, run.labels(tokenizers), strict=True))


def language_titles(run: Run, languages: list[str]) -> dict[str, str]:
    """Return the titles of languages by their names."""
    return dict(zip(languages, run.titles(languages), strict=True))


def measured_texts(run: Run) -> list[list[str]]:
    """Return the texts that tokenizers are measured on, as pairs of language and text."""
    return [
        [title, "Training corpus" if corpus == "train" else run.domain_title(corpus)]
        for lang, title in language_titles(run, run.languages).items()
        for corpus in run.corpora_of(lang)
    ]


# What the figure and the table of all tokenizers declare.
OF_SUMMARIES = {
    "settings": lambda run: {
        "texts": measured_texts(run),
        "labels": run.labels(ordered_tokenizers(run)),
    },
    "summaries": lambda run: run.analysis_files(ordered_tokenizers(run), "summary.json"),
}


# --- predictions of held-out lines, and other evidence


def ngram_languages(run: Run) -> list[str]:
    """Return the languages whose tokenizers' n-grams are compared with BPE's."""
    wanted = run.config.analysis.ngram_lines and run.has_comparison
    return _held_out(run, run.languages if wanted else [])


# What the figure and the table of n-grams declare.
OF_NGRAMS = {
    "of_models": True,
    "languages": ngram_languages,
    "tokenizers": ordered_tokenizers,
    "settings": lambda run: {"baseline": run.labels(["bpe"])[0], "seed": run.seed},
    "ngrams": "analysis/{lang}/ngrams/{tok}.parquet",
}


def causal_languages(run: Run) -> list[str]:
    """Return the languages in which causal models are compared with BPE's."""
    wanted = len(run.compared_models) > 1 and run.config.lm.causal.seeds
    return _held_out(run, run.model_languages if wanted else [])


def curve_languages(run: Run) -> list[str]:
    """Return the languages with learning curves: where a masked model predicts held-out lines."""
    wanted = run.models and run.config.lm.pretrain.heldout_lines
    return _held_out(run, run.model_languages if wanted else [])


def _held_out(run: Run, languages: Iterable[str]) -> list[str]:
    """Return the languages with held-out lines among some."""
    return [name for name in languages if run.language(name).heldout_lines]


def causal_tokenizers(run: Run) -> list[str]:
    """Return the tokenizers with causal models: those with masked ones, random and frequency."""
    return list(dict.fromkeys([*run.models, *run.simple_controls]))


def causal_files(run: Run) -> list[str]:
    """Return what causal models need, language by language, the seeds of a tokenizer together."""
    return run.files(
        "analysis/{lang}/causal/{tok}/{seed}.parquet",
        lang=causal_languages(run),
        tok=causal_tokenizers(run),
        seed=run.config.lm.causal.seeds,
    )


def causal_parameters(run: Run) -> dict[str, Any]:
    """Return what readers of `causal_files` have to know."""
    return {
        "causal_titles": run.titles(causal_languages(run)),
        "causal_seeds": len(run.config.lm.causal.seeds),
    }


def curves(run: Run, languages: list[str]) -> dict[str, list[str]]:
    """Return what learning curves are drawn from, a model's further seeds together.

    heldout and logs are of the models of some languages, language by language and tokenizer by
    tokenizer; repeats and repeated_logs of all further pretrainings. floors are of the models'
    tokenizers.
    """
    models = {"lang": languages, "tok": run.models}
    repeated = {**models, "seed": run.pretraining_seeds}
    model, repeat = "models/{lang}/{tok}", "studies/pretraining/{lang}/{tok}/{seed}"
    return {
        "heldout": run.files(f"{model}/heldout.parquet", **models),
        "logs": run.files(f"{model}/training_log.parquet", **models),
        "repeats": run.files(f"{repeat}/heldout.parquet", **repeated),
        "repeated_logs": run.files(f"{repeat}/training_log.parquet", **repeated),
        "floors": run.files("analysis/{lang}/floors/{tok}.parquet", **models),
    }


def curve_baseline(run: Run) -> str | None:
    """Return the label of BPE, which other curves are compared with; None if it has no model."""
    return run.labels(["bpe"])[0] if "bpe" in run.models else None


def has_evidence(run: Run) -> bool:
    """Return whether tokenizers are compared with BPE by some method beside those of the paper."""
    return bool(ngram_languages(run) or run.probe_tasks or causal_languages(run))


def evidence_target(run: Run) -> str:
    """Return the target that the evidence is a part of: it has that of language models, too."""
    return "paper" if run.models else "intrinsic"
