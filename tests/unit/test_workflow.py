"""What the rules ask of a run, without Snakemake."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import reproduction.artefacts.figures
import reproduction.artefacts.tables  # noqa: F401  (each registers its functions)
from reproduction.artefacts.registry import registered
from reproduction.artefacts.shared import (
    compared_sage,
    curve_languages,
    further_controls,
    ngram_languages,
)
from reproduction.cards import card
from reproduction.config import load_run
from reproduction.retrievals import dump_sample, retrieved_files
from reproduction.run import Run, memory
from reproduction.run_report import claims_run, texts
from sagevocab.settings import settings_from

ROOT = Path(__file__).parents[2]
NO_MODELS = {"enabled": False}


def run_of(**given: Any) -> Run:
    return load_run(given)


def with_readings(**stanzas: dict[str, Any]) -> Run:
    """A run of bpe, sage and further readings of SaGe, without models."""
    readings = {
        name: {"method": "sage", "preset": "printed", **stanza} for name, stanza in stanzas.items()
    }
    names = ["bpe", "sage", *readings]
    return run_of(tokenizers=names, tokenizer_settings=readings, lm=NO_MODELS)


def made_by(run: Run) -> set[str]:
    """Figures and tables of a run."""
    return {one.name for one in registered(run) if one.is_in(run)}


def settings_of(artefact: str, run: Run) -> dict[str, Any]:
    [found] = (one for one in registered(run) if one.name == artefact)
    return found.arguments(run)


@pytest.fixture(scope="module")
def paper() -> Run:
    """The paper's settings."""
    return run_of()


# --- Configuration


