"""The tables of the paper and of its appendix, in the order of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduction.artefacts.registry import Of, Read, Run, artefact_files, declare, paper_values
from reproduction.artefacts.shared import (
    causal_files,
    compared,
    compared_sage,
    compared_tasks,
    curve_files,
    curve_languages,
    cut_files,
    differences_target,
    further_controls,
    has_differences,
    labels_of,
    language_titles,
    ngram_languages,
    ordered_tokenizers,
    paper_tokenizers,
    summaries,
    training_logs,
    without_contexts,
)
from reproduction.builds import word2vec_settings
from reproduction.paper.measures import FEWEST_SEEDS
from reproduction.paper.notes import budget_note, pretraining_note
from reproduction.readings import reading_settings

PAPER = Read(paper_values, whole="paper.inputs.read_paper_values")


def _titles_of_controls(run: Run) -> dict[str, str]:
    """Return what a table calls the controls of a run."""
    short = {"random": "random", "frequency": "least frequent"}
    kept = {name: title for name, title in short.items() if run.pruned_from_bpe(name)}
    return kept | labels_of(run, further_controls(run))


def _seeded(run: Run) -> list[str]:
    """Return the readings of SaGe with seeds enough for an interval."""
    return [n for n in run.sage_readings if len(run.with_seeds([n])) >= FEWEST_SEEDS]


def _paired_controls(run: Run) -> dict[str, list[str]]:
    """Return counts, and the controls that are a reading but for its contexts."""
    counting = [name for name in further_controls(run) if run.preset(name) == "counts"]
    return {sage: [*counting, *without_contexts(run, sage)] for sage in _seeded(run)}


def _models(run: Run) -> list[str]:
    return run.models


# --- scores


def _differences(run: Run) -> list[str]:
    """Return the csv of `table_differences`, if it has differences of scores."""
    return artefact_files(run, ["table_differences"], "csv") if compared_tasks(run) else []


def _budget(run: Run, tasks: Sequence[str]) -> str:
    """Return the note of the models' budget, and to how many rows tasks are cut."""
    keys = ("max_train", "max_validation", "validation_share")
    stanzas = [(name, run.task(name)) for name in tasks]
    cuts = [
        {"label": one.label or name, **{key: getattr(one, key) for key in keys}}
        for name, one in stanzas
    ]
    return budget_note(**run.model_budget, tasks=cuts)


def _of_tasks(kind: str, table: str) -> dict[str, Any]:
    """Declare a table of the scores of the tasks of a kind."""

    def tasks(run: Run) -> list[str]:
        return [name for name in run.tasks if run.task(name).kind == kind]

    return {
        "function": "tables_scores.table_scores",
        "when": lambda run: run.models and tasks(run),
        "settings": {
            "labels": lambda run: labels_of(run, run.models),
            "tasks": lambda run: [_task(run, name) for name in tasks(run)],
            "table": lambda run: table,
        },
        "notes": lambda run: [_budget(run, tasks(run))],
        "reads": {
            "scores": Read(
                lambda run: run.score_files(tasks(run)), whole="analysis.scores.read_scores"
            ),
            "significant": Read(_differences, whole="paper.tables_scores.read_significant"),
            "paper": PAPER,
        },
    }


# --- sentences


def _with_examples(run: Run) -> list[str]:
    """Return the languages whose sentences the tables of examples may show."""
    shown = run.config.analysis.example_languages
    return [n for n in run.languages if run.compared and (shown == "all" or n in shown)]


def _text_sources(run: Run) -> list[dict[str, Any]]:
    """Return of the training corpora with examples what the text is, and its licence."""
    sources = [run.source("language_settings", name) for name in _with_examples(run)]
    return [
        {"kind": source.kind, "title": source.shown_title, "licence": source.licence}
        for source in sources
    ]


OF_SENTENCES = {
    "languages": _with_examples,
    "settings": {
        "words": lambda run: run.word_settings,
        "languages": lambda run: language_titles(run, _with_examples(run)),
        "sources": _text_sources,
    },
}
SENTENCES = {
    "lines": "corpus/{lang}.txt.zst",
    "paper": PAPER,
}


# --- differences


