"""`claims.md`: the claims of a run as a page of Markdown; how their values are written."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from reproduction.paper.formats import NOTHING, number, p_value
from reproduction.paper.measures import FAMILIES, SIGNIFICANT
from reproduction.paper.statements import VERDICTS
from reproduction.paper.table import markdown_table
from reproduction.paper.tally import RANDOM, count_verdicts, numbers, share_met, tally

# Shown before the name of a verdict, so that colour is not the only sign.
SIGNS = dict(zip(VERDICTS, ("✓", "≈", "?", "✗", "–"), strict=True))
_LOG_RATIO = "log ratio"  # stands in the statement where the value is one


def claims_markdown(records: Sequence[Mapping[str, Any]], note: str = "") -> str:
    """Return the claims as Markdown: counts on top, then a table for each verdict.

    note: a paragraph above them, of the models' budget.
    """
    lines = ["# The paper's claims, and what this run says of them", ""]
    lines += [
        "Ours with its 95 % interval and what was resampled for it; *p*: of the test between the "
        "tokenizers, by Holm over its family. *Measure*: what several statements share, on other "
        "windows, texts or languages. *Random*: the same of vocabularies pruned at random, "
        "mean and lowest to highest; *met by*: the controls whose values are what the statement "
        "asks for. *Constructed*: the examples of its task are made of other text by a rule. "
        "*Timed*: measured by a clock, so it differs between equal runs. *Beyond*: the paper does "
        "not say it of this language. *Variant*: another reading of a statement that is counted "
        "already. Variants, and what is true of any pruning, are not counted.",
        "",
        *([note, ""] if note else []),
    ]
    heads = ["verdict", "on real data", "on constructed tasks", "beyond the paper's languages"]
    counts = count_verdicts(records).items()
    rows = [[verdict, *map(str, count.values())] for verdict, count in counts]
    lines += markdown_table(heads, rows, "lrrr")
    lines += _tally(records)
    for verdict in VERDICTS:
        chosen = [record for record in records if record["verdict"] == verdict]
        lines += ["", f"## {verdict.capitalize()} ({len(chosen)})", ""]
        claims = [[*_columns(record).values()] for record in chosen]
        lines += markdown_table([*_columns(chosen[0])], claims) if chosen else ["None."]
    lines += ["", *_rules(records)]
    return "\n".join(lines) + "\n"


def _tally(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how many statements each vocabulary meets by its value; nothing without controls."""
    counted = tally(records)
    heads = ["meets", f"of {counted.statements} statements", f"of {counted.groups} measures"]
    rows = [[name, f"{met:.1f}", f"{of_groups:.1f}"] for name, met, of_groups in counted.met]
    note = (
        "The values alone are held against the statements here, of SaGe as of controls: those on "
        "real data and in the paper's languages that all could be measured on. Of a control's "
        "seeds it is the mean. Statements of one measure, on several windows, texts and languages, "
        "count 1 together."
    )
    return ["", *markdown_table(heads, rows, "lrr"), "", note] if rows else []


