"""How long the workflow takes on machines of several sizes: its jobs in a simulated schedule.

    python benchmarks/schedule.py                # docs/appendix/benchmarks/schedule.md
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
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatch
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib.style
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from snakemake.api import SnakemakeApi
from snakemake.settings import types

from reproduction.paper.table import markdown_table

ROOT = Path(__file__).resolve().parents[1]
COSTS = ROOT / "benchmarks/schedule_costs.csv"
CORES, GPUS = (2, 8, 32), (1, 4, 16)
COMPARED = {f"{cores} cores, {gpus} GPUs": (cores, gpus) for cores in (8, 32) for gpus in (4, 16)}
DRAWN = (32, 4)
ORDERS = range(9)  # Snakemake's solver leaves open which of equal jobs goes first
BLOCKS = 173 / 2160  # `blocks` on two cores beside gensim with one worker: docs/appendix/speed.md


@dataclass(frozen=True)
class Job:
    """A job of the plan; `name` is its rule and wildcards, as `build_sage:en.sage`.

    threads: what its rule asks for. needs: the names of the jobs whose results it reads. seconds:
    how long it takes with these threads.
    """

    name: str
    threads: int
    gpus: int
    priority: float
    needs: frozenset[str]
    seconds: float = 0

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


def read_jobs(configfiles: Sequence[Path], target: str = "all", **settings: Any) -> list[Job]:
    """Return the jobs that Snakemake plans for a target where nothing is made yet, without times.

    settings: laid over those of the files.
    """
    # Threads are cut to the cores there are: these are more than any rule asks for.
    plenty = types.ResourceSettings(cores=4096, resources={"gpu": 4096})
    files = [file.resolve() for file in configfiles]
    quiet = types.OutputSettings(quiet={types.Quietness.ALL}, enable_file_logging=False)
    with SnakemakeApi(quiet) as api:
        config = types.ConfigSettings(config=settings, configfiles=files)
        workflow = api.workflow(plenty, config, snakefile=ROOT / "Snakefile", workdir=ROOT)
        plan = workflow.dag(types.DAGSettings(targets={target}, forceall=True))
        plan.execute_workflow(executor="dryrun")
        dag = workflow._workflow.dag  # the interface prints a plan and returns none
        return [
            Job(
                name=_name(job),
                threads=job.threads,
                gpus=job.resources.get("gpu", 0),
                priority=dag.priority(job),
                needs=frozenset(map(_name, dag.dependencies[job])),
            )
            for job in dag.jobs
        ]


def _name(job: Any) -> str:
    return job_name(job.rule.name, job.wildcards_dict.values())


def job_name(rule: str, wildcards: Iterable[str]) -> str:
    """Name a job by its rule and the values of its wildcards."""
    return f"{rule}:{'.'.join(value.strip('.') for value in wildcards if value)}"


def with_costs(jobs: Iterable[Job], file: Path) -> list[Job]:
    """Return the jobs with their seconds, by the first line of the table that fits a name.

    Raises:
        SystemExit: no line fits a job.
    """
    with file.open(encoding="utf-8", newline="") as text:
        lines = list(csv.DictReader(text))
    timed = []
    for job in jobs:
        line = next((x for x in lines if fnmatch(job.name, f"{x['rule']}:{x['job']}")), None)
        if line is None:
            raise SystemExit(f"error: {file}: no line for {job.name}")
        timed.append(replace(job, seconds=float(line["seconds"]) * float(line["times"])))
    return timed


def read_log(file: Path) -> tuple[dict[str, float], dict[str, int], float]:
    """Return what Snakemake's log says of a run that was not `--quiet`.

    The seconds and the threads of each job that is done, and the seconds of the run.
    """
    seconds, threads, began = {}, {}, {}
    _, *parts = re.split(r"^\[(\w.* \d{4})\]\n", file.read_text(encoding="utf-8"), flags=re.M)
    times = [datetime.strptime(stamp, "%a %b %d %H:%M:%S %Y") for stamp in parts[::2]]
    for now, events in zip(times, parts[1::2], strict=True):
        for rule, lines in re.findall(r"^(?:local)?rule (\w+):\n((?: .*\n)*)", events, re.M):
            facts = dict(re.findall(r"^    (\w+): (.*)$", lines, re.M))
            name = job_name(rule, re.findall(r"=([^,]*)", facts.get("wildcards", "")))
            began[facts["jobid"]] = name, now
            threads[name] = int(facts.get("threads", 1))
        for number in re.findall(r"^Finished jobid: (\d+) ", events, re.M):
            if number in began:  # a log of `--quiet` has no beginnings
                name, start = began[number]
                seconds[name] = (now - start).total_seconds()
    return seconds, threads, (times[-1] - times[0]).total_seconds()


# --- The schedule


def simulate(jobs: Sequence[Job], cores: int, gpus: int, order: int = 0) -> Schedule:
    """Return the schedule of the jobs on a machine. order: seed of the order of equal jobs."""
    waiting = [_cut(job, cores) for job in jobs]
    random.Random(order).shuffle(waiting)
    waiting.sort(key=lambda job: (-job.priority, -job.threads))
    machine, spans = Machine(cores, gpus), {}
    done: set[str] = set()
    ended: list[Job] = []
    while waiting:
        ready = [job for job in waiting if job.needs <= done]
        for job in filter(machine.fits, ready):
            end = machine.start(job)
            spans[job.name] = Span(job, machine.now, end, *_last_awaited(job, ended))
        waiting = [job for job in waiting if job.name not in spans]
        ended = machine.advance([job for job in ready if job.name not in spans], waiting)
        done |= {job.name for job in ended}
    return Schedule(spans, machine.idle)


def _cut(job: Job, cores: int) -> Job:
    """Cut threads to the cores there are: a job takes longer in proportion, but not on a GPU."""
    threads = min(job.threads, cores)
    slower = 1 if job.gpus else job.threads / threads
    return replace(job, threads=threads, seconds=job.seconds * slower)


class Machine:
    """Free cores and GPUs, the jobs that hold the others, and the time."""

    def __init__(self, cores: int, gpus: int) -> None:
        """Begin with all free, at second 0."""
        self.cores, self.gpus, self.now = cores, gpus, 0.0
        self.idle: Counter[tuple[str, str]] = Counter()
        self._running: list[tuple[float, Job]] = []  # each with its end

    def fits(self, job: Job) -> bool:
        """Return whether a job may start now."""
        return job.threads <= self.cores and job.gpus <= self.gpus

    def start(self, job: Job) -> float:
        """Start a job; return when it will end."""
        self.cores, self.gpus = self.cores - job.threads, self.gpus - job.gpus
        self._running.append((self.now + job.seconds, job))
        return self.now + job.seconds

    def advance(self, ready: Sequence[Job], waiting: Sequence[Job]) -> list[Job]:
        """Continue to the next end of a job, noting what is idle until then; return what ends."""
        until = min(end for end, _ in self._running)
        self.idle["core", _why_cores(ready, self.cores)] += (until - self.now) * self.cores
        self.idle["GPU", _why_gpus(ready, waiting)] += (until - self.now) * self.gpus
        self.now = until
        ended = [job for end, job in self._running if end == until]
        self._running = [(end, job) for end, job in self._running if end > until]
        self.cores += sum(job.threads for job in ended)
        self.gpus += sum(job.gpus for job in ended)
        return sorted(ended, key=lambda job: job.name)


def _why_cores(ready: Sequence[Job], free: int) -> str:
    if not ready:
        return "results"
    return "GPUs" if any(job.threads <= free for job in ready) else "more cores at once"


def _why_gpus(ready: Sequence[Job], waiting: Sequence[Job]) -> str:
    if any(job.gpus for job in ready):
        return "cores"
    return "results" if any(job.gpus for job in waiting) else "the end"


def _last_awaited(job: Job, ended: Sequence[Job]) -> tuple[str | None, str]:
    """Return which of the jobs that just ended let a job start, and what it got from that."""
    if not ended:
        return None, ""
    for other in ended:
        if other.name in job.needs:
            return other.name, "results"
    other = max(ended, key=lambda other: (min(job.gpus, other.gpus), other.threads))
    return other.name, "a GPU" if job.gpus and other.gpus else "a core"


def hours(jobs: Sequence[Job], cores: int, gpus: int) -> str:
    """Return how many hours the jobs take, as text: the median over orders of equal jobs."""
    found = median(simulate(jobs, cores, gpus, order).end for order in ORDERS) / 3600
    return f"{found:.{int(found < 100)}f}"


# --- What a choice is worth


def variants(jobs: Sequence[Job]) -> dict[str, list[Job]]:
    """Return other plans of the same jobs: what a choice is worth is the difference."""
    many = [_with_many_cores(job) for job in jobs]
    return {
        "as the rules are": list(jobs),
        "without priorities": [replace(job, priority=0) for job in jobs],
        "with 4 cores a GPU, 8 to read a dump": many,
        "with neither": [replace(job, priority=0) for job in many],
        "with long fine-tunings first": [_longest_first(job) for job in jobs],
        "with `word2vec.trainer: blocks`": [_with_blocks(job) for job in jobs],
    }


def _with_many_cores(job: Job) -> Job:
    if job.rule == "extract_corpus":  # twice as many as its rule asks for
        return replace(job, threads=8, seconds=job.seconds / 2)
    return replace(job, threads=max(job.threads, 4 * job.gpus))


def _longest_first(job: Job) -> Job:
    is_tuning = job.rule == "finetune_model"
    return replace(job, priority=job.seconds * 1e-6) if is_tuning else job


def _with_blocks(job: Job) -> Job:
    is_gensim = job.rule == "train_embeddings" and ".sample" not in job.name
    return replace(job, threads=2, seconds=job.seconds * BLOCKS) if is_gensim else job


# --- The page


def core_hours(jobs: Sequence[Job]) -> float:
    """Return what the jobs that need no GPU take of one core."""
    return sum(job.seconds * job.threads for job in jobs if not job.gpus) / 3600


def page(jobs: Sequence[Job], modelless: Sequence[Job], intrinsic: Sequence[Job]) -> str:
    """Return the page.

    modelless: the jobs of a run without language models. intrinsic: those of that target.
    """
    gpu_hours = sum(job.seconds * job.gpus for job in jobs) / 3600
    sizes = [[n, *(hours(jobs, n, gpus) for gpus in GPUS), hours(modelless, n, 0)] for n in CORES]
    path = simulate(jobs, *DRAWN).critical_path()
    idle = [[name, *idle_shares(jobs, *machine)] for name, machine in COMPARED.items()]
    plans = zip(variants(jobs).items(), variants(modelless).values(), strict=True)
    worth = [
        [name, *(hours(plan, *machine) for machine in COMPARED.values()), hours(without, 32, 0)]
        for (name, plan), without in plans
    ]
    return f"""# How long, on what

