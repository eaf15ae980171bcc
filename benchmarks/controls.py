"""What controls prune, and what of the paper they give, beside the committed reference run.

    python benchmarks/controls.py                       # tables and figure, from what is committed
    python benchmarks/controls.py --run results/wiki    # first the frames, of a finished run
    python benchmarks/controls.py --run results/wiki8k --size 8000    # or its prunings alone

The second form needs the run's texts: vocabularies of the controls and word types, on the texts and
with the settings of the reference run. It writes what each control pruned (LANGUAGE.parquet) and
what every vocabulary gives of the statements that word types decide, or words whose morphemes are
known (--morphemes), and the first seed of SaGe and of each control of those on neighbours
(statements.csv). The first
form sets these beside the seeds, random prunings and claims of results/reference/intrinsic. The
third is for a run with vocabularies of another size, and needs no texts.
"""

from __future__ import annotations

import argparse
import itertools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.analysis.counts import tables_of
from reproduction.analysis.morphology import count_boundaries, read_morphemes
from reproduction.paper.controls import figure_controls, table_controls
from reproduction.paper.inputs import BASELINE
from reproduction.paper.measures import WORDS, Measurement
from reproduction.paper.overlap import overlaps, table_overlap
from reproduction.paper.random_prunings import (
    Pruning,
    Text,
    measure_pruning,
    ranked_statements,
)
from reproduction.paper.reference import write_prunings
from reproduction.paper.statements import Statement, meets, read_claims
from reproduction.paper.table import Table
from sagevocab.counting import count_corpus
from sagevocab.pieces import WORD_START, read_pieces
from sagevocab.segment import GreedySegmenter
from sagevocab.settings import WordSettings
from sagevocab.state import read_json, write_json
from sagevocab.words import Normalizer, WordCorpus

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results/reference/intrinsic"
VALUES = ROOT / "workflow/resources/paper_values.yaml"
STYLE = ROOT / "workflow/resources/style.mplstyle"
LANGUAGES = {"en": "English", "tr": "Turkish"}
SAGE = {"sage": "SaGe", "sage_released": "SaGe 1.0"}
CONTROLS = {
    "random": "pruned at random",
    "frequency": "least frequent pruned",
    "counts": "counts",
    "counts_reranked": "counts, ranked again",
    "extra_tokens": "extra tokens",
    "swallowed": "swallowed",
    "sage_zero": "SaGe without vectors",
    "sage_shuffled": "SaGe, shuffled words",
    "sage_released_zero": "SaGe 1.0 without vectors",
    "sage_released_shuffled": "SaGe 1.0, shuffled words",
}
OURS = [name for name in CONTROLS if name not in ("random", "frequency")]  # not that run's
IN_FIGURE = {
    "sage": ("counts", "sage_zero", "sage_shuffled"),
    "sage_released": ("counts", "sage_released_zero", "sage_released_shuffled"),
}
TRAIN = "train"
LISTS = {"en": "segmentation", "tr": "derivation"}  # docs/appendix/deviations.md names the lists

log = logging.getLogger(__name__)


def seeds_of(names: Sequence[str], tokenizer: str) -> list[str]:
    """Return the vocabularies of a tokenizer among some, one a seed."""
    return [name for name in names if name == tokenizer or name.startswith(f"{tokenizer}.seed")]


def read_orders(folder: Path, language: str) -> pd.DataFrame:
    """Return when each vocabulary pruned a piece, or -1.

    folder: of a size that holds all vocabularies, or that of the controls of the reference run.
    """
    folders = (folder,) if folder.name.isdigit() else (REFERENCE / "prunings", folder)
    tables = [pd.read_parquet(one / f"{language}.parquet") for one in folders]
    return pd.concat([table.set_index("piece") for table in tables], axis=1)


# --- frames, of a run


def write_size(run: Path, output: Path) -> None:
    """Write what SaGe and all controls of a run pruned."""
    names = [name for tokenizer in (*SAGE, *CONTROLS) for name in (tokenizer, f"{tokenizer}.seed2")]
    files = (run / f"vocab/{lang}/{name}/ablations.parquet" for lang in LANGUAGES for name in names)
    write_prunings([file for file in files if file.exists()], output)


