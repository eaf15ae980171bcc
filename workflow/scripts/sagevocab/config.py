"""The configuration: its schema's defaults, and what a schema cannot say about it."""

from __future__ import annotations

import difflib
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator, ValidationError, validators
from jsonschema.exceptions import best_match

from sagevocab.data.sources import KINDS as SOURCE_KINDS
from sagevocab.data.sources import local_files
from sagevocab.errors import UserError
from sagevocab.lm.metrics import fitting_metrics
from sagevocab.vocab.presets import reading_settings

BUDGETS = ("hours", "steps", "tokens")
# Lists of names, the section that holds their stanzas.
STANZAS = {
    "languages": "language_settings",
    "domains": "domain_settings",
    "tokenizers": "tokenizer_settings",
    "tasks": "task_settings",
}


def check_config(config: dict[str, Any], schema_path: Path) -> None:
    """Fill in the schema's defaults and refuse what can't be run.

    Raises:
        UserError: one line that names the key, what is wrong with it and what would be right.
    """
    schema = yaml.safe_load(Path(schema_path).read_text(encoding="utf-8"))
    error = best_match(_DefaultsValidator(schema).iter_errors(config))
    if error is not None:
        raise UserError(_one_line(error))
    _take_smaller_budget(config["lm"]["pretrain"])
    for problem in _problems(config):
        raise UserError(problem)


def _take_smaller_budget(pretrain: dict[str, Any]) -> None:
    """Let one key be enough for a budget: `hours`, which has a default, gives way to the others."""
    if pretrain["steps"] is not None or pretrain["tokens"] is not None:
        pretrain["hours"] = None


def changed_settings(
    settings: Mapping[str, Any], usual: Mapping[str, Any], keys: Sequence[str]
) -> list[dict[str, Any]]:
    """Return where a run's configuration differs from the usual one: key, usual, run.

    keys: dotted keys, or sections all of whose keys are compared. A stanza that only one of the
    two has is another text or tokenizer, not another setting, and left out; a key is not: it
    counts as None where it is missing.
    """
    pairs = ((key, _value_at(usual, key), _value_at(settings, key)) for key in keys)
    return [row for pair in pairs for row in _changes(*pair)]


def _value_at(settings: Mapping[str, Any], key: str) -> Any:
    place: Any = settings
    for part in key.split("."):
        place = place.get(part) if isinstance(place, Mapping) else None
    return place


def _changes(key: str, usual: Any, run: Any) -> Iterator[dict[str, Any]]:
    if isinstance(usual, Mapping) and isinstance(run, Mapping):
        stanzas = key in STANZAS.values()
        names = (
            [name for name in usual if name in run] if stanzas else dict.fromkeys([*usual, *run])
        )
        for name in names:
            yield from _changes(f"{key}.{name}", usual.get(name), run.get(name))
    elif usual != run:
        yield {"key": key, "usual": usual, "run": run}


def _set_defaults(validator: Any, properties: dict, instance: Any, schema: dict) -> Iterator:
    if isinstance(instance, dict):
        for name, node in properties.items():
            if "default" in node:
                instance.setdefault(name, _copy(node["default"]))
    yield from Draft202012Validator.VALIDATORS["properties"](
        validator, properties, instance, schema
    )


def _copy(default: Any) -> Any:
    """A default must not be shared by the stanzas that it fills."""
    return default.copy() if isinstance(default, dict | list) else default


_DefaultsValidator = validators.extend(Draft202012Validator, {"properties": _set_defaults})


def _one_line(error: ValidationError) -> str:
    key = ".".join(str(part) for part in error.absolute_path)
    if error.validator == "additionalProperties":
        return _unknown_key(error, key)
    where = f"config key {key}" if key else "config"
    return f"{where}: {_reason(error)}; config/README.md lists every key"


def _reason(error: ValidationError) -> str:
    if error.validator == "anyOf" and "source" in str(error.absolute_path):
        return f"none of {', '.join(SOURCE_KINDS)} is given"
    described = error.schema.get("description") if isinstance(error.schema, dict) else None
    reason = f"{error.message} ({described})" if described else error.message
    return f"{reason}; {_NUMBER_AS_TEXT}" if _is_number_as_text(error) else reason


