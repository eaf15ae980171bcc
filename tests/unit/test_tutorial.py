"""What the pages tell a user to type does what they say, block by block."""

from __future__ import annotations

import re
import shlex
import sys
from contextlib import ExitStack, redirect_stdout
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import yaml

from reproduction.config import load_run
from reproduction.retrievals import retrieved_files
from sagevocab.cli import main
from sagevocab.pieces import read_pieces
from sagevocab.settings import SageKeys, VocabularyKeys, Word2VecKeys
from scripts_text import lines_in

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STANZA = re.compile(r"^```yaml\n(# mine\.yaml\n.*?)^```$", re.MULTILINE | re.DOTALL)
SMALL = {"size 16000": "size 400", "16_000": "400", "16_003": "403", "12_000": "380"}


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lines of text, which also stand in `corpus.txt` of the working directory."""
    lines = [line for name in ("czech", "greek", "vietnamese") for line in lines_in(name, 80)]
    (tmp_path / "corpus.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return lines


def run_command(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a line of a console block; `<` and `>` are the last things in it."""
    prompt, name, *words = shlex.split(line)
    assert (prompt, name) == ("$", "sagevocab")
    with ExitStack() as files:
        while len(words) > 2 and words[-2] in ("<", ">"):
            *words, sign, path = words
            file = files.enter_context(open(path, "w" if sign == ">" else "r", encoding="utf-8"))
            if sign == ">":
                files.enter_context(redirect_stdout(file))
            else:
                monkeypatch.setattr(sys, "stdin", file)
        assert main(words) == 0


def run_blocks(blocks: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the blocks of a page one after the other; Python blocks share their names."""
    names: dict[str, object] = {}
    for kind, code in blocks:
        if kind == "python":
            exec(compile(code, "<block>", "exec"), names)
        else:
            for line in code.splitlines():
                run_command(line, monkeypatch)


def test_the_page_on_your_own_text_runs(
    lines: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    guide = (ROOT / "docs/guide.md").read_text(encoding="utf-8")
    for size, small in SMALL.items():
        assert size in guide
        guide = guide.replace(size, small)
    blocks = BLOCK.findall(guide)
    assert [kind for kind, _ in blocks].count("console") > 3
    run_blocks(blocks, monkeypatch)

    pieces = read_pieces("my-tokenizer/pieces.txt")
    assert len(pieces) == 400
    assert read_pieces("my-tokenizer-too/pieces.txt") == pieces
    assert len(Path("corpus.ids").read_text().splitlines()) == len(lines)
    assert list(pd.read_json("compared.json")["pieces"]) == [400, 400]
    assert "tokens_per_word" in capsys.readouterr().out
    assert Path("bpe-tokenizer/tokenizer.json").exists()


@pytest.mark.parametrize("language", ["hu", "tr"])
def test_the_stanza_needs_no_network_and_trains_as_the_command_does(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [stanza] = STANZA.findall((ROOT / "docs/guide.md").read_text(encoding="utf-8"))
    given = yaml.safe_load(stanza.replace("hu", language))
    (tmp_path / "corpus.txt.xz").touch()
    monkeypatch.chdir(tmp_path)
    run = load_run(given)

    assert run.languages == [language] and retrieved_files(run) == []
    assert run.config.vocabulary == VocabularyKeys()
    assert (run.config.sage, run.config.word2vec) == (SageKeys(), Word2VecKeys())


def test_the_readme_trains_and_loads_a_vocabulary(
    lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("16_000", "400")
    [trained] = re.findall(r"`(sagevocab\.train\(.*\))`", readme)
    [loaded] = re.findall(r"`(transformers\.AutoTokenizer.*\))`", readme)
    run_blocks([("python", f"import sagevocab, transformers\n{trained}\n{loaded}\n")], monkeypatch)
    assert len(read_pieces("my-sage/pieces.txt")) == 400


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "docs")
    names: dict[str, object] = {}
    cells = nbformat.read("first_steps.ipynb", as_version=4).cells
    for cell in cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, "<cell>", "exec"), names)
    assert len(names["vocabulary"].pieces) == 800
    assert list(names["pruned"]["loss"].head(5)) == sorted(names["pruned"]["loss"].head(5))
    assert [row["pieces"] for row in names["compared"]] == [800, 16_000, 16_000, 16_000]
    assert len(names["tokenizer"]) == 805
    # What it shows of the committed tokenizers is of those that are committed now.
    shown = str([cell.get("outputs") for cell in cells])
    assert all(f"{row['mean_piece_length']:.6f}" in shown for row in names["compared"][1:])
