"""What the workflow's rules ask of a run: its names, sources, paths, targets, labels and captions.

A `Run` is built from a checked configuration. It imports nothing heavy and no Snakemake, so a dry
run stays fast and every answer can be tested. The builds of the studies are in `workflow_studies`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from sagevocab.config import check_config, missing_files
from sagevocab.data.sources import load_catalogue, local_files, resolve_source
from sagevocab.errors import UserError
from sagevocab.lm.settings import FREE
from sagevocab.vocab.presets import DEFAULT_PRESET, overrides, reading_settings

Stanza = dict[str, Any]

# The tokenizers that the paper's figures and tables compare, in their order.
PAPER_TOKENIZERS = ("bpe", "sage", "sage_released")
# The domain texts of the paper; each has figures of its own.
PAPER_DOMAINS = ("quora", "legal", "reviews")
# What `count_pieces` writes as tables, and what statistics are computed from.
COUNTS = ("frequencies.parquet", "fertility.parquet", "neighbours.parquet", "lines.parquet")
FORMATS = {"figure": ("pdf", "png"), "table": ("tex", "csv", "md")}
# Section of the configuration -> folder of what a retrieve rule makes of its sources.
RETRIEVED = {"language_settings": "corpora", "domain_settings": "domains", "task_settings": "tasks"}


def load_config(
    checkout: Path, given: Mapping[str, Any], *, working_directory: bool
) -> dict[str, Any]:
    """Return the checked configuration: the paper's settings, overridden by those of the user.

    The paper's settings are `config.yaml` of the checkout. `config.yaml` or `config/config.yaml` of
    the working directory overrides single keys of it, and `given` overrides both. Mappings are
    merged key by key; other values and lists are replaced.
    given: what `--configfile` and `--config` say, or the workflow that uses this one as a module.

    Raises:
        UserError: a file can't be read, or what they say together can't be run.
    """
    paper = checkout / "config.yaml"
    config = _read_config(paper)
    for name in ("config.yaml", "config/config.yaml") if working_directory else ():
        path = Path(name)
        if path.is_file() and not path.samefile(paper):
            _merge(config, _read_config(path))
    _merge(config, given)
    check_config(config)
    return config


# The loader in C is ten times as fast, and every job of a cluster reads the configuration.
_YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = yaml.load(path.read_text(encoding="utf-8"), Loader=_YAML_LOADER) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{path}: cannot be read as YAML ({error})") from error
    if not isinstance(config, dict):
        raise UserError(f"{path}: must hold keys and their values")
    return config


def _merge(config: dict[str, Any], overrides: Mapping[str, Any]) -> None:
    for key, value in overrides.items():
        if isinstance(value, Mapping):
            inner = config[key] if isinstance(config.get(key), dict) else {}
            config[key] = inner
            _merge(inner, value)
        else:
            config[key] = value


def preset_title(stanza: Mapping[str, Any]) -> str:
    """Return the preset of a reading of SaGe, and in brackets the keys that override it."""
    changed = [f"{key}: {value}" for key, value in sorted(overrides(stanza).items())]
    preset = stanza.get("preset", DEFAULT_PRESET)
    return f"{preset} ({', '.join(changed)})" if changed else preset


def caption_file(target: str) -> str:
    """Return the name of a target's caption in workflow/report; figures of domains share one."""
    domain = next((name for name in PAPER_DOMAINS if target.endswith(f"_{name}")), None)
    return f"{target if domain is None else target.removesuffix(domain) + 'domain'}.rst"


