"""All methods beside one another: every tokenizer's difference from BPE, a table and a figure.

N-grams of pieces (`paper.ngrams`), linear probes of pieces and of frozen skip-gram vectors
(`analysis.probes`), and language models where the run has some. docs/statistics.md has the family
of the tests and their power. The paper has neither the table nor the figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from sagevocab.analysis.probe_kinds import SIMILARITY
from sagevocab.analysis.probes import GOLD, HELDOUT, PIECES, VALIDATION, VECTORS
from sagevocab.analysis.scores import TaskScores, resample_scores, score_sums
from sagevocab.analysis.stats import Comparison, holm, paired_permutation
from sagevocab.errors import UserError
from sagevocab.lm.metrics import value_scores
from sagevocab.paper.formats import MINUS, NOTHING, Row, write_table
from sagevocab.paper.inputs import by_panel
from sagevocab.paper.ngrams import LineBits, Panels, summarise_ngrams
from sagevocab.paper.style import Files, drawing, few_round_ticks, legend_above
from sagevocab.paper.tables_scores import printed_gains
from sagevocab.paper.verdicts import SIGNIFICANT
from sagevocab.state import read_parquet

BITS = "bits"
NGRAMS, MODELS = "n-grams", "language models"
_NAMES = {PIECES: "Pieces", VECTORS: "Vectors"}
# Metric -> how a measure's name ends, what its numbers are multiplied by, and their decimals.
_UNITS = {
    BITS: ("bits", 1, 3),
    "accuracy": ("accuracy", 100, 2),
    "f1": ("F1", 100, 2),
    "span_f1": ("F1", 100, 2),
    "matthews": ("Matthews", 100, 2),
    "pearson": ("Pearson", 100, 2),
}
# A true difference of 1.96 + 0.84 standard errors is found in four of five cases; half of an
# interval is 1.96 of them.
_SEEN_FROM = 2.80 / 1.96
_MARK = "*"
# What is compared of n-grams: column of `summarise_ngrams` -> name, order (and one to subtract
# from), whether more is better.
_NGRAMS = {
    "bits_3": ("N-grams, order 3", (3,), False),
    "bits_5": ("N-grams, order 5", (5,), False),
    "gain": ("Gain from context", (1, 3), True),
}


# --- what is read


@dataclass(frozen=True)
class ProbedTask:
    """What the probes of every tokenizer answered to the rows of a task.

    stanza: name, label, language (its title), kind (how it is probed), metric, classes (their
    number, or None) and constructed. columns: of the answers, PIECES and VECTORS -> one, or one a
    seed. answers: tokenizer label -> a row an example, as `probe_task` gives them.
    """

    stanza: Mapping[str, Any]
    columns: Mapping[str, Sequence[str]]
    answers: Mapping[str, pd.DataFrame]

    @property
    def gold(self) -> str:
        """Name of the column with what is right."""
        return GOLD[self.stanza["kind"]]


def read_probes(
    tasks: Sequence[Mapping[str, Any]],
    seeds: Sequence[int],
    labels: Sequence[str],
    paths: Sequence[Files],
) -> list[ProbedTask]:
    """Read what `probe_task` gave, listed task by task and tokenizer by tokenizer.

    seeds: of the vectors.

    Raises:
        UserError: a file is missing or damaged, or two of a task are of other rows.
    """
    each = len(labels)
    own = [paths[place * each : (place + 1) * each] for place in range(len(tasks))]
    return [_read_task(*one, seeds, labels) for one in zip(tasks, own, strict=True)]


def _read_task(
    stanza: Mapping[str, Any],
    paths: Sequence[Files],
    seeds: Sequence[int],
    labels: Sequence[str],
) -> ProbedTask:
    pieces = [] if stanza["kind"] == SIMILARITY else [PIECES]
    columns = {PIECES: pieces, VECTORS: [f"{VECTORS}{seed}" for seed in seeds]}
    gold = GOLD[stanza["kind"]]
    read = ["split", "example", gold, *pieces, *columns[VECTORS]]
    name = stanza["name"]
    answers = by_panel([name], labels, paths, lambda path: read_parquet(path, read))[name]
    first, *rest = (_asked(frame, gold) for frame in answers.values())
    if any(one != first for one in rest):
        raise UserError(
            f"probes of {name} were asked other rows than one another; delete the folder "
            "analysis/LANGUAGE/probes and run again"
        )
    return ProbedTask(stanza, columns, answers)


def _asked(frame: pd.DataFrame, gold: str) -> list[list]:
    answers = [list(row) if gold == "tags" else row for row in frame[gold]]
    return [frame["split"].tolist(), frame["example"].tolist(), answers]


# --- differences, a row for each measure, language and tokenizer


def gather_evidence(
    ngrams: Panels,
    probed: Sequence[ProbedTask],
    models: pd.DataFrame,
    *,
    baseline: str,
    paper: Mapping[str, Mapping[str, Mapping[str, float]]],
    seed: int,
) -> pd.DataFrame:
    """Return every tokenizer's differences from BPE by all methods.

    Columns: method, measure, task, language, tokenizer, metric, more_is_better, split, rows (lines
    or examples), seeds, baseline_value, value, difference, low, high, seen_from (the smallest
    difference that one test finds in four of five cases), spearman, tested, p_value, p_adjusted,
    significant, paper (the paper's difference on the task).

    Args:
        ngrams: as `read_ngrams` gives them.
        probed: as `read_probes` gives them.
        models: as `read_models` gives them; they keep the p-values of their own families.
        baseline: label of BPE.
        paper: the paper's tables of scores, by their names.
        seed: of the bootstrap and of the permutations.

    Raises:
        UserError: there is nothing to compare.
    """
    rows = [*_of_ngrams(ngrams, baseline, seed)]
    for task in probed:
        rows += _of_task(task, baseline, seed)
    if not rows and models.empty:
        raise UserError(
            "config keys tokenizers, probes.tasks and analysis.ngram_lines: evidence needs bpe, "
            "another tokenizer, and tasks or held-out lines"
        )
    data = pd.DataFrame(rows)
    if rows:
        data["p_adjusted"] = _adjusted(data)
        data["significant"] = data["p_adjusted"] < SIGNIFICANT
    data = pd.concat([part for part in (data, models) if len(part)], ignore_index=True)
    data["seen_from"] = _SEEN_FROM * (data["high"] - data["low"]) / 2
    gains = printed_gains(paper.values())
    data["paper"] = data["task"].map(gains).astype(float)
    return data


def _adjusted(data: pd.DataFrame) -> pd.Series:
    """Adjust by Holm over all tests of a tokenizer; what is not tested has no p-value."""
    tested = data[data["tested"]]
    parts = [
        pd.Series(holm(rows["p_value"]), index=rows.index)
        for _, rows in tested.groupby("tokenizer")
    ]
    return pd.concat(parts).reindex(data.index)


def _of_ngrams(panels: Panels, baseline: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the differences after the largest number of lines to estimate from."""
    data = summarise_ngrams(panels, baseline=baseline, seed=seed) if panels else pd.DataFrame()
    for title, panel in panels.items():
        size = max(panel[baseline].bits)
        found = data[(data["language"] == title) & (data["lines"] == size)].set_index("tokenizer")
        for column, (name, orders, more) in _NGRAMS.items():
            for label in panel:
                if label == baseline:
                    continue
                ours, theirs = (_bits(panel[one], size, orders) for one in (label, baseline))
                own = found.loc[label]
                change = f"{column}_difference"
                yield {
                    **_named(NGRAMS, name, None, title, label, BITS, more),
                    "split": HELDOUT,
                    "rows": len(ours),
                    "seeds": 1,
                    "baseline_value": found.loc[baseline, column],
                    "value": own[column],
                    "difference": own[change],
                    "low": own[f"{change}_low"],
                    "high": own[f"{change}_high"],
                    "tested": True,
                    "p_value": paired_permutation(ours, theirs, seed=seed),
                }


def _bits(own: LineBits, size: int, orders: Sequence[int]) -> np.ndarray:
    first, *rest = (own.bits[size][order - 1] for order in orders)
    return first - sum(rest)


def _named(
    method: str,
    measure: str,
    task: str | None,
    language: str,
    tokenizer: str,
    metric: str,
    more_is_better: bool,
) -> dict[str, Any]:
    return {
        "method": method,
        "measure": measure,
        "task": task,
        "language": language,
        "tokenizer": tokenizer,
        "metric": metric,
        "more_is_better": more_is_better,
    }


def _of_task(task: ProbedTask, baseline: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the differences of the probes of a task, on each split that was asked."""
    splits = next(iter(task.answers.values()))["split"]
    tested = HELDOUT if (splits == HELDOUT).any() else VALIDATION
    for features in (PIECES, VECTORS):
        for split in dict.fromkeys([tested, VALIDATION]) if task.columns[features] else ():
            scores, spearman, rows = _split_scores(task, features, split, seed)
            for label in task.answers:
                if label != baseline:
                    yield {
                        **_task_names(task, features, label),
                        "split": split,
                        "rows": rows,
                        "seeds": len(scores.values[label]),
                        "baseline_value": scores.mean(baseline).value,
                        "value": scores.mean(label).value,
                        **_compared(scores.difference(label, baseline), split == tested),
                        "spearman": spearman.get(label),
                    }


def _task_names(task: ProbedTask, features: str, tokenizer: str) -> dict[str, Any]:
    one = task.stanza
    constructed = ", constructed" if one["constructed"] else ""
    # The same task in two languages is one measure.
    label = one["label"].removesuffix(f" ({one['language']})")
    measure = f"{_NAMES[features]}: {label}{constructed}"
    method = {PIECES: "probes of pieces", VECTORS: "probes of vectors"}[features]
    return _named(method, measure, one["name"], one["language"], tokenizer, one["metric"], True)


def _compared(found: Comparison, tested: bool) -> dict[str, Any]:
    return {
        "difference": found.difference,
        "low": found.low,
        "high": found.high,
        "tested": tested,
        "p_value": found.p_value if tested else math.nan,
    }


def _split_scores(
    task: ProbedTask, features: str, split: str, seed: int
) -> tuple[TaskScores, dict[str, float], int]:
    """Return the scores of all tokenizers, Spearman's beside Pearson's, and the rows asked."""
    frames = {label: one[one["split"] == split] for label, one in task.answers.items()}
    gold = _plain(next(iter(frames.values()))[task.gold])
    columns = task.columns[features]
    found = [(label, _plain(frames[label][name])) for label in frames for name in columns]
    names, answers = zip(*found, strict=True)
    sums = score_sums(gold, answers, task.stanza["metric"], task.stanza["classes"])
    spearman: dict[str, list[float]] = {}
    if task.stanza["kind"] == SIMILARITY:
        for label, values in found:
            spearman.setdefault(label, []).append(value_scores(gold, values)["spearman"])
    means = {label: float(np.mean(values)) for label, values in spearman.items()}
    return resample_scores(sums, names, seed=seed), means, len(gold)


def _plain(column: pd.Series) -> np.ndarray | list[list[str]]:
    if column.dtype == object:
        return [list(tags) for tags in column]
    return column.to_numpy()


# --- language models: from their own tables


def read_models(
    differences: Sequence[Files],
    curves: Sequence[Files],
    languages: Mapping[str, str],
    baseline: str,
) -> pd.DataFrame:
    """Read what the tables of language models say: scores, and bits of held-out words.

    differences: csv of `table_differences`, or none. curves: csv of `table_learning_curves`, or
    none. languages: task -> title of its language. A score of models that have learnt nothing is
    left out, and so are bits that tables of frequencies reach.

    Raises:
        UserError: one is no such table.
    """
    try:
        scores = [row for path in differences for row in _of_scores(pd.read_csv(path), languages)]
        bits = [row for path in curves for row in _of_curves(pd.read_csv(path), baseline)]
    except (OSError, ValueError, KeyError) as error:
        files = ", ".join(map(str, [*differences, *curves]))
        raise UserError(
            f"{files}: no table of models ({error}); delete it and run again"
        ) from error
    return pd.DataFrame([*bits, *scores])


def _of_scores(table: pd.DataFrame, languages: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for row in table[table["learnt"].astype(bool)].to_dict("records"):
        seeds = "_seeds" if pd.notna(row["low_seeds"]) else ""
        constructed = ", constructed" if row["constructed"] else ""
        name, task = f"Fine-tuned: {row['task_label']}{constructed}", row["task"]
        yield {
            **_named(MODELS, name, task, languages[task], row["label"], row["metric"], True),
            "split": VALIDATION,
            "seeds": row["seeds"],
            "baseline_value": row["baseline_mean"],
            "value": row["mean"],
            "difference": row["difference"],
            "low": row[f"low{seeds}"],
            "high": row[f"high{seeds}"],
            "tested": True,
            **{key: row[key] for key in ("p_value", "p_adjusted", "significant")},
        }


def _of_curves(table: pd.DataFrame, baseline: str) -> Iterator[dict[str, Any]]:
    bits = "bits_per_character"
    theirs = table[table["tokenizer"] == baseline].set_index("language")[bits]
    for row in table[table[f"{bits}_difference"].notna()].to_dict("records"):
        if row["above_floor"]:
            continue
        name, title = "Held-out words", row["language"]
        yield {
            **_named(MODELS, name, None, title, row["tokenizer"], BITS, False),
            "split": HELDOUT,
            "rows": row["lines"],
            "seeds": 1,
            "baseline_value": theirs[title],
            "value": row[bits],
            "difference": row[f"{bits}_difference"],
            "low": row[f"{bits}_difference_low"],
            "high": row[f"{bits}_difference_high"],
            "tested": True,
            "p_value": row[f"{bits}_p_value"],
            "p_adjusted": row[f"{bits}_p_adjusted"],
            "significant": row[f"{bits}_p_adjusted"] < SIGNIFICANT,
        }


# --- table


def table_evidence(
    data: pd.DataFrame,
    *,
    labels: Sequence[str],
    baseline: str,
    notes: Sequence[str] = (),
    caption: str = "",
    **files: Files,
) -> None:
    """Write the differences from BPE: a row a measure and language, a column a tokenizer.

    data: as `gather_evidence` gives it. labels: of all tokenizers in their order; baseline: of BPE.
    notes: sentences that end the note. caption, files: see `write_table`.
    """
    others = [label for label in labels if label != baseline]
    blocks: dict[str, list[list[str]]] = {}
    shown = data[data["tested"]].groupby(["language", "measure"], sort=False)
    for (language, measure), rows in shown:
        own = {row["tokenizer"]: row for row in rows.to_dict("records")}
        first = next(iter(own.values()))
        cells = [_plus_minus(own.get(label)) for label in others]
        asked = NOTHING if pd.isna(first["rows"]) else f"{first['rows']:,.0f}"
        ends = [_printed(first, rows["seen_from"].max()), _printed(first, first["paper"], "+")]
        name = f"{measure} ({_UNITS[first['metric']][0]})"
        row = [language, name, asked, _printed(first, first["baseline_value"]), *cells, *ends]
        blocks.setdefault(language, []).append(row)
    columns = [(f"Minus {baseline}", name) for name in others]
    write_table(
        ["Language", "Measure", "Rows", baseline, *columns, "Seen from", "Paper"],
        blocks.values(),
        data,
        opening=1,
        align="llr",
        note=[_note(data, baseline), *notes],
        caption=caption,
        parts=_parts(len(others)),
        **files,
    )


def _parts(others: int, across: int = 3) -> list[list[int]]:
    """Return the columns of each table for a page: what all share, then a few tokenizers each."""
    first, end = 4, 4 + others
    parts = [[*range(start, min(start + across, end))] for start in range(first, end, across)]
    return [[0, 1, *part] for part in ([2, 3, end, end + 1], *parts)]


def _printed(row: Row, value: float, sign: str = "") -> str:
    if pd.isna(value):
        return NOTHING
    _, factor, digits = _UNITS[row["metric"]]
    return f"{factor * value:{sign}.{digits}f}".replace("-", MINUS)


def _plus_minus(row: Row | None) -> str:
    if row is None:
        return NOTHING
    half = _printed(row, (row["high"] - row["low"]) / 2)
    return f"{_printed(row, row['difference'], '+')} ± {half}{_MARK if row['significant'] else ''}"


def _note(data: pd.DataFrame, baseline: str) -> str:
    tested = data[data["tested"]]
    own = tested[tested["method"] != MODELS].groupby("tokenizer").size()
    models = " Language models: as in their own tables." if (data["method"] == MODELS).any() else ""
    family = f" over the {own.max()} tests of a tokenizer" if len(own) else ""
    return (
        f"Difference from {baseline} on the same lines or examples ± half of its 95 % interval. "
        "Bits a character: fewer are better, and more of the gain from context; scores are "
        f"multiplied by 100. {_MARK}: p < {SIGNIFICANT} by Holm{family}.{models} Seen from: the "
        "smallest true difference that one test finds in four of five cases, the largest of the "
        "tokenizers. Paper: SaGe minus BPE of fine-tuned BERT-large. Probes are linear models: "
        "they test segmentations. Vectors are frozen; intervals of theirs are over examples and "
        "seeds. Rows: lines or examples that were asked."
    )


# --- figure

_ROW = 0.072  # inches of a mark
_LANGUAGES = (("#00508C", "o"), ("#D55E00", "D"), ("#2CA58D", "^"), ("#AA4499", "s"))
_ACROSS = 2
_TITLE = 20  # characters that the width of a panel holds


def figure_evidence(table: Files, *, labels: Sequence[str], baseline: str, **files: Files) -> None:
    """Draw the differences from BPE, right the better: a panel a measure, a row a tokenizer.

    A colour and a mark are a language; a mark is filled where the difference is significant. Grey
    is what is too small to be seen.

    Args:
        table: csv of `table_evidence`.
        labels: of all tokenizers in their order.
        baseline: label of BPE.
        files: pdf, png and optionally style.

    Raises:
        UserError: the table is missing or damaged.
    """
    data = _read_table(table)
    others = [label for label in labels if label != baseline]
    measures = list(dict.fromkeys(data["measure"]))
    languages = dict(zip(dict.fromkeys(data["language"]), cycle(_LANGUAGES), strict=False))
    down = math.ceil(len(measures) / _ACROSS)
    height = 0.42 + _ROW * max(3, len(others)) * len(languages)
    with drawing((down, _ACROSS), height=height, sharey=True, **files) as (figure, grid):
        for axes, name in zip(grid.flat, measures, strict=False):
            _draw_measure(axes, data[data["measure"] == name], others, languages)
            axes.set_title(fill(name, _TITLE, break_on_hyphens=False))
        for unused in grid.flat[len(measures) :]:
            unused.set_visible(False)
        grid[0, 0].set_yticks(range(len(others)), others)
        grid[0, 0].set_ylim(len(others) - 0.5, -0.5)
        legend_above(figure, _handles(languages))


def _read_table(path: Files) -> pd.DataFrame:
    try:
        data = pd.read_csv(path)
        return data[data["tested"].astype(bool)]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: is no table of evidence ({error}); delete it") from error


def _draw_measure(
    axes: Axes,
    rows: pd.DataFrame,
    tokenizers: Sequence[str],
    languages: Mapping[str, tuple[str, str]],
) -> None:
    first = rows.iloc[0]
    unit, factor, _ = _UNITS[first["metric"]]
    sign = factor if first["more_is_better"] else -factor
    seen = factor * rows["seen_from"].max()
    axes.axvspan(-seen, seen, color="#E8E8E8", linewidth=0, zorder=0)
    axes.axvline(0, color="black", linewidth=0.7, zorder=1)
    own = [name for name in languages if name in set(rows["language"])]
    shifts = np.linspace(-0.5, 0.5, 2 * len(own) + 1)[1::2] * 0.8
    for row in rows.to_dict("records"):
        colour, marker = languages[row["language"]]
        at = tokenizers.index(row["tokenizer"]) + shifts[own.index(row["language"])]
        ends = [sign * row["low"], sign * row["high"]]
        axes.plot(ends, [at, at], color=colour, linewidth=1, zorder=2)
        inside = colour if row["significant"] else "white"
        mark = {"marker": marker, "markersize": 3.4, "markerfacecolor": inside}
        axes.plot(sign * row["difference"], at, color=colour, markeredgewidth=0.8, zorder=3, **mark)
    for place in range(len(tokenizers) - 1):
        axes.axhline(place + 0.5, color="#D9D9D9", linewidth=0.5, zorder=0)
    saved = " saved" if unit == "bits" and not first["more_is_better"] else ""
    axes.set_xlabel(f"bits a character{saved}" if unit == "bits" else f"{unit} (× 100)")
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.08)
    few_round_ticks(axes)
    axes.xaxis.set_major_formatter("{x:g}")


def _handles(languages: Mapping[str, tuple[str, str]]) -> list[Line2D | Patch]:
    marks = [
        Line2D([], [], label=name, color=colour, marker=marker, markersize=4)
        for name, (colour, marker) in languages.items()
    ]
    hollow = {"color": "black", "linestyle": "none", "marker": "o", "markersize": 4}
    return [
        *marks,
        Line2D([], [], label="not significant", markerfacecolor="white", **hollow),
        Patch(label="too small to be seen", facecolor="#E8E8E8"),
    ]
