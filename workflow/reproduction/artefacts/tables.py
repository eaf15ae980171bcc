"""The tables of the paper, of its appendix and of the studies, in the order of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reproduction import run_studies as studies
from reproduction.artefacts.registry import Run, Table, artefact_files, paper_values, table
from reproduction.artefacts.shared import (
    OF_NGRAMS,
    OF_SUMMARIES,
    Panels,
    causal_files,
    causal_parameters,
    causal_tokenizers,
    compared_sage,
    curve_baseline,
    curve_languages,
    curves,
    evidence_target,
    further_controls,
    has_evidence,
    labels_of,
    language_titles,
    ngram_languages,
    ordered_tokenizers,
    paper_tokenizers,
    without_contexts,
)
from reproduction.vocabularies import contexts, start

# Label of a tokenizer -> the preset that it is.
Presets = Mapping[str, str]
# Tasks as columns, from `_columns`.
Tasks = Sequence[Mapping[str, Any]]


def _titles_of_controls(run: Run) -> dict[str, str]:
    """Return what a table calls the controls of a run."""
    short = {"random": "random", "frequency": "least frequent"}
    kept = {name: title for name, title in short.items() if run.pruned_from_bpe(name)}
    return kept | labels_of(run, further_controls(run))


def _differences(run: Run) -> list[str]:
    """Return the csv of `table_differences`, if the run has one."""
    return artefact_files(run, ["table_differences"], "csv") if _compared_tasks(run) else []


def _compared_tasks(run: Run) -> list[str]:
    """Return the tasks on which scores are compared."""
    return run.tasks if len(run.compared_models) > 1 else []


def _columns(run: Run, tasks: Sequence[str]) -> list[dict[str, Any]]:
    """Return tasks as columns or rows of a score table, with what their rows are cut to."""
    cuts = ("max_train", "max_validation", "validation_share")
    return [
        {
            "name": name,
            "label": stanza.label or name,
            "metric": stanza.metric,
            "constructed": run.is_constructed(name),
            **{key: getattr(stanza, key) for key in cuts},
        }
        for name, stanza in ((name, run.task(name)) for name in tasks)
    ]


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


@table(
    "paper",
    when=lambda run: run.reproduces and run.compared and run.sage_readings,
    legend=lambda run: run.sage_readings,
    settings=lambda run: {
        "labels": labels_of(run, run.sage_readings),
        "controls": _titles_of_controls(run),
        "without_contexts": {name: without_contexts(run, name) for name in run.sage_readings},
        "languages": language_titles(run, run.languages),
        "pretrain": run.model_budget["pretrain"] if run.models else None,
    },
    claims="claims.json",
    paper=paper_values,
)
def table_controls(
    claims: str,
    paper: str,
    pretrain: Mapping[str, Any] | None,
    presets: Presets,
    **given: Any,
) -> Table:
    """What of the paper is SaGe, and what is pruning: the paper's main numbers and statements
    beside those of each SaGe tokenizer of the run, with 95 % intervals and verdicts, and measured
    on the controls, vocabularies that are pruned from the same initial one to the same size without
    contexts. A statement that a control meets as well says nothing of contexts. The csv file has
    all statements that vocabularies and counts decide; all claims, and the rules of the verdicts,
    are in ``claims.md``. The paper has no such table.
    """
    from reproduction.paper import controls
    from reproduction.paper.notes import presets_note, pretraining_note

    notes = [presets_note(presets.items()), pretraining_note(pretrain) if pretrain else ""]
    return controls.table_controls(claims, paper, notes=notes, **given)


@table(
    "paper",
    when=lambda run: run.sage_readings and run.unseeded_controls,
    legend=lambda run: run.sage_readings,
    settings=lambda run: {
        "languages": run.titles(run.languages),
        "readings": {
            label: run.with_seeds([n]) for n, label in labels_of(run, run.sage_readings).items()
        },
        "controls": {
            label: run.with_seeds([n]) for n, label in labels_of(run, run.unseeded_controls).items()
        },
        "drawn": run.labels(run.pruned_from_bpe("random")),
    },
    ablations=lambda run: run.files("vocab/{lang}/{tok}/ablations.parquet", tok=run.pruned),
)
def table_overlap(
    ablations: Sequence[str],
    *,
    languages: Sequence[str],
    readings: Mapping[str, Sequence[str]],
    controls: Mapping[str, Sequence[str]],
    drawn: Sequence[str],
    presets: Presets,
) -> Table:
    """Contexts or counts: the share of the pieces pruned by SaGe that controls prune, too, which
    start from the same vocabulary and do not look at contexts; beside it, the share that two of
    SaGe's own seeds have in common. Means over all pairs of seeds, with the lowest and the highest.
    The csv file also has how much of SaGe's choice a control accounts for. The paper has no such
    table.
    """
    from reproduction.paper import overlap
    from reproduction.paper.notes import presets_note

    names = [name for own in (*readings.values(), *controls.values()) for name in own]
    pruned = overlap.read_pruned(ablations, languages, names)
    rows = overlap.overlaps(pruned, readings, controls, drawn)
    return overlap.table_overlap(rows, notes=[presets_note(presets.items())])


def _of_sentences(**settings: Any) -> dict[str, Any]:
    """Declare a table that shows sentences of the training corpora."""
    return {
        "languages": _with_examples,
        "settings": lambda run: {
            **run.word_settings,
            "languages": _with_examples(run),
            "sources": _text_sources(run),
            **settings,
        },
        "lines": "corpus/{lang}.txt.zst",
        "descriptions": lambda run: run.descriptions(_with_examples(run)),
        "paper": paper_values,
    }


def _common_to_sentences(
    key: str,
    lines: Mapping[str, str],
    *,
    descriptions: Sequence[str],
    paper: str,
    normalization: str,
    max_word_chars: int,
    languages: Sequence[str],
    sources: Sequence[Mapping[str, Any]],
    presets: Presets,
) -> dict[str, Any]:
    """Return arguments that both tables of sentences take; key: of the paper's own sentences."""
    from reproduction.paper import tables_examples
    from reproduction.paper.inputs import of_language, read_paper_values

    return {
        "words": tables_examples.WordRule(normalization, max_word_chars),
        "paper": of_language(read_paper_values(paper)[key], languages, list(lines)),
        "notes": tables_examples.text_notes(presets, sources, descriptions),
    }