@dataclass(frozen=True)
class Run:
    """One run of the workflow.

    config: a checked configuration (`sagevocab.config.check_config`).
    catalogue: name of a data set -> its entry in workflow/resources/datasets.yaml.

    Raises:
        UserError: when it is built, for a source that does not exist; not hours later, when the
            rule that reads it is reached.
    """

    config: dict[str, Any]
    catalogue: dict[str, Stanza]

    @classmethod
    def of(cls, config: dict[str, Any], resources: Path) -> Run:
        """Return the run of a checked configuration; resources: the folder of datasets.yaml."""
        return cls(config, load_catalogue(resources / "datasets.yaml"))

    def __post_init__(self) -> None:
        """Resolve every source once."""
        for name in self.languages:
            self.source("language_settings", name)
        for name in self.domains:
            self.source("domain_settings", name)
        for name in self.model_tasks:
            for split in self.task_origins(name):
                self.source("task_settings", name, split)

    # --- Paths

    @property
    def name(self) -> str:
        """Name of the run and of its folder."""
        return self.config["run"]

    def result(self, path: str) -> str:
        """Return the path of an artefact of this run."""
        return f"results/{self.name}/{path}"

    def state(self, path: str) -> str:
        """Return the folder for a job's resumable progress.

        It is none of the job's outputs, because a failure deletes those.
        """
        return self.result(f".state/{path}")

    def artefacts(self, names: Iterable[str], *formats: str) -> list[str]:
        """Return the files of figures and tables, given by target name; by default every format."""
        kinds = [(name, name.partition("_")[0]) for name in names]
        return [
            self.result(f"{kind}s/{name}.{form}")
            for name, kind in kinds
            for form in formats or FORMATS[kind]
        ]

    # --- Languages, domains, tokenizers and tasks

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self.config["seed"]

    @property
    def languages(self) -> list[str]:
        """Names of the languages."""
        return self.config["languages"]

    @cached_property
    def domains(self) -> list[str]:
        """Names of the domain texts in a language of the run."""
        return [n for n in self.config["domains"] if self.domain(n)["language"] in self.languages]

    @cached_property
    def tasks(self) -> list[str]:
        """Names of the evaluation tasks in a language of the run."""
        return [n for n in self.config["tasks"] if self.task(n)["language"] in self.languages]

    @property
    def tokenizers(self) -> list[str]:
        """Names of the tokenizers."""
        return self.config["tokenizers"]

    @property
    def models(self) -> list[str]:
        """Names of the tokenizers that language models are trained with."""
        return self.config["lm"]["tokenizers"] if self.config["lm"]["enabled"] else []

    @property
    def readings(self) -> list[str]:
        """Names of the readings of the loss that the studies compare."""
        studies = self.config["studies"]
        return studies["readings"] if studies["enabled"] else []

    @property
    def model_tasks(self) -> list[str]:
        """The tasks, if there are models to evaluate on them."""
        return self.tasks if self.models else []

    def language(self, name: str) -> Stanza:
        """Return the stanza of a language."""
        return self.config["language_settings"][name]

    def domain(self, name: str) -> Stanza:
        """Return the stanza of a domain text."""
        return self.config["domain_settings"][name]

    def task(self, name: str) -> Stanza:
        """Return the stanza of an evaluation task."""
        return self.config["task_settings"][name]

    def tokenizer(self, name: str) -> Stanza:
        """Return the stanza of a tokenizer."""
        return self.config["tokenizer_settings"][name]

    def corpora_of(self, language: str) -> list[str]:
        """Return the texts that a language's tokenizers are measured on: `train`, then domains."""
        return ["train", *(n for n in self.domains if self.domain(n)["language"] == language)]

    def tasks_of(self, language: str) -> list[str]:
        """Return the evaluation tasks in a language."""
        return [name for name in self.tasks if self.task(name)["language"] == language]

    def tasks_of_kind(self, kind: str) -> list[str]:
        """Return the evaluation tasks of a kind: `sequence` or `tokens`."""
        return [name for name in self.tasks if self.task(name)["kind"] == kind]

    def of_method(self, *methods: str) -> list[str]:
        """Return the tokenizers that are built by one of `methods`."""
        return [name for name in self.tokenizers if self.tokenizer(name)["method"] in methods]

    @cached_property
    def bpe_tokenizers(self) -> list[str]:
        """Tokenizers of method `bpe`, and `bpe` itself where only `bpe_merges` is compared."""
        named = self.config["tokenizer_settings"].get("bpe", {}).get("method") == "bpe"
        return sorted({*self.of_method("bpe"), *(["bpe"] if named else [])})

    @cached_property
    def ordered_tokenizers(self) -> list[str]:
        """All tokenizers, those of the paper first: a figure gives colours by order."""
        first = self.paper_tokenizers
        return [*first, *(name for name in self.tokenizers if name not in first)]

    @cached_property
    def paper_tokenizers(self) -> list[str]:
        """Those of the paper's tokenizers that the run has."""
        return [name for name in PAPER_TOKENIZERS if name in self.tokenizers]

    @cached_property
    def compared(self) -> list[str]:
        """The tokenizers in the paper's comparisons: BPE, then readings of SaGe; or none.

        Without one of each there is nothing to draw. A figure that is asked for by name then has no
        input, and its job says so at once.
        """
        names = self.paper_tokenizers
        return names if "bpe" in names and len(names) > 1 else []

    @property
    def compared_models(self) -> list[str]:
        """The tokenizers whose scores are compared, BPE first; none without BPE."""
        return ["bpe", *(n for n in self.models if n != "bpe")] if "bpe" in self.models else []

    @property
    def compared_tasks(self) -> list[str]:
        """The tasks on which scores are compared."""
        return self.tasks if len(self.compared_models) > 1 else []

    @property
    def example_languages(self) -> list[str]:
        """Languages whose sentences the tables of examples may show."""
        shown = self.config["analysis"]["example_languages"]
        names = self.languages if self.compared else []
        return [name for name in names if shown == "all" or name in shown]

    @cached_property
    def morpheme_languages(self) -> list[str]:
        """Languages with a list of segmented words."""
        return [name for name in self.languages if self.language(name).get("morphology")]

    @cached_property
    def curve_languages(self) -> list[str]:
        """Languages with learning curves: where a model is asked about held-out lines."""
        asked = self.models and self.config["lm"]["pretrain"]["heldout_lines"]
        return [name for name in self.languages if asked and self.language(name)["heldout_lines"]]

    # --- Sources

    def source(self, section: str, name: str, split: str | None = None) -> Stanza:
        """Return where a corpus, a domain text or a task's split comes from, in one dict.

        Raises:
            UserError: the configuration names no such source, or a local file that is not there.
        """
        stanza, key = self.config[section][name]["source"], f"{section}.{name}.source"
        if split is not None:
            stanza, key = stanza[split], f"{key}.{split}"
        try:
            resolved = resolve_source(stanza, self.catalogue, key=key, split=split)
        except UserError as error:
            raise UserError(f"config key {error}") from error
        if resolved["kind"] == "path" and (missing := missing_files(resolved["name"])):
            raise UserError(f"config key {key}.path: there is no file {missing[0]!r}")
        return resolved

    def source_form(self, section: str, name: str, split: str | None = None) -> Stanza:
        """Return what reading a source depends on."""
        resolved = self.source(section, name, split)
        return {key: resolved[key] for key in ("key", "kind", "format", "column", "sentences")}

    def source_files(self, section: str, name: str, split: str | None = None) -> list[str]:
        """Return the local files of a source, or what was retrieved: the data, its description."""
        source = self.source(section, name, split)
        if source["kind"] == "path":
            return local_files(source["name"])
        retrieved = self._retrieved(section, name, split)
        return [retrieved, f"{retrieved}.source.json"]

    def _retrieved(self, section: str, name: str, split: str | None = None) -> str:
        path = f"retrieved/{RETRIEVED[section]}/{name}"
        return self.result(path if split is None else f"{path}/{split}")

    def morpheme_source(self, language: str) -> Stanza:
        """Return where a language's list of segmented words comes from, and its format."""
        key = f"language_settings.{language}.morphology"
        return resolve_source(self.language(language)["morphology"], self.catalogue, key=key)

    def morpheme_list(self, language: str) -> str:
        """Return the list of segmented words: a local file, or what was retrieved."""
        source = self.morpheme_source(language)
        retrieved = self.result(f"retrieved/morphemes/{language}")
        return source["name"] if source["kind"] == "path" else retrieved

    def morpheme_lists(self) -> list[Stanza]:
        """Return path and format of every language's list of segmented words."""
        return [
            {"path": self.morpheme_list(name), "format": self.morpheme_source(name)["format"]}
            for name in self.morpheme_languages
        ]

    def is_dump(self, section: str, name: str) -> bool:
        """Return whether a source may be a dump, whose extraction is worth many cores."""
        return self.source(section, name)["format"] == "mediawiki"

    def corpus_lines(self, language: str, corpus: str) -> str:
        """Return the lines of a text that tokenizers are measured on."""
        path = f"{language}.txt.zst" if corpus == "train" else f"domains/{corpus}.txt.zst"
        return self.result(f"corpus/{path}")

    def descriptions(self, languages: Iterable[str]) -> list[str]:
        """Return the descriptions beside retrieved corpora; a local file has none."""
        return [
            f"{self._retrieved('language_settings', name)}.source.json"
            for name in languages
            if not self.language(name)["source"].get("path")
        ]

    def task_origin(self, task: str, split: str) -> str:
        """Return the source of a split: its own, or the training rows that it is a share of."""
        return "train" if self.task(task).get("validation_share") else split

    def task_origins(self, task: str) -> list[str]:
        """Return the splits of a task that the run needs as sources."""
        return sorted({self.task_origin(task, split) for split in ("train", "validation")})

    def task_files(self, task: str, split: str) -> list[str]:
        """Return the input files of a split of a task."""
        return self.source_files("task_settings", task, self.task_origin(task, split))

    def task_splits(self, task: str) -> dict[str, tuple[Stanza, Stanza | None]]:
        """Return of both splits of a task what reading its source depends on, and its rows."""
        return {
            split: (
                self.source_form("task_settings", task, self.task_origin(task, split)),
                self.task_part(task, split),
            )
            for split in ("train", "validation")
        }

    def task_part(self, task: str, split: str) -> Stanza | None:
        """Return which rows of its source a split takes; None for all."""
        stanza = self.task(task)
        most, shared = stanza.get(f"max_{split}"), stanza.get("validation_share")
        if not (most or shared):
            return None
        edges = {"train": (0.0, 1 - (shared or 0)), "validation": (1 - (shared or 1), 1.0)}
        return {"share": edges[split], "most": most, "seed": self.seed}

    # --- What texts, tokenizers and tasks are called

    def is_constructed(self, task: str) -> bool:
        """Return whether a task's examples are constructed from text, in place of a real set."""
        return any(
            self.source("task_settings", task, split)["kind"] == "constructed"
            for split in self.task_origins(task)
        )

    @property
    def constructed_tasks(self) -> list[str]:
        """Tasks that models are scored on whose examples are constructed."""
        return list(filter(self.is_constructed, self.model_tasks))

    def titles(self, languages: Iterable[str]) -> list[str]:
        """Return the names of languages as panels and rows show them."""
        return [self.language(name)["name"] for name in languages]

    def domain_title(self, name: str) -> str:
        """Return the name of a domain text as a panel shows it."""
        title = self.domain(name)["name"]
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
            **{name: self.language(name)["name"] for name in self.languages},
            **{name: self.domain(name)["name"] for name in self.domains},
            **{name: self.task(name).get("label", name) for name in self.tasks},
        }

    def labels(self, tokenizers: Iterable[str]) -> list[str]:
        """Return the names of tokenizers in figures and tables."""
        return [self.tokenizer(name).get("label", name) for name in tokenizers]

    def preset(self, tokenizer: str) -> str | None:
        """Return the reading that a SaGe tokenizer is: preset and overrides; None for others."""
        stanza = self.tokenizer(tokenizer)
        return preset_title(stanza) if stanza["method"] == "sage" else None

    def presets(self, tokenizers: Sequence[str]) -> dict[str, str]:
        """Return the readings of the SaGe tokenizers among some, by label."""
        presets = zip(self.labels(tokenizers), map(self.preset, tokenizers), strict=True)
        return {label: preset for label, preset in presets if preset}

    def text_title(self, source: Stanza) -> str:
        """Return what a text is: as configured or catalogued, else the names of its files."""
        names = " and ".join(Path(file).name for file in local_files(source["name"]))
        return source.get("title") or names

    def text_sources(self, languages: Iterable[str]) -> list[Stanza]:
        """Return of training corpora what the text is, and its licence."""
        sources = [self.source("language_settings", name) for name in languages]
        return [
            {
                "kind": source["kind"],
                "title": self.text_title(source),
                "licence": source.get("licence"),
            }
            for source in sources
        ]

    def task_columns(self, tasks: Iterable[str]) -> list[Stanza]:
        """Return tasks as columns or rows of a score table, with what their rows are cut to."""
        cuts = ("max_train", "max_validation", "validation_share")
        return [
            {
                "name": name,
                "label": stanza.get("label", name),
                "metric": stanza["metric"],
                "constructed": self.is_constructed(name),
                **{key: stanza.get(key) for key in cuts},
            }
            for name, stanza in ((name, self.task(name)) for name in tasks)
        ]

    # --- What decides a vocabulary, and what its model card says

    @property
    def sentencepiece_settings(self) -> Stanza:
        """The settings of sentencepiece beside the size."""
        keys = ("character_coverage", "max_piece_length", "max_sentence_length", "normalization")
        return {key: self.config["vocabulary"][key] for key in keys}

    @property
    def word_settings(self) -> Stanza:
        """How text becomes words, in the library and in every exported tokenizer."""
        return {key: self.config["vocabulary"][key] for key in ("normalization", "max_word_chars")}

    def sage_reading(self, tokenizer: str) -> Stanza:
        """Return the reading that a SaGe tokenizer is: its preset, the keys that override it."""
        stanza = self.tokenizer(tokenizer)
        return {"preset": stanza.get("preset", DEFAULT_PRESET), **overrides(stanza)}

    def decoder(self, tokenizer: str) -> str:
        """Return the decoder in which a SaGe tokenizer is pruned: `greedy` or `merges`."""
        return reading_settings(self.sage_reading(tokenizer))["decoder"]

    def sage_parameters(self, tokenizer: str) -> Stanza:
        """Return all that decides a SaGe vocabulary beside corpus, initial pieces, embeddings."""
        return {
            "final_size": self.config["vocabulary"]["final_size"],
            "seed": self.seed,
            **self.config["sage"],
            **self.sage_reading(tokenizer),
        }

    @property
    def sage_settings(self) -> dict[str, Stanza]:
        """Preset and overrides of the SaGe tokenizers that figures and tables show."""
        shown = {name: self.tokenizer(name) for name in self.paper_tokenizers}
        return {
            name: {key: value for key, value in stanza.items() if key not in ("label", "method")}
            for name, stanza in shown.items()
            if stanza["method"] == "sage"
        }

    def card(self, language: str, method: str, **settings: Any) -> Stanza:
        """Return what the model card of a vocabulary says that is trained on a language."""
        source = self.source("language_settings", language)
        return {
            "language": language,
            "language_name": self.language(language)["name"],
            "method": method,
            "source": {
                key: value
                for key, value in source.items()
                if key in ("kind", "name", "title", "licence")
            },
            "settings": settings,
        }

    def sage_card(self, language: str, tokenizer: str) -> Stanza:
        """Return what the model card of a SaGe vocabulary says: its reading and its settings."""
        settings = self.sage_parameters(tokenizer)
        method = f"SaGe, preset {settings['preset']}, segmented by greedy longest match"
        initial_size = self.config["vocabulary"]["initial_size"]
        return self.card(language, method, initial_size=initial_size, **settings)

    def external_path(self, language: str, tokenizer: str) -> str:
        """Return where a tokenizer of method `external` lies."""
        return self.tokenizer(tokenizer)["path"].replace("{lang}", language)

    def external_files(self, language: str, tokenizer: str) -> list[str]:
        """Return the files of an external tokenizer; if there are none, its job says so."""
        path = Path(self.external_path(language, tokenizer))
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        return [str(file) for file in files if file.is_file()]

    def external_card(self, language: str, tokenizer: str) -> Stanza:
        """Return what the model card of an external tokenizer says."""
        path = Path(self.external_path(language, tokenizer))
        return {**self.card(language, f"imported from `{path.name}`"), "source": None}

    # --- Files of the stages

    def retrieved_files(self) -> list[str]:
        """Return what the run takes from outside; a source with a `path:` is used where it is."""
        texts = [("language_settings", name, None) for name in self.languages]
        texts += [("domain_settings", name, None) for name in self.domains]
        splits = [(task, split) for task in self.model_tasks for split in self.task_origins(task)]
        texts += [("task_settings", task, split) for task, split in splits]
        kinds = [(text, self.source(*text)["kind"]) for text in texts]
        return [self._retrieved(*text) for text, kind in kinds if kind != "path"]

    def vocabulary_files(self) -> list[str]:
        """Return the folder of every tokenizer, by its first file."""
        pairs = itertools.product(self.languages, self.tokenizers)
        return [self.result(f"vocab/{lang}/{tok}/tokenizer.json") for lang, tok in pairs]

    def analysis_files(self, tokenizers: Iterable[str], *names: str) -> list[str]:
        """Return the measurements of some tokenizers on every text, text by text."""
        return [
            self.result(f"analysis/{lang}/{corpus}/{tok}/{name}")
            for lang in self.languages
            for corpus in self.corpora_of(lang)
            for tok in tokenizers
            for name in names
        ]

    def domain_counts(self, domain: str, name: str) -> list[str]:
        """Return the compared tokenizers' counts on a domain text; name: `fertility.parquet` ..."""
        folder = f"analysis/{self.domain(domain)['language']}/{domain}"
        return [self.result(f"{folder}/{tok}/{name}") for tok in self.compared]

    def model_files(self) -> list[str]:
        """Return the language model of every language and tokenizer in `lm.tokenizers`."""
        pairs = itertools.product(self.languages, self.models)
        return [self.result(f"models/{lang}/{tok}/model.safetensors") for lang, tok in pairs]

    def score_files(self, tasks: Iterable[str]) -> list[str]:
        """Return the scores of every model with every seed on some tasks."""
        kinds = itertools.product(self.models, tasks, self.config["lm"]["finetune"]["seeds"])
        return [
            self.result(f"scores/{self.task(task)['language']}/{tok}/{task}/{seed}.json")
            for tok, task, seed in kinds
        ]

    def prediction_files(self, tasks: Iterable[str]) -> list[str]:
        """Return the predictions behind the scores on some tasks."""
        return [
            f"{path.removesuffix('json')}predictions.parquet" for path in self.score_files(tasks)
        ]

    @property
    def pretraining_seeds(self) -> list[int]:
        """Seeds of the further pretrainings."""
        return self.config["lm"]["pretraining_seeds"] if self.models else []

    def curve_files(self, languages: Iterable[str], *names: str) -> list[str]:
        """Return files of every model, language by language and tokenizer by tokenizer."""
        kinds = itertools.product(languages, self.models, names)
        return [self.result(f"models/{lang}/{tok}/{name}") for lang, tok, name in kinds]

    def repeated_curve_files(self, languages: Iterable[str], *names: str) -> list[str]:
        """Return the same of all further pretrainings, the seeds of a model together."""
        kinds = itertools.product(languages, self.models, self.pretraining_seeds, names)
        return [
            self.result(f"studies/pretraining/{lang}/{tok}/{seed}/{name}")
            for lang, tok, seed, name in kinds
        ]

    def claimed_curve_files(self) -> list[str]:
        """Return all curves, also the empty ones of languages without held-out lines."""
        names = ("heldout.parquet", "training_log.parquet")
        return [
            *self.curve_files(self.languages, *names),
            *self.repeated_curve_files(self.languages, *names),
        ]

    @property
    def curve_baseline(self) -> str | None:
        """Label of BPE, which the other curves are compared with; None if it has no model."""
        return self.labels(["bpe"])[0] if "bpe" in self.models else None

    # --- Language models

    @property
    def pretraining_settings(self) -> Stanza:
        """What a finished model depends on of `lm.pretrain`.

        The other keys are about speed and memory. The adapter reads them from the configuration:
        no model need be trained again because they change.
        """
        return {k: v for k, v in self.config["lm"]["pretrain"].items() if k not in FREE}

    @property
    def model_budget(self) -> Stanza:
        """What models are given, for the notes of tables."""
        return {key: self.config["lm"][key] for key in ("pretrain", "finetune")}

    def replayed_log(self, language: str, tokenizer: str) -> list[str]:
        """Return the log whose learning rates a model repeats, if `lm.pretrain.replay` is set."""
        replay = self.config["lm"]["pretrain"]["replay"]
        return [replay.format(lang=language, tok=tokenizer)] if replay else []

    # --- Figures and tables of the run, by target name

    @cached_property
    def intrinsic_figures(self) -> list[str]:
        """Figures that need no language model."""
        domains = [name for name in PAPER_DOMAINS if name in self.domains]
        comparisons = [
            *("figure_lengths", "figure_fertility", "figure_exponence", "figure_ratio"),
            *(f"figure_fertility_{name}" for name in domains),
            *(f"figure_ratio_{name}" for name in domains),
        ]
        return [*(comparisons if self.compared else []), "figure_tokenizers"]

    @cached_property
    def intrinsic_tables(self) -> list[str]:
        """Tables that need no language model."""
        return [
            *(["table_examples", "table_retokenization"] if self.example_languages else []),
            *(["table_frequencies"] if self.compared else []),
            *("table_tokenizers", "table_hyperparameters_vocabulary"),
        ]

    @cached_property
    def model_figures(self) -> list[str]:
        """Figures of language models."""
        return ["figure_learning_curves"] if self.curve_languages else []

    @cached_property
    def model_tables(self) -> list[str]:
        """Tables of language models."""
        wanted = {
            "table_sequence": self.models and self.tasks_of_kind("sequence"),
            "table_ner": self.models and self.tasks_of_kind("tokens"),
            "table_differences": self.compared_tasks,
            "table_hyperparameters_pretraining": self.models,
            "table_hyperparameters_finetuning": self.models,
            "table_learning_curves": self.curve_languages,
        }
        return [name for name, wants in wanted.items() if wants]
