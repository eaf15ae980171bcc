"""Fill the tables of the pages whose numbers come from results/reference (`make docs`).

    python docs/render_tables.py

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`. Each function of `TABLES`
returns the lines of one of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import permutations, product
from pathlib import Path
from statistics import mean
from textwrap import wrap

import pandas as pd

from reproduction.paper.claims_frame import CONTROL, read_claims_frame, read_records
from reproduction.paper.claims_page import SIGNS
from reproduction.paper.control_pieces import LABELS, LANGUAGES, WITHOUT, kept_by, read_orders
from reproduction.paper.formats import NOTHING, difference, number
from reproduction.paper.measures import SIGNIFICANT
from reproduction.paper.overlap import TAKEN_AWAY
from reproduction.paper.table import markdown_table
from reproduction.paper.tally import tally
from reproduction.paper.two_runs import two_runs_markdown
from sagevocab.corpus.words import split_words
from sagevocab.pieces import WORD_START, read_pieces
from sagevocab.segmentation.segmenter import GreedySegmenter

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results/reference"
RERUNS = REFERENCE / "reruns"
CLAIMS = REFERENCE / "intrinsic/frames/claims.parquet"
SEEDS = RERUNS / "claims-blocks.parquet"  # five seeds, of the loss as the reruns are
VALUES = ROOT / "workflow/resources/paper_values.yaml"
PAGES = (
    "README.md",
    "docs/results.md",
    "results/reference/controls/README.md",
    "results/reference/reruns/README.md",
)
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(\n<!-- end of table -->)", re.DOTALL)

PROGRAM, PRINTED = "SaGe (released)", "SaGe (printed)"
VERSIONS = (PROGRAM, PRINTED)
LOSS = "SaGe (released loss)"  # of language models, in the program's place
SIZE = "16,000 pieces"
SIZES = ("8,000", "32,000")  # beside the reference run's

README_ROWS = (  # statement, name, what the paper says, decimal places of SaGe's values
    ("token_ratio", "tokens, relative to BPE", "1.125", 3),
    ("sage_only_word_initial", "pieces that only SaGe has: share that starts a word", "0.83", 2),
    ("bpe_only_short", "pieces that only BPE has: share of 2 or 3 characters", "0.56", 2),
    ("suffixes_broken_down", "boundaries at morphemes, F1 minus BPE's", "higher", 3),
    ("ratio_lower", "neighbours / frequency, change from BPE", "lower", 3),
)
README_CONTROLS = {
    "random": "pruned at random",
    "frequency": "least frequent pruned",
    "counts": "counts",
    "sage_released_zero": "without vectors",
    "sage_released_shuffled_vectors": "vectors of shuffled words",
}
MOST = 0.5
# The sentence of the README, of the paper's Table 1.
SENTENCE = "This gene is a pseudogene in humans and most other primates."
PRESETS = {  # preset -> its name in the run, what it is, what it is for
    "`printed`": ("sage", "the algorithm as the paper prints it (default)", "study Algorithm 3"),
    "`released`": ("sage_released", "what the authors' program prunes", "come near the paper"),
    "`counts`": ("counts", "a ratio of counts, without Word2Vec", "come nearly as near"),
    "(a control)": ("random", "pruned at random", "compare"),
}
CUT_SIZE = 16_000  # pieces that a model is cut to, where the rule decides
FREQUENT = 1000


def segmentations() -> list[str]:
    """Return a sentence under BPE and three prunings of the reference run."""
    pieces = read_pieces(REFERENCE / "intrinsic/frames/vocab/en/bpe/pieces.txt")
    orders = read_orders(REFERENCE / "controls/16000/en.parquet")
    names = {PRINTED: "sage", PROGRAM: "sage_released", "counts": "counts"}
    vocabularies = {"BPE": pieces}
    vocabularies |= {label: kept_by(orders, name) for label, name in names.items()}
    words = split_words(SENTENCE)
    lines = [
        f"{label:{max(map(len, vocabularies))}}  {' '.join(_cut(vocabulary, words))}"
        for label, vocabulary in vocabularies.items()
    ]
    return ["```text", *lines, "```"]


def _cut(pieces: list[str], words: list[str]) -> list[str]:
    numbers, _ = GreedySegmenter(pieces).segment_words(words)
    return [pieces[number] for number in numbers]


def presets() -> list[str]:
    """Return what each preset is, and what it makes of English."""
    records = read_records(CLAIMS, VALUES, {"sage", "sage_released"})
    measured, met = tally(records)
    frame = read_claims_frame(CLAIMS)
    ratios = frame[(frame["statement"] == "token_ratio") & (frame["language"] == "en")]
    ratios = ratios.assign(name=ratios["control"].fillna(ratios["tokenizer"]))
    tokens = ratios.groupby("name")["value"].mean()
    orders = read_orders(REFERENCE / "controls/16000/en.parquet")
    frequent, rows = frequent_starts(), []
    for preset, (name, what, use) in PRESETS.items():
        dropped = sum(orders[name].get(piece, -1) >= 0 for piece in frequent)
        cells = [f"{tokens[name]:.3f}", f"{met[name]:.0f}", str(dropped), use]
        rows.append([preset, what, *cells])
    head = ["preset", "what it is", "tokens, BPE = 1", f"statements met, of {measured}"]
    head += [f"pruned of the {FREQUENT:,} most frequent word starts (3+ letters)", "take it to"]
    return markdown_table(head, rows)


def frequent_starts() -> list[str]:
    """Return the most frequent starts of words, of three letters or more, in BPE's English."""
    folder = REFERENCE / "intrinsic/frames/analysis/en/train/bpe"
    counts = pd.read_parquet(folder / "frequencies.parquet")
    words = counts[counts["piece"].str.fullmatch(f"{WORD_START}[A-Za-z]{{3,}}")]
    return words.sort_values("count", ascending=False)["piece"].tolist()[:FREQUENT]


