"""What a run is and where its measurements are: all that the claims know about files.

Whether an artefact should exist follows from the run's settings alone. What the settings leave out
raises `NotMeasurableError`, with the configuration key that would add it. What they include and the
disk lacks is an error.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.analysis import counts
from reproduction.analysis.counts import LineTotals, rank_neighbours
from reproduction.analysis.morphology import read_boundaries
from reproduction.analysis.scores import TaskScores, read_scores, task_scores
from reproduction.analysis.vocabulary import read_rankings
from reproduction.paper.curves import Curve, read_curve
from reproduction.paper.measures import NotMeasurableError
from reproduction.parquet import read_parquet
from sagevocab.corpus.words import WordCorpus
from sagevocab.pieces import read_pieces
from sagevocab.segmentation.counts import SegmentedCorpus, count_corpus
from sagevocab.segmentation.segmenter import GreedySegmenter

TRAIN = "train"


@dataclass(frozen=True)
class Results:
    """What a run has measured and where it is, by its settings as far as claims need them.

    Built by `run_report.claims_run`.
    """

    folder: Path | str  # results/{run}
    languages: Sequence[str]
    tokenizers: Mapping[str, str | None]  # name -> preset of a SaGe tokenizer, or None
    seed: int
    # Language, domain or task -> what it is called.
    names: Mapping[str, str] = field(default_factory=dict)

    domains: Mapping[str, str] = field(default_factory=dict)  # name -> language
    paper_texts: Collection[tuple[str, str]] = ()  # language and corpus of those the paper names
    morpheme_languages: Collection[str] = ()  # those with a list of segmented words

    # SaGe tokenizer -> those that are the same with another seed.
    further_seeds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # SaGe tokenizer -> name of the embeddings that it starts from.
    starts: Mapping[str, str] = field(default_factory=dict)
    # Reading of SaGe without a heuristic -> the SaGe tokenizer that it is.
    heuristics: Mapping[str, str] = field(default_factory=dict)
    # Control -> its vocabularies, pruned without contexts; one a seed.
    controls: Mapping[str, Sequence[str]] = field(default_factory=dict)

    # Language models; none where `lm_tokenizers`, those that have them, are none.
    lm_tokenizers: Sequence[str] = ()
    model_languages: Collection[str] = ()
    tasks: Mapping[str, str] = field(default_factory=dict)  # name -> language
    constructed: Collection[str] = ()  # the tasks whose examples are, instead of a real set
    seeds: Sequence[int] = ()  # of fine-tuning
    pretraining_seeds: Sequence[int] = ()  # of further pretrainings beside the run's own models
    budget: Mapping[str, Any] | None = None  # the sections lm.pretrain and lm.finetune

    @property
    def sage_tokenizers(self) -> list[str]:
        """Names of the tokenizers that SaGe made, in the run's order."""
        return [name for name, preset in self.tokenizers.items() if preset is not None]

    @functools.cached_property
    def listed(self) -> set[str]:
        """Names of all that the run measures on its texts, every seed by itself."""
        seeds = (*self.further_seeds.values(), *self.controls.values())
        return {*self.tokenizers, *itertools.chain.from_iterable(seeds)}

    def path(self, *parts: str) -> Path:
        """Return a file or folder of the run."""
        return Path(self.folder, *parts)


