"""What Snakemake says on the terminal: a plan on one screen, then one line a job.

A line has the rule, its wildcards, the time since the start and about how much is left. The log
file (.snakemake/log) keeps all that Snakemake says, and `snakemake -p` shows it.
"""

from __future__ import annotations

import logging
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

_WIDTH = 100
_UNKNOWN_SECONDS = 3.0  # of a job that no cost is known of
_CHATTER = ("Select jobs to execute", "Using shell:", "Rules claiming more threads")
_FAILED_SCRIPT = "RuleException:\nCalledProcessError"
_CHATTER += ("Provided resources:", "Conda environments: ignored")


class Brief:
    """A filter and a formatter of log records, by the events that Snakemake names."""

    def __init__(
        self,
        formatter: logging.Formatter,
        seconds: Mapping[str, float],
        costs: Callable[[Mapping[str, int]], str],
        *,
        elsewhere: bool = False,
    ) -> None:
        """Format what is not shortened with `formatter`.

        Args:
            formatter: Snakemake's.
            seconds: rule -> about how long a job of it takes.
            costs: number of jobs by rule -> a sentence on what they cost.
            elsewhere: whether jobs run on a cluster, and not on this terminal.
        """
        self._formatter, self._seconds, self._costs = formatter, seconds, costs
        self._elsewhere = elsewhere
        self._names: dict[int, str] = {}
        self._rules: dict[int, str] = {}
        self._plan: Mapping[str, int] = {}
        self._started, self._spent, self._last = time.monotonic(), 0.0, ""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to show a record."""
        event = _event(record)
        if event == "job_info":
            self._rules[record.jobid] = record.rule_name
            wildcards = (f"{name}={value}" for name, value in record.wildcards.items())
            self._names[record.jobid] = " ".join([record.rule_name, *wildcards])
            return False
        if event == "job_finished":
            self._last = self._names.pop(record.job_id, "")
            self._spent += self._weight(self._rules.pop(record.job_id, ""))
            return False
        if event == "run_info":
            is_new, self._plan = record.stats != self._plan, record.stats
            return is_new  # a dry run says it again at its end
        if event == "job_error":
            return self._elsewhere or not _mistake(record)  # which the job has said here
        if event == "error" and str(record.msg).startswith(_FAILED_SCRIPT):
            return False  # the error of its job comes next
        if event in ("job_started", "shellcmd", "workflow_started"):
            return False
        return not str(record.msg).startswith(_CHATTER)

    def format(self, record: logging.LogRecord) -> str:
        """Return what to show of a record."""
        event = _event(record)
        if event == "run_info":
            return self._planned()
        if event == "progress":
            return self._progress(record.done, record.total)
        if event == "job_error" and (mistake := _mistake(record)):
            return mistake
        shown = self._formatter.format(record)
        if shown.startswith("Reasons:"):
            return "\n".join(_cut(line) for line in shown.splitlines())
        return shown

    def _planned(self) -> str:
        jobs = {rule: count for rule, count in self._plan.items() if rule not in ("total", "all")}
        kinds: Counter[str] = Counter()
        for rule, count in jobs.items():
            kind = rule.partition("_")[0]
            kinds[f"{kind}s" if kind in ("figure", "table") else rule] += count
        # No line ends between a number and its rule.
        listed = ", ".join(f"{count}\N{NO-BREAK SPACE}{kind}" for kind, count in kinds.items())
        text = f"{sum(jobs.values())} jobs: {listed}. {self._costs(jobs)}"
        wrapped = textwrap.fill(text, _WIDTH, break_on_hyphens=False)
        return wrapped.replace("\N{NO-BREAK SPACE}", " ")

    def _progress(self, done: int, total: int) -> str:
        passed = time.monotonic() - self._started
        whole = sum(count * self._weight(rule) for rule, count in self._plan.items())
        left = passed * max(0.0, whole / self._spent - 1) if self._spent else 0.0
        line = f"[{done}/{total}] {_clock(passed)}, about {_clock(left)} left"
        return f"{line}: {self._last}" if self._last else line  # --quiet rules has no names

    def _weight(self, rule: str) -> float:
        return 0.0 if rule == "total" else self._seconds.get(rule, _UNKNOWN_SECONDS)


def show_briefly(
    seconds: Mapping[str, float],
    costs: Callable[[Mapping[str, int]], str],
    *,
    elsewhere: bool,
) -> None:
    """Shorten what Snakemake says on the terminal, unless -p is given; see `Brief`."""
    for handler in logging.getLogger("snakemake.logging").handlers:
        says_all = any(getattr(one, "printshellcmds", False) for one in handler.filters)
        if handler.name == "DefaultStreamHandler" and not says_all:
            brief = Brief(handler.formatter, seconds, costs, elsewhere=elsewhere)
            handler.addFilter(brief)
            handler.setFormatter(brief)


def _event(record: logging.LogRecord) -> Any:
    """Return the name of the event of a record; None without one."""
    return getattr(getattr(record, "event", None), "value", None)


def _mistake(record: logging.LogRecord) -> str:
    """Return the line on a user's mistake that ends the log of a failed job; empty without one."""
    with suppress(OSError, IndexError):
        last = Path(record.log[0]).read_text(encoding="utf-8").splitlines()[-1]
        return last if last.startswith(f"error: {record.rule_name}: ") else ""
    return ""


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 4]} ..."


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
