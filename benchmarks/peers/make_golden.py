"""Make the files in `tests/library/golden`: what other people's programs do with small inputs.

    python benchmarks/peers/make_golden.py --sage-1 CHECKOUT [--peers .peers] [--output FOLDER]

Needs the environments of `make_environments.py` and a checkout of SaGe 1.0 (see `run_sage_1.py`).
The sentences are those of the treebank that the demo trains on (of the committed files, those of a
generator that is no longer here). Each file holds the input beside the outcome, so that the tests
need nothing else.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from make_environments import FOLDER, python_of
from plain_corpus import plain_lines, plain_pieces, write_model

from reproduction.data.construct import shipped_sentences
from sagevocab import bpe
from sagevocab.pieces import is_single_character, write_pieces
from sagevocab.state import write_npz, write_text
from sagevocab.words import Normalizer, WordCorpus, split_words

HERE = Path(__file__).parent
DIMENSION = 6
DIGITS = 6  # of losses
ENCODED_SHARES = (0.9, 0.6, 0.3, 0.0)
PRUNINGS = {
    # file name: lines, pieces, settings. One ranks before every batch and one only now and then.
    "sage_1_every_batch": (40, 260, {"final": 200, "prune": 10, "consider": 100, "rerank": 1}),
    "sage_1": (40, 260, {"final": 200, "prune": 5, "consider": 40, "rerank": 5}),
}
PLAIN_PRUNINGS = {
    # On a plain corpus (see `plain_corpus`), of which the second keeps only a few candidates.
    "sage_1_plain_every_batch": {"final": 240, "prune": 6, "consider": 60, "rerank": 1},
    "sage_1_plain": {"final": 214, "prune": 2, "consider": 20, "rerank": 5},
}
PLAIN_LINES, PLAIN_WORDS, PLAIN_SEED = 80, 6, 14


@dataclass(frozen=True)
class Sample:
    """Lines, a BPE model trained on them, and made-up embeddings of its pieces."""

    folder: Path
    lines: list[str]
    pieces: list[str]
    target: list[list[float]]

    def inputs(self) -> dict[str, Any]:
        """Return what a golden file keeps of it."""
        return {"lines": self.lines, "pieces": self.pieces, "target": self.target}


def make_sample(folder: Path, lines: Sequence[str], size: int, seed: int) -> Sample:
    """Normalise lines, train on them, draw embeddings; write all that a program may read."""
    normalizer = Normalizer()
    lines = [normalizer(line) for line in lines]
    write_text(folder / "lines.txt", "".join(f"{line}\n" for line in lines))
    words = ["".join(split_words(line)) for line in lines]
    write_text(folder / "words.txt", "".join(f"{line}\n" for line in words))
    settings = bpe.TrainingSettings(character_coverage=1.0, ascii=False)
    bpe.train_bpe(
        WordCorpus.from_lines(lines, normalizer), size, folder / "bpe.model", settings, "size"
    )
    pieces = bpe.pieces_of_model(bpe.read_model(folder / "bpe.model"))
    write_pieces(folder / "pieces.txt", pieces)
    return Sample(folder, list(lines), pieces, draw_embeddings(folder, size, seed, scale=0.7))


def draw_embeddings(folder: Path, size: int, seed: int, scale: float) -> list[list[float]]:
    """Draw and write one vector a piece."""
    target = np.random.default_rng(seed).normal(scale=scale, size=(size, DIMENSION)).round(3)
    write_npz(folder / "embeddings.npz", target=target)
    return target.tolist()


def turkish(count: int, seed: int) -> list[str]:
    """Draw sentences of the treebank that the demo trains on."""
    return random.Random(seed).sample(shipped_sentences("tr"), count)


def make_plain_sample(folder: Path) -> Sample:
    """Make the corpus and the model that `plain_corpus` describes."""
    words = [word for line in turkish(600, PLAIN_SEED) for word in line.split(" ")]
    words = [word for word in words if word.isalpha() and word.islower() and 4 <= len(word) <= 10]
    trained = make_sample(folder, words, 300, PLAIN_SEED)
    words = list(dict.fromkeys(trained.lines))
    pieces = plain_pieces(trained.pieces, words)
    lines = plain_lines(words, pieces, PLAIN_LINES, PLAIN_WORDS)
    write_text(folder / "lines.txt", "".join(f"{line}\n" for line in lines))
    write_model(folder / "bpe.model", folder / "bpe.model", pieces)
    target = draw_embeddings(folder, len(pieces), PLAIN_SEED, scale=0.3)
    return Sample(folder, lines, pieces, target)


def run(python: Path, script: str, sample: Sample, **options: Any) -> Any:
    """Run a peer's script on files of the sample; return the JSON it writes."""
    output = sample.folder / "output.json"
    command = [str(python), str(HERE / script), "--output", str(output)]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads(output.read_text(encoding="utf-8"))


