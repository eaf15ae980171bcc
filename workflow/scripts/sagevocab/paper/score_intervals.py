"""Paired bootstrap of scores over examples and fine-tuning seeds.

Examples are drawn once for all tokenizers and seeds, whose models answered the same ones. Where
each tokenizer has several seeds, the variance of the drawn means is added to that of the means over
seeds, s^2 / n, and interval and test are Student's, with the degrees of freedom that Welch and
Satterthwaite give such a sum: then they speak of other examples and other fine-tunings of the same
pretrained models. To draw the seeds, too, would not do: means of two of three values have tails far
too short, and where seeds matter more than examples every tenth equal pair would have p < .005.
Neither says anything of another pretraining.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from sagevocab.analysis.resampling import interval_of, percentile_p_value, sampled_sums
from sagevocab.analysis.score_sums import ScoreSums, score_sums
from sagevocab.analysis.stats import CONFIDENCE, Comparison, Estimate
from sagevocab.errors import UserError

RESAMPLES = 10_000
EXAMPLES = "examples"
EXAMPLES_AND_SEEDS = "examples and seeds"
# What `test` says of a difference, by what varies.
TESTS = {
    EXAMPLES: "paired bootstrap of examples",
    EXAMPLES_AND_SEEDS: "Student's: paired bootstrap of examples, and variance over seeds",
}
_SCORE_KEYS = (
    *("task", "tokenizer", "seed", "metric", "classes", "value", "majority"),
    *("train_examples", "examples", "truncated_examples"),
)
# Scores that differ by more are not of the same predictions.
_SAME_SCORE = 1e-6


@dataclass(frozen=True)
class TaskScores:
    """Scores of a task by tokenizer, and their replicates.

    values: tokenizer -> float64[seeds]. drawn: tokenizer -> float64[resamples, seeds], replicate
    by replicate over the same examples.
    """

    values: Mapping[str, np.ndarray]
    drawn: Mapping[str, np.ndarray]

    def unit(self, *tokenizers: str) -> str:
        """Return over what these tokenizers' scores vary: also seeds, if all have several."""
        several = all(len(self.values[name]) > 1 for name in tokenizers)
        return EXAMPLES_AND_SEEDS if several else EXAMPLES

    def mean(self, tokenizer: str, unit: str | None = None) -> Estimate:
        """Return the mean over seeds with its interval."""
        value, drawn = float(self.values[tokenizer].mean()), self.drawn[tokenizer].mean(axis=1)
        if (unit or self.unit(tokenizer)) == EXAMPLES:
            return interval_of(value, drawn)
        return Estimate(*_student(value, drawn, [self.values[tokenizer]])[:3])

    def difference(self, tokenizer: str, baseline: str, unit: str | None = None) -> Comparison:
        """Return the difference of two means over seeds, its interval and its p-value."""
        drawn = self.drawn[tokenizer].mean(axis=1) - self.drawn[baseline].mean(axis=1)
        seeds = [self.values[name] for name in (tokenizer, baseline)]
        value = float(seeds[0].mean() - seeds[1].mean())
        if (unit or self.unit(tokenizer, baseline)) == EXAMPLES:
            return Comparison(*interval_of(value, drawn), percentile_p_value(drawn))
        return _student(value, drawn, seeds)


def _student(value: float, drawn: np.ndarray, seeds: Sequence[np.ndarray]) -> Comparison:
    """Return Student's interval and test of a sum of means over seeds.

    drawn: float64[resamples], its replicates over examples, whose variance counts as known.
    seeds: the values behind each mean.
    """
    parts = np.array([np.var(values, ddof=1) / len(values) for values in seeds])
    variance = float(np.var(drawn, ddof=1) + parts.sum())
    if variance == 0:
        return Comparison(value, value, value, percentile_p_value(drawn))
    doubt = float(sum(p**2 / (len(v) - 1) for p, v in zip(parts, seeds, strict=True)))
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
    rows = sums.rows.reshape(len(sums.rows), -1)
    totals = sampled_sums(rows, seed=seed, resamples=resamples)
    replicates = sums.score(totals.reshape(resamples, *sums.rows.shape[1:]))
    values = sums.scores()
    places = {name: np.flatnonzero(np.array(tokenizers) == name) for name in tokenizers}
    return TaskScores(
        values={name: values[place] for name, place in places.items()},
        drawn={name: replicates[:, place] for name, place in places.items()},
    )


def read_scores(paths: Iterable[str | Path]) -> list[dict]:
    """Read score files (written by `lm.finetune`): a record of each, with its `path`.

    Raises:
        UserError: a file is missing or holds no score.
    """
    scores = []
    for path in paths:
        try:
            score = json.loads(Path(path).read_text(encoding="utf-8"))
            record = {key: score[key] for key in _SCORE_KEYS}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path}: holds no score ({error}); delete it, run again") from error
        scores.append({**record, "path": Path(path)})
    return scores


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
    try:
        table = pd.read_parquet(path, columns=[column, "predicted"])
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            f"{path}: holds no predictions ({reason}); delete it and its score, run again"
        ) from error
    if column == "tags":
        return tuple([list(row) for row in table[name]] for name in table)
    return table[column].to_numpy(), table["predicted"].to_numpy()


def _equal(first: Sequence, second: Sequence) -> bool:
    return len(first) == len(second) and all(a == b for a, b in zip(first, second, strict=True))