def write_frames(run: Path, output: Path, lists: Mapping[str, Path]) -> None:
    """Write what the controls of a run pruned, and the statements of all vocabularies.

    lists: language -> its list of words in morphemes, in the format of LISTS.
    """
    vocabularies = sorted(run.glob("vocab/*/*/ablations.parquet"))
    names = [path.parent.name for path in vocabularies]
    chosen = {name for control in OURS for name in seeds_of(names, control)}
    write_prunings([path for path in vocabularies if path.parent.name in chosen], output)
    of_words = (row for language in LANGUAGES for row in statements(run, output, language))
    of_lines = (row for language in LANGUAGES for row in on_neighbours(run, output, language))
    of_lists = (
        row for language in lists for row in on_morphemes(lists[language], output, language)
    )
    rows = [*of_words, *of_lines, *of_lists]
    pd.DataFrame(rows).to_csv(output / "statements.csv", index=False, lineterminator="\n")


def statements(run: Path, folder: Path, language: str) -> Iterator[dict[str, Any]]:
    """Yield what each vocabulary gives of the statements that word types decide."""
    orders = read_orders(folder, language)
    initial = list(orders.index)
    corpus = WordCorpus.load(run / f"corpus/{language}.train.words.npz")
    bpe = read_pieces(REFERENCE / f"tokenizers/{language}/bpe/pieces.txt")
    texts = {TRAIN: Text(corpus, initial, bpe)}
    claims = ranked_statements(read_claims(VALUES)["claims"], language, texts)
    for name in orders:
        alive = (orders[name] < 0).to_numpy()
        for claim, value in measure_pruning(claims, texts, initial, bpe, alive).items():
            yield {"language": language, "tokenizer": name, "id": claim, "value": value}


@dataclass(frozen=True)
class Counted(Pruning):
    """A pruning whose pieces are counted in the lines, too, as those of BPE are."""

    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def neighbours(self, tokenizer: str, corpus: str | None = None) -> pd.DataFrame:
        """Return distinct neighbours by piece and window."""
        return self.tables[BASELINE if tokenizer == BASELINE else self.tokenizer]


def on_neighbours(run: Path, folder: Path, language: str) -> Iterator[dict[str, Any]]:
    """Yield what the first seed of SaGe and of each control gives of statements on neighbours."""
    orders = read_orders(folder, language)
    initial = list(orders.index)
    corpus = WordCorpus.load(run / f"corpus/{language}.train.words.npz")
    bpe = read_pieces(REFERENCE / f"tokenizers/{language}/bpe/pieces.txt")
    claims = statements_on_neighbours(language)
    windows = sorted({claim.arguments["window"] for claim in claims})

    def table(pieces: Sequence[str]) -> pd.DataFrame:
        return tables_of(count_corpus(corpus, GreedySegmenter(pieces), windows))["neighbours"]

    of_bpe = table(bpe)
    for name in (*SAGE, *OURS):
        alive = (orders[name] < 0).to_numpy()
        kept = [piece for piece, stays in zip(initial, alive, strict=True) if stays]
        log.info("%s, %s: neighbours", language, name)
        tables = {BASELINE: of_bpe, name: table(kept)}
        case = Counted({}, initial, bpe, alive, kept, tokenizer=name, tables=tables)
        for claim in claims:
            value = claim.measured_by.function(case, **claim.arguments).ours
            yield {"language": language, "tokenizer": name, "id": claim.id, "value": value}


def statements_on_neighbours(language: str) -> list[Statement]:
    """Return the statements on the neighbours of pieces in a language's training text."""
    return [
        claim
        for claim in read_claims(VALUES)["claims"]
        if claim.has_chance and claim.corpus == TRAIN and "window" in claim.arguments
        if language in claim.languages or claim.any_language
    ]


@dataclass(frozen=True)
class Listed(Pruning):
    """A pruning by which listed words are segmented, as BPE segments them."""

    placed: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def boundaries(self, tokenizer: str) -> pd.DataFrame:
        """Return a tokenizer's boundaries and those between morphemes, word by word."""
        return self.placed[BASELINE if tokenizer == BASELINE else self.tokenizer]