def encodings(folder: Path, peers: Path) -> dict[str, dict[str, Any]]:
    """Words as sentencepiece 0.1.99 encodes them with ever smaller parts of a vocabulary."""
    sample = make_sample(folder, turkish(400, 11), 500, seed=11)
    words = sorted({word for line in sample.lines[:25] for word in line.split(" ")})
    drawn = random.Random(11)
    cases = []
    for share in ENCODED_SHARES:
        kept = [p for p in sample.pieces if is_single_character(p) or drawn.random() < share]
        cases.append({"vocabulary": kept, "texts": words})
    write_text(folder / "cases.json", json.dumps(cases))
    outcome = run(
        python_of("sentencepiece_0_1_99", peers), "run_sentencepiece_0_1_99.py", sample,
        model=folder / "bpe.model", cases=folder / "cases.json",
    )  # fmt: skip
    encoded = [[" ".join(pieces) for pieces in case] for case in outcome["encoded"]]
    content = {
        "sentencepiece": outcome["version"],
        "pieces": sample.pieces,
        "words": words,
        "vocabularies": [case["vocabulary"] for case in cases],
        "encoded": encoded,
    }
    return {"sentencepiece_0_1_99": content}


def second_losses(folder: Path, peers: Path) -> dict[str, dict[str, Any]]:
    """Losses of sage-tokenizer 2.0 at its own window and at 1."""
    sample = make_sample(folder, turkish(100, 12), 250, seed=12)
    losses = {}
    for window in (1, 2):
        outcome = run(
            python_of("sage_tokenizer_2", peers), "run_sage_tokenizer_2.py", sample,
            lines=folder / "words.txt", pieces=folder / "pieces.txt",
            embeddings=folder / "embeddings.npz", window=window,
        )  # fmt: skip
        losses[str(window)] = {p: round(v, DIGITS) for p, v in outcome["losses"].items()}
    content = {**sample.inputs(), "tokens": outcome["tokens"], "losses": losses}
    return {"sage_tokenizer_2": content}


def pruning(
    sample: Sample, settings: dict[str, int], peers: Path, checkout: Path
) -> dict[str, Any]:
    """What SaGe 1.0 pruned from a small vocabulary, batch by batch."""
    folder = sample.folder
    outcome = run(
        python_of("sage_1", peers), "run_sage_1.py", sample, checkout=checkout,
        lines=folder / "lines.txt", model=folder / "bpe.model",
        embeddings=folder / "embeddings.npz", **settings,
    )  # fmt: skip
    for batch in outcome["batches"]:
        losses = batch["losses"]
        # Nothing else may become 0 by rounding, and no 0 anything else.
        batch["losses"] = [[piece, round(loss, DIGITS) if loss else 0] for piece, loss in losses]
        assert all(bool(a[1]) == bool(b[1]) for a, b in zip(losses, batch["losses"], strict=True))
    return {**sample.inputs(), "settings": settings, **outcome}


def prunings(folder: Path, peers: Path, checkout: Path) -> dict[str, dict[str, Any]]:
    """All runs of SaGe 1.0 by the names of their files."""
    golden = {}
    for name, (n_lines, size, settings) in PRUNINGS.items():
        sample = make_sample(folder, turkish(n_lines, 13), size, seed=13)
        golden[name] = pruning(sample, settings, peers, checkout)
    sample = make_plain_sample(folder)
    for name, settings in PLAIN_PRUNINGS.items():
        golden[name] = pruning(sample, settings, peers, checkout)
    return golden


def write_golden(path: Path, content: dict[str, Any]) -> None:
    """Write one entry a line: small files whose differences can be read."""
    entries = [
        f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        for key, value in content.items()
    ]
    write_text(path, "{\n" + ",\n".join(entries) + "\n}\n")


def main() -> None:
    """Read the command line and make all golden files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sage-1", type=Path, required=True)
    parser.add_argument("--peers", type=Path, default=FOLDER)
    parser.add_argument("--output", type=Path, default=HERE.parents[1] / "tests" / "golden")
    arguments = parser.parse_args()
    for make in (encodings, second_losses, prunings):
        more = [arguments.sage_1] if make is prunings else []
        with tempfile.TemporaryDirectory() as folder:
            golden = make(Path(folder), arguments.peers, *more)
        for name, content in golden.items():
            write_golden(arguments.output / f"{name}.json", content)
            print(arguments.output / f"{name}.json")


if __name__ == "__main__":
    main()
