"""What must hold between the sections of a configuration, so that a run does not fail late.

Each rule raises a SettingError with the key, what is wrong with it and what would be right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from reproduction.analysis.probe_kinds import SIMILARITY, probe_kind
from reproduction.data.files import TABLES, first_columns, format_told, local_files
from reproduction.lm.settings import PretrainSettings
from sagevocab.errors import SettingError
from sagevocab.presets import reading_settings
from sagevocab.settings import SageSettings, check_pruning

if TYPE_CHECKING:
    from reproduction.config import Configuration, Source, Task

# Lists of names, the section that holds their stanzas.
STANZAS = {
    "languages": "language_settings",
    "domains": "domain_settings",
    "tokenizers": "tokenizer_settings",
    "tasks": "task_settings",
}
# Methods that are another segmentation of a tokenizer's pieces -> its method, which is its name.
EXPORTED = {"bpe_merges": "bpe", "unigram_greedy": "unigram"}
# Folders beside those of the tokenizers, with the vocabularies that are pruned.
INITIAL_FOLDERS = ("bpe_initial", "unigram_initial")


def _names_have_stanzas(config: Configuration) -> None:
    lists = [
        (key, getattr(config, key), section, getattr(config, section))
        for key, section in STANZAS.items()
    ]
    shown = ("figures.tokenizers", config.figures.tokenizers)
    lists.append((*shown, "tokenizer_settings", config.tokenizer_settings))
    lists.append(("probes.tasks", config.probes.tasks, "task_settings", config.task_settings))
    languages = ("language_settings", config.language_settings)
    lists.append(("studies.languages", config.studies.languages, *languages))
    lists.append(("lm.languages", config.lm.languages, *languages))
    if config.studies.enabled:
        known = {k: v for k, v in config.tokenizer_settings.items() if v.method == "sage"}
        readings = config.studies.readings
        lists.append(("studies.readings", readings, "tokenizer_settings of method sage", known))
    for key, names, section, known in lists:
        for name in names:
            if name not in known:
                have = ", ".join(sorted(known)) or "none"
                raise SettingError(
                    key,
                    f"{name!r} has no stanza in {section} (there: {have}); add one or take the "
                    "name out of the list",
                )


def _names_are_known_elsewhere(config: Configuration) -> None:
    lists = []
    if config.studies.enabled:
        readings = config.studies.readings
        lists.append(("studies.varied", config.studies.varied, "studies.readings", readings))
    if config.lm.enabled:
        lists.append(("lm.tokenizers", config.lm.tokenizers, "tokenizers", config.tokenizers))
    for key, names, other, known in lists:
        for name in names:
            if name not in known:
                raise SettingError(
                    key, f"{name!r} is not in {other}; add it there or take it out here"
                )
    own = [name for name in config.tokenizers if config.tokenizer_settings[name].method == "bpe"]
    if own and own != ["bpe"]:
        raise SettingError(
            "tokenizers",
            f"{', '.join(own)}: the one tokenizer of method bpe is named bpe; take the others out "
            "of the list, or give them method external and a path",
        )


def _exported_have_a_model(config: Configuration) -> None:
    stanzas = config.tokenizer_settings
    for name in config.tokenizers:
        origin = EXPORTED.get(stanzas[name].method)
        if origin and (origin not in stanzas or stanzas[origin].method != origin):
            raise SettingError(
                f"tokenizer_settings.{origin}",
                f"must be of method {origin}: {name} is its pieces in another segmentation; set "
                f"method: {origin} there, or take {name} out of tokenizers",
            )


def _names_are_distinct(config: Configuration) -> None:
    """Refuse names that figures and tables, or folders, could not keep apart."""
    for name in config.tokenizers:
        if name in INITIAL_FOLDERS:
            raise SettingError(
                "tokenizers", f"{name!r} is a folder of the workflow's own; choose another name"
            )
    for key, shown in _shown_names(config):
        for number, (name, text) in enumerate(shown):
            for other, known in shown[:number]:
                if text == known:
                    raise SettingError(
                        key.format(name), f"{text!r} is {other}'s, too; give each its own"
                    )


def _shown_names(config: Configuration) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield what names stand beside each other: the form of their keys, each with its stanza."""
    stanzas = config.tokenizer_settings
    readings = config.studies.readings if config.studies.enabled else []
    for names in (config.tokenizers, readings):
        labels = [(name, stanzas[name].label or name) for name in names]
        yield "tokenizer_settings.{}.label", labels
    languages = [(name, config.language_settings[name].name) for name in config.languages]
    yield "language_settings.{}.name", languages
    for language in config.languages:
        domains = {name: config.domain_settings[name] for name in config.domains}
        own = [(name, one.name) for name, one in domains.items() if one.language == language]
        titles = [(name, title[:1].upper() + title[1:]) for name, title in own]
        yield "domain_settings.{}.name", [("train", "Training corpus"), *titles]
        tasks = {name: config.task_settings[name] for name in _used_tasks(config)}
        labels = [(name, t.label or name) for name, t in tasks.items() if t.language == language]
        yield "task_settings.{}.label", labels


