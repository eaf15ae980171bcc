"""The configuration as typed models: its sections, the whole, and what must hold between them.

A new key is a new field of one of these classes: type, default and description are there, and
`make docs` writes the JSON schema from them. Sections that the library itself takes are next to it,
in `sagevocab.settings` and `lm.settings`. What would cost hours or give wrong numbers is refused by
a validator: a SettingError with the key, what is wrong with it and what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from reproduction.analysis.metrics import fitting_metrics
from reproduction.analysis.probe_kinds import SIMILARITY, probe_kind
from reproduction.builds import CONTROLS, EXPORTED, PRUNED, SEEDED, builds_of, stanzas_of
from reproduction.data.files import ENDINGS, FORMATS, format_of_name
from reproduction.data.sources import KINDS
from reproduction.lm.settings import CausalSettings, FinetuneSettings, PretrainSettings
from reproduction.readings import overrides, reading_settings
from reproduction.value_types import Counts, InnerShare, Name, Names, Seeds, optional
from sagevocab.errors import SettingError
from sagevocab.presets import (
    DEFAULT_PRESET,
    PRESETS,
)
from sagevocab.settings import (
    DEFAULT_SEED,
    ContextMatrix,
    Contexts,
    Decoder,
    Loss,
    LossLines,
    PushBack,
    Retrain,
    SageKeys,
    SageSettings,
    VocabularyKeys,
    Word2VecKeys,
    check_pruning,
    refuse_unread,
    settings_from,
)
from sagevocab.validation import Count, Flag, Natural, Seed


class Section(BaseModel):
    """A section of the configuration: no key but its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def section(kind: type, description: str | None = None) -> Any:
    """Declare a section that may be left out; its own defaults stand for it then."""
    return Field(default_factory=kind, description=description)


# --- texts


_DATE = re.compile("[0-9]{8}")
# Keys of the catalogue that say where data come from, and what they may be taken for.
_OF_CATALOGUE = ("hub", "urls", "url")
Packaged = Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_.-]*:.+$")]


class Source(Section):
    """Where a text or a table of examples comes from.

    Of `path`, `constructed`, `package` and `dataset` the first that is there counts.
    """

    path: str | Annotated[list[str], Field(min_length=1)] | None = optional(
        "A local file, plain or compressed (gz, bz2, xz, zst), a folder, a pattern with `*`, or a "
        "list of such. Files are read one after the other. Wins over every other key."
    )
    constructed: str | None = optional(
        "A task whose examples are constructed from sentences that packages ship "
        "(`workflow/resources/demo`): cola, mrpc, qqp, qnli, mnli, xnli_tr, stsb, sst2, ner_en or "
        "ner_tr. Its scores are marked `constructed`."
    )
    package: Packaged | Annotated[list[Packaged], Field(min_length=1)] | None = optional(
        "A file that an installed package or distribution ships, as `package:path/in/package`, or "
        "a list of text files that are joined."
    )
    dataset: str | None = optional(
        "An entry of `workflow/resources/datasets.yaml`, which knows addresses and checksums."
    )
    language: Annotated[str, Field(pattern="^[a-z][a-z_-]+$")] | None = optional(
        "Which Wikipedia `dataset: wikipedia` means, such as `hu`."
    )
    date: Annotated[str, Field(pattern="^[0-9]{8}$")] | None = optional(
        "Which dump of it, by its date, such as `20260801`, in quotes."
    )
    format: Literal[*FORMATS] | None = optional(
        "What the file holds: a MediaWiki XML dump, plain text (one sentence or document a line), "
        "a CoNLL-U treebank, or a table. May be left out where the name of the file or the "
        "catalogue tells it."
    )
    column: str | None = optional("The column of a table that holds the text.")
    title: str | None = optional("What a local text is, for model cards and reference results.")
    licence: str | None = optional("The licence of a local text, shown with its title.")

    @model_validator(mode="before")
    @classmethod
    def _names_what_the_catalogue_describes(cls, said: Any) -> Any:
        for key in _OF_CATALOGUE if isinstance(said, Mapping) else ():
            if key in said:
                raise SettingError(
                    key,
                    "is for the catalogue: add an entry to workflow/resources/datasets.yaml, and "
                    "name it with `dataset`",
                )
        return said

    @field_validator("date", mode="before")
    @classmethod
    def _is_a_date_in_digits(cls, date: Any) -> Any:
        digits = str(date).replace("-", "")
        if date is None or (date == digits and _DATE.fullmatch(digits)):
            return date
        example = digits if _DATE.fullmatch(digits) else "20260801"
        raise SettingError("", f'{date} is not text of eight digits; write it as "{example}"')

    @property
    def kind(self) -> str | None:
        """The key that says where it comes from."""
        return next((kind for kind in KINDS if getattr(self, kind, None)), None)

    @property
    def local_format(self) -> str | None:
        """The format of local files; None for a source of another kind."""
        return self.format or format_of_name(self.path) if self.kind == "path" else None

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.kind is None:
            raise SettingError("", f"none of {', '.join(KINDS)} is given; give one of them")
        files = self.path or self.package if self.kind in ("path", "package") else None
        if files and not self.format and format_of_name(files) is None:
            raise SettingError(
                "format",
                f"missing, and the name does not tell it (as {', '.join(ENDINGS)} do); say what "
                f"the file holds: {', '.join(FORMATS)}",
            )
        return self


