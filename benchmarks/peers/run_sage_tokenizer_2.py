"""Take the ablation loss of every token once with sage-tokenizer 2.0.

Runs in the environment `sage_tokenizer_2`:

    python run_sage_tokenizer_2.py --lines lines.txt --pieces pieces.txt --embeddings e.npz
        --output losses.json [--workers 2] [--window 2] [--repeats 1]

lines.txt: normalised lines in which each word has its `▁` in place of the space before it; that
and the space-free pieces keep the program's tokens within words. pieces.txt: one a line.
embeddings.npz: `target`, a row a piece; the program has one matrix for both sides.

The program works on bytes and wants all 256 of them in its vocabulary: those that are no piece are
appended, with zero vectors (text made of the pieces' characters never uses them). A line is passed
without its newline, which the program would otherwise take for a token of its own. Its window of 2
is the default of a function that `run_sage_parallel` does not let one choose; another is set
by replacing that default.

Output: seconds (of each repeat, by `run_sage_parallel`, which looks for finished workers once a
second), tokens, losses by piece.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from sage_tokenizer.model import SaGeTokenizer
from sage_tokenizer.utils import run_sage_parallel

BYTES = [bytes([value]) for value in range(256)]


def byte_vocabulary(pieces):
    """Return the pieces as bytes, then the single bytes that are missing among them."""
    encoded = [piece.encode("utf-8") for piece in pieces]
    return encoded + sorted(set(BYTES) - set(encoded))


def one_pass(tokenizer, lines, embeddings, workers):
    """Return seconds, number of tokens, and losses by token number."""
    began = time.perf_counter()
    tokens, _, losses, _ = run_sage_parallel(embeddings, lines, tokenizer, workers)
    return time.perf_counter() - began, tokens, losses


def main():
    """Read the command line, take the losses, write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--lines", "--pieces", "--embeddings", "--output"):
        parser.add_argument(option, required=True)
    for option, default in (("--workers", 2), ("--window", 2), ("--repeats", 1)):
        parser.add_argument(option, type=int, default=default)
    arguments = parser.parse_args()

    lines = Path(arguments.lines).read_text(encoding="utf-8").split("\n")
    lines = [line for line in lines if line]
    pieces = Path(arguments.pieces).read_text(encoding="utf-8").removesuffix("\n").split("\n")
    vocabulary = byte_vocabulary(pieces)
    tokenizer = SaGeTokenizer(vocabulary, max_len=max(map(len, vocabulary)))
    SaGeTokenizer.fast_sage.__defaults__ = (arguments.window, False)
    target = np.load(arguments.embeddings)["target"].astype(np.float64)
    rest = np.zeros((len(vocabulary) - len(pieces), target.shape[1]))
    embeddings = np.concatenate([target, rest])

    passes = [
        one_pass(tokenizer, lines, embeddings, arguments.workers) for _ in range(arguments.repeats)
    ]
    outcome = {
        "seconds": [seconds for seconds, _, _ in passes],
        "lines": len(lines),
        "tokens": passes[-1][1],
        "losses": {pieces[n]: loss for n, loss in passes[-1][2].items() if n < len(pieces)},
    }
    Path(arguments.output).write_text(json.dumps(outcome, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