def on_morphemes(words: Path, folder: Path, language: str) -> Iterator[dict[str, Any]]:
    """Yield what every vocabulary gives of statements on a list of words in morphemes."""
    orders, morphemes = read_orders(folder, language), read_morphemes(words, LISTS[language])
    bpe = read_pieces(REFERENCE / f"tokenizers/{language}/bpe/pieces.txt")

    def place(pieces: Sequence[str]) -> pd.DataFrame:
        segmenter, settings = GreedySegmenter(pieces), WordSettings()
        longest, normalizer = settings.max_word_chars, Normalizer(settings.normalization)
        placed = count_boundaries(morphemes, segmenter, normalizer, max_word_chars=longest)
        return placed.set_index("word")

    of_bpe = place(bpe)
    for name in orders:
        kept = list(orders.index[orders[name] < 0])
        placed = {BASELINE: of_bpe, name: place(kept)}
        case = Listed({}, list(orders.index), bpe, (orders[name] < 0).to_numpy(), kept, TRAIN, name)
        for claim in read_claims(VALUES)["claims"]:
            if claim.has_chance and claim.measured_by.reads == WORDS:
                value = claim.measured_by.function(replace(case, placed=placed)).ours
                yield {"language": language, "tokenizer": name, "id": claim.id, "value": value}


# --- tables and figure, of what is committed


def write_tables(folder: Path, output: Path) -> None:
    """Write table_overlap, that of other sizes, table_differences, table_controls, its figure."""
    shares = pd.concat([_overlaps(folder, language) for language in LANGUAGES], ignore_index=True)
    _write(table_overlap(shares, notes=[]), output / "table_overlap")
    of_sizes = {int(one.name): one for one in folder.iterdir() if one.name.isdigit()}
    shares = pd.concat(
        [
            _overlaps(of_sizes[size], language, f", {size:,} pieces")
            for size in sorted(of_sizes)
            for language in LANGUAGES
        ],
        ignore_index=True,
    )
    _write(table_overlap(shares, notes=[]), output / "table_overlap_sizes")
    _write(table_differences(folder), output / "table_differences")
    claims = output / "claims.json"
    write_json(claims, list(records(folder)))
    try:
        blind = {sage: [f"{sage}_{contexts}" for contexts in ("zero", "shuffled")] for sage in SAGE}
        look = {"labels": SAGE, "languages": LANGUAGES}
        table = table_controls(claims, VALUES, controls=CONTROLS, without_contexts=blind, **look)
        _write(table, output / "table_controls")
        drawn = {sage: {name: CONTROLS[name] for name in IN_FIGURE[sage]} for sage in SAGE}
        files = {form: output / f"figure_controls.{form}" for form in ("pdf", "png")}
        figure_controls(claims, VALUES, controls=drawn, style=STYLE, **look, **files)
    finally:
        claims.unlink()


def _overlaps(folder: Path, language: str, size: str = "") -> pd.DataFrame:
    orders = read_orders(folder, language)
    pruned = {name: frozenset(orders.index[orders[name] >= 0]) for name in orders}
    known = {label: seeds_of(list(orders), name) for name, label in (SAGE | CONTROLS).items()}
    readings = {label: known.pop(label) for label in SAGE.values()}
    controls = {label: seeds for label, seeds in known.items() if seeds}
    return overlaps({LANGUAGES[language] + size: pruned}, readings, controls, [CONTROLS["random"]])