class Morphology(Section):
    """A list of words cut into morphemes.

    With it `table_tokenizers` says how well each tokenizer's boundaries agree with the list's;
    `docs/appendix/deviations.md` names free lists.
    """

    path: str | None = optional("A local file, plain or compressed. Wins over `package`.")
    package: Packaged | None = optional("A file that an installed package ships, as in `source`.")
    format: Literal["segmentation", "derivation", "conllu"] | None = optional(
        "`segmentation`: word, tab, morphemes with spaces between them (SIGMORPHON "
        "2022). `derivation`: base, derived word, parts of speech, affix, with tabs between them "
        "(UniMorph). `conllu`: a treebank whose derivations are tokens with the feature "
        "`Derivation` (Turkish Web Treebank); inflections are not cut off. May be left out for a "
        "file whose name ends in `.conllu`."
    )

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        file = self.path or self.package
        if not file:
            raise SettingError("", "none of path, package is given; give one of them")
        if not self.format and format_of_name(file) != "conllu":
            raise SettingError(
                "format",
                "missing, and the name does not tell it (as .conllu does); say what the file "
                "holds: segmentation (as of SIGMORPHON 2022), derivation (as of UniMorph), conllu",
            )
        return self


class Language(Section):
    """A language and its training corpus."""

    name: str = Field(description="Name of the language in figures and tables.")
    lines: Count | None = Field(
        None, description="Size of the seeded sample of sentences to train on; null takes all."
    )
    heldout_lines: Natural = Field(
        5000, description="Sentences kept out of all training, for validation."
    )
    shuffle: Flag = Field(
        False,
        description="Put the sampled lines in a seeded random order: for texts that stand in "
        "blocks by origin. Holds them in memory once.",
    )
    source: Source
    morphology: Morphology | None = optional()

    @model_validator(mode="before")
    @classmethod
    def _has_a_name(cls, said: Any) -> Any:
        # An unknown key may be a misspelt `name`, and is refused as such.
        if isinstance(said, Mapping) and said.keys() <= cls.model_fields.keys() - {"name"}:
            raise SettingError("name", "missing; say what figures call it, such as name: Hungarian")
        return said


class Domain(Section):
    """A text of another domain."""

    name: str = Field(description="Name of the text in figures and tables.")
    language: Name = Field(description="The language whose tokenizers are measured on it.")
    lines: Count | None = Field(None, description="Size of a seeded sample; null takes all.")
    source: Source


# --- tokenizers