_NUMBER_AS_TEXT = (
    "YAML reads 1e-3 as text: write it with a point and a sign, 1.0e-3 or 1.0e+9, or in full"
)


def _is_number_as_text(error: ValidationError) -> bool:
    if error.validator != "type" or not isinstance(error.instance, str):
        return False
    try:
        float(error.instance)
    except ValueError:
        return False
    return True


def _unknown_key(error: ValidationError, parent: str) -> str:
    known = list(error.schema["properties"])
    name = next(name for name in error.instance if name not in known)
    close = difflib.get_close_matches(str(name), known, n=1)
    advice = f"did you mean {close[0]}?" if close else f"known there: {', '.join(known)}"
    return f"config key {f'{parent}.{name}' if parent else name}: unknown; {advice}"


def _problems(config: dict[str, Any]) -> Iterator[str]:
    yield from _missing_stanzas(config)
    yield from _vocabulary_problems(config)
    yield from _tokenizer_problems(config)
    yield from _ablation_problems(config)
    yield from _language_problems(config)
    yield from _source_problems(config)
    yield from _morphology_problems(config)
    yield from _task_problems(config)
    if config["studies"]["enabled"]:
        yield from _study_problems(config)
    if config["lm"]["enabled"]:
        yield from _model_problems(config["lm"], config["tokenizers"])
        yield from _replay_problems(config)
        if config["seed"] in config["lm"]["pretraining_seeds"]:
            yield (
                f"config key lm.pretraining_seeds: {config['seed']} is the seed of the run's own "
                "models (config key seed); list further ones"
            )


def _missing_stanzas(config: dict[str, Any]) -> Iterator[str]:
    for names, section in STANZAS.items():
        for name in config[names]:
            if name not in config[section]:
                have = ", ".join(sorted(config[section])) or "none"
                yield (
                    f"config key {names}: {name!r} has no stanza in {section} (there: {have}); "
                    f"add one or take the name out of the list"
                )


def _vocabulary_problems(config: dict[str, Any]) -> Iterator[str]:
    sizes = config["vocabulary"]
    if sizes["initial_size"] < sizes["final_size"]:
        yield (
            f"config key vocabulary.initial_size: {sizes['initial_size']} is below "
            f"vocabulary.final_size ({sizes['final_size']}); SaGe prunes from the one to the other"
        )


def _ablation_problems(config: dict[str, Any]) -> Iterator[str]:
    """What `sage` would refuse too, but only after hours of Word2Vec."""
    sage, sizes = config["sage"], config["vocabulary"]
    pruned = sizes["initial_size"] - sizes["final_size"]
    needed = min(sage["prune_batch"] * sage["rerank_every"], pruned)
    if sage["candidates"] < needed:
        yield (
            f"config key sage.candidates: {sage['candidates']} is below the {needed} pieces that "
            "are pruned between two rankings (prune_batch x rerank_every); raise it"
        )
    for key, stanza in _readings(config):
        reading = reading_settings(stanza)
        if reading["loss"] == "total" and reading["loss_lines"] != "all":
            yield (
                f"config key {key}.loss_lines: a total loss is over all lines; set it to all, or "
                "choose a mean loss"
            )


