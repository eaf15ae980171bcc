"""Tables over committed controls and reruns: again from their answers, and values by hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from reproduction.paper import control_vectors
from reproduction.paper.control_pieces import pieces_differ
from reproduction.paper.control_vectors import explanation, read_sums
from reproduction.paper.reference_tables import write_reference_tables
from reproduction.paper.released_program import table_released_program
from reproduction.paper.two_runs import compare, seed_limit

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "results/reference"


def test_every_table_is_computed_again_from_what_is_committed(tmp_path: Path) -> None:
    write_reference_tables(REFERENCE, tmp_path)
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("table_*"))
    committed = [path.relative_to(REFERENCE) for path in (REFERENCE / "controls").rglob("table_*")]
    assert written == sorted(committed)
    for name in written:
        if name.suffix == ".md":
            assert (tmp_path / name).read_bytes() == (REFERENCE / name).read_bytes(), name
        else:  # a value between two rounded ones may go either way
            numbers = (pd.read_csv(folder / name) for folder in (tmp_path, REFERENCE))
            pd.testing.assert_frame_equal(*numbers, rtol=1e-9)


# --- pieces


def test_pieces_on_which_a_version_and_a_control_differ() -> None:
    orders = pd.DataFrame(
        {
            "sage_released": [0, -1, 1, 2, 3, -1],
            "sage_released.seed2": [3, -1, 2, 1, -1, 0],
            "counts": [-1, 3, 0, -1, 1, 2],
        },
        index=["▁ab", "c", "de", "fg8", "i", "j"],
    )
    of_sage, of_counts = pieces_differ(orders, "sage_released", "counts")
    # Both seeds prune ▁ab and fg8, and counts do not: 1.5 of 4 are early. No seed prunes c.
    assert (of_sage["pruned_by"], of_sage["kept_by"]) == ("SaGe 1.0", "counts")
    assert of_sage["pieces"] == 2 and of_sage["examples"] == "▁ab fg8"
    assert of_sage["word_initial"] == 0.5 and of_sage["characters"] == 2.5
    assert of_sage["digits"] == 0.5 and of_counts["digits"] == 0
    assert of_sage["late"] == 0 and of_counts["late"] == 1
    assert of_counts["pieces"] == 1 and of_counts["examples"] == "c"


PRUNED = {
    "program, seed 1": ["a", "b", "c", "d"],
    "program, seed 2": ["a", "b", "c", "d"],
    "program, without vectors": ["a", "b", "c", "x"],
    "program, shuffled words": ["a", "b", "c", "x"],
    "preset, seed 1": ["a", "b", "c", "d"],
    "preset, seed 2": ["a", "b", "c", "d"],
    "preset, without vectors": ["w", "x", "y", "z"],
    "preset, shuffled words": ["w", "x", "y", "z"],
    "counts": ["a", "b", "x", "y"],
    "prunable": [*"abcdefghijklmnopqrstuvwxyz"],
}


def test_the_released_program_and_the_preset_are_compared_with_controls_of_their_own() -> None:
    rows = table_released_program({"English": PRUNED}).data.set_index(["reading", "control"])
    means = rows["mean"]
    assert means["program", "without vectors"] == 0.75
    assert means["preset", "without vectors"] == 0
    assert means["program", "preset's seeds"] == means["preset", "program's seeds"] == 1
    assert means["program", "counts"] == means["preset", "counts"] == 0.5
    assert rows["pairs"]["program", "random"] == 40  # two seeds, twenty draws
    chooses = rows["chooses"].groupby("reading").first()
    assert dict(chooses) == {"program": "both", "preset": "mostly contexts"}


# --- vectors


def test_the_f1_of_vectors_is_that_of_their_sums(tmp_path: Path) -> None:
    names = [f"{name}.{seed}" for name, seed in control_vectors._MODELS]
    right = {f"{name}.right": [1, 1] for name in names}
    found = {f"{name}.found": [1, 2] for name in names} | {"counts.3.found": [2, 4]}
    path = tmp_path / "ner_tr.parquet"
    pd.DataFrame({"entities": [1, 2], **right, **found}).to_parquet(path)
    scores = dict(zip(names, read_sums(path).scores(), strict=True))
    assert scores.pop("counts.3") == pytest.approx(2 * 2 / (3 + 6))
    assert list(scores.values()) == pytest.approx([2 * 2 / (3 + 3)] * 49)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "of contexts"),
        ({"counts": (0.02, False)}, "open"),  # SaGe 1.0 is not above every control
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
    rows = {("SaGe 1.0", "BPE"): {"difference": sign * 0.02, "significant": True}}
    for name, (difference, significant) in (values | changes).items():
        control, _, bpe = name.partition(", ")
        pair = (names[control], bpe) if bpe else ("SaGe 1.0", names[control])
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
