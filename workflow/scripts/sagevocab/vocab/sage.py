"""SaGe: prune a large vocabulary by contextual loss (paper, Section 3, Algorithm 3).

Batch by batch, the pieces whose ablation costs least leave the vocabulary. All are ranked every
`rerank_every` batches; in between only the `candidates` lowest of that ranking are considered.

Between two re-rankings the candidates' losses are updated, as Algorithm 3 says; or, with
`push_back_line_start`, the ranking is kept, except that candidates which are the first token of a
line (a line that counts for their loss) go behind all others, each group in the order of the
ranking. That is what the released SaGe 1.0 comes to: it re-encodes a line with the candidates as
the whole vocabulary and skips each occurrence whose left context changed by that. Only at the start
of a line is there no left context to change; the difference found there is large, all others are 0.
Who is pushed back is found anew for every batch, in the current segmentation.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sagevocab.errors import UserError
from sagevocab.provenance import source_digest
from sagevocab.state import ResumableState, fingerprint
from sagevocab.vocab.ablation import (
    AblationLosses,
    Objective,
    lowest_first,
    make_decoder,
)
from sagevocab.vocab.embeddings import Embeddings, train_embeddings
from sagevocab.vocab.pieces import is_single_character
from sagevocab.vocab.segment import GreedySegmenter, MergeSegmenter, Segmenter
from sagevocab.vocab.settings import SageSettings, Word2VecSettings, check_pruning
from sagevocab.vocab.settings import settings_from as settings_from
from sagevocab.vocab.words import WordCorpus

log = logging.getLogger(__name__)

Trainer = Callable[[WordCorpus, Segmenter, Word2VecSettings, Path | None], Embeddings]


@dataclass(frozen=True)
class SageResult:
    """A SaGe vocabulary.

    pieces: those left, in their initial order.
    ablations: one row per pruned piece, in order of pruning: iteration (batch, from 0), order (from
        0 over all batches), piece, loss (as ranked), occurrences and lines (of the token, when the
        loss was taken).
    embeddings: of the last training, for the vocabulary of that time.
    """

    pieces: list[str]
    ablations: pd.DataFrame
    embeddings: Embeddings


def build_sage(
    corpus: WordCorpus,
    pieces: Sequence[str],
    merges: Sequence[tuple[str, str]] | None,
    embeddings: Embeddings,
    settings: SageSettings,
    word2vec: Word2VecSettings,
    state_dir: str | Path | None = None,
    *,
    train: Trainer = train_embeddings,
) -> SageResult:
    """Prune `pieces` to `settings.final_size`.

    merges: of the initial vocabulary by rank, for the decoder `merges`. embeddings: of `pieces`,
    used from batch 0 on. word2vec: for retraining. state_dir: progress is kept there after each
    batch; a killed run of the same things goes on from it to the same bytes, and the caller removes
    the folder in the end. train: makes the embeddings of a retraining.

    Raises:
        UserError: the corpus, the sizes or the settings do not go together.
    """
    _check(corpus, pieces, embeddings, settings)
    retraining = Path(state_dir) / "retraining" if state_dir is not None else None
    state = _state(state_dir, corpus, pieces, merges, embeddings, settings, word2vec)
    pruning = _Pruning(corpus, pieces, merges, embeddings, settings, state)
    progress = _Progress(settings)
    while (left := pruning.size - settings.final_size) > 0:
        if pruning.retraining_is_due():
            pruning.use_embeddings(train(corpus, pruning.segmenter(), word2vec, retraining))
        pruning.prune(min(settings.prune_batch, left))
        progress.tell(pruning.iteration, pruning.size)
    return pruning.result()


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
    final, singles = settings.final_size, sum(map(is_single_character, pieces))
    if final < singles:
        raise UserError(
            f"vocabulary.final_size: {final} is below the {singles} single characters, which are "
            "never pruned; raise it or lower vocabulary.character_coverage"
        )
    check_pruning(len(pieces), settings)


def _state(
    state_dir: str | Path | None,
    corpus: WordCorpus,
    pieces: Sequence[str],
    merges: Sequence[tuple[str, str]] | None,
    embeddings: Embeddings,
    settings: SageSettings,
    word2vec: Word2VecSettings,
) -> ResumableState:
    if state_dir is None:
        return ResumableState(None, "")
    return ResumableState(
        state_dir,
        fingerprint(
            source_digest("vocab.sage"),
            corpus.digest(),
            list(pieces),
            merges,
            embeddings.target.tobytes() + embeddings.context.tobytes(),
            dataclasses.asdict(dataclasses.replace(settings, threads=1)),
            dataclasses.asdict(word2vec),
        ),
    )


def objective_of(settings: SageSettings) -> Objective:
    """Return which `loss_t` the settings mean."""
    lines = None if settings.loss_lines == "all" else settings.loss_lines
    return Objective(settings.window, settings.loss, lines, settings.seed)


class _Progress:
    """Tells how far a pruning is. Batches that rank all pieces take far longer than the others."""

    def __init__(self, settings: SageSettings) -> None:
        self._settings = settings
        self._began = self._last = time.monotonic()
        self._latest: dict[bool, float] = {}  # seconds of the last batch of either kind

    def tell(self, iteration: int, size: int) -> None:
        """Log that `iteration` batches are done and `size` pieces left."""
        now, settings = time.monotonic(), self._settings
        self._latest[self._ranks(iteration - 1)] = now - self._last
        self._last = now
        left = -(-(size - settings.final_size) // settings.prune_batch)
        kinds = [self._ranks(batch) for batch in range(iteration, iteration + left)]
        known = max(self._latest.values())
        log.info(
            "sage: batch %d done, %d pieces left, %.0f s, about %.0f s to go",
            iteration, size, now - self._began,
            sum(self._latest.get(kind, known) for kind in kinds),
        )  # fmt: skip

    def _ranks(self, iteration: int) -> bool:
        return iteration % self._settings.rerank_every == 0


class _Pruning:
    """A vocabulary on its way down. Pieces go by their number in the initial vocabulary."""

    def __init__(
        self,
        corpus: WordCorpus,
        pieces: Sequence[str],
        merges: Sequence[tuple[str, str]] | None,
        embeddings: Embeddings,
        settings: SageSettings,
        state: ResumableState,
    ) -> None:
        self._pieces, self._merges, self._settings = list(pieces), merges, settings
        self._state = state
        decoder = make_decoder(settings.decoder, corpus.types, pieces, merges)
        self._losses = AblationLosses(
            corpus, pieces, decoder, objective_of(settings), threads=settings.threads
        )
        self._alive = np.ones(len(pieces), dtype=bool)
        self._prunable = np.array([not is_single_character(piece) for piece in pieces])
        # The last ranking or update: candidates in its order, and all pieces' values in it.
        self._candidates = np.zeros(0, dtype=np.int64)
        self._values = {
            "loss": np.zeros(len(pieces)),
            "occurrences": np.zeros(len(pieces), dtype=np.int64),
            "lines": np.zeros(len(pieces), dtype=np.int64),
        }
        self._record = self._describe(np.zeros(0, dtype=np.int64), 0)
        self.iteration = 0
        self._trained_at = 0
        self._restore(embeddings)

    @property
    def size(self) -> int:
        """Number of pieces left."""
        return int(self._alive.sum())

    def retraining_is_due(self) -> bool:
        """Tell whether embeddings are to be trained before the next batch."""
        period = self._settings.retrain_every * self._settings.rerank_every
        due = self.iteration % period == 0 and self.iteration != self._trained_at
        return self._settings.retrain and due

    def segmenter(self) -> Segmenter:
        """Return the decoder of this run for the pieces left."""
        left = [self._pieces[number] for number in np.flatnonzero(self._alive)]
        if self._settings.decoder == "merges":
            return MergeSegmenter(left, self._merges or (), self._pieces)
        return GreedySegmenter(left)

    def use_embeddings(self, embeddings: Embeddings) -> None:
        """Take embeddings trained for the pieces left, and keep them."""
        self._trained_at = self.iteration
        self._state.save("embeddings", trained_at=self.iteration, **embeddings.arrays())
        self._set_embeddings(embeddings)

    def _set_embeddings(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        numbers = {piece: number for number, piece in enumerate(self._pieces)}
        rows = [numbers[piece] for piece in embeddings.pieces]
        target = np.zeros((len(self._pieces), embeddings.target.shape[1]), dtype=np.float32)
        context = np.zeros_like(target)
        target[rows], context[rows] = embeddings.target, embeddings.context
        shared = self._settings.context_matrix == "shared"
        self._losses.use_embeddings(target, target if shared else context)

    def prune(self, count: int) -> None:
        """Rank or update, take the `count` lowest candidates away, and keep the progress."""
        order = self._rank()
        pruned = order[:count]
        rows = self._describe(pruned, self.iteration)
        self._record = {name: np.append(self._record[name], rows[name]) for name in rows}
        self._alive[pruned] = False
        self._candidates = self._candidates[self._alive[self._candidates]]
        self.iteration += 1
        self._save()

    def _rank(self) -> np.ndarray:
        """Return the candidates in the order in which they are to go."""
        settings = self._settings
        if self.iteration % settings.rerank_every == 0:
            self._update(np.flatnonzero(self._alive & self._prunable))
            self._candidates = self._candidates[: settings.candidates]
        elif settings.push_back_line_start:
            opening = self._losses.losses(self._alive, self._mask(self._candidates)).opening
            return self._candidates[np.argsort(opening[self._candidates] > 0, kind="stable")]
        else:
            self._update(self._candidates)
        return self._candidates

    def _update(self, numbers: np.ndarray) -> None:
        losses = self._losses.losses(self._alive, self._mask(numbers))
        self._values = {name: getattr(losses, name) for name in self._values}
        self._candidates = lowest_first(losses.loss, numbers)

    def _mask(self, numbers: np.ndarray) -> np.ndarray:
        mask = np.zeros(len(self._pieces), dtype=bool)
        mask[numbers] = True
        return mask

    def _describe(self, numbers: np.ndarray, iteration: int) -> dict[str, np.ndarray]:
        values = {name: values[numbers] for name, values in self._values.items()}
        return {"iteration": np.full(len(numbers), iteration), "number": numbers, **values}

    def _save(self) -> None:
        self._state.save(
            "pruning",
            iteration=np.int64(self.iteration),
            candidates=self._candidates,
            **{f"last_{name}": values for name, values in self._values.items()},
            **{f"pruned_{name}": values for name, values in self._record.items()},
        )

    def _restore(self, embeddings: Embeddings) -> None:
        """Go on from the state's last whole batch; without one, begin with `embeddings`."""
        if (kept := self._state.load("embeddings")) is not None:
            self._trained_at = int(kept["trained_at"])
            names = kept["pieces"].tolist()
            embeddings = Embeddings(names, kept["target"], kept["context"])
        if (kept := self._state.load("pruning")) is not None:
            self.iteration = int(kept["iteration"])
            self._candidates = kept["candidates"]
            self._values = {name: kept[f"last_{name}"] for name in self._values}
            self._record = {name: kept[f"pruned_{name}"] for name in self._record}
            self._alive[self._record["number"]] = False
            log.info("sage: goes on after batch %d, %d pieces left", self.iteration, self.size)
        self._set_embeddings(embeddings)

    def result(self) -> SageResult:
        """Return the pieces left, the record of the others, and the embeddings last trained."""
        left = [self._pieces[number] for number in np.flatnonzero(self._alive)]
        numbers = self._record["number"]
        ablations = pd.DataFrame(
            {
                "iteration": self._record["iteration"],
                "order": np.arange(len(numbers)),
                "piece": pd.Series([self._pieces[number] for number in numbers], dtype="str"),
                "loss": self._record["loss"],
                "occurrences": self._record["occurrences"],
                "lines": self._record["lines"],
            }
        )
        return SageResult(left, ablations, self._embeddings)
