"""How long the workflow takes on machines of several sizes: its jobs in a simulated schedule.

    python benchmarks/schedule.py                # config.yaml: docs/benchmarks/schedule.md and .png
    python benchmarks/schedule.py --configfile config/demo.yaml --check .snakemake/log/NAME.log

The jobs, what they wait for, their threads, GPUs and priorities are those that Snakemake plans.
Their times are in schedule_costs.csv: measured, scaled from measured ones, or assumed. The order is
that of Snakemake's default scheduler: of the jobs that are ready and fit, those of the highest
priority, then those of most threads. It keeps no core free for a job that needs several at once.

`--check` takes the jobs and times from the log of a finished run, and compares the simulated end
with the real one.
"""

from __future__ import annotations

import argparse
import csv
import heapq
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatch
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from snakemake.api import SnakemakeApi
from snakemake.settings.types import (
    ConfigSettings,
    DAGSettings,
    OutputSettings,
    Quietness,
    ResourceSettings,
)

ROOT = Path(__file__).resolve().parents[1]
COSTS = ROOT / "benchmarks/schedule_costs.csv"
CORES, GPUS = (2, 8, 32), (1, 4, 16)
COMPARED = [(8, 4), (8, 16), (32, 4), (32, 16)]
DRAWN = (32, 4)
ORDERS = range(9)  # Snakemake's solver leaves open which of equal jobs goes first
BLOCKS = (
    173 / 2160
)  # the time of `blocks` on two cores, gensim's with one worker being 1: docs/speed.md

Seconds = Mapping[str, float]


@dataclass(frozen=True)
class Job:
    """A job of the plan; `name` is its rule and wildcards, as `build_sage:en.sage`.

    threads: what its rule asks for. needs: the names of the jobs whose results it reads.
    """

    name: str
    threads: int
    gpus: int
    priority: float
    needs: frozenset[str]

    @property
    def rule(self) -> str:
        """Return the name of its rule."""
        return self.name.partition(":")[0]


@dataclass(frozen=True)
class Span:
    """When a job ran, in seconds. `after` is the job whose end let it start; None for the first.

    awaited: what it got from that: "results", "a core" or "a GPU".
    """

    job: Job
    start: float
    end: float
    after: str | None
    awaited: str


@dataclass(frozen=True)
class Schedule:
    """A simulated run: what ran when, and the idle seconds of ("core" or "GPU", the reason)."""

    spans: dict[str, Span]
    idle: Counter[tuple[str, str]]

    @property
    def end(self) -> float:
        """Return when the last job is done, in seconds."""
        return max(span.end for span in self.spans.values())

    def critical_path(self) -> list[Span]:
        """Return the jobs that decided the end, each started by the end of the one before."""
        path = [max(self.spans.values(), key=lambda span: span.end)]
        while path[-1].after is not None:
            path.append(self.spans[path[-1].after])
        return path[::-1]


# --- The plan and the times


def read_jobs(
    configfiles: Sequence[Path] = (), settings: Mapping[str, Any] | None = None
) -> list[Job]:
    """Return the jobs that Snakemake plans for `all` where nothing is made yet.

    settings: laid over those of the files.
    """
    # Threads are cut to the cores there are: these are more than any rule asks for.
    plenty = ResourceSettings(cores=4096, resources={"gpu": 4096})
    files = [file.resolve() for file in configfiles]
    quiet = OutputSettings(quiet={Quietness.ALL}, enable_file_logging=False)
    with SnakemakeApi(quiet) as api:
        workflow = api.workflow(
            plenty,
            config_settings=ConfigSettings(config=settings or {}, configfiles=files),
            snakefile=ROOT / "Snakefile",
            workdir=ROOT,
        )
        plan = workflow.dag(DAGSettings(targets={"all"}, forceall=True))
        plan.execute_workflow(executor="dryrun")
        dag = workflow._workflow.dag  # the interface prints a plan and returns none
        return [
            Job(
                name=_name(job.rule.name, job.wildcards_dict.values()),
                threads=job.threads,
                gpus=job.resources.get("gpu", 0),
                priority=dag.priority(job),
                needs=frozenset(
                    _name(other.rule.name, other.wildcards_dict.values())
                    for other in dag.dependencies[job]
                ),
            )
            for job in dag.jobs
        ]


def _name(rule: str, wildcards: Iterable[str]) -> str:
    return f"{rule}:{'.'.join(value.strip('.') for value in wildcards if value)}"