def test_the_working_directory_overrides_the_paper_and_the_command_line_both(
    tmp_path, monkeypatch
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text("run: mine\nsage: {window: 3, candidates: 2000}\n")
    monkeypatch.chdir(tmp_path)
    config = load_run({"sage": {"window": 4}}, working_directory=True).config
    assert (config.run, config.sage.window) == ("mine", 4)
    assert (config.sage.candidates, config.sage.prune_batch) == (2000, 100)
    assert load_run({}).config.run == "paper"


# --- What is in a run


def test_domains_and_tasks_follow_the_languages() -> None:
    english = run_of(languages=["en"])
    assert english.domains == ["quora", "legal"]
    assert "xnli_tr" not in english.tasks
    assert english.left_out == {"domains": ["reviews"], "tasks": ["xnli_tr", "ner_tr"]}
    assert run_of(domains=[]).left_out == {}
    assert english.corpora_of("en") == ["train", "quora", "legal"]


@pytest.fixture(scope="module")
def only_bpes() -> Run:
    """The paper's settings without what is pruned from other pieces than BPE's."""
    names = run_of().config.tokenizers
    return run_of(tokenizers=[name for name in names if name != "sage_unigram"])


def test_prunings_of_other_pieces_are_in_no_claim(only_bpes) -> None:
    others = {
        "control": {"method": "random", "initial": "unigram", "seeds": 7},
        "sage_unigram": {"seeds": 2},
    }
    run = run_of(
        tokenizers=[*only_bpes.tokenizers, "sage_unigram", "control"],
        tokenizer_settings=others,
        figures={"tokenizers": ["bpe", "sage", "sage_unigram", "sage_released"]},
    )
    asked, usual = claims_run(run), claims_run(only_bpes)
    none = {"sage_unigram": None, "control": None}
    assert asked == {**usual, "tokenizers": {**usual["tokenizers"], **none}}
    assert run.pruned == only_bpes.pruned
    assert compared_sage(run) == ["sage", "sage_released"]


def test_a_run_without_the_papers_languages_says_nothing_of_the_paper(paper, tmp_path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("Egy mondat.\n", encoding="utf-8")
    hungarian = {"hu": {"name": "Hungarian", "source": {"path": str(text)}}}
    own = run_of(languages=["hu"], language_settings=hungarian)
    both = run_of(languages=["en", "hu"], language_settings=hungarian)
    assert (own.reproduces, both.reproduces, paper.reproduces) == (False, True, True)
    names = [made_by(run) for run in (own, both, paper)]
    assert [{"table_controls", "figure_controls"} <= some for some in names] == [False, True, True]
    assert not {"table_controls", "figure_controls"} & names[0]


# --- Sources and files


def test_a_shared_validation_split_comes_from_the_training_rows() -> None:
    task = {"mrpc": {"validation_share": 0.25, "max_validation": 8}}
    run = run_of(task_settings=task)
    mrpc, cola = run.task("mrpc"), run.task("cola")
    assert mrpc.origin("validation") == "train" and cola.origin("validation") == "validation"
    assert mrpc.part("train", seed=1) == {"share": (0.0, 0.75), "most": None, "seed": 1}
    assert mrpc.part("validation", seed=1) == {"share": (0.75, 1.0), "most": 8, "seed": 1}
    assert cola.part("train", seed=1) is None


def test_part_of_a_dump_is_drawn_only_where_lines_are_limited(paper) -> None:
    english = ("language_settings", "en")
    sample = {"lines": 755_000, "language": "en"}
    assert dump_sample(paper, *english) == sample
    assert dump_sample(paper, "language_settings", "tr") is None
    dump = {"dataset": "enwiki-20220801"}
    assert dump_sample(run_of(language_settings={"en": {"source": dump}}), *english) == sample
    package = {"package": "gensim:x", "format": "mediawiki"}
    assert dump_sample(run_of(language_settings={"en": {"source": package}}), *english) is None


def test_fine_tuning_starts_from_the_model_of_its_seed() -> None:
    run = run_of(languages=["en"], lm={"pretraining_seeds": [2]})
    folders = [
        run.pretrained(SimpleNamespace(lang="en", tok="sage", seed=seed))
        for seed in ("1", "2", "3")
    ]
    own, second = "models/en/sage", "studies/pretraining/en/sage/2"
    assert folders == [f"results/paper/{name}" for name in (own, second, own)]


def test_memory_doubles_once() -> None:
    assert [memory(100)(None, attempt) for attempt in (1, 2, 3)] == [100, 200, 200]


# --- Readings of SaGe


@pytest.mark.parametrize(
    ("stanza", "start", "initial", "is_reading"),
    [
        ({"prune_batch": 50}, "bpe_initial.greedy.seed1", "bpe_initial", True),  # as of `sage`
        ({"seed": 2}, "bpe_initial.greedy.seed2", "bpe_initial", True),
        ({"decoder": "merges"}, "bpe_initial.merges.seed1", "bpe_initial", True),
        ({"contexts": "shuffled"}, "bpe_initial.greedy.shuffled.seed1", "bpe_initial", False),
        (
            {"contexts": "shuffled_vectors"},
            "bpe_initial.greedy.shuffled.seed1",
            "bpe_initial",
            False,
        ),
        ({"contexts": "zero"}, "", "bpe_initial", False),
        ({"initial_size": 24000}, "bpe_initial.24000.greedy.seed1", "bpe_initial.24000", False),
        ({"initial": "unigram"}, "unigram_initial.greedy.seed1", "unigram_initial", False),
    ],
)
def test_what_a_pruning_starts_from(stanza, start, initial, is_reading) -> None:
    """The claims are about readings of SaGe: prunings of one vocabulary, with contexts."""
    run = with_readings(mine=stanza)
    assert (run.builds["mine"].start, run.builds["mine"].initial) == (start, initial)
    assert ("mine" in run.sage_readings) == is_reading


def test_a_card_names_the_pieces_that_a_pruning_starts_from(paper: Run) -> None:
    assert "UnigramLM's pieces" in card(paper, "en", "sage_unigram")["method"]
    assert "UnigramLM" not in card(paper, "en", "sage")["method"]


def test_a_tokenizer_without_a_heuristic_is_compared_with_its_reading(paper: Run) -> None:
    assert paper.heuristics == {"sage_exact": "sage", "sage_retrained": "sage"}
    assert not {*paper.heuristics} & {*paper.tokenizers}
    assert paper.builds["sage_exact"].settings == {
        **paper.builds["sage"].settings, "rerank_every": 1, "retrain_every": 40
    }  # fmt: skip
    without = run_of(tokenizers=["bpe", "sage_released"], lm=NO_MODELS)
    assert without.heuristics == {}


def test_a_tokenizer_of_the_run_may_have_numbers_and_a_seed_of_its_own() -> None:
    run = with_readings(mine={"seed": 7, "seeds": 2, "prune_batch": 50})
    differing = {"seed": 7, "prune_batch": 50}
    assert run.builds["mine"].settings == {**run.builds["sage"].settings, **differing}
    assert run.preset("mine") == "printed (prune_batch: 50, seed: 7)"
    asked, second = claims_run(run), "mine.seed8"
    assert asked["further_seeds"] == {"sage": ["sage.seed2", "sage.seed3"], "mine": [second]}
    assert run.builds[second].settings == {**run.builds["mine"].settings, "seed": 8}
    assert {*asked["heuristics"].values()} == {"sage"}


def test_what_decides_nothing_is_no_setting_of_a_build() -> None:
    """Else a change of it would build vocabularies anew, and train models on them."""
    zero = {"method": "sage", "preset": "printed", "contexts": "zero"}
    names = ["bpe", "sage", "sage_released", "zero"]

    def word2vec(trainer: str, **settings: object) -> dict[str, Any]:
        run = run_of(
            **{"tokenizers": names, "tokenizer_settings": {"zero": zero}, "lm": NO_MODELS},
            word2vec={"trainer": trainer, **settings},
        )
        return {name: run.builds[name].word2vec for name in names}

    blocks = word2vec("blocks")
    assert word2vec("blocks", workers=2) == blocks
    assert word2vec("gensim", workers=2)["sage"] != word2vec("gensim")["sage"]
    more = word2vec("blocks", epochs=9)
    assert [name for name in names if more[name] != blocks[name]] == ["sage"]
    one, two = (run_of(word2vec={"trainer": "blocks", "workers": n}) for n in (1, 2))
    table = "table_hyperparameters_vocabulary"
    assert settings_of(table, one) == settings_of(table, two)


def test_a_vocabulary_that_another_is_exported_from_is_built_too() -> None:
    run = run_of(tokenizers=["sage", "bpe_merges"], lm=NO_MODELS)
    assert run.built_by("bpe") == ["bpe"]
    assert "bpe" not in run.tokenizers


@pytest.fixture(scope="module")
def of_three() -> Run:
    """The paper's settings, and a language that models do not name."""
    stanza = {
        "name": "Hungarian",
        "source": {"dataset": "wikipedia", "language": "hu", "date": "20260801"},
    }
    return run_of(languages=["en", "tr", "hu"], language_settings={"hu": stanza})


def test_another_language_gets_no_models_unasked(of_three: Run, paper: Run) -> None:
    assert of_three.model_files() == paper.model_files()
    assert curve_languages(of_three) == ["en", "tr"]
    assert len(of_three.vocabulary_files()) == 1.5 * len(paper.vocabulary_files())
    of_others = run_of(languages=["en"], lm={"languages": ["tr"]})
    assert of_others.models == of_others.model_files() == of_others.tasks == []


def test_a_reading_that_says_what_its_preset_says_is_the_preset(paper: Run) -> None:
    """Else it would be built again, and all that depends on it."""
    said = {"decoder": "greedy", "loss": "total", "retrain": True, "push_back_line_start": False}
    run = run_of(tokenizer_settings={"sage": said})
    assert run.builds["sage"].settings == paper.builds["sage"].settings
    assert run.preset("sage") == "printed"


# --- Controls, probes, and what is retrieved


def test_a_text_says_whether_it_is_the_papers_and_which_it_stands_for() -> None:
    sources = [{"dataset": "olm-enwiki-20220820"}, {"dataset": "enwiki-20220801"}]
    sources += [{"path": __file__, "format": "text"}, {"package": "gensim:x", "format": "text"}]
    found = []
    for source in sources:
        run = run_of(domains=[], languages=["en"], language_settings={"en": {"source": source}})
        [text] = texts(run)
        found.append((text["in_paper"], text["paper"] is None))
    assert found == [(False, False), (True, False), (False, False), (False, False)]


def test_probes_need_their_tasks_without_models_too() -> None:
    run = run_of(lm=NO_MODELS, languages=["en"])
    assert run.prepared_tasks == run.probe_tasks == ["sst2", "ner_en", "stsb"]
    assert list(run.config.used_tasks) == run.config.probes.tasks  # no others' files are wanted
    assert "results/paper/retrieved/tasks/sst2/train" in retrieved_files(run)
    [table] = (one for one in registered(run) if one.name == "table_differences")
    answers = table.inputs(run)["probes"]
    assert answers["stsb"]["SaGe (printed)"] == "results/paper/analysis/en/probes/sage/stsb.parquet"
    assert table.part_of(run) == "intrinsic"
    alone = run_of(lm=NO_MODELS, tokenizers=["sage"])
    assert alone.prepared_tasks == alone.probe_tasks == ngram_languages(alone) == []


def test_sage_without_contexts_is_a_control_and_no_reading(only_bpes) -> None:
    stanzas = {
        "zero": {"method": "sage", "preset": "released", "contexts": "zero", "seeds": 2},
        "quotient": {"method": "sage", "preset": "counts"},
        "random": {"seeds": 1},
        "sage": {"seeds": 1},
    }
    names = [name for name in only_bpes.tokenizers if not only_bpes.tokenizer(name).is_control]
    run = run_of(
        tokenizers=[*names, "random", "extra_tokens", "zero", "quotient"],
        tokenizer_settings=stanzas,
    )
    assert run.sage_readings == ["sage", "sage_released"]
    assert further_controls(run) == ["extra_tokens", "zero", "quotient"]
    assert settings_from(**run.builds["quotient"].settings).rerank_every == 0
    assert claims_run(run)["controls"] == {
        "random": ["random"],
        "extra_tokens": ["extra_tokens"],
        "zero": ["zero", "zero.seed2"],
        "quotient": ["quotient"],
    }
    blind = settings_of("table_controls", run)["without_contexts"]
    assert blind == {"sage": [], "sage_released": ["zero"]}


def test_lists_of_morphemes_are_retrieved_and_local_files_are_not() -> None:
    run = run_of(
        language_settings={
            "en": {"source": {"path": str(ROOT / "README.md"), "format": "text"}},
            "tr": {"morphology": {"package": "turkish-treebanks:data/wiki.conllu"}},
        }
    )
    assert run.source("morphology", "tr").format == "conllu"  # its name tells it
    assert "results/paper/retrieved/morphemes/tr" in retrieved_files(run)
    assert "results/paper/retrieved/corpora/en" not in retrieved_files(run)
