"""Fill the tables of the pages whose numbers come from results/reference (`make docs`).

    python docs/render_tables.py

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`. Each function of `TABLES`
renders one of them as Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from pathlib import Path
from statistics import fmean

import pandas as pd

from reproduction.paper.formats import number

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results/reference"
PAGES = ("README.md", "docs/results.md")
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n\n).*?(\n<!-- end of table -->)", re.DOTALL)

LANGUAGES = {"en": "English", "tr": "Turkish", "de": "German", "ru": "Russian"}
VERSIONS = {"SaGe 1.0": "sage_released", "SaGe": "sage"}
SIGNS = {"reproduced": "✓", "same direction": "≈", "undecided": "?", "not reproduced": "✗"}

README_ROWS = (  # statement, name, what the paper says, decimal places of SaGe's values
    ("token_ratio", "tokens, relative to BPE", "1.125", 3),
    ("sage_only_word_initial", "pieces that only SaGe has: share that starts a word", "0.83", 2),
    ("bpe_only_word_initial", "pieces that only BPE has: share that starts a word", "0.22", 2),
    ("bpe_only_short", "pieces that only BPE has: share of 2 or 3 characters", "0.56", 2),
    ("suffixes_broken_down", "boundaries at morphemes, F1 minus BPE's", "higher", 3),
    ("ratio_lower", "neighbours / frequency, change from BPE", "lower", 3),
)
CONTROL_ROWS = (  # rows of table_controls on the page of results, and their texts
    ("tokens, SaGe over BPE", "English"),
    ("discarded pieces that BPE keeps", "English"),
    ("SaGe-only pieces that start a word", "English"),
    ("BPE-only pieces that start a word", "English"),
    ("BPE-only pieces of 2 or 3 characters", "English"),
    ("SaGe-only pieces of 5 or more characters", "English"),
    ("single-character tokens, log ratio", "English"),
    ("boundaries between morphemes, F1, SaGe minus BPE", "English"),
    ("boundaries between morphemes, F1, SaGe minus BPE", "Turkish"),
    ("words of one subword, SaGe minus BPE", "English"),
    ("words of 5 or more subwords, SaGe minus BPE", "English"),
    ("ranks with fewer neighbours, window 5", "English"),
    ("ranks with fewer neighbours, window 5", "Turkish"),
    ("neighbours / frequency, change from BPE", "English"),
    ("neighbours / frequency, change from BPE", "Turkish"),
)
CONTROL_COLUMNS = {  # column of table_controls -> column of the page
    "text": "text",
    "paper": "paper",
    "random": "random",
    "least frequent": "least frequent",
    "counts": "counts",
    "SaGe 1.0 without vectors": "without vectors",
    "SaGe 1.0, shuffled words": "shuffled words",
    "SaGe": "SaGe",
    "SaGe 1.0": "SaGe 1.0",
}


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, which ends in a line break."""
    lines = [head, ["---"] * len(head), *rows]
    return (
        "".join(f"| {' | '.join(line)} |\n" for line in lines)
        .replace("| ---", "|---")
        .replace("--- |", "---|")
    )


def readme() -> str:
    """Return the README's statements beside their controls."""
    table = pd.read_csv(REFERENCE / "intrinsic/tables/table_controls.csv")
    table = table[table["language"] == "en"].set_index(["id", "tokenizer"])
    rows = []
    for statement, name, paper, places in README_ROWS:
        versions = [table.loc[(statement, version)] for version in ("sage", "sage_released")]
        first = versions[0]
        mean, low, high = (
            number(first[f"random_{column}"], ".2f") for column in ("mean", "low", "high")
        )
        columns = ("frequency", "counts", "sage_released_zero_mean", "sage_released_shuffled_mean")
        controls = [number(first[column], ".2f") for column in columns]
        values = [_with_verdict(version, places) for version in versions]
        rows.append([name, paper, f"{mean} ({low} to {high})", *controls, *values])
    head = ["English", "paper", "random", "least frequent", "counts", "without vectors"]
    return markdown([*head, "shuffled words", "SaGe", "SaGe 1.0"], rows)