def _task(run: Run, name: str) -> dict[str, Any]:
    """Return a task as tables of scores and of differences show it."""
    stanza = run.task(name)
    return {
        "name": name,
        "label": stanza.label or name,
        "language": run.language(stanza.language).name,
        "kind": stanza.probe_kind,
        "metric": stanza.metric,
        "classes": len(stanza.labels) if stanza.labels else None,
        "constructed": run.is_constructed(name),
    }


def _probe_answers(run: Run) -> dict[str, dict[str, str]]:
    """Return task -> tokenizer's label -> what its probes answer."""
    names = labels_of(run, ordered_tokenizers(run))
    return {
        task: {
            label: run.result(f"analysis/{run.task(task).language}/probes/{tok}/{task}.parquet")
            for tok, label in names.items()
        }
        for task in run.probe_tasks
    }


def _pruned(run: Run) -> dict[str, dict[str, str]]:
    return {
        title: {tok: run.result(f"vocab/{lang}/{tok}/ablations.parquet") for tok in run.pruned}
        for lang, title in language_titles(run, run.languages).items()
    }


def _seeds_of(run: Run, names: Sequence[str]) -> dict[str, list[str]]:
    return {label: run.with_seeds([name]) for name, label in labels_of(run, names).items()}


# --- settings


def _taken_away(run: Run) -> dict[str, dict[str, str]]:
    """Return, by label of a reading, the labels of the controls that lack contexts, by what."""
    labels = labels_of(run, [*run.sage_readings, *run.unseeded_controls])
    return {
        labels[sage]: {
            reading_settings(run.tokenizer(name).reading)["contexts"]: labels[name]
            for name in without_contexts(run, sage)
        }
        for sage in run.sage_readings
    }


def _hyperparameters(
    stage: str, title: str, target: str, caption: str, settings: Of, **more: Any
) -> None:
    declare(
        f"table_hyperparameters_{stage}",
        title,
        target,
        "tables.table_hyperparameters",
        caption,
        reads={"paper": PAPER},
        settings={"settings": settings, "stage": lambda run: stage},
        **more,
    )


