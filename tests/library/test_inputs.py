"""What can be given as text: files, tables, data sets, lines. What is refused: test_refusals."""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagevocab.corpus.text import lines_of
from sagevocab.errors import UserError

# Neither is needed by the library, which takes what they hold.
datasets = pytest.importorskip("datasets")
pd = pytest.importorskip("pandas")

ROWS = [
    {"id": 1, "text": "one line"},
    {"id": 2, "text": 'two\nlines, with "quotes"'},
    {"id": 3, "text": None},
    {"id": 4, "text": "Žluťoučký kůň\r\n"},
]
JSONL = "".join(f"{json.dumps(row)}\n" for row in ROWS).encode()
LINES = ["one line", "two", 'lines, with "quotes"', "Žluťoučký kůň"]


def refusal(texts: Any, column: str | None = None) -> str:
    """Return the one line that refuses a text; reading it may be what meets the mistake."""
    with pytest.raises(UserError) as caught:
        list(lines_of(texts, column=column))
    printed = str(caught.value)
    assert "\n" not in printed
    assert "; " in printed, f"without a way out: {printed}"
    return printed


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("first\nsecond\n", encoding="utf-8")
    Path("a").touch()
    return tmp_path


# --- tables


def test_compressed_jsonl(tmp_path: Path, caplog) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(JSONL))
    assert list(lines_of(path, column="text")) == LINES
    assert "column 'text', rows: 1 of 4 hold no text, left out" in caplog.text


@pytest.mark.parametrize("name", ["rows.json", "rows.txt"])
def test_json_lines_by_name_or_content(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(JSONL)
    assert list(lines_of(tmp_path / name, column="text")) == LINES


def test_csv_and_tsv(tmp_path: Path) -> None:
    with (tmp_path / "rows.csv").open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, ["id", "text"])
        writer.writeheader()
        writer.writerows(row for row in ROWS if row["text"])
    frame = pd.DataFrame({"text": ['a "quoted word', '"All" is quoted', "a\ttab"]})
    frame.to_csv(tmp_path / "rows.tsv", sep="\t")
    (tmp_path / "mac.csv").write_bytes(b'id,text\r1,"one, two"\r2,three\r')
    assert list(lines_of(tmp_path / "rows.csv", column="text")) == LINES
    assert list(lines_of(tmp_path / "mac.csv", column="text")) == ["one, two", "three"]
    assert list(lines_of(tmp_path / "rows.tsv", column="text")) == [*frame["text"]]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_empty_cells_are_counted_as_rows_without_text(ending: str, tmp_path: Path, caplog) -> None:
    frame = pd.DataFrame({"id": [1, 2, 3], "text": ["one", "", "two"]})
    path = tmp_path / f"rows.{ending}"
    if ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, sep={"csv": ",", "tsv": "\t"}[ending], index=False)
    for texts in (path, frame):
        caplog.clear()
        assert list(lines_of(texts, column="text")) == ["one", "two"]
        assert "column 'text', rows: 1 of 3 hold no text, left out" in caplog.text
    caplog.clear()
    assert list(lines_of(["one", "", "two"])) == ["one", "", "two"]
    assert caplog.text == ""


