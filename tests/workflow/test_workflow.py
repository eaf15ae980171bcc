"""The whole workflow on a tiny configuration: what runs, what runs again, what is found."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml

from reproduction.redraw import redraw
from sagevocab.huggingface.folders import read_description

RESULTS = Path("results/tiny")


@pytest.fixture(scope="module")
def finished(tiny):
    """The tiny run, after `all`."""
    run = tiny("all")
    assert run.returncode == 0, run.stderr[-3000:]
    return tiny


def test_all_makes_the_whole_contract(finished) -> None:
    results = finished.checkout / RESULTS
    expected = [
        "corpus/en.txt.zst",
        "corpus/en.heldout.txt.zst",
        "vocab/en/bpe_initial/pieces.txt",
        "vocab/en/sage/tokenizer.json",
        "vocab/en/sage/ablations.parquet",
        "vocab/en/random.seed2/pieces.txt",
        "analysis/en/train/sage/frequencies.parquet",
        "analysis/en/quora/bpe/neighbours.parquet",
        "models/en/sage/model.safetensors",
        "analysis/en/causal/sage/1.parquet",
        "scores/en/bpe/sst2/1.json",
        "figures/figure_fertility.pdf",
        "figures/figure_ratio_quora.png",
        "figures/figure_overlap.png",
        "figures/figure_controls.png",
        "tables/table_controls.csv",
        "tables/table_sequence.tex",
        "claims.json",
        "claims.parquet",
        "claims.md",
        "findings.md",
        "report.html",
        # What keeps a training from being done again.
        *(f".state/build_shards/en.{name}.kept" for name in ("bpe", "sage")),
        *(f".state/pretrain_model/en.{name}.kept" for name in ("bpe", "sage")),
        *(f".state/finetune_model/en.{name}.sst2.1.kept" for name in ("bpe", "sage")),
        *(f".state/train_causal/en.{name}.1.kept" for name in ("bpe", "sage", "random")),
    ]
    assert [path for path in expected if not (results / path).exists()] == []
    jobs = json.loads((results / "manifest.json").read_text())["jobs"]
    assert {"figure_lengths", "pretrain_model lang=en tok=sage"} <= jobs.keys()
    differences = (results / "tables/table_differences.md").read_text()
    assert "Causal transformer (bits)" in differences
    assert "Causal transformer, minus pruned at random instead (bits)" in differences


def test_the_final_size_is_exact(finished) -> None:
    vocab = finished.checkout / RESULTS / "vocab/en"
    for name in ("bpe", "sage", "random"):
        assert len((vocab / name / "pieces.txt").read_text().splitlines()) == 1000
    ablations = pd.read_parquet(vocab / "sage/ablations.parquet")
    initial = (vocab / "bpe_initial/pieces.txt").read_text().splitlines()
    final = (vocab / "sage/pieces.txt").read_text().splitlines()
    assert len(initial) == 1250
    assert set(initial) - set(final) == set(ablations["piece"])
    assert ablations["order"].is_monotonic_increasing


def test_unigram_is_pruned_and_segmented_greedily_without_a_tokenizer_of_it(tiny) -> None:
    names = ["sage_unigram", "unigram_greedy"]
    (tiny.checkout / "unigram.yaml").write_text(f"tokenizers: [bpe, sage, {', '.join(names)}]\n")
    vocab = tiny.checkout / RESULTS / "vocab/en"
    targets = [f"{RESULTS}/vocab/en/{name}/pieces.txt" for name in names]
    run = tiny(*targets, extra=("unigram.yaml",))
    assert run.returncode == 0, run.stderr[-3000:]

    def pieces(name: str) -> list[str]:
        return (vocab / name / "pieces.txt").read_text().splitlines()

    pruned = pd.read_parquet(vocab / "sage_unigram/ablations.parquet")["piece"]
    assert (len(pieces("unigram_initial")), len(pieces("sage_unigram"))) == (1250, 1000)
    assert set(pieces("unigram_initial")) - set(pieces("sage_unigram")) == set(pruned)
    assert pieces("unigram_greedy") == pieces("unigram")
    methods = {name: read_description(vocab / name)["method"] for name in ("unigram", *names)}
    assert methods == {"unigram": "unigram", **dict.fromkeys(names, "greedy")}


def planned(run) -> set[str]:
    """Rules of the job table that a dry run prints."""
    table = run.stdout + run.stderr
    return set(re.findall(r"^([a-z_0-9]+)\s+\d+$", table, re.MULTILINE)) - {"total"}


def planned_after_edit(finished, *modules: str, extra: tuple[str, ...] = ()) -> set[str]:
    """Rules that a dry run of `all` plans after an edit of some modules of the library."""
    paths = [path for pattern in modules for path in finished.checkout.glob(pattern)]
    before = {path: path.read_text() for path in paths}
    assert len(before) >= len(modules)
    try:
        for path, text in before.items():
            path.write_text(f"{text}EDITED = 1\n")
        return planned(finished("-n", "all", extra=extra))
    finally:
        for path, text in before.items():
            path.write_text(text)


TRAINED = {"train_bpe", "train_embeddings", "build_sage", "prune_control", "pretrain_model"}
TRAINED |= {"finetune_model", "train_causal", "train_vectors", "repeat_pretraining", "build_shards"}


def test_edits_of_figures_and_models_and_names_train_nothing(finished) -> None:
    named, domain = {"name": "English news"}, {"name": "questions"}
    config = {"language_settings": {"en": named}, "domain_settings": {"quora": domain}}
    (finished.checkout / "named.yaml").write_text(yaml.safe_dump(config))
    edited = ("workflow/reproduction/paper/figures.py", "workflow/reproduction/lm/*.py")
    rules = planned_after_edit(finished, *edited, extra=("named.yaml",))
    assert {"write_cards", "figure_fertility", "figure_fertility_quora", "build_report"} <= rules
    assert not rules & {*TRAINED, "retrieve_source", "extract_corpus", "count_pieces_compared"}


def test_an_edit_in_the_ablation_reruns_the_vocabulary(finished) -> None:
    rules = planned_after_edit(finished, "src/sagevocab/pruning/loss.py")
    assert {"build_sage", "figure_fertility", "pretrain_model"} <= rules
    assert not rules & {"train_bpe", "extract_corpus", "sample_corpus"}


def test_equal_values_other_places_and_comments_plan_nothing(finished) -> None:
    same = {"gradient_clipping": 0, "checkpoint_minutes": 30, "adam_epsilon": 0.000001}
    config = {"lm": {"pretrain": same}, "download_dir": "elsewhere", "word2vec": {"alpha": 25e-3}}
    (finished.checkout / "same.yaml").write_text(yaml.safe_dump(config))
    module = finished.checkout / "src/sagevocab/files.py"
    text = module.read_text()
    try:
        module.write_text(f"# A word on it.\n{text}")
        run = finished("-n", "all", extra=("same.yaml",))
    finally:
        module.write_text(text)
    assert planned(run) == set()
    assert "Nothing to be done" in run.stdout + run.stderr


def test_reference_results_of_models_are_what_is_said_of_them(finished) -> None:
    """Constructed rows are refused, so the tasks are left out; the models are finished."""
    (finished.checkout / "no_tasks.yaml").write_text("tasks: []\nprobes: {tasks: []}\n")
    run = finished("build_reference", extra=("no_tasks.yaml",))
    assert run.returncode == 0, run.stderr[-3000:]
    folder = finished.checkout / "results/reference/lm"
    assert {path.name for path in folder.glob("[!.]*")} == {
        *("README.md", "figures", "frames", "manifest.json", "tables")
    }
    tables = {path.stem for path in (folder / "tables").iterdir()}
    assert "table_differences" in tables
    assert not tables & {"table_tokenizers", "table_controls"}
    page = (folder / "README.md").read_text()
    assert "It is what the run says of language models." in page and "## Verdicts" not in page
    drawn = redraw(folder, finished.checkout / "drawn")
    assert {"table_differences", "figure_learning_curves"} <= set(drawn)
    for path in (finished.checkout / "drawn").rglob("*.*"):
        committed = folder / path.relative_to(finished.checkout / "drawn")
        assert path.read_bytes() == committed.read_bytes(), path.name
