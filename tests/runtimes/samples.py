"""What runtimes are compared on: folders of each kind that this library writes, and hard lines."""

from __future__ import annotations

import random
from pathlib import Path

import sagevocab
from hub_kinds import KINDS, LINES
from sagevocab.huggingface.load import convert
from scripts_text import SENTENCES, lines_in
from vocabulary_samples import english, make_folders

ATOMS = [
    *"aeinost ĞğİıßÉñ.,-'\"0123…«»", *"  \t\n\r\v\f\u00a0\u3000\u2028\u2029\u0085\ufeff",
    *"\x00\x01\x1f\x7f\u200b\u200c\u200d\u00ad\ufffd\uffff\ufdd0", *"▁Ġ_#@&~^$|*+?(){}[]\\/-",
    *"中日本語한국", *"שלוםسلامไทยक्षி", *("\u0301", "\u0323", "e\u0301", "a\u0323\u0302", "\u0e33"),
    *("👩\u200d💻", "🏴\u200d☠️", "👍🏽", "🇨🇿", "ﬁ", "①", "㍿", "𝔘", "𠀀", "½", "Å", "ǅ"),
    *("[MASK]", "[SEP", "<s>", "</s>", "<unk>", "<|endoftext|>", "http://a.b", " the", " and"),
]  # fmt: skip


def hard_lines(count: int = 2000) -> list[str]:
    """Lines of several scripts, of odd characters and of long words; the same at every call."""
    draw = random.Random(64)
    scripts = [*SENTENCES]

    def line() -> str:
        kind = draw.random()
        if kind < 0.3:
            return draw.choice(lines_in(draw.choice(scripts), 40))
        if kind < 0.45:
            return draw.choice(english())
        if kind < 0.5:
            unit = "".join(draw.choices(ATOMS, k=draw.randint(1, 3)))
            return unit * draw.choice([60, 127, 255, 256, 257, 400])
        return "".join(draw.choices(ATOMS, k=draw.randint(1, 40)))

    return [line() for _ in range(count)]


def write_exports(root: Path) -> list[str]:
    """Write a folder of each kind that this library exports; return their names."""
    exported = make_folders(root, english()[:800])
    pieces = root / "bpe/pieces.txt"
    convert(pieces, root / "list")
    small = {"word2vec": {"epochs": 1, "dimension": 8}, "threads": 1, "progress": False}
    lossless = {"lossless": True, "special_tokens": "gpt"}
    sagevocab.train(LINES, 600, **small, **lossless, output=root / "lossless")
    for name in ("bpe", "unigram"):
        convert(root / f"{name}.model", root / f"model-{name}")
    return [*exported, "list", "lossless", "model-bpe", "model-unigram"]


def write_pruned(root: Path) -> list[str]:
    """Write a finished tokenizer of each kind whole, as `whole-KIND`, and pruned, `pruned-KIND`."""
    kinds = {kind.replace(" ", "-"): make for kind, make in KINDS.items()}
    for kind, make in kinds.items():
        whole = make()
        size = whole.get_vocab_size()
        for name, entries in {"whole": size, "pruned": size - 150}.items():
            sagevocab.prune(whole, LINES, entries, output=root / f"{name}-{kind}")
    return list(kinds)
