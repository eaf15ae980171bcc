"""Trainings of every kind give the bytes that they gave before.

Where a change of results is meant, the digests are written anew: `python test_golden.py` in this
folder, with the library on the path.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

import sagevocab
from scripts_text import lines_in

GOLDEN = Path(__file__).parent / "golden/trainings.json"
FILES = ("pieces.txt", "tokenizer.json", "ablations.jsonl")
SMALL = {"epochs": 2, "dimension": 8}
STEPS = {"prune_batch": 10, "candidates": 40, "rerank_every": 2}
TRAININGS: dict[str, dict[str, Any]] = {
    "printed": {"sage": {**STEPS, "retrain_every": 1}, "word2vec": SMALL},
    "released": {"preset": "released", "sage": STEPS, "word2vec": SMALL},
    "released_loss": {"preset": "released_loss", "sage": STEPS, "word2vec": SMALL},
    "counts": {"preset": "counts"},
    "bigram_code": {"preset": "bigram_code", "sage": STEPS},
    "unigram": {"initial": "unigram", "sage": {"contexts": "zero"}, "vocab_size": 125},
    "lossless": {
        "lossless": True,
        "special_tokens": "gpt",
        "vocab_size": 330,
        "word2vec": SMALL,
    },
    "shuffled": {
        "sage": {"contexts": "shuffled", "loss": "mean_piece_lines", "loss_lines": 50},
        "word2vec": SMALL,
    },
}


def digests(name: str, folder: Path) -> dict[str, str]:
    arguments = {"vocab_size": 200, "threads": 2, **TRAININGS[name]}
    sagevocab.train(lines_in("czech", 300), **arguments, output=folder, progress=False)
    return {file: hashlib.sha256((folder / file).read_bytes()).hexdigest() for file in FILES}


@pytest.mark.parametrize("name", TRAININGS)
def test_a_training_gives_the_bytes_that_it_gave(name: str, tmp_path: Path) -> None:
    assert digests(name, tmp_path / "out") == json.loads(GOLDEN.read_text("utf-8"))[name]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        made = {name: digests(name, Path(place) / name) for name in TRAININGS}
    GOLDEN.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
