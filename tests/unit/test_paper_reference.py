"""The main table and the folder of reference results."""

from __future__ import annotations

import json

import pandas as pd
import pytest
import yaml

import report_samples
from reproduction.config import changed_settings
from reproduction.paper.reference import build_reference
from reproduction.parquet import write_parquet
from reproduction.run_report import reference_command
from sagevocab.errors import UserError
from sagevocab.pieces import write_pieces
from sagevocab.state import file_digest, read_json, write_json

CLAIM = {
    "id": "token_ratio", "where": "Section 4", "statement": "Tokens.", "kind": "value",
    "tolerance": 0.03, "paper": 1.125, "measure": "token_ratio", "languages": ["en"],
    "tokenizers": "sage", "headline": "tokens, SaGe / BPE",
}  # fmt: skip
TEMPLATE = report_samples.TEMPLATE.with_name("reference.md.jinja")
RUN = {
    "name": "r", "labels": {"sage": "SaGe"}, "presets": {"sage": "printed"}, "names": {},
    "constructed": [], "models": False, "settings": {"seed": 1, "vocabulary": {"final_size": 4000}},
}  # fmt: skip


def record(**changes) -> dict:
    given = {key: CLAIM[key] for key in ("id", "statement", "paper")}
    sample = report_samples.record("x", "sage", "reproduced", ours=1.1, low=1.05, high=1.15)
    return {**sample, **given, **changes}


@pytest.fixture
def values(tmp_path):
    path = tmp_path / "values.yaml"
    size = {"key": "Final Vocab Size", "value": 16000, "config": "vocabulary.final_size"}
    models = ("table_hyperparameters_pretraining", "table_hyperparameters_finetuning")
    tables = {"table_hyperparameters_vocabulary": [size], **dict.fromkeys(models, [])}
    others = {**CLAIM, "id": "other"}
    del others["headline"]
    content = {"claims": [CLAIM, others], "hyperparameters": tables, "setup": []}
    path.write_text(yaml.safe_dump(content))
    return path


def write_claims(tmp_path, *records):
    path = tmp_path / "claims.json"
    path.write_text(json.dumps(records))
    return path


@pytest.fixture
def text(tmp_path):
    corpus, summary = tmp_path / "corpus.txt", tmp_path / "summary.json"
    corpus.write_text("some text\n")
    summary.write_text(json.dumps({"lines": 1500, "words": 30000}))
    return {"name": "English", "title": "a text", "licence": "free", "files": [str(corpus)],
            "format": "text", "paper": "the paper's dump", "in_paper": False,
            "summary": summary}  # fmt: skip


@pytest.fixture
def build(tmp_path, values, text):
    """Make reference results of some files and claims; return their page."""

    def run(files=(), claims=(), **others) -> str:
        given = {"run": RUN, "paper": values, "command": "c", "template": TEMPLATE} | others
        claims = write_claims(tmp_path, *(claims or [record()]))
        build_reference(
            tmp_path / "reference", [claims, *files], texts=[text], claims=claims, **given
        )
        return (tmp_path / "reference/README.md").read_text()

    return run


def test_reference_results_are_copied_with_a_page_that_tells_the_text(tmp_path, build):
    (tmp_path / "figures").mkdir()
    figure, large = tmp_path / "figures/figure_x.png", tmp_path / "figures/figure_y.pdf"
    figure.write_bytes(b"png")
    large.write_bytes(b"0" * 1_000_001)
    (tmp_path / "figures/figure_x.provenance.json").write_text("{}")
    page = build([figure, large], claims=[record(), record(verdict="same direction")])
    output = tmp_path / "reference"
    files = sorted(p.relative_to(output).as_posix() for p in output.rglob("*") if p.is_file())
    assert files == ["README.md", "claims.json", "figures/figure_x.png",
                     "provenance/figure_x.provenance.json"]  # fmt: skip
    assert "| English | a text | free | 1,500 | 30,000 | the paper's dump |" in page
    assert "| corpus.txt | `" in page
    assert "| `vocabulary.final_size` | 16,000 | 4,000 |" in page
    assert "All others are as in `config.yaml`." in page
    assert "| reproduced | 1 |" in page
    assert "    vocabulary:\n      final_size: 4000\n" in page
    assert "figure_y.pdf" in page


def test_what_is_drawn_from_large_files_is_copied_and_its_frames_are_not(tmp_path, build):
    small, large = tmp_path / "small.parquet", tmp_path / "large.parquet"
    small.write_bytes(b"0" * 3_000_000)
    large.write_bytes(b"0" * 1_000_001)
    call = {"function": "f", "settings": {}, "caption": ""}
    calls = {
        "figure_light": call | {"reads": {"frame": str(small)}},
        "figure_heavy": call | {"reads": {"frames": [str(small), str(large)]}},
    }
    page = build(calls=calls, results=tmp_path)
    frames = tmp_path / "reference/frames"
    assert list(read_json(frames / "calls.json")) == ["figure_light"]
    assert not (frames / "large.parquet").exists()
    assert "Drawn from more than 4 MB, which is not in `frames/`: figure_heavy." in page


def test_what_the_report_page_says_is_kept_in_its_order(tmp_path, build):
    captions = {"table_b": "First.", "figure_a": "Second."}
    build(report={"titles": captions, "captions": captions})
    kept = read_json(tmp_path / "reference/frames/report.json")
    assert kept["run"] == RUN and list(kept["captions"]) == list(captions)


