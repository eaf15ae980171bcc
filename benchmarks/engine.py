"""The engine's speed and memory beside its targets, as one table.

    python benchmarks/engine.py [--text FILE] [--lines 750000] [--repeats 3] [--whole-repeats 1]
        [--threads 2] [--peers .peers] [--work FOLDER] [--output FILE.md] [--rows NAME,NAME]

Without --text the lines are those of the demo: of the sample of Wikipedia that gensim ships.
Times are medians, memory is the highest peak. Every run is a process of its own, so that its peak
is its own; this one stays small, because on Linux a process starts with its parent's peak. What
all rows need (lines, word types, BPE, embeddings) is made once and kept in --work.

The table is printed and written, again after every row. Rows whose programs are missing say so.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import json
import math
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from statistics import linear_regression, median
from typing import Any

from reproduction.job import git_commit
from sagevocab.errors import UserError
from sagevocab.state import file_digest, fingerprint, write_text

TARGET_LINES, TARGET_THREADS = 750_000, 2
INITIAL_SIZE, FINAL_SIZE, LARGE_SIZE = 20_000, 16_000, 262_144
GROWTH = (1 / 15, 2 / 15, 4 / 15, 8 / 15, 1)  # of 750,000: 50, 100, 200, 400 thousand, all
WHOLE_GROWTH = (1 / 10, 1, 10)  # ten times: all lines in ten shuffled copies
TRAINERS = ("blocks", "gensim")  # of Word2Vec
PACKAGES = ("numba", "numpy", "gensim", "sentencepiece")
PEERS_HINT = "not measured: python benchmarks/peers/make_environments.py --only sage_tokenizer_2"

Runs = list[dict[str, Any]]


@dataclass(frozen=True)
class Line:
    """A line of the table.

    value: None if nothing was measured. target: says "at most" or "at least" the bound.
    """

    what: str
    measured: str
    value: float | None = None
    bound: float | None = None
    target: str = "-"

    def cells(self) -> list[str]:
        """Return the line's cells."""
        cells = [self.what, self.target, self.measured]
        if self.bound is None or self.value is None:
            return [*cells, "-", "-" if self.bound is None else "not measured"]
        most = self.target.startswith("at most")
        met = self.value <= self.bound if most else self.value >= self.bound
        return [*cells, f"{self.value / self.bound:.2f}", "yes" if met else "no"]


@dataclass(frozen=True)
class Bench:
    """What rows draw from. run: takes the name of a measure and its parameters, runs it once."""

    run: Callable[..., dict[str, Any]]
    lines: int
    tokens: int
    repeats: int = 3
    whole_repeats: int = 1
    threads: int = 2
    initial_size: int = INITIAL_SIZE
    final_size: int = FINAL_SIZE
    large_size: int = LARGE_SIZE
    peers: Path = Path(".peers")
    peer_lines: int = 10_000

    def runs(self, measure: str, **parameters: Any) -> Runs:
        """Return `repeats` runs; `run` makes each once, so that rows can share them."""
        return [self.run(measure, number, **parameters) for number in range(self.repeats)]

    def passes(self, threads: int, lines: int) -> Runs:
        """Return runs of the two passes."""
        return self.runs("one_pass", threads=threads, lines=lines)

    def whole(self, number: int, **text: Any) -> dict[str, Any]:
        """Return a run of whole SaGe."""
        sizes = {"initial_size": self.initial_size, "final_size": self.final_size}
        return self.run("whole", number, threads=self.threads, **sizes, **text)

    def wholes(self, **text: Any) -> Runs:
        """Return `whole_repeats` runs of whole SaGe."""
        return [self.whole(number, **text) for number in range(self.whole_repeats)]

    def loops(self, every_batch: bool) -> Runs:
        """Return runs of the loop."""
        sizes = {"threads": self.threads, "final_size": self.final_size}
        return self.runs("loop", every_batch=every_batch, **sizes)


# --- rows: each is one subject, and one or more lines of the table


QUANTITIES = {
    "seconds": ("by the clock", "s", 1),
    "processor": ("processor time", "s", 1),
    "memory": ("peak memory", "GB", 1e-9),
}
CACHES = {"first": "cache of pair losses empty", "filled": "cache filled"}


def pass_row(bench: Bench) -> Iterator[Line]:
    """One exact pass over all tokens, window 5."""
    for key, state in CACHES.items():
        runs = bench.passes(bench.threads, bench.lines)
        costs = [run[key] / run["tokens"] * 1e6 for run in runs]
        seconds = digits(median(run[key] for run in runs))
        measured = f"{spread(costs)} s per million tokens ({seconds} s, {bench.tokens:,} tokens)"
        what = f"one exact pass over all tokens, window 5, {state}"
        yield Line(what, measured, median(costs), 0.3, "at most 0.3 s per million tokens")


