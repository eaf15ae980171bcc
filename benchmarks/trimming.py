"""Tokens of held-out text after `sagevocab.prune`, at several sizes, beside a new BPE of that size.

    python benchmarks/trimming.py TOKENIZER.json TEXT [--sizes 64000,32000,20000,16000]
                                                      [--presets counts,printed]

TOKENIZER.json is a byte-level BPE. TEXT has a sentence a line, or is a folder of Python files, such
as the standard library's. Of a seeded order of its lines the first 30,000 choose the pieces and
train the new BPE, the next 5,000 are held out. Rows are pruned by `tokens`, by `frequency`, in the
order of a preset of `train` and at random; the new BPE has the tokenizer's own pre-tokenizer.
Numbers are tokens for one of the whole tokenizer's. Tokenizers of others come in packages, such as
litellm's tokenizers/deepseek_tokenizer.json; none is in this repository.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from pathlib import Path

from tokenizers import Tokenizer, models, trainers

import sagevocab
from sagevocab.corpus.text import read_lines
from sagevocab.huggingface.markers import readable_pieces
from sagevocab.huggingface.pretrained import parsed
from sagevocab.pieces import prunable, tokens_by_id, with_characters

LINES, HELDOUT = 30_000, 5_000
BYTE = re.compile(r"<0x[0-9A-F]{2}>")


def new_bpes(whole: Tokenizer, lines: list[str], sizes: list[int]) -> list[Tokenizer]:
    """Train a BPE of each size, with the pre-tokenizer of another tokenizer.

    A smaller one has the first merges of a larger one.
    """
    largest = Tokenizer(models.BPE())
    if whole.normalizer:
        largest.normalizer = whole.normalizer
    largest.pre_tokenizer = whole.pre_tokenizer
    added = [token["content"] for token in parsed(whole, "tokenizer")["added_tokens"]]
    alphabet = [piece for piece in whole.get_vocab() if len(piece) == 1]
    trainer = trainers.BpeTrainer(
        vocab_size=max(sizes), special_tokens=added, initial_alphabet=alphabet, show_progress=False
    )
    largest.train_from_iterator(lines, trainer)
    spec = parsed(largest, "tokenizer")

    def at_size(size: int) -> Tokenizer:
        merges = spec["model"]["merges"]
        fewer = merges[: len(merges) - max(0, largest.get_vocab_size() - size)]
        model = {**spec["model"], "merges": fewer}
        return Tokenizer.from_str(json.dumps({**spec, "model": model}))

    return list(map(at_size, sizes))


def pruned(whole: Tokenizer, order: dict[str, float], sizes: list[int]) -> list[Tokenizer]:
    """Prune in an order, to each size; the text plays no part in it."""
    return [sagevocab.prune(whole, ["a"], size, scores=order).tokenizer for size in sizes]


def order_by(by: str, whole: Tokenizer, lines: list[str], size: int) -> dict[str, float]:
    """Return the order in which `prune` prunes: sizes are nested, so one serves all."""
    gone = sagevocab.prune(whole, lines, size, by=by).pruned
    order = dict.fromkeys(whole.get_vocab(), float(len(gone)))
    return order | {piece: float(place) for place, piece in enumerate(gone)}


def order_of(preset: str, whole: Tokenizer, lines: list[str]) -> dict[str, float]:
    """Return the place of each piece in the order in which a preset of `train` prunes.

    `train` takes pieces of words: no parts of characters, and none that crosses a space. Those that
    it does not take, and those that it leaves, are worth most.
    """
    spec = parsed(whole, "tokenizer")
    special = {token["content"] for token in spec["added_tokens"]}
    tokens = [token for token in tokens_by_id(whole) if token not in special]
    token_of = {
        piece: token
        for piece, token in zip(readable_pieces(tokens, spec), tokens, strict=True)
        if " " not in piece and "▁" not in piece[1:] and not BYTE.search(piece)
    }
    least = prunable(with_characters([*token_of], "the tokenizer")).count(False) + 1000
    trained = sagevocab.train(
        lines,
        least,
        initial=[*token_of],
        preset=preset,
        sage={"decoder": "greedy"},
        special_tokens="none",
    )
    order = {piece: float(place) for place, piece in enumerate(trained.ablations["piece"])}
    return {
        **dict.fromkeys(tokens, float(len(tokens))),
        **{token: order[piece] for piece, token in token_of.items() if piece in order},
    }


def lines_of(path: Path) -> list[str]:
    """Return the lines of a text, compressed or not, or of a folder's Python files."""
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    lines = [line for file in files for line in read_lines(file)]
    random.Random(1).shuffle(lines)
    return lines[: LINES + HELDOUT]


def tokens_of(tokenizer: Tokenizer, lines: list[str]) -> int:
    """Count the tokens of lines."""
    return sum(len(one.ids) for one in tokenizer.encode_batch(lines, add_special_tokens=False))


def main() -> None:
    """Print a table: a row a criterion, a column a size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--sizes", default="64000,32000,20000,16000")
    parser.add_argument("--presets", default="counts")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    lines = lines_of(arguments.text)
    lines, heldout = lines[:LINES], lines[LINES:]
    whole = Tokenizer.from_file(str(arguments.tokenizer))
    before = tokens_of(whole, heldout)
    draw = random.Random(1)
    orders = {by: order_by(by, whole, lines, min(sizes)) for by in ("tokens", "frequency")}
    for preset in filter(None, arguments.presets.split(",")):
        orders[preset] = order_of(preset, whole, lines)
    orders["at random"] = {piece: draw.random() for piece in sorted(whole.get_vocab())}
    made = {name: pruned(whole, order, sizes) for name, order in orders.items()}
    made["new BPE"] = new_bpes(whole, lines, sizes)
    print(f"| {before / len(heldout):.1f} tokens a line | {' | '.join(f'{n:,}' for n in sizes)} |")
    print(f"|---|{'---:|' * len(sizes)}")
    for name, tokenizers in made.items():
        shares = [f"{tokens_of(one, heldout) / before:.3f}" for one in tokenizers]
        print(f"| {name} | {' | '.join(shares)} |")


if __name__ == "__main__":
    main()