@dataclass(frozen=True)
class Case:
    """One claim's subject: a tokenizer of a run, in one language, on one corpus.

    corpus: `train`, a domain, or the name of a task. control: what the seeds of a vocabulary
    pruned without contexts are called together; number: which of them it is, from 1 on. One
    has neither interval nor test, which cost most.
    """

    run: Results
    language: str | None
    corpus: str
    tokenizer: str
    values: Mapping[str, Any]
    control: str | None = None
    number: int | None = None

    @property
    def seed(self) -> int | None:
        """Seed of what is resampled; None if nothing is."""
        return None if self.control else self.run.seed

    @property
    def constructed(self) -> bool:
        """Whether any of the examples behind the measurement are constructed."""
        names = {self.corpus} if self.language else set(self.run.tasks)
        return bool(names & set(self.run.constructed))

    @property
    def text(self) -> str:
        """Title of the measured text."""
        language = self.run.names.get(self.language or "", self.language or "all languages")
        if self.corpus == TRAIN:
            return f"{language}, training corpus"
        return f"{language}, {self.run.names.get(self.corpus, self.corpus)}"

    def pieces(self, tokenizer: str | None = None) -> list[str]:
        """Return the vocabulary of `tokenizer`, by default the case's."""
        return list(_pieces(self._vocabulary(tokenizer or self.tokenizer)))

    def initial_pieces(self) -> list[str]:
        """Return the vocabulary that SaGe starts from."""
        return list(_pieces(self.run.path("vocab", self._language(), "bpe_initial/pieces.txt")))

    def fertility(self, tokenizer: str) -> pd.Series:
        """Return corpus words by their number of subwords."""
        return _fertility(self._analysis(tokenizer) / "fertility.parquet")

    def frequencies(self, tokenizer: str) -> pd.Series:
        """Return the count of every piece of a tokenizer on the corpus."""
        return counts.read_frequencies(self._analysis(tokenizer) / "frequencies.parquet")

    def neighbours(self, tokenizer: str, window: int, corpus: str | None = None) -> pd.DataFrame:
        """Return distinct neighbours by piece and window, of which one must be measured."""
        frame = _neighbours(self._analysis(tokenizer, corpus) / "neighbours.parquet")
        if window not in set(frame["window"]):
            raise NotMeasurableError(f"config key analysis.windows has no {window}")
        return frame

    def ranked(self, tokenizer: str, window: int) -> pd.Series:
        """Return the distinct neighbours of each piece within a window, most first."""
        return rank_neighbours(self.neighbours(tokenizer, window), window)

    def matched_neighbours(
        self, tokenizer: str, window: int, draw: int
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return distinct neighbours on the domain and on as many words of the training text.

        A ratio of neighbours to frequency falls with the length of a text, so only texts of one
        length compare. The longer one is cut to lines drawn with the seed `draw`.
        """
        pieces = self._vocabulary(tokenizer)
        domain, train = map(self._words, (self._corpus(None), TRAIN))
        lengths = [len(_corpus(text).tokens) for text in (domain, train)]
        # The shorter text is the same in every draw, and is counted once.
        draws = [draw if length > min(lengths) else 0 for length in lengths]
        return tuple(
            _neighbours_of(text, min(lengths), number, pieces, window)
            for text, number in zip((domain, train), draws, strict=True)
        )

    def heuristic_losses(self, tokenizer: str) -> tuple[list[pd.Series], pd.Series]:
        """Return what each seed prunes, and a reading that lacks a heuristic: losses by piece."""
        seeds = [self.tokenizer, *self.run.further_seeds.get(self.tokenizer, ())]
        if self.run.heuristics.get(tokenizer) != self.tokenizer or len(seeds) < 2:
            raise NotMeasurableError(
                f"config key analysis.heuristics has no {tokenizer} that repeats this tokenizer "
                "with several seeds"
            )
        folder = self.run.path("vocab", self._language())
        *found, other = (
            read_parquet(folder / name / "ablations.parquet", ["piece", "loss"]).set_index("piece")[
                "loss"
            ]
            for name in (*seeds, tokenizer)
        )
        return found, other

    def boundaries(self, tokenizer: str) -> pd.DataFrame:
        """Return a tokenizer's boundaries and those between morphemes, word by word of a list."""
        language, tokenizer = self._language(), self._listed(tokenizer)
        if language not in self.run.morpheme_languages:
            raise NotMeasurableError(f"config key language_settings.{language} has no morphology")
        return read_boundaries(
            self.run.path("analysis", language, "morphology", f"{tokenizer}.parquet")
        )

    def lines(self, tokenizer: str) -> pd.DataFrame:
        """Return words and tokens of every line of the corpus."""
        return counts.read_lines(self._analysis(tokenizer) / "lines.parquet")

    def line_totals(self, tokenizer: str, corpus: str | None = None) -> LineTotals:
        """Return totals of each line of the corpus, segmented greedily."""
        words = self._words(self._corpus(corpus))
        return _line_totals(words, self._vocabulary(tokenizer))

    def rankings(self) -> pd.DataFrame:
        """Return the losses of all pieces left at several iterations of the case's pruning."""
        path = self._analysis(self.tokenizer, TRAIN) / "rankings.parquet"
        if not path.exists():
            raise NotMeasurableError("the run keeps no whole rankings of the losses")
        return read_rankings(path)

    def scores(self, tokenizer: str, task: str) -> list[float]:
        """Return the scores of a task, one a seed, in the order of the run's seeds."""
        return [record["value"] for record in read_scores(self._score_files(tokenizer, task))]

    def most_frequent_answer(self, task: str) -> float:
        """Return the score of always giving the most frequent answer of the training rows."""
        return read_scores(self._score_files(self.tokenizer, task))[0]["majority"]

    def resampled_scores(self, tokenizer: str, task: str) -> TaskScores:
        """Return the scores of a task for all tokenizers with models, resampled together.

        tokenizer: the one that is wanted, which must be among them.
        """
        names = dict.fromkeys((tokenizer, *self.run.lm_tokenizers))
        files = {name: self._score_files(name, task) for name in names}
        in_order = [file for name in self.run.lm_tokenizers for file in files[name]]
        return _task_scores(tuple(in_order), self.run.seed)

    def learning_curves(self, tokenizer: str) -> list[Curve]:
        """Return the curve of a model, then those of its further pretrainings."""
        tokenizer = self._modelled(tokenizer)
        language = _known(self._language(), self.run.model_languages, "lm.languages")
        repeats = self.run.path("studies/pretraining", language, tokenizer)
        folders = [repeats / str(seed) for seed in self.run.pretraining_seeds]
        models = [self.run.path("models", language, tokenizer), *folders]
        floors = self.run.path("analysis", language, "floors", f"{tokenizer}.parquet")
        return [_curve(folder / "heldout.parquet", floors) for folder in models]

    def seconds(self, rule: str, tokenizer: str) -> float:
        """Return the wall-clock seconds of a rule, from its benchmark."""
        language, tokenizer = self._language(), self._listed(tokenizer)
        names = [
            f"{language}.{tokenizer}",
            language,
            f"{language}.{self.run.starts.get(tokenizer)}",
        ]
        paths = [self.run.path("benchmarks", rule, f"{name}.tsv") for name in names]
        path = next((path for path in paths if path.exists()), None)
        if path is None:
            raise NotMeasurableError(f"no benchmark of {rule}: its result was not made by this run")
        return float(pd.read_csv(path, sep="\t")["s"].mean())

    def _vocabulary(self, tokenizer: str) -> Path:
        return self.run.path("vocab", self._language(), self._listed(tokenizer), "pieces.txt")

    def _words(self, corpus: str) -> Path:
        """Return the file of a corpus as word types, which no tokenizer changes."""
        return self.run.path("corpus", f"{self._language()}.{corpus}.words.npz")

    def _analysis(self, tokenizer: str, corpus: str | None = None) -> Path:
        language, tokenizer = self._language(), self._listed(tokenizer)
        return self.run.path("analysis", language, self._corpus(corpus), tokenizer)

    def _score_files(self, tokenizer: str, task: str) -> list[Path]:
        tokenizer = self._modelled(tokenizer)
        language = self.run.tasks[_known(task, self.run.tasks, "tasks (in lm.languages)")]
        folder = self.run.path("scores", language, tokenizer, task)
        return [folder / f"{seed}.json" for seed in self.run.seeds]

    def _language(self) -> str:
        return _known(self.language, self.run.languages, "languages")

    def _listed(self, tokenizer: str) -> str:
        return _known(tokenizer, self.run.listed, "tokenizers")

    def _modelled(self, tokenizer: str) -> str:
        if not self.run.lm_tokenizers:
            raise NotMeasurableError(
                "config key lm.enabled is false, or lm.languages names no language of the run: it "
                "has no models"
            )
        return _known(tokenizer, self.run.lm_tokenizers, "lm.tokenizers")

    def _corpus(self, corpus: str | None) -> str:
        return _known(corpus or self.corpus, [TRAIN, *self.run.domains], "domains")


def _known(name: str | None, names: Collection[str], key: str) -> str:
    """Return a name that the run has; key: the part of the configuration that lists them."""
    if name is None or name not in names:
        raise NotMeasurableError(f"config key {key} has no {name}")
    return name


@functools.lru_cache(maxsize=32)
def _pieces(path: Path) -> tuple[str, ...]:
    return tuple(read_pieces(path))


@functools.lru_cache(maxsize=8)
def _corpus(path: Path) -> WordCorpus:
    return WordCorpus.load(path)


@functools.lru_cache(maxsize=24)
def _line_totals(words: Path, pieces: Path) -> LineTotals:
    # The paper's counts segment greedily, whatever decoder pruned the vocabulary.
    return LineTotals(_corpus(words), GreedySegmenter(_pieces(pieces)))


@functools.lru_cache(maxsize=24)
def _cut_corpus(words: Path, length: int, draw: int) -> WordCorpus:
    corpus = _corpus(words)
    return corpus if len(corpus.tokens) <= length else corpus.sample_words(length, draw)


@functools.lru_cache(maxsize=64)
def _neighbours_of(words: Path, length: int, draw: int, pieces: Path, window: int) -> pd.DataFrame:
    drawn, segmenter = _cut_corpus(words, length, draw), GreedySegmenter(_pieces(pieces))
    segmented = SegmentedCorpus(drawn, segmenter)
    distinct = counts.count_neighbours(segmented, [window])
    return counts.tables_of(count_corpus(segmented), [window], distinct)["neighbours"]


_curve = functools.lru_cache(maxsize=16)(read_curve)
_fertility = functools.lru_cache(maxsize=32)(counts.read_fertility)
_neighbours = functools.lru_cache(maxsize=32)(counts.read_neighbours)


@functools.lru_cache(maxsize=16)
def _task_scores(files: tuple[Path, ...], seed: int) -> TaskScores:
    return task_scores(read_scores(files), seed)