def cores_row(bench: Bench) -> Iterator[Line]:
    """Two cores against one."""
    passes = [bench.passes(threads, bench.lines) for threads in (1, 2)]
    for key, state in CACHES.items():
        yield cores_line(f"a pass, {state}", passes, key, 1.8)
    given = {"trainer": "blocks", "epochs": 1}
    epochs = [bench.runs("word2vec", threads=threads, **given) for threads in (1, 2)]
    yield cores_line("an epoch of Word2Vec by blocks, segmentation included", epochs, "seconds")


def cores_line(what: str, runs: Sequence[Runs], key: str, bound: float | None = None) -> Line:
    """Return the line that compares runs with one and with two threads."""
    one, two = (median(run[key] for run in each) for each in runs)
    measured = f"{digits(one / two)}x ({digits(one)} s to {digits(two)} s)"
    target = "-" if bound is None else f"at least {bound}x"
    return Line(f"two cores against one, {what}", measured, one / two, bound, target)


def loop_row(bench: Bench) -> Iterator[Line]:
    """The loop without Word2Vec, and its memory."""
    runs = bench.loops(every_batch=False)
    seconds = [run["seconds"] for run in runs]
    sizes = f"{bench.initial_size:,} -> {bench.final_size:,}"
    what = f"the {sizes} loop without Word2Vec (k=100, M=1500, m=10)"
    yield Line(what, f"{spread(seconds)} s", median(seconds), 120, "at most 120 s")
    yield memory_line("peak memory of the loop", runs, 3)


def every_batch_row(bench: Bench) -> Iterator[Line]:
    """The loop with every piece ranked before every batch."""
    runs, usual = bench.loops(every_batch=True), bench.loops(every_batch=False)
    seconds = [run["seconds"] for run in runs]
    ratio = median(seconds) / median(run["seconds"] for run in usual)
    measured = f"{digits(ratio)}x ({spread(seconds)} s, {peak(runs):.2f} GB)"
    target = "at most 3x the loop with the paper's m and M"
    yield Line("the same with m=1, M=all: no heuristic left", measured, ratio, 3, target)


def word2vec_row(bench: Bench) -> Iterator[Line]:
    """Word2Vec by blocks and by gensim, with as many threads as workers: memory and ratios."""
    given = {"threads": bench.threads, "workers": bench.threads, "epochs": 1}
    found = {
        trainer: [
            bench.run("word2vec", number, trainer=trainer, **given)
            for number in range(bench.whole_repeats)
        ]
        for trainer in TRAINERS
    }
    for trainer, runs in found.items():
        what = f"peak memory of Word2Vec by {trainer} (one epoch of the default settings)"
        yield memory_line(what, runs, 3)
    what = f"an epoch of Word2Vec by gensim against blocks, workers and threads: {bench.threads}"
    yield from ratio_lines(what, found["gensim"], found["blocks"])


def pairs_row(bench: Bench) -> Iterator[Line]:
    """A pair of Word2Vec by blocks."""
    units = {
        "processor": "ns of processor time",
        "clock": "ns by the clock",
        "listing": "ns to list it",
    }
    for threads in (1, 2, 4):
        found = bench.run("pairs", 0, threads=threads, repeats=bench.repeats)
        shown = ", ".join(f"{spread(found[key])} {unit}" for key, unit in units.items())
        what = f"a pair of Word2Vec by blocks, threads: {threads}"
        yield Line(what, f"{shown} ({found['pairs']:,} pairs)")


def large_row(bench: Bench) -> Iterator[Line]:
    """A few batches off a large initial vocabulary."""
    size = bench.large_size
    bench.run("prepare_large", 0, size=size)
    runs = bench.runs("large", threads=bench.threads, size=size)
    pieces = runs[0]["pieces"]
    what = f"peak memory with an initial vocabulary of {pieces:,} pieces (3 batches of the loop; "
    if pieces < size:
        what += f"{size:,} were wanted, the text yields no more; "
    yield memory_line(f"{what}random embeddings of norm 3)", runs, 8)


