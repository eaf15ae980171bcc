"""The constructed tasks: rows of places in files that packages ship."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from reproduction.data.construct import read_places
from reproduction.data.sources import resolve_source
from sagevocab.errors import UserError

FOLDER = Path(__file__).parents[2] / "workflow/resources/demo"
TASKS = sorted({file.name.partition(".")[0] for file in FOLDER.iterdir()})
COUNTS = {"sst2": (140, 45)}


def rows(task: str, split: str) -> list[dict]:
    return list(read_places(FOLDER / f"{task}.{split}.tsv"))


@pytest.fixture
def shipped(tmp_path, monkeypatch) -> str:
    """The first line of a file of places, about a text that a package ships."""
    content = "nothing\nOne two  three. Ğ é\n".encode("cp1254")
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours/__init__.py").touch()
    (tmp_path / "ours/text").write_bytes(content)
    monkeypatch.syspath_prepend(tmp_path)
    return f"ours:text cp1254 {hashlib.sha256(content).hexdigest()}"


def test_rows_are_put_together_from_places(tmp_path, shipped) -> None:
    table = "places\tfirst\tsecond\ttokens\tner_tags\tlabel\n"
    table += "1:0-15 1:16-19\ta\tb1 a0 a2 b0\t3 3 5 1\tO B-X I-X O\t2.5\n"
    (tmp_path / "rows").write_text(f"{shipped}\n{table}")
    assert list(read_places(tmp_path / "rows")) == [
        {
            "first": "One two three.",
            "second": "é One three. Ğ",
            "tokens": ["One", "two", "three", "."],
            "ner_tags": ["O", "B-X", "I-X", "O"],
            "label": "2.5",
        }
    ]


def test_another_file_of_the_package_is_one_line(tmp_path, shipped) -> None:
    (tmp_path / "rows").write_text(f"{shipped[:-1]}x\nplaces\ttext\n")
    with pytest.raises(UserError, match=r"ours/text: is not the file .*requirements\.lock"):
        list(read_places(tmp_path / "rows"))


def test_what_is_not_there_is_one_line() -> None:
    for task, split in (("cola", None), ("rte", "train")):
        with pytest.raises(UserError, match=r"^k\.constructed: .*"):
            resolve_source({"constructed": task}, {}, key="k", split=split)


@pytest.mark.parametrize("task", TASKS)
def test_splits_have_their_rows_and_share_no_text(task) -> None:
    train, validation = rows(task, "train"), rows(task, "validation")
    assert (len(train), len(validation)) == COUNTS.get(task, (400, 300))
    first = {str(next(iter(row.values()))) for row in train}
    assert len(first) == len(train)
    assert not first & {str(next(iter(row.values()))) for row in validation}