@table(
    "intrinsic",
    **_of_sentences(),
    tokenizers=lambda run: run.compared,
    pieces="vocab/{lang}/{tok}/pieces.txt",
)
def table_examples(lines: Mapping[str, str], pieces: Panels, **given: Any) -> Table:
    """Sentences of the training corpus with a piece that BPE keeps and SaGe drops, under both
    tokenizers; the words that hold it are in bold (paper, Table 1). The piece with the most
    distinct contexts is shown, each context by its shortest plain sentence among the first 100,000
    lines. Below stand the paper's own three sentences, segmented by this run and as printed.
    |greedy|
    """
    from reproduction.paper import tables_examples
    from reproduction.paper.inputs import read_panels

    segmenters = read_panels(pieces, tables_examples.read_greedy)
    common = _common_to_sentences("examples", lines, **given)
    return tables_examples.table_examples(lines, segmenters, **common)


@table(
    "intrinsic",
    **_of_sentences(window=2),
    tokenizers=compared_sage,
    initial="vocab/{lang}/bpe_initial/pieces.txt",
    ablations="vocab/{lang}/{tok}/ablations.parquet",
)
def table_retokenization(
    lines: Mapping[str, str],
    initial: Mapping[str, str],
    ablations: Panels,
    window: int,
    **given: Any,
) -> Table:
    """An ablation that changes a token within the window around a distant target, though the
    ablated piece stands outside the window (paper, Table 2). Brackets hold the window, bold marks
    the tokens of re-segmented words. Below stands the paper's example as printed.
    """
    from reproduction.paper import tables_examples

    common = _common_to_sentences("retokenization", lines, **given)
    return tables_examples.table_retokenization(lines, initial, ablations, window=window, **common)