def growth_row(bench: Bench) -> Iterator[Line]:
    """Growth of a pass with the number of lines."""
    sizes = [max(1, round(bench.lines * share)) for share in GROWTH]
    passes = (bench.passes(bench.threads, lines) for lines in sizes)
    seconds = [median(run["filled"] for run in runs) for runs in passes]
    points = list(zip(sizes, seconds, strict=True))
    slope = exponent(points)
    steps = ", ".join(f"{lines:,}: {digits(spent)} s" for lines, spent in points)
    what = "growth of a pass with the lines, cache filled: exponent by least squares on logarithms"
    yield Line(what, f"{slope:.3f} ({steps})", slope, 1.05, "at most 1.05")


def peers_row(bench: Bench) -> Iterator[Line]:
    """One pass against sage-tokenizer 2.0."""
    what = f"one pass against sage-tokenizer 2.0 (window 2 and {bench.threads} workers each)"
    goal = {"bound": 150, "target": "at least 150x"}
    if not (bench.peers / "sage_tokenizer_2" / "bin" / "python").exists():
        yield Line(what, PEERS_HINT, **goal)
        return
    shape = {"repeats": bench.repeats, "peers": str(bench.peers), "peer_lines": bench.peer_lines}
    found = bench.run("peers", 0, threads=bench.threads, **shape)
    theirs = digits(found["sage_tokenizer_seconds"])
    for again, state in (("", "cache empty"), ("_again", "cache filled")):
        ratio, ours = found[f"ratio{again}"], digits(found[f"ours{again}_seconds"])
        measured = (
            f"{digits(ratio)}x on the same {found['lines']:,} lines ({theirs} s to {ours} s); a "
            f"line of our pass over {found['all_lines']:,} lines: "
            f"{digits(found[f'ratio_per_line{again}'])}x"
        )
        yield Line(f"{what}, {state}", measured, ratio, **goal)


def whole_row(bench: Bench) -> Iterator[Line]:
    """Whole SaGe beside sentencepiece's BPE on the same lines, in alternation."""
    final, initial = bench.final_size, bench.initial_size
    ours: Runs = []
    theirs: dict[int, Runs] = {final: [], initial: []}
    for number in range(bench.whole_repeats):
        ours.append(bench.whole(number))
        for size, runs in theirs.items():
            runs.append(bench.run("bpe", number, size=size))
    yield whole_line(f"whole SaGe of {bench.lines:,} lines", ours)
    for size, runs in theirs.items():
        what = f"whole SaGe against sentencepiece's BPE of {size:,} pieces"
        yield from ratio_lines(what, ours, runs, 10 if size == final else None)


def whole_counts_row(bench: Bench) -> Iterator[Line]:
    """The preset counts beside sentencepiece's BPE of as many pieces, in alternation."""
    ours: Runs = []
    theirs: Runs = []
    for number in range(bench.whole_repeats):
        ours.append(bench.whole(number, preset="counts"))
        theirs.append(bench.run("bpe", number, size=bench.final_size))
    yield whole_line(f"preset counts of {bench.lines:,} lines", ours)
    yield from ratio_lines("preset counts against sentencepiece's BPE", ours, theirs, 2)


def whole_gensim_row(bench: Bench) -> Iterator[Line]:
    """Whole SaGe beside gensim's Word2Vec on the same lines, once: it is the slowest by far."""
    given = {"threads": bench.threads, "workers": bench.threads}
    theirs = bench.run("word2vec", 0, trainer="gensim", **given)
    yield from ratio_lines("whole SaGe against gensim's Word2Vec", [bench.whole(0)], [theirs])


def ratio_lines(what: str, ours: Runs, theirs: Runs, bound: float | None = None) -> Iterator[Line]:
    """Yield the ratio of medians for each quantity; bound: of the time by the clock."""
    for key, (quantity, unit, scale) in QUANTITIES.items():
        one, other = (median(run[key] for run in runs) * scale for runs in (ours, theirs))
        measured = f"{digits(one / other)}x ({digits(one)} {unit} to {digits(other)} {unit})"
        goal = (bound, f"at most {bound:g}x") if bound and key == "seconds" else ()
        yield Line(f"{what}, {quantity}", measured, one / other, *goal)


def whole_growth_row(bench: Bench) -> Iterator[Line]:
    """Whole SaGe beside sentencepiece's BPE with more and more lines, and the exponents."""
    peer = f"sentencepiece's BPE of {bench.final_size:,} pieces"
    points: dict[str, list[tuple[float, float]]] = {key: [] for key in QUANTITIES}
    for share in WHOLE_GROWTH:
        lines = max(1, round(bench.lines * share))
        text = bench.run("lengthen", 0, lines=lines)["text"]
        theirs = [bench.run("bpe", 0, size=bench.final_size, text=text)]
        ours = bench.wholes(text=text)
        yield whole_line(f"whole SaGe of {lines:,} lines", ours)
        yield from ratio_lines(f"whole SaGe of {lines:,} lines against {peer}", ours, theirs)
        for key in QUANTITIES:
            points[key].append((lines, median(run[key] for run in ours)))
    for key, (quantity, _, _) in QUANTITIES.items():
        slope = exponent(points[key])
        what = f"growth of whole SaGe with the lines: exponent, {quantity}"
        yield Line(what, f"{slope:.3f}", slope, 1, "at most 1")


