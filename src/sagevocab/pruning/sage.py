"""SaGe: prune a large vocabulary by contextual loss (paper, Section 3, Algorithm 3).

    until V has `vocab_size` pieces:
        every l * m batches: train the embeddings E_T, E_C anew
        every m batches:     rank all pieces by loss_t; the M lowest are the candidates
        else:                update the candidates' losses
        prune the k candidates of lowest loss

k is `prune_batch`, M `candidates`, m `rerank_every`, l `retrain_every`; `loss` takes loss_t.

With `push_back_line_start` the candidates' losses are not updated. The ranking is kept, except that
candidates which are the first token of a line (a line that counts for their loss) go behind all
others, each group in the order of the ranking. Which ones these are is looked up before every
batch, in the current segmentation. The released SaGe 1.0 does nearly the same: it
re-encodes a line with the candidates as the whole vocabulary and skips each occurrence whose left
context this changes. Few have no left context, as at the start of a line; for the others the
difference is 0. `released` has it exactly.

The loss `released` is another algorithm, that of SaGe 1.0, line by line: `released`.

With an m of 0 pieces are ranked once, and this ranking is kept. The loss `tokens_per_line` is a
count that needs no vectors (`loss.TokensPerLine`); neither do the losses `unigram_code` and
`bigram_code` (`codes`).

`contexts` make a control of the algorithm: `zero` takes vectors of zero, `shuffled` a text whose
words are permuted, `shuffled_vectors` vectors of that text and losses of the real one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sagevocab.corpus.words import WordCorpus
from sagevocab.errors import UserError
from sagevocab.files import Columns
from sagevocab.pieces import check_singles, prunable
from sagevocab.progress import Listener, Progress, log_progress
from sagevocab.pruning.codes import CodeLosses
from sagevocab.pruning.loss import (
    AblationLosses,
    Losses,
    TokensPerLine,
    lowest_first,
    make_decoder,
)
from sagevocab.pruning.released import ReleasedLosses, prune_as_released
from sagevocab.segmentation.segmenter import Segmenter, make_segmenter
from sagevocab.settings import (
    BIGRAM_CODE,
    COUNT,
    RELEASED,
    UNIGRAM_CODE,
    SageSettings,
    Word2VecSettings,
    check_pruning,
)
from sagevocab.word2vec.embeddings import Embeddings, train_embeddings

log = logging.getLogger(__name__)

Trainer = Callable[[WordCorpus, Segmenter, Word2VecSettings, Listener], Embeddings]


@dataclass(frozen=True)
class SageResult:
    """A SaGe vocabulary.

    pieces: those left, in their initial order.
    ablations: columns with a row per pruned piece, in order of pruning: iteration (batch, from 0),
        order (from 0 over all batches), piece, loss (as ranked), occurrences and lines (of the
        token, when the loss was taken; not with the loss `released`, which does not count them).
        loss is float64, the other numbers are int64.
    embeddings: of the last training, for the vocabulary of that time.
    """

    pieces: list[str]
    ablations: Columns
    embeddings: Embeddings


def build_sage(
    corpus: WordCorpus,
    pieces: Sequence[str],
    merges: Sequence[tuple[str, str]] | None,
    embeddings: Embeddings | None,
    settings: SageSettings,
    word2vec: Word2VecSettings,
    *,
    train: Trainer = train_embeddings,
    progress: Listener = log_progress,
) -> SageResult:
    """Prune `pieces` to `settings.vocab_size`.

    Args:
        corpus: the text as it is, whatever `settings.contexts` says.
        pieces: the initial vocabulary.
        merges: of the initial vocabulary by rank, for the decoder `merges`.
        embeddings: of `pieces`, from `initial_embeddings`, used from batch 0 on; settings without
            vectors need none.
        settings: of the pruning.
        word2vec: for retraining.
        train: makes embeddings when they are due again.
        progress: called after each batch, and while embeddings are trained.

    Returns:
        The pieces left, what was pruned, and the last embeddings.

    Raises:
        UserError: the corpus, the sizes or the settings do not go together.
    """
    embeddings = _start(embeddings, pieces, settings, word2vec.dimension)
    _check(corpus, pieces, embeddings, settings)
    text = text_of_losses(corpus, settings)
    if settings.loss == RELEASED:
        return _build_as_released(text, pieces, merges, embeddings, settings, progress)
    losses = make_losses(text, pieces, merges, settings)
    pruning = _Pruning(pieces, merges, losses, embeddings, settings)
    while (left := pruning.size - settings.vocab_size) > 0:
        if pruning.retraining_is_due():
            of_vectors = _text_of_vectors(corpus, settings)
            trained = train(of_vectors, pruning.segmenter(), word2vec, progress)
            pruning.use_embeddings(trained)
        pruning.prune(min(settings.prune_batch, left))
        done = len(pieces) - pruning.size
        progress(Progress("pruning", done, len(pieces) - settings.vocab_size))
    return pruning.result()


def _build_as_released(
    corpus: WordCorpus,
    pieces: Sequence[str],
    merges: Sequence[tuple[str, str]] | None,
    embeddings: Embeddings,
    settings: SageSettings,
    progress: Listener,
) -> SageResult:
    """Prune as SaGe 1.0 does, but for the last batch, which ends at the final size."""
    to_prune = len(pieces) - settings.vocab_size
    program = pieces, merges, embeddings.target, settings
    rows: list[tuple[int, str, float]] = []
    if to_prune:
        for iteration, batch in enumerate(prune_as_released(corpus, *program)):
            if iteration % settings.rerank_every == 0:  # later losses are nearly all 0
                ranked = dict(zip(batch.considered, batch.losses - batch.total, strict=True))
            rows += [(iteration, piece, ranked[piece]) for piece in batch.pruned]
            progress(Progress("pruning", min(len(rows), to_prune), to_prune))
    iterations, pruned, losses = zip(*rows[:to_prune], strict=True) if rows else ((), (), ())
    ablations = {
        "iteration": np.array(iterations, dtype=np.int64),
        "order": np.arange(len(pruned)),
        "piece": list(pruned),
        "loss": np.array(losses, dtype=np.float64),
    }
    gone = set(pruned)
    return SageResult([piece for piece in pieces if piece not in gone], ablations, embeddings)


def initial_embeddings(
    corpus: WordCorpus,
    segmenter: Segmenter,
    settings: SageSettings,
    word2vec: Word2VecSettings,
    progress: Listener = log_progress,
) -> Embeddings:
    """Return the embeddings of the segmenter's pieces that `settings` mean.

    The arguments are those of `train_embeddings`; settings without vectors need no Word2Vec.

    Raises:
        UserError: the corpus shows no piece at all.
    """
    if not settings.has_vectors:
        return Embeddings.zero(segmenter.pieces, word2vec.dimension)
    return train_embeddings(_text_of_vectors(corpus, settings), segmenter, word2vec, progress)


def _text_of_vectors(corpus: WordCorpus, settings: SageSettings) -> WordCorpus:
    is_shuffled = settings.contexts in ("shuffled", "shuffled_vectors")
    return corpus.shuffled(settings.seed) if is_shuffled else corpus


def text_of_losses(corpus: WordCorpus, settings: SageSettings) -> WordCorpus:
    """Return the text that losses are taken on."""
    return corpus.shuffled(settings.seed) if settings.contexts == "shuffled" else corpus


def _start(
    embeddings: Embeddings | None, pieces: Sequence[str], settings: SageSettings, dimension: int
) -> Embeddings:
    """Return the embeddings that pruning starts from; zeros where there are no vectors."""
    if not settings.has_vectors:
        return Embeddings.zero(pieces, dimension)
    if embeddings is None:
        raise ValueError("embeddings may be left out without vectors alone")
    return embeddings


def make_losses(
    corpus: WordCorpus,
    pieces: Sequence[str],
    merges: Sequence[tuple[str, str]] | None,
    settings: SageSettings,
) -> AblationLosses | TokensPerLine | CodeLosses | ReleasedLosses:
    """Return what takes the losses that `settings` mean."""
    if settings.loss == RELEASED:
        return ReleasedLosses(corpus, pieces, merges, settings)
    decoder = make_decoder(settings.decoder, corpus.types, pieces, merges)
    if settings.loss == COUNT:
        return TokensPerLine(corpus, pieces, decoder, threads=settings.threads)
    if settings.loss in (UNIGRAM_CODE, BIGRAM_CODE):
        bigrams, threads = settings.loss == BIGRAM_CODE, settings.threads
        return CodeLosses(corpus, len(pieces), decoder, bigrams=bigrams, threads=threads)
    return AblationLosses(corpus, pieces, decoder, settings)


def use_embeddings(
    losses: AblationLosses | TokensPerLine | CodeLosses | ReleasedLosses,
    embeddings: Embeddings,
    pieces: Sequence[str],
    settings: SageSettings,
) -> None:
    """Take embeddings of some of `pieces`; those of the others are 0, and not read."""
    numbers = {piece: number for number, piece in enumerate(pieces)}
    rows = [numbers[piece] for piece in embeddings.pieces]
    shape = 2, len(pieces), embeddings.target.shape[1]
    target, context = np.zeros(shape, dtype=np.float32)
    target[rows], context[rows] = embeddings.target, embeddings.context
    losses.use_embeddings(target, target if settings.context_matrix == "shared" else context)


def _prunable(pieces: Sequence[str]) -> np.ndarray:
    return np.array(prunable(pieces))


def _check(
    corpus: WordCorpus, pieces: Sequence[str], embeddings: Embeddings, settings: SageSettings
) -> None:
    if not corpus.n_lines:
        raise UserError("corpus: holds no word; use a corpus with text")
    if embeddings.pieces != list(pieces):
        raise UserError("embeddings: are of another vocabulary; train them for the initial one")
    check_sizes(pieces, settings)


def check_sizes(pieces: Sequence[str], settings: SageSettings) -> None:
    """Refuse settings that do not go with the initial vocabulary `pieces`.

    Raises:
        UserError: the final size is above the initial one or below the number of single
            characters, or the candidates run out.
    """
    check_singles(pieces, settings.vocab_size)
    check_pruning(len(pieces), settings)


_ROW = np.dtype(
    [
        ("iteration", np.int64),  # in which the piece was pruned
        ("number", np.int64),
        ("loss", np.float64),
        ("occurrences", np.int64),
        ("lines", np.int64),
    ]
)


class _Pruning:
    """A vocabulary on its way down. Pieces go by their number in the initial vocabulary."""

    def __init__(
        self,
        pieces: Sequence[str],
        merges: Sequence[tuple[str, str]] | None,
        losses: AblationLosses | TokensPerLine | CodeLosses,
        embeddings: Embeddings,
        settings: SageSettings,
    ) -> None:
        self._pieces, self._merges, self._settings = list(pieces), merges, settings
        self._losses = losses
        self._alive, self._prunable = np.ones(len(pieces), dtype=bool), _prunable(pieces)
        self._candidates = np.zeros(0, dtype=_ROW)  # the lowest of the last ranking or update
        self._pruned = np.zeros(0, dtype=_ROW)  # in order of pruning
        self.iteration = 0
        self._trained_at = 0
        self._set_embeddings(embeddings)

    @property
    def size(self) -> int:
        """Number of pieces left."""
        return int(self._alive.sum())

    def retraining_is_due(self) -> bool:
        """Return whether embeddings are to be trained before the next batch."""
        settings = self._settings
        period = settings.retrain_every * settings.rerank_every
        if not settings.retrain or not settings.has_vectors or not period:
            return False
        return self.iteration % period == 0 and self.iteration != self._trained_at

    def segmenter(self) -> Segmenter:
        """Return the decoder of this run for the pieces left."""
        left = [self._pieces[number] for number in np.flatnonzero(self._alive)]
        return make_segmenter(self._settings.decoder, left, self._merges, self._pieces)

    def use_embeddings(self, embeddings: Embeddings) -> None:
        """Take embeddings trained for the pieces left."""
        self._trained_at = self.iteration
        self._set_embeddings(embeddings)

    def _set_embeddings(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        use_embeddings(self._losses, embeddings, self._pieces, self._settings)

    def prune(self, count: int) -> None:
        """Rank or update, and take the `count` lowest candidates away."""
        pruned = self._rank()[:count]
        pruned["iteration"] = self.iteration
        self._pruned = np.append(self._pruned, pruned)
        self._alive[pruned["number"]] = False
        self._candidates = self._candidates[self._alive[self._candidates["number"]]]
        self.iteration += 1

    def _rank(self) -> np.ndarray:
        """Return the candidates in the order in which they are to go."""
        settings = self._settings
        if settings.ranks_before(self.iteration):
            ranked = self._lowest(np.flatnonzero(self._alive & self._prunable))
            # Ranked once, they last to the end; ranked before each batch, all are candidates.
            is_cut = settings.rerank_every > 1
            self._candidates = ranked[: settings.candidates] if is_cut else ranked
        elif settings.push_back_line_start:
            numbers = self._candidates["number"]
            opening = self._losses_of(numbers).opening
            return self._candidates[np.argsort(opening[numbers] > 0, kind="stable")]
        elif settings.rerank_every:
            self._candidates = self._lowest(self._candidates["number"])
        return self._candidates.copy()

    def _lowest(self, numbers: np.ndarray) -> np.ndarray:
        """Take the losses of pieces; return a row for each, the lowest loss first."""
        losses = self._losses_of(numbers)
        rows = np.zeros(len(numbers), dtype=_ROW)
        rows["number"] = lowest_first(losses.loss, numbers)
        for name in ("loss", "occurrences", "lines"):
            rows[name] = getattr(losses, name)[rows["number"]]
        return rows

    def _losses_of(self, numbers: np.ndarray) -> Losses:
        wanted = np.zeros(len(self._pieces), dtype=bool)
        wanted[numbers] = True
        return self._losses.losses(self._alive, wanted)

    def result(self) -> SageResult:
        """Return the pieces left, the record of the others, and the embeddings last trained."""
        left = [self._pieces[number] for number in np.flatnonzero(self._alive)]
        ablations = {
            "iteration": self._pruned["iteration"],
            "order": np.arange(len(self._pruned)),
            "piece": [self._pieces[number] for number in self._pruned["number"]],
            **{name: self._pruned[name] for name in ("loss", "occurrences", "lines")},
        }
        return SageResult(left, ablations, self._embeddings)