@table(
    "intrinsic",
    tokenizers=lambda run: run.compared,
    settings=lambda run: {"languages": run.languages, "top": 10},
    frequencies="analysis/{lang}/{corpus}/{tok}/frequencies.parquet",
    paper=paper_values,
)
def table_frequencies(
    frequencies: Panels, paper: str, languages: Sequence[str], presets: Presets, **given: Any
) -> Table:
    """Pieces whose frequency on the training corpus differs most between BPE and each SaGe
    tokenizer, each way (paper, Section 4, “Token Frequency”). The paper's twelve pieces are marked
    with an asterisk where they are among them, and listed with this run's counts in any case.
    |greedy|
    """
    from reproduction.analysis.counts import read_frequencies
    from reproduction.paper import tables
    from reproduction.paper.inputs import of_language, read_panels, read_paper_values
    from reproduction.paper.notes import presets_note

    printed = read_paper_values(paper)["frequency_pieces"]
    return tables.table_frequencies(
        read_panels(frequencies, read_frequencies),
        paper_pieces=of_language(printed, languages, list(frequencies)),
        notes=[presets_note(presets.items())],
        **given,
    )


@table(
    "intrinsic",
    when=lambda run: True,
    languages=lambda run: run.morpheme_languages,
    tokenizers=ordered_tokenizers,
    **OF_SUMMARIES,
    morphology="analysis/{lang}/morphology/{tok}.json",
)
def table_tokenizers(
    summaries: Sequence[str],
    morphology: Panels,
    *,
    texts: Sequence[Sequence[str]],
    labels: Sequence[str],
    presets: Presets,
) -> Table:
    """What is usually reported of tokenizers, for every tokenizer of the run on every text: tokens
    per word (fertility), characters and bytes per token (compression), words kept whole, tokens
    that start a word, pieces in use, and how evenly the pieces are used (Shannon and Rényi
    efficiency). The paper has no such table. BPE and every reading of SaGe segment greedily, the
    others by their own method or as their brackets say. Where a list of segmented words is given,
    the last column says how well a tokenizer's boundaries agree with those between morphemes. Mean
    lengths and all intervals are in the csv file.
    """
    from reproduction.paper import tokenizers
    from reproduction.paper.inputs import read_panels
    from reproduction.paper.notes import presets_note
    from sagevocab.state import read_json

    return tokenizers.table_tokenizers(
        tokenizers.by_text(texts, labels, summaries),
        morphology=read_panels(morphology, read_json),
        notes=[presets_note(presets.items())],
    )


def _made_here(run: Run) -> list[str]:
    """Return the tokenizers that have a piece for each character they know; others may not."""
    external = run.of_method("external")
    return [name for name in ordered_tokenizers(run) if name not in external]


@table(
    "intrinsic",
    when=lambda run: not run.reproduces and _made_here(run),
    tokenizers=_made_here,
    words="corpus/{lang}.train.words.npz",
    pieces="vocab/{lang}/{tok}/pieces.txt",
)
def table_unknown(words: Mapping[str, str], pieces: Panels, presets: Presets) -> Table:
    """Characters of the training corpus without a piece, for the tokenizers that this run makes.
    Each becomes one ``[UNK]``. How many there are depends on ``vocabulary.character_coverage`` and
    ``vocabulary.ascii``. The csv file has all of them.
    """
    from reproduction.paper import unknown
    from reproduction.paper.inputs import read_panels
    from reproduction.paper.notes import presets_note
    from sagevocab.pieces import read_pieces
    from sagevocab.words import WordCorpus

    corpora = {title: WordCorpus.load(path) for title, path in words.items()}
    return unknown.table_unknown(
        corpora, read_panels(pieces, read_pieces), notes=[presets_note(presets.items())]
    )


@table(
    "intrinsic",
    settings=lambda run: {
        "settings": {
            "vocabulary": run.section("vocabulary"),
            "sage": run.section("sage"),
            "word2vec": run.section("word2vec"),
            "tokenizer_settings": {
                name: run.tokenizer(name).model_dump(exclude={"label", "method"})
                for name in paper_tokenizers(run)
                if run.tokenizer(name).method == "sage"
            },
            "seed": run.seed,
        },
    },
    paper=paper_values,
)
def table_hyperparameters_vocabulary(**given: Any) -> Table:
    """Hyperparameters of vocabulary creation: the values of this run's configuration beside the
    paper's (Appendix A), then those that the paper leaves open.
    """
    return _hyperparameters("vocabulary", **given)


