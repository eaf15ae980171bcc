"""The engine's speed and memory as one table, beside other programs.

    python benchmarks/engine.py [--text FILE] [--lines 750000] [--repeats 3] [--rows NAME,NAME]
        [--growth 100000,300000,750000] [--peers .peers] [--work FOLDER]

Without --text the lines are those of the demo: of the sample of Wikipedia that gensim ships.
Times are medians, memory is the highest peak. Every run is a process of its own, so that its peak
is its own (`engine_measures.py`); this one stays small, because on Linux a process starts with its
parent's peak. What all rows need (lines, word types, BPE, embeddings) is made once and kept in
--work.

The table is printed in Markdown, line by line as it is measured; what is being measured is written
to standard error. A row whose program is missing says so.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import linear_regression, median
from typing import Any

from reproduction.manifest import git_commit
from sagevocab.files import file_digest, fingerprint
from sagevocab.presets import DEFAULT_PRESET

MEASURES = Path(__file__).with_name("engine_measures.py")
THREADS = 2
PACKAGES = ("numba", "numpy", "gensim", "sentencepiece")
PEERS_HINT = "not measured: python benchmarks/peers/make_environments.py --only sage_tokenizer_2"

Runs = list[dict[str, Any]]
Line = tuple[str, str]  # of the table: what, and what was measured


@dataclass(frozen=True)
class Bench:
    """What rows draw from.

    run: takes the name of a measure, the number of the run and parameters, and runs it once; equal
    calls share a run. lines, tokens: of the text. initial_size, vocab_size: pieces of SaGe. growth:
    numbers of lines. peers: folder of environments.
    """

    run: Callable[..., dict[str, Any]]
    lines: int
    tokens: int
    repeats: int
    initial_size: int
    vocab_size: int
    growth: Sequence[int]
    peers: Path

    def runs(self, measure: str, **parameters: Any) -> Runs:
        """Return as many runs as there are repeats."""
        return [self.run(measure, number, **parameters) for number in range(self.repeats)]

    def whole(
        self, number: int, *, text: str | None = None, preset: str = DEFAULT_PRESET
    ) -> dict[str, Any]:
        """Return a run of whole SaGe; text: a file in place of the lines."""
        sizes = {"initial_size": self.initial_size, "vocab_size": self.vocab_size}
        return self.run("whole", number, threads=THREADS, text=text, preset=preset, **sizes)

    def beside_bpe(
        self, *, text: str | None = None, preset: str = DEFAULT_PRESET
    ) -> tuple[Runs, Runs]:
        """Return runs of whole SaGe and of sentencepiece's BPE on the same text, in turns."""
        sage, bpe = [], []
        for number in range(self.repeats):
            sage.append(self.whole(number, text=text, preset=preset))
            bpe.append(self.run("bpe", number, size=self.vocab_size, text=text))
        return sage, bpe


# --- rows: each is one subject, and one or more lines of the table


def pass_row(bench: Bench) -> Iterator[Line]:
    """One exact pass over all tokens, window 5."""
    runs = bench.runs("one_pass", threads=THREADS)
    for key, cache in (("first", "cache of pair losses empty"), ("filled", "cache filled")):
        costs = [run[key] / bench.tokens * 1e6 for run in runs]
        seconds = digits(median(run[key] for run in runs))
        measured = f"{spread(costs)} s per million tokens ({seconds} s, {bench.tokens:,} tokens)"
        yield f"one exact pass over all tokens, window 5, {cache}", measured


def loop_row(bench: Bench) -> Iterator[Line]:
    """The loop without Word2Vec, and again with every piece ranked before every batch."""
    given = {"threads": THREADS, "vocab_size": bench.vocab_size}
    usual, exact = (bench.runs("loop", every_batch=every, **given) for every in (False, True))
    sizes = f"{bench.initial_size:,} -> {bench.vocab_size:,}"
    what = f"the {sizes} loop without Word2Vec (k=100, M=1500, m=10)"
    yield what, f"{spread([run['seconds'] for run in usual])} s"
    yield "the same with m=1, M=all: no heuristic left", ratio(exact, usual, "seconds")


def word2vec_row(bench: Bench) -> Iterator[Line]:
    """An epoch of Word2Vec by gensim and by blocks, with as many workers as threads."""
    for threads in (1, 2):
        given = {"threads": threads, "workers": threads, "epochs": 1}
        gensim, blocks = (
            bench.runs("word2vec", trainer=trainer, **given) for trainer in ("gensim", "blocks")
        )
        what = f"an epoch of Word2Vec by gensim against blocks, workers and threads: {threads}"
        yield from ratio_lines(what, gensim, blocks)


