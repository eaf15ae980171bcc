"""Whether SaGe vocabularies of the block trainer differ from those of another seed of gensim.

    python benchmarks/word2vec_equivalence.py --text FILE --language en [--lines 200000] [--seeds 4]

Trains with some seeds of either trainer and prunes under both losses. The rules were written down
before any value was computed:

- *Pruned pieces.* Two seeds of gensim share fewer than all. The block trainer is equivalent if its
  seeds share with gensim's at most 0.01 less than those share with one another: 40 of 4,000 pruned
  pieces. The one-sided 95 % limit of the loss must lie below, with a jackknife error over seeds.
- *Statistics of the vocabulary.* The margin is gensim's repeatability limit (ISO 5725), 2.77
  standard deviations: two of its seeds differ by more in one case of twenty. The 90 % interval of
  the difference of the means must lie within it, in both directions (two one-sided tests).
- Overlap and SaGe / BPE tokens decide, under both losses; all of them must pass. The other
  statistics, the norms and the held-out objective are reported.

The statistics are all numbers of the claims (`paper_values.yaml`) that a vocabulary and its
training text decide. Rules for these, written down before their values were computed:

- A statistic is *equal* if it passes as above. It *differs* if its whole interval lies beyond the
  margin, on one side. Else four seeds leave it *undecided*.
- Where gensim's seeds all give one number the margin is 0. It is *equal* if each seed of the block
  trainer gives that number, too, *differs* if none does, and is else *undecided*.
- A statement that words decide (a segmentation, say) has no spread. It is *equal* if its verdict,
  over all seeds of a trainer, is the same, and else *differs*.

What is in --work already is neither trained nor measured again. With --gensim, gensim's pieces are
those of an earlier study of the same text, from the .parquet file that it wrote. Prints the tables,
and writes them to --output; beside it, in a .parquet file, which pieces each training kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations, islice, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from word2vec_study import READINGS, Bench, Row, read_options

from reproduction.analysis.counts import write_counts
from reproduction.paper.claims import assess_claims
from reproduction.paper.claims_inputs import TRAIN, Run
from reproduction.paper.inputs import BASELINE
from reproduction.paper.statements import read_claims
from sagevocab.counting import SegmentedCorpus, count_corpus, count_pieces
from sagevocab.embeddings import Embeddings, Word2VecSettings
from sagevocab.pieces import write_pieces
from sagevocab.segment import UNCOVERED, GreedySegmenter
from sagevocab.state import ResumableState, fingerprint, write_text
from sagevocab.text import read_lines
from sagevocab.words import Normalizer, WordCorpus

HELD_OUT = 5_000  # lines after those that are trained on, for the objective
OVERLAP_MARGIN = 0.01
VALUES = Path(__file__).parents[1] / "workflow/resources/paper_values.yaml"
NUMBERS = ("gensim", "blocks", "difference, 90 %", "gensim's standard deviation", "margin")
EQUAL, DIFFERS, UNDECIDED = "equal", "differs", "undecided"


def rows(seeds: int) -> list[Row]:
    """Return the trainings: gensim's seeds, then those of the block trainer."""
    return [
        Row(workers=workers, seed=seed, trainer=trainer)
        for trainer, workers in (("gensim", 1), ("blocks", 2))
        for seed in range(1, seeds + 1)
    ]


def take_pieces(bench: Bench, table: Path, seeds: int) -> None:
    """Take the pieces that gensim's trainings kept from an earlier study of the same text.

    Raises:
        SystemExit: that study began with other pieces.
    """
    kept = pd.read_parquet(table)
    if kept["piece"].tolist() != bench.initial:
        raise SystemExit(f"{table}: is of another text, its initial pieces are others")
    for row, reading in product(rows(seeds)[:seeds], READINGS):
        pieces = kept.loc[kept[f"{row.trainer}{row.seed}.{reading}"], "piece"]
        write_pieces(bench.vocabulary_path(row, reading), pieces.tolist())


