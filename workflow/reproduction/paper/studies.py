"""The claims and key quantities of every reading of the loss, on a sample and at full size.

A reading is measured as any tokenizer of a run is: the same measures and the same verdict rules.
How verdicts of several seeds become one was written down before any value was looked at. Each seed
is judged by itself, with its own interval. The verdict of the reading is the one that most seeds
give; of equally frequent ones the less favourable. Quantities are means over the seeds with the
lowest and the highest value: two or three seeds are too few for an interval.

A reading is judged by the statements of which counts decide (`Statement.is_of_counts`).
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.analysis.vocabulary import common_share
from reproduction.paper.claims import assess_claims
from reproduction.paper.claims_inputs import TRAIN, Case, Results
from reproduction.paper.formats import NOTHING
from reproduction.paper.inputs import BASELINE
from reproduction.paper.measures import MEASURES
from reproduction.paper.statements import VERDICTS, read_claims
from reproduction.parquet import read_parquet
from sagevocab.errors import UserError
from sagevocab.pieces import read_pieces
from sagevocab.state import ResumableState, fingerprint, read_json, write_json

log = logging.getLogger(__name__)

# Of a language, what `assess_readings` wrote.
Assessments = Mapping[str, Mapping[str, Any]]
SAMPLE, FULL = "sample", "full"
# The setting `loss` -> what tables and figures call it.
LOSSES = {
    "total": "total",
    "mean_piece_lines": "mean, lines with the piece",
    "mean_string_lines": "mean, lines with the string",
}


@dataclass(frozen=True)
class Spread:
    """A number taken several times: its mean, lowest and highest value; nan of nothing."""

    mean: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Return the spread of some values."""
        known = np.array(list(values), dtype=float)
        if not known.size:
            return cls(float("nan"), float("nan"), float("nan"), 0)
        return cls(float(known.mean()), float(known.min()), float(known.max()), len(known))

    def record(self) -> dict[str, float]:
        """Return the numbers as a CSV has them."""
        return {"mean": self.mean, "lowest": self.low, "highest": self.high}


@dataclass(frozen=True)
class Build:
    """A vocabulary and the pieces that were pruned on the way to it; BPE prunes none."""

    pieces: frozenset[str]
    pruned: frozenset[str]


def read_build(folder: Path | str) -> Build:
    """Read `pieces.txt` and, if there is one, `ablations.parquet`.

    Raises:
        UserError: a file is missing or damaged.
    """
    path = Path(folder) / "ablations.parquet"
    pieces = frozenset(read_pieces(Path(folder) / "pieces.txt"))
    pruned = read_parquet(path, ["piece"])["piece"] if path.exists() else ()
    return Build(pieces, frozenset(pruned))


def common_shares(builds: Sequence[Build]) -> tuple[Spread, Spread]:
    """Return the shares in common of every two builds: of vocabularies, and of pruned pieces."""
    pairs = list(combinations(builds, 2))
    vocabularies = (common_share(one.pieces, two.pieces) for one, two in pairs)
    pruned = [pair for pair in pairs if all(build.pruned for build in pair)]
    return Spread.of(vocabularies), Spread.of(
        common_share(one.pruned, two.pruned) for one, two in pruned
    )


@dataclass(frozen=True)
class Quantity:
    """A number that readings are compared by: what a measure gives, without a verdict.

    measure, arguments: as a claim has them; the window of neighbours is the run's first. plus: what
    is added, so that a change is a ratio. own: BPE has it by itself. head: of its column in tables,
    two lines; None keeps it to the CSV. percent: it is a share. The paper's own value is that of
    the claim with the same name.
    """

    name: str
    measure: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    head: tuple[str, str] | None = None
    percent: bool = True
    plus: float = 0.0
    own: bool = False

    def measured(self, case: Case, window: int) -> float:
        """Return its value on a vocabulary; nan where there is nothing to count."""
        around = {"window": window} if self.measure in _OF_NEIGHBOURS else {}
        found = MEASURES[self.measure].function(case, **self.arguments, **around)
        return found.ours + self.plus

    def cell(self, value: float | None) -> str:
        """Return a value as tables show it."""
        if value is None or math.isnan(value):
            return NOTHING
        return f"{100 * value:.1f}" if self.percent else f"{value:.3f}"


