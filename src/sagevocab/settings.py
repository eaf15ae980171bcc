"""The settings that make a vocabulary, with the rules that need no text to check.

Classes named `...Keys` are sections of the configuration. The others are what the library's
functions take: the same, with what is not configured there (seed, threads).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from sagevocab.corpus.words import MAX_WORD_CHARS, NORMALIZATION, Normalization
from sagevocab.errors import SettingError
from sagevocab.presets import DEFAULT_PRESET, PRESETS
from sagevocab.validation import (
    Count,
    CountOrAll,
    Flag,
    Natural,
    Positive,
    Seed,
    Share,
    Size,
    settings,
    unknown,
)

GROWTH = 1.25  # n: initial size / final size (paper, Section 4)
DEFAULT_SEED = 1
_VOCAB_SIZE = 16_000  # V of the paper, Section 4

# --- text and initial vocabulary


@settings("vocabulary")
class _Normalized:
    """What training and segmenting share."""

    normalization: Normalization = Field(
        NORMALIZATION,
        description="sentencepiece's normalisation rule, in training and in every exported "
        "tokenizer.",
    )


@settings("vocabulary")
class TrainingSettings(_Normalized):
    """What sentencepiece gets beside the size; the defaults are its own."""

    character_coverage: Annotated[Share, Field(ge=0.98)] = Field(
        0.9995,
        description="Share of the corpus' characters that the alphabet covers; rarer characters "
        "become [UNK].",
    )
    ascii: Flag = Field(
        True,
        description="Whether every printable ASCII character is a piece, however rare it is in the "
        "corpus. The paper's vocabularies have those of the alphabet alone.",
    )
    max_piece_length: Annotated[Count, Field(le=512)] = Field(
        16, description="Longest piece in characters."
    )


@settings("vocabulary")
class WordSettings(_Normalized):
    """How text becomes words."""

    max_word_chars: Annotated[Count, Field(ge=2, le=100_000)] = Field(
        MAX_WORD_CHARS,
        description="Longer words are cut into chunks of this many characters; the `▁` of a word "
        "counts.",
    )


@settings("vocabulary")
class VocabularyKeys(WordSettings, TrainingSettings):
    """Sizes and sentencepiece's settings. Sizes count pieces without special tokens."""

    vocab_size: Size = Field(
        _VOCAB_SIZE, description="Pieces in every vocabulary at the end (the paper's V)."
    )
    initial_size: Size = Field(
        round(GROWTH * _VOCAB_SIZE),
        description="Pieces of the vocabulary that SaGe prunes (n·V).",
    )


# --- embeddings


@settings("word2vec")
class Word2VecKeys:
    """Skip-gram with negative sampling. What the paper leaves open is as in gensim."""

    trainer: Literal["gensim", "blocks"] = Field(
        "blocks",
        description="`gensim`: the paper's tool. `blocks`: the same model by code of this project, "
        "some ten times as fast on one core and on as many as four, with the same bytes for any "
        "number of them.",
    )
    dimension: Annotated[Count, Field(le=10_000)] = Field(50, description="Length of an embedding.")
    window: Annotated[Count, Field(le=10_000)] = Field(
        5, description="Pieces to each side of a target."
    )
    negative: Annotated[Count, Field(le=10_000)] = Field(
        15, description="Negative samples for each pair."
    )
    epochs: Annotated[Count, Field(le=1_000_000)] = Field(5, description="Passes over the corpus.")
    sample: Share = Field(
        0.001, description="Threshold above which frequent pieces are downsampled."
    )
    alpha: Annotated[Positive, Field(le=1)] = Field(0.025, description="Initial learning rate.")
    shrink_windows: Flag = Field(
        True, description="Draw the effective window of each target uniformly up to `window`."
    )
    workers: Annotated[Count, Field(le=1024)] = Field(
        1,
        description="Threads of gensim; with more than one the embeddings differ from run to run. "
        "`blocks` uses up to four cores instead.",
    )
    lines: CountOrAll = Field(
        "all", description="Train on a seeded sample of at most so many lines, or on all."
    )


@settings("word2vec")
class Word2VecSettings(Word2VecKeys):
    """Settings of the skip-gram model (paper, Section 3 and Appendix A)."""

    seed: Seed = DEFAULT_SEED

    def on(self, threads: int) -> Word2VecSettings:
        """Return the settings for so many cores at hand: `blocks` takes them, gensim does not."""
        return replace(self, workers=threads) if self.trainer == "blocks" else self

    def described(self) -> dict[str, Any]:
        """Return what decides the embeddings, for records; with `blocks`, threads do not."""
        return asdict(self.on(1))