_PRUNES_NOTHING, _HAS_NO_SEED = "prunes nothing", "has no seed"
# Keys of a tokenizer's stanza -> the methods that read them, and what to say of the others. Keys
# that are not here (those of a reading of SaGe) are read by `sage`.
_READ_BY = {
    "path": (("external",), "is not from elsewhere"),
    "initial": (PRUNED, _PRUNES_NOTHING),
    "initial_size": (PRUNED, _PRUNES_NOTHING),
    "prune_batch": (PRUNED, _PRUNES_NOTHING),
    "seed": (SEEDED, _HAS_NO_SEED),
    "seeds": (SEEDED, _HAS_NO_SEED),
}


class Tokenizer(Section):
    """A tokenizer to build: of method `sage`, a reading of SaGe."""

    label: str | None = optional("Name in figures and tables; the stanza's key if left out.")
    method: Literal[
        "bpe",
        "bpe_merges",
        "sage",
        "random",
        "frequency",
        "extra_tokens",
        "swallowed",
        "unigram",
        "unigram_greedy",
        "wordpiece",
        "external",
    ] = Field(
        description="`bpe`: byte-pair encoding, decoded by greedy longest match; `bpe_merges`: the "
        "same vocabulary decoded by its merges; `sage`; the controls, which prune what SaGe starts "
        "from without a look at contexts: `random`, `frequency` (the least frequent pieces), "
        "`extra_tokens` (fewest more tokens without the piece), `swallowed` (one merge takes the "
        "largest share, as in PickyBPE); `unigram`: UnigramLM, decoded by its probabilities; "
        "`unigram_greedy`: the same vocabulary decoded by greedy longest match; `wordpiece`; "
        "`external`: a tokenizer from elsewhere, given by `path`."
    )
    path: str | None = optional(
        "For `external`: a Hugging Face folder, a sentencepiece model or a list of pieces; "
        "`{lang}` in it is replaced by the language."
    )
    initial: Literal["bpe", "unigram"] | None = optional(
        "For `sage` and controls. The vocabulary that is pruned: `bpe` (the paper's, if left out) "
        "or `unigram`, UnigramLM's, which has no merges. Claims are about prunings of `bpe` alone."
    )
    initial_size: Count | None = optional(
        "n·V, in place of `vocabulary.initial_size`, for prunings of BPE. Claims leave a tokenizer "
        "of another size out; they are about all tokenizers of a run with that size."
    )
    preset: Literal[*PRESETS] | None = optional(
        "For `sage`. The preset to start from: `printed` is the paper's algorithm as printed "
        "(greedy decoding, total loss, own context matrix, retraining); `released` is the program "
        "published as SaGe 1.0, exactly; `released_loss` has its loss without the details of its "
        "code (merges, mean over at most 1000 lines with the string, one matrix, no retraining, "
        "line-start pieces pushed back); `counts` ranks once by a count without contexts, as a "
        "control; `bigram_code` prunes what a code of the text needs least. Single keys below "
        "override it."
    )
    decoder: Decoder | None = optional()
    loss: Loss | None = optional()
    loss_lines: LossLines | None = optional()
    context_matrix: ContextMatrix | None = optional()
    retrain: Retrain | None = optional()
    push_back_line_start: PushBack | None = optional()
    contexts: Contexts | None = optional()
    prune_batch: Count | None = optional(
        "k, in place of `sage.prune_batch`. A control other than `frequency` ranks once without "
        "it, and before each batch of so many pieces with it."
    )
    candidates: Count | None = optional("M, in place of `sage.candidates`.")
    rerank_every: Natural | None = optional("m, in place of `sage.rerank_every`.")
    retrain_every: Count | None = optional("l, in place of `sage.retrain_every`.")
    seed: Seed | None = optional(
        "For `sage`, `random`. Seed of embeddings and pruning, in place of the run's."
    )
    seeds: Count | None = optional(
        "For `sage`, `random`. How many seeds in a row it is built with, from `seed` on. Figures "
        "and tables show the first; all of them tell the claims how much a seed matters."
    )

    @model_validator(mode="after")
    def _has_what_its_method_needs(self) -> Self:
        needed = {"external": "path", "sage": "preset"}.get(self.method)
        if needed and not getattr(self, needed):
            raise SettingError(needed, f"missing; method {self.method} needs it")
        for key, value in self:
            readers, without = _READ_BY.get(key, (("sage",), "is not a reading of SaGe"))
            if value is not None and key not in ("label", "method") and self.method not in readers:
                raise SettingError(key, f"method {self.method} {without}; leave it out")
        if self.initial == "unigram" and self.method == "swallowed":
            raise SettingError("initial", f"method {self.method} needs BPE's merges; leave it out")
        if self.initial == "unigram" and self.initial_size:
            raise SettingError(
                "initial_size", "is for prunings of BPE; leave it out, or set initial: bpe"
            )
        return self

    @property
    def is_control(self) -> bool:
        """Whether it is pruned as much as SaGe, and without a look at contexts."""
        blind = self.method == "sage" and reading_settings(self.reading)["contexts"] != "real"
        return blind or self.method in CONTROLS

    @property
    def initial_method(self) -> str:
        """Whose pieces it is pruned from: `bpe` or `unigram`."""
        return self.initial or "bpe"

    def path_in(self, language: str) -> str:
        """Return where a tokenizer of method `external` lies."""
        return (self.path or "").replace("{lang}", language)

    @property
    def overrides(self) -> dict[str, Any]:
        """The keys that override the preset of a reading of SaGe, or the run's numbers and seed."""
        return overrides(self.model_dump())

    @property
    def reading(self) -> dict[str, Any]:
        """The reading of SaGe that it is: its preset and the keys that override it."""
        return {"preset": self.preset or DEFAULT_PRESET, **self.overrides}

    @property
    def preset_title(self) -> str:
        """The preset of a reading of SaGe, and in brackets what differs from it.

        Every preset prunes BPE's pieces.
        """
        unigram = {"initial": "unigram"} if self.initial == "unigram" else {}
        changed = sorted({**self.overrides, **unigram}.items())
        shown = ", ".join(f"{key}: {value}" for key, value in changed)
        return f"{self.reading['preset']} ({shown})" if shown else self.reading["preset"]