_OF_NEIGHBOURS = ("relative_ratio_difference", "mean_neighbours_ratio")
_PLAIN = {"count_word_start": False}  # lengths
QUANTITIES = (
    Quantity(
        "sage_only_word_initial",
        "word_initial_share",
        {"side": "sage"},
        ("SaGe-only", "word-initial %"),
    ),
    Quantity(
        "bpe_only_word_initial",
        "word_initial_share",
        {"side": "bpe"},
        ("BPE-only", "word-initial %"),
    ),
    Quantity(
        "bpe_only_short",
        "length_share",
        {"side": "bpe", "shortest": 2, "longest": 3, **_PLAIN},
        ("BPE-only", "length 2–3 %"),
    ),
    Quantity(
        "sage_only_long",
        "length_share",
        {"side": "sage", "shortest": 5, **_PLAIN},
        ("SaGe-only", "length ≥ 5 %"),
    ),
    Quantity("token_ratio", "token_ratio", head=("Tokens", "SaGe / BPE"), percent=False),
    Quantity(
        "whole_words", "words_share", {"fewest": 1, "most": 1}, ("Words", "whole %"), own=True
    ),
    Quantity("long_words", "words_share", {"fewest": 5}, ("Words", "≥ 5 pieces %"), own=True),
    Quantity("fertility", "tokens_of_a_word", percent=False, own=True),
    Quantity(
        "ratio_to_bpe",
        "relative_ratio_difference",
        head=("Neighbours per occurrence", "SaGe / BPE"),
        percent=False,
        plus=1.0,
    ),
    Quantity("neighbours_to_bpe", "mean_neighbours_ratio", percent=False),
)


def require_studies(rows: Collection[Any]) -> None:
    """Check that the run has studies.

    Raises:
        UserError: it has none.
    """
    if not rows:
        raise UserError(
            "config key studies: the run has no such study; set studies.enabled to true and list "
            "studies.readings (and studies.varied, studies.values for stability and sensitivity), "
            "and languages of the run in studies.languages"
        )


def assess_readings(
    language: str,
    study: Results,
    builds: Sequence[tuple[str, int]],
    run: Results | None,
    *,
    values: Path | str,
    window: int,
    output: Path | str,
    state_dir: Path | str | None = None,
    code: str = "",
) -> None:
    """Measure claims and quantities of every reading with every seed, in one language.

    study: what was made of a sample; its tokenizers are named {reading}.seed{seed}. builds:
    (reading, seed). run: the run itself, whose SaGe tokenizers are the readings at full size; None
    without BPE to compare them with. values: `paper_values.yaml`. window: of the quantities about
    neighbours. state_dir: keeps what is judged, build by build, for the same inputs and `code`.
    Writes JSON: `paper` (quantities that the paper prints, of English only), `baselines` (scale ->
    quantities of BPE), and `builds`, each with scale, name, seed, preset, quantities and claims
    (id, paper, beyond, ours, low, high, verdict, reason; in the paper's order).

    Raises:
        UserError: an artefact is missing or damaged, or `values` names what does not exist.
    """
    printed = read_claims(values)
    known = {claim.id: claim.paper for claim in printed["claims"]} if language == "en" else {}
    printed["claims"] = [claim for claim in printed["claims"] if claim.is_of_counts]
    cases = {
        (SAMPLE, name, seed): _case(study, language, f"{name}.seed{seed}") for name, seed in builds
    }
    for name in run.sage_tokenizers if run else []:
        cases[FULL, name, run.seed] = _case(run, language, name)
    files = sorted({path for case in cases.values() for path in _files(case)})
    mark = fingerprint(code, language, window, Path(values), *files) if state_dir else ""
    state = ResumableState(state_dir, mark)
    document: dict[str, Any] = {
        "paper": {q.name: known[q.name] for q in QUANTITIES if known.get(q.name) is not None},
        "baselines": {
            scale: _with_null(quantities(replace(case, tokenizer=BASELINE), window))
            for scale, case in {scale: case for (scale, _, _), case in cases.items()}.items()
        },
        "builds": [],
    }
    for (scale, name, seed), case in cases.items():
        log.info("%s: %s", language, case.tokenizer)
        build = {"scale": scale, "name": name, "seed": seed}
        kept_as = ".".join(map(str, build.values()))
        judged = state.load_json(kept_as)
        if judged is None:
            judged = _judged(case, printed, window)
            state.save_json(kept_as, judged)
        document["builds"].append(build | judged)
    write_json(output, document)
    state.clear()