def _hyperparameters(
    stage: str, *, settings: Mapping[str, Any], paper: str, notes: Sequence[str] = ()
) -> Table:
    """Return a table of the hyperparameters of a stage."""
    from reproduction.paper import tables
    from reproduction.paper.inputs import read_paper_values

    printed = read_paper_values(paper)["hyperparameters"][f"table_hyperparameters_{stage}"]
    return tables.table_hyperparameters(settings, stage=stage, paper=printed, notes=notes)


def _of_tasks(kind: str) -> dict[str, Any]:
    """Declare a table of the scores of the tasks of a kind."""

    def tasks(run: Run) -> list[str]:
        return [name for name in run.tasks if run.task(name).kind == kind]

    return {
        "when": lambda run: run.models and tasks(run),
        "legend": lambda run: run.models,
        "settings": lambda run: {
            "labels": labels_of(run, run.models),
            "tasks": _columns(run, tasks(run)),
            "budget": run.model_budget,
        },
        "scores": lambda run: run.score_files(tasks(run)),
        "differences": _differences,
        "paper": paper_values,
    }


@table("downstream", **_of_tasks("sequence"))
def table_sequence(**given: Any) -> Table:
    """Scores on the validation sets of the sequence-level tasks: mean over the fine-tuning seeds,
    with the standard deviation where there are several (paper, Section 5). An asterisk marks a
    difference from BPE that is significant (table_differences). The paper's rows are means of three
    runs. |constructed|
    """
    return _scores("table_sequence", **given)


def _scores(
    name: str,
    *,
    scores: Sequence[str],
    differences: Sequence[str],
    paper: str,
    tasks: Tasks,
    budget: Mapping[str, Any],
    presets: Presets,
    **given: Any,
) -> Table:
    """Return a table of scores with its notes; given: further arguments of `table_scores`."""
    from reproduction.analysis.scores import read_scores
    from reproduction.paper import tables_scores
    from reproduction.paper.inputs import read_paper_values
    from reproduction.paper.notes import model_notes

    return tables_scores.table_scores(
        read_scores(scores),
        tasks=tasks,
        significant=tables_scores.read_significant(differences),
        notes=model_notes(budget, tasks, presets),
        paper=read_paper_values(paper)["tables"][name],
        **given,
    )


@table("downstream", **_of_tasks("tokens"))
def table_ner(**given: Any) -> Table:
    """F1 of entity spans on the validation sets: mean over the fine-tuning seeds, with the standard
    deviation where there are several (paper, Section 5). An asterisk marks a difference from BPE
    that is significant (table_differences). The paper's rows are means of three runs. |constructed|
    """
    return _scores("table_ner", **given)


def _fine_tuned_from(run: Run) -> int:
    """Return how many models of a tokenizer fine-tunings start from."""
    seeds = set(run.config.lm.finetune.seeds)
    return len({seed if seed in run.pretraining_seeds else run.seed for seed in seeds})


def _logs_of_compared(run: Run) -> list[str]:
    """Return the training logs of all models that are fine-tuned on compared tasks."""
    languages = {run.task(name).language for name in _compared_tasks(run)}
    drawn = curves(run, [name for name in run.model_languages if name in languages])
    return [*drawn["logs"], *drawn["repeated_logs"]]