def _with_verdict(row: pd.Series, places: int) -> str:
    return f"{number(row['ours'], f'.{places}f')} {SIGNS[row['verdict']]}"


def controls() -> str:
    """Return some rows of table_controls."""
    text = (REFERENCE / "intrinsic/tables/table_controls.md").read_text(encoding="utf-8")
    head, _, *lines = (re.split(r" (?<!\\)\| ", line.strip("| ")) for line in text.splitlines())
    shown = [head.index(column) + 1 for column in CONTROL_COLUMNS]
    cells = {(line[0], line[1]): line for line in lines if len(line) > max(shown)}
    rows = [[name, *(cells[name, title][at] for at in shown)] for name, title in CONTROL_ROWS]
    return markdown(["", *CONTROL_COLUMNS.values()], rows)


def overlap() -> str:
    """Return the share of SaGe's prunings that each control prunes, at 16,000 pieces."""
    table = pd.read_csv(REFERENCE / "intrinsic/tables/table_overlap.csv")
    means = table.set_index(["reading", "language", "control"])["mean"]
    rows = []
    for version, language in product(VERSIONS, ("English", "Turkish")):
        names = ["its own seeds", "pruned at random", "least frequent pruned", "extra tokens"]
        names += ["counts", f"{version} without vectors", f"{version}, shuffled words"]
        shares = [number(means[version, language, name], ".3f") for name in names]
        rows.append([version, language, *shares])
    head = ["pruned in common with", "text", "own seeds", "random", "least frequent"]
    head += ["extra tokens", "counts", "without vectors", "shuffled words"]
    return markdown(head, rows)


def _pruned(language: str, folder: str) -> dict[str, set[str]]:
    """Return the pieces that each tokenizer and control pruned, by name and seed."""
    table = pd.read_parquet(REFERENCE / folder / f"{language}.parquet").set_index("piece")
    return {name: set(table.index[table[name] >= 0]) for name in table}


def _in_common(pruned: dict[str, set[str]], sage: str, control: str | None) -> float:
    """Return the mean share of SaGe's prunings that a control shares; None: its other seeds."""
    first, second = ([n for n in pruned if n.partition(".")[0] == one] for one in (sage, control))
    pairs = product(first, second) if control else combinations(first, 2)
    return fmean(len(pruned[a] & pruned[b]) / len(pruned[a]) for a, b in pairs)


def overlap_sizes() -> str:
    """Return the same at other sizes and languages, and on a scale from random to seeds."""
    rows = []
    for size, languages in ((8_000, "en tr"), (16_000, "de ru"), (32_000, "en tr")):
        for (version, name), language in product(VERSIONS.items(), languages.split()):
            pruned = _pruned(language, f"controls/{size}")
            names = (None, "random", "counts", f"{name}_zero", f"{name}_shuffled")
            seeds, random, *others = (_in_common(pruned, name, control) for control in names)
            shares = [f"{value:.3f}" for value in (seeds, random, *others)]
            scale = [f"{100 * (value - random) / (seeds - random):.0f} %" for value in others]
            rows.append([f"{size:,}", version, LANGUAGES[language], *shares, *scale])
    head = ["pieces", "version", "text", "own seeds", "random", "counts", "without vectors"]
    head += ["shuffled words", "counts, on the scale", "without vectors, on it"]
    return markdown([*head, "shuffled words, on it"], rows)


def pieces() -> str:
    """Return the pieces on which SaGe 1.0 and counts differ."""
    table = pd.read_csv(REFERENCE / "controls/table_pieces_differ.csv")
    either = ["SaGe 1.0", "counts"]
    table = table[table["pruned_by"].isin(either) & table["kept_by"].isin(either)]
    rows = [
        [
            row["pruned_by"],
            row["language"],
            f"{row['pieces']:,}",
            f"{100 * row['word_initial']:.0f} %",
            f"{row['characters']:.1f}",
            f"{100 * row['digits']:.0f} %",
            f"{100 * row['late']:.0f} %",
            " ".join(f"`{piece}`" for piece in row["examples"].split()[:6]),
        ]
        for _, row in table.iterrows()
    ]
    head = ["pruned by all seeds of this, by none of the other", "text", "pieces", "start a word"]
    head += ["characters", "with digits", "in the last quarter", "the first that BPE made"]
    return markdown(head, rows)