def pairs_row(bench: Bench) -> Iterator[Line]:
    """A pair of Word2Vec by blocks."""
    for threads in (1, 2):
        found = bench.run("pairs", 0, threads=threads, repeats=bench.repeats)
        measured = (
            f"{spread(found['processor'])} ns of processor time, {spread(found['clock'])} ns by "
            f"the clock ({found['pairs']:,} pairs); {rates([found])}"
        )
        yield f"a pair of Word2Vec by blocks, threads: {threads}", measured


def peers_row(bench: Bench) -> Iterator[Line]:
    """One pass beside sage-tokenizer 2.0."""
    what = f"one pass against sage-tokenizer 2.0 (window 2 and {THREADS} workers each)"
    if not (bench.peers / "sage_tokenizer_2" / "bin" / "python").exists():
        yield what, PEERS_HINT
        return
    given = {"repeats": bench.repeats, "peers": str(bench.peers)}
    found = bench.run("peers", 0, threads=THREADS, **given)
    for again, cache in (("", "cache empty"), ("_again", "cache filled")):
        measured = (
            f"{digits(found[f'ratio{again}'])}x on the same {found['lines']:,} lines "
            f"({digits(found['peer_seconds'])} s to {digits(found[f'seconds{again}'])} s); a "
            f"line of the engine's pass over {found['all_lines']:,} lines: "
            f"{digits(found[f'ratio_per_line{again}'])}x"
        )
        yield f"{what}, {cache}", measured


def whole_row(bench: Bench) -> Iterator[Line]:
    """Whole SaGe, from text to tokenizer, beside sentencepiece's BPE."""
    yield from beside_bpe_lines(f"whole SaGe of {bench.lines:,} lines", *bench.beside_bpe())


def whole_counts_row(bench: Bench) -> Iterator[Line]:
    """The preset counts, from text to tokenizer, beside sentencepiece's BPE."""
    runs = bench.beside_bpe(preset="counts")
    yield from beside_bpe_lines(f"preset counts of {bench.lines:,} lines", *runs)


def whole_gensim_row(bench: Bench) -> Iterator[Line]:
    """Whole SaGe beside gensim's Word2Vec on the same lines, once: it is the slowest by far."""
    gensim = bench.run("word2vec", 0, trainer="gensim", threads=THREADS, workers=THREADS)
    yield from ratio_lines("whole SaGe against gensim's Word2Vec", [bench.whole(0)], [gensim])


def whole_growth_row(bench: Bench) -> Iterator[Line]:
    """Whole SaGe beside sentencepiece's BPE with more and more lines, and how its time grows."""
    points = []
    for lines in bench.growth:
        sage, bpe = bench.beside_bpe(text=bench.run("lengthen", 0, lines=lines)["text"])
        yield from beside_bpe_lines(f"whole SaGe of {lines:,} lines", sage, bpe)
        points.append((lines, median(run["seconds"] for run in sage)))
    if len(points) > 1:
        what = "growth of whole SaGe with the lines: exponent, by the clock"
        yield what, f"{exponent(points):.3f}"


def encode_row(bench: Bench) -> Iterator[Line]:
    """Text to ids, beside sentencepiece and `tokenizers`."""
    for threads in (1, THREADS):
        given = {"threads": threads, "vocab_size": bench.vocab_size, "repeats": bench.repeats}
        found = bench.run("encode", 0, **given)
        for name, seconds in found["seconds"].items():
            measured = f"{spread([found['characters'] / one / 1e6 for one in seconds])} a second"
            yield f"million characters encoded by {name}, threads: {threads}", measured


def beside_bpe_lines(what: str, runs: Runs, bpe: Runs) -> Iterator[Line]:
    """Yield the lines of a training and of sentencepiece's BPE, and how fast the cores were."""
    yield whole_line(what, runs)
    yield from ratio_lines(f"{what} against sentencepiece's BPE", runs, bpe)
    yield f"{what}: what a core did after each run", f"{rates(runs)}; after BPE {rates(bpe)}"


def rates(runs: Runs) -> str:
    """Write how fast one core multiplied matrices: seconds of two runs compare by it."""
    return f"{spread([run['multiply_adds'] for run in runs])} x 10^9 multiply-adds a second"


def whole_line(what: str, runs: Runs) -> Line:
    """Return the line of whole SaGe: seconds, processor seconds and memory, by stage."""
    seconds, processor = (median(run[key] for run in runs) for key in ("seconds", "processor"))
    stages = {
        name: digits(median(run["stages"][name] for run in runs)) for name in runs[0]["stages"]
    }
    shown = ", ".join(f"{name} {spent}" for name, spent in stages.items())
    peak = max(run["memory"] for run in runs) / 1e9
    measured = f"{digits(seconds)} s ({shown}); processor {digits(processor)} s; {peak:.2f} GB"
    return what, measured