@table(
    "downstream",
    when=_compared_tasks,
    legend=lambda run: run.compared_models,
    memory=4000,
    settings=lambda run: {
        "labels": labels_of(run, run.compared_models),
        "tasks": _columns(run, _compared_tasks(run)),
        "readings": run.sage_readings,
        "pretrained": _fine_tuned_from(run),
        "seed": run.seed,
        "budget": run.model_budget,
    },
    scores=lambda run: run.score_files(_compared_tasks(run)),
    # They are found beside the scores.
    predictions=lambda run: run.score_files(_compared_tasks(run), "predictions.parquet"),
    logs=_logs_of_compared,
    paper=paper_values,
)
def table_differences(
    scores: Sequence[str],
    predictions: Sequence[str],
    logs: Sequence[str],
    paper: str,
    *,
    tasks: Tasks,
    budget: Mapping[str, Any],
    presets: Presets,
    **given: Any,
) -> Table:
    """Score of each tokenizer's models minus that of BPE's on every task, means over the
    fine-tuning seeds on the validation sets, tested by a paired bootstrap over examples and seeds,
    adjusted by Holm over the paper's tasks (Section 5; its differences beside). |constructed|
    """
    from reproduction.analysis.scores import read_scores
    from reproduction.paper import tables_scores
    from reproduction.paper.curves import cards_note
    from reproduction.paper.inputs import read_paper_values
    from reproduction.paper.notes import model_notes

    hours = budget["pretrain"]["hours"]
    return tables_scores.table_differences(
        read_scores(scores),
        tasks=tasks,
        paper=read_paper_values(paper)["tables"],
        notes=[*model_notes(budget, tasks, presets), cards_note(logs, hours)],
        **given,
    )


@table(
    "downstream",
    when=lambda run: run.models,
    settings=lambda run: {"settings": {"lm": {"pretrain": run.model_budget["pretrain"]}}},
    paper=paper_values,
)
def table_hyperparameters_pretraining(**given: Any) -> Table:
    """Hyperparameters of pre-training: the values of this run's configuration beside the paper's
    (Appendix A), then those that the paper leaves open.
    """
    return _hyperparameters("pretraining", **given)


@table(
    "downstream",
    when=lambda run: run.models,
    settings=lambda run: {
        "settings": {"lm": {"finetune": run.model_budget["finetune"]}},
        "budget": run.model_budget,
        "tasks": _columns(run, run.tasks),
    },
    paper=paper_values,
)
def table_hyperparameters_finetuning(
    budget: Mapping[str, Any], tasks: Tasks, **given: Any
) -> Table:
    """Hyperparameters of fine-tuning: the values of this run's configuration beside the paper's
    (Appendix A), then those that the paper leaves open.
    """
    from reproduction.paper.notes import budget_note

    return _hyperparameters("finetuning", notes=[budget_note(**budget, tasks=tasks)], **given)


@table("intrinsic", **OF_NGRAMS)
def table_ngrams(ngrams: Panels, presets: Presets, **given: Any) -> Table:
    """Bits per character that n-grams of each tokenizer's pieces need for whole held-out lines, by
    order, and their differences from BPE's on the same lines. The gain from context is what the two
    pieces before save. Modified Kneser-Ney estimates have no seeds; intervals are 95 % bootstrap
    intervals over held-out lines. The csv file has all orders and numbers of training lines. The
    paper has no such table.
    """
    from reproduction.paper import ngrams as written
    from reproduction.paper.notes import presets_note

    notes = [presets_note(presets.items())]
    return written.table_ngrams(written.read_ngrams(ngrams), notes=notes, **given)


def _probed(run: Run) -> list[dict[str, Any]]:
    """Return what the table of evidence has to know of the tasks that are probed."""
    stanzas = [(name, run.task(name)) for name in run.probe_tasks]
    return [
        {
            "name": name,
            "label": stanza.label or name,
            "language": run.language(stanza.language).name,
            "kind": stanza.probe_kind,
            "metric": stanza.metric,
            "classes": len(stanza.labels) if stanza.labels else None,
            "constructed": run.is_constructed(name),
        }
        for name, stanza in stanzas
    ]


def _probe_answers(run: Run) -> list[str]:
    """Return what the probes of all tokenizers answer, task by task."""
    return [
        file
        for task in run.probe_tasks
        for file in run.files(
            f"analysis/{{lang}}/probes/{{tok}}/{task}.parquet",
            lang=[run.task(task).language],
            tok=ordered_tokenizers(run),
        )
    ]