# --- measurements


class Analysis(Section):
    """Measurements without a language model."""

    windows: Annotated[Counts, Field(min_length=1)] = Field(
        [5, 2],
        description="Windows in which distinct neighbours are counted; the first is the one of the "
        "ratio figures.",
    )
    efficiency_lines: Count = Field(
        150_000, description="Lines of the sample whose tokens are counted."
    )
    example_languages: Literal["all"] | list[Name] = Field(
        "all",
        description="Languages whose sentences Tables 1 and 2 may show: all, or a list, where a "
        "corpus' licence does not allow it for every one.",
    )
    heuristics: Names = Field(
        [],
        description="Tokenizers that are a reading of SaGe without a heuristic: with another "
        "`rerank_every` or `retrain_every` than a tokenizer of the run. They are built for the "
        "claims that compare what both prune, and for nothing else, with one seed.",
    )
    ngram_lines: Counts = Field(
        [10_000, 100_000, 750_000],
        description="Numbers of training lines from which n-grams of every tokenizer's pieces are "
        "estimated, to predict held-out lines; all lines of a smaller corpus. An empty list "
        "estimates none.",
    )


class Probes(Section):
    """Linear probes of pieces, and of skip-gram vectors of them, on tasks.

    They test the segmentation of every tokenizer, and are not language models.
    """

    tasks: Names = Field(
        [],
        description="Tasks to probe, each with a stanza in `task_settings`: a class of one text, "
        "tags of words, or a score of two texts. They need not be in `tasks`. An empty list probes "
        "none.",
    )
    vector_lines: Count = Field(
        100_000,
        description="Lines that vectors of the final vocabularies are trained on, a seeded sample "
        "of the training corpus; all lines of a smaller one.",
    )
    seeds: Seeds = Field(
        [1, 2, 3, 4, 5],
        description="Seeds of the vectors: of their lines and of their training. An empty list "
        "trains none.",
    )


