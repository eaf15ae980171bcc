"""What the stages of a run cost, from the benchmarks that Snakemake writes beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from sagevocab.errors import UserError
from sagevocab.paper.formats import NOTHING, write_table
from sagevocab.paper.measures_downstream import BPE_RULE, SAGE_RULES
from sagevocab.paper.notes import with_notes

Files = str | Path
BASELINE = "bpe"
NOTE = (
    "Wall-clock time of all jobs of a stage added up, and the largest resident memory of one job. "
    "These numbers come from clocks: they differ between equal runs, and other work on the "
    "machine counts. Jobs whose results stood already are not in it."
)


def table_costs(
    benchmarks: Files,
    *,
    stages: Sequence[str],
    languages: Mapping[str, str],
    tokenizers: Mapping[str, str],
    notes: Sequence[str] = (),
    tex: Files,
    csv: Files,
    md: Files,
) -> None:
    """Write time and memory of every stage, SaGe against BPE.

    benchmarks: folder of Snakemake's benchmark files, `{rule}/{wildcards}.tsv`. stages: rules in
    the order of the table. languages: code -> title. tokenizers: name -> label, BPE first.
    notes: sentences that end the note.
    Source: paper, "Limitations": SaGe takes about ten times as long as BPE.
    """
    jobs = read_benchmarks(benchmarks, stages, languages, tokenizers)
    rows = [_stage_row(jobs, stage, tokenizers) for stage in stages if stage in set(jobs["rule"])]
    vocabularies = [_vocabulary_row(jobs, code, languages[code], tokenizers) for code in languages]
    sides = [*tokenizers.values(), "all"]
    header = [("Stage", ""), ("Jobs", "")]
    header += [(side, unit) for side in sides for unit in ("time", "memory")]
    shown = pd.DataFrame(rows + vocabularies, columns=pd.MultiIndex.from_tuples(header))
    files = {"tex": tex, "csv": csv, "md": md}
    align = "lr" + "rr" * len(sides)
    note = with_notes(NOTE, notes)
    write_table(shown, jobs, align=align, note=note, blocks=[len(rows)], **files)


def read_benchmarks(
    folder: Files,
    stages: Sequence[str],
    languages: Mapping[str, str],
    tokenizers: Mapping[str, str],
) -> pd.DataFrame:
    """Return rule, job, language, tokenizer, seconds, memory (MB): one row a job of the stages.

    Language and tokenizer are found among the job's wildcards; empty where it has none.
    """
    jobs = []
    for path in sorted(Path(folder).rglob("*.tsv")):
        rule, *wildcards = path.relative_to(folder).with_suffix("").parts
        if rule not in stages:
            continue
        names = [name for part in wildcards for name in part.split(".")]
        jobs.append(
            {
                "rule": rule,
                "job": "/".join(wildcards),
                "language": next((name for name in names if name in languages), None),
                "tokenizer": next((name for name in names if name in tokenizers), None),
                **_read_benchmark(path),
            }
        )
    columns = ["rule", "job", "language", "tokenizer", "seconds", "memory"]
    return pd.DataFrame(jobs, columns=columns)


def _read_benchmark(path: Path) -> dict[str, float]:
    """Mean over repetitions; a job too short to be sampled has no memory."""
    try:
        frame = pd.read_csv(path, sep="\t", na_values=["-", "NA"])
        return {"seconds": float(frame["s"].mean()), "memory": float(frame["max_rss"].max())}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: no benchmark ({error}); delete it and run again") from error


def _stage_row(jobs: pd.DataFrame, stage: str, tokenizers: Mapping[str, str]) -> list[str]:
    own = jobs[jobs["rule"] == stage]
    cells = [cell for name in tokenizers for cell in _cells(own[own["tokenizer"] == name])]
    return [stage, str(len(own)), *cells, *_cells(own)]


def _vocabulary_row(
    jobs: pd.DataFrame, language: str, title: str, tokenizers: Mapping[str, str]
) -> list[str]:
    """Everything it takes to make each vocabulary of one language, as a multiple of BPE's."""
    spent = {name: _vocabulary_jobs(jobs, language, name) for name in tokenizers}
    baseline = spent[BASELINE]["seconds"].sum() if BASELINE in spent else 0.0
    cells = list(_vocabulary_cells(spent, baseline))
    return [f"vocabulary, {title}", "", *cells, "", ""]


def _vocabulary_cells(spent: Mapping[str, pd.DataFrame], baseline: float) -> Iterator[str]:
    for name, jobs in spent.items():
        time, memory = _cells(jobs)
        known = baseline > 0 and len(jobs) and name != BASELINE
        yield f"{time} ({jobs['seconds'].sum() / baseline:.3g} ×)" if known else time
        yield memory


def _vocabulary_jobs(jobs: pd.DataFrame, language: str, tokenizer: str) -> pd.DataFrame:
    rules = (BPE_RULE,) if tokenizer == BASELINE else SAGE_RULES
    mine = jobs["tokenizer"].isna() | (jobs["tokenizer"] == tokenizer)
    return jobs[jobs["rule"].isin(rules) & (jobs["language"] == language) & mine]


def _cells(jobs: pd.DataFrame) -> list[str]:
    if jobs.empty:
        return [NOTHING, NOTHING]
    return [format_seconds(jobs["seconds"].sum()), format_megabytes(jobs["memory"].max())]


def format_seconds(seconds: float) -> str:
    """Return a duration in the unit that a reader would choose."""
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (float("inf"), 3600, "h")):
        if seconds < limit:
            return f"{seconds / size:.1f} {unit}"
    return NOTHING


def format_megabytes(megabytes: float) -> str:
    """Return an amount of memory in MB or GB."""
    if pd.isna(megabytes):
        return NOTHING
    return f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1000:.1f} GB"