def whole_line(what: str, runs: Runs) -> Line:
    """Return the line of whole SaGe: seconds, processor seconds and memory, and each a line."""
    lines, seconds, processor = (
        median(run[name] for run in runs) for name in ("lines", "seconds", "processor")
    )
    measured = (
        f"{digits(seconds)} s ({stages(runs, 'stages')}), {digits(seconds / lines * 1e3)} ms a "
        f"line; processor {digits(processor)} s ({stages(runs, 'processor_stages')}), "
        f"{digits(processor / lines * 1e3)} ms a line; {peak(runs):.2f} GB, "
        f"{digits(max(run['anonymous'] for run in runs) / 1e9)} GB of it without mapped files, "
        f"{digits(peak(runs) / lines * 1e6)} kB a line (peak in GB after "
        f"{stages(runs, 'memory_stages', 1e-9)})"
    )
    return Line(f"{what} ({times(len(runs))})", measured)


ROWS: dict[str, Callable[[Bench], Iterator[Line]]] = {
    "pass": pass_row,
    "cores": cores_row,
    "loop": loop_row,
    "every_batch": every_batch_row,
    "word2vec": word2vec_row,
    "pairs": pairs_row,
    "large": large_row,
    "growth": growth_row,
    "peers": peers_row,
    "whole": whole_row,
    "whole_counts": whole_counts_row,
    "whole_gensim": whole_gensim_row,
    "whole_growth": whole_growth_row,
}


# --- numbers


def digits(value: float) -> str:
    """Write a number with about three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def spread(values: Sequence[float]) -> str:
    """Write the median, and the lowest and the highest where there are several values."""
    if len(values) == 1:
        return digits(values[0])
    return f"{digits(median(values))} ({digits(min(values))} to {digits(max(values))})"


def peak(runs: Runs) -> float:
    """Return the highest peak memory of runs, in GB."""
    return max(run["memory"] for run in runs) / 1e9


def stages(runs: Runs, key: str, unit: float = 1) -> str:
    """Write the medians of what runs have for each stage of whole SaGe, in a unit."""
    found = {name: median(run[key][name] for run in runs) for name in runs[0][key]}
    return ", ".join(f"{name} {digits(value * unit)}" for name, value in found.items())


def memory_line(what: str, runs: Runs, bound: float) -> Line:
    """Return the line of a peak memory, with the time that the runs took."""
    seconds = spread([run["seconds"] for run in runs])
    measured = f"{peak(runs):.2f} GB ({seconds} s)"
    return Line(what, measured, peak(runs), bound, f"at most {bound:g} GB")


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return b of seconds = a * lines^b by least squares on logarithms."""
    logs = [(math.log(lines), math.log(seconds)) for lines, seconds in points]
    return linear_regression(*zip(*logs, strict=True)).slope


def times(count: int) -> str:
    """Write a number of runs."""
    return "one run" if count == 1 else f"{count} runs"


# --- the table


def table(lines: Sequence[Line]) -> str:
    """Return the lines as a Markdown table."""
    header = ["what", "target", "measured", "measured / target", "met"]
    cells = [header, ["---"] * len(header), *(line.cells() for line in lines)]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


def page(lines: Sequence[Line], bench: Bench, machine: Mapping[str, str]) -> str:
    """Return the whole file: what was measured, the table, the commit and the machine."""
    opening = (
        f"{bench.lines:,} lines, {bench.tokens:,} greedy tokens at {bench.initial_size:,} pieces, "
        f"{bench.threads} threads. Medians of {times(bench.repeats)} (lowest to highest), each in "
        "a process of its own; memory is the highest peak, in units of 10^9 bytes.\n"
    )
    if (bench.lines, bench.threads) != (TARGET_LINES, TARGET_THREADS):
        opening += (
            f"\n**The targets are for {TARGET_LINES:,} lines and {TARGET_THREADS} threads: beside "
            "this run they are only a rough guide.**\n"
        )
    facts = "; ".join(f"{name} {value}" for name, value in machine.items())
    when = f"Measured on {datetime.now():%Y-%m-%d}, commit {git_commit() or 'unknown'}."
    return f"{opening}\n{table(lines)}\n{when} Machine: {facts}.\n"


