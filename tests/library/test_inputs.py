"""What can be given as text: files, tables, data sets, lines; and what is refused, in one line."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import sagevocab
from sagevocab.errors import UserError
from sagevocab.inputs import lines_of

# Neither is needed by the library, which takes what they hold.
datasets = pytest.importorskip("datasets")
pd = pytest.importorskip("pandas")

ROWS = [
    {"id": 1, "text": "one line"},
    {"id": 2, "text": 'two\nlines, with "quotes"'},
    {"id": 3, "text": None},
    {"id": 4, "text": "Žluťoučký kůň\r\n"},
]
LINES = ["one line", "two", 'lines, with "quotes"', "Žluťoučký kůň"]
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


def jsonl(rows: list[dict[str, Any]] = ROWS) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


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


@pytest.mark.parametrize("ending", COMPRESS)
def test_jsonl_in_any_compression(ending: str, tmp_path: Path, caplog) -> None:
    path = tmp_path / f"rows.jsonl{ending}"
    path.write_bytes(COMPRESS[ending](jsonl()))
    assert list(lines_of(path, column="text")) == LINES
    assert "column 'text': 1 of 4 rows hold no text, left out" in caplog.text


@pytest.mark.parametrize("name", ["rows.ndjson", "rows.json", "rows", "rows.txt"])
def test_json_lines_by_name_or_content(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(jsonl())
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
    (tmp_path / "bad.tsv").write_text('text\n"All" is quoted\n', encoding="utf-8")
    assert "bad.tsv:2: " in refusal(tmp_path / "bad.tsv", "text")


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
        assert "column 'text': 1 of 3 rows hold no text, left out" in caplog.text
    caplog.clear()
    assert list(lines_of(["one", "", "two"])) == ["one", "", "two"]
    assert caplog.text == ""


def test_parquet_row_group_by_row_group(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "rows.parquet"
    pd.DataFrame(ROWS * 5).to_parquet(path, row_group_size=3)
    assert list(lines_of([path, path], column="text")) == LINES * 10
    assert "a table with the columns id, text" in refusal(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'sagevocab[parquet]'" in refusal(path, "text")


def test_a_table_needs_a_column_that_is_there(here: Path) -> None:
    Path("a.jsonl").write_bytes(jsonl())
    assert refusal("a.jsonl") == (
        "a.jsonl: is a table with the columns id, text; name the one that holds the text, "
        "column='text'"
    )
    assert refusal(["a.txt", "a.jsonl"], "text").startswith("a.txt: is no table")
    assert refusal("a.jsonl", "txt").endswith("columns are id, text; did you mean text?")
    assert refusal("a.jsonl", "id") == (
        "a.jsonl: column 'id', row 1: is of type int; give text there"
    )
    Path("b.jsonl").write_bytes(jsonl([*ROWS, {"id": 5}]))
    assert refusal("b.jsonl", "text").startswith("b.jsonl, row 5: has no column 'text'")
    Path("c.json").write_text("[{}]", encoding="utf-8")
    assert "jq -c '.[]' c.json > c.jsonl" in refusal("c.json", "text")


def test_what_json_can_hold_and_text_cannot(here: Path) -> None:
    Path("a.jsonl").write_bytes(jsonl([{"text": "a"}, {"text": "\ud800"}]))
    Path("b.jsonl").write_bytes(jsonl([{"text": "\0"}]))
    assert "a.jsonl: column 'text', row 2: holds half a surrogate pair" in refusal(
        "a.jsonl", "text"
    )
    assert "b.jsonl: column 'text', row 1: holds a NUL" in refusal("b.jsonl", "text")


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
    assert "the columns id, text; name the one" in refusal(COLUMNS[kind])
    assert "did you mean text?" in refusal(COLUMNS[kind], "texts")


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
    assert "texts: 1 of 4 items hold no text, left out" in caplog.text


def test_nothing_is_read_before_it_is_needed() -> None:
    taken: list[int] = []

    def rows() -> Iterator[str]:
        for number in range(1000):
            taken.append(number)
            yield f"line {number}"

    lines = lines_of(rows())
    assert next(lines) == "line 0"
    assert len(taken) < 3


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (None, "texts: None is no text; give a file"),
        (16_000, "texts: 16000 is no text; give a file"),
        (b"some text", "texts: are bytes; give a list of lines"),
        ([b"some text"], "texts, item 1: is of type bytes; give text"),
        ({"text": ["a"]}, "texts: is a dict of text; give one, such as texts['text']"),
        (
            datasets.DatasetDict(test=DATA, train=DATA),
            "texts: is a DatasetDict of test, train; give one, such as texts['test']",
        ),
        (["c", 3], "texts, item 2: is of type int; give text"),
        (["a line", Path("b")], "texts: item 2 is the file b and others are lines; give files or"),
        (["a.txt", "a line"], "texts: item 1 is the file a.txt and others are lines; give files"),
    ],
)
def test_what_is_no_text(texts: Any, message: str, here: Path) -> None:
    assert refusal(texts).startswith(message)


def test_a_column_of_lines_is_refused() -> None:
    assert refusal(["c", "b"], "text").startswith("column: texts has no columns")


# --- files


def test_lists_of_files_and_of_lines(here: Path) -> None:
    assert list(lines_of(["a.txt", Path("a.txt")])) == ["first", "second"] * 2
    # A line that happens to be the name of a file is a line among lines, if it must be one.
    for lines in (["a line", "b.txt"], ["a line", "a"], iter(["a line", "a.txt"])):
        expected = ["a line", "a.txt"] if isinstance(lines, Iterator) else lines
        assert list(lines_of(lines)) == expected
    for lines in (["word", "by", "word"], ["-", "c", "dash"], ["c", pd.NA, "b"]):
        assert list(lines_of(lines)) == [line for line in lines if line is not pd.NA]
    for files in (["a.txt", "none.txt"], ["none.txt", "a.txt"], ["a.txt", "none"], ["b.txt"]):
        assert "cannot be read (No such file or directory); check the path" in refusal(files)


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


def test_python_shows_no_second_traceback_of_a_missing_file() -> None:
    with pytest.raises(UserError) as caught:
        sagevocab.train("none.txt")
    assert caught.value.__suppress_context__ and caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("Some text.\nMore of it.", "is text, not the name of a file; give a list of lines"),
        ("word " * 2000, "is text, not the name of a file; give a list of lines"),
        ("wikitext", "datasets.load_dataset('wikitext', split='train'), with column='text'"),
        ("Salesforce/wikitext", "datasets.load_dataset('Salesforce/wikitext'"),
        (Path("Salesforce/wikitext"), "hf download Salesforce/wikitext --repo-type dataset"),
        ("my corpus.txt", "my corpus.txt: cannot be read (No such file or directory); check"),
        (".", ".: is a folder; give the files in it, such as ./*.txt"),
        ("/dev/null", "is a pipe or device, which cannot be read twice; give it as standard"),
    ],
)
def test_what_is_no_file(texts: Any, message: str, here: Path) -> None:
    assert message in refusal(texts)


def test_a_saved_data_set_and_bad_bytes(here: Path) -> None:
    DATA.save_to_disk("saved")
    assert "datasets.load_from_disk('saved')" in refusal("saved")
    Path("b.txt").write_bytes(b"caf\xe9\n")
    assert refusal("b.txt").endswith("with iconv, or give encoding_errors='replace'")
    Path("b.csv").write_bytes(b"text,b\ncaf\xe9,1\n")
    assert refusal("b.csv", "text") == (
        "b.csv:2: is not UTF-8 (byte 0xe9 at position 4); convert it, for example with iconv, or "
        "give encoding_errors='replace'"
    )
    assert list(lines_of(["b.txt", "b.txt"], "replace")) == ["caf\ufffd"] * 2
    assert list(lines_of("b.csv", "replace", "text")) == ["caf\ufffd"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04", "is a zip archive; unpack it"),
        (b"%PDF-1.7", "is a PDF; extract its text"),
        (b"plain text", "is not compressed, though its name ends in .gz; rename or compress it"),
    ],
)
def test_files_of_another_kind(content: bytes, message: str, here: Path) -> None:
    name = "b.gz" if b"plain" in content else "b.txt"
    Path(name).write_bytes(content)
    assert message in refusal(name)
