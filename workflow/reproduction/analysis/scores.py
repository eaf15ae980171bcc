"""Scores of predictions with intervals and tests: a paired bootstrap over examples and seeds.

A score is a function of sums over examples, so ten thousand samples of the examples can be scored
at once. The definitions are those of `analysis.metrics`; where a score is undefined, it is 0.

Examples are drawn once for all tokenizers and seeds, whose models answered the same ones. Where
each tokenizer has several seeds, the variance of the drawn means is added to that of the means over
seeds, s^2 / n. Models of one seed share their order of rows, their first weights and, where it is
drawn, their sample of lines: the difference of two tokenizers is taken seed by seed, and s is of
these differences. Interval and test are then Student's, with the degrees of freedom that Welch and
Satterthwaite give such a sum, and hold for other examples and other seeds: other fine-tunings of
the same pretrained models, or other pretrainings where each seed has its own. Drawing the seeds too
would not do: means of two or three values have tails far too short, and where seeds matter more
than examples every tenth equal pair would have p < .005.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reproduction.analysis.metrics import f1_of_classes, matthews, ratio, spans_of
from reproduction.analysis.stats import (
    CONFIDENCE,
    Comparison,
    Estimate,
    estimate,
    percentile_p_value,
    resample,
)
from reproduction.parquet import read_parquet
from sagevocab.errors import UserError
from sagevocab.files import read_json

RESAMPLES = 10_000
EXAMPLES = "examples"
EXAMPLES_AND_SEEDS = "examples and seeds"
# Name of the test of a difference, by what varies.
TESTS = {
    EXAMPLES: "paired bootstrap of examples",
    EXAMPLES_AND_SEEDS: "Student's: paired bootstrap of examples, and variance over paired seeds",
}
_SCORE_KEYS = (
    *("task", "tokenizer", "seed", "metric", "classes", "value", "majority"),
    *("train_examples", "examples", "truncated_examples"),
)
# Scores that differ by more are not of the same predictions.
_SAME_SCORE = 1e-6
# Sums float64[..., statistics] -> scores float64[...].
Score = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class ScoreSums:
    """The terms that each example adds to the score of each of several models.

    rows: float64[examples, models, statistics]. score: of the sums over examples.
    """

    rows: np.ndarray
    score: Score

    def scores(self) -> np.ndarray:
        """Return the scores on all examples: float64[models]."""
        return self.score(self.rows.sum(axis=0))


def score_sums(
    gold: Sequence, predictions: Sequence, metric: str, classes: int | None
) -> ScoreSums:
    """Return the terms that each example adds to a metric of several models.

    gold: a class number, a value or a list of tags for each example; predictions: the same for
    each model. classes: number of classes, None for values and tags.

    Raises:
        UserError: there is no such metric.
    """
    if metric == "span_f1":
        return _span_sums(gold, predictions)
    if metric == "pearson":
        return _value_sums(np.asarray(gold, dtype=float), np.asarray(predictions, dtype=float))
    if metric not in ("accuracy", "f1", "matthews") or classes is None:
        raise UserError(f"metric {metric!r} of {classes} classes can't be resampled")
    labels, answers = np.asarray(gold), np.asarray(predictions)
    if metric == "accuracy":
        right = (answers == labels).T.astype(float)
        return ScoreSums(np.stack([right, np.ones_like(right)], axis=-1), _share)
    score = {"f1": f1_of_classes, "matthews": matthews}[metric]
    table = np.eye(classes * classes)[(labels * classes + answers).T]
    return ScoreSums(table, lambda sums: score(sums.reshape(*sums.shape[:-1], classes, classes)))


def rate_sums(terms: Sequence[tuple[np.ndarray, np.ndarray]]) -> ScoreSums:
    """Return the terms of a rate, such as bits a character.

    terms: of each model, what every example adds to the sum above and to that below, two
    float64[examples].
    """
    return ScoreSums(np.array(terms).transpose(2, 0, 1), _share)


def _share(sums: np.ndarray) -> np.ndarray:
    return ratio(sums[..., 0], sums[..., 1])


# --- values


def _value_sums(gold: np.ndarray, predictions: np.ndarray) -> ScoreSums:
    """gold: float64[examples], predictions: float64[models, examples]."""
    # A correlation does not change with the place of its variables, but its rounding does.
    given = np.broadcast_to(gold - gold.mean(), predictions.shape)
    found = predictions - predictions.mean(axis=1, keepdims=True)
    parts = (np.ones_like(found), given, found, given**2, found**2, given * found)
    return ScoreSums(np.stack(parts, axis=-1).swapaxes(0, 1), _pearson)


def _pearson(sums: np.ndarray) -> np.ndarray:
    total, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    spread_x, spread_y = total * xx - x * x, total * yy - y * y
    # Of equal values, rounding leaves a spread that is nearly 0.
    varied = (spread_x > 1e-12 * total * xx) & (spread_y > 1e-12 * total * yy)
    return np.where(varied, ratio(total * xy - x * y, np.sqrt(np.abs(spread_x * spread_y))), 0.0)


# --- spans


def _span_sums(gold: Sequence, predictions: Sequence) -> ScoreSums:
    spans = [spans_of(tags) for tags in gold]
    rows = np.empty((len(spans), len(predictions), 3))
    for model, sentences in enumerate(predictions):
        for row, (right, tags) in enumerate(zip(spans, sentences, strict=True)):
            found = spans_of(tags)
            rows[row, model] = len(right & found), len(right), len(found)
    return ScoreSums(rows, _f1_of_spans)


def _f1_of_spans(sums: np.ndarray) -> np.ndarray:
    return ratio(2 * sums[..., 0], sums[..., 1] + sums[..., 2])


# --- resampled scores of a task


@dataclass(frozen=True)
class TaskScores:
    """Scores of a task by tokenizer, and their replicates.

    drawn: tokenizer -> float64[1 + resamples, seeds], the scores and then replicate by replicate
    over the same examples. Tokenizers of as many seeds have them in the same order.
    """

    drawn: Mapping[str, np.ndarray]

    @property
    def values(self) -> dict[str, np.ndarray]:
        """Scores by tokenizer: float64[seeds]."""
        return {name: drawn[0] for name, drawn in self.drawn.items()}

    def unit(self, *tokenizers: str) -> str:
        """Return over what these tokenizers' scores vary: also seeds, if all have several."""
        several = all(self.drawn[name].shape[1] > 1 for name in tokenizers)
        return EXAMPLES_AND_SEEDS if several else EXAMPLES

    def mean(self, tokenizer: str) -> Estimate:
        """Return the mean over seeds with its interval."""
        return Estimate(*self._tested([tokenizer])[:3])

    def difference(
        self, tokenizer: str, baseline: str, *, are_seeds_shared: bool = True
    ) -> Comparison:
        """Return the difference of two means over seeds, its interval and its p-value.

        are_seeds_shared: whether models of one place share a seed, where there are as many; where
        they do not, the variances of both tokenizers' seeds are added.
        """
        return self._tested([tokenizer, baseline], are_seeds_shared)

    def _tested(self, names: Sequence[str], are_seeds_shared: bool = True) -> Comparison:
        first, *rest = (self.drawn[name].mean(axis=1) for name in names)
        values = first - sum(rest)
        if self.unit(*names) == EXAMPLES:
            return Comparison(*estimate(values), percentile_p_value(values))
        seeds = [self.drawn[name][0] for name in names]
        if are_seeds_shared and len({len(of_seeds) for of_seeds in seeds}) == 1:
            seeds = [seeds[0] - sum(seeds[1:])]
        return _student(values, seeds)