def machine_facts() -> dict[str, str]:
    """Describe the machine and versions of packages, without its names and paths."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{memory:.0f} GB",
        "Python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
    }


def _processor() -> str:
    try:
        facts = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.split(":", 1)[1].strip() for line in facts if line.startswith("model name")]
    return models[0] if models else platform.machine()


# --- processes


class RunError(Exception):
    """A measurement ended badly; the last line that it wrote says how."""


def run_apart(folder: Path, measure: str, number: int, **parameters: Any) -> dict[str, Any]:
    """Run a measure in a process of its own, the `number`th time, and return what it prints."""
    shown = ", ".join(f"{key}={value}" for key, value in parameters.items() if key != "text")
    print(f"engine: {measure} {shown}, run {number + 1}", flush=True)
    began = time.monotonic()
    command = [sys.executable, __file__, "--measure", measure, "--work", str(folder)]
    done = subprocess.run(
        [*command, "--parameters", json.dumps(parameters)], capture_output=True, text=True
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RunError(said[-1])
    print(f"engine: {measure} took {time.monotonic() - began:.0f} s", flush=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def failed(name: str, error: RunError) -> Line:
    """Return the line of a row that could not be measured; folders are left out of file names."""
    said = re.sub(r"(?:/[^/\s]+)*/(?=[^/\s])", "", str(error)).replace("|", ",")
    return Line(name, f"failed: {said}")


def run_rows(names: Sequence[str], bench: Bench, write: Callable[[Sequence[Line]], None]) -> bool:
    """Measure rows, write the table after each; tell whether all went well."""
    lines: list[Line] = []
    well = True
    for name in names:
        print(f"engine: row {name}", flush=True)
        try:
            lines += list(ROWS[name](bench))
        except RunError as error:
            lines.append(failed(name, error))
            well = False
        write(list(lines))
    print(table(lines))
    return well


# --- command line


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--text", type=Path, help="plain or compressed lines; default: the demo's")
    parser.add_argument("--lines", type=int, default=TARGET_LINES, help="read no more of it")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--whole-repeats", type=int, default=1, help="of whole SaGe and Word2Vec")
    parser.add_argument("--threads", type=int, default=TARGET_THREADS)
    parser.add_argument("--initial-size", type=int, default=INITIAL_SIZE)
    parser.add_argument("--final-size", type=int, default=FINAL_SIZE)
    parser.add_argument("--large-size", type=int, default=LARGE_SIZE)
    parser.add_argument("--peers", type=Path, default=Path(".peers"), help="their environments")
    parser.add_argument("--peer-lines", type=int, default=10_000, help="for sage-tokenizer")
    parser.add_argument("--work", type=Path, default=Path("benchmarks/scratch/engine"))
    parser.add_argument("--output", type=Path, default=Path("docs/appendix/benchmarks/engine.md"))
    parser.add_argument("--rows", default=",".join(ROWS), help=f"of {', '.join(ROWS)}")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--parameters", type=json.loads, default={}, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    options.rows = options.rows.split(",")
    if unknown := sorted(set(options.rows) - ROWS.keys()):
        parser.error(f"--rows: {unknown[0]!r} is unknown; choose from {', '.join(ROWS)}")
    return options


def prepare_bench(options: argparse.Namespace) -> Bench:
    """Make the folder of this text ready, and return what rows draw from.

    Raises:
        RunError: the text is too small for the vocabulary, or cannot be read.
    """
    digest = file_digest(options.text) if options.text else "sample"
    parts = digest, options.lines, options.initial_size
    folder = options.work / fingerprint(*parts)[:12]
    folder.mkdir(parents=True, exist_ok=True)
    run = functools.cache(functools.partial(run_apart, folder))
    text = str(options.text.resolve()) if options.text else None
    size = run("prepare", 0, text=text, lines=options.lines, size=options.initial_size)
    made = {"run": run, "lines": size["lines"], "tokens": size["tokens"]}
    chosen = {field.name: getattr(options, field.name, None) for field in fields(Bench)}
    return Bench(**{**chosen, **made})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 if a row failed."""
    options = arguments(argv)
    if options.measure:
        import engine_measures

        measure = getattr(engine_measures, options.measure)
        print(json.dumps(measure(options.work, **options.parameters)))
        return 0
    try:
        bench = prepare_bench(options)
    except (RunError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    machine = machine_facts()
    well = run_rows(
        options.rows, bench, lambda lines: write_text(options.output, page(lines, bench, machine))
    )
    print(f"engine: table written to {options.output}")
    return 0 if well else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"error: {error}")
