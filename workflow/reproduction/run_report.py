"""Parameters of build_claims, build_report and build_reference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reproduction.artefacts.shared import labels_of
from reproduction.data.files import local_files
from reproduction.run import Run, Stanza


def report_run(run: Run) -> Stanza:
    """Return what the report page and the reference page say of the run."""
    return {
        "name": run.config.run,
        "labels": labels_of(run, run.tokenizers),
        "presets": {name: run.preset(name) for name in run.tokenizers},
        "compared": run.compared,
        "names": run.names,
        "constructed": list(filter(run.is_constructed, run.prepared_tasks)),
        "models": bool(run.models),
        "settings": _shown_settings(run),
    }


def _shown_settings(run: Run) -> Stanza:
    shown = ("seed", "vocabulary", "sage", "word2vec", "analysis", "probes", "lm")
    used = {
        "language_settings": run.languages,
        "domain_settings": run.domains,
        "tokenizer_settings": run.tokenizers,
        "task_settings": run.prepared_tasks,
    }
    settings = run.config.model_dump()
    stanzas = {key: {n: settings[key][n] for n in names} for key, names in used.items()}
    return {**{key: settings[key] for key in shown}, **stanzas}


def claims_run(run: Run) -> Stanza:
    """Return what the claims have to know of the run."""
    sage = run.sage_readings
    return {
        "languages": run.languages,
        "domains": {name: run.domain(name).language for name in run.domains},
        "tasks": {name: run.task(name).language for name in run.tasks},
        "tokenizers": {name: run.preset(name) if name in sage else None for name in run.tokenizers},
        "further_seeds": {name: run.with_seeds([name])[1:] for name in sage},
        "starts": {name: run.builds[name].start for name in sage},
        "controls": _controls(run),
        "model_languages": run.model_languages,
        # In the order of `table_differences`, which decides what its bootstrap draws.
        "lm_tokenizers": run.compared_models or run.models,
        "seeds": run.config.lm.finetune.seeds,
        "pretraining_seeds": run.pretraining_seeds,
        "seed": run.seed,
        "constructed": list(filter(run.is_constructed, run.tasks if run.models else [])),
        "names": run.names,
        "heuristics": run.heuristics,
        "morpheme_languages": run.morpheme_languages,
        "budget": run.model_budget if run.models else None,
    }


def _controls(run: Run) -> dict[str, list[str]]:
    """Return control -> its vocabularies, one a seed.

    Whatever their names, those pruned at random are `random`, and those without the least
    frequent pieces `frequency`.
    """
    found: dict[str, list[str]] = {}
    for name in run.unseeded_controls:
        control = run.tokenizer(name).method if name in run.simple_controls else name
        found.setdefault(control, []).extend(run.with_seeds([name]))
    return found


def reference_command(configfiles: Sequence[Path | str], checkout: Path) -> str:
    """Return what was typed for reference results; of a file outside the checkout only its name."""
    paths = map(Path, configfiles)
    names = [
        str(path.relative_to(checkout)) if path.is_relative_to(checkout) else path.name
        for path in paths
    ]
    return f"snakemake --cores 2 --configfile {' '.join(names)} -- build_reference"


def local_sources(run: Run) -> list[Stanza]:
    """Return the files of this machine that a run reads, each with the title of its source."""
    sources = [run.source(*named) for named in run.sources]
    return [
        {"title": source.shown_title, "file": file}
        for source in sources
        if source.kind == "path"
        for file in local_files(source.name)
    ]


def texts(run: Run) -> list[Stanza]:
    """Return the texts that tokenizers are trained and measured on, and those of the paper."""
    corpora = [("language_settings", lang, lang, "train") for lang in run.languages]
    domains = [("domain_settings", name, run.domain(name).language, name) for name in run.domains]
    return [_text(run, *text) for text in [*corpora, *domains]]


def _text(run: Run, section: str, name: str, language: str, corpus: str) -> Stanza:
    stanza, source = getattr(run.config, section)[name], run.source(section, name)
    printed = _paper_text(run, stanza.source.dataset)
    return {
        "name": stanza.name,
        "language": language,
        "corpus": corpus,
        "title": source.shown_title,
        "licence": source.licence,
        "paper": printed.get("title"),
        "in_paper": bool(source.in_paper),
    }


def _paper_text(run: Run, dataset: str | None) -> Stanza:
    """Return the entry of the paper's text that a data set is, or stands for; empty if none."""
    entry = run.catalogue.get(dataset, {})
    entry = run.catalogue.get(entry.get("stands_for"), entry)
    return entry if entry.get("in_paper") else {}
