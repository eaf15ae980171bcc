"""Every size from one training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sagevocab
from sagevocab.cli import main
from sagevocab.errors import UserError
from scripts_text import lines_in

LINES = lines_in("czech", 200)
VECTORS = {"word2vec": {"epochs": 1, "dimension": 8}}
SMALL = {
    "initial_size": 200,
    "sage": {"prune_batch": 7, "candidates": 40, "rerank_every": 2},
    "threads": 1,
    "progress": False,
}


def bytes_of(folder: Path) -> dict[str, bytes]:
    names = ("pieces.txt", "tokenizer.json", "ablations.jsonl")
    return {name: (folder / name).read_bytes() for name in names}


@pytest.mark.parametrize(
    "settings",
    [
        *({"preset": name, **VECTORS} for name in ("printed", "released", "released_loss")),
        *({"preset": name} for name in ("counts", "bigram_code")),
    ],
)
def test_a_size_is_what_a_training_that_ends_there_gives(settings: dict, tmp_path: Path) -> None:
    built = sagevocab.train(LINES, 150, **settings, **SMALL)
    for size in (150, 163, 165, 199, 200):  # at the end of a batch, and amid one
        shorter = sagevocab.train(LINES, size, **settings, **SMALL)
        passed = built.at_size(size)
        shorter.save(tmp_path / f"shorter{size}")
        passed.save(tmp_path / f"passed{size}")
        assert bytes_of(tmp_path / f"passed{size}") == bytes_of(tmp_path / f"shorter{size}")
        assert passed.encode(LINES[0]) == shorter.encode(LINES[0])
    assert len(built.pieces) == 150


def test_sizes_that_were_not_passed_are_refused() -> None:
    built = sagevocab.train(LINES, 150, preset="counts", **SMALL)
    for size in (149, 201, "160"):
        with pytest.raises(UserError, match="from 150 to 200"):
            built.at_size(size)
    assert len(built.at_size(np.int64(160)).pieces) == 160


def test_the_command_writes_a_folder_for_each_size(tmp_path: Path, capsys) -> None:
    text, out = tmp_path / "text", tmp_path / "out"
    text.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    train = ["train", str(text), "-o", str(out), "--preset", "counts", "-q", "--sizes", "160,140"]
    assert main(train) == 0
    assert sorted(path.name for path in out.iterdir()) == ["140", "160"]
    sizes = {"vocab_size": np.int64(160), "initial_size": np.int64(200)}  # as from a table
    alone = sagevocab.train(
        text, **sizes, preset="counts", progress=False, output=tmp_path / "alone"
    )
    assert not (out / "160/embeddings.npz").exists()  # counts trains no vectors
    assert bytes_of(out / "160") == bytes_of(tmp_path / "alone")
    assert len(sagevocab.load(out / "140")) == len(alone) - 20
    assert main(train) == 1
    assert "already exists" in capsys.readouterr().err


def test_a_size_above_the_initial_one_is_refused_before_training(tmp_path: Path, capsys) -> None:
    text, out = tmp_path / "text", tmp_path / "out"
    text.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    pieces = tmp_path / "pieces.txt"
    pieces.write_text("▁\na\nb\nab\n", encoding="utf-8")
    for most, given in {200: ["--initial-size", "200"], 4: ["--initial", str(pieces)]}.items():
        sizes = ["--sizes", f"3,{most + 1}", *given]
        assert main(["train", str(text), "-o", str(out), "-q", *sizes]) == 1
        line = f"sizes: {most + 1} is above the {most} initial pieces"
        assert line in capsys.readouterr().err
    assert not out.exists()
