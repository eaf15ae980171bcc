"""Selections of tokenizers, languages and files that several artefacts share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reproduction.artefacts.registry import Run

# Title of a panel -> label of a tokenizer -> file.
Panels = Mapping[str, Mapping[str, str]]
# The tokenizers that the paper's figures and tables compare, in their order.
PAPER_TOKENIZERS = ("bpe", "sage", "sage_released")


# --- which tokenizers


def compared(run: Run) -> list[str]:
    """Return the tokenizers that figures compare."""
    return run.compared


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

    def without_context_key(name: str) -> dict[str, Any]:
        return {**run.tokenizer(name).reading, "contexts": None}

    blind = [n for n in further_controls(run) if run.tokenizer(n).method == "sage"]
    return [name for name in blind if without_context_key(name) == without_context_key(sage)]


# --- what they are called


def labels_of(run: Run, tokenizers: list[str]) -> dict[str, str]:
    """Return the labels of tokenizers by their names."""
    return dict(zip(tokenizers, run.labels(tokenizers), strict=True))


def language_titles(run: Run, languages: list[str]) -> dict[str, str]:
    """Return the titles of languages by their names."""
    return dict(zip(languages, run.titles(languages), strict=True))


def summaries(run: Run) -> dict[str, Any]:
    """Return language -> text -> label -> what is measured, for all tokenizers."""
    names = labels_of(run, ordered_tokenizers(run))
    return {
        title: {
            "Training corpus" if corpus == "train" else run.domain_title(corpus): {
                label: run.result(f"analysis/{lang}/{corpus}/{name}/summary.json")
                for name, label in names.items()
            }
            for corpus in run.corpora_of(lang)
        }
        for lang, title in language_titles(run, run.languages).items()
    }


# --- what differences from BPE are taken of


def ngram_languages(run: Run) -> list[str]:
    """Return the languages whose tokenizers' n-grams are compared with BPE's."""
    wanted = run.config.analysis.ngram_lines and run.has_comparison
    return _held_out(run, run.languages if wanted else [])


def causal_languages(run: Run) -> list[str]:
    """Return the languages in which causal models are compared with BPE's."""
    wanted = len(run.compared_models) > 1 and run.config.lm.causal.seeds
    return _held_out(run, run.model_languages if wanted else [])


def curve_languages(run: Run) -> list[str]:
    """Return the languages in which masked models' curves on held-out lines are compared."""
    return _held_out(run, run.model_languages if compares_models(run) else [])


def _held_out(run: Run, languages: Iterable[str]) -> list[str]:
    """Return the languages with held-out lines among some."""
    return [name for name in languages if run.language(name).heldout_lines]


def causal_tokenizers(run: Run) -> list[str]:
    """Return the tokenizers with causal models: those with masked ones, random and frequency."""
    return list(dict.fromkeys([*run.models, *run.simple_controls]))


def causal_files(run: Run) -> dict[str, Any]:
    """Return what causal models need: language -> label -> a file a seed."""
    names, seeds = labels_of(run, causal_tokenizers(run)), run.config.lm.causal.seeds
    return {
        title: {
            label: [run.result(f"analysis/{lang}/causal/{tok}/{seed}.parquet") for seed in seeds]
            for tok, label in names.items()
        }
        for lang, title in language_titles(run, causal_languages(run)).items()
    }


def cut_files(run: Run) -> dict[str, list[str]]:
    """Return what models need that prunings cut: language -> a file a seed."""
    languages = _held_out(run, run.model_languages if run.config.lm.causal.cut_sizes else [])
    path, seeds = "analysis/{}/cut/{}.parquet", run.config.lm.causal.seeds
    return {
        title: [run.result(path.format(lang, seed)) for seed in seeds]
        for lang, title in language_titles(run, languages).items()
        if seeds
    }


def curve_files(run: Run, languages: list[str] | None = None) -> Panels:
    """Return language -> label -> files of its pretrainings, the run's own first, and its floors.

    languages: by default those with curves.
    """
    chosen = curve_languages(run) if languages is None else languages
    return {
        title: {
            label: _of_model(run, lang, tok) for tok, label in labels_of(run, run.models).items()
        }
        for lang, title in language_titles(run, chosen).items()
    }


def _of_model(run: Run, lang: str, tok: str) -> dict[str, Any]:
    repeats = [f"studies/pretraining/{lang}/{tok}/{seed}" for seed in run.pretraining_seeds]
    folders = [run.result(folder) for folder in (f"models/{lang}/{tok}", *repeats)]
    return {
        "models": [f"{folder}/heldout.parquet" for folder in folders],
        "floors": run.result(f"analysis/{lang}/floors/{tok}.parquet"),
    }


def training_logs(run: Run, languages: list[str]) -> list[str]:
    """Return the logs of all pretrainings: the run's own models, then their repetitions."""
    models = {"lang": languages, "tok": run.models}
    repeat = "studies/pretraining/{lang}/{tok}/{seed}/training_log.parquet"
    return [
        *run.files("models/{lang}/{tok}/training_log.parquet", **models),
        *run.files(repeat, **models, seed=run.pretraining_seeds),
    ]


def compares_models(run: Run) -> bool:
    """Return whether masked models are compared with BPE's."""
    return len(run.compared_models) > 1


def compared_tasks(run: Run) -> list[str]:
    """Return the tasks on which scores are compared."""
    return run.tasks if compares_models(run) else []


def has_differences(run: Run) -> bool:
    """Return whether tokenizers are compared with BPE by some method."""
    of_models = causal_languages(run) or compared_tasks(run)
    return bool(ngram_languages(run) or run.probe_tasks or of_models)


def differences_target(run: Run) -> str:
    """Return the target that the differences are a part of; some may be of language models."""
    return "downstream" if run.models else "intrinsic"


def groups_of_tokenizers(run: Run) -> dict[str, list[str]]:
    """Return the tokenizers beside BPE by what they are, by their labels."""
    readings = run.sage_readings
    direct = [name for sage in readings for name in without_contexts(run, sage)]
    controls = [name for name in run.unseeded_controls if name not in direct]
    others = [n for n in ordered_tokenizers(run) if n not in ("bpe", *readings, *direct, *controls)]
    names = {
        "SaGe": readings,
        "SaGe without contexts": direct,
        "other controls": controls,
        "other methods": others,
    }
    return {group: run.labels(members) for group, members in names.items()}
