"""What the training of the embeddings costs, and what each saving does to the SaGe vocabulary.

    python benchmarks/word2vec_study.py --text FILE [--lines 750000] [--workers 2] [--work FOLDER]

Each way of training is one row: its time beside that of the reference (all lines, gensim's 5
epochs), and its SaGe vocabulary beside the reference's: the share of pruned pieces in common, and
the statistics of the vocabulary that the paper quotes. The yardstick is the row of another seed:
a saving whose vocabulary is as near to the reference as another seed's costs nothing that could be
distinguished from chance.

A second table does the same with the block trainer and its own reference, for embeddings of a
sample of the lines. A third has gensim's two ways to be given text, an iterable of token lists
(which the library uses) and a file, with one worker and several.

Rows that are in --work already are not trained again. Prints the tables, and writes them to
--output.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from engine_measures import bpe_pieces, count_tokens, word_corpus
from gensim.models import Word2Vec

from reproduction.analysis.vocabulary import only_in, share_of_length, word_initial_share
from sagevocab.embeddings import Embeddings, Word2VecSettings, train_embeddings
from sagevocab.pieces import read_pieces, write_pieces
from sagevocab.sage import build_sage, settings_from
from sagevocab.segment import GreedySegmenter
from sagevocab.state import read_npz, write_npz, write_text
from sagevocab.words import WordCorpus

READINGS = {"total": "printed", "mean": "released"}


@dataclass(frozen=True)
class Row:
    """A way of training: the share of the lines, epochs, threads, the seed, and who trains."""

    share: float = 1.0
    epochs: int = 5
    workers: int = 2
    seed: int = 1
    trainer: str = "gensim"

    def name(self) -> str:
        """Name the row in a file name."""
        fields = dataclasses.asdict(self).items()
        return ".".join(f"{key}{value}" for key, value in fields)


def rows(workers: int) -> list[Row]:
    """Return the rows of the study; the first is the reference."""
    reference = Row(workers=workers)
    savings = [(1, 1), (0.3, 5), (0.3, 2), (0.3, 1), (0.1, 5)]
    return [
        reference,
        dataclasses.replace(reference, seed=2),
        *(dataclasses.replace(reference, seed=seed, trainer="blocks") for seed in (1, 2)),
        *(dataclasses.replace(reference, share=share, epochs=n) for share, n in savings),
        dataclasses.replace(reference, share=0.1, workers=1),
    ]


def sample_rows(workers: int) -> list[Row]:
    """Return the rows of the block trainer: all lines, two more seeds, and samples of the lines."""
    reference = Row(workers=workers, trainer="blocks")
    return [
        reference,
        *(dataclasses.replace(reference, seed=seed) for seed in (2, 3)),
        *(dataclasses.replace(reference, share=share) for share in (0.3, 0.1)),
    ]


@dataclass(frozen=True)
class Bench:
    """The text, made ready once: word types, and BPE of the initial and of the final size."""

    corpus: WordCorpus
    initial: list[str]
    bpe: list[str]
    folder: Path

    @classmethod
    def prepare(cls, text: Path, lines: int, folder: Path) -> Bench:
        """Read the first `lines` lines of `text` and train BPE, unless the folder has it all."""
        corpus = word_corpus(folder, text, lines)
        initial, bpe = (bpe_pieces(folder, size, str(size)) for size in (20_000, 16_000))
        return cls(corpus, initial, bpe, folder)

    def embeddings(self, row: Row) -> tuple[Embeddings, float, float]:
        """Return a row's embeddings, and the seconds and processor seconds they took."""
        path = self.folder / f"{row.name()}.npz"
        if not path.exists():
            lines = round(row.share * self.corpus.n_lines)
            settings = Word2VecSettings(
                epochs=row.epochs,
                workers=row.workers,
                seed=row.seed,
                trainer=row.trainer,
                lines=lines,
            )
            began, spent = time.perf_counter(), time.process_time()
            trained = train_embeddings(self.corpus, GreedySegmenter(self.initial), settings)
            times = [time.perf_counter() - began, time.process_time() - spent]
            write_npz(path, times=np.array(times), **trained.arrays())
        kept = read_npz(path)
        return Embeddings.load(path), *kept["times"].tolist()

    def vocabulary(self, row: Row, reading: str) -> list[str]:
        """Return a row's SaGe vocabulary of 16,000 pieces, in the greedy decoder."""
        path = self.vocabulary_path(row, reading)
        if not path.exists():
            embeddings, _, _ = self.embeddings(row)
            settings = settings_from(READINGS[reading], decoder="greedy", retrain=False, threads=2)
            word2vec = Word2VecSettings()
            built = build_sage(self.corpus, self.initial, None, embeddings, settings, word2vec)
            write_pieces(path, built.pieces)
        return read_pieces(path)

    def vocabulary_path(self, row: Row, reading: str) -> Path:
        """Return where a row's vocabulary is."""
        return self.folder / f"{row.name()}.{reading}.txt"

    def tokens(self, pieces: Sequence[str]) -> int:
        """Count the corpus's greedy tokens."""
        return count_tokens(self.corpus, pieces)


