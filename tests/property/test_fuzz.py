"""Whatever bytes and values come in, they end in a value or in one line for the user.

A longer search than that of every test run: FUZZ_EXAMPLES=20000 pytest tests/property/test_fuzz.py
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reproduction.config import load_run
from reproduction.external import check_external, import_external
from reproduction.retrievals import retrieved_files, sources_table
from sagevocab.corpus.words import Normalizer
from sagevocab.errors import UserError
from sagevocab.huggingface.export import export_greedy, export_merges, export_unigram
from sagevocab.huggingface.load import load
from sagevocab.huggingface.segmenter import load_segmenter
from sagevocab.pieces import read_pieces
from sagevocab.settings import WordSettings
from sagevocab.trimming.prune import prune
from vocabulary_samples import CARD, encode

ROOT = Path(__file__).parents[2]
WORDS = WordSettings("identity", 16)
fuzzed = settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "25")),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@contextmanager
def one_line_at_most() -> Iterator[None]:
    """Let a UserError pass, which must be one line."""
    try:
        yield
    except UserError as error:
        assert "\n" not in str(error)


@st.composite
def damaged(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """Cut, flip, repeat and insert in some bytes."""
    data = bytearray(draw(whole))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(data)))
        end = min(len(data), place + draw(st.integers(0, 40)))
        data[place:end] = draw(
            st.sampled_from((b"", bytes(data[place:end]) * 2)) | st.binary(max_size=8)
        )
    return bytes(data)


# --- the configuration

PAPER = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
ODD = st.sampled_from(["", "bpe", "en", "{lang}", "a\nb", "*", "..", "1e3", "\ud800", [[]], [{}]])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=4,
)


def keys(node: Any, path: tuple = ()) -> Iterator[tuple]:
    """Yield the path of every key."""
    for key, value in node.items() if isinstance(node, dict) else ():
        yield (*path, key)
        yield from keys(value, (*path, key))


@fuzzed
@given(
    changes=st.lists(
        st.tuples(st.sampled_from(list(keys(PAPER))), VALUES, st.booleans()), min_size=1, max_size=3
    )
)
def test_a_configuration(changes: list) -> None:
    config: dict[str, Any] = {}
    for path, value, beside in changes:
        place = config
        for key in path[:-1]:
            inner = place.get(key)
            place[key] = place = inner if isinstance(inner, dict) else {}
        place[f"{path[-1]}x" if beside else path[-1]] = copy.deepcopy(value)
    with one_line_at_most():
        run = load_run(config)
        run.vocabulary_files(), retrieved_files(run), sources_table(run)


@fuzzed
@given(data=damaged(st.just((ROOT / "config/demo.yaml").read_bytes())))
def test_a_configuration_file(data: bytes, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_bytes(data)
    with one_line_at_most():
        load_run({}, working_directory=True)


# --- tokenizers


OWN = ["▁", "a", "b", "▁a", "ab", "▁ab"]
MERGES = [("▁", "a"), ("a", "b"), ("▁a", "b")]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A small tokenizer of every kind."""
    root = tmp_path_factory.mktemp("vocabularies")
    export_greedy(root / "greedy", OWN, WORDS, CARD)
    export_merges(root / "merges", OWN, MERGES, WORDS, CARD)
    export_unigram(root / "unigram", OWN, [-float(n) for n in range(len(OWN))], WORDS, CARD)
    return {path.name: path for path in root.iterdir()}


PIECES = st.lists(st.text("▁ab\u0301中[MASK]\n\t \0\ufeff\ud800", max_size=5), max_size=9)
TEXT = st.text("▁ab\u0301中[MASK]\n\t \0\ufeffﬁ①", max_size=30)


@fuzzed
@given(pieces=PIECES, text=TEXT)
def test_any_list_of_pieces(tmp_path: Path, pieces: list[str], text: str) -> None:
    data = "".join(f"{piece}\n" for piece in pieces).encode("utf-8", "surrogatepass")
    (tmp_path / "list.txt").write_bytes(data)
    with one_line_at_most():
        read_pieces(tmp_path / "list.txt")
    with one_line_at_most():
        check_external(tmp_path / "list.txt", "key")
        import_external(tmp_path / "list.txt", tmp_path / "out", WORDS, "key")
        folder = tmp_path / "out"
        ids = encode(text, load_segmenter(folder), Normalizer(WORDS.normalization))
        names = load(folder).names(ids)
        assert len(names) == len(ids)


@st.composite
def changed_json(draw: st.DrawFn, value: Any) -> Any:
    """Replace something somewhere inside a value that JSON has."""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 4)) == 0:
        return draw(VALUES)
    value = value.copy()
    place = draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
    value[place] = draw(changed_json(value[place]))
    return value


@pytest.mark.parametrize("name", ["greedy", "merges", "unigram"])
@pytest.mark.parametrize("file", ["tokenizer.json", "tokenizer_config.json"])
@fuzzed
@given(data=st.data())
def test_a_changed_tokenizer(folders, tmp_path: Path, name: str, file: str, data) -> None:
    for path in folders[name].iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    value = data.draw(changed_json(json.loads((tmp_path / file).read_bytes())))
    (tmp_path / file).write_text(json.dumps(value))
    for use in (
        load,
        load_segmenter,
        lambda folder: check_external(folder, "key"),
        lambda folder: prune(folder, ["the words"], 8, output=tmp_path / "pruned", force=True),
    ):
        with one_line_at_most():
            use(tmp_path)
    with one_line_at_most():
        import_external(tmp_path, tmp_path / "out", WORDS, "key")
    with one_line_at_most():
        list(load(tmp_path).encode_lines(["the words", "", "☃"]))