class Figures(Section):
    """How the figures are printed."""

    tokenizers: Names = Field(
        ["bpe", "sage", "sage_released"],
        description="The tokenizers that figures and tables of Section 4 set side by side, as far "
        "as the run has them; `bpe` is the one that the others are compared with.",
    )
    width: Literal["full", "column"] = Field(
        "full",
        description="Width of figures in the ACL style: of its text block (6.3 inches), or of a "
        "column (3.03 inches), where panels stand one below the other. Letters keep their size.",
    )


PAPER_LANGUAGES = ["en", "tr"]


# --- tasks and language models


class Columns(Section):
    """The names of the columns in the source."""

    text: str | None = optional("The first text.")
    text_pair: str | None = optional("The second text, if the task has pairs.")
    label: str | None = optional("The class or the score.")
    tokens: str | None = optional("The words of a tagging task.")
    tags: str | None = optional("The tags of the words, in any of the usual schemes.")


class Splits(Section):
    """One source a split; `validation_share` can stand for the validation split.

    Scores are those on the validation split, as in the paper.
    """

    train: Source
    validation: Source | None = optional()


class Task(Section):
    """A task that models are fine-tuned on."""

    label: str | None = optional("Name in tables; the task's key if left out.")
    language: Name = Field(description="The language whose models are evaluated on it.")
    kind: Literal["sequence", "tokens"] = Field(
        description="Classification or regression of a text or a pair, or tagging of words."
    )
    metric: Literal["f1", "accuracy", "matthews", "pearson", "span_f1"] = Field(
        description="What the tables show."
    )
    labels: Annotated[list[str | int], Field(min_length=2)] | None = Field(
        None,
        description="The classes in the order of their numbers; null for a regression or a tagging "
        "task.",
    )
    columns: Columns
    max_train: Count | None = Field(
        None,
        description="Training rows at most, a seeded sample, for a smaller budget; null takes all. "
        "The score tables say so.",
    )
    max_validation: Count | None = Field(
        None,
        description="Validation rows at most, a seeded sample; null takes all. The score tables "
        "say so.",
    )
    validation_share: InnerShare | None = Field(
        None,
        description="For a task without a validation file: the share of the training rows that is "
        "held out in its place, drawn by the run's seed. Wins over `source.validation`.",
    )
    source: Splits

    @model_validator(mode="after")
    def _columns_and_metric_fit_the_kind(self) -> Self:
        needed = {"sequence": ("text", "label"), "tokens": ("tokens", "tags")}[self.kind]
        for column in needed:
            if getattr(self.columns, column) is None:
                raise SettingError(
                    f"columns.{column}", f"missing; a task of kind {self.kind} needs it"
                )
        fitting = fitting_metrics(self.kind, self.labels)
        if self.metric not in fitting:
            raise SettingError(
                "metric",
                f"{self.metric} does not fit this task; choose one of {', '.join(fitting)}, or "
                "check its kind and labels",
            )
        return self

    @model_validator(mode="after")
    def _is_validated_on_other_rows(self) -> Self:
        train, validation = self.source.train, self.source.validation
        if self.validation_share:
            return self
        if validation is None:
            raise SettingError(
                "source.validation",
                "missing; give a source, or set validation_share to hold out a share of the "
                "training rows",
            )
        if train.path and train.path == validation.path:
            raise SettingError(
                "source",
                "train and validation are the same file; set validation_share to hold out a share "
                "of its rows",
            )
        return self

    @property
    def probe_kind(self) -> str | None:
        """How it is probed; None if it can't be."""
        return probe_kind(self.model_dump())

    def used_sources(self) -> dict[str, Source]:
        """Return the sources that are read, by split."""
        if self.validation_share:
            return {"train": self.source.train}
        return {"train": self.source.train, "validation": self.source.validation}

    def origin(self, split: str) -> str:
        """Return the source of a split: its own, or the training rows that it is a share of."""
        return "train" if self.validation_share else split

    def part(self, split: str, seed: int) -> dict[str, Any] | None:
        """Return which rows of its source a split takes, drawn by a seed; None for all."""
        most, shared = getattr(self, f"max_{split}"), self.validation_share
        if not (most or shared):
            return None
        edges = {"train": (0.0, 1 - (shared or 0)), "validation": (1 - (shared or 1), 1.0)}
        return {"share": edges[split], "most": most, "seed": seed}