def _student(values: np.ndarray, seeds: Sequence[np.ndarray]) -> Comparison:
    """Return Student's interval and test of a sum of means over seeds.

    values: float64[1 + resamples], the sum and its replicates over examples, whose variance counts
    as known. seeds: the values behind each mean.
    """
    from scipy import stats

    value = float(values[0])
    parts = np.array([np.var(own, ddof=1) / len(own) for own in seeds])
    variance = float(np.var(values[1:], ddof=1) + parts.sum())
    if variance == 0:
        return Comparison(value, value, value, percentile_p_value(values))
    doubt = float(sum(p**2 / (len(own) - 1) for p, own in zip(parts, seeds, strict=True)))
    law = stats.t(variance**2 / doubt) if doubt else stats.norm()
    error = np.sqrt(variance)
    half = float(law.ppf((1 + CONFIDENCE) / 2) * error)
    return Comparison(value, value - half, value + half, float(2 * law.sf(abs(value) / error)))


def resample_scores(
    sums: ScoreSums, tokenizers: Sequence[str], *, seed: int, resamples: int = RESAMPLES
) -> TaskScores:
    """Draw the examples of a task and score every model on every sample.

    tokenizers: of each model in `sums`, one of several seeds or of one.
    """
    shape = sums.rows.shape[1:]
    drawn = resample(
        sums.rows.reshape(len(sums.rows), -1),
        lambda totals: sums.score(totals.reshape(-1, *shape)),
        seed=seed,
        resamples=resamples,
    )
    return TaskScores({name: drawn[:, np.array(tokenizers) == name] for name in tokenizers})


