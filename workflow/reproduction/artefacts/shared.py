"""What several figures and tables ask of a run."""

from __future__ import annotations

from typing import Any

from reproduction.artefacts.registry import Run


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


def without_contexts(run: Run, sage: str) -> list[str]:
    """Return the controls that are a reading of SaGe, but for its contexts."""

    def unseeing(name: str) -> dict[str, Any]:
        return {**run.tokenizer(name).reading, "contexts": None}

    blind = [n for n in run.further_controls if run.tokenizer(n).method == "sage"]
    return [name for name in blind if unseeing(name) == unseeing(sage)]


def has_evidence(run: Run) -> bool:
    """Return whether tokenizers are compared with BPE by some method beside those of the paper."""
    return bool(run.ngram_languages or run.probe_tasks or run.causal_languages)


def evidence_target(run: Run) -> str:
    """Return the target that the evidence is a part of: it has that of language models, too."""
    return "paper" if run.models else "intrinsic"


def causal_parameters(run: Run) -> dict[str, Any]:
    """Return what readers of `causal_files` have to know."""
    return {
        "causal_titles": run.titles(run.causal_languages),
        "causal_seeds": len(run.config.lm.causal.seeds),
    }


def curve_baseline(run: Run) -> str | None:
    """Return the label of BPE, which other curves are compared with; None if it has no model."""
    return run.labels(["bpe"])[0] if "bpe" in run.models else None