def read_costs(file: Path, jobs: Iterable[Job]) -> dict[str, float]:
    """Return the seconds of each job, by the first line of the table that fits its name.

    Raises:
        SystemExit: no line fits a job.
    """
    with file.open(encoding="utf-8", newline="") as text:
        lines = list(csv.DictReader(text))
    seconds = {}
    for job in jobs:
        fitting = [line for line in lines if fnmatch(job.name, f"{line['rule']}:{line['job']}")]
        if not fitting:
            raise SystemExit(f"error: {file}: no line for {job.name}")
        seconds[job.name] = float(fitting[0]["seconds"]) * float(fitting[0]["times"])
    return seconds


def read_log(file: Path) -> tuple[dict[str, float], dict[str, int], float]:
    """Return what Snakemake's log says of a run that was not `--quiet`.

    The seconds of each job, the threads of those with more than one, and the seconds of the run.
    """
    seconds, threads, starts, names, now = {}, {}, {}, {}, []
    rule = number = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if stamp := re.fullmatch(r"\[(.* \d{4})\]", line):
            now.append(datetime.strptime(stamp[1], "%a %b %d %H:%M:%S %Y"))
        elif begun := re.fullmatch(r"(?:local)?rule (\w+):", line):
            rule = begun[1]
        elif found := re.fullmatch(r"    jobid: (\d+)", line):
            number = found[1]
            starts[number], names[number] = now[-1], _name(rule, [])
        elif found := re.fullmatch(r"    wildcards: (.*)", line):
            names[number] = _name(rule, (part.partition("=")[2] for part in found[1].split(", ")))
        elif found := re.fullmatch(r"    threads: (\d+)", line):
            threads[names[number]] = int(found[1])
        elif (done := re.match(r"Finished jobid: (\d+) ", line)) and done[1] in starts:
            seconds[names[done[1]]] = (now[-1] - starts[done[1]]).total_seconds()
    return seconds, threads, (now[-1] - now[0]).total_seconds()


# --- The schedule


class Machine:
    """Free cores and GPUs, the jobs that hold the others, and the time."""

    def __init__(self, cores: int, gpus: int) -> None:
        """Begin with all free, at second 0."""
        self.cores, self.gpus, self.now = cores, gpus, 0.0
        self.idle: Counter[tuple[str, str]] = Counter()
        self._running: list[tuple[float, str, Job]] = []

    def fits(self, job: Job) -> bool:
        """Return whether a job may start now."""
        return job.threads <= self.cores and job.gpus <= self.gpus

    def start(self, job: Job, seconds: float) -> float:
        """Start a job; return when it will end."""
        self.cores, self.gpus = self.cores - job.threads, self.gpus - job.gpus
        heapq.heappush(self._running, (self.now + seconds, job.name, job))
        return self.now + seconds

    def wait(self, ready: Sequence[Job], unstarted: Sequence[Job]) -> list[Job]:
        """Go on to the next end of a job, noting what is idle until then; return what ends then."""
        seconds = self._running[0][0] - self.now
        self.idle["core", self._why_cores(ready)] += seconds * self.cores
        self.idle["GPU", self._why_gpus(ready, unstarted)] += seconds * self.gpus
        self.now += seconds
        ended = []
        while self._running and self._running[0][0] == self.now:
            job = heapq.heappop(self._running)[2]
            self.cores, self.gpus = self.cores + job.threads, self.gpus + job.gpus
            ended.append(job)
        return ended

    def _why_cores(self, ready: Sequence[Job]) -> str:
        if not ready:
            return "results"
        return "GPUs" if any(job.threads <= self.cores for job in ready) else "more cores at once"

    def _why_gpus(self, ready: Sequence[Job], unstarted: Sequence[Job]) -> str:
        if any(job.gpus for job in ready):
            return "cores"
        return "results" if any(job.gpus for job in unstarted) else "the end"


def simulate(
    jobs: Sequence[Job], seconds: Seconds, cores: int, gpus: int, order: int = 0
) -> Schedule:
    """Return the schedule of the jobs on a machine.

    A job that asks for more threads than there are cores gets all of them, and takes longer in
    proportion unless it computes on a GPU. order: seed of the order of equal jobs.
    """
    slower = {job.name: 1 if job.gpus else max(1, job.threads / cores) for job in jobs}
    unstarted = [replace(job, threads=min(job.threads, cores)) for job in jobs]
    random.Random(order).shuffle(unstarted)
    unstarted.sort(key=lambda job: (-job.priority, -job.threads))
    machine, spans = Machine(cores, gpus), {}
    done: set[str] = set()
    ended: list[Job] = []
    while unstarted:
        ready = [job for job in unstarted if job.needs <= done]
        for job in filter(machine.fits, ready):
            end = machine.start(job, seconds[job.name] * slower[job.name])
            spans[job.name] = Span(job, machine.now, end, *_last_awaited(job, ended))
        unstarted = [job for job in unstarted if job.name not in spans]
        ended = machine.wait([job for job in ready if job.name not in spans], unstarted)
        done |= {job.name for job in ended}
    return Schedule(spans, machine.idle)


