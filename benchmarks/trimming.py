"""Tokens of held-out text after `sagevocab.prune`, at several sizes, beside a new BPE of that size.

    python benchmarks/trimming.py TOKENIZER.json TEXT [--sizes 64000,32000,20000,16000]

TOKENIZER.json is a byte-level BPE. TEXT has a sentence a line. Of a seeded order of its lines the
first 30,000 choose the pieces and train the new BPE, the next 5,000 are held out. Rows are pruned
by `tokens`, by `frequency` and at random; the new BPE has the tokenizer's own pre-tokenizer.
Numbers are tokens for one of the whole tokenizer's. Tokenizers of others come in packages, such as
litellm's tokenizers/deepseek_tokenizer.json; none is in this repository.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from tokenizers import Tokenizer, models, trainers

import sagevocab

LINES, HELDOUT = 30_000, 5_000


def new_bpe(whole: Tokenizer, lines: list[str], size: int) -> Tokenizer:
    """Train a BPE of this size with the pre-tokenizer of another tokenizer."""
    tokenizer = Tokenizer(models.BPE())
    if whole.normalizer:
        tokenizer.normalizer = whole.normalizer
    tokenizer.pre_tokenizer = whole.pre_tokenizer
    added = [token["content"] for token in json.loads(whole.to_str())["added_tokens"]]
    alphabet = [piece for piece in whole.get_vocab() if len(piece) == 1]
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=added, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


def tokens_of(tokenizer: Tokenizer, lines: list[str]) -> int:
    """Count the tokens of lines."""
    return sum(len(one.ids) for one in tokenizer.encode_batch(lines, add_special_tokens=False))


def main() -> None:
    """Print a table: a row a criterion, a column a size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--sizes", default="64000,32000,20000,16000")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    lines = arguments.text.read_text(encoding="utf-8").split("\n")
    random.Random(1).shuffle(lines)
    lines, heldout = lines[:LINES], lines[LINES : LINES + HELDOUT]
    whole = Tokenizer.from_file(str(arguments.tokenizer))
    before = tokens_of(whole, heldout)
    draw = random.Random(1)
    worth = {piece: draw.random() for piece in sorted(whole.get_vocab())}
    rows = {
        "tokens": lambda size: sagevocab.prune(whole, lines, size).tokenizer,
        "frequency": lambda size: sagevocab.prune(whole, lines, size, by="frequency").tokenizer,
        "at random": lambda size: sagevocab.prune(whole, lines, size, scores=worth).tokenizer,
        "new BPE": lambda size: new_bpe(whole, lines, size),
    }
    print(f"| {before / len(heldout):.1f} tokens a line | {' | '.join(f'{n:,}' for n in sizes)} |")
    print(f"|---|{'---:|' * len(sizes)}")
    for name, make in rows.items():
        shares = (f"{tokens_of(make(size), heldout) / before:.3f}" for size in sizes)
        print(f"| {name} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
