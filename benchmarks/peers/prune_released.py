"""Prune real text by SaGe 1.0 itself, by `sagevocab.pruning.released`, and by its loss alone.

    python benchmarks/peers/prune_released.py pruned.json TEXT --checkout SaGe [--peers .peers]

Needs the environment `sage_1` of `make_environments.py` and the checkout of `run_sage_1.py`. TEXT
has a sentence a line; a seeded sample of it is taken. All begin with the same BPE vocabulary and
the same vectors: Word2Vec's of two seeds, those of the same text with its words in random order,
and zeros (without vectors). The preset `counts`, which needs no vectors, prunes it, too.

pruned.json keeps what each of them pruned: a run that was stopped resumes; to a file without the
module's pieces these alone are added. If the module does not prune the same pieces in the same
order as the program, the last line says so, and the exit code is 1. Two such files are
results/reference/controls/released_program/{en,tr}.json; the target `reference_tables` compares
what program and loss pruned.
"""

from __future__ import annotations

import argparse
import itertools
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from make_environments import FOLDER, python_of

from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.files import read_json, write_json, write_npz, write_text
from sagevocab.huggingface import sentencepiece
from sagevocab.initial.sentencepiece_models import train_bpe
from sagevocab.pieces import prunable
from sagevocab.pruning.released import prune_as_released
from sagevocab.pruning.sage import build_sage
from sagevocab.segmentation.segmenter import Segmenter, make_segmenter
from sagevocab.settings import TrainingSettings, settings_from
from sagevocab.word2vec.embeddings import Embeddings, Word2VecSettings, train_embeddings

VECTORS = ("seed 1", "seed 2", "shuffled words", "without vectors")
LINES, INITIAL_SIZE = 5000, 5000
# Options of the program -> names of the library's settings, and their values.
SETTINGS = {
    "final": ("vocab_size", 4000),
    "prune": ("prune_batch", 25),
    "consider": ("candidates", 375),
    "rerank": ("rerank_every", 10),
}


def sample_lines(text: Path) -> list[str]:
    """Return a seeded sample of the lines, normalised."""
    normalizer = Normalizer()
    lines = [line for line in text.read_text(encoding="utf-8").split("\n") if line.strip()]
    return [normalizer(line) for line in random.Random(1).sample(lines, min(LINES, len(lines)))]


def vectors(kind: str, lines: list[str], segmenter: Segmenter) -> tuple[Embeddings, int]:
    """Return the embeddings of one of VECTORS, and the seed of the sample of lines."""
    if kind == "without vectors":
        return Embeddings.zero(segmenter.pieces, Word2VecSettings().dimension), 1
    seed = int(kind.removeprefix("seed ")) if kind.startswith("seed") else 1
    if kind == "shuffled words":
        random.Random(seed).shuffle(words := [word for line in lines for word in line.split()])
        lengths = [len(line.split()) for line in lines]
        ends = list(itertools.accumulate(lengths))
        lines = [" ".join(words[end - n : end]) for n, end in zip(lengths, ends, strict=True)]
    corpus = WordCorpus.from_lines(lines, Normalizer())
    return train_embeddings(corpus, segmenter, Word2VecSettings(seed=seed)), seed


def run_program(python: Path, folder: Path, **options: Any) -> list[str]:
    """Run the released program by `run_sage_1.py` with these options; return what it pruned."""
    output = folder / "output.json"
    command = [python, Path(__file__).with_name("run_sage_1.py"), "--output", output]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return read_json(output)


def prune_all(arguments: argparse.Namespace, pruned: dict[str, list[str]]) -> None:
    """Prune the sample by what is not yet in `pruned`, and write that file after each."""
    options = {option: value for option, (_, value) in SETTINGS.items()}
    settings = dict(SETTINGS.values())
    lines = sample_lines(arguments.text)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_text(folder / "lines.txt", "".join(f"{line}\n" for line in lines))
        corpus = WordCorpus.from_lines(lines, Normalizer())
        training = TrainingSettings(character_coverage=1.0, ascii=False)
        model = train_bpe(corpus, INITIAL_SIZE, training, "INITIAL_SIZE")
        sentencepiece.write_model(folder / "bpe.model", model)
        model = sentencepiece.read_model(folder / "bpe.model")
        pieces, merges = sentencepiece.pieces_of_model(model), sentencepiece.merges_of_model(model)
        segmenter = make_segmenter("merges", pieces, merges, pieces)
        by_counts = settings_from("counts", vocab_size=settings["vocab_size"])
        counted = build_sage(corpus, pieces, merges, None, by_counts, Word2VecSettings())
        pruned["counts"] = list(counted.ablations["piece"])
        pruned["prunable"] = [*itertools.compress(pieces, prunable(pieces))]
        for kind in VECTORS:
            if {f"program, {kind}", f"exact, {kind}"} <= pruned.keys():
                continue
            print(f"pruning: {kind}", flush=True)
            embeddings, seed = vectors(kind, lines, segmenter)
            write_npz(folder / "embeddings.npz", target=embeddings.target)
            preset = settings_from("released_loss", **settings, seed=seed)
            built = build_sage(corpus, pieces, merges, embeddings, preset, Word2VecSettings())
            pruned[f"preset, {kind}"] = list(built.ablations["piece"])
            exact = settings_from("released", **settings)
            batches = prune_as_released(corpus, pieces, merges, embeddings.target, exact)
            pruned[f"exact, {kind}"] = [piece for batch in batches for piece in batch.pruned]
            if f"program, {kind}" not in pruned:
                pruned[f"program, {kind}"] = run_program(
                    python_of("sage_1", arguments.peers),
                    folder,
                    checkout=arguments.checkout,
                    lines=folder / "lines.txt",
                    model=folder / "bpe.model",
                    embeddings=folder / "embeddings.npz",
                    **options,
                )
            write_json(arguments.pruned, pruned)
    unlike = [kind for kind in VECTORS if pruned[f"exact, {kind}"] != pruned[f"program, {kind}"]]
    if unlike:
        raise SystemExit(
            f"sagevocab.pruning.released prunes otherwise than the program: {', '.join(unlike)}"
        )


def main() -> None:
    """Read the command line, prune."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pruned", type=Path, help="JSON file; what is in it is not run again")
    parser.add_argument("text", type=Path)
    parser.add_argument("--checkout", required=True, help="of the authors' repository")
    parser.add_argument("--peers", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    prune_all(arguments, read_json(arguments.pruned) if arguments.pruned.exists() else {})


if __name__ == "__main__":
    main()
