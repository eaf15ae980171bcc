"""What the workflow's rules ask of a run: its configuration, files, tokenizers, models and targets.

A `Run` is built from a checked configuration. It imports nothing heavy and no Snakemake, so a dry
run stays fast and every answer can be tested. What only one rule asks is next to that rule; the
builds of the studies are in `run_studies`, what the report says of a run in `run_report`.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel

from reproduction.config import Configuration
from reproduction.data.files import local_files
from reproduction.data.sources import Source, load_catalogue, resolve_source
from reproduction.sections import (
    PAPER_LANGUAGES,
    PRUNED,
    Domain,
    Language,
    Task,
    Tokenizer,
    Variant,
)
from sagevocab.kinds import check_external
from sagevocab.presets import reading_settings

if TYPE_CHECKING:
    from reproduction.run_studies import Studies

# The tokenizers that the paper's figures and tables compare, in their order.
PAPER_TOKENIZERS = ("bpe", "sage", "sage_released")
# What `count_pieces` writes as tables, and what statistics are computed from.
COUNTS = ("frequencies.parquet", "fertility.parquet", "neighbours.parquet", "lines.parquet")

Stanza = dict[str, Any]

# Section of the configuration -> folder of what is retrieved of its sources, and the rule. Lists of
# morphemes, which stand under languages there, have a name of their own.
RETRIEVED = {
    "language_settings": ("corpora", "retrieve_corpus"),
    "domain_settings": ("domains", "retrieve_domain"),
    "task_settings": ("tasks", "retrieve_task"),
    "morphology": ("morphemes", "retrieve_morphemes"),
}


def memory(megabytes: int) -> Callable[[Any, int], int]:
    """Return the memory of a job in MB as a function of wildcards and attempt.

    It doubles once when a job is tried again, as the job may have lacked some. Later attempts
    continue after a time limit and need no more.
    """
    return lambda wildcards, attempt: megabytes * min(attempt, 2)


def _variant(stanza: Tokenizer, **changed: int) -> Variant:
    """Return a tokenizer of the studies: a reading with another seed or another number."""
    return Variant(**{**stanza.model_dump(), **changed})


@dataclass(frozen=True)
class Run:
    """One run of the workflow, as its checked configuration describes it.

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
        """Resolve every source and look at every external tokenizer once."""
        for named in self.sources:
            self.source(*named)
        for name in self.of_method("external"):
            for language in self.languages:
                key = f"config key tokenizer_settings.{name}.path"
                check_external(self.tokenizer(name).path_in(language), key)

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
        named = self.config.probes.tasks if self._has_comparison else []
        return [name for name in named if self.task(name).language in self.languages]

    @property
    def _has_comparison(self) -> bool:
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

    def word2vec(self, text: str) -> Stanza:
        """Return the settings of the embeddings that are trained on a text."""
        settings, studies = self.section("word2vec"), self.config.studies
        if text in self.languages:
            return settings
        return settings | {"lines": studies.word2vec_lines, "trainer": studies.word2vec_trainer}

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
            UserError: the configuration names no such source.
        """
        if section == "morphology":
            stanza, key = self.language(name).morphology, f"language_settings.{name}.{section}"
        else:
            stanza, key = getattr(self.config, section)[name].source, f"{section}.{name}.source"
        if split is not None:
            stanza, key = getattr(stanza, split), f"{key}.{split}"
        return resolve_source(stanza.model_dump(), self.catalogue, key=key, split=split)

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

    def _retrieved(self, section: str, name: str, split: str | None = None) -> str:
        path = f"retrieved/{RETRIEVED[section][0]}/{name}"
        return self.result(path if split is None else f"{path}/{split}")

    @cached_property
    def morpheme_languages(self) -> list[str]:
        """Languages with a list of segmented words."""
        return [name for name in self.languages if self.language(name).morphology]

    def descriptions(self, languages: Iterable[str], domains: Iterable[str] = ()) -> list[str]:
        """Return the descriptions beside retrieved texts; a local file has none."""
        texts = [("language_settings", name) for name in languages]
        texts += [("domain_settings", name) for name in domains]
        retrieved = [one for one in texts if self.source(*one).kind != "path"]
        return [f"{self._retrieved(*one)}.source.json" for one in retrieved]

    def task_splits(self, task: str) -> dict[str, tuple[Stanza, Stanza | None]]:
        """Return for both splits of a task what the rows of its source depend on, and its part."""
        splits = {}
        for split in ("train", "validation"):
            source = self.source("task_settings", task, self.task(task).origin(split))
            is_constructed = source.kind == "constructed"
            form = source.decisive | {"seed": self.seed} if is_constructed else source.form
            splits[split] = (form, self.task(task).part(split, self.seed))
        return splits

    # --- Names

    def is_constructed(self, task: str) -> bool:
        """Return whether a task's examples are constructed from text, in place of a real set."""
        return any(
            self.source("task_settings", task, split).kind == "constructed"
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

    @cached_property
    def studies(self) -> Studies:
        """What the tables and figures of its studies compare."""
        from reproduction.run_studies import Studies

        return Studies(self)

    # --- Tokenizers and models

    @property
    def tokenizers(self) -> list[str]:
        """Names of the tokenizers."""
        return self.config.tokenizers

    def tokenizer(self, name: str) -> Tokenizer:
        """Return the stanza of a tokenizer, of the run or of its studies."""
        own = self.studied.get(name) or self.reseeded.get(name)
        return own or self.config.tokenizer_settings[name]

    @cached_property
    def reseeded(self) -> dict[str, Tokenizer]:
        """Stanzas of the further seeds of the run's tokenizers: `sage.seed2`."""
        stanzas = {name: self.config.tokenizer_settings[name] for name in self.tokenizers}
        return {
            f"{name}.seed{seed}": stanza.model_copy(update={"seed": seed, "seeds": 1})
            for name, stanza in stanzas.items()
            for seed in self._later_seeds(stanza)
        }

    def _later_seeds(self, stanza: Tokenizer) -> range:
        first = self.seed if stanza.seed is None else stanza.seed
        return range(first + 1, first + (stanza.seeds or 1))

    def with_seeds(self, names: Iterable[str]) -> list[str]:
        """Return tokenizers, each followed by those of its further seeds."""
        return [one for name in names for one in (name, *self.further_seeds(name))]

    def further_seeds(self, name: str) -> list[str]:
        """Return the tokenizers that are another with a further seed."""
        return [f"{name}.seed{seed}" for seed in self._later_seeds(self.tokenizer(name))]

    @cached_property
    def varied(self) -> dict[str, list[tuple[str, int]]]:
        """Readings whose samples and numbers the studies vary -> (key, value), one at a time."""
        studies, stanzas = self.config.studies, self.config.tokenizer_settings
        values = [(key, value) for key, values in studies.values for value in values]
        settings = {name: reading_settings(stanzas[name].reading) for name in self.readings}
        return {
            name: [
                (key, value)
                for key, value in values
                if key != "retrain_every" or settings[name]["retrain"]
            ]
            for name in studies.varied
            if name in settings
        }

    @cached_property
    def studied(self) -> dict[str, Variant]:
        """Stanzas of the studies' tokenizers: `printed.seed2`, `printed.prune_batch-50`.

        They are a reading with each seed, and with the first seed and another number. Those of the
        run have no dot in their names.
        """
        stanzas, seeds = self.config.tokenizer_settings, self.config.studies.seeds
        return {
            f"{name}.seed{seed}": _variant(stanzas[name], seed=seed)
            for name in self.readings
            for seed in seeds
        } | {
            f"{name}.{key}-{value}": _variant(stanzas[name], **{"seed": seeds[0], key: value})
            for name, values in self.varied.items()
            for key, value in values
        }

    def of_method(self, *methods: str) -> list[str]:
        """Return the tokenizers that are built by one of `methods`."""
        return [name for name in self.tokenizers if self.tokenizer(name).method in methods]

    def pruned_from_bpe(self, *methods: str) -> list[str]:
        """Return the tokenizers of some methods that are pruned from BPE's pieces.

        They alone are in the claims, and in the tables and studies that set the paper's numbers
        beside a run's: the paper prunes a BPE vocabulary (Section 4). What it says of the pieces
        that BPE and SaGe share, or that SaGe discards, is not said of another initial vocabulary,
        and prunings of another are no controls for it.
        """
        return [
            name
            for name in self.of_method(*methods)
            if self.tokenizer(name).initial_method == "bpe"
        ]

    @property
    def sage_readings(self) -> list[str]:
        """Return the tokenizers that are SaGe, pruned from BPE's pieces by contexts."""
        return [n for n in self.pruned_from_bpe("sage") if not self.tokenizer(n).is_control]

    @property
    def judged(self) -> list[str]:
        """Return the tokenizers that the claims are about, and those that they are set against."""
        return [*self.of_method("bpe"), *self.pruned]

    @property
    def pruned(self) -> list[str]:
        """Return the tokenizers that are pruned from BPE's pieces; every seed."""
        return self.with_seeds([*self.sage_readings, *self.unseeded_controls])

    def trained(self, method: str) -> list[str]:
        """Return the tokenizers of method `bpe` or `unigram`.

        The one named like the method is among them even if it is not compared: `bpe_merges` and
        `unigram_greedy` are exported from it.
        """
        named = self.config.tokenizer_settings.get(method)
        own = [method] if named and named.method == method else []
        return sorted({*self.of_method(method), *own})

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
        """The tokenizers that figures compare: BPE, then others, in the paper SaGe; or none.

        Without one of each there is nothing to draw. A figure that is named then has no
        input, and its job says so at once.
        """
        names = [n for n in self.config.figures.tokenizers if n in self.tokenizers]
        others = [name for name in names if name != "bpe"]
        return ["bpe", *others] if "bpe" in names and others else []

    @property
    def compared_sage(self) -> list[str]:
        """Those of the compared that are readings of SaGe, pruned from BPE's pieces."""
        return [name for name in self.compared if name in self.sage_readings]

    @property
    def compared_models(self) -> list[str]:
        """The tokenizers whose scores are compared, BPE first; none without BPE."""
        return ["bpe", *(n for n in self.models if n != "bpe")] if "bpe" in self.models else []

    @cached_property
    def curve_languages(self) -> list[str]:
        """Languages with learning curves: where a model predicts held-out lines."""
        wanted = self.models and self.config.lm.pretrain.heldout_lines
        return self._held_out(self.model_languages if wanted else [])

    def _held_out(self, languages: Iterable[str]) -> list[str]:
        """Return the languages with held-out lines among some."""
        return [name for name in languages if self.language(name).heldout_lines]

    @cached_property
    def causal_languages(self) -> list[str]:
        """Languages in which causal models are compared with BPE's on held-out lines."""
        compared = len(self.compared_models) > 1
        wanted = compared and self.config.lm.causal.seeds
        return self._held_out(self.model_languages if wanted else [])

    @property
    def unseeded_controls(self) -> list[str]:
        """The tokenizers that are pruned without contexts, of one seed each."""
        return [name for name in self.pruned_from_bpe(*PRUNED) if self.tokenizer(name).is_control]

    @property
    def random_prunings(self) -> int:
        """How many random prunings the claims rank SaGe among; 0 for none."""
        compared = self.reproduces and "bpe" in self.tokenizers and self.sage_readings
        return self.config.analysis.random_prunings if compared else 0

    @cached_property
    def seeds_of_controls(self) -> dict[str, list[str]]:
        """Control -> its vocabularies, one a seed.

        Whatever their names, those pruned at random are `random`, and those without the least
        frequent pieces `frequency`.
        """
        found: dict[str, list[str]] = {}
        for name in self.unseeded_controls:
            control = self.tokenizer(name).method if name in self.simple_controls else name
            found.setdefault(control, []).extend(self.with_seeds([name]))
        return found

    @property
    def simple_controls(self) -> list[str]:
        """Random pruning and the least frequent pieces: the controls that have causal models."""
        return self.pruned_from_bpe("random", "frequency")

    @property
    def further_controls(self) -> list[str]:
        """The controls beside random pruning and the least frequent pieces."""
        return [name for name in self.unseeded_controls if name not in self.simple_controls]

    @property
    def causal_tokenizers(self) -> list[str]:
        """Tokenizers with causal models: those with masked ones, random and frequency."""
        return list(dict.fromkeys([*self.models, *self.simple_controls]))

    def causal_files(self, tokenizers: Sequence[str]) -> list[str]:
        """Return what causal models need, language by language, the seeds of a tokenizer together.

        tokenizers: some of `causal_tokenizers`.
        """
        kinds = itertools.product(self.causal_languages, tokenizers, self.config.lm.causal.seeds)
        return [
            self.result(f"analysis/{lang}/causal/{tok}/{seed}.parquet") for lang, tok, seed in kinds
        ]

    @cached_property
    def ngram_languages(self) -> list[str]:
        """Languages whose tokenizers' n-grams are compared with BPE's on held-out lines."""
        wanted = self.config.analysis.ngram_lines and self._has_comparison
        return self._held_out(self.languages if wanted else [])

    def probe_files(self) -> list[str]:
        """Return what the probes of all tokenizers answer, task by task."""
        return [
            self.result(f"analysis/{self.task(task).language}/probes/{tok}/{task}.parquet")
            for task in self.probe_tasks
            for tok in self.ordered_tokenizers
        ]

    def labels(self, tokenizers: Iterable[str]) -> list[str]:
        """Return the names of tokenizers in figures and tables."""
        return [(self.tokenizer(name).label or name) for name in tokenizers]

    def preset(self, tokenizer: str) -> str | None:
        """Return the reading that a SaGe tokenizer is: preset and overrides; None for others."""
        stanza = self.tokenizer(tokenizer)
        return stanza.preset_title if stanza.method == "sage" else None

    # --- What decides a vocabulary, and what its model card says

    @property
    def word_settings(self) -> Stanza:
        """How text becomes words, in the library and in every exported tokenizer."""
        words = self.config.vocabulary
        return {"normalization": words.normalization, "max_word_chars": words.max_word_chars}

    def sage_parameters(self, tokenizer: str) -> Stanza:
        """Return all that decides a SaGe vocabulary beside corpus, initial pieces, embeddings."""
        return self.config.sage_parameters(self.tokenizer(tokenizer))

    def initial_size(self, tokenizer: str) -> int:
        """Return the size of the vocabulary that a SaGe tokenizer is pruned from."""
        usual = self.config.vocabulary.initial_size
        return getattr(self.tokenizer(tokenizer), "initial_size", None) or usual

    def initial(self, text: str, tokenizer: str, name: str) -> str:
        """Return a file of the vocabulary that a tokenizer is pruned from."""
        return self.result(f"vocab/{text}/{self._initial_name(tokenizer)}/{name}")

    def _initial_name(self, tokenizer: str) -> str:
        size = self.initial_size(tokenizer)
        other = "" if size == self.config.vocabulary.initial_size else f".{size}"
        return f"{self.tokenizer(tokenizer).initial_method}_initial{other}"

    def contexts(self, tokenizer: str) -> str:
        """Return what a SaGe tokenizer sees of contexts: `real`, `zero` or `shuffled`."""
        return reading_settings(self.tokenizer(tokenizer).reading)["contexts"]

    def embeddings(self, text: str, tokenizer: str) -> str | list[str]:
        """Return the embeddings that a SaGe tokenizer starts from; none where they are zero."""
        if self.contexts(tokenizer) == "zero":
            return []
        return self.result(f"embeddings/{text}/{self.start(tokenizer)}.npz")

    def start(self, tokenizer: str) -> str:
        """Return the name of the embeddings that a SaGe tokenizer starts from.

        It says all that decides them beside the text, so tokenizers that start alike share them.
        """
        seed = self.sage_parameters(tokenizer)["seed"]
        decoder = reading_settings(self.tokenizer(tokenizer).reading)["decoder"]
        shuffled = ".shuffled" if self.contexts(tokenizer) == "shuffled" else ""
        return f"{self._initial_name(tokenizer)}.{decoder}{shuffled}.seed{seed}"

    def control_parameters(self, tokenizer: str) -> Stanza:
        """What decides a control's vocabulary beside its method and its seed."""
        stanza = self.tokenizer(tokenizer)
        batch = self.config.sage.prune_batch if stanza.method == "frequency" else None
        return {
            "final_size": self.config.vocabulary.final_size,
            "prune_batch": stanza.prune_batch or batch,
        }

    # --- Files of the stages

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

    def model_files(self) -> list[str]:
        """Return the language model of every language and tokenizer in `lm.tokenizers`."""
        pairs = itertools.product(self.model_languages, self.models)
        return [self.result(f"models/{lang}/{tok}/model.safetensors") for lang, tok in pairs]

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

    def pretrained(self, wildcards: Any, name: str) -> str:
        """Return a file of the model that a fine-tuning starts from: that of its seed, if any.

        wildcards: lang, tok and seed, as Snakemake gives them.
        """
        folder = f"{wildcards.lang}/{wildcards.tok}"
        if int(wildcards.seed) in self.pretraining_seeds:
            return self.result(f"studies/pretraining/{folder}/{wildcards.seed}/{name}")
        return self.result(f"models/{folder}/{name}")

    def curves(self, languages: Iterable[str]) -> dict[str, list[str]]:
        """Return what learning curves are drawn from, a model's further seeds together.

        heldout and logs are of the models of some languages, language by language and tokenizer by
        tokenizer; repeats and repeated_logs of all further pretrainings. floors are of the models'
        tokenizers.
        """
        models = list(itertools.product(languages, self.models))
        folders = [self.result(f"models/{lang}/{tok}") for lang, tok in models]
        repeated = [
            self.result(f"studies/pretraining/{lang}/{tok}/{seed}")
            for lang, tok in models
            for seed in self.pretraining_seeds
        ]
        return {
            "heldout": [f"{folder}/heldout.parquet" for folder in folders],
            "logs": [f"{folder}/training_log.parquet" for folder in folders],
            "repeats": [f"{folder}/heldout.parquet" for folder in repeated],
            "repeated_logs": [f"{folder}/training_log.parquet" for folder in repeated],
            "floors": [
                self.result(f"analysis/{lang}/floors/{tok}.parquet") for lang, tok in models
            ],
        }

    # --- Language models

    @property
    def model_budget(self) -> Stanza:
        """What models are given, for the notes of tables."""
        return {key: self.section(f"lm.{key}") for key in ("pretrain", "finetune")}