def _initial_vocabularies_fit(config: Configuration) -> None:
    stanzas = config.tokenizer_settings
    for name in _readings(config):
        decoder = reading_settings(stanzas[name].model_dump())["decoder"]
        if stanzas[name].initial == "unigram" and decoder == "merges":
            raise SettingError(
                f"tokenizer_settings.{name}.decoder",
                "merges needs the merges of BPE, which UnigramLM has not; set decoder: greedy or "
                "initial: bpe",
            )
    for name in config.studies.readings if config.studies.enabled else []:
        if stanzas[name].initial == "unigram":
            raise SettingError(
                "studies.readings",
                f"{name!r} prunes UnigramLM's pieces (initial: unigram), and the studies compare "
                "prunings of BPE's; take the name out of the list",
            )


def _pruning_can_be_done(config: Configuration) -> None:
    sizes, numbers = config.vocabulary, asdict(config.sage)
    check_pruning(sizes.initial_size, SageSettings(**numbers, final_size=sizes.final_size))
    for name in _readings(config):
        try:
            check_pruning(sizes.initial_size, _numbers_of(config, name))
        except SettingError as error:
            key = error.key.removeprefix("sage.")
            raise SettingError(f"tokenizer_settings.{name}.{key}", error.reason) from None
    for name, key, value in _study_values(config):
        try:
            if key == "initial_size":
                check_pruning(value, _numbers_of(config, name))
            else:
                check_pruning(sizes.initial_size, _numbers_of(config, name, **{key: value}))
        except SettingError as error:
            raise SettingError(f"studies.values.{key}", f"with {value}, {error}") from None


def _numbers_of(config: Configuration, name: str, **varied: int) -> SageSettings:
    """Return all numbers of a tokenizer of method `sage`: the run's, its own, then those given."""
    own = reading_settings(config.tokenizer_settings[name].model_dump())
    final_size = config.vocabulary.final_size
    return SageSettings(**{**asdict(config.sage), **own, **varied}, final_size=final_size)


def _readings(config: Configuration) -> Iterator[str]:
    """Yield the tokenizers of method `sage` that are built."""
    yield from (n for n in config.tokenizers if config.tokenizer_settings[n].method == "sage")
    yield from config.studies.readings if config.studies.enabled else []


def _study_values(config: Configuration) -> Iterator[tuple[str, str, int]]:
    """Yield reading, key and value of what the study of sensitivity sets, one at a time."""
    for name in config.studies.varied if config.studies.enabled else []:
        yield from ((name, key, value) for key, values in config.studies.values for value in values)


def _languages_are_known(config: Configuration) -> None:
    for section in ("domain_settings", "task_settings"):
        for name, stanza in getattr(config, section).items():
            if stanza.language not in config.language_settings:
                raise SettingError(
                    f"{section}.{name}.language", f"no stanza language_settings.{stanza.language}"
                )
    for name in config.domains:
        if name == "train" or name in config.languages:
            raise SettingError(
                "domains", f"{name!r} is the name of a training corpus; choose another"
            )


def _local_files_are_there(config: Configuration) -> None:
    for key, path in _local_paths(config):
        files = local_files(path)
        if missing := [file for file in files if not Path(file).is_file()]:
            raise SettingError(
                f"{key}.path",
                f"there is no file {missing[0]}; paths are relative to the working directory",
            )
        _check_names(f"{key}.path", files)
    for name in config.tokenizers:
        path = (config.tokenizer_settings[name].path or "").replace("{lang}", "")
        _check_names(f"tokenizer_settings.{name}.path", [path])