def measure(bench: Bench, row: Row, reading: str, reference: Row) -> dict[str, Any]:
    """Return a row's cost, what its vocabulary shares with the reference's, and its statistics."""
    pieces = bench.vocabulary(row, reading)
    pruned = set(bench.initial) - set(pieces)
    reference_pruned = set(bench.initial) - set(bench.vocabulary(reference, reading))
    sage_only, bpe_only = only_in(pieces, bench.bpe), only_in(bench.bpe, pieces)
    _, seconds, processor = bench.embeddings(row)
    return {
        "reading": reading,
        **dataclasses.asdict(row),
        "seconds": round(seconds),
        "processor seconds": round(processor),
        "pruned in common": len(pruned & reference_pruned) / len(reference_pruned),
        "SaGe-only word-initial": word_initial_share(sage_only),
        "BPE-only word-initial": word_initial_share(bpe_only),
        "BPE-only of length 2-3": share_of_length(bpe_only, 2, 3),
        "SaGe-only of length 5 or more": share_of_length(sage_only, 5, None),
        "SaGe / BPE tokens": bench.tokens(pieces) / bench.tokens(bench.bpe),
    }


def measure_all(bench: Bench, ways: Sequence[Row]) -> list[dict[str, Any]]:
    """Measure rows under both losses; the first is the reference."""
    found = []
    for row in ways:
        found += [measure(bench, row, reading, ways[0]) for reading in READINGS]
        print(pd.DataFrame(found[-2:]).round(4).to_string(index=False), flush=True)
    return found


def input_speeds(bench: Bench, workers: int, lines: int = 60_000) -> list[dict[str, Any]]:
    """Train one epoch on some lines, given to gensim in either way."""
    corpus, segmenter = bench.corpus.sample(lines, seed=1), GreedySegmenter(bench.initial)
    ids, offsets = segmenter.segment_words(corpus.types)
    words = [ids[a:b].astype(str).tolist() for a, b in zip(offsets, offsets[1:], strict=False)]
    ends = zip(corpus.line_offsets, corpus.line_offsets[1:], strict=False)
    sentences = [[token for kind in corpus.tokens[a:b] for token in words[kind]] for a, b in ends]
    path = bench.folder / "sentences.txt"
    write_text(path, "".join(" ".join(sentence) + "\n" for sentence in sentences))
    total = sum(map(len, sentences))
    given = {
        "iterable": {"corpus_iterable": sentences},
        "file": {"corpus_file": str(path), "total_words": total},
    }
    found = []
    for threads, way in product(sorted({1, workers}), given):
        model = Word2Vec(sg=1, vector_size=50, negative=15, min_count=1, workers=threads, seed=1)
        model.build_vocab(sentences)
        began = time.perf_counter()
        model.train(total_examples=len(sentences), epochs=1, **given[way])
        speed = total / (time.perf_counter() - began)
        found.append({"input": way, "workers": threads, "tokens per second": round(speed)})
    return found


def read_options(about: str, name: str, *, lines: int, **others: int | str) -> argparse.Namespace:
    """Read a study's command line, and make its folder.

    name: of the folder and the page it writes. lines, others: defaults.
    """
    parser = argparse.ArgumentParser(description=about.split("\n\n")[0])
    parser.add_argument("--text", type=Path, required=True, help="plain or compressed lines")
    for option, default in {"lines": lines, **others}.items():
        parser.add_argument(f"--{option}", type=type(default), default=default)
    parser.add_argument("--work", type=Path, default=Path("benchmarks/scratch", name))
    parser.add_argument(
        "--output", type=Path, default=Path("docs/appendix/benchmarks", f"{name}.md")
    )
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    return options


def main() -> None:
    """Run the study."""
    options = read_options(__doc__, "word2vec", lines=750_000, workers=2)
    bench = Bench.prepare(options.text, options.lines, options.work)
    found = [
        measure_all(bench, rows(options.workers)),
        measure_all(bench, sample_rows(options.workers)),
    ]
    found.append(input_speeds(bench, options.workers))
    tables = [pd.DataFrame(table).round(4).to_markdown(index=False) for table in found]
    tokens = bench.tokens(bench.initial)
    text = f"{bench.corpus.n_lines:,} lines, {tokens:,} tokens at 20,000 pieces."
    write_text(options.output, "\n\n".join(["# Word2Vec", text, *tables]) + "\n")
    print(*tables, sep="\n\n")


if __name__ == "__main__":
    main()