@table(
    evidence_target,
    of_models=True,
    when=has_evidence,
    languages=ngram_languages,
    tokenizers=ordered_tokenizers,
    memory=6000,
    settings=lambda run: {
        **causal_parameters(run),
        "labels": run.labels(ordered_tokenizers(run)),
        "compared": run.labels(causal_tokenizers(run)),
        "controls": run.labels(run.simple_controls),
        "tasks": _probed(run),
        "seeds": run.config.probes.seeds,
        "task_languages": {n: run.names[run.task(n).language] for n in _compared_tasks(run)},
        "baseline": run.labels(["bpe"])[0],
        "seed": run.seed,
    },
    ngrams="analysis/{lang}/ngrams/{tok}.parquet",
    probes=_probe_answers,
    causal=causal_files,
    differences=_differences,
    curves=lambda run: (
        artefact_files(run, ["table_learning_curves"], "csv")
        if curve_languages(run) and len(run.compared_models) > 1
        else []
    ),
    paper=paper_values,
)
def table_evidence(
    ngrams: Panels,
    probes: Sequence[str],
    causal: Sequence[str],
    differences: Sequence[str],
    curves: Sequence[str],
    paper: str,
    *,
    causal_titles: Sequence[str],
    causal_seeds: int,
    labels: Sequence[str],
    compared: Sequence[str],
    controls: Sequence[str],
    tasks: Sequence[Mapping[str, Any]],
    seeds: Sequence[int],
    task_languages: Mapping[str, str],
    baseline: str,
    seed: int,
    presets: Presets,
) -> Table:
    """What each tokenizer's pieces are worth by several methods, as differences from BPE: n-grams
    of pieces, linear probes of pieces and of frozen skip-gram vectors of them, and language models,
    causal and masked, where the run has some. Probes test segmentations and are no language models.
    Beside the differences stand the smallest that can be seen and the paper's, of fine-tuned
    models. The csv file has all splits, intervals and p-values. The paper has no such table.
    |constructed|
    """
    from reproduction.paper import evidence, tables_evidence
    from reproduction.paper.causal import read_causal
    from reproduction.paper.inputs import read_paper_values
    from reproduction.paper.ngrams import read_ngrams
    from reproduction.paper.notes import presets_note

    data = evidence.gather_evidence(
        read_ngrams(ngrams),
        evidence.read_probes(tasks, seeds, labels, probes),
        evidence.read_models(differences, curves, task_languages, baseline),
        read_causal(causal_titles, compared, causal_seeds, causal),
        baseline=baseline,
        controls=controls,
        paper=read_paper_values(paper)["tables"],
        seed=seed,
    )
    notes = [presets_note(presets.items())]
    return tables_evidence.table_evidence(data, labels=labels, baseline=baseline, notes=notes)


@table(
    "downstream",
    when=curve_languages,
    legend=lambda run: run.models,
    settings=lambda run: {
        "titles": run.titles(curve_languages(run)),
        "compared": run.labels(run.models),
        "baseline": curve_baseline(run),
        "pretrain": run.model_budget["pretrain"],
        "seed": run.seed,
    },
    models=lambda run: curves(run, curve_languages(run)),
)
def table_learning_curves(
    models: Mapping[str, Sequence[str]],
    *,
    titles: Sequence[str],
    compared: Sequence[str],
    pretrain: Mapping[str, Any],
    presets: Presets,
    **given: Any,
) -> Table:
    """Where the learning curves end, beside what tables of frequencies reach on the same words, and
    what each model needs to get as far as BPE's. All models predicted the same words of the
    same held-out lines. Intervals are over these lines and, where a model was pretrained several
    times, over the seeds. Effort is given in updates, characters and time: until BPE's final bits
    per character, and relative to BPE's for the worse of the two final values. The paper leaves
    this comparison to future work (Section 4, “Subword Fertility”).
    """
    from reproduction.paper import learning_curves
    from reproduction.paper.curves import cards_note, read_curves
    from reproduction.paper.notes import presets_note, pretraining_note

    logs = [*models["logs"], *models["repeated_logs"]]
    return learning_curves.table_learning_curves(
        read_curves(titles, compared, models["heldout"], models["repeats"], models["floors"]),
        notes=[
            pretraining_note(pretrain),
            cards_note(logs, pretrain["hours"]),
            presets_note(presets.items()),
        ],
        **given,
    )


