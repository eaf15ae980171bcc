"""The texts and tasks of a run: which there are, where they come from and what they are called."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel

from reproduction.config import Configuration
from reproduction.data.files import local_files
from reproduction.data.sources import Source, load_catalogue, resolve_source
from reproduction.sections import Domain, Language, Task

Stanza = dict[str, Any]


# Section of the configuration -> folder of what is retrieved of its sources, and the rule. Lists of
# morphemes, which stand under languages there, have a name of their own.
RETRIEVED = {
    "language_settings": ("corpora", "retrieve_corpus"),
    "domain_settings": ("domains", "retrieve_domain"),
    "task_settings": ("tasks", "retrieve_task"),
    "morphology": ("morphemes", "retrieve_morphemes"),
}


@dataclass(frozen=True)
class Texts:
    """What a run is made from.

    config: the checked configuration.
    catalogue: name of a data set -> its entry in workflow/resources/datasets.yaml.

    Raises:
        UserError: when it is built, for a source that is unknown; not hours later, when the rule
            that reads it is reached.
    """

    config: Configuration
    catalogue: dict[str, Stanza]

    @classmethod
    def of(cls, config: Configuration, resources: Path) -> Self:
        """Return the run of a checked configuration; resources: the folder of datasets.yaml."""
        return cls(config, load_catalogue(resources / "datasets.yaml"))

    def __post_init__(self) -> None:
        """Check every source."""
        for named in self.sources:
            self.source(*named)

    @property
    def name(self) -> str:
        """Name of the run and of its folder."""
        return self.config.run

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
        return f"results/{self.name}/{path}"

    def state(self, path: str) -> str:
        """Return the folder for a job's resumable progress.

        It is none of the job's outputs, because a failure deletes those.
        """
        return self.result(f".state/{path}")

    # --- Languages, domains and tasks

    @property
    def languages(self) -> list[str]:
        """Names of the languages."""
        return self.config.languages

    @cached_property
    def domains(self) -> list[str]:
        """Names of the domain texts in a language of the run."""
        return [n for n in self.config.domains if self.domain(n).language in self.languages]

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

    @property
    def model_tasks(self) -> list[str]:
        """The tasks, if there are models to evaluate on them."""
        return self.tasks if self.models else []

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
        return list(dict.fromkeys([*self.model_tasks, *self.probe_tasks]))

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

    def tasks_of_kind(self, kind: str) -> list[str]:
        """Return the evaluation tasks of a kind: `sequence` or `tokens`."""
        return [name for name in self.tasks if self.task(name).kind == kind]

    # --- Samples of the training corpora, which the studies take as texts of their own

    @property
    def readings(self) -> list[str]:
        """Names of the tokenizers that the studies build on the samples."""
        return self.config.studies.readings if self.study_languages else []

    @cached_property
    def study_languages(self) -> list[str]:
        """Languages with studies."""
        studies = self.config.studies
        listed = studies.languages if studies.enabled and studies.readings else []
        return [name for name in self.languages if name in listed]

    @cached_property
    def texts(self) -> list[str]:
        """Training corpora and their samples by name: `en`, `en.sample1`."""
        return [text for lang in self.languages for text in (lang, *self.samples_of(lang))]

    def samples_of(self, language: str) -> list[str]:
        """Return the names of the samples of a language's corpus."""
        count = self.config.studies.samples if language in self.study_languages else 0
        return [f"{language}.sample{number}" for number in range(1, count + 1)]

    @staticmethod
    def language_of(text: str) -> str:
        """Return the language of a training corpus or of a sample; a language has no dot."""
        return text.partition(".")[0]

    def word2vec(self, text: str) -> Stanza:
        """Return the settings of the embeddings that are trained on a text."""
        settings, studies = self.section("word2vec"), self.config.studies
        if text in self.languages:
            return settings
        return settings | {"lines": studies.word2vec_lines, "trainer": studies.word2vec_trainer}

    def word2vec_threads(self, text: str) -> int:
        """Return the threads that train embeddings on a text; gensim repeats itself with one."""
        settings = self.word2vec(text)
        return 2 if settings["trainer"] == "blocks" else settings["workers"]

    # --- Sources

    @property
    def sources(self) -> list[tuple[str, str, str | None]]:
        """Every source of texts, tasks and lists of morphemes, as arguments of `source`."""
        tasks = [(name, split) for name in self.prepared_tasks for split in self.task_origins(name)]
        return [
            *(("language_settings", name, None) for name in self.languages),
            *(("domain_settings", name, None) for name in self.domains),
            *(("task_settings", name, split) for name, split in tasks),
            *(("morphology", name, None) for name in self.morpheme_languages),
        ]

    @cached_property
    def _checked_sources(self) -> dict[tuple[str, str, str | None], Source]:
        """Those that `source` has checked."""
        return {}

    def source(self, section: str, name: str, split: str | None = None) -> Source:
        """Return where a corpus, a domain text, a task's split or a list of morphemes comes from.

        Raises:
            UserError: the configuration names no such source.
        """
        named = (section, name, split)
        if named not in self._checked_sources:
            if section == "morphology":
                stanza, key = self.language(name).morphology, f"language_settings.{name}.{section}"
            else:
                stanza, key = getattr(self.config, section)[name].source, f"{section}.{name}.source"
            if split is not None:
                stanza, key = getattr(stanza, split), f"{key}.{split}"
            self._checked_sources[named] = resolve_source(
                stanza.model_dump(), self.catalogue, key=key, split=split
            )
        return self._checked_sources[named]

    def source_form(self, section: str, name: str, split: str | None = None) -> Stanza:
        """Return what reading a source depends on."""
        return self.source(section, name, split).form

    def source_files(self, section: str, name: str, split: str | None = None) -> list[str]:
        """Return the files of a source, or what was retrieved: the data, its description.

        Constructed rows are in no file.
        """
        source = self.source(section, name, split)
        if source.kind == "path":
            return local_files(source.name)
        if source.kind == "constructed":
            return []
        retrieved = self._retrieved(section, name, split)
        return [retrieved, f"{retrieved}.source.json"]

    def is_retrieved(self, section: str, name: str, split: str | None = None) -> bool:
        """Return whether a source is brought from elsewhere."""
        return self.source(section, name, split).kind not in ("path", "constructed")

    def _retrieved(self, section: str, name: str, split: str | None = None) -> str:
        path = f"retrieved/{RETRIEVED[section][0]}/{name}"
        return self.result(path if split is None else f"{path}/{split}")

    @cached_property
    def morpheme_languages(self) -> list[str]:
        """Languages with a list of segmented words."""
        return [name for name in self.languages if self.language(name).morphology]

    def morpheme_list(self, language: str) -> str:
        """Return the list of segmented words: a local file, or what was retrieved."""
        return self.source_files("morphology", language)[0]

    def is_dump(self, section: str, name: str) -> bool:
        """Return whether a source may be a dump, whose extraction is worth many cores."""
        return self.source(section, name).format == "mediawiki"

    def corpus_lines(self, language: str, corpus: str) -> str:
        """Return the lines of a text that tokenizers are measured on."""
        path = f"{language}.txt.zst" if corpus == "train" else f"domains/{corpus}.txt.zst"
        return self.result(f"corpus/{path}")

    def descriptions(self, texts: Iterable[str]) -> list[str]:
        """Return the descriptions beside retrieved corpora; a local file has none."""
        return self._descriptions(
            ("language_settings", name) for name in map(self.language_of, texts)
        )

    def text(self, language: str) -> Stanza:
        """Return a training corpus: its source, and the description of what was retrieved."""
        source = self.source("language_settings", language)
        shown = {"kind", "name", "title", "licence"}
        return {
            "source": source.model_dump(include=shown, exclude_none=True),
            "descriptions": self.descriptions([language]),
        }

    def text_descriptions(self) -> list[str]:
        """Return those of all corpora, then of all domain texts."""
        texts = ("language_settings", "domain_settings")
        return self._descriptions(named[:2] for named in self.sources if named[0] in texts)

    def _descriptions(self, sources: Iterable[tuple[str, str]]) -> list[str]:
        retrieved = (one for one in sources if self.is_retrieved(*one))
        return [f"{self._retrieved(*one)}.source.json" for one in retrieved]

    def task_origin(self, task: str, split: str) -> str:
        """Return the source of a split: its own, or the training rows that it is a share of."""
        return "train" if self.task(task).validation_share else split

    def task_origins(self, task: str) -> list[str]:
        """Return the splits of a task that the run needs as sources."""
        return sorted({self.task_origin(task, split) for split in ("train", "validation")})

    def task_files(self, task: str, split: str) -> list[str]:
        """Return the input files of a split of a task."""
        return self.source_files("task_settings", task, self.task_origin(task, split))

    def task_splits(self, task: str) -> dict[str, tuple[Stanza, Stanza | None]]:
        """Return for both splits of a task what the rows of its source depend on, and its part."""
        splits = {}
        for split in ("train", "validation"):
            source = self.source("task_settings", task, self.task_origin(task, split))
            is_constructed = source.kind == "constructed"
            form = source.decisive | {"seed": self.seed} if is_constructed else source.form
            splits[split] = (form, self.task_part(task, split))
        return splits

    def task_part(self, task: str, split: str) -> Stanza | None:
        """Return which rows of its source a split takes; None for all."""
        stanza = self.task(task)
        most, shared = getattr(stanza, f"max_{split}"), stanza.validation_share
        if not (most or shared):
            return None
        edges = {"train": (0.0, 1 - (shared or 0)), "validation": (1 - (shared or 1), 1.0)}
        return {"share": edges[split], "most": most, "seed": self.seed}

    # --- Names

    def is_constructed(self, task: str) -> bool:
        """Return whether a task's examples are constructed from text, in place of a real set."""
        return any(
            self.source("task_settings", task, split).kind == "constructed"
            for split in self.task_origins(task)
        )

    @property
    def constructed_tasks(self) -> list[str]:
        """Tasks of models and probes whose examples are constructed."""
        return list(filter(self.is_constructed, self.prepared_tasks))

    def titles(self, languages: Iterable[str]) -> list[str]:
        """Return the names of languages as panels and rows show them."""
        return [self.language(name).name for name in languages]

    def domain_title(self, name: str) -> str:
        """Return the name of a domain text as a panel shows it."""
        title = self.domain(name).name
        return title[:1].upper() + title[1:]

    def measured_texts(self) -> list[list[str]]:
        """Return the texts that tokenizers are measured on, as pairs of language and text."""
        return [
            [title, "Training corpus" if corpus == "train" else self.domain_title(corpus)]
            for title, lang in zip(self.titles(self.languages), self.languages, strict=True)
            for corpus in self.corpora_of(lang)
        ]

    @cached_property
    def names(self) -> dict[str, str]:
        """What languages, domains and tasks are called, by their names in the configuration."""
        return {
            **{name: self.language(name).name for name in self.languages},
            **{name: self.domain(name).name for name in self.domains},
            **{name: (self.task(name).label or name) for name in self.tasks + self.probe_tasks},
        }

    def text_sources(self, languages: Iterable[str]) -> list[Stanza]:
        """Return of training corpora what the text is, and its licence."""
        sources = [self.source("language_settings", name) for name in languages]
        return [
            {"kind": source.kind, "title": source.shown_title, "licence": source.licence}
            for source in sources
        ]

    def task_columns(self, tasks: Iterable[str]) -> list[Stanza]:
        """Return tasks as columns or rows of a score table, with what their rows are cut to."""
        cuts = ("max_train", "max_validation", "validation_share")
        return [
            {
                "name": name,
                "label": stanza.label or name,
                "metric": stanza.metric,
                "constructed": self.is_constructed(name),
                **{key: getattr(stanza, key) for key in cuts},
            }
            for name, stanza in ((name, self.task(name)) for name in tasks)
        ]
