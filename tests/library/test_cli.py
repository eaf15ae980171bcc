"""The command `sagevocab`: what it writes. What it refuses: test_refusals."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import AutoTokenizer

import sagevocab
from sagevocab.cli import SECTIONS, main
from sagevocab.corpus.text import read_lines
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.evaluation.compare import MEASURES
from sagevocab.huggingface.sentencepiece import write_model
from sagevocab.initial.sentencepiece_models import TrainingSettings, train_bpe
from sagevocab.pieces import read_pieces
from sagevocab.progress import Progress
from sagevocab.word2vec.embeddings import Embeddings
from scripts_text import SENTENCES, lines_in

QUICK = ["--word2vec.epochs", "1", "--word2vec.dimension", "8", "--threads", "1"]
# The characters of the text, and no others.
EVERY = [
    "--vocabulary.character_coverage",
    "1.0",
    "--vocabulary.ascii",
    "false",
]
SMALL = ["--initial-size", "250", "--vocab-size", "200", *EVERY, *QUICK]
# The arguments of the function that mean SMALL.
SAME = {
    "vocab_size": 200,
    "initial_size": 250,
    "vocabulary": {"character_coverage": 1.0, "ascii": False},
    "word2vec": {"epochs": 1, "dimension": 8},
}
FILES = ("pieces.txt", "ablations.jsonl", "embeddings.npz", "tokenizer.json", "sagevocab.json")
COMMAND = [sys.executable, "-m", "sagevocab"]
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(sagevocab.__file__).parents[1]),
    "OMP_NUM_THREADS": "1",
    "PYTHONUNBUFFERED": "",  # as users have it
}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "czech.txt"
    path.write_text("".join(f"{line}\n" for line in lines_in("czech", 300)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def built(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "czech"
    assert main(["train", str(text), "-o", str(folder), *SMALL, "--quiet"]) == 0
    return folder


def digest(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def refused(capsys: pytest.CaptureFixture, *argv: object) -> str:
    """Run a command that must fail; return the one line that it prints."""
    capsys.readouterr()
    assert main([*map(str, argv), *(["--quiet"] if argv[0] == "train" else [])]) == 1
    reply = capsys.readouterr()
    assert reply.out == ""
    assert reply.err.count("\n") == 1
    return reply.err


# --- train


def test_train_writes_a_tokenizer_and_what_was_pruned(text: Path, built: Path) -> None:
    pieces = read_pieces(built / "pieces.txt")
    lines = (built / "ablations.jsonl").read_text(encoding="utf-8").splitlines()
    pruned = [json.loads(line) for line in lines]
    assert (len(pieces), len(pruned)) == (200, 50)
    assert not {row["piece"] for row in pruned} & set(pieces)
    assert list(pruned[0]) == ["iteration", "order", "piece", "loss", "occurrences", "lines"]
    assert Embeddings.load(built / "embeddings.npz").target.shape == (250, 8)
    record = json.loads((built / "sagevocab.json").read_text(encoding="utf-8"))
    assert record["text"]["lines"] == 300
    assert record["settings"]["sage"]["vocab_size"] == 200
    assert list(built.parent.iterdir()) == [built]  # the progress is gone


def test_a_compressed_text_on_standard_input(text: Path, built: Path, tmp_path: Path) -> None:
    train = [*COMMAND, "train", "-o", str(tmp_path / "out"), *SMALL]
    done = subprocess.run(
        train, input=gzip.compress(text.read_bytes()), env=ENVIRONMENT, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == b""
    assert b"\r" not in done.stderr  # no bar where there is no terminal
    assert digest(tmp_path / "out") == digest(built)


def test_initial_vocabularies_from_elsewhere(text: Path, built: Path, tmp_path: Path) -> None:
    out, again, model = tmp_path / "unigram", tmp_path / "again", tmp_path / "own.model"
    listed = str(out / "pieces.txt")
    small = ["--initial-size", "90", "--vocab-size", "85", *EVERY, *QUICK]
    assert main(["train", str(text), "-o", str(out), "--initial", "unigram", *small, "-q"]) == 0
    assert len(read_pieces(out / "pieces.txt")) == 85
    small = ["--vocab-size", "84", *QUICK]
    assert main(["train", str(text), "-o", str(again), "--initial", listed, *small, "-q"]) == 0
    assert len(read_pieces(again / "pieces.txt")) == 84
    # A model of sentencepiece brings its merges.
    corpus = WordCorpus.from_lines(read_lines(text), Normalizer())
    settings = TrainingSettings(character_coverage=1.0, ascii=False)
    write_model(model, train_bpe(corpus, 250, settings, "size"))
    pruned = sagevocab.train(
        text, vocab_size=200, initial=model, word2vec={"epochs": 1, "dimension": 8}
    )
    assert pruned.pieces == read_pieces(built / "pieces.txt")
    released = tmp_path / "released"
    small = ["--preset", "released", "--initial", str(model), "--vocab-size", "240", *QUICK, "-q"]
    assert main(["train", str(text), "-o", str(released), *small]) == 0
    assert len(read_pieces(released / "pieces.txt")) == 240


def test_progress_is_reported(text: Path) -> None:
    seen: list[Progress] = []
    sagevocab.train(
        text,
        vocab_size=200,
        initial_size=230,
        sage={"prune_batch": 10},
        word2vec={"epochs": 2, "dimension": 8},
        progress=seen.append,
    )
    stages = list(dict.fromkeys(progress.stage for progress in seen))
    assert stages == ["reading text", "initial vocabulary", "word2vec", "pruning"]
    points = [(p.stage, p.done, p.total) for p in seen if p.done and p.done == int(p.done)]
    assert points == [
        ("word2vec", 1, 2),
        ("word2vec", 2, 2),
        ("pruning", 10, 30),
        ("pruning", 20, 30),
        ("pruning", 30, 30),
    ]


def test_a_terminal_gets_a_bar_with_the_time_to_go(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, terminal = pty.openpty()
    with open(terminal, "w", encoding="utf-8") as error:
        monkeypatch.setattr(sys, "stderr", error)
        train = ["train", str(text), "-o", str(tmp_path / "out"), *SMALL]
        assert main([*train, "--sage.prune_batch", "10"]) == 0
        monkeypatch.undo()
    shown = b""
    with contextlib.suppress(OSError):  # Linux's way to say that a terminal was closed
        while block := os.read(screen, 65536):
            shown += block
    os.close(screen)
    reply = shown.decode("utf-8")
    assert re.search(r"pruning: +\d+%\|.*10/50 \[00:\d\d<", reply)
    assert "200 pieces, 50 pruned" in reply and "from_pretrained" in reply


def test_every_setting_has_an_option_that_reaches_it(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["train", "--help"])
    assert end.value.code == 0
    usage = capsys.readouterr().out
    for section, (_, kind) in SECTIONS.items():
        for field in dataclasses.fields(kind):
            plain = f"--{field.name}".replace("_", "-")
            assert f"--{section}.{field.name} " in usage or f"{plain} N" in usage
    given = ["--sage.loss", "mean_piece_lines", "--sage.loss_lines", "20", "--sage.retrain"]
    given += ["false", "--sage.window", "2", "--word2vec.shrink_windows", "false"]
    given += ["--word2vec.alpha", "0.05", "--vocabulary.max_word_chars", "40"]
    out = tmp_path / "out"
    assert main(["train", str(text), "-o", str(out), *SMALL, *given, "-q"]) == 0
    settings = json.loads((out / "sagevocab.json").read_text(encoding="utf-8"))["settings"]
    sage = {name: settings["sage"][name] for name in ("loss", "loss_lines", "retrain", "window")}
    assert sage == {"loss": "mean_piece_lines", "loss_lines": 20, "retrain": False, "window": 2}
    assert settings["word2vec"]["shrink_windows"] is False
    assert settings["word2vec"]["alpha"] == 0.05
    assert settings["vocabulary"]["max_word_chars"] == 40
    assert "`sage.window` 2" in (out / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("initial", [[], ["--initial-size", 130]])
def test_the_advice_on_a_size_that_is_too_small_works(
    initial: list, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    train = ["train", text, "-o", tmp_path / "out", *QUICK]
    reply = refused(capsys, *train, "--vocab-size", 10, *initial)
    least = re.search(r"set (?:vocab_size|it) to (\d+) or more", reply)[1]
    assert main([*map(str, train), "--vocab-size", least, "--quiet"]) == 0


def test_force_replaces_a_tokenizer(text: Path, built: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(built, out)
    (out / "ablations.jsonl").write_bytes(b"")
    assert main(["train", str(text), "-o", str(out), *SMALL, "--quiet", "--force"]) == 0
    assert digest(out) == digest(built)
    assert list(tmp_path.iterdir()) == [out]


# --- encode, compare, export


@pytest.mark.parametrize("output", ["pieces", "ids"])
def test_encode_prints_what_autotokenizer_gives(
    output: str, built: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture
) -> None:
    lines = [*lines_in("czech", 40), "", *SENTENCES["mixed"], "a [MASK] in [CLS]text", "  x  "]
    path = tmp_path / "lines"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert main(["encode", str(built), "--output", output, str(path)]) == 0
    printed = capsysbinary.readouterr().out.decode("utf-8").split("\n")
    tokenizer = AutoTokenizer.from_pretrained(built)
    options = {"add_special_tokens": False, "split_special_tokens": True}
    ids = tokenizer(lines, **options)["input_ids"]
    names = ids if output == "ids" else map(tokenizer.convert_ids_to_tokens, ids)
    assert printed == [*(" ".join(map(str, line)) for line in names), ""]


def test_encode_into_a_closed_pipe_is_silent(built: Path, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("dlouhá řeka\n" * 100_000, encoding="utf-8")
    with subprocess.Popen(
        [*COMMAND, "encode", str(built), str(path)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline().startswith("▁".encode())
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("stream", ["<&-", ">/dev/full"])
def test_a_closed_or_full_stream_is_one_line(stream: str, built: Path) -> None:
    command = f"{sys.executable} -m sagevocab encode {built} - {stream}"
    done = subprocess.run(
        ["sh", "-c", command], input="a\n", env=ENVIRONMENT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)


def test_compare_prints_the_intrinsic_table(
    text: Path, built: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    listed = tmp_path / "listed.txt"
    pieces = read_pieces(built / "pieces.txt")
    short = [piece for piece in pieces if len(piece) < 3]
    listed.write_text("".join(f"{piece}\n" for piece in short), encoding="utf-8")
    compare = ["compare", str(built), str(listed), "--text", str(text)]
    assert main([*compare, "--format", "json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    lines = text.read_text(encoding="utf-8").splitlines()
    ids = list(sagevocab.load(built).encode_lines(lines))
    words = sum(len(line.split()) for line in lines)
    assert first["tokens"] == sum(map(len, ids))
    assert first["tokens_per_word"] == pytest.approx(first["tokens"] / words)
    assert first["bytes_per_token"] == pytest.approx(
        (text.stat().st_size - len(lines)) / first["tokens"]
    )
    assert first["pieces_seen"] == len({number for line in ids for number in line})
    assert second["shared_with_first"] == second["pieces"] == len(short)
    assert second["tokens"] > first["tokens"]
    assert [first["tokenizer"], second["tokenizer"]] == ["czech", "listed.txt"]
    assert main(compare) == 0
    table = capsys.readouterr().out
    assert f"{first['tokens']:,}" in table
    comparison = sagevocab.compare([built, listed], text)
    assert [list(row) for row in comparison] == [["tokenizer", *MEASURES]] * 2
    assert f"{comparison}\n" == table


def test_names_of_files_that_are_not_utf8(
    text: Path, built: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    odd = tmp_path / os.fsdecode(b"od\xffd.txt")
    odd.write_bytes(text.read_bytes())
    pieces = tmp_path / os.fsdecode(b"pie\xffces.txt")
    pieces.write_bytes((built / "pieces.txt").read_bytes())
    out = tmp_path / "out"
    train = ["train", odd, "-o", out, "--initial", pieces, "--vocab-size", "190", *QUICK, "-q"]
    assert main([*map(str, train), "--name", "one\n| two"]) == 0
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "od\ufffdd.txt" in card
    assert "| Language | one \\| two" in card
    assert main(["compare", str(pieces), str(out), "--text", str(odd)]) == 0
    assert "pie\ufffdces.txt" in capsys.readouterr().out


def test_export_there_and_back(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    listed, folder = built / "pieces.txt", tmp_path / "folder"
    assert main(["export", str(listed), "-o", str(folder)]) == 0
    assert (folder / "tokenizer.json").read_bytes() == (built / "tokenizer.json").read_bytes()
    assert "force" in refused(capsys, "export", listed, "-o", folder)
