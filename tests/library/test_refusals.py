"""What cannot be used is refused in one line that begins with its place and names the way out.

A row is the place, a word of the way out (or of what is wrong), and the call.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from sentencepiece import sentencepiece_model_pb2

import sagevocab
from sagevocab import UserError
from sagevocab.cli import main
from sagevocab.corpus.text import lines_of
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.huggingface.load import convert
from sagevocab.huggingface.special_tokens import special_tokens_of
from sagevocab.initial.vocabulary import read_initial
from sagevocab.pieces import read_pieces, write_pieces
from sagevocab.word2vec.embeddings import Embeddings
from scripts_text import lines_in

LINES = lines_in("czech", 300)
QUICK = {"threads": 1, "progress": False}


def train(**changes: Any) -> None:
    sagevocab.train(**{"texts": LINES, "vocab_size": 190, **QUICK, **changes})


def read(texts: Any, column: str | None = None) -> None:
    list(lines_of(texts, column))


def line_of(call: Callable[[], object]) -> str:
    """Return the one line with which a call is refused."""
    with pytest.raises(UserError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a text, and with files of other kinds."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": 1, "text": "one"}, {"id": 2, "text": "\ud800"}]
    files = {
        "a.txt": b"first\nsecond\n",
        "a.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows).encode(),
        "nul.jsonl": json.dumps({"text": "\0"}).encode(),
        "short.jsonl": b'{"text": "a"}\n{"id": 5}\n',
        "list.json": b"[{}]",
        "digits.jsonl": b'{"text": ' + b"9" * 5000 + b"}",
        "latin.txt": b"caf\xe9\n",
        "latin.csv": b"text,b\ncaf\xe9,1\n",
        "quoted.tsv": b'text\n"All" is quoted\n',
        "archive": b"PK\x03\x04\0\0",
        "a.pdf": b"%PDF-1.7\n",
        "sp.model": b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02",
        "empty.txt": b"",
        "twice.list": b"a\nb\na\n",
        "gap.list": b"a\n\nb\n",
        "empty.list": b"",
        "latin.list": b"a\n\xff\n",
        "mine.list": "▁a\n".encode(),
        "sp.vocab": "<unk>\t0\n▁a\t-1.5\n".encode(),
        "x.model": b"",
    }
    for name, content in files.items():
        Path(name).write_bytes(content)
    tokenizers.Tokenizer(tokenizers.models.BPE()).save("mine.json")
    whole = tokenizers.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])
    tokenizers.Tokenizer(whole).save("whole.json")
    tokenizers.Tokenizer(tokenizers.models.BPE(dropout=0.1)).save("random.json")
    np.savez("other.npz", tokens=np.zeros(1))
    return tmp_path


# --- arguments of `train`

ZERO = {"contexts": "zero"}
MERGELESS = ["▁", *(chr(0x4E00 + n) * times for n in range(100) for times in (1, 2))]
ARGUMENTS = [
    ("vocab_size", "16000", {"vocab_size": "16k"}),
    ("vocab_size", "integer", {"vocab_size": 16e3}),
    ("vocab_size", "quotes", {"vocab_size": "16000"}),
    ("vocab_size", "250 initial", {"vocab_size": 300, "initial_size": 250}),
    ("initial_size", "vocabulary.ascii", {"vocab_size": 60}),
    ("vocab_size", "integer", {"vocab_size": True}),
    ("lossless", "True or False", {"lossless": "no"}),
    ("force", "True or False", {"force": "no"}),
    ("progress", "a function", {"progress": "yes"}),
    ("preset", "did you mean printed", {"preset": "printd"}),
    ("seed", "-1", {"seed": -1}),
    ("threads", "0", {"threads": 0}),
    ("sage.prune_bach", "did you mean prune_batch", {"sage": {"prune_bach": 3}}),
    ("sage.candidates", "1 run out", {"sage": {"candidates": 1}}),
    ("sage.contexts", "shuffled", {"sage": {"contexts": "none"}}),
    ("sage", "give seed", {"sage": {"seed": 3}}),
    ("sage.retrain_every", "leave it", {"preset": "released", "sage": {"retrain_every": 2}}),
    ("vocabulary", "give vocab_size", {"vocabulary": {"vocab_size": 3}}),
    ("word2vec", "settings by name", {"word2vec": 5}),
    ("word2vec.alpha", "quotes", {"word2vec": {"alpha": "0.1"}}),
    ("word2vec.epochs", "leave it out", {"preset": "counts", "word2vec": {"epochs": 3}}),
    ("word2vec.alpha", "leave it out", {"sage": ZERO, "word2vec": {"alpha": 0.1}}),
    ("word2vec.workers", "threads", {"word2vec": {"workers": 2}}),
    ("sage.window", "leave it out", {"preset": "bigram_code", "sage": {"window": 9}}),
    ("sage.loss_lines", "leave it", {"preset": "counts", "sage": {"loss_lines": 9}}),
    ("sage.candidates", "ranked once", {"sage": {"rerank_every": 0, "candidates": 9}}),
    ("sage.candidates", "each batch", {"sage": {"rerank_every": 1, "candidates": 200}}),
    ("sage.retrain", "ranked once", {"sage": {"rerank_every": 0, "retrain": True}}),
    ("sage.retrain_every", "leave it", {"sage": {"rerank_every": 0, "retrain_every": 2}}),
    ("sage.retrain_every", "leave it", {"sage": {**ZERO, "retrain_every": 2}}),
    ("sage.context_matrix", "vectors", {"sage": {**ZERO, "context_matrix": "shared"}}),
    ("initial", "NoneType", {"initial": None}),
    ("initial", "hf download", {"initial": "bert-base-uncased"}),
    ("initial_size", "leave it out", {"initial": ["▁"], "initial_size": 9}),
    ("vocabulary.ascii", "leave", {"initial": "a.model", "vocabulary": {"ascii": True}}),
    (
        "vocabulary.normalization",
        "leave it out",
        {"lossless": True, "vocabulary": {"normalization": "nfkc"}},
    ),
    ("initial", "start from bpe", {"initial": MERGELESS, "sage": {"decoder": "merges"}}),
    ("lossless", "a list of pieces", {"lossless": True, "initial": ["▁"]}),
    ("lossless", "unigram", {"lossless": True, "initial": "unigram"}),
    ("special_tokens", "bytes", {"lossless": True, "special_tokens": ["<é>"]}),
    ("special_tokens", "list", {"special_tokens": 5}),
    ("initial_size", "256 bytes", {"lossless": True, "vocab_size": 200}),
    ("language", "code", {"language": 3}),
    ("bad_text", "choose", {"bad_text": "ignore"}),
    ("texts", "give a file", {"texts": 16_000, "vocab_size": "corpus.txt"}),
    ("wikitext", "check the path", {"texts": "wikitext"}),
    ("mine.json:1", "not a JSON object", {"texts": "mine.json"}),
]


@pytest.mark.parametrize(("place", "words", "arguments"), ARGUMENTS)
def test_arguments_of_train(place: str, words: str, arguments: dict, here: Path) -> None:
    line = line_of(lambda: train(**arguments))
    assert line.startswith(f"{place}: ")
    assert words in line


# --- texts

TEXTS = [
    ("texts", "give a file", None),
    ("texts", "a list of lines", b"some text"),
    ("texts, item 1", "give text", [b"some text"]),
    ("texts", "one data set", {"text": ["a"]}),
    ("texts, item 2", "give text", ["c", 3]),
    ("texts, item 2", "PosixPath", ["a line", Path("b")]),
    ("none.txt", "check the path", ["a.txt", "none.txt"]),
    ("none.txt", "check the path", ["none.txt", "a.txt"]),
    ("Some text.", "as a list", "Some text.\nMore of it."),
    ("word word", "as a list", "word " * 2000),
    ("owner/words", "a data set of the hub", "owner/words"),
    (".", "./*.txt", "."),
    ("latin.txt, line 1", "bad_text", "latin.txt"),
    ("archive", "not a text", "archive"),
    ("a.pdf", "not a text", "a.pdf"),
    ("sp.model", "not a text", "sp.model"),
]
COLUMNS = [
    ("a.jsonl", "set column", "a.jsonl", None),
    ("a.txt:1", "leave column out", ["a.txt", "a.jsonl"], "text"),
    ("a.jsonl", "one of id, text", "a.jsonl", "txt"),
    ("a.jsonl", "column 'id', row 1", "a.jsonl", "id"),
    ("a.jsonl", "row 2: holds what is not UTF-8", "a.jsonl", "text"),
    ("nul.jsonl", "row 1: holds a NUL", "nul.jsonl", "text"),
    ("short.jsonl, row 2", "no column 'text'", "short.jsonl", "text"),
    ("list.json:1", "not a JSON object", "list.json", "text"),
    ("digits.jsonl:1", "not a JSON object", "digits.jsonl", "text"),
    ("list.json:1", "not a JSON object", "list.json", None),
    ("quoted.tsv:2", ";", "quoted.tsv", "text"),
    ("latin.csv: column 'text', row 1", "bad_text", "latin.csv", "text"),
    ("column", "no columns", ["c", "b"], "text"),
]


@pytest.mark.parametrize(
    ("place", "words", "texts", "column"), [*((*row, None) for row in TEXTS), *COLUMNS]
)
def test_texts(place: str, words: str, texts: Any, column: str | None, here: Path) -> None:
    line = line_of(lambda: read(texts, column))
    assert line.startswith(place)
    assert words in line
    assert "; " in line  # before the way out


# --- files and values of the other functions

NFKC, NFD = {"normalization": "nfkc"}, {"normalization": "nfd"}
CALLS: list[tuple[str, str, Callable[[], object]]] = [
    ("twice.list:3", "'a'", lambda: read_pieces("twice.list")),
    ("gap.list:2", "not a piece", lambda: read_pieces("gap.list")),
    ("empty.list:1", "not a piece", lambda: read_pieces("empty.list")),
    ("latin.list", "byte 2", lambda: read_pieces("latin.list")),
    ("none.list", "cannot be read", lambda: read_pieces("none.list")),
    ("other.npz", "no embeddings", lambda: Embeddings.load("other.npz")),
    ("other.npz", "not a word corpus", lambda: WordCorpus.load("other.npz")),
    ("tokenizer", "int", lambda: sagevocab.load(5)),
    ("tokenizer", "int", lambda: sagevocab.compare([3], LINES)),
    ("tokenizer: tokenizer.json", "AutoTokenizer", lambda: sagevocab.load(".")),
    ("tokenizer: google/gemma", "hf download", lambda: sagevocab.load("google/gemma")),
    ("tokenizer: random.json", "dropout", lambda: sagevocab.compare(["random.json"], LINES)),
    ("tokenizer: random.json", "dropout", lambda: sagevocab.prune("random.json", LINES, 9)),
    ("tokenizers", "then the text", lambda: sagevocab.compare("a.txt", ["tok"])),
    ("vocabulary.normalization", "nfd", lambda: Normalizer("nfd")),
    ("initial: item 2", "not text", lambda: read_initial(["▁a", 3])),
    ("initial: item 3", "already (1)", lambda: read_initial(["▁a", "b", "▁a"])),
    ("initial", "no pieces", lambda: read_initial([])),
    ("initial", "not a list", lambda: read_initial({"▁a": 1}.items())),
    ("special_tokens", "choose bert, gpt, none", lambda: special_tokens_of("roberta")),
    ("special_tokens", "twice", lambda: special_tokens_of(["<s>", "<s>"])),
    ("special_tokens", "not a token", lambda: special_tokens_of(["a b"])),
    ("special_tokens", "'<the>'", lambda: special_tokens_of("the,<unk>")),
    ("force", "True or False", lambda: convert("mine.list", "out", force="no")),
    ("mine.json", "AutoTokenizer", lambda: convert("mine.json", "out")),
    (".", "AutoTokenizer", lambda: convert(".", "out")),
    ("tokenizer: sp.vocab", "give the .model", lambda: convert("sp.vocab", "out")),
    ("initial: sp.vocab", "give the .model", lambda: read_initial("sp.vocab")),
    ("normalization", "leave it out", lambda: convert("x.model", "out", NFKC)),
    ("vocabulary.normalization", "nfkc", lambda: convert("twice.list", "out", NFD)),
    ("tokenizer: x.model", "sagevocab export", lambda: sagevocab.prune("x.model", LINES, 9)),
    ("empty.txt", "no text", lambda: sagevocab.prune("whole.json", "empty.txt", 2)),
    ("by", "scores", lambda: sagevocab.prune("mine.json", LINES, 9, by="frequency", scores={})),
]


@pytest.mark.parametrize(("place", "words", "call"), CALLS)
def test_files_and_values(place: str, words: str, call: Callable, here: Path) -> None:
    line = line_of(call)
    assert line.startswith(place)
    assert words in line


@pytest.mark.parametrize("pieces", [[], ["a", "a"], ["a\nb"], [""]])
def test_pieces_that_cannot_be_read_back_are_not_written(pieces: list[str], tmp_path: Path) -> None:
    line_of(lambda: write_pieces(tmp_path / "pieces.txt", pieces))
    assert list(tmp_path.iterdir()) == []


# --- models of sentencepiece


def test_models_of_sentencepiece_that_are_damaged(here: Path) -> None:
    model = sentencepiece_model_pb2.ModelProto()
    model.trainer_spec.model_type = model.trainer_spec.UNIGRAM
    model.pieces.add(piece="<unk>", type=model.SentencePiece.UNKNOWN)
    without_pieces = model.SerializeToString()
    model.pieces.add(piece="a")
    not_utf8 = model.SerializeToString().replace(b"\x01a", b"\x01\xff")
    for data in (without_pieces, not_utf8):
        Path("x.model").write_bytes(data)
        line_of(lambda: convert("x.model", "out"))
        assert not Path("out").exists()


# --- the command

OPTIONS = [
    ([], "required"),
    (["train"], "required"),
    (["bake"], "bake"),
    (["train", "a.txt", "-o", "out", "--seed", "wide"], "--seed"),
    (["train", "a.txt", "-o", "out", "--vocab_size", "9"], "did you mean --vocab-size"),
    (["train", "a.txt", "-o", "out", "--vocab-size", "16k"], "16000"),
    (["export", "a.txt", "b.txt", "-o", "out"], "unknown: b.txt"),
    (["train", "a.txt", "-o", "out", "--sage.windw=3"], "did you mean --sage.window"),
    (["train", "a.txt", "-o", "out", "--sizes", "400,400"], "twice"),
    (["train", "-o", "out", "--sizes", "400", "500"], "commas"),
    (["train", "a.txt", "-o", "out", "--xyz"], "--xyz"),
]


@pytest.mark.parametrize(("argv", "words"), OPTIONS)
def test_options_that_are_not_there(argv: list[str], words: str, capsys) -> None:
    with pytest.raises(SystemExit) as end:
        main(argv)
    assert end.value.code == 2
    assert words in capsys.readouterr().err


COMMANDS = [
    (["train", "none.txt", "-o", "out"], "none.txt: "),
    (["train", "a.txt", "-o", "latin.txt/out", "--quiet"], "cannot be written ("),
    (["train", "a.txt", "-o", "out", "--vocab-size", "60"], "--initial-size: "),
    (["train", "a.txt", "-o", "out", "--preset", "Counts"], "--preset: 'Counts'"),
    (["train", "a.txt", "-o", "out", "--sage.candidates", "1"], "--sage.candidates: "),
    (["encode", "none", "a.txt"], "none"),
    (["prune", "none", "a.txt", "-o", "out", "--vocab-size", "9"], "give a Hugging Face folder"),
    (["export", "twice.list", "-o", "out"], "twice.list:3: "),
]


@pytest.mark.parametrize(("argv", "place"), COMMANDS)
def test_commands(argv: list[str], place: str, here: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(argv) == 1
    reply = capsys.readouterr()
    assert reply.out == ""
    assert reply.err.splitlines()[-1].startswith("sagevocab: error: ")
    assert place in reply.err.splitlines()[-1]
    assert not Path("out").exists()