def _check_names(key: str, files: Iterable[str]) -> None:
    for file in files:
        if "{" in file or "}" in file:
            raise SettingError(
                key, f"Snakemake takes the braces in {file} for wildcards; rename the file"
            )


def _local_paths(config: Configuration) -> Iterator[tuple[str, str | list[str]]]:
    """Yield the local files of the texts and tasks that the run uses, by the keys of them."""
    for key, source in _sources(config):
        if source.kind == "path":
            yield key, source.path
    for name in config.languages:
        morphology = config.language_settings[name].morphology
        if morphology and morphology.path:
            yield f"language_settings.{name}.morphology", morphology.path


def _sources(config: Configuration) -> Iterator[tuple[str, Source]]:
    yield from _text_sources(config)
    for name, task in _used_tasks(config).items():
        for split, source in task.used_sources().items():
            yield f"task_settings.{name}.source.{split}", source


def _text_sources(config: Configuration) -> Iterator[tuple[str, Source]]:
    for names in ("languages", "domains"):
        for name in getattr(config, names):
            stanza = getattr(config, STANZAS[names])[name]
            yield f"{STANZAS[names]}.{name}.source", stanza.source


def _used_tasks(config: Configuration) -> dict[str, Task]:
    fine_tuned = config.tasks if config.lm.enabled else []
    names = dict.fromkeys([*fine_tuned, *config.probes.tasks])
    return {name: config.task_settings[name] for name in names}


def _local_tables_have_their_columns(config: Configuration) -> None:
    for key, source in _text_sources(config):
        form = _form_of_local(source)
        if form in TABLES and not source.column:
            raise SettingError(f"{key}.column", f"missing; a {form} source needs it")
        _check_columns(source, form, [source.column], f"{key}.column")
    for name, task in _used_tasks(config).items():
        wanted = task.columns.model_dump(exclude_none=True)
        for source in task.used_sources().values():
            _check_columns(
                source, _form_of_local(source), wanted.values(), f"task_settings.{name}.columns"
            )


def _form_of_local(source: Source) -> str | None:
    """Return the format of local files; None for a source of another kind."""
    return source.format or format_told(source.path) if source.kind == "path" else None


def _check_columns(source: Source, form: str | None, wanted: Iterable[str], key: str) -> None:
    for file in local_files(source.path) if form in TABLES else ():
        there = first_columns(file, form)
        for column in wanted if there else ():
            if column not in there:
                raise SettingError(
                    key,
                    f"{file} has no column {column!r}; name one that it has: {', '.join(there)}",
                )


def _tasks_can_be_probed(config: Configuration) -> None:
    for name in config.probes.tasks:
        kind = probe_kind(config.task_settings[name].model_dump())
        if kind is None:
            raise SettingError(
                "probes.tasks",
                f"{name!r} can't be probed: it is not one text with classes, words with tags or "
                "two texts with a score; take it out of the list",
            )
        if kind == SIMILARITY and not config.probes.seeds:
            raise SettingError(
                "probes.seeds",
                f"{name!r} in probes.tasks needs vectors; list a seed, or take it out of the tasks",
            )


def _models_can_be_trained(config: Configuration) -> None:
    lm = config.lm
    if not lm.enabled:
        return
    pretrain = PretrainSettings(**asdict(lm.pretrain))
    if lm.finetune.max_sequence_length > pretrain.sequence_length:
        raise SettingError(
            "lm.finetune.max_sequence_length",
            f"{lm.finetune.max_sequence_length} is more than the models learn positions for "
            f"(lm.pretrain.sequence_length: {pretrain.sequence_length}); lower it, or raise that",
        )
    if config.seed in lm.pretraining_seeds:
        raise SettingError(
            "lm.pretraining_seeds",
            f"{config.seed} is the seed of the run's own models (config key seed); list further "
            "ones",
        )


RULES = (
    _names_have_stanzas,
    _names_are_known_elsewhere,
    _exported_have_a_model,
    _names_are_distinct,
    _initial_vocabularies_fit,
    _pruning_can_be_done,
    _languages_are_known,
    _local_files_are_there,
    _local_tables_have_their_columns,
    _tasks_can_be_probed,
    _models_can_be_trained,
)