def records(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the claims of the reference run on SaGe, with the controls of `folder`.

    Their verdicts against chance are the reference run's.
    """
    known = {claim.id: claim for claim in read_claims(VALUES)["claims"]}
    table = pd.read_csv(folder / "statements.csv", keep_default_na=False, na_values=[""])
    values = table.set_index(["language", "id"]).sort_index()
    for record in read_json(REFERENCE / "claims.json"):
        claim = known.get(record["id"])
        if claim is None or record["tokenizer"] not in SAGE:
            continue
        least = [] if record["frequency"] is None else [record["frequency"]]
        controls = {"random": record["random"], "frequency": least}
        key = (record["language"], record["id"])
        if record["corpus"] == TRAIN and key in values.index:
            own = values.loc[[key]].set_index("tokenizer")["value"]
            named = {name: seeds_of(list(own.index), name) for name in OURS}
            controls |= {name: own[seeds].tolist() for name, seeds in named.items()}
        controls = {name: seeds for name, seeds in controls.items() if seeds}
        met_by = {
            name: sum(meets(claim, Measurement(ours=value)) for value in seeds)
            for name, seeds in controls.items()
        }
        yield {**record, "controls": controls, "met_by": met_by, "direction": claim.direction}


COMPARED = {  # of each version, the control that counts and the one without vectors
    "sage": ("extra_tokens", "sage_zero"),
    "sage_released": ("counts", "sage_released_zero"),
}
EXAMPLES = 10


def table_differences(folder: Path) -> Table:
    """Return which pieces a version of SaGe prunes and a control keeps, and the other way round.

    Of several seeds, all of one prune a piece and none of the other does. `late` is the share of
    these pieces in the last quarter of what was pruned, where a little less loss would have kept
    them; examples are the earliest pieces that BPE made.
    """
    rows = [
        {"language": LANGUAGES[language], "pruned_by": label, "kept_by": other, **described}
        for language in LANGUAGES
        for sage, controls in COMPARED.items()
        for control in controls
        for label, other, described in _differences(read_orders(folder, language), sage, control)
    ]
    columns = {
        "language": "text",
        "pruned_by": "pruned by",
        "kept_by": "kept by",
        "pieces": "pieces",
        "word_initial": "start a word",
        "characters": "characters",
        "late": "late",
        "examples": "examples",
    }
    shown = pd.DataFrame(rows)[list(columns)]
    percent, mean = "{:.0%}".format, "{:.1f}".format
    cells = shown.assign(
        word_initial=shown["word_initial"].map(percent).str.replace("%", " %"),
        late=shown["late"].map(percent).str.replace("%", " %"),
        characters=shown["characters"].map(mean),
    )
    return Table(list(columns.values()), [cells.astype(str).to_numpy().tolist()], shown)


def _differences(
    orders: pd.DataFrame, sage: str, control: str
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    names = {SAGE[sage]: seeds_of(list(orders), sage)}
    names[CONTROLS[control]] = seeds_of(list(orders), control)
    for label, other in itertools.permutations(names):
        by, kept = orders[names[label]], orders[names[other]]
        pieces = orders.index[((by >= 0).all(axis=1) & (kept < 0).all(axis=1)).to_numpy()]
        texts = [piece.lstrip(WORD_START) for piece in pieces]
        yield (
            label,
            other,
            {
                "pieces": len(pieces),
                "word_initial": np.mean([piece.startswith(WORD_START) for piece in pieces]),
                "characters": np.mean([len(text) for text in texts]),
                "late": np.mean(by.loc[pieces].mean(axis=1) >= 0.75 * (by >= 0).sum().mean()),
                "examples": " ".join(pieces[:EXAMPLES]),
            },
        )


def _write(table: Table, path: Path) -> None:
    """Write a table as csv and Markdown."""
    frame = pd.DataFrame(table.data)
    frame.to_csv(path.with_suffix(".csv"), index=False, lineterminator="\n")
    path.with_suffix(".md").write_text(table.markdown(), encoding="utf-8")


def main(given: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--run", type=Path, help="a finished run's folder of results")
    parser.add_argument(
        "--morphemes", action="append", default=[], metavar="LANGUAGE=FILE", help="a list of words"
    )
    parser.add_argument("--size", help="pieces of the run's vocabularies, if not the reference's")
    parser.add_argument("--output", type=Path, default=REFERENCE.parent / "controls")
    arguments = parser.parse_args(given)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if arguments.size:
        write_size(arguments.run, arguments.output / arguments.size)
    elif arguments.run:
        lists = dict(one.split("=", 1) for one in arguments.morphemes)
        write_frames(arguments.run, arguments.output, lists)
    write_tables(REFERENCE.parent / "controls", arguments.output)


if __name__ == "__main__":
    main()