def _last_awaited(job: Job, ended: Sequence[Job]) -> tuple[str | None, str]:
    """Return which of the jobs that just ended let a job start, and what it got from that."""
    if not ended:
        return None, ""
    for other in ended:
        if other.name in job.needs:
            return other.name, "results"
    other = max(ended, key=lambda other: (min(job.gpus, other.gpus), other.threads))
    return other.name, "a GPU" if job.gpus and other.gpus else "a core"


def hours_of(jobs: Sequence[Job], seconds: Seconds, cores: int, gpus: int) -> float:
    """Return how many hours the jobs take: the median over orders of equal jobs."""
    return median(simulate(jobs, seconds, cores, gpus, order).end for order in ORDERS) / 3600


# --- What a choice is worth


def variants(jobs: Sequence[Job], seconds: Seconds) -> dict[str, tuple[Sequence[Job], Seconds]]:
    """Return other plans of the same jobs: what a choice is worth is the difference."""
    long_first = [
        replace(job, priority=seconds[job.name] * 1e-6) if job.rule == "finetune_model" else job
        for job in jobs
    ]
    two = [replace(job, threads=2) if _is_gensim(job) else job for job in jobs]
    blocks = {job.name: seconds[job.name] * (BLOCKS if _is_gensim(job) else 1) for job in jobs}
    return {
        "as the rules are": (jobs, seconds),
        "without priorities": ([replace(job, priority=0) for job in jobs], seconds),
        "with 4 cores a GPU, 8 to read a dump": former(jobs, seconds, priority=1),
        "with neither": former(jobs, seconds, priority=0),
        "with long fine-tunings first": (long_first, seconds),
        "with `word2vec.trainer: blocks`": (two, blocks),
    }


def former(jobs: Sequence[Job], seconds: Seconds, priority: float) -> tuple[Sequence[Job], Seconds]:
    """Return the jobs with 4 cores a GPU and 8 to read a dump; priorities are multiplied."""
    asked = [
        replace(
            job,
            threads=max(job.threads, 4 * job.gpus, 8 * _reads_dump(job)),
            priority=priority * job.priority,
        )
        for job in jobs
    ]
    return asked, {job.name: seconds[job.name] / (1 + _reads_dump(job)) for job in jobs}


def _reads_dump(job: Job) -> bool:
    return job.rule == "extract_corpus"


def _is_gensim(job: Job) -> bool:
    return job.rule == "train_embeddings" and ".sample" not in job.name


# --- The page

PAGE = """# How long, on what

`python benchmarks/schedule.py` wrote this page: the {jobs} jobs of `all` with `config.yaml`,
{core_hours:.0f} core hours and {gpu_hours:.0f} GPU hours, in a simulated schedule. The order is
that of Snakemake's default scheduler, which leaves open which of equal jobs goes first: hours are
medians of {orders} orders.

[schedule_costs.csv](../../benchmarks/schedule_costs.csv) says of each time where it is from;
"reference run" is the least disturbed of equal jobs in
[this one](../../results/reference/intrinsic/tables/table_costs.csv). **Times on GPUs are assumed**,
as in [costs.md](../costs.md).

{hours}
"Without models" is `lm.enabled: false`.

![Hours by machine, and a schedule](schedule.png)

Broken lines: with 4 cores a GPU, 8 to read a dump, and without priorities.

## The critical path on {cores} cores and {gpus} GPUs

{path}
Steps of less than three minutes are left out.

## What is idle, and what it waits for

Shares of the whole time.

{idle}
## What a choice is worth

Hours of the whole run.

{worth}"""


