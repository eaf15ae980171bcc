"""Figures and tables: what each function is declared to read, and what it is called with."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import yaml

from reproduction.artefacts.registry import (
    FORMATS,
    Artefact,
    _function,
    declare,
    flat,
    registered,
)
from reproduction.config import load_config
from reproduction.run import Run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def demo() -> Run:
    given = yaml.safe_load((ROOT / "config/demo.yaml").read_text(encoding="utf-8"))
    return Run.of(load_config(ROOT, given, working_directory=False), ROOT / "workflow/resources")


@pytest.fixture(scope="module")
def artefacts(demo: Run) -> dict[str, Artefact]:
    return {one.name: one for one in registered(demo)}


def test_a_function_gets_the_arguments_that_it_has(demo: Run, artefacts) -> None:
    for name, one in artefacts.items():
        passed = (key for key, read in one.reads.items() if read.is_passed)
        given = {**dict.fromkeys(passed), **one.arguments(demo)}
        if one.kind == "figure":  # a table is written by whoever called its function
            given |= dict.fromkeys(FORMATS["figure"], "")
        inspect.signature(_function(one.function)).bind(**given)
        assert one.part_of(demo) in ("intrinsic", "downstream", "studies", "paper"), name
        assert all(
            isinstance(path, str) for files in one.inputs(demo).values() for path in flat(files)
        )


def test_everyone_has_a_caption_without_marks(demo: Run, artefacts) -> None:
    for name, one in artefacts.items():
        caption = one.caption(demo)
        assert len(caption) > 40 and "|" not in caption, name


def test_a_pattern_gives_files_by_panel_and_tokenizer(demo: Run, artefacts) -> None:
    files = artefacts["figure_fertility"].inputs(demo)["panels"]
    assert list(files) == ["English", "Turkish"]
    assert files["Turkish"]["SaGe"] == "results/demo/analysis/tr/train/sage/fertility.parquet"
    assert flat(files)[:2] == [files["English"]["BPE"], files["English"]["SaGe"]]


def test_a_version_of_sage_is_drawn_with_its_own_controls() -> None:
    given = {"tokenizers": ["bpe", "sage", "sage_released", "counts", "swallowed", "sage_zero"]}
    given["tokenizers"] += ["sage_released_shuffled", "random"]
    config = load_config(ROOT, given, working_directory=False)
    run = Run.of(config, ROOT / "workflow/resources")
    settings = {one.name: one for one in registered(run)}["figure_controls"].arguments(run)
    assert list(settings["vocabularies"].items()) == [
        ("random", "pruned at random"),
        ("counts", "counts"),
        ("sage_zero", "SaGe without vectors"),
        ("sage", "SaGe"),
        ("sage_released_shuffled", "SaGe 1.0, shuffled words"),
        ("sage_released", "SaGe 1.0"),
    ]
    given = {one.name: one for one in registered(run)}["figure_overlap"].arguments(run)
    shared = ["counts", "swallowed", "pruned at random"]
    assert {label: set(names) for label, names in given["controls"].items()} == {
        "SaGe": {*shared, "SaGe without vectors"},
        "SaGe 1.0": {*shared, "SaGe 1.0, shuffled words"},
    }


def test_a_domain_has_a_figure_of_its_own(demo: Run, artefacts) -> None:
    one = artefacts["figure_ratio_quora"]
    title = demo.domain_title("quora")
    assert list(one.inputs(demo)["panels"]) == [title]
    bpe = one.inputs(demo)["panels"][title]["BPE"]
    assert bpe == "results/demo/analysis/en/quora/bpe/neighbours.parquet"
    assert one.function == "paper.figures.figure_ratio"
    assert {name for name in artefacts if name.startswith("figure_ratio_")} == {
        f"figure_ratio_{domain}" for domain in demo.domains
    }


def test_a_figure_names_the_presets_that_it_shows(demo: Run, artefacts) -> None:
    caption = artefacts["figure_lengths"].caption(demo)
    assert caption.endswith("\n\nPresets: SaGe is printed; SaGe 1.0 is released.")
    assert "BPE and every reading of SaGe segment greedily" in caption


def test_what_reads_texts_or_models_is_not_drawn_from_measurements_alone(demo, artefacts) -> None:
    of_more = ("table_examples", "table_retokenization")
    for name in ("figure_fertility", "table_tokenizers", *of_more):
        assert (artefacts[name].call(demo) is None) == (name in of_more), name


def test_two_functions_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="figure_lengths is there twice"):
        declare("figure_lengths", "A title", "paper", "figures.figure_lengths", "", reads={})
