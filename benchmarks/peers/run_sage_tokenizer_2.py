"""Take the ablation loss of every token once with sage-tokenizer 2.0, and write the seconds.

Runs in the environment `sage_tokenizer_2`:

    python run_sage_tokenizer_2.py --lines lines.txt --pieces pieces.txt --embeddings e.npz
        --output seconds.json --workers 2

lines.txt: normalised lines in which each word has its `▁` in place of the space before it; that
and the space-free pieces keep the program's tokens within words. pieces.txt: one a line.
embeddings.npz: `target`, a row a piece; the program has one matrix for both sides. Its window is 2.

The program works on bytes and wants all 256 of them in its vocabulary: those that are no piece are
appended, with zero vectors (text made of the pieces' characters never uses them). A line is passed
without its newline, which the program would otherwise take for a token of its own.

Output: the seconds, by `run_sage_parallel`, which looks for finished workers once a second.
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


def main():
    """Read the command line, take the losses, write the seconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--lines", "--pieces", "--embeddings", "--output"):
        parser.add_argument(option, required=True)
    parser.add_argument("--workers", type=int, required=True)
    arguments = parser.parse_args()

    lines = Path(arguments.lines).read_text(encoding="utf-8").split("\n")
    lines = [line for line in lines if line]
    pieces = Path(arguments.pieces).read_text(encoding="utf-8").removesuffix("\n").split("\n")
    vocabulary = byte_vocabulary(pieces)
    tokenizer = SaGeTokenizer(vocabulary, max_len=max(map(len, vocabulary)))
    target = np.load(arguments.embeddings)["target"].astype(np.float64)
    rest = np.zeros((len(vocabulary) - len(pieces), target.shape[1]))
    embeddings = np.concatenate([target, rest])

    began = time.perf_counter()
    run_sage_parallel(embeddings, lines, tokenizer, arguments.workers)
    Path(arguments.output).write_text(json.dumps(time.perf_counter() - began), encoding="utf-8")


if __name__ == "__main__":
    main()