def test_settings_that_the_paper_leaves_open_are_named_where_they_are_not_the_usual(build):
    usual = {
        "vocabulary": {"final_size": 16000},
        "word2vec": {"lines": "all", "window": 5},
        "studies": {"values": {"prune_batch": [50, 150]}},
        "tokenizer_settings": {"sage": {"preset": "printed"}, "bpe": {}},
    }
    settings = {
        "vocabulary": {"final_size": 4000},
        "word2vec": {"lines": 250000, "window": 5},
        "studies": {"values": {"prune_batch": [50]}},
        "tokenizer_settings": {"sage": {"preset": "printed", "loss": "total"}, "other": {}},
    }
    changes = changed_settings(settings, usual, [*usual, "word2vec.window", "word2vec.none"])
    page = build(changes=changes)
    stated, _, others = page.partition("Other settings that are not those of `config.yaml`:")
    assert "| `vocabulary.final_size` | 16,000 | 4,000 |" in stated
    assert others.split("All settings")[0].strip().splitlines() == [
        "| key | config.yaml | here |",
        "| --- | --- | --- |",
        "| `word2vec.lines` | all | 250,000 |",
        "| `studies.values.prune_batch` | 50, 150 | 50 |",
        "| `tokenizer_settings.sage.loss` | not set | total |",
    ]


def test_files_of_the_users_own_are_shown_without_their_names(tmp_path, build):
    """What lies beside the repository, or in it and not in `config/`, no reader has."""
    files = [tmp_path / "config/wiki.yaml", tmp_path / "local.yaml", "/elsewhere/study.yaml"]
    command = reference_command(files, tmp_path)
    assert command == (
        "snakemake --cores 2 --configfile config/wiki.yaml mine.yaml -- build_reference"
    )
    note = "`mine.yaml` is not in this repository."
    assert note in build(command=command)
    command = reference_command(files[:1], tmp_path)
    assert command.endswith("--configfile config/wiki.yaml -- build_reference")
    assert note not in build(command=command)


def test_a_trainer_that_is_not_the_papers_is_among_what_it_states(build):
    settings = {"word2vec": {"trainer": "blocks"}}
    page = build(paper=report_samples.VALUES, run={**RUN, "settings": settings})
    stated, _, _ = page.partition("All others are as in `config.yaml`.")
    assert "| `word2vec.trainer` | gensim | blocks |" in stated
    assert "None of those that the paper states" not in page


def test_tasks_are_listed_with_their_files(tmp_path, build):
    source, rows = tmp_path / "sst2.jsonl", tmp_path / "train.parquet"
    source.write_text("{}\n")
    pd.DataFrame({"text": ["a", "b"]}).to_parquet(rows)
    task = {"label": "SST-2", "split": "train", "title": "sst2.jsonl"}
    tasks = [{**task, "files": [str(source)], "rows": rows}]
    pretrain = {"layers": 2, "hidden": 64, "steps": 9, "batch": 8, "sequence_length": 32}
    finetune = {"epochs": 1, "batch": 16, "accumulation": 1, "max_sequence_length": 64}
    models = {"gpus": 0, "pretrain": {**pretrain, "mask_rate": 0.4}, "finetune": finetune}
    run = {**RUN, "models": True, "settings": {"lm": models}}
    page = build(run=run, tasks=tasks)
    assert f"| SST-2 | train | 2 | sst2.jsonl | `{file_digest(source)}` |" in page
    assert "All settings of the vocabularies and models:\n\n    lm:\n      finetune:\n" in page
    assert "holds at this budget alone: Pretraining: 2 layers, 64 wide, 9 updates of 8" in page
    assert "## Tasks" not in build()
    rows.write_bytes(b"")
    with pytest.raises(UserError, match=r"train\.parquet: cannot be read"):
        build(run=run, tasks=tasks)


def test_the_page_names_word_lists_and_the_commits_of_what_stays_behind(tmp_path, build):
    gold, model = tmp_path / "gold.tsv", tmp_path / "models/en/bpe/model.safetensors"
    gold.write_text("walked\twalk ed\n")
    write_json(tmp_path / "models/en/bpe.provenance.json", {"git_commit": "abc"})
    lists, made = [{"path": str(gold), "format": "columns"}], {"Models were trained": [model]}
    page = build(lists=lists, made=made)
    assert f"| gold.tsv | `{file_digest(gold)}` | segmented words, columns |" in page
    assert "Models were trained at commit `abc`." in page


def test_a_constructed_task_is_no_reference(tmp_path, build):
    with pytest.raises(UserError, match="MRPC are constructed tasks"):
        build(run={**RUN, "constructed": ["MRPC"]})
    with pytest.raises(UserError, match="missing.json: is missing"):
        build([tmp_path / "missing.json"])


def test_tokenizers_are_copied_and_every_pruning_can_be_made_again(tmp_path, build):
    vocab = tmp_path / "results/r/vocab/en"
    write_pieces(vocab / "bpe_initial/pieces.txt", ["a", "b", "ab", "ba"])
    for name, pruned in {"sage": ["ba", "ab"], "sage.seed2": ["ab"]}.items():
        orders = pd.DataFrame({"piece": pruned, "order": range(len(pruned))})
        write_parquet(vocab / name / "ablations.parquet", orders)
    for name in ("tokenizer.json", "tokenizer_config.json", "pieces.txt", "README.md", "other"):
        (vocab / "sage" / name).write_text(name)
    build(
        tokenizers=[vocab / "sage"],
        prunings=[vocab / name / "ablations.parquet" for name in ("sage", "sage.seed2")],
    )
    kept = {path.name for path in (tmp_path / "reference/tokenizers/en/sage").iterdir()}
    assert kept == {"tokenizer.json", "tokenizer_config.json", "pieces.txt", "README.md"}
    prunings = pd.read_parquet(tmp_path / "reference/prunings/en.parquet")
    assert prunings.to_dict("list") == {
        "piece": ["a", "b", "ab", "ba"],
        "sage": [-1, -1, 1, 0],
        "sage.seed2": [-1, -1, 0, -1],
    }