def read_scores(paths: Iterable[str | Path]) -> list[dict]:
    """Read score files (written by `lm.finetune`): a record of each, with its `path`.

    Raises:
        UserError: a file is missing or holds no score.
    """
    scores = []
    for path in paths:
        score = read_json(path)
        try:
            record = {key: score[key] for key in _SCORE_KEYS}
        except (KeyError, TypeError) as error:
            raise UserError(f"{path}: holds no score ({error}); delete it, run again") from error
        scores.append({**record, "path": Path(path)})
    return scores


def require_scores(records: Sequence[Mapping], tokenizers: Iterable[str], task: str) -> None:
    """Check that every tokenizer has a score of a task.

    Raises:
        UserError: one has none.
    """
    for name in tokenizers:
        if all(record["tokenizer"] != name for record in records):
            raise UserError(f"scores/{name}/{task}: none; run the target downstream")


def task_scores(records: Sequence[Mapping], seed: int) -> TaskScores:
    """Resample the scores of one task.

    records: of each model, tokenizer, metric, classes, value and path (see `read_scores`).

    Raises:
        UserError: predictions that can't be read, or that are not those of the score.
    """
    first = records[0]
    paths = [predictions_of(record["path"]) for record in records]
    sums = read_sums(paths, first["metric"], first["classes"])
    for path, record, value in zip(paths, records, sums.scores(), strict=True):
        if abs(value - record["value"]) > _SAME_SCORE:
            raise UserError(
                f"{path}: has a score of {value:.6f}, and {record['path']} says "
                f"{record['value']:.6f}; delete both, run again"
            )
    return resample_scores(sums, [record["tokenizer"] for record in records], seed=seed)


def predictions_of(score: str | Path) -> Path:
    """Return where the predictions of a score file are."""
    return Path(score).with_suffix(".predictions.parquet")


def read_sums(paths: Sequence[str | Path], metric: str, classes: int | None) -> ScoreSums:
    """Read the predictions of several models for one task (written by `lm.finetune`).

    classes: their number; None for values and tags.

    Raises:
        UserError: a file can't be read, or has other examples than the first; names it.
    """
    column = "tags" if metric == "span_f1" else "label"
    gold, predictions = None, []
    for path in paths:
        given, predicted = _read_predictions(path, column)
        if gold is None:
            gold = given
        elif not _equal(gold, given):
            raise UserError(
                f"{path}: has other examples than {paths[0]}; delete both and their scores, run "
                "again"
            )
        predictions.append(predicted)
    if gold is None or not len(gold):
        raise UserError(f"{', '.join(map(str, paths)) or 'predictions'}: hold no examples")
    return score_sums(gold, predictions, metric, classes)


def _read_predictions(path: str | Path, column: str) -> tuple[Sequence, Sequence]:
    table = read_parquet(path, [column, "predicted"])
    if column == "tags":
        return tuple([list(row) for row in table[name]] for name in table)
    return table[column].to_numpy(), table["predicted"].to_numpy()


def _equal(first: Sequence, second: Sequence) -> bool:
    return len(first) == len(second) and all(a == b for a, b in zip(first, second, strict=True))