# --- pruning

Decoder = Annotated[
    Literal["greedy", "merges"],
    Field(
        description="Segmentation while pruning. greedy: longest match from the left in each word "
        "(the paper, Section 3). merges: byte-pair merges, where a pruned piece falls apart into "
        "the two that it was merged from (SaGe 1.0)."
    ),
]
READINGS = ("total", "mean_piece_lines", "mean_string_lines")
COUNT = "tokens_per_line"  # what ranks pieces instead of a loss
RELEASED = "released"  # the loss as SaGe 1.0 takes it
UNIGRAM_CODE, BIGRAM_CODE = "unigram_code", "bigram_code"  # see `pruning.codes`
Loss = Annotated[
    Literal[*READINGS, RELEASED, COUNT, UNIGRAM_CODE, BIGRAM_CODE],
    Field(
        description="What ranks a piece: its loss over the corpus (the paper, Algorithm 3); the "
        "mean over the lines that hold the piece; or the mean over those that hold its string. "
        "released prunes exactly as SaGe 1.0, the authors' program, does. tokens_per_line is a "
        "count instead of a loss: the tokens that are the piece, divided by the lines that hold "
        "its string. bigram_code and unigram_code are bits that a code of the text grows by, in "
        "which a token is predicted from the one before, or from its frequency alone."
    ),
]
LossLines = Annotated[
    CountOrAll,
    Field(
        description="Lines that a mean is taken over: all, or a seeded sample of at most this many "
        "for each piece. A total is over all."
    ),
]
ContextMatrix = Annotated[
    Literal["own", "shared"],
    Field(
        description="A second matrix of context embeddings (gensim's syn1neg; the paper, Section "
        "3), or the target embeddings again (SaGe 1.0)."
    ),
]
Retrain = Annotated[
    Flag,
    Field(description="Whether embeddings are trained again every `retrain_every` re-rankings."),
]
PushBack = Annotated[
    Flag,
    Field(
        description="Between two re-rankings: keep the ranking, but move pieces seen at the start "
        "of a line to its end, instead of updating losses."
    ),
]
Contexts = Annotated[
    Literal["real", "zero", "shuffled", "shuffled_vectors"],
    Field(
        description="What pruning sees of contexts. real: all. The others are controls that take "
        "them away. zero: all vectors are 0, without Word2Vec, so that a "
        "loss counts only the pairs that a removal adds. shuffled: embeddings are trained and "
        "losses taken on the text with its words permuted over all positions; lines keep their "
        "number of words. shuffled_vectors: embeddings alone are trained on it."
    ),
]
# Losses that take no vectors -> what contexts may be: those of a count are none.
_CONTEXTS_OF = {
    COUNT: ("zero",),
    UNIGRAM_CODE: ("zero",),
    BIGRAM_CODE: ("real", "shuffled"),
}
_PRINTED = PRESETS[DEFAULT_PRESET]


@settings("sage")
class SageKeys:
    """The numbers of the pruning (paper, Appendix A), for every tokenizer of method `sage`."""

    prune_batch: Count = Field(100, description="Pieces pruned in a batch (k).")
    candidates: Count = Field(1500, description="Size of the pruning candidate set (M).")
    rerank_every: Natural = Field(
        10, description="Batches between two rankings of all pieces (m); 0 ranks them once."
    )
    retrain_every: Count = Field(
        4, description="Rankings after which the embeddings are trained again (l)."
    )
    window: Annotated[Count, Field(le=10_000)] = Field(
        5, description="Pieces to each side of a target that count as its context (W)."
    )