`python benchmarks/schedule.py` wrote this page: the {len(jobs)} jobs of `all` with `config.yaml`,
{core_hours(jobs):.0f} core hours and {gpu_hours:.0f} GPU hours, in a simulated schedule. Of these,
{len(intrinsic)} jobs with {core_hours(intrinsic):.0f} core hours are those of `intrinsic`. The
order is that of Snakemake's default scheduler, which leaves open which of equal jobs goes first:
hours are medians of {len(ORDERS)} orders.

[schedule_costs.csv](../../../benchmarks/schedule_costs.csv) says of each time where it is from;
"reference run" is the least disturbed of equal jobs in
[this one](../../../results/reference/intrinsic/tables/table_costs.csv).
**Times on GPUs are assumed**, as in [models.md](../../models.md#what-it-costs).

{table(["cores", *map(gpus_in_words, GPUS), "without models"], sizes)}
"Without models" is `lm.enabled: false`.

## The critical path on {DRAWN[0]} cores and {DRAWN[1]} GPUs

{table(["jobs", "hours", "started when they had"], steps(path))}
Steps of less than three minutes are left out.

![What each GPU does](schedule.png)

## What is idle, and what it waits for

Shares of the whole time.

{table(["machine", "cores wait for", "GPUs wait for"], idle)}
## What a choice is worth

Hours of the whole run.

{table(["", *COMPARED, "32 cores, without models"], worth)}"""


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    return "".join(f"{line}\n" for line in markdown_table(header, rows))


def gpus_in_words(count: int) -> str:
    """Write a number of GPUs."""
    return f"{count} GPU{'s' if count > 1 else ''}"


def steps(path: Sequence[Span]) -> list[list[str]]:
    """Return the longer steps of a critical path; jobs of a rule in a row are one."""
    rows = []
    for rule, group in groupby(path, key=lambda span: span.job.rule):
        spans = list(group)
        took = (spans[-1].end - spans[0].start) / 3600
        names = ", ".join(span.job.name.partition(":")[2] for span in spans)
        awaited = ", then ".join(span.awaited for span in spans if span.awaited)
        if took >= 0.05:
            rows.append([f"`{rule}` {names}".strip(), f"{took:.1f}", awaited])
    return rows


def idle_shares(jobs: Sequence[Job], cores: int, gpus: int) -> list[str]:
    """Return the shares of the time that cores, and that GPUs, waited, by reason."""
    schedule = simulate(jobs, cores, gpus)
    found: dict[str, list[str]] = {"core": [], "GPU": []}
    for (part, why), seconds in schedule.idle.most_common():
        share = 100 * seconds / schedule.end / (gpus if part == "GPU" else cores)
        if share >= 0.5:
            found[part].append(f"{why} {share:.0f} %")
    return [", ".join(reasons) for reasons in found.values()]


# --- The figure

COLOURS = {"pretrain_model": "#8DB4D8", "finetune_model": "#F0B27A"}


def draw(jobs: Sequence[Job], file: Path) -> None:
    """Draw what each GPU does, with a black edge around what is on the critical path."""
    matplotlib.style.use(ROOT / "workflow/resources/style.mplstyle")
    schedule = simulate(jobs, *DRAWN)
    critical = {span.job.name for span in schedule.critical_path()}
    figure = Figure(figsize=(6.3, 2.2))
    axes = figure.subplots()
    free = [0.0] * DRAWN[1]  # when each GPU is free again
    for span in sorted(schedule.spans.values(), key=lambda span: span.start):
        if not span.job.gpus:
            continue
        lane = next(number for number, end in enumerate(free) if end <= span.start)
        free[lane] = span.end
        is_critical = span.job.name in critical
        [bar] = axes.barh(
            lane,
            (span.end - span.start) / 3600,
            left=span.start / 3600,
            color=COLOURS[span.job.rule],
            edgecolor="black" if is_critical else "white",
            linewidth=0.6,
            zorder=3 if is_critical else 2,
        )
        if span.job.rule == "pretrain_model":
            name = span.job.name.partition(":")[2]
            axes.text(*bar.get_center(), name, ha="center", va="center", zorder=4)
    axes.set_yticks(range(DRAWN[1]), [f"GPU {number + 1}" for number in range(DRAWN[1])])
    axes.invert_yaxis()
    axes.set_xlim(0)
    axes.set_xlabel("hours")
    axes.grid(visible=False)
    kinds = zip(("pretraining", "fine-tuning"), COLOURS.values(), strict=True)
    handles = [Patch(color=colour, label=kind) for kind, colour in kinds]
    handles.append(Patch(facecolor="white", edgecolor="black", label="critical path"))
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(file, dpi=160, metadata={"Software": None})


# --- The command


def check(jobs: Sequence[Job], log: Path, cores: int) -> str:
    """Say when the jobs of a finished run would have ended by the simulation, and when they did."""
    seconds, threads, real = read_log(log)
    if not seconds:
        raise SystemExit(f"error: {log}: names no job that is done; run without --quiet")
    ran = [
        replace(
            job,
            seconds=seconds[job.name],
            threads=threads[job.name],
            needs=job.needs & seconds.keys(),
        )
        for job in jobs
        if job.name in seconds
    ]
    ends = [simulate(ran, cores, 0, order).end for order in ORDERS]
    return (
        f"{len(ran)} of {len(seconds)} jobs on {cores} cores: simulated {median(ends):.0f} s "
        f"({min(ends):.0f} to {max(ends):.0f}), real {real:.0f} s, "
        f"ratio {median(ends) / real:.2f}"
    )


def main() -> None:
    """Write the page and the figure of a configuration, or check a finished run of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--configfile", type=Path, nargs="*", default=[])
    parser.add_argument("--check", type=Path, metavar="LOG", help="Snakemake's, of a finished run")
    parser.add_argument("--cores", type=int, default=2, help="of the run that is checked")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/appendix/benchmarks")
    options = parser.parse_args()
    jobs = read_jobs(options.configfile)
    if options.check:
        print(check(jobs, options.check, options.cores))
        return
    jobs = with_costs(jobs, COSTS)
    modelless = with_costs(read_jobs(options.configfile, lm={"enabled": False}), COSTS)
    intrinsic = with_costs(read_jobs(options.configfile, "intrinsic"), COSTS)
    text = page(jobs, modelless, intrinsic)
    (options.output / "schedule.md").write_text(text, encoding="utf-8")
    draw(jobs, options.output / "schedule.png")


if __name__ == "__main__":
    main()