ROWS: dict[str, Callable[[Bench], Iterator[Line]]] = {
    "pass": pass_row,
    "loop": loop_row,
    "word2vec": word2vec_row,
    "pairs": pairs_row,
    "peers": peers_row,
    "whole": whole_row,
    "whole_counts": whole_counts_row,
    "whole_gensim": whole_gensim_row,
    "whole_growth": whole_growth_row,
    "encode": encode_row,
}


# --- numbers

# Quantity -> its name, unit and factor.
QUANTITIES = {
    "seconds": ("by the clock", "s", 1),
    "processor": ("processor time", "s", 1),
    "memory": ("peak memory", "GB", 1e-9),
}


def ratio_lines(what: str, runs: Runs, others: Runs) -> Iterator[Line]:
    """Yield the ratio of medians for each quantity."""
    for key, (quantity, _, _) in QUANTITIES.items():
        yield f"{what}, {quantity}", ratio(runs, others, key)


def ratio(runs: Runs, others: Runs, key: str) -> str:
    """Write the ratio of the medians of a quantity.

    On a small text BPE may need no memory beyond what its process has: there is no ratio to it.
    """
    _, unit, factor = QUANTITIES[key]
    one, other = (median(run[key] for run in each) * factor for each in (runs, others))
    shown = f"{digits(one)} {unit} to {digits(other)} {unit}"
    return f"{digits(one / other)}x ({shown})" if other else f"- ({shown})"


def digits(value: float) -> str:
    """Write a number with about three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def spread(values: Sequence[float]) -> str:
    """Write the median, and the lowest and the highest where there are several values."""
    if len(values) == 1:
        return digits(values[0])
    return f"{digits(median(values))} ({digits(min(values))} to {digits(max(values))})"


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return b of seconds = a * lines^b by least squares on logarithms."""
    logs = [(math.log(lines), math.log(seconds)) for lines, seconds in points]
    return linear_regression(*zip(*logs, strict=True)).slope


# --- the page


def print_page(names: Sequence[str], bench: Bench) -> bool:
    """Print what is measured, the table, the commit and the machine; return whether all went well.

    names: of rows. What is printed stays where a run is cut short.
    """
    print(
        f"{bench.lines:,} lines, {bench.tokens:,} greedy tokens at {bench.initial_size:,} pieces, "
        f"{THREADS} threads. Runs of each: {bench.repeats}, by median (lowest to highest), each in "
        "a process of its own; memory is the highest peak, in units of 10^9 bytes.\n"
    )
    print("| what | measured |\n| --- | --- |", flush=True)
    well = True
    for name in names:
        try:
            for what, measured in ROWS[name](bench):
                print(f"| {what} | {measured} |", flush=True)
        except RunError as error:
            print(f"| {name} | failed: {str(error).replace('|', ',')} |", flush=True)
            well = False
    facts = "; ".join(f"{name} {value}" for name, value in machine_facts().items())
    print(f"\nMeasured on {datetime.now():%Y-%m-%d}, commit {git_commit() or 'unknown'}: {facts}.")
    return well


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
    print(f"engine: {measure} {shown}, run {number + 1}", file=sys.stderr, flush=True)
    command = [sys.executable, MEASURES, measure, folder, json.dumps(parameters)]
    # One core multiplies matrices, see `multiply_adds`; nothing else that is measured does.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        written = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RunError(written[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


# --- command line


def read_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--text", type=Path, help="plain or compressed lines; default: the demo's")
    parser.add_argument("--lines", type=int, default=750_000, help="read no more of it")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--initial-size", type=int, default=20_000)
    parser.add_argument("--vocab-size", type=int, default=16_000)
    parser.add_argument(
        "--growth",
        default="100000,300000,750000",
        help="lines of the row whole_growth; where the text has fewer, shuffled copies of it",
    )
    parser.add_argument("--peers", type=Path, default=Path(".peers"), help="their environments")
    parser.add_argument("--work", type=Path, default=Path("benchmarks/scratch/engine"))
    parser.add_argument("--rows", default=",".join(ROWS), help=f"of {', '.join(ROWS)}")
    options = parser.parse_args(argv)
    options.rows = options.rows.split(",")
    try:
        options.growth = [int(lines) for lines in options.growth.split(",")]
    except ValueError:
        parser.error(f"--growth: {options.growth} is not a list of numbers")
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
    made = run("prepare", 0, text=text, lines=options.lines, size=options.initial_size)
    chosen = ("repeats", "initial_size", "vocab_size", "growth", "peers")
    return Bench(run, **made, **{name: getattr(options, name) for name in chosen})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 if a row failed."""
    options = read_arguments(argv)
    try:
        bench = prepare_bench(options)
    except (RunError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0 if print_page(options.rows, bench) else 1


if __name__ == "__main__":
    sys.exit(main())