def equivalence(
    bench: Bench, text: Path, seeds: int, language: str, *, train_gensim: bool = True
) -> dict[str, pd.DataFrame]:
    """Return tables that compare seeds of the block trainer with seeds of gensim."""
    ways = rows(seeds)
    segmented = SegmentedCorpus(bench.corpus, GreedySegmenter(bench.initial))
    counts, _ = count_pieces(segmented)
    pairs = held_out_pairs(text, bench)
    builds, overlaps = [], []
    for row in ways if train_gensim else ways[seeds:]:
        embeddings, _, processor = bench.embeddings(row)
        sides = embeddings.target, embeddings.context
        norms = [np.linalg.norm(side[counts > 0], axis=1).mean() for side in sides]
        builds.append(
            {
                "trainer": row.trainer,
                "seed": row.seed,
                "processor seconds": round(processor),
                "norm of E_T": round(float(norms[0]), 3),
                "norm of E_C": round(float(norms[1]), 3),
                "held-out objective": round(objective(embeddings, counts, pairs), 4),
            }
        )
        print(builds[-1], flush=True)
    for reading in READINGS:
        pruned = [set(bench.initial) - set(bench.vocabulary(row, reading)) for row in ways]
        overlaps.append({"reading": reading, **compare_overlaps(pruned, seeds)})
        print(overlaps[-1], flush=True)
    run = lay_out(bench, seeds, language)
    tables = {
        "Trainings": builds,
        "Overlaps": overlaps,
        "Statistics": statistics(run, language),
        "Statements on which two trainings get the same verdict": verdicts(run, language),
    }
    return {title: pd.DataFrame(table) for title, table in tables.items()}


def lay_out(bench: Bench, seeds: int, language: str) -> Run:
    """Put all vocabularies and their counts where a run has them; return them as a run.

    Its SaGe tokenizers are {trainer}.{reading}, each of several seeds.
    """
    vocabularies = {BASELINE: bench.bpe, "bpe_initial": bench.initial}
    further: dict[str, list[str]] = {}
    for row, reading in product(rows(seeds), READINGS):
        name = f"{row.trainer}.{reading}"
        if row.seed > 1:
            further.setdefault(name, []).append(f"{name}.{row.seed}")
            name = further[name][-1]
        vocabularies[name] = bench.vocabulary(row, reading)
    run = Run(
        folder=bench.folder / "run",
        languages=[language],
        domains={},
        tasks={},
        tokenizers={BASELINE: None, **{name: name.split(".")[1] for name in further}},
        further_seeds=further,
        lm_tokenizers=[],
        seeds=[],
        seed=1,
    )
    bench.corpus.save(run.words(language, TRAIN))
    for name, pieces in vocabularies.items():
        write_pieces(run.vocabulary(language, name) / "pieces.txt", pieces)
        folder = run.analysis(language, TRAIN, name)
        if not folder.exists():
            write_counts(count_corpus(bench.corpus, GreedySegmenter(pieces)), folder)
    return run


def statistics(run: Run, language: str) -> list[dict[str, Any]]:
    """Compare each number, and each verdict, of the claims between the trainers."""
    found = {(record["id"], record["tokenizer"]): record for record in assess(run, language)}
    return [
        {"reading": reading, "claim": name, **compare(gensim, found[name, f"blocks.{reading}"])}
        for reading in READINGS
        for (name, tokenizer), gensim in found.items()
        if tokenizer == f"gensim.{reading}"
    ]


def verdicts(run: Run, language: str) -> list[dict[str, Any]]:
    """Judge each training by itself, and count on how many statements two agree, on average."""
    names = {name: [name, *further] for name, further in run.further_seeds.items()}
    single = dict.fromkeys(sum(names.values(), []), "")
    alone = replace(run, tokenizers={BASELINE: None, **single}, further_seeds={})
    records = pd.DataFrame(assess(alone, language))
    judged = records.pivot(index="id", columns="tokenizer", values="verdict")

    def agree(pairs: Iterable[tuple[str, str]]) -> float:
        each = [(judged[one] == judged[two]).sum() for one, two in pairs]
        return round(float(np.mean(each)), 1)

    found = []
    for reading in READINGS:
        gensim, blocks = names[f"gensim.{reading}"], names[f"blocks.{reading}"]
        found.append(
            {
                "reading": reading,
                "statements": len(judged),
                "gensim with gensim": agree(combinations(gensim, 2)),
                "gensim with blocks": agree(product(gensim, blocks)),
                "blocks with blocks": agree(combinations(blocks, 2)),
            }
        )
    return found


