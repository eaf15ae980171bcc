"""The whole configuration: its sections, what must hold between them, and how it is read.

A `Configuration` is kept as the object from file to rule. What must hold between sections is a
validator here, so that a run does not fail late: it raises a SettingError with the key, what is
wrong with it and what would be right.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from reproduction.analysis.probe_kinds import SIMILARITY
from reproduction.builds import EXPORTED, builds_of
from reproduction.data.files import local_files
from reproduction.sections import (
    Analysis,
    Corpus,
    Domain,
    Figures,
    Language,
    LanguageModels,
    Probes,
    Section,
    Source,
    Task,
    Tokenizer,
    section,
)
from sagevocab.errors import SettingError, UserError
from sagevocab.fields import Name, Names, Seed, first_problem
from sagevocab.presets import reading_settings
from sagevocab.settings import (
    DEFAULT_SEED,
    SageKeys,
    SageSettings,
    VocabularyKeys,
    Word2VecKeys,
    check_pruning,
    settings_from,
)

# Lists of names, the section that holds their stanzas.
STANZAS = {
    "languages": "language_settings",
    "domains": "domain_settings",
    "tokenizers": "tokenizer_settings",
    "tasks": "task_settings",
}
# The loader in C is ten times as fast, and every job of a cluster reads the configuration.
_YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _TwiceError(yaml.MarkedYAMLError):
    """A key stands twice in a mapping."""


class _Loader(_YAML_LOADER):
    """A loader that refuses a key that stands twice, of which YAML would take the second."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the mapping of a node."""
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if key.value in lines:
                problem = f"{key.value} stands in line {lines[key.value]}, too; keep one of them"
                raise _TwiceError(problem=problem, problem_mark=key.start_mark)
            lines[key.value] = key.start_mark.line + 1
        return super().construct_mapping(node, deep)