def _readings(config: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the readings of SaGe that are built, by the keys of their stanzas."""
    for name in config["tokenizers"]:
        stanza = config["tokenizer_settings"][name]
        if stanza["method"] == "sage":
            yield f"tokenizer_settings.{name}", stanza
    if config["studies"]["enabled"]:
        for name in config["studies"]["readings"]:
            if name in config["reading_settings"]:
                yield f"reading_settings.{name}", config["reading_settings"][name]


def _study_problems(config: dict[str, Any]) -> Iterator[str]:
    studies, known = config["studies"], config["reading_settings"]
    for name in studies["readings"]:
        if name not in known:
            yield (
                f"config key studies.readings: {name!r} has no stanza in reading_settings (there: "
                f"{', '.join(sorted(known)) or 'none'}); add one or take the name out of the list"
            )
    for name in studies["varied"]:
        if name not in studies["readings"]:
            yield f"config key studies.varied: {name!r} is not in studies.readings; add it there"
    for key, values in studies.get("values", {}).items():
        for value in values:
            yield from _value_problems(config, key, value)


def _value_problems(config: dict[str, Any], key: str, value: int) -> Iterator[str]:
    """What a build of the study of sensitivity would refuse after hours of the others."""
    final = config["vocabulary"]["final_size"]
    settings = {**config["sage"], "initial_size": config["vocabulary"]["initial_size"], key: value}
    pruned = settings["initial_size"] - final
    if pruned < 0:
        yield (
            f"config key studies.values.{key}: {value} is below vocabulary.final_size ({final}); "
            "raise it"
        )
    needed = min(settings["prune_batch"] * settings["rerank_every"], pruned)
    if settings["candidates"] < needed:
        yield (
            f"config key studies.values.{key}: with {value}, {needed} pieces are pruned between "
            f"two rankings, more than the candidates ({settings['candidates']}); choose another"
        )


def _tokenizer_problems(config: dict[str, Any]) -> Iterator[str]:
    methods = {"external": "path", "sage": "preset"}
    for name in config["tokenizers"]:
        stanza = config["tokenizer_settings"][name]
        needed = methods.get(stanza["method"])
        if needed and not stanza.get(needed):
            yield (
                f"config key tokenizer_settings.{name}.{needed}: missing; "
                f"method {stanza['method']} needs it"
            )
    own = [n for n in config["tokenizers"] if config["tokenizer_settings"][n]["method"] == "bpe"]
    if own and own != ["bpe"]:
        yield "config key tokenizers: the tokenizer of method bpe is named bpe, and there is one"


def _language_problems(config: dict[str, Any]) -> Iterator[str]:
    for section in ("domain_settings", "task_settings"):
        for name, stanza in config[section].items():
            if stanza["language"] not in config["language_settings"]:
                yield (
                    f"config key {section}.{name}.language: no stanza "
                    f"language_settings.{stanza['language']}"
                )
    for name in config["domains"]:
        if name == "train" or name in config["languages"]:
            yield f"config key domains: {name!r} is the name of a training corpus; choose another"


def _sources(config: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for names in ("languages", "domains"):
        for name in config[names]:
            section = STANZAS[names]
            yield f"{section}.{name}.source", config[section][name]["source"]
    for name in config["tasks"] if config["lm"]["enabled"] else []:
        stanza = config["task_settings"][name]
        for split, source in stanza["source"].items():
            if split == "train" or not stanza["validation_share"]:
                yield f"task_settings.{name}.source.{split}", source


def missing_files(path: str | Sequence[str]) -> list[str]:
    """Return those of a source's local files that are not there."""
    return [file for file in local_files(path) if not Path(file).is_file()]


def _source_problems(config: dict[str, Any]) -> Iterator[str]:
    for key, source in _sources(config):
        kind = next((kind for kind in SOURCE_KINDS if source.get(kind)), None)
        if kind is None:
            yield f"config key {key}: none of {', '.join(SOURCE_KINDS)} is given"
        elif kind == "path" and (missing := missing_files(source["path"])):
            yield (
                f"config key {key}.path: there is no file {missing[0]}; "
                "paths are relative to the working directory"
            )
        elif kind in ("path", "package") and not source.get("format"):
            yield (
                f"config key {key}.format: missing; say what the file holds: text, mediawiki, "
                "conllu, jsonl, parquet, csv, tsv or conll"
            )


def _morphology_problems(config: dict[str, Any]) -> Iterator[str]:
    for name in config["languages"]:
        path = config["language_settings"][name].get("morphology", {}).get("path")
        if path and not Path(path).is_file():
            yield (
                f"config key language_settings.{name}.morphology.path: there is no file {path}; "
                "paths are relative to the working directory"
            )


def _task_problems(config: dict[str, Any]) -> Iterator[str]:
    needed = {"sequence": ("text", "label"), "tokens": ("tokens", "tags")}
    for name in config["tasks"]:
        stanza = config["task_settings"][name]
        for column in needed[stanza["kind"]]:
            if column not in stanza["columns"]:
                yield (
                    f"config key task_settings.{name}.columns.{column}: missing; "
                    f"a task of kind {stanza['kind']} needs it"
                )
        fitting = fitting_metrics(stanza["kind"], stanza.get("labels"))
        if stanza["metric"] not in fitting:
            yield (
                f"config key task_settings.{name}.metric: {stanza['metric']} does not fit this "
                f"task; choose one of {', '.join(fitting)}, or check its kind and labels"
            )
        yield from _validation_problems(name, stanza)


def _validation_problems(name: str, stanza: dict[str, Any]) -> Iterator[str]:
    """A validation split that is missing, or that a model was trained on."""
    if stanza["validation_share"]:
        return
    train, validation = (stanza["source"].get(split) for split in ("train", "validation"))
    if validation is None:
        yield (
            f"config key task_settings.{name}.source.validation: missing; give a source, or set "
            f"task_settings.{name}.validation_share to hold out a share of the training rows"
        )
    elif train.get("path") and train.get("path") == validation.get("path"):
        yield (
            f"config key task_settings.{name}.source: train and validation are the same file; "
            f"set task_settings.{name}.validation_share to hold out a share of its rows"
        )


def _model_problems(lm: dict[str, Any], tokenizers: list[str]) -> Iterator[str]:
    for name in lm["tokenizers"]:
        if name not in tokenizers:
            yield (
                f"config key lm.tokenizers: {name!r} is not in tokenizers; "
                "add it there or take it out here"
            )
    pretrain = lm["pretrain"]
    given = [name for name in BUDGETS if pretrain[name] is not None]
    if len(given) != 1:
        yield (
            f"config key lm.pretrain: exactly one of {', '.join(BUDGETS)} is the budget, here "
            + (f"{' and '.join(given)}; set the others to null" if given else "none; set one")
        )
    if pretrain["hidden"] % pretrain["heads"]:
        yield (
            f"config key lm.pretrain.heads: {pretrain['heads']} does not divide hidden "
            f"({pretrain['hidden']})"
        )
    if pretrain["batch"] % pretrain["micro_batch"]:
        yield (
            f"config key lm.pretrain.micro_batch: {pretrain['micro_batch']} does not divide batch "
            f"({pretrain['batch']})"
        )
    longest = lm["finetune"]["max_sequence_length"]
    if longest > pretrain["sequence_length"]:
        yield (
            f"config key lm.finetune.max_sequence_length: {longest} is more than the models learn "
            f"positions for (lm.pretrain.sequence_length: {pretrain['sequence_length']})"
        )


def _replay_problems(config: dict[str, Any]) -> Iterator[str]:
    """A log to be replayed that is missing, or that the run itself would write over."""
    key, replay = "config key lm.pretrain.replay", config["lm"]["pretrain"]["replay"]
    if replay is None:
        return
    folder = f"results/{config['run']}/"
    if os.path.normpath(replay).startswith(os.path.normpath(folder) + os.sep):
        yield f"{key}: {replay} is a result of this run; give the run another name (config key run)"
        return
    for lang, tok in itertools.product(config["languages"], config["lm"]["tokenizers"]):
        try:
            path = replay.format(lang=lang, tok=tok)
        except (KeyError, IndexError, ValueError):
            yield f"{key}: {replay}: only {{lang}} and {{tok}} can be filled in"
            return
        if not Path(path).is_file():
            yield f"{key}: there is no file {path!r}; name the training_log.parquet of a run"
            return
        if not _is_training_log(path):
            yield f"{key}: {path} is no training log; name the training_log.parquet of a run"
            return


def _is_training_log(path: str) -> bool:
    import pyarrow.parquet  # not for every planning: a run that replays another is rare

    try:
        return "learning_rate" in pyarrow.parquet.read_schema(path).names
    except (OSError, pyarrow.ArrowException):
        return False