def test_parquet_row_group_by_row_group(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "rows.parquet"
    pd.DataFrame(ROWS * 5).to_parquet(path, row_group_size=3)
    assert list(lines_of([path, path], column="text")) == LINES * 10
    assert "one of id, text" in refusal(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'sagevocab[parquet]'" in refusal(path, "text")


# --- what is in memory


class FakeStream:
    """As an `IterableDataset` whose columns are known only by reading it."""

    column_names = None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(ROWS)


DATA = datasets.Dataset.from_list(ROWS)
COLUMNS = {
    "a data set": DATA,
    "a stream": DATA.to_iterable_dataset(),
    "a stream of unknown columns": FakeStream(),
    "a data frame": pd.DataFrame(ROWS),
    "rows": ROWS,
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_rows(kind: str) -> None:
    assert list(lines_of(COLUMNS[kind], column="text")) == LINES
    assert "set column" in refusal(COLUMNS[kind])
    assert "one of id, text" in refusal(COLUMNS[kind], "texts")


@pytest.mark.parametrize(
    "texts",
    [
        DATA["text"],
        pd.DataFrame(ROWS)["text"],
        [row["text"] for row in ROWS],
        (row["text"] for row in ROWS),
    ],
    ids=["data set", "series", "list", "generator"],
)
def test_a_column_alone(texts: Any, caplog) -> None:
    assert list(lines_of(texts)) == LINES
    assert "texts, items: 1 of 4 hold no text, left out" in caplog.text


# --- files


def test_lists_of_files_and_of_lines(here: Path) -> None:
    assert list(lines_of(["a.txt", Path("a.txt")])) == ["first", "second"] * 2
    # A line that happens to be the name of a file is a line among lines, if it must be one.
    for lines in (["a line", "b.txt"], ["a line", "a"], iter(["a line", "a.txt"])):
        expected = ["a line", "a.txt"] if isinstance(lines, Iterator) else lines
        assert list(lines_of(lines)) == expected
    for lines in (["word", "by", "word"], ["-", "c", "dash"], ["c", pd.NA, "b"]):
        assert list(lines_of(lines)) == [line for line in lines if line is not pd.NA]


@given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20)))
def test_a_text_with_line_ends_is_several_lines(texts: list[str]) -> None:
    expected = [
        line.removesuffix("\r") for text in texts for line in text.removesuffix("\n").split("\n")
    ]
    assert list(lines_of(iter(texts))) == expected


def test_a_file_has_the_lines_of_the_same_text_in_memory(tmp_path: Path) -> None:
    text = "a\r\nb\r\r\n\r\n\n c \r"
    file = tmp_path / "lines.txt"
    file.write_bytes(text.encode())
    assert list(lines_of(file)) == list(lines_of(iter([text]))) == ["a", "b\r", "", "", " c "]


# --- what is not text


BAD_ROWS = [{"text": "good"}, {"text": "half\ud83d of a pair"}, {"text": "a\0b"}, {"text": "end"}]


def bad_texts(folder: Path) -> dict[str, tuple]:
    """The same four texts in every form; the second and third are bad."""
    data = [row["text"] for row in BAD_ROWS]
    (folder / "a.txt").write_bytes(b"good\nhalf\xf0\x9f of a pair\na\0b\nend\n")
    rows = "".join(json.dumps(row) + "\n" for row in BAD_ROWS)
    (folder / "a.jsonl").write_text(rows)
    (folder / "a.csv").write_bytes(b"text\ngood\nhalf\xf0\x9f of a pair\na\0b\nend\n")
    return {
        "list": (data, None),
        "rows": (BAD_ROWS, "text"),
        "lines": (folder / "a.txt", None),
        "jsonl": (folder / "a.jsonl", "text"),
        "csv": (folder / "a.csv", "text"),
    }


@pytest.mark.parametrize("form", ["list", "rows", "lines", "jsonl", "csv"])
def test_bad_text_is_refused_replaced_or_skipped(form: str, tmp_path: Path, caplog) -> None:
    texts, column = bad_texts(tmp_path)[form]
    with pytest.raises(UserError, match=r"(item|row|line) [23]\b"):
        list(lines_of(texts, column=column))
    replaced = ["good", "half\ufffd of a pair", "a\ufffdb", "end"]
    assert list(lines_of(texts, column=column, bad_text="replace")) == replaced
    assert list(lines_of(texts, column=column, bad_text="skip")) == ["good", "end"]
    assert re.search("(line|row|item)s left out that are not text: 2", caplog.text)
    with pytest.raises(UserError, match="bad_text"):
        lines_of(texts, column=column, bad_text="drop")
