"""The folder of reference results: what is copied, and what its page says."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from claim_samples import VALUES
from reproduction.paper.reference import build_reference
from reproduction.parquet import write_parquet
from reproduction.run_report import reference_command
from sagevocab.errors import UserError
from sagevocab.files import read_json
from sagevocab.pieces import write_pieces

TEMPLATE = VALUES.parents[1] / "report/reference.md.jinja"
RUN = {
    "name": "r", "labels": {"sage": "SaGe (printed)"}, "presets": {"sage": "printed"}, "names": {},
    "constructed": [], "models": False, "settings": {"seed": 1, "vocabulary": {"vocab_size": 4000}},
}  # fmt: skip


@pytest.fixture
def text(tmp_path):
    summary = tmp_path / "summary.json"
    summary.write_text(json.dumps({"lines": 1500, "words": 30000}))
    return {"name": "English", "title": "a text", "licence": "free", "in_paper": False,
            "paper": "the paper's dump", "summary": summary}  # fmt: skip


@pytest.fixture
def build(tmp_path, text):
    """Make reference results of some files; return their page."""

    def run(files=(), **others) -> str:
        given = {"run": RUN, "paper": VALUES, "command": "c", "template": TEMPLATE} | others
        build_reference(tmp_path / "reference", files, texts=[text], **given)
        return (tmp_path / "reference/README.md").read_text()

    return run


def test_reference_results_are_copied_with_a_page_that_tells_the_text(tmp_path, build):
    (tmp_path / "figures").mkdir()
    figure = tmp_path / "figures/figure_x.png"
    figure.write_bytes(b"png")
    (tmp_path / "manifest.json").write_text('{"environments": {}, "jobs": {}}')
    (tmp_path / "corpus.txt").write_text("some text\n")
    source = {"title": "a text", "file": str(tmp_path / "corpus.txt")}
    page = build([figure], results=tmp_path, sources=[source])
    output = tmp_path / "reference"
    files = sorted(p.relative_to(output).as_posix() for p in output.rglob("*") if p.is_file())
    assert files == ["README.md", "figures/figure_x.png", "manifest.json"]
    assert "| English | a text | free | 1,500 | 30,000 | the paper's dump |" in page
    assert "| corpus.txt | a text | `" in page
    assert "| `vocabulary.vocab_size` | 16000 | 4000 |" in page


def test_what_is_drawn_from_large_files_is_copied_and_its_frames_are_not(tmp_path, build):
    small, large = tmp_path / "small.parquet", tmp_path / "large.parquet"
    small.write_bytes(b"0" * 1_000_000)
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
    assert "Drawn from more than 2 MB, which is not in `frames/`: figure_heavy." in page


def test_a_constructed_task_is_no_reference(build):
    with pytest.raises(UserError, match="MRPC"):
        build(run={**RUN, "constructed": ["MRPC"]})


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


def test_files_beside_the_repository_are_shown_without_their_folders(tmp_path):
    files = [tmp_path / "config/wiki.yaml", "/elsewhere/study.yaml"]
    assert "--configfile config/wiki.yaml study.yaml --" in reference_command(files, tmp_path)