class Configuration(Section):
    """`config.yaml` holds the paper's settings.

    Another file given with `--configfile` overrides single keys of it. Overrides are merged key by
    key; they replace lists and values and can't remove a key.
    """

    run: Name = Field(description="Name of the run; its results go to `results/{run}/`.")
    seed: Seed = Field(
        DEFAULT_SEED,
        description="Seed of sampling, embeddings and the order of training data. Fine-tuning has "
        "seeds of its own.",
    )
    download_dir: str = Field(
        "results/downloads",
        min_length=1,
        description="Folder of finished and partial downloads, shared by all runs.",
    )
    languages: Annotated[Names, Field(min_length=1)] = Field(
        description="Languages of the run; each needs a stanza in `language_settings`."
    )
    language_settings: dict[Name, Language] = Field(description="One stanza a language.")
    corpus: Corpus = section(Corpus)
    domains: Names = Field(
        [], description="Texts of other domains on which the tokenizers are measured too."
    )
    domain_settings: dict[Name, Domain] = section(dict, "One stanza a domain text.")
    tokenizers: Annotated[Names, Field(min_length=1)] = Field(
        description="Tokenizers to build and compare; each needs a stanza in `tokenizer_settings`."
    )
    tokenizer_settings: dict[Name, Tokenizer] = Field(description="One stanza a tokenizer.")
    vocabulary: VocabularyKeys = section(VocabularyKeys)
    sage: SageKeys = section(SageKeys)
    word2vec: Word2VecKeys = section(Word2VecKeys)
    analysis: Analysis = section(Analysis)
    probes: Probes = section(Probes)
    figures: Figures = section(Figures)
    tasks: Names = Field(
        [], description="Evaluation tasks; each needs a stanza in `task_settings`."
    )
    task_settings: dict[Name, Task] = section(dict, "One stanza a task.")
    lm: LanguageModels = section(LanguageModels)

    # --- what its stanzas are used for

    @property
    def used_tasks(self) -> dict[str, Task]:
        """The tasks that models are fine-tuned on or that are probed."""
        fine_tuned = self.tasks if self.lm.enabled else []
        names = dict.fromkeys([*fine_tuned, *self.probes.tasks])
        return {name: self.task_settings[name] for name in names}

    def text_sources(self) -> Iterator[tuple[str, Source]]:
        """Yield the sources of training corpora and domain texts by their keys."""
        for names in ("languages", "domains"):
            for name in getattr(self, names):
                stanza = getattr(self, STANZAS[names])[name]
                yield f"{STANZAS[names]}.{name}.source", stanza.source

    # --- what must hold between sections

    @model_validator(mode="after")
    def _names_have_stanzas(self) -> Self:
        stanzas = {named: getattr(self, named) for named in STANZAS.values()}
        tokenizers, of_sage = self.tokenizer_settings, "tokenizer_settings of method sage"
        stanzas[of_sage] = {name: one for name, one in tokenizers.items() if one.method == "sage"}
        lists = [
            *((key, getattr(self, key), named) for key, named in STANZAS.items()),
            ("figures.tokenizers", self.figures.tokenizers, "tokenizer_settings"),
            ("probes.tasks", self.probes.tasks, "task_settings"),
            ("lm.languages", self.lm.languages, "language_settings"),
            ("analysis.heuristics", self.analysis.heuristics, of_sage),
        ]
        for key, names, named in lists:
            for name in names:
                if name not in stanzas[named]:
                    have = ", ".join(sorted(stanzas[named])) or "none"
                    raise SettingError(
                        key,
                        f"{name!r} has no stanza in {named} (there: {have}); add one or take the "
                        "name out of the list",
                    )
        return self

    @model_validator(mode="after")
    def _names_are_known_elsewhere(self) -> Self:
        for name in self.lm.tokenizers if self.lm.enabled else []:
            if name not in self.tokenizers:
                raise SettingError(
                    "lm.tokenizers",
                    f"{name!r} is not in tokenizers; add it there or take it out here",
                )
        own = [n for n in self.tokenizers if self.tokenizer_settings[n].method == "bpe"]
        if own and own != ["bpe"]:
            raise SettingError(
                "tokenizers",
                f"{', '.join(own)}: the one tokenizer of method bpe is named bpe; take the others "
                "out of the list, or give them method external and a path",
            )
        for name in ("random", "frequency"):  # under these names the claims have their controls
            if name in self.tokenizers and self.tokenizer_settings[name].method != name:
                raise SettingError(
                    f"tokenizer_settings.{name}.method",
                    f"must be {name}; give a tokenizer of another method another name",
                )
        return self

    @model_validator(mode="after")
    def _exported_have_a_model(self) -> Self:
        stanzas = self.tokenizer_settings
        for name in self.tokenizers:
            origin = EXPORTED.get(stanzas[name].method)
            if origin and (origin not in stanzas or stanzas[origin].method != origin):
                raise SettingError(
                    f"tokenizer_settings.{origin}",
                    f"must be of method {origin}: {name} is its pieces in another segmentation; "
                    f"set method: {origin} there, or take {name} out of tokenizers",
                )
        return self

    @model_validator(mode="after")
    def _names_are_distinct(self) -> Self:
        """Refuse names that figures and tables could not keep apart."""
        for key, shown in self._shown_names():
            for number, (name, text) in enumerate(shown):
                for other, known in shown[:number]:
                    if text == known:
                        raise SettingError(
                            key.format(name), f"{text!r} is {other}'s, too; give each its own"
                        )
        return self

    def _shown_names(self) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield the names that are shown together: the form of their keys, each with its stanza."""
        stanzas = self.tokenizer_settings
        labels = [(name, stanzas[name].label or name) for name in self.tokenizers]
        yield "tokenizer_settings.{}.label", labels
        languages = [(name, self.language_settings[name].name) for name in self.languages]
        yield "language_settings.{}.name", languages
        for language in self.languages:
            domains = {name: self.domain_settings[name] for name in self.domains}
            own = [(name, one.name) for name, one in domains.items() if one.language == language]
            titles = [(name, title[:1].upper() + title[1:]) for name, title in own]
            yield "domain_settings.{}.name", [("train", "Training corpus"), *titles]
            tasks = self.used_tasks.items()
            labels = [(name, t.label or name) for name, t in tasks if t.language == language]
            yield "task_settings.{}.label", labels

    @model_validator(mode="after")
    def _initial_vocabularies_fit(self) -> Self:
        for name in self._sage_tokenizers():
            stanza = self.tokenizer_settings[name]
            decoder = reading_settings(stanza.reading)["decoder"]
            if stanza.initial_method == "unigram" and decoder == "merges":
                raise SettingError(
                    f"tokenizer_settings.{name}.decoder",
                    "merges needs the merges of BPE, which UnigramLM has not; set decoder: greedy "
                    "or initial: bpe",
                )
        return self

    def _sage_tokenizers(self) -> list[str]:
        names = (*self.tokenizers, *self.analysis.heuristics)
        return [n for n in names if self.tokenizer_settings[n].method == "sage"]

    @model_validator(mode="after")
    def _pruning_can_be_done(self) -> Self:
        initial, final = self.vocabulary.initial_size, self.vocabulary.final_size
        check_pruning(initial, SageSettings(**asdict(self.sage), final_size=final))
        for name, build in builds_of(self).items():
            size = build.initial_size
            try:
                if build.method == "sage":
                    check_pruning(size, settings_from(**build.settings))
                elif build.initial and size < final:
                    raise SettingError(
                        "initial_size", f"{size} is below the final size, {final}; raise it"
                    )
            except SettingError as error:
                key = error.key.removeprefix("sage.")
                raise SettingError(f"tokenizer_settings.{name}.{key}", error.reason) from None
        return self

    @model_validator(mode="after")
    def _heuristics_have_one_seed(self) -> Self:
        for name in self.analysis.heuristics:
            if self.tokenizer_settings[name].seeds:
                raise SettingError(
                    f"tokenizer_settings.{name}.seeds",
                    "a tokenizer of analysis.heuristics is built with one seed; leave it out",
                )
        return self

    @model_validator(mode="after")
    def _languages_are_known(self) -> Self:
        for key in ("domain_settings", "task_settings"):
            for name, stanza in getattr(self, key).items():
                if stanza.language not in self.language_settings:
                    raise SettingError(
                        f"{key}.{name}.language", f"no stanza language_settings.{stanza.language}"
                    )
        for name in self.domains:
            if name == "train" or name in self.languages:
                raise SettingError(
                    "domains", f"{name!r} is the name of a training corpus; choose another"
                )
        return self

    @model_validator(mode="after")
    def _local_files_are_there(self) -> Self:
        for key, path in self._local_paths():
            files = local_files(path)
            if missing := [file for file in files if not Path(file).is_file()]:
                raise SettingError(
                    f"{key}.path",
                    f"there is no file {missing[0]}; paths are relative to the working directory",
                )
        return self

    def _local_paths(self) -> Iterator[tuple[str, str | list[str]]]:
        """Yield the local files of the texts and tasks that the run uses, by their keys."""
        sources = dict(self.text_sources())
        for name, task in self.used_tasks.items():
            for split, source in task.used_sources().items():
                sources[f"task_settings.{name}.source.{split}"] = source
        yield from ((key, one.path) for key, one in sources.items() if one.kind == "path")
        for name in self.languages:
            morphology = self.language_settings[name].morphology
            if morphology and morphology.path:
                yield f"language_settings.{name}.morphology", morphology.path

    @model_validator(mode="after")
    def _tasks_can_be_probed(self) -> Self:
        for name in self.probes.tasks:
            kind = self.task_settings[name].probe_kind
            if kind is None:
                raise SettingError(
                    "probes.tasks",
                    f"{name!r} can't be probed: it is not one text with classes, words with tags "
                    "or two texts with a score; take it out of the list",
                )
            if kind == SIMILARITY and not self.probes.seeds:
                raise SettingError(
                    "probes.seeds",
                    f"{name!r} in probes.tasks needs vectors; list a seed, or take it out of the "
                    "tasks",
                )
        return self

    @model_validator(mode="after")
    def _models_can_be_trained(self) -> Self:
        if not self.lm.enabled:
            return self
        longest = self.lm.pretrain.sequence_length
        if self.lm.finetune.max_sequence_length > longest:
            raise SettingError(
                "lm.finetune.max_sequence_length",
                f"{self.lm.finetune.max_sequence_length} is more than the models learn positions "
                f"for (lm.pretrain.sequence_length: {longest}); lower it, or raise that",
            )
        if self.seed in self.lm.pretraining_seeds:
            raise SettingError(
                "lm.pretraining_seeds",
                f"{self.seed} is the seed of the run's own models (config key seed); list further "
                "ones",
            )
        return self


# --- reading


def load_config(
    checkout: Path,
    given: Mapping[str, Any],
    *,
    working_directory: bool,
    files: Sequence[Path | str] = (),
) -> Configuration:
    """Return the checked configuration: the paper's settings, overridden by those of the user.

    The paper's settings are `config.yaml` of the checkout. `config.yaml` or `config/config.yaml` of
    the working directory overrides single keys of it, and `given` overrides both. Mappings are
    merged key by key; other values and lists are replaced.

    Args:
        checkout: the folder of the checkout.
        given: what `--configfile` and `--config` say, or the workflow that uses this one as a
            module.
        working_directory: whether to read the configuration there.
        files: those that `given` comes from, the last one first asked for a key.

    Raises:
        UserError: a file can't be read, or what they say together can't be run.
    """
    paper = checkout / "config.yaml"
    config = _read_config(paper)
    places: dict[str, dict[str, Any]] = {}
    for name in ("config.yaml", "config/config.yaml") if working_directory else ():
        path = Path(name)
        if path.is_file() and not path.samefile(paper):
            places[name] = _read_config(path)
            _merge(config, places[name])
    # Snakemake has read these, but takes the second of two equal keys in silence.
    places |= {str(file): _read_config(Path(file)) for file in files}
    _merge(config, given)
    try:
        return check_config(config)
    except SettingError as error:
        here = [file for file, said in places.items() if _has(said, error.key)]
        where = f" (in {here[-1]})" if here else ""
        raise UserError(f"config key {error}{where}") from error


def _has(said: Mapping[str, Any], key: str) -> bool:
    """Return whether a file says something at a dotted key, or at a part of it."""
    place: Any = said
    for part in key.split("."):
        if not isinstance(place, Mapping):
            return True
        if part not in place:
            return False
        place = place[part]
    return True


def check_config(config: dict[str, Any]) -> Configuration:
    """Return the checked settings, with defaults; refuse what can't be run.

    A value has one form, 24.0 for 24, so that equal settings are equal parameters of jobs.

    Raises:
        SettingError: one line that names the key, what is wrong with it and what would be right.
    """
    _take_smaller_budget(config)
    try:
        return Configuration.model_validate(config)
    except ValidationError as error:
        raise first_problem(error, Configuration, config) from None


def _take_smaller_budget(config: dict[str, Any]) -> None:
    """Let one key be enough for a budget: `hours`, which config.yaml sets, gives way to others."""
    with suppress(KeyError, TypeError, AttributeError):
        pretrain = config["lm"]["pretrain"]
        if pretrain.get("steps") is not None or pretrain.get("tokens") is not None:
            pretrain["hours"] = None


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader) or {}
    except FileNotFoundError as error:
        raise UserError(f"{path}: is missing; it holds the paper's settings, restore it") from error
    except _TwiceError as error:
        raise UserError(f"{path}:{error.problem_mark.line + 1}: {error.problem}") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UserError(
            f"{path}:{line}: is not YAML ({error.problem}); correct this line or the one before it"
        ) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(
            f"{path}: cannot be read as YAML ({error}); write it as UTF-8 text"
        ) from error
    if not isinstance(config, dict):
        raise UserError(f"{path}: must hold keys and their values; write lines like seed: 1")
    return config


def _merge(config: dict[str, Any], overrides: Mapping[str, Any]) -> None:
    for key, value in overrides.items():
        if isinstance(value, Mapping):
            inner = config[key] if isinstance(config.get(key), dict) else {}
            config[key] = inner
            _merge(inner, value)
        else:
            config[key] = value


# --- comparing configurations


def changed_settings(
    settings: Mapping[str, Any], usual: Mapping[str, Any], keys: Sequence[str]
) -> list[dict[str, Any]]:
    """Return where a run's configuration differs from the usual one: key, usual, run.

    keys: dotted keys, or sections all of whose keys are compared. A stanza that only one of the
    two has is another text or tokenizer, not another setting, and left out; a key is not: it
    counts as None where it is missing.
    """
    pairs = ((key, value_at(usual, key), value_at(settings, key)) for key in keys)
    return [row for pair in pairs for row in _changes(*pair)]


def value_at(settings: Mapping[str, Any], key: str) -> Any:
    """Return the value of a dotted key, the whole for none; None where there is none."""
    place: Any = settings
    for part in key.split(".") if key else ():
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


if __name__ == "__main__":
    print(json.dumps(Configuration.model_json_schema(), ensure_ascii=False))