@table(
    "paper",
    legend=paper_tokenizers,
    settings=lambda run: {
        "benchmarks": run.result("benchmarks"),
        "languages": language_titles(run, run.languages),
        "tokenizers": labels_of(run, paper_tokenizers(run)),
        "starts": {
            n: start(run, n)
            for n in paper_tokenizers(run)
            if run.tokenizer(n).method == "sage" and contexts(run, n) != "zero"
        },
        "budget": run.model_budget if run.models else None,
        "tasks": _columns(run, run.tasks),
    },
    measured=lambda run: [
        *run.vocabulary_files(),
        *run.analysis_files(run.tokenizers, "summary.json"),
        *run.model_files(),
        *run.score_files(run.tasks),
        *studies.study_files(run),
    ],
)
def table_costs(
    measured: Sequence[str],
    benchmarks: str,
    *,
    budget: Mapping[str, Any] | None,
    tasks: Tasks,
    presets: Presets,
    **given: Any,
) -> Table:
    """Time and memory of every stage, for BPE, for each SaGe tokenizer and for all jobs together;
    last, all that each vocabulary takes, as a multiple of BPE's time (paper, “Limitations”). The
    numbers come from clocks and differ between equal runs.
    """
    from reproduction.paper import tables
    from reproduction.paper.notes import model_notes, presets_note

    own = [presets_note(presets.items())]
    notes = model_notes(budget, tasks, presets) if budget else own
    return tables.table_costs(benchmarks, notes=notes, **given)


@table(
    "studies",
    languages=lambda run: run.study_languages,
    settings=lambda run: {"rows": studies.reading_rows(run)},
    readings="analysis/{lang}/readings.json",
)
def table_readings(
    readings: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
) -> Table:
    """What each reading of the ablation loss reproduces, and what it changes. The paper's text has
    the total loss over the corpus, context vectors of their own and a greedy decoder; the program
    that was released has a mean over lines, one matrix for targets and contexts, and the merges.
    Each reading is made on one seeded sample of each training corpus with several seeds and judged
    by the paper's own statements, as the claims of this run are; the presets stand below at full
    size, from the run's own vocabularies. The last columns are what a language model would notice:
    the length of its sequences, words kept whole or cut to pieces, and contexts per occurrence.
    Everything is segmented greedily. The CSV names every setting, and has every claim's verdict
    with every seed. The paper has no such table.
    """
    from reproduction.paper import tables_studies
    from reproduction.paper.studies import read_assessment

    assessments = {title: read_assessment(path) for title, path in readings.items()}
    return tables_studies.table_readings(assessments, rows)


@table(
    "studies",
    when=lambda run: run.varied,
    settings=lambda run: {
        "rows": studies.stability_rows(run),
        "sizes": [run.config.vocabulary.initial_size, run.config.vocabulary.final_size],
    },
    vocabularies=studies.stability_files,
)
def table_stability(
    vocabularies: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    **given: Any,
) -> Table:
    """How much of a vocabulary stays the same with another seed or another sample of the corpus.
    SaGe is shown in its presets, beside BPE, which has no seed. Shares are of all pieces and of the
    pruned ones. The note below the table gives the share that two random prunings have in common.
    The paper has no such table.
    """
    from reproduction.paper import tables_studies

    return tables_studies.table_stability(rows, **given)


@table(
    "studies",
    when=lambda run: any(run.varied.values()),
    settings=lambda run: {
        "study": studies.sensitivity_run(run),
        "rows": studies.sensitivity_rows(run),
        "titles": language_titles(run, run.languages),
        "window": run.config.analysis.windows[0],
    },
    builds=studies.sensitivity_files,
)
def table_sensitivity(
    builds: Sequence[str],
    study: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    **given: Any,
) -> Table:
    """What the vocabulary becomes when one setting is another than the paper's: batch (k),
    candidates (M), batches from one ranking to the next (m), rankings from one training of the
    embeddings to the next (l), and the size of the initial vocabulary (n·V). "Another seed" is the
    yardstick: what a change of nothing but the random numbers does. The paper has no such table.
    """
    from reproduction.paper import tables_studies
    from reproduction.paper.claims_inputs import Results

    return tables_studies.table_sensitivity(Results(**study), rows, **given)