class LanguageModels(Section):
    """Language models."""

    enabled: Flag = Field(
        True, description="false lets `all` end with what needs no language model."
    )
    gpus: Natural = Field(
        1,
        description="GPUs of a pretraining, on one machine: 0 trains on the CPU. On N each takes "
        "its part of every batch, in a process that torchrun starts. A model is "
        "fine-tuned on one.",
    )
    languages: Names = Field(
        PAPER_LANGUAGES,
        description="Of the run's languages, those that get models, and whose tasks are scored.",
    )
    tokenizers: Names = Field(
        ["bpe", "sage", "sage_released"], description="Those of `tokenizers` that get models."
    )
    pretraining_seeds: Seeds = Field(
        [],
        description="Further seeds of pretraining. Fine-tuning with one of these seeds starts from "
        "its model, with any other seed from that of the run's seed.",
    )
    pretrain: PretrainSettings = section(PretrainSettings)
    finetune: FinetuneSettings = section(FinetuneSettings)
    causal: CausalSettings = section(CausalSettings)


# --- the whole

# Lists of names, the section that holds their stanzas.
STANZAS = {
    "languages": "language_settings",
    "domains": "domain_settings",
    "tokenizers": "tokenizer_settings",
    "tasks": "task_settings",
}


class Configuration(Section):
    """`config.yaml` holds the paper's settings.

    Another file given with `--configfile` overrides single keys of it. Overrides are merged key by
    key; they replace lists and values and can't remove a key.
    """

    run: Name = Field(description="Name of the run; its results go to `results/{run}/`.")
    seed: Seed = Field(
        DEFAULT_SEED,
        description="Seed of sampling, embeddings and the order of training data. Fine-tuning has "
        "other seeds (`lm.finetune.seeds`).",
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
                    "merges needs the merges of BPE, which UnigramLM has not; set preset: printed "
                    "or initial: bpe",
                )
        return self

    def _sage_tokenizers(self) -> list[str]:
        names = (*self.tokenizers, *self.analysis.heuristics)
        return [n for n in names if self.tokenizer_settings[n].method == "sage"]

    @model_validator(mode="after")
    def _pruning_can_be_done(self) -> Self:
        initial, final = self.vocabulary.initial_size, self.vocabulary.vocab_size
        check_pruning(initial, SageSettings(**asdict(self.sage), vocab_size=final))
        stanzas = stanzas_of(self)
        for name, build in builds_of(self).items():
            size = build.initial_size
            try:
                if build.method == "sage":
                    settings = settings_from(**build.settings)
                    check_pruning(size, settings)
                    refuse_unread("sage", stanzas[name].overrides, settings.unread)
                elif build.initial and size < final:
                    raise SettingError(
                        "initial_size", f"{size} is below the final size, {final}; raise it"
                    )
            except SettingError as error:
                key = error.key.removeprefix("sage.")
                raise SettingError(f"tokenizer_settings.{name}.{key}", error.reason) from None
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
        final, initial = self.vocabulary.vocab_size, self.vocabulary.initial_size
        for size in self.lm.causal.cut_sizes:
            if not final <= size < initial:
                raise SettingError(
                    "lm.causal.cut_sizes",
                    f"{size} is not a size that prunings pass through, from {initial} to {final} "
                    "pieces; take it out, or set vocabulary.vocab_size to it",
                )
        if self.seed in self.lm.pretraining_seeds:
            raise SettingError(
                "lm.pretraining_seeds",
                f"{self.seed} is the seed of the run's own models (config key seed); list further "
                "ones",
            )
        return self
