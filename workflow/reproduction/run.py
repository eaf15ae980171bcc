"""A run: its configuration, texts, tokenizers, models and files, for the rules.

A `Run` is built from a checked configuration. It imports nothing heavy and no Snakemake, so a dry
run stays fast and every answer can be tested. What only one rule needs is next to that rule. What
decides a vocabulary is in `builds`, parameters of claims and report are in `run_report`, and
selections that only figures and tables share in `artefacts.shared`.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from reproduction.builds import PRUNED, Build, builds_of, further_seeds, stanzas_of
from reproduction.data.files import local_files
from reproduction.data.sources import Source, resolve_source
from reproduction.external import check_external
from reproduction.settings import (
    PAPER_LANGUAGES,
    Configuration,
    Domain,
    Language,
    Task,
    Tokenizer,
)
from sagevocab.errors import SettingError

Stanza = dict[str, Any]

# Section of the configuration -> folder of what is retrieved of its sources. Lists of morphemes,
# which stand under languages there, have another name here.
_RETRIEVED = {
    "language_settings": "corpora",
    "domain_settings": "domains",
    "task_settings": "tasks",
    "morphology": "morphemes",
}


def memory(megabytes: int) -> Callable[[Any, int], int]:
    """Return the memory of a job in MB as a function of wildcards and attempt.

    It doubles once when a job is tried again, as the job may have lacked some. Later attempts
    continue after a time limit and need no more.
    """
    return lambda wildcards, attempt: megabytes * min(attempt, 2)


@dataclass(frozen=True)
class Run:
    """One run of the workflow, as its checked configuration describes it.

    config: the checked configuration.
    catalogue: name of a data set -> its entry in workflow/resources/datasets.yaml.

    Raises:
        SettingError: when it is built, for a source that is unknown or not there; not hours later,
            when the rule that reads it is reached.
        UserError: for a tokenizer from elsewhere that is none.
    """

    config: Configuration
    catalogue: dict[str, Stanza]

    def __post_init__(self) -> None:
        """Resolve every source and look for every local file once."""
        for named in self.sources:
            source = self.source(*named)
            files = local_files(source.name) if source.kind == "path" else []
            if missing := [file for file in files if not Path(file).is_file()]:
                raise SettingError(
                    f"{source.key}.path",
                    f"there is no file {missing[0]}; paths are relative to the working directory",
                )
        for name in self.of_method("external"):
            for language in self.languages:
                key = f"config key tokenizer_settings.{name}.path"
                check_external(self.tokenizer(name).path_in(language), key)

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self.config.seed

    def section(self, key: str) -> Stanza:
        """Return a section of the configuration as values that parameters and records are made of.

        key: dotted, `lm.pretrain`.
        """
        section = operator.attrgetter(key)(self.config)
        return section.model_dump() if isinstance(section, BaseModel) else asdict(section)

    def result(self, path: str) -> str:
        """Return the path of an artefact of this run."""
        return f"results/{self.config.run}/{path}"

    def files(self, pattern: str, **fields: Iterable[str | int]) -> list[str]:
        """Return the artefacts that a pattern stands for.

        fields: field of the pattern -> its values; the last varies fastest. The first is `lang`, by
        default every language.
        """
        fields = {"lang": self.languages, **fields}
        values = itertools.product(*fields.values())
        return [
            self.result(pattern.format(**dict(zip(fields, one, strict=True)))) for one in values
        ]

    # --- Languages, domains and tasks

    @property
    def languages(self) -> list[str]:
        """Names of the languages."""
        return self.config.languages

    @property
    def reproduces(self) -> bool:
        """Whether there is a language of the paper, so that its numbers can be compared with."""
        return any(name in PAPER_LANGUAGES for name in self.languages)

    @cached_property
    def domains(self) -> list[str]:
        """Names of the domain texts in a language of the run."""
        return [n for n in self.config.domains if self.domain(n).language in self.languages]

    @property
    def left_out(self) -> dict[str, list[str]]:
        """What the configuration lists of languages that are not in the run: key -> names."""
        stanzas = {"domains": {n: self.domain(n) for n in self.config.domains}}
        stanzas["tasks"] = self.config.used_tasks
        found = {
            key: [name for name, stanza in named.items() if stanza.language not in self.languages]
            for key, named in stanzas.items()
        }
        return {key: names for key, names in found.items() if names}

    @cached_property
    def tasks(self) -> list[str]:
        """Names of the evaluation tasks in a language that may have models."""
        return [n for n in self.config.tasks if self.task(n).language in self.model_languages]

    @cached_property
    def model_languages(self) -> list[str]:
        """Languages that get models, if the run has models."""
        return [name for name in self.languages if name in self.config.lm.languages]

    @property
    def models(self) -> list[str]:
        """Names of the tokenizers that language models are trained with."""
        lm = self.config.lm
        return lm.tokenizers if lm.enabled and self.model_languages else []

    @cached_property
    def probe_tasks(self) -> list[str]:
        """Names of the tasks in a language of the run that tokenizers are probed on.

        None where there is nothing to compare with BPE.
        """
        named = self.config.probes.tasks if self.has_comparison else []
        return [name for name in named if self.task(name).language in self.languages]

    @property
    def has_comparison(self) -> bool:
        """Whether the run has BPE, and a tokenizer to compare with it."""
        return "bpe" in self.config.tokenizers and len(self.config.tokenizers) > 1

    @property
    def prepared_tasks(self) -> list[str]:
        """The tasks whose rows the run needs: for models, for probes."""
        of_models = self.tasks if self.models else []
        return list(dict.fromkeys([*of_models, *self.probe_tasks]))

    def language(self, name: str) -> Language:
        """Return the stanza of a language."""
        return self.config.language_settings[name]

    def domain(self, name: str) -> Domain:
        """Return the stanza of a domain text."""
        return self.config.domain_settings[name]

    def task(self, name: str) -> Task:
        """Return the stanza of an evaluation task."""
        return self.config.task_settings[name]

    def corpora_of(self, language: str) -> list[str]:
        """Return the texts that a language's tokenizers are measured on: `train`, then domains."""
        return ["train", *(n for n in self.domains if self.domain(n).language == language)]

    # --- Sources

    @property
    def sources(self) -> list[tuple[str, str, str | None]]:
        """Every source of texts, tasks and lists of morphemes, as arguments of `source`."""
        return [
            *(("language_settings", name, None) for name in self.languages),
            *(("domain_settings", name, None) for name in self.domains),
            *(
                ("task_settings", name, split)
                for name in self.prepared_tasks
                for split in sorted(self.task(name).used_sources())
            ),
            *(("morphology", name, None) for name in self.morpheme_languages),
        ]

    def source(self, section: str, name: str, split: str | None = None) -> Source:
        """Return where a corpus, a domain text, a task's split or a list of morphemes comes from.

        Raises:
            SettingError: the catalogue has no such source.
        """
        if section == "morphology":
            stanza, key = self.language(name).morphology, f"language_settings.{name}.{section}"
        else:
            stanza, key = getattr(self.config, section)[name].source, f"{section}.{name}.source"
        if split is not None:
            stanza, key = getattr(stanza, split), f"{key}.{split}"
        return resolve_source(stanza.model_dump(), self.catalogue, key=key, split=split)

    def source_files(self, section: str, name: str, split: str | None = None) -> list[str]:
        """Return the files of a source: of this machine, or what was retrieved."""
        source = self.source(section, name, split)
        if source.kind == "path":
            return local_files(source.name)
        return [self.result(f"retrieved/{self.retrieved_path(section, name, split)}")]

    @staticmethod
    def retrieved_path(section: str, name: str, split: str | None = None) -> str:
        """Return where below `retrieved` a source lies that is not of this machine."""
        return "/".join(filter(None, (_RETRIEVED[section], name, split)))

    @cached_property
    def morpheme_languages(self) -> list[str]:
        """Languages with a list of segmented words."""
        return [name for name in self.languages if self.language(name).morphology]

    def task_splits(self, task: str) -> dict[str, tuple[Stanza, Stanza | None]]:
        """Return for both splits of a task what the rows of its source depend on, and its part."""
        splits = {}
        for split in ("train", "validation"):
            source = self.source("task_settings", task, self.task(task).origin(split))
            splits[split] = (source.form, self.task(task).part(split, self.seed))
        return splits

    # --- Names

    def is_constructed(self, task: str) -> bool:
        """Return whether a task's examples are constructed from text, in place of a real set."""
        return any(
            self.source("task_settings", task, split).constructed
            for split in self.task(task).used_sources()
        )

    def titles(self, languages: Iterable[str]) -> list[str]:
        """Return the names of languages as panels and rows show them."""
        return [self.language(name).name for name in languages]

    def domain_title(self, name: str) -> str:
        """Return the name of a domain text as a panel shows it."""
        title = self.domain(name).name
        return title[:1].upper() + title[1:]

    @cached_property
    def names(self) -> dict[str, str]:
        """What languages, domains and tasks are called, by their names in the configuration."""
        return {
            **{name: self.language(name).name for name in self.languages},
            **{name: self.domain(name).name for name in self.domains},
            **{name: (self.task(name).label or name) for name in self.tasks + self.probe_tasks},
        }

    # --- Tokenizers and models

    @property
    def tokenizers(self) -> list[str]:
        """Names of the tokenizers."""
        return self.config.tokenizers

    @cached_property
    def builds(self) -> dict[str, Build]:
        """Every vocabulary of the run by its name: all that the wildcard `tok` may stand for."""
        return builds_of(self.config)

    @cached_property
    def _stanzas(self) -> dict[str, Tokenizer]:
        return stanzas_of(self.config)

    def tokenizer(self, name: str) -> Tokenizer:
        """Return the stanza of a tokenizer, or of one of its further seeds."""
        return self._stanzas.get(name) or self.config.tokenizer_settings[name]

    def built_by(self, *methods: str) -> list[str]:
        """Return the vocabularies that are built by some methods; every seed."""
        return [name for name, build in self.builds.items() if build.method in methods]

    def with_seeds(self, names: Iterable[str]) -> list[str]:
        """Return tokenizers, each followed by those of its further seeds."""
        return [
            one
            for name in names
            for one in (name, *further_seeds(name, self.tokenizer(name), self.seed))
        ]

    def of_method(self, *methods: str) -> list[str]:
        """Return the tokenizers that are built by one of `methods`."""
        return [name for name in self.tokenizers if self.tokenizer(name).method in methods]

    def pruned_from_bpe(self, *methods: str) -> list[str]:
        """Return the tokenizers of some methods that are pruned from BPE's pieces.

        They alone are in the claims, and in the tables that set the paper's numbers beside a run's:
        the paper prunes a BPE vocabulary of one size (Section 4). What it says of the pieces that
        BPE and SaGe share, or that SaGe discards, is not said of another initial vocabulary, and
        prunings of another are no controls for it.
        """
        usual = self.config.vocabulary.initial_size
        stanzas = {name: self.tokenizer(name) for name in self.of_method(*methods)}
        return [
            name
            for name, stanza in stanzas.items()
            if stanza.initial_method == "bpe" and stanza.initial_size in (None, usual)
        ]

    @property
    def sage_readings(self) -> list[str]:
        """Return the tokenizers that are SaGe, pruned from BPE's pieces by contexts."""
        return [n for n in self.pruned_from_bpe("sage") if not self.tokenizer(n).is_control]

    @cached_property
    def heuristics(self) -> dict[str, str]:
        """Tokenizers that are a reading of SaGe without a heuristic -> that reading.

        A reading is one of the run with the same settings but for `rerank_every` and
        `retrain_every`. The claims compare what both prune; nothing else is made of them.
        """
        found = {}
        for name in self.config.analysis.heuristics:
            settings = self._without_schedule(name)
            for other in self.sage_readings:
                if other != name and self._without_schedule(other) == settings:
                    found.setdefault(name, other)
        return found

    def _without_schedule(self, tokenizer: str) -> Stanza:
        schedule = ("rerank_every", "retrain_every")
        reading = self.tokenizer(tokenizer).reading
        return {key: value for key, value in reading.items() if key not in schedule}

    @property
    def pruned(self) -> list[str]:
        """Return the tokenizers that are pruned from BPE's pieces; every seed."""
        return self.with_seeds([*self.sage_readings, *self.unseeded_controls])

    @cached_property
    def compared(self) -> list[str]:
        """The tokenizers that figures compare: BPE, then others, in the paper SaGe; or none.

        Without one of each there is nothing to draw. A figure that is named then has no
        input, and its job says so at once.
        """
        names = [n for n in self.config.figures.tokenizers if n in self.tokenizers]
        others = [name for name in names if name != "bpe"]
        return ["bpe", *others] if "bpe" in names and others else []

    @property
    def compared_models(self) -> list[str]:
        """The tokenizers whose scores are compared, BPE first; none without BPE."""
        return ["bpe", *(n for n in self.models if n != "bpe")] if "bpe" in self.models else []

    @property
    def unseeded_controls(self) -> list[str]:
        """The tokenizers that are pruned without contexts, of one seed each."""
        return [name for name in self.pruned_from_bpe(*PRUNED) if self.tokenizer(name).is_control]

    @property
    def simple_controls(self) -> list[str]:
        """Random pruning and the least frequent pieces: the controls that have causal models."""
        return self.pruned_from_bpe("random", "frequency")

    def labels(self, tokenizers: Iterable[str]) -> list[str]:
        """Return the names of tokenizers in figures and tables."""
        return [(self.tokenizer(name).label or name) for name in tokenizers]

    def preset(self, tokenizer: str) -> str | None:
        """Return the reading that a SaGe tokenizer is: preset and overrides; None for others."""
        stanza = self.tokenizer(tokenizer)
        return stanza.preset_title if stanza.method == "sage" else None

    @property
    def word_settings(self) -> Stanza:
        """How text becomes words, in the library and in every exported tokenizer."""
        words = self.config.vocabulary
        return {"normalization": words.normalization, "max_word_chars": words.max_word_chars}

    # --- Files of the stages

    def vocabulary_files(self) -> list[str]:
        """Return the folder of every tokenizer, by its first file."""
        return self.files("vocab/{lang}/{tok}/tokenizer.json", tok=self.tokenizers)

    def analysis_files(self, tokenizers: Sequence[str], *names: str) -> list[str]:
        """Return the measurements of some tokenizers on every text, text by text."""
        return [
            file
            for lang in self.languages
            for file in self.files(
                "analysis/{lang}/{corpus}/{tok}/{name}",
                lang=[lang],
                corpus=self.corpora_of(lang),
                tok=tokenizers,
                name=names,
            )
        ]

    def model_files(self) -> list[str]:
        """Return the language model of every language and tokenizer in `lm.tokenizers`."""
        path = "models/{lang}/{tok}/model.safetensors"
        return self.files(path, lang=self.model_languages, tok=self.models)

    def score_files(self, tasks: Iterable[str], form: str = "json") -> list[str]:
        """Return the scores of every model with every seed on some tasks.

        form: `json`, or `predictions.parquet` for what is behind them.
        """
        kinds = itertools.product(self.models, tasks, self.config.lm.finetune.seeds)
        return [
            self.result(f"scores/{self.task(task).language}/{tok}/{task}/{seed}.{form}")
            for tok, task, seed in kinds
        ]

    @property
    def pretraining_seeds(self) -> list[int]:
        """Seeds of the further pretrainings."""
        return self.config.lm.pretraining_seeds if self.models else []

    def pretrained(self, wildcards: Any) -> str:
        """Return the folder of the model that a fine-tuning starts from: that of its seed, if any.

        wildcards: lang, tok and seed, as Snakemake gives them.
        """
        named = f"{wildcards.lang}/{wildcards.tok}"
        if int(wildcards.seed) in self.pretraining_seeds:
            return self.result(f"studies/pretraining/{named}/{wildcards.seed}")
        return self.result(f"models/{named}")

    @property
    def model_budget(self) -> Stanza:
        """What models are given, for the notes of tables."""
        return {key: self.section(f"lm.{key}") for key in ("pretrain", "finetune")}