@settings("sage")
class SageSettings(SageKeys):
    """Settings of SaGe (paper, Section 3, Appendix A).

    Threads change no byte of the outcome.
    """

    vocab_size: Size = _VOCAB_SIZE
    decoder: Decoder = _PRINTED["decoder"]
    loss: Loss = _PRINTED["loss"]
    loss_lines: LossLines = _PRINTED["loss_lines"]
    context_matrix: ContextMatrix = _PRINTED["context_matrix"]
    retrain: Retrain = _PRINTED["retrain"]
    push_back_line_start: PushBack = _PRINTED["push_back_line_start"]
    contexts: Contexts = _PRINTED["contexts"]
    seed: Seed = DEFAULT_SEED
    threads: Annotated[Count, Field(le=1024)] = 1

    @model_validator(mode="after")
    def _total_is_over_all_lines(self) -> SageSettings:
        if self.loss == "total" and self.loss_lines != "all":
            raise SettingError(
                "loss_lines", "a total loss is over all lines; set it to all, or choose a mean loss"
            )
        return self

    @model_validator(mode="after")
    def _the_program_is_as_it_is(self) -> SageSettings:
        fixed = ("decoder", "context_matrix", "retrain", "push_back_line_start")
        program = PRESETS[RELEASED]
        changed = [key for key in fixed if getattr(self, key) != program[key]]
        if self.loss == RELEASED and changed:
            raise SettingError(
                changed[0],
                f"{getattr(self, changed[0])} is not what the authors' program does, which loss "
                "released is; choose the preset released alone, or released_loss for its loss",
            )
        if self.loss == RELEASED and not self.rerank_every:
            raise SettingError("rerank_every", "0 is not what SaGe 1.0 does; set 1 or more")
        return self

    @model_validator(mode="after")
    def _counts_need_no_vectors(self) -> SageSettings:
        contexts = _CONTEXTS_OF.get(self.loss)
        if contexts and self.contexts not in contexts:
            raise SettingError(
                "contexts",
                f"{self.contexts} is for a loss with vectors, and {self.loss} has none; set it to "
                f"{' or '.join(contexts)}, or choose another loss",
            )
        for key in ("push_back_line_start", "retrain"):
            if contexts and getattr(self, key):
                raise SettingError(
                    key,
                    f"True is for a loss with vectors, and {self.loss} has none; set it to False, "
                    "or choose another loss",
                )
        return self

    @property
    def has_vectors(self) -> bool:
        """Whether embeddings are trained for the loss."""
        return self.contexts != "zero" and self.loss != BIGRAM_CODE

    @property
    def unread(self) -> dict[str, str]:
        """The settings that change nothing beside the others, each with the reason."""
        found: dict[str, str] = {}
        if not self.rerank_every:
            found["candidates"] = found["retrain"] = "where all pieces are ranked once"
        if self.rerank_every == 1:
            reason = "where all pieces are ranked before each batch"
            found["candidates"] = found["push_back_line_start"] = reason
        if not self.has_vectors:
            found["context_matrix"] = found["retrain"] = "where no vectors are trained"
        if self.loss in _CONTEXTS_OF:
            found["window"] = found["loss_lines"] = f"with loss {self.loss}"
        if "retrain" in found or not self.retrain:
            found["retrain_every"] = "where embeddings are not trained again"
        return found

    def ranks_before(self, batch: int) -> bool:
        """Return whether all pieces are ranked before a batch; they are numbered from 0."""
        return batch % self.rerank_every == 0 if self.rerank_every else batch == 0

    def described(self) -> dict[str, Any]:
        """Return the settings that decide the outcome, for a record."""
        described = asdict(self)
        del described["threads"]
        return described


def settings_from(preset: str, **overrides: Any) -> SageSettings:
    """Return the settings of a preset, single keys overridden.

    Raises:
        UserError: there is no such preset or key, or the values do not go together.
    """
    if preset not in PRESETS:
        raise SettingError("sage.preset", f"{preset!r} is {unknown(str(preset), list(PRESETS))}")
    return SageSettings(**{**PRESETS[preset], **overrides})


def refuse_unread(section: str, given: Iterable[str], unread: Mapping[str, str]) -> None:
    """Refuse settings that would be passed over.

    Args:
        section: that they are in.
        given: names of those that the user set.
        unread: what changes nothing, each with the reason.

    Raises:
        UserError: one changes nothing.
    """
    for name in given:
        if name in unread:
            raise SettingError(f"{section}.{name}", f"has no meaning {unread[name]}; leave it out")


def check_pruning(initial_size: int, sage: SageSettings) -> None:
    """Refuse sizes that cannot be pruned: before Word2Vec, not after hours of it.

    Raises:
        UserError: the final size is above the initial one, or the candidates run out.
    """
    pruned = initial_size - sage.vocab_size
    if pruned < 0:
        raise SettingError(
            "vocabulary.vocab_size",
            f"{sage.vocab_size} is above the {initial_size} initial pieces, from which SaGe "
            "prunes; lower it or start from a larger vocabulary",
        )
    needed = min(sage.prune_batch * sage.rerank_every, pruned)
    # Ranked before each batch, all pieces are candidates.
    if sage.candidates < needed and sage.rerank_every > 1:
        raise SettingError(
            "sage.candidates",
            f"{sage.candidates} run out before the next ranking; use {needed} or more, or lower "
            "prune_batch or rerank_every",
        )