def page(jobs: Sequence[Job], seconds: Seconds, without: Sequence[Job]) -> str:
    """Return the page; `without` are the jobs of a run without language models."""
    hours = [
        [n, *(hours_of(jobs, seconds, n, gpus) for gpus in GPUS), hours_of(without, seconds, n, 0)]
        for n in CORES
    ]
    modelless = variants(without, seconds)
    worth = [
        [
            name,
            *(hours_of(*plan, *machine) for machine in COMPARED),
            hours_of(*modelless[name], 32, 0),
        ]
        for name, plan in variants(jobs, seconds).items()
    ]
    machines = [f"{cores} cores, {gpus} GPUs" for cores, gpus in COMPARED]
    path = simulate(jobs, seconds, *DRAWN).critical_path()
    return PAGE.format(
        jobs=len(jobs),
        core_hours=sum(seconds[job.name] * job.threads for job in jobs if not job.gpus) / 3600,
        gpu_hours=sum(seconds[job.name] * job.gpus for job in jobs) / 3600,
        orders=len(ORDERS),
        hours=table(["cores", *map(_gpus, GPUS), "without models"], hours),
        cores=DRAWN[0],
        gpus=DRAWN[1],
        path=table(["jobs", "hours", "started when they had"], steps(path)),
        idle=table(["machine", "cores wait for", "GPUs wait for"], idle_rows(jobs, seconds)),
        worth=table(["", *machines, "32 cores, without models"], worth),
    )


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table; numbers of hours get a decimal where they are below 100."""
    cells = [[_cell(value) for value in row] for row in rows]
    lines = [header, ["---"] * len(header), *cells]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(value: Any) -> str:
    return f"{value:.{int(value < 100)}f}" if isinstance(value, float) else str(value)


def _gpus(count: int) -> str:
    return f"{count} GPU{'s' if count > 1 else ''}"


def steps(path: Sequence[Span]) -> list[list[Any]]:
    """Return the longer steps of a critical path; jobs of a rule in a row are one."""
    rows = []
    for rule, group in groupby(path, key=lambda span: span.job.rule):
        spans = list(group)
        hours = (spans[-1].end - spans[0].start) / 3600
        names = ", ".join(span.job.name.partition(":")[2] for span in spans)
        awaited = ", then ".join(span.awaited for span in spans if span.awaited)
        if hours >= 0.05:
            rows.append([f"`{rule}` {names}".strip(), hours, awaited])
    return rows


def idle_rows(jobs: Sequence[Job], seconds: Seconds) -> list[list[str]]:
    """Return the shares of the time that cores and GPUs waited, by reason, for some machines."""
    rows = []
    for cores, gpus in COMPARED:
        schedule = simulate(jobs, seconds, cores, gpus)
        shares = {
            (part, why): 100 * time / schedule.end / (gpus if part == "GPU" else cores)
            for (part, why), time in schedule.idle.most_common()
        }
        reasons = [
            ", ".join(
                f"{why} {share:.0f} %"
                for (part, why), share in shares.items()
                if part == which and share >= 0.5
            )
            for which in ("core", "GPU")
        ]
        rows.append([f"{cores} cores, {gpus} GPUs", *reasons])
    return rows


# --- The figure

PRETRAINING, TUNING = "#8DB4D8", "#F0B27A"
STAGES = {  # what the names of rules begin with
    "#BBBBBB": ("texts", ("retrieve", "extract", "sample", "index", "prepare", "build_shards")),
    "#E69F00": ("Word2Vec", ("train_embeddings", "train_vectors")),
    "#009E73": ("vocabularies", ("train", "build_sage", "export", "prune")),
    PRETRAINING: ("trainings", ("pretrain", "finetune")),
    "#CC79A7": ("measuring, figures", ("",)),
}


def draw(jobs: Sequence[Job], seconds: Seconds, file: Path) -> None:
    """Draw the hours by machine, and what each GPU and the cores do on one of them."""
    matplotlib.style.use(ROOT / "workflow/resources/style.mplstyle")
    schedule = simulate(jobs, seconds, *DRAWN)
    figure = Figure(figsize=(6.3, 5.6))
    above, lanes, cores = figure.subplots(3, 1)
    _draw_hours(above, jobs, seconds)
    _draw_gpus(lanes, schedule)
    _draw_cores(cores, schedule, hours=4)
    figure.savefig(file, dpi=160, metadata={"Software": None})


def _draw_hours(axes: Axes, jobs: Sequence[Job], seconds: Seconds) -> None:
    plans = {"-": (jobs, seconds), "--": former(jobs, seconds, priority=0)}
    for cores, colour in zip(CORES, ("#D55E00", "#009E73", "#0072B2"), strict=True):
        for line, plan in plans.items():
            hours = [hours_of(*plan, cores, gpus) for gpus in GPUS]
            label = f"{cores} cores" if line == "-" else None
            axes.plot(GPUS, hours, line, marker="o", markersize=3, color=colour, label=label)
    axes.set_title("The whole run")
    axes.set_xscale("log")
    axes.set_xticks(GPUS, [_gpus(count) for count in GPUS])
    axes.minorticks_off()
    axes.set_ylim(0)
    axes.set_ylabel("hours")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


def _draw_gpus(axes: Axes, schedule: Schedule) -> None:
    """Draw a lane a GPU, with a black edge around what is on the critical path."""
    critical = {span.job.name for span in schedule.critical_path()}
    free = [0.0] * DRAWN[1]
    for span in sorted(schedule.spans.values(), key=lambda span: span.start):
        if span.job.gpus:
            lane = next(number for number, end in enumerate(free) if end <= span.start)
            free[lane] = span.end
            _draw_bar(axes, lane, span, is_critical=span.job.name in critical)
    axes.set_title(f"{DRAWN[1]} GPUs and {DRAWN[0]} cores: what a GPU does")
    axes.set_yticks(range(DRAWN[1]), [f"GPU {number + 1}" for number in range(DRAWN[1])])
    axes.set_ylim(DRAWN[1] - 0.5, -0.5)
    axes.set_xlim(0)
    axes.set_xlabel("hours")
    axes.grid(visible=False)
    handles = [
        Patch(color=PRETRAINING, label="pretraining"),
        Patch(color=TUNING, label="fine-tuning"),
        Patch(facecolor="white", edgecolor="black", label="critical path"),
    ]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1, 1))


def _draw_bar(axes: Axes, lane: int, span: Span, *, is_critical: bool) -> None:
    start, hours = span.start / 3600, (span.end - span.start) / 3600
    is_pretraining = span.job.rule == "pretrain_model"
    axes.barh(
        lane,
        hours,
        left=start,
        color=PRETRAINING if is_pretraining else TUNING,
        edgecolor="black" if is_critical else "white",
        linewidth=0.6,
        zorder=3 if is_critical else 2,
    )
    if is_pretraining:
        name = span.job.name.partition(":")[2]
        axes.text(start + hours / 2, lane, name, ha="center", va="center", zorder=4)


def _draw_cores(axes: Axes, schedule: Schedule, hours: int) -> None:
    """Draw the cores at work in the first hours, by what they do."""
    minutes = range(60 * hours + 1)
    busy = {colour: [0] * len(minutes) for colour in STAGES}
    for span in schedule.spans.values():
        colour = next(c for c, (_, begin) in STAGES.items() if span.job.rule.startswith(begin))
        for minute in minutes:
            busy[colour][minute] += span.job.threads * (span.start <= 60 * minute < span.end)
    names = [name for name, _ in STAGES.values()]
    times = [minute / 60 for minute in minutes]
    axes.stackplot(times, *busy.values(), colors=list(busy), labels=names, step="post")
    axes.set_title("What the cores do in the first hours")
    axes.set_ylabel("cores")
    axes.set_xlabel("hours")
    axes.set_xlim(0, hours)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


# --- The command


def check(jobs: Sequence[Job], log: Path, cores: int) -> str:
    """Say when the jobs of a finished run would have ended by the simulation, and when they did."""
    seconds, threads, real = read_log(log)
    if not seconds:
        raise SystemExit(f"error: {log}: names no job that is done; run without --quiet")
    ran = [
        replace(job, threads=threads.get(job.name, 1), needs=job.needs & seconds.keys())
        for job in jobs
        if job.name in seconds
    ]
    ends = [simulate(ran, seconds, cores, 0, order).end for order in ORDERS]
    return (
        f"{len(ran)} of {len(seconds)} jobs on {cores} cores: simulated {median(ends):.0f} s "
        f"({min(ends):.0f} to {max(ends):.0f}), real {real:.0f} s, "
        f"ratio {median(ends) / real:.2f}"
    )


def main() -> None:
    """Write the page and the figure of a configuration, or check a finished run of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--configfile", type=Path, nargs="*", default=[])
    parser.add_argument(
        "--check", type=Path, metavar="LOG", help="Snakemake's log of a finished run"
    )
    parser.add_argument("--cores", type=int, default=2, help="of the run that is checked")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/benchmarks")
    options = parser.parse_args()
    jobs = read_jobs(options.configfile)
    if options.check:
        print(check(jobs, options.check, options.cores))
        return
    without = read_jobs(options.configfile, {"lm": {"enabled": False}})
    seconds = read_costs(COSTS, [*jobs, *without])
    (options.output / "schedule.md").write_text(page(jobs, seconds, without), encoding="utf-8")
    draw(jobs, seconds, options.output / "schedule.png")


if __name__ == "__main__":
    main()