def _columns(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the cells of a claim, by heading."""
    name, preset = record["tokenizer"], record["preset"]
    cells = {
        "claim": record["id"],
        "measure": record["group"] or "",
        "where": record["where"],
        "statement": record["statement"],
        "paper": show_value(record["paper"]),
        "ours": show_ours(record),
        "over": record["interval"] or "",
        "p": show_p_value(record),
        "random": show_control(record),
        "met by": show_met_by(record),
        "tokenizer": f"{name} ({preset})" if preset else name,
        "text": record["text"],
        "notes": show_notes(record),
    }
    return {name: cell.replace("|", "\\|") for name, cell in cells.items()}


def show_value(value: Any) -> str:
    """Return a value as text: four significant digits, from 1000 on whole numbers."""
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return " to ".join(show_value(one) for one in value)
    return number(value, ",.0f" if abs(value) >= 1000 else ".4g")


def show_ours(record: Mapping[str, Any]) -> str:
    """Return the measured value with its interval, as precise as the interval is narrow."""
    ours, low, high = record["ours"], record["low"], record["high"]
    if low is None or high is None:
        return show_value(ours) + _show_size(record)
    decimals = _decimals(ours, (high - low) / 2)
    shown, *bounds = (number(value, f",.{decimals}f") for value in (ours, low, high))
    return f"{shown} [{bounds[0]}, {bounds[1]}]{_show_size(record)}"


def show_control(record: Mapping[str, Any], control: str = RANDOM) -> str:
    """Return what a control gives: of several seeds mean, lowest and highest; empty for nothing,
    and for the words of several.
    """
    values = record["controls"].get(control, ())
    known = numbers(values)
    if len(values) == 1:
        return show_value(values[0])
    if not known.size:
        return ""
    mean, low, high = known.mean(), known.min(), known.max()
    decimals = _decimals(mean, (high - low) / 2)
    shown = [number(value, f",.{decimals}f") for value in (mean, low, high)]
    return "{} ({} to {})".format(*shown)


def show_met_by(record: Mapping[str, Any]) -> str:
    """Return the controls that meet the statement, of several seeds how many do."""
    met = []
    for name, share in share_met(record).items():
        seeds = len(record["controls"][name])
        of_seeds = f" {record['met_by'][name]} of {seeds}" if seeds > 1 else ""
        met += [name + of_seeds] if share else []
    return ", ".join(met)


def _show_size(record: Mapping[str, Any]) -> str:
    """Return a log ratio in percent too: a significant difference may be tiny."""
    if _LOG_RATIO not in record.get("statement", "") or not isinstance(record["ours"], float):
        return ""
    percent = 100 * math.expm1(record["ours"])
    form = "+.2g" if abs(percent) < 10 else "+,.0f"
    return f" ({number(percent, form)} %)"


def _decimals(value: float, half_width: float) -> int:
    """Return the decimals of a value: three significant digits, more for a narrower interval."""
    of_value = 2 - math.floor(math.log10(abs(value))) if value else 0
    of_interval = -math.floor(math.log10(half_width)) if half_width > 0 else 0
    return max(0, min(3, of_value), of_interval)


def show_p_value(record: Mapping[str, Any]) -> str:
    """Return the adjusted p-value; empty without a test or a verdict."""
    return "" if record["p_adjusted"] is None else p_value(record["p_adjusted"])


def show_test(record: Mapping[str, Any]) -> str:
    """Return the p-value of a claim's test with the test's name; empty if it has none.

    record: one claim; `p_adjusted`, `p_value` and `test` may be missing or null.
    """
    adjusted, plain = record.get("p_adjusted"), record.get("p_value")
    value, kind = (plain, "p") if adjusted is None else (adjusted, "adjusted p")
    if value is None:
        return ""
    shown = p_value(value, kind)
    return f"{shown} ({record['test']})" if record.get("test") else shown


def show_notes(record: Mapping[str, Any]) -> str:
    """Return the reason of a verdict and the marks of a record."""
    marks = [
        record["reason"] or "",
        "beyond" if record["beyond"] else "",
        "variant" if record.get("variant") else "",
        f"its premise fails: {record['failed_premise']}" if record.get("failed_premise") else "",
        f"{record['left_out']} of its pieces are too rare" if record.get("left_out") else "",
        "constructed" if record["constructed"] else "",
        "timed" if record["timing"] else "",
    ]
    return "; ".join(mark for mark in marks if mark)


def _rules(records: Sequence[Mapping[str, Any]]) -> list[str]:
    tested = Counter((record["tokenizer"], record["family"]) for record in records)
    lines = [
        "## Rules",
        "",
        "Written down before any value was looked at, but for those that "
        "docs/appendix/statistics.md names. "
        "Each statement has a target in `paper_values.yaml`. Reproduced: the value, or the whole "
        "interval where the paper says it in words, lies in the target, and the test, if any, is "
        "significant. Undecided: the interval reaches into the target. Same direction: SaGe "
        "against BPE has the sign that the paper states.",
        "",
        "A narrow interval around the paper's value reproduces it, too; a range needs an interval "
        "without 0; where all cases are counted, the value decides; words are reproduced if they "
        "come out as printed. A test is significant if "
        f"its p-value, adjusted by Holm over its family, is below {SIGNIFICANT}. Families:",
        "",
    ]
    for family, meaning in FAMILIES.items():
        counts = [f"{name} {n}" for (name, of), n in tested.items() if of == family]
        lines.append(f"- {family}: {meaning} ({', '.join(counts) or 'none here'})")
    names = sorted({record["test"] for record in records if record["test"]})
    lines += ["", "Tests:", "", *[f"- {name}" for name in names]] if names else []
    return lines