def assess(run: Run, language: str) -> list[dict[str, Any]]:
    """Return the records of the claims that a vocabulary and its training text decide."""
    values = read_claims(VALUES)
    values["claims"] = [claim for claim in values["claims"] if claim.is_of_counts]
    mark = fingerprint(VALUES, asdict(run), *sorted(run.folder.rglob("pieces.txt")))
    state = ResumableState(run.folder / f"measured-{len(run.tokenizers)}", mark)
    records = assess_claims(run, values, state)
    return [r for r in records if r["language"] == language and r["ours"] is not None]


def compare(gensim: Mapping[str, Any], blocks: Mapping[str, Any]) -> dict[str, Any]:
    """Compare the records of a claim; words by their verdicts, which are of all seeds."""
    given = list(dict.fromkeys((gensim["verdict"], blocks["verdict"])))
    if isinstance(gensim["ours"], str):
        result = EQUAL if len(given) == 1 else DIFFERS
        found = {**dict.fromkeys(NUMBERS, ""), "result": result}
    else:
        found = compare_means(np.array(gensim["seeds"]), np.array(blocks["seeds"]))
    return {**found, "verdict": ", with blocks ".join(given)}


def kept_pieces(bench: Bench, seeds: int) -> pd.DataFrame:
    """Return the initial pieces, and for each training and reading whether it kept them."""
    columns = {
        f"{row.trainer}{row.seed}.{reading}": set(bench.vocabulary(row, reading))
        for row in rows(seeds)
        for reading in READINGS
    }
    kept = {name: [piece in pieces for piece in bench.initial] for name, pieces in columns.items()}
    return pd.DataFrame({"piece": bench.initial, **kept})


def compare_overlaps(pruned: Sequence[set[str]], seeds: int) -> dict[str, Any]:
    """Compare what gensim's seeds share with one another, and with the block trainer's.

    pruned: of gensim's seeds, then of as many of the block trainer. The difference of the means
    has a jackknife error over seeds, and an upper limit of 95 % (one-sided).
    """
    size = len(pruned)
    shares = np.array([[len(one & two) / len(one) for two in pruned] for one in pruned])

    def means(left_out: int | None) -> np.ndarray:
        kept = [number for number in range(size) if number != left_out]
        ours, theirs = [n for n in kept if n < seeds], [n for n in kept if n >= seeds]
        pairs = [combinations(ours, 2), product(ours, theirs), combinations(theirs, 2)]
        return np.array([np.mean([shares[pair] for pair in some]) for some in pairs])

    within, between, blocks = means(None)
    lost = np.array([first - second for first, second, _ in map(means, range(size))])
    error = np.sqrt((size - 1) / size * ((lost - lost.mean()) ** 2).sum())
    limit = within - between + 1.645 * error
    return {
        "gensim with gensim": round(within, 4),
        "gensim with blocks": round(between, 4),
        "blocks with blocks": round(blocks, 4),
        "lost, at most": round(limit, 4),
        "margin": OVERLAP_MARGIN,
        "equivalent": bool(limit < OVERLAP_MARGIN),
    }


def compare_means(gensim: np.ndarray, blocks: np.ndarray) -> dict[str, str]:
    """Test whether two means are equal within the repeatability limit of gensim (ISO 5725).

    Two results of gensim with different seeds differ by more than that in one case of twenty.
    """
    difference = blocks.mean() - gensim.mean()
    margin = 1.96 * np.sqrt(2) * gensim.std(ddof=1)
    half = half_interval(gensim, blocks)
    digits = max(0, 1 - math.floor(math.log10(margin))) if margin else 4
    shown = (
        f"{gensim.mean():.{digits}f}",
        f"{blocks.mean():.{digits}f}",
        f"{difference:+.{digits}f} ± {half:.{digits}f}",
        f"{gensim.std(ddof=1):.{digits}f}",
        f"{margin:.{digits}f}",
    )
    found = result_of(gensim, blocks, abs(difference), half, margin)
    return {**dict(zip(NUMBERS, shown, strict=True)), "result": found}


