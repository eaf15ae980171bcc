"""Figures and tables: what is declared of each, and what its function is called with."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest
import yaml

from reproduction.artefacts.registry import (
    FORMATS,
    Artefact,
    _function,
    each,
    flat,
    reference_artefacts,
    registered,
)
from reproduction.config import load_run
from reproduction.reference_runs import CONFIGURATIONS, REFERENCE, reference_run
from reproduction.run import Run

ROOT = Path(__file__).parents[2]
WITHOUT_MODELS = {"lm": {"enabled": False}}


@pytest.fixture(scope="module")
def demo() -> Run:
    given = yaml.safe_load((ROOT / "config/demo.yaml").read_text(encoding="utf-8"))
    return load_run(given)


@pytest.fixture(scope="module")
def artefacts(demo: Run) -> dict[str, Artefact]:
    return {one.name: one for one in registered(demo)}


@pytest.mark.parametrize("folder", CONFIGURATIONS)
def test_calls_of_the_reference_are_those_of_its_configuration(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = reference_run(folder)

    def place(name: str) -> str:
        """Return a path as the committed calls have it."""
        if name.startswith("results/"):
            return f"frames:{Path(name).relative_to(run.result('')).as_posix()}"
        return f"resources:{Path(name).name}" if name.endswith((".yaml", ".mplstyle")) else name

    found = {one.name: one for one in registered(run) if one.is_in(run)}
    committed = json.loads((REFERENCE / folder / "frames/calls.json").read_bytes())
    calls = {one.name for one in reference_artefacts(run) if one.call(run)}
    # A new one is in the reference when that is next made; what is there can be drawn again.
    assert calls >= set(committed)
    for name, call in committed.items():
        made = json.loads(json.dumps(each(place, found[name].call(run))))
        assert made == call, name


def test_a_function_gets_the_arguments_that_it_has(demo: Run, artefacts) -> None:
    for name, one in artefacts.items():
        passed = (key for key, read in one.reads.items() if read.is_passed)
        given = {**dict.fromkeys(passed), **one.arguments(demo)}
        if one.kind == "figure":  # a table is written by whoever called its function
            given |= dict.fromkeys(FORMATS["figure"], "")
        inspect.signature(_function(one.function)).bind(**given)
        assert one.part_of(demo) in ("intrinsic", "downstream", "paper"), name
        assert all(
            isinstance(path, str) for files in one.inputs(demo).values() for path in flat(files)
        )


def test_what_reads_texts_or_models_is_not_drawn_from_measurements_alone(demo, artefacts) -> None:
    of_more = ("table_examples", "table_retokenization")
    for name in ("figure_fertility", "table_tokenizers", *of_more):
        assert (artefacts[name].call(demo) is None) == (name in of_more), name


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"tokenizers": ["sage"], **WITHOUT_MODELS}, "figure_fertility"),
        ({"tokenizers": ["bpe"], **WITHOUT_MODELS}, "table_retokenization"),
        (WITHOUT_MODELS, "figure_learning_curves"),
        (WITHOUT_MODELS, "table_ner"),
    ],
)
def test_a_run_lacks_what_it_has_nothing_for(changes, name) -> None:
    run = load_run(changes)
    [one] = (one for one in registered(run) if one.name == name)
    assert not one.is_in(run)


def test_what_is_in_no_frame_is_declared_with_all_seeds_and_the_baseline(artefacts, demo) -> None:
    overlap = artefacts["table_overlap"].arguments(demo)
    assert overlap["readings"]["SaGe (printed)"] == ["sage", "sage.seed2", "sage.seed3"]
    assert overlap["controls"]["pruned at random"] == ["random", "random.seed2", "random.seed3"]
    assert artefacts["figure_learning_curves"].arguments(demo)["baseline"] == "BPE"
    initial = artefacts["table_retokenization"].inputs(demo)["initial"]
    assert initial["English"] == "results/demo/vocab/en/bpe_initial/pieces.txt"


def test_figures_of_one_column_have_its_style() -> None:
    run = load_run({"figures": {"width": "column"}})
    [one] = (one for one in registered(run) if one.name == "figure_lengths")
    assert [Path(path).name for path in one.inputs(run)["style"]] == [
        "style.mplstyle",
        "column.mplstyle",
    ]
