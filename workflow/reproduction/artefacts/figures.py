"""The paper's figures (Sections 3 to 5), in the order of the report."""

from __future__ import annotations

from itertools import chain

from reproduction.artefacts.registry import (
    Read,
    Run,
    declare,
    paper_values,
    style_files,
)
from reproduction.artefacts.shared import (
    causal_files,
    compared,
    compared_sage,
    curve_files,
    curve_languages,
    differences_target,
    further_controls,
    groups_of_tokenizers,
    has_differences,
    labels_of,
    language_titles,
    ordered_tokenizers,
    without_contexts,
)
from reproduction.paper.measures import FEWEST_SEEDS


def _beside_controls(run: Run) -> dict[str, str]:
    """Return what `figure_controls` compares: each version of SaGe below the controls without its
    contexts, and these below the simple controls, which have the names of their methods.
    """
    named = labels_of(run, run.simple_controls)
    simple = {run.tokenizer(name).method: label for name, label in named.items()}
    counts = [name for name in further_controls(run) if run.tokenizer(name).preset == "counts"]
    versions = [[*without_contexts(run, sage), sage] for sage in compared_sage(run)]
    return simple | labels_of(run, [*counts[:1], *chain.from_iterable(versions)])


def _controls_of_readings(run: Run) -> dict[str, list[str]]:
    """Return the controls that each reading of SaGe is compared with, all by their labels."""
    direct = {name: without_contexts(run, name) for name in run.sage_readings}
    others = {
        name: {control for other in direct if other != name for control in direct[other]}
        for name in direct
    }
    return {
        label: run.labels(one for one in run.unseeded_controls if one not in others[name])
        for name, label in labels_of(run, run.sage_readings).items()
    }


def _with_controls(run: Run) -> list[str]:
    """Return the tokenizers that figures compare, and the simple controls."""
    return list(dict.fromkeys([*run.compared, *(run.simple_controls if run.compared else [])]))


# What the figures of a training corpus and those of another domain declare.
OF_FERTILITY = {
    "function": "figures.figure_fertility",
    "tokenizers": _with_controls,
    "settings": {
        "controls": lambda run: run.labels(n for n in run.simple_controls if n not in run.compared)
    },
    "reads": {
        "panels": Read(
            "analysis/{lang}/{corpus}/{tok}/fertility.parquet",
            each="analysis.counts.read_fertility",
        )
    },
}
_NEIGHBOURS = Read(
    "analysis/{lang}/{corpus}/{tok}/neighbours.parquet", each="analysis.counts.read_neighbours"
)
RATIO = {
    "function": "figures.figure_ratio",
    "tokenizers": compared,
    "settings": {"window": lambda run: run.config.analysis.windows[0]},
    "reads": {"panels": _NEIGHBOURS},
}


def _drawn_with_controls(run: Run) -> list[str]:
    """Return the readings of SaGe that are compared on the paper's statements; none if there are
    too few random prunings.
    """
    drawn = run.with_seeds(run.pruned_from_bpe("random"))
    return compared_sage(run) if run.reproduces and len(drawn) >= FEWEST_SEEDS else []