def digits() -> str:
    """Return how many pieces with digits each version and control prunes, the mean over seeds."""
    rows = []
    for language, title in LANGUAGES.items():
        folder = "intrinsic/prunings" if language in ("en", "tr") else "controls/16000"
        table = pd.read_parquet(REFERENCE / folder / f"{language}.parquet")
        with_digits = table["piece"].str.contains(r"\d")
        counts = (table.drop(columns="piece")[with_digits] >= 0).sum()
        means = counts.groupby(lambda name: name.partition(".")[0]).mean()
        versions = [
            f"{version}{by}"
            for version in ("sage", "sage_released")
            for by in ("", "_shuffled", "_zero")
        ]
        shown = [f"{means[name]:.0f}" for name in (*versions, "counts", "random")]
        rows.append([title, f"{with_digits.sum():,}", *shown])
    blind = ["shuffled words", "without vectors"]
    head = ["pieces with digits", "of 20,000", "SaGe", *blind, "SaGe 1.0", *blind]
    return markdown([*head, "counts", "random"], rows)


def causal() -> str:
    """Return bits a character of causal models: BPE's, and what the others need beyond."""
    folders = {"causal": "2 layers, 256 units", "causal_large": "4 layers, 512 units"}
    lines = {
        ("causal", "en"): 32_000,
        ("causal", "tr"): 32_000,
        ("causal_large", "en"): 750_000,
        ("causal_large", "tr"): 462_441,
    }
    tokenizers = ["random", "counts", "counts_reranked", "sage_released_zero"]
    tokenizers += ["sage_released_shuffled", "sage_released"]
    rows = []
    for (folder, language), count in lines.items():
        bits = pd.read_parquet(REFERENCE / f"controls/{folder}/{language}.parquet")
        totals = bits.astype({"bits": float}).groupby(["tokenizer", "seed"])
        totals = totals[["bits", "characters"]].sum()
        rates = (totals["bits"] / totals["characters"]).groupby("tokenizer").mean()
        differences = [
            number(rates[name] - rates["bpe"], "+.3f") if name in rates else "–"
            for name in tokenizers
        ]
        model = f"{count:,}; {folders[folder]}"
        seeds = str(bits["seed"].nunique())
        rows.append([model, LANGUAGES[language], seeds, f"{rates['bpe']:.3f}", *differences])
    head = ["lines, model", "text", "seeds", "BPE", "random", "counts", "counts, ranked again"]
    return markdown([*head, "without vectors", "shuffled words", "SaGe 1.0"], rows)


def vectors() -> str:
    """Return the scores of frozen vectors minus BPE's, with intervals of 95 %."""
    data = pd.read_csv(REFERENCE / "controls/vectors/table_vectors.csv")
    data = data[data["baseline"] == "BPE"].groupby("label")
    names = {
        "SaGe 1.0": "SaGe 1.0",
        "counts": "counts",
        "SaGe 1.0 without vectors": "SaGe 1.0 without vectors",
        "SaGe 1.0, shuffled words": "SaGe 1.0 on shuffled words",
        "pruned at random": "pruned at random (five times)",
    }
    rows = []
    for label, name in names.items():
        cells = [
            f"{number(100 * row.difference, '+.1f')} ± {50 * (row.high - row.low):.1f}"
            + r"\*" * (row.p_adjusted < 0.05)
            for row in data.get_group(label).itertuples()
        ]
        rows.append([name, *cells])
    return markdown(["vectors of, minus BPE", "Turkish entities (F1)", "STS-B (Pearson)"], rows)


TABLES: dict[str, Callable[[], str]] = {
    table.__name__: table
    for table in (readme, controls, overlap, overlap_sizes, pieces, digits, causal, vectors)
}


def render(page: str) -> str:
    """Return a page with each of its tables computed from the reference results."""
    return BLOCK.sub(lambda block: block[1] + TABLES[block[2]]() + block[3], page)


def main() -> None:
    """Render all pages in place."""
    for name in PAGES:
        path = ROOT / name
        path.write_text(render(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
