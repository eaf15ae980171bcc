"""Prune a vocabulary with the released SaGe 1.0 and write what it pruned.

Runs in the environment `sage_1`, on a checkout of the authors' repository (MeLeLBGU/SaGe on GitHub,
commit dcc21f6c0dd83efd165d53edf970fa1aee9e5c61; version 1.0 is its folder `sage_v1`), of which no
line is kept here:

    git clone https://github.com/MeLeLBGU/SaGe && git -C SaGe checkout dcc21f6
    python run_sage_1.py --checkout SaGe --lines lines.txt --model bpe.model --embeddings e.npz
        --output pruned.json --final 60 --prune 5 --consider 40 --rerank 4

The program is started as its own continuation (`--is_continue Y`) in an empty folder, with the
model, the embeddings and the vocabulary it would otherwise have made itself; so both programs
compared see the same. It runs as published but for a method that is wrapped to write down what it
prunes. (What the continuation skips beside that is a first ranking, of which the published program
makes no use.)

bpe.model: a sentencepiece BPE model. embeddings.npz: `target`, a row for each piece of it but the
first three (`<unk>`, `<s>`, `</s>`). --final counts pieces without these three.

Output: a list of pieces, in the order in which they were pruned.
"""

import argparse
import importlib
import json
import os
import pickle
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import sentencepiece

SPECIALS = 3
NAME = "comparison"
# The program's settings: lines of the corpus, lines that a loss is taken over, window.
MOST_LINES, LOSS_LINES, WINDOW = 200_000, 1000, 5


def prepare(folder, arguments):
    """Lay out what a continued run reads; return the size of the initial vocabulary."""
    results = Path(folder) / "results" / NAME
    results.mkdir(parents=True)
    for model in ("sg_bpe", "bpe_vanilla"):
        shutil.copy(arguments.model, results / f"{model}.model")
    shutil.copy(arguments.lines, Path(folder) / "corpus.txt")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(arguments.model))
    vocabulary = [processor.id_to_piece(number) for number in range(processor.vocab_size())]
    target = np.load(arguments.embeddings)["target"].astype(np.float64)
    target = np.concatenate([np.zeros((SPECIALS, target.shape[1])), target])
    assert len(target) == len(vocabulary)
    with open(results / "embeddings.bin", "wb") as file:
        pickle.dump(target, file)
        pickle.dump(target, file)
    (results / "current_vocab.bin").write_bytes(pickle.dumps(vocabulary))
    (results / "sorted_tokens_sg.bin").write_bytes(pickle.dumps([]))
    return len(vocabulary)


def record(model_class):
    """Wrap the program's method; return the list that pruned pieces are written to."""
    pruned = []
    update = model_class.update_encoded_form_for_corpus_lines

    def updated(self, batch):
        pruned.extend(batch)
        return update(self, batch)

    model_class.update_encoded_form_for_corpus_lines = updated
    return pruned


def run(arguments):
    """Run the program in a folder of its own; return what it pruned."""
    here, program = os.getcwd(), Path(arguments.checkout).absolute() / "sage_v1"
    sys.path[:0] = [str(program), str(program / "Python-Modules")]
    with tempfile.TemporaryDirectory() as folder:
        size = prepare(folder, arguments)
        os.chdir(folder)
        try:
            main_module = importlib.import_module("Main")
            pruned = record(importlib.import_module("SG_BPE").Model)
            main_module.main(
                NAME, True, arguments.final + SPECIALS, size, MOST_LINES,
                arguments.prune, arguments.consider, arguments.rerank, LOSS_LINES,
                "corpus.txt", "partial.txt", WINDOW,
            )  # fmt: skip
        finally:
            os.chdir(here)
    return pruned


def main():
    """Read the command line, prune, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--checkout", "--lines", "--model", "--embeddings", "--output"):
        parser.add_argument(option, required=True)
    for option in ("--final", "--prune", "--consider", "--rerank"):
        parser.add_argument(option, type=int, required=True)
    arguments = parser.parse_args()
    text = json.dumps(run(arguments), ensure_ascii=False)
    Path(arguments.output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