declare(
    "figure_overlap",
    "Contexts or counts: what controls also prune",
    "paper",
    "overlap.figure_overlap",
    """Contexts or counts: of the pieces that each version of SaGe prunes, the share that a control
    without contexts also prunes from the same vocabulary. The top row is the share that two seeds
    of SaGe have in common. Marks are means over all pairs of seeds, lines reach from the lowest to
    the highest. The paper has no such figure; ``table_overlap`` has all
    numbers.
    """,
    when=lambda run: run.sage_readings and run.unseeded_controls,
    needs="sage or sage_released, and controls of it such as random and sage_zero",
    settings={"controls": _controls_of_readings},
    reads={
        "rows": Read("tables/table_overlap.csv", each="paper.table.read_csv"),
        "style": lambda run: style_files("column"),
    },
)
declare(
    "figure_controls",
    "SaGe and prunings without contexts",
    "paper",
    "figures_controls.figure_controls",
    """SaGe and prunings without contexts, on a few of the paper's main statements: a panel for each
    statement and language, with different scales. The upright line is the paper's value; where it
    prints none, the title has its words. Lines of SaGe are 95 % intervals over the pieces or the
    lines of the text, and over its seeds where it has several. Open marks are controls: the mean of
    their seeds, and a line from the lowest to the highest. The paper has no such figure; all main
    statements are in ``table_controls``.
    """,
    when=_drawn_with_controls,
    settings={
        "vocabularies": _beside_controls,
        "languages": lambda run: language_titles(run, run.languages),
    },
    reads={
        "claims": Read("claims.parquet", whole="paper.figures_controls.read_values"),
        "shown": Read(paper_values, whole="paper.figures_controls.read_shown"),
    },
)
declare(
    "figure_lengths",
    "Length of pieces",
    "intrinsic",
    "figures.figure_lengths",
    """Length of the pieces of each vocabulary, in characters (paper, Section 4, “Token Length”).
    The word-start mark ``▁`` does not count; the mark standing alone has no length and is left out.
    The paper shows English and calls Turkish similar. |greedy| All panels have the same scale.
    """,
    tokenizers=compared,
    reads={
        "panels": Read("vocab/{lang}/{tok}/pieces.txt", each="analysis.vocabulary.read_lengths")
    },
)
declare(
    "figure_fertility",
    "Subwords per word",
    "intrinsic",
    caption="""
    Share of the words of the training corpus by the number of subwords they are cut into (paper,
    Section 4, “Subword Fertility”), and how many points that is above BPE's. Words of eight or more
    share the last group. Open marks are prunings without contexts, at random (one seed) and of the
    least frequent pieces. Both axes are logarithmic, and linear within 0.1 points of 0; a share of
    0 is not drawn. Panels above one another have the same scale. |greedy|
    """,
    **OF_FERTILITY,
)
declare(
    "figure_exponence",
    "Distinct neighbours of frequent pieces",
    "intrinsic",
    "figures.figure_exponence",
    """Number of distinct pieces that stand within a window around each piece anywhere in the
    training corpus, for the 200 pieces with the most of them, ranked for each tokenizer alone
    (paper, Section 4, “Contextual Exponence”). The vertical axis is logarithmic, with a different
    scale in each panel; the strip below repeats the curves as differences from BPE's, rank by rank,
    on one scale in all strips. The paper shows Turkish with window 5 and says that English and
    window 2 agree. |greedy|
    """,
    tokenizers=compared,
    settings={"windows": lambda run: run.config.analysis.windows},
    reads={"panels": _NEIGHBOURS},
)
declare(
    "figure_ratio",
    "Distinct neighbours per occurrence",
    "intrinsic",
    caption="""
    Distinct neighbours divided by frequency, over the pieces of each vocabulary (paper, Section
    4, “Contextual Exponence”); upright lines are medians. Pieces of fewer than ten occurrences are
    left out; each panel says how many. Of n occurrences the ratio is a multiple of 1/n, which gives
    a distribution with rare pieces a comb. An occurrence has at most ten neighbours in a window of
    five on either side, so no ratio is larger. The claim ``ratio_lower`` is about means, which can
    fall where medians rise. All panels have the same scale. |greedy|
    """,
    **RATIO,
)
declare(
    "figure_fertility_domain",
    "Subwords per word",
    "intrinsic",
    caption="""
    Share of words by their number of subwords, on a text of another domain, named at the left,
    with the vocabularies made from the training corpus, and how many points that is above BPE's
    (paper, Section 4, “Robustness to Domain Change”). Open marks are prunings without contexts.
    Both axes are logarithmic, and linear within 0.1 points of 0; a share of 0 is not drawn.
    |greedy|
    """,
    of_domains=True,
    **OF_FERTILITY,
)
declare(
    "figure_ratio_domain",
    "Distinct neighbours per occurrence",
    "intrinsic",
    caption="""
    Distinct neighbours divided by frequency over the pieces of each vocabulary, on a text of
    another domain, which the title names (paper, Section 4, “Robustness to Domain Change”); upright
    lines are medians. Pieces of fewer than ten occurrences are left out: on a small text they are
    many, and each panel says how many. Of n occurrences the ratio is a multiple of 1/n, which gives
    a distribution with rare pieces a comb. |greedy|
    """,
    of_domains=True,
    **RATIO,
)
declare(
    "figure_differences",
    "Every tokenizer minus BPE, by several methods",
    differences_target,
    "figures_differences.figure_differences",
    """Each tokenizer minus BPE (rows) on several measures (panels); right of 0 is better than BPE.
    Causal transformers and masked models predict held-out text; fine-tuned ones are scored on
    tasks. Probes are linear models of a task, of the pieces themselves or of frozen skip-gram
    vectors of them, and not language models; n-grams predict the pieces of held-out lines. Models
    of one seed are compared with one another. A filled mark is significant after Holm's adjustment;
    lines are 95 % intervals. The bracket at the bottom holds the differences that the test detects
    with less than 80 % power, for the least certain tokenizer. "Not run" says nothing. Scales
    differ between panels. The paper has no such figure; all numbers are in ``table_differences``.
    |constructed|
    """,
    when=has_differences,
    settings={
        "groups": groups_of_tokenizers,
        "baseline": lambda run: run.labels(["bpe"])[0],
    },
    # No column has room for its panels.
    reads={"style": lambda run: style_files(), "table": "tables/table_differences.csv"},
)
declare(
    "figure_learning_curves",
    "Learning curves",
    "downstream",
    "learning_curves.figure_learning_curves",
    """Learning curves of the language models on held-out lines, as differences from BPE's in bits
    per character at the same place; below 0 is better. Causal models, where the run has some, and
    those of what is pruned without contexts, predict whole lines; lines are means over seeds with
    Student's 95 % intervals. Masked models predict the words hidden, the same for every tokenizer;
    a word's pieces are predicted from left to right, and the code of their number is added, so
    vocabularies compare. Their bands are 95 % intervals over lines (bootstrap), and of several
    pretrainings over lines and seeds (Student's), around their mean. Final bits, and what tables
    without context need, are in ``table_differences``.
    The paper says that coherent tokens should need fewer updates and leaves it to future work
    (Section 4, “Subword Fertility”). The learning rate falls over the whole budget, so a point
    within a curve is not what a smaller budget would give.
    """,
    when=curve_languages,
    tokenizers=lambda run: run.models,
    settings={
        "labels": lambda run: run.labels(ordered_tokenizers(run)),
        "baseline": lambda run: run.labels(["bpe"])[0],
        "seed": lambda run: run.seed,
    },
    reads={
        "panels": Read(curve_files, whole="paper.curves.read_curves"),
        "causal": Read(causal_files, whole="paper.line_bits.read_causal"),
    },
)