def _case(run: Results, language: str, tokenizer: str) -> Case:
    """Return a build as the only one of its run beside BPE: that is Holm's family, too."""
    tokenizers = {name: run.tokenizers[name] for name in (BASELINE, tokenizer)}
    alone = replace(run, languages=[language], tokenizers=tokenizers)
    return Case(alone, language, TRAIN, tokenizer, {})


def _files(case: Case) -> list[Path]:
    """Return what decides all counts: the build's vocabulary, BPE's, and the words."""
    folders = [case.run.vocabulary(case.language, name) for name in case.run.tokenizers]
    return [*(path / "pieces.txt" for path in folders), case.run.words(case.language, TRAIN)]


def _judged(case: Case, values: Mapping[str, Any], window: int) -> dict[str, Any]:
    """Return preset, quantities and claims of a build."""
    keys = ("id", "paper", "ours", "low", "high", "verdict", "reason")
    return {
        "preset": case.run.tokenizers[case.tokenizer],
        "quantities": _with_null(quantities(case, window)),
        "claims": [
            {**{key: record[key] for key in keys}, "beyond": record.get("beyond", False)}
            for record in assess_claims(case.run, values)
            if record["language"] == case.language
        ],
    }


def _with_null(numbers: Mapping[str, float]) -> dict[str, float | None]:
    """Return numbers as JSON has them, where nan is null."""
    return {name: None if math.isnan(number) else number for name, number in numbers.items()}


# --- quantities


def quantities(case: Case, window: int) -> dict[str, float]:
    """Return the quantities of a vocabulary; of BPE those that it has by itself."""
    shown = [q for q in QUANTITIES if q.own or case.tokenizer != BASELINE]
    alone = replace(case, alone=True)
    return {quantity.name: quantity.measured(alone, window) for quantity in shown}


# --- what seeds give together


def read_assessment(path: Path | str) -> dict[str, Any]:
    """Read what `assess_readings` wrote of one language.

    Raises:
        UserError: the file is missing or holds something else.
    """
    try:
        document = read_json(path)
        return {key: document[key] for key in ("paper", "baselines", "builds")}
    except (KeyError, TypeError) as error:
        raise UserError(f"{path}: holds no readings ({error}); delete it and run again") from error


def builds_of(assessment: Mapping[str, Any], row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the builds of a reading, by scale and name: one a seed."""
    wanted = row["scale"], row["name"]
    return [build for build in assessment["builds"] if (build["scale"], build["name"]) == wanted]


def row_title(row: Mapping[str, Any]) -> str:
    """Return what tables and figures call a reading."""
    return f"{row['label']}, full size" if row["scale"] == FULL else row["label"]


def spread_of(builds: Iterable[Mapping[str, Any]], quantity: str) -> Spread:
    """Return mean, lowest and highest value of a quantity over builds."""
    values = (build["quantities"][quantity] for build in builds)
    return Spread.of(value for value in values if value is not None)


def verdict_over_seeds(verdicts: Sequence[str]) -> str:
    """Return the most frequent verdict; of equally frequent ones the least favourable."""
    counts = Counter(verdicts)
    return max(counts, key=lambda verdict: (counts[verdict], VERDICTS.index(verdict)))


def verdicts_of(builds: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the verdict of a reading on each claim that the paper makes of the language."""
    return {
        records[0]["id"]: verdict_over_seeds([record["verdict"] for record in records])
        for records in zip(*(build["claims"] for build in builds), strict=True)
        if not records[0]["beyond"]
    }


def stable_ranking(path: Path | str) -> tuple[int, float]:
    """Return the distance (iterations) and the correlation by which a ranking is called stable."""
    claims = read_claims(path)["claims"]
    claim = next(claim for claim in claims if claim.measure == "ranking_stability")
    return claim.arguments["iterations"], claim.threshold