def readme() -> list[str]:
    """Return the README's statements beside their controls, which meet one by more than half."""
    frame = read_claims_frame(CLAIMS)
    frame = frame[frame["language"] == "en"]
    rows = []
    for statement, name, paper, places in README_ROWS:
        found = frame[frame["statement"] == statement]
        controls = found[found["role"] == CONTROL].groupby("control")
        means, met = controls["value"].mean(), controls["meets"].mean() > MOST
        shown = [f"{number(means[one], '.2f')}{' ✓' * bool(met[one])}" for one in README_CONTROLS]
        judged = found[found["verdict"].notna()].set_index("tokenizer")
        shown += [_with_verdict(judged.loc[one], places) for one in ("sage", "sage_released")]
        rows.append([name, paper, *shown])
    return markdown_table(["English", "paper", *README_CONTROLS.values(), *VERSIONS[::-1]], rows)


def _with_verdict(row: pd.Series, places: int) -> str:
    return f"{number(row['value'], f'.{places}f')} {SIGNS[row['verdict']]}"


def _cells(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return re.split(r" (?<!\\)\| ", line.removeprefix("| ").removesuffix(" |"))


def shares() -> list[str]:
    """Return what vectors, and contexts across words in them, account for, by seeds."""
    page = (REFERENCE / "controls/table_overlap_sizes.md").read_text("utf-8")
    head, _, *cells = (_cells(line) for line in page.splitlines() if line.startswith("|"))
    titles = [TAKEN_AWAY[kind] for kind in ("zero", "shuffled_vectors")]
    places = [head.index(title) for title in titles]
    found = {tuple(row[:2]): [row[place].replace(" %", "") for place in places] for row in cells}
    rows = [
        [text, *found[PROGRAM, f"{text}, {SIZE}"], *found[PRINTED, f"{text}, {SIZE}"]]
        for text in LANGUAGES.values()
    ]
    head = [f"{version}: {title}" for version, title in product(VERSIONS, titles)]
    return markdown_table(["%", *head], rows)


def found() -> list[str]:
    """Return the README's findings on what SaGe chooses by."""
    table = pd.read_csv(REFERENCE / "controls/table_overlap_sizes.csv")
    table = table[table["language"].str.endswith(SIZE)]
    runs = dict([*table.groupby(["reading", "control"])])

    def span(values: pd.Series) -> str:
        return f"{100 * values.min():.0f} to {100 * values.max():.0f} %"

    def lost(version: str, kind: str) -> str:
        return span(1 - runs[version, WITHOUT[version][kind]]["place"])

    compared = (WITHOUT[PROGRAM]["zero"], "its own seeds", "counts")
    without, seeds, counts = (span(runs[PROGRAM, one]["mean"]) for one in compared)
    text = [
        "- **Most of what the authors' program prunes is pruned without vectors, too**: "
        f"{without} in {len(LANGUAGES)} languages, where another seed prunes {seeds}, a ratio of "
        f"two counts {counts}. From random pruning to another seed, vectors account for "
        f"{lost(PROGRAM, 'zero')}, contexts across words for "
        f"{lost(PROGRAM, 'shuffled_vectors')}.",
        "- **The printed algorithm uses vectors more**: they account for "
        f"{lost(PRINTED, 'zero')}, contexts across words for {lost(PRINTED, 'shuffled_vectors')}.",
    ]
    return [line for item in text for line in wrap(item, 118, subsequent_indent="  ")]


def paired() -> list[str]:
    """Return on how many rows of the paired table SaGe differs from itself with other vectors."""
    table = pd.read_csv(REFERENCE / "intrinsic/tables/table_controls_paired.csv")
    table = table[table["difference"].notna()]
    rows = dict([*table.groupby(["tokenizer", "control"])])

    def differ(version: str, kind: str, column: str) -> int:
        return (rows[version, WITHOUT[version][kind]][column] < SIGNIFICANT).sum()

    kinds = ("zero", "shuffled_vectors")
    count = len(rows[PROGRAM, WITHOUT[PROGRAM]["zero"]])
    without, shuffled = (differ(PROGRAM, kind, "p_adjusted") for kind in kinds)
    printed = " and ".join(str(differ(PRINTED, kind, "p_adjusted")) for kind in kinds)
    before = " and ".join(str(differ(PROGRAM, kind, "p_value")) for kind in kinds)
    text = (
        "- Vectors change the paper's numbers in both directions: of "
        f"{count} rows of SaGe (released) in the [paired "
        f"table](../results/reference/intrinsic/tables/table_controls_paired.md), {without} differ "
        f"significantly from those without vectors, and {shuffled} from those with vectors of "
        f"shuffled words; of SaGe (printed) {printed}. Before Holm's adjustment it is {before} of "
        "SaGe (released)."
    )
    return wrap(text, 118, subsequent_indent="  ")


def overlap_sizes() -> list[str]:
    """Return the shares at other sizes."""
    table = pd.read_csv(REFERENCE / "controls/table_overlap_sizes.csv")
    runs = dict([*table.set_index("control").groupby(["reading", "language"])])
    kinds, rows = ("zero", "shuffled_vectors"), []
    for size, version, language in product(SIZES, VERSIONS, ("English", "Turkish")):
        if (of_run := runs.get((version, f"{language}, {size} pieces"))) is None:
            continue
        means = of_run["mean"][["its own seeds", "pruned at random"]]
        lacking = 1 - of_run["place"].reindex([WITHOUT[version][kind] for kind in kinds])
        shares = [
            NOTHING if pd.isna(share) else number(share, ".0%")
            for share in (of_run["place"]["counts"], *lacking)
        ]
        cells = [*map("{:.3f}".format, means), *shares]
        rows.append([size, version, language, *(cell.replace("%", " %") for cell in cells)])
    head = ["pieces", "version", "text", "another seed", "random", "place of counts"]
    return markdown_table([*head, *(TAKEN_AWAY[kind] for kind in kinds)], rows)


def pieces() -> list[str]:
    """Return the pieces on which SaGe (released) and counts differ."""
    table = pd.read_csv(REFERENCE / "controls/table_pieces_differ.csv")
    either = [PROGRAM, "counts"]
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
    return markdown_table(head, rows)


def digits() -> list[str]:
    """Return how many pieces with digits each version and control prunes, the mean over seeds.

    And, among pieces without digits, what share of the choice of SaGe (released) counts account
    for. Languages without such pieces are left out.
    """
    rows = []
    for language in LANGUAGES:
        orders = read_orders(REFERENCE / f"controls/16000/{language}.parquet")
        with_digits = orders.index.str.contains(r"\d")
        if not with_digits.any():
            continue
        counts = (orders[with_digits] >= 0).sum()
        means = counts.groupby(lambda name: name.partition(".")[0]).mean()
        versions = [
            f"{version}{by}"
            for version in ("sage", "sage_released")
            for by in ("", "_shuffled_vectors", "_zero")
        ]
        shown = [f"{means[name]:.0f}" for name in (*versions, "counts", "random")]
        without = f"{100 * _accounted_by_counts(orders[~with_digits] >= 0):.0f} %"
        rows.append([LANGUAGES[language], f"{with_digits.sum():,}", *shown, without])
    blind = ["vectors of shuffled words", "without vectors"]
    head = ["pieces with digits", "of 20,000", PRINTED, *blind, PROGRAM, *blind]
    without = "without digits: counts account for"
    return markdown_table([*head, "counts", "random", without], rows)


def _accounted_by_counts(pruned: pd.DataFrame) -> float:
    """Return the share of SaGe's choice that counts account for (statistics.md).

    pruned: bool, a row a piece and a column a vocabulary, `NAME` or `NAME.seedN`.
    """
    named = pruned.columns.str.partition(".").get_level_values(0)
    seeds, draws = pruned.columns[named == "sage_released"], pruned.columns[named == "random"]

    def overlap(pairs: Iterable[tuple[str, str]]) -> float:
        return mean((pruned[a] & pruned[b]).sum() / pruned[a].sum() for a, b in pairs)

    least, most = overlap(product(seeds, draws)), overlap(permutations(seeds, 2))
    return (overlap((seed, "counts") for seed in seeds) - least) / (most - least)


def causal() -> list[str]:
    """Return bits a character of causal models: BPE's, and what the others need beyond."""
    models = {
        ("causal", "English"): "32,000; 2 layers, 256 units",
        ("causal", "Turkish"): "32,000; 2 layers, 256 units",
        ("causal_large", "English"): "750,000; 4 layers, 512 units",
        ("causal_large", "Turkish"): "462,441; 4 layers, 512 units",
    }
    names = ("random", "counts", "counts_reranked", "sage_released_loss_zero")
    names += ("sage_released_loss_shuffled", "sage_released_loss")
    rows = []
    for (folder, language), model in models.items():
        table = pd.read_csv(REFERENCE / f"controls/{folder}/table_causal.csv")
        is_shown = (table["language"] == language) & (table["baseline"] == "BPE")
        found = table[is_shown].set_index("tokenizer")
        differences = [
            number(found["difference"][LABELS[name]], "+.3f")
            if LABELS[name] in found.index
            else NOTHING
            for name in names
        ]
        seeds, of_bpe = found[["seeds", "baseline_value"]].iloc[0]
        rows.append([model, language, f"{seeds:.0f}", f"{of_bpe:.3f}", *differences])
    head = ["lines, model", "text", "seeds", "BPE", "random", "counts", "counts, ranked again"]
    return markdown_table([*head, "without vectors", "shuffled words", LOSS], rows)


def cut() -> list[str]:
    """Return what models lose by each pruning, in per cent of their bits, and tokens, at a size."""
    data = pd.read_csv(REFERENCE / "controls/codes/table_cut.csv")
    data = data[(data["baseline"] == "whole") & (data["size"] == CUT_SIZE)]
    order = data.groupby("tokenizer")["difference"].mean().sort_values().index
    of_text = {text: rows.set_index("tokenizer") for text, rows in data.groupby("language")}
    rows = []
    for name in order:
        losses = [difference(frame.loc[name], "+.1f") for frame in of_text.values()]
        tokens = [number(frame.loc[name, "symbols"], ".3f") for frame in of_text.values()]
        rows.append([name, *losses, *tokens])
    head = [f"{text}: {what}" for what in ("bits, %", "tokens") for text in of_text]
    return markdown_table(["loses first", *head], rows)


def vectors() -> list[str]:
    """Return the scores of frozen vectors minus BPE's, with intervals of 95 %."""
    data = pd.read_csv(REFERENCE / "controls/vectors/table_vectors.csv")
    data = data[data["baseline"] == "BPE"].groupby("tokenizer")
    names = {
        LOSS: LOSS,
        "counts": "counts",
        f"{LOSS} without vectors": "without vectors",
        f"{LOSS}, shuffled words": "shuffled words",
        "pruned at random": "pruned at random (five times)",
    }
    rows = []
    for label, name in names.items():
        cells = [
            difference(row, "+.1f", 100) + r"\*" * row["significant"]
            for row in data.get_group(label).to_dict("records")
        ]
        rows.append([name, *cells])
    return markdown_table(
        ["vectors of, minus BPE", "Turkish entities (F1)", "STS-B (Pearson)"], rows
    )


def halves() -> list[str]:
    """Return the claims of two halves of the text."""
    return _two_runs({f"half {n}": RERUNS / f"claims-half-{n}.parquet" for n in (1, 2)})


def trainers() -> list[str]:
    """Return the claims with two trainers of Word2Vec."""
    return _two_runs({"blocks": SEEDS, "gensim": RERUNS / "claims-gensim.parquet"})


def _two_runs(runs: dict[str, Path]) -> list[str]:
    return two_runs_markdown(runs, SEEDS, VALUES)


TABLES: dict[str, Callable[[], list[str]]] = {
    table.__name__: table
    for table in (
        *(segmentations, presets, found, readme, shares, paired, overlap_sizes, pieces, digits),
        *(causal, cut, vectors, halves, trainers),
    )
}


def render(page: str) -> str:
    """Return a page with each of its tables computed from the reference results."""

    def filled(block: re.Match[str]) -> str:
        lines = TABLES[block[2]]()
        return "".join([block[1], "\n", *(f"{line}\n" for line in lines), block[3]])

    return BLOCK.sub(filled, page)


def main() -> None:
    """Render all pages in place."""
    for name in PAGES:
        path = ROOT / name
        path.write_text(render(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