def half_interval(gensim: np.ndarray, blocks: np.ndarray) -> float:
    """Return half the width of Welch's 90 % interval of a difference of means."""
    variances = [values.var(ddof=1) / len(values) for values in (gensim, blocks)]
    if not any(variances):
        return 0.0
    freedom = sum(variances) ** 2 / sum(
        variance**2 / (len(values) - 1)
        for variance, values in zip(variances, (gensim, blocks), strict=True)
    )
    return float(stats.t.ppf(0.95, freedom) * np.sqrt(sum(variances)))


def result_of(
    gensim: np.ndarray, blocks: np.ndarray, apart: float, half: float, margin: float
) -> str:
    """Return the result by the rules; apart: of the means. half: of the interval's width."""
    if not margin:
        same = blocks == gensim[0]
        return EQUAL if same.all() else UNDECIDED if same.any() else DIFFERS
    if apart + half < margin:
        return EQUAL
    return DIFFERS if apart - half > margin else UNDECIDED


def objective(embeddings: Embeddings, counts: np.ndarray, pairs: np.ndarray) -> float:
    """Return the mean log-likelihood of held-out pairs, with the expectation over negatives.

    counts: int64[pieces], in the text that was trained on. pairs: int32[n, 2], input and output.
    """
    noise = counts**0.75 / (counts**0.75).sum()
    target, context = embeddings.target.astype(float), embeddings.context.astype(float)
    inputs, times = np.unique(pairs[:, 0], return_counts=True)
    total = -np.logaddexp(0, -(target[pairs[:, 0]] * context[pairs[:, 1]]).sum(axis=1)).sum()
    for part in np.array_split(np.arange(len(inputs)), max(1, len(inputs) // 500)):
        away = -np.logaddexp(0, target[inputs[part]] @ context.T) @ noise
        total += Word2VecSettings().negative * (away * times[part]).sum()
    return float(total / len(pairs))


def held_out_pairs(text: Path, bench: Bench) -> np.ndarray:
    """Return the pairs of neighbours in lines that were not trained on: int32[n, 2].

    Raises:
        SystemExit: the text has no lines left.
    """
    lines = bench.corpus.n_lines
    rest = islice(read_lines(text), lines, lines + HELD_OUT)
    corpus = WordCorpus.from_lines(rest, Normalizer())
    if not corpus.n_lines:
        raise SystemExit(f"{text}: has no lines after the first {lines}, for the objective")
    ids, offsets = GreedySegmenter(bench.initial).segment_words(corpus.types)
    words = np.split(ids, offsets[1:-1])
    pairs = []
    for first, last in pairwise(corpus.line_offsets):
        line = np.concatenate([words[kind] for kind in corpus.tokens[first:last]])
        line = line[line != UNCOVERED]
        after = np.stack([line[1:], line[:-1]], axis=1)
        pairs += [after, after[:, ::-1]]
    return np.concatenate(pairs)


def main() -> None:
    """Run the study."""
    options = read_options(__doc__, "equivalence", lines=200_000, seeds=4, language="en", gensim="")
    bench = Bench.prepare(options.text, options.lines, options.work)
    if options.gensim:
        take_pieces(bench, Path(options.gensim), options.seeds)
    settings = options.seeds, options.language
    tables = equivalence(bench, options.text, *settings, train_gensim=not options.gensim)
    text = [f"# {options.text.stem}: {bench.corpus.n_lines:,} lines, {options.seeds} seeds"]
    for title, table in tables.items():
        text += [f"## {title}", table.to_markdown(index=False, disable_numparse=True)]
    write_text(options.output, "\n\n".join(text) + "\n")
    pieces = options.output.with_suffix(".parquet")
    kept_pieces(bench, options.seeds).to_parquet(pieces, compression="zstd", index=False)
    print(*text, sep="\n\n")


if __name__ == "__main__":
    main()
