"""Tables over committed controls and reruns: again from their answers, and values by hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from reproduction.paper import control_vectors
from reproduction.paper.control_vectors import explanation
from reproduction.paper.reference_tables import write_reference_tables
from reproduction.paper.two_runs import compare, seed_limit

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "results/reference"


def test_every_table_is_computed_again_from_what_is_committed(tmp_path: Path) -> None:
    write_reference_tables(REFERENCE, tmp_path, None)
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("table_*"))
    committed = [path.relative_to(REFERENCE) for path in (REFERENCE / "controls").rglob("table_*")]
    assert written == sorted(committed)
    for name in written:
        if name.suffix == ".md":
            assert (tmp_path / name).read_bytes() == (REFERENCE / name).read_bytes(), name
        else:  # a value between two rounded ones may go either way
            numbers = (pd.read_csv(folder / name) for folder in (tmp_path, REFERENCE))
            pd.testing.assert_frame_equal(*numbers, rtol=1e-9)


# --- vectors


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "of contexts"),
        ({"counts": (0.02, False)}, "open"),  # SaGe (released loss) is not above every control
        ({"counts": (0.02, False), "zero": (0.02, False)}, "open"),  # neither is above BPE
        (
            {"counts": (0.02, False), "zero": (0.02, False), "counts, BPE": (0.02, True)},
            "of counting",
        ),
        ({"counts": (0.02, False), "zero": (0.02, False), "counts, BPE": (-0.02, True)}, "open"),
        ({"shuffled": (-0.02, True)}, "open"),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_rule_of_vectors(changes, expected, sign) -> None:
    names = {
        "counts": control_vectors.COUNTS,
        "zero": control_vectors.WITHOUT_VECTORS,
        "shuffled": control_vectors.SHUFFLED,
    }
    values = {name: (0.02, True) for name in names}
    values |= {f"{name}, BPE": (0.01, False) for name in names}
    rows = {("SaGe (released loss)", "BPE"): {"difference": sign * 0.02, "significant": True}}
    for name, (difference, significant) in (values | changes).items():
        control, _, bpe = name.partition(", ")
        pair = (names[control], bpe) if bpe else ("SaGe (released loss)", names[control])
        rows[pair] = {"difference": sign * difference, "significant": significant}
    assert explanation(rows) == expected


# --- two runs


def measured(values: dict[str, float], seeds: list[float], verdict="reproduced") -> pd.DataFrame:
    """What a run measures on SaGe, by the ids of statements."""
    rows = [
        {"id": name, "language": "en", "tokenizer": "sage", "seeds": seeds, "verdict": verdict}
        | {"value": value, "shown": str(value)}
        for name, value in values.items()
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("averaged", "share"), [([], 2), ([1.0, 1.1, 0.9], 4 / 3)])
def test_a_move_is_given_in_what_another_seed_moves_it_by(averaged, share) -> None:
    first = measured({"a": 1.0, "b": 1.0}, averaged)
    second = pd.concat([measured({"b": 1.5}, [], "not reproduced"), measured({"a": 1.1}, [])])
    pairs = compare(first, second, measured({"a": 1.0}, [1.0, 1.1, 0.9]))
    # Student's t of two degrees of freedom, times the deviation of the seeds.
    assert pairs["move"][0] == pytest.approx(0.1 / (4.303 * 0.1 * share**0.5), rel=1e-3)
    assert pairs["move"].isna().tolist() == [False, True]  # the reference has no statement b
    assert pairs["same"].tolist() == [True, False]


def test_without_a_spread_of_seeds_there_is_no_limit() -> None:
    assert pd.isna([seed_limit([1.0, 1.0], averaged=1), seed_limit([1.0], averaged=1)]).all()