declare(
    "table_controls",
    "Main statements, and prunings without contexts",
    "paper",
    "controls.table_controls",
    """What of the paper is SaGe, and what is pruning: the paper's main numbers and statements
    beside those of each SaGe tokenizer of the run, with 95 % intervals and verdicts, and measured
    on the controls, vocabularies that are pruned from the same initial one to the same size without
    contexts. A statement that a control meets as well says nothing of contexts. The csv file has
    all statements that vocabularies and counts decide; all claims, and the rules of the verdicts,
    are in ``claims.md``. The paper has no such table.
    """,
    when=lambda run: run.reproduces and run.compared and run.sage_readings,
    settings={
        "labels": lambda run: labels_of(run, run.sage_readings),
        "controls": _titles_of_controls,
        "without_contexts": lambda run: {n: without_contexts(run, n) for n in run.sage_readings},
        "languages": lambda run: language_titles(run, run.languages),
    },
    notes=lambda run: [pretraining_note(run.model_budget["pretrain"])] if run.models else [],
    reads={"claims": "claims.parquet", "values": paper_values},
)
declare(
    "table_controls_paired",
    "Main statements: SaGe minus its controls",
    "paper",
    "controls.table_controls_paired",
    """What vectors add: each SaGe tokenizer minus its controls at the paper's main numbers and
    statements, paired by seed. A positive difference says that SaGe's number is larger, not that it
    goes further in the paper's direction. The csv file has the p-values. The paper has no such
    table.
    """,
    when=lambda run: run.reproduces and run.compared and _seeded(run),
    settings={
        "labels": lambda run: labels_of(run, _seeded(run)),
        "controls": _titles_of_controls,
        "compared": _paired_controls,
        "languages": lambda run: language_titles(run, run.languages),
    },
    reads={"claims": "claims.parquet", "values": paper_values},
)
declare(
    "table_overlap",
    "Contexts or counts: pieces pruned in common",
    "paper",
    "overlap.table_overlap",
    """Contexts or counts: the share of the pieces pruned by SaGe that controls prune, too, which
    start from the same vocabulary and do not look at contexts; beside it, the share that two seeds
    of SaGe have in common. Means over all pairs of seeds, with the lowest and the highest. The last
    columns are what SaGe without vectors, and with those of shuffled words, lacks on the way from
    random pruning to another seed of SaGe, with 95 % intervals over seeds. The csv file has every
    control's place on this way. The paper has no such table.
    """,
    when=lambda run: run.sage_readings and run.unseeded_controls,
    needs="sage or sage_released, and controls of it such as random and sage_zero",
    settings={
        "readings": lambda run: _seeds_of(run, run.sage_readings),
        "controls": lambda run: _seeds_of(run, run.unseeded_controls),
        "drawn": lambda run: run.labels(run.pruned_from_bpe("random")),
        "taken_away": _taken_away,
    },
    reads={"pruned": Read(_pruned, each="paper.overlap.read_pruned")},
)
declare(
    "table_examples",
    "Sentences under both tokenizers",
    "intrinsic",
    "tables_examples.table_examples",
    """Sentences of the training corpus with a piece that BPE keeps and SaGe drops, under both
    tokenizers; the words that hold it are in bold (paper, Table 1). The piece with the most
    distinct contexts is shown, each context by its shortest plain sentence among the first 100,000
    lines. Below stand the paper's own three sentences, segmented by this run and as printed.
    |greedy|
    """,
    tokenizers=compared,
    reads={
        **SENTENCES,
        "segmenters": Read(
            "vocab/{lang}/{tok}/pieces.txt", each="paper.tables_examples.read_greedy"
        ),
    },
    **OF_SENTENCES,
)
declare(
    "table_retokenization",
    "Ablations that change distant tokens",
    "intrinsic",
    "tables_examples.table_retokenization",
    """An ablation that changes a token within the window around a distant target, though the
    ablated piece stands outside the window (paper, Table 2). Brackets hold the window, bold marks
    the tokens of re-segmented words. Below stands the paper's example as printed.
    """,
    tokenizers=compared_sage,
    reads={
        **SENTENCES,
        "initial": Read("vocab/{lang}/bpe_initial/pieces.txt"),
        "ablations": "vocab/{lang}/{tok}/ablations.parquet",
    },
    **OF_SENTENCES,
)
declare(
    "table_frequencies",
    "Pieces whose frequency differs most",
    "intrinsic",
    "tables.table_frequencies",
    """Pieces whose frequency on the training corpus differs most between BPE and each SaGe
    tokenizer, each way (paper, Section 4, “Token Frequency”). The paper's twelve pieces are marked
    with an asterisk where they are among them, and listed with this run's counts in any case.
    |greedy|
    """,
    tokenizers=compared,
    settings={
        "languages": lambda run: language_titles(run, run.languages),
        "top": lambda run: 10,
    },
    reads={
        "panels": Read(
            "analysis/{lang}/{corpus}/{tok}/frequencies.parquet",
            each="analysis.counts.read_frequencies",
        ),
        "paper": PAPER,
    },
)
declare(
    "table_tokenizers",
    "All tokenizers on all texts",
    "intrinsic",
    "tokenizers.table_tokenizers",
    """What is usually reported of tokenizers, for every tokenizer of the run on every text: tokens
    per word (fertility), characters and bytes per token (compression), words kept whole, tokens
    that start a word, pieces in use, and how evenly the pieces are used (Shannon and Rényi
    efficiency). The paper has no such table. BPE and every reading of SaGe segment greedily, the
    others by their own method or as their brackets say. Where a list of segmented words is given,
    the last column says how well a tokenizer's boundaries agree with those between morphemes. Mean
    lengths and all intervals are in the csv file.
    """,
    when=lambda run: True,
    languages=lambda run: run.morpheme_languages,
    tokenizers=ordered_tokenizers,
    reads={
        "texts": Read(summaries, whole="paper.tokenizers.read_texts"),
        "morphology": Read(
            "analysis/{lang}/morphology/{tok}.json", each="paper.tokenizers.read_json"
        ),
    },
)
_hyperparameters(
    "vocabulary",
    "Settings of the vocabularies",
    "intrinsic",
    """Hyperparameters of vocabulary creation: the values of this run's configuration beside the
    paper's (Appendix A), then those that the paper leaves open.
    """,
    settings=lambda run: {
        **{name: run.section(name) for name in ("vocabulary", "sage")},
        "word2vec": word2vec_settings(run.config),
        "tokenizer_settings": {
            name: run.tokenizer(name).model_dump(exclude={"label", "method"})
            for name in paper_tokenizers(run)
            if run.tokenizer(name).method == "sage"
        },
        "seed": run.seed,
    },
)
declare(
    "table_sequence",
    "Scores of sequence tasks",
    "downstream",
    caption="""
    Scores on the validation sets of the sequence-level tasks: mean over the fine-tuning seeds,
    with the standard deviation where there are several (paper, Section 5). An asterisk marks a
    difference from BPE that is significant (table_differences). The paper's rows are means of three
    runs. |constructed|
    """,
    **_of_tasks("sequence", "table_sequence"),
)
declare(
    "table_ner",
    "Scores of named entity recognition",
    "downstream",
    caption="""
    F1 of entity spans on the validation sets: mean over the fine-tuning seeds, with the standard
    deviation where there are several (paper, Section 5). An asterisk marks a difference from BPE
    that is significant (table_differences). The paper's rows are means of three runs. |constructed|
    """,
    **_of_tasks("tokens", "table_ner"),
)
_hyperparameters(
    "pretraining",
    "Settings of pretraining",
    "downstream",
    """Hyperparameters of pre-training: the values of this run's configuration beside the paper's
    (Appendix A), then those that the paper leaves open.
    """,
    settings=lambda run: {"lm": {"pretrain": run.model_budget["pretrain"]}},
    when=_models,
)
_hyperparameters(
    "finetuning",
    "Settings of fine-tuning",
    "downstream",
    """Hyperparameters of fine-tuning: the values of this run's configuration beside the paper's
    (Appendix A), then those that the paper leaves open.
    """,
    settings=lambda run: {"lm": {"finetune": run.model_budget["finetune"]}},
    when=_models,
    notes=lambda run: [_budget(run, run.tasks)],
)
declare(
    "table_cut",
    "What a trained model loses with the pieces that are pruned",
    "downstream",
    "cut_models.table_cut",
    """What causal models of the initial vocabulary need more for held-out lines when they lose the
    pieces that each pruning takes away: the rows of their embeddings go, nothing is trained again.
    The csv file has differences between prunings, with tests. The paper has no such table.
    """,
    when=cut_files,
    settings={"labels": lambda run: labels_of(run, run.tokenizers)},
    reads={"models": Read(cut_files, whole="paper.cut_models.read_cut")},
)
declare(
    "table_differences",
    "Every tokenizer minus BPE, by several methods, in numbers",
    differences_target,
    "tables_differences.table_differences",
    """What each tokenizer's pieces are worth by several methods, as differences from BPE: language
    models, causal, masked and fine-tuned (Section 5), where the run has some; linear probes of
    frozen skip-gram vectors of the pieces and of the pieces themselves, which are no language
    models; and n-grams of pieces. Beside the differences stand the smallest that can be seen and
    the paper's, of fine-tuned models. The csv file has intervals and p-values. The paper has no
    such table. |constructed|
    """,
    when=has_differences,
    languages=ngram_languages,
    tokenizers=ordered_tokenizers,
    memory=6000,
    settings={
        "labels": lambda run: run.labels(ordered_tokenizers(run)),
        "models": lambda run: labels_of(run, run.compared_models),
        "controls": lambda run: run.labels(run.simple_controls),
        "probed": lambda run: [_task(run, name) for name in run.probe_tasks],
        "tasks": lambda run: [_task(run, name) for name in compared_tasks(run)],
        "seeds": lambda run: run.config.probes.seeds,
        "baseline": lambda run: run.labels(["bpe"])[0],
        "seed": lambda run: run.seed,
    },
    notes=lambda run: [_budget(run, compared_tasks(run))] if run.models else [],
    reads={
        "ngrams": Read("analysis/{lang}/ngrams/{tok}.parquet", whole="paper.line_bits.read_ngrams"),
        "probes": _probe_answers,
        "causal": Read(causal_files, whole="paper.line_bits.read_causal"),
        "curves": Read(curve_files, whole="paper.curves.read_curves"),
        "scores": Read(
            lambda run: run.score_files(compared_tasks(run)), whole="analysis.scores.read_scores"
        ),
        # They are found beside the scores and the curves.
        "predictions": Read(
            lambda run: run.score_files(compared_tasks(run), "predictions.parquet"),
            is_passed=False,
        ),
        "logs": Read(lambda run: training_logs(run, curve_languages(run)), is_passed=False),
        "paper": PAPER,
    },
)
