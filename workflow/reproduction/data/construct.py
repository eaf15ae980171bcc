"""Small evaluation tasks constructed from real sentences, for runs without a network.

The sentences are those of files that packages ship; labels and pairs are made here, in the columns
of the real data sets. A score on such a task says that the pipeline runs, nothing about the real
task. A sentence serves either training or validation, by its checksum, whatever the seed.

| task | what a model must distinguish |
|---|---|
| cola | a sentence from one whose inner words are shuffled |
| mrpc, qqp, qnli, mnli, xnli_tr, stsb | how many words two texts share |
| sst2 | positive from negative sentences of film reviews (real labels) |
| ner_en | names: runs of capitalised words that do not begin a sentence |
| ner_tr | names: runs of words that the treebank marks as proper nouns |
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pandas as pd

from reproduction.data.conllu import read_conllu
from reproduction.data.corpus import clean_line, split_sentences
from reproduction.data.packages import package_file
from sagevocab.errors import UserError
from sagevocab.text import read_lines

_NEWS = "gensim:test/test_data/lee_background.cor"
_REVIEWS = "gensim:test/test_data/pang_lee_polarity.cor"
_TREEBANK = "turkish-treebanks:data/wiki.conllu"

# Task -> its two columns, and the share of words that the second text takes from the first, by
# label. stsb draws the share, and its label is five times that.
_PAIRS = {
    "mrpc": ("sentence1", "sentence2", (0.2, 0.9)),
    "qqp": ("question1", "question2", (0.2, 0.9)),
    "qnli": ("question", "sentence", (0.9, 0.1)),
    "mnli": ("premise", "hypothesis", (0.9, 0.5, 0.1)),
    "xnli_tr": ("premise", "hypothesis", (0.9, 0.5, 0.1)),
    "stsb": ("sentence1", "sentence2", ()),
}
_REVIEW_LABELS = {"__label__neg": 0, "__label__pos": 1}
_FEWEST_WORDS, _MOST_WORDS = 6, 24
_TOKEN = re.compile(r"\w+(?:['’.&-]\w+)*|[^\w\s]")
_OPENING = frozenset("\"'“‘:([")

Tagged = tuple[Sequence[str], Sequence[bool]]


def shipped_sentences(language: str) -> list[str]:
    """Return the distinct sentences that packages ship: English news, Turkish Wikipedia (`tr`)."""
    if language == "tr":
        return [sentence.text for sentence in read_conllu(package_file(_TREEBANK))]
    lines = read_lines(package_file(_NEWS))
    return list(dict.fromkeys(s for line in lines for s in split_sentences(clean_line(line), "en")))


def construct(task: str, split: str, count: int, seed: int) -> pd.DataFrame:
    """Make `count` rows of a task, the same for the same arguments.

    task: one of `sources.CONSTRUCTED`. split: `train` or `validation`.
    Returns the columns of the real data set: its texts and label (int; float 0-5 for stsb), or
    tokens and ner_tags (IOB2).

    Raises:
        UserError: the text has fewer sentences for the split than `count`.
    """
    rng = random.Random(f"{task} {split} {seed}")
    if task == "sst2":
        return pd.DataFrame(_drawn(_reviews(), split, count, rng), columns=["sentence", "label"])
    if task.startswith("ner_"):
        tagged = _tagged_turkish() if task == "ner_tr" else map(_tagged_english, _sentences("en"))
        rows = [(list(words), _iob2(names)) for words, names in _drawn(tagged, split, count, rng)]
        return pd.DataFrame(rows, columns=["tokens", "ner_tags"])
    texts = _drawn(_sentences("tr" if task == "xnli_tr" else "en"), split, count, rng)
    if task == "cola":
        rows = [(_shuffled(text, rng), 0) if i % 2 else (text, 1) for i, text in enumerate(texts)]
        return pd.DataFrame(rows, columns=["sentence", "label"])
    return _pairs(task, texts, rng)


def _sentences(language: str) -> list[str]:
    """Sentences of middling length: long enough to shuffle, short enough for a small model."""
    return [
        text
        for text in shipped_sentences(language)
        if _FEWEST_WORDS <= text.count(" ") + 1 <= _MOST_WORDS
    ]


def _reviews() -> list[tuple[str, int]]:
    """Review sentences and their real labels; the file is in an encoding of Windows."""
    text = package_file(_REVIEWS).read_text(encoding="cp1252")
    cut = (line.partition(" ") for line in text.splitlines())
    return [(sentence.strip(), _REVIEW_LABELS[label]) for label, _, sentence in cut]


def _drawn(items: Iterable, split: str, count: int, rng: random.Random) -> list:
    """Draw items of a split: a quarter of all, by their checksums, is for validation."""
    fitting = [
        item
        for item in items
        if (zlib.crc32(str(item).encode()) % 4 == 0) == (split == "validation")
    ]
    if len(fitting) < count:
        raise UserError(f"rows: there are {len(fitting)} sentences for {split}; ask for fewer")
    return rng.sample(fitting, count)


def _shuffled(text: str, rng: random.Random) -> str:
    """Shuffle all words but the first and the last, which capital and full stop would tell."""
    first, *inner, last = text.split(" ")
    shuffled = inner[:]
    while shuffled == inner and len(set(inner)) > 1:
        rng.shuffle(shuffled)
    return " ".join([first, *shuffled, last])


def _pairs(task: str, texts: list[str], rng: random.Random) -> pd.DataFrame:
    first, second, shares = _PAIRS[task]
    rows = []
    for i, text in enumerate(texts):
        label = i % len(shares) if shares else round(5 * rng.random(), 1)
        share = shares[label] if shares else label / 5
        rows.append((text, _mixed(text, texts[i - 1], share, rng), label))
    return pd.DataFrame(rows, columns=[first, second, "label"])


def _mixed(text: str, other: str, share: float, rng: random.Random) -> str:
    """Keep a share of the words of `text`; mix half as many as are missing from `other` into them.

    Words keep their order. The less two texts share, the shorter the second: that alone tells a
    small model something.
    """
    ours, theirs = text.split(" "), other.split(" ")
    kept = _some(ours, round(share * len(ours)), rng)
    added = _some(theirs, (len(ours) - len(kept)) // 2, rng)
    turns = [kept] * len(kept) + [added] * len(added)
    rng.shuffle(turns)
    rest = {id(words): iter(words) for words in (kept, added)}
    return " ".join(next(rest[id(words)]) for words in turns)


def _some(words: list[str], count: int, rng: random.Random) -> list[str]:
    return [words[i] for i in sorted(rng.sample(range(len(words)), min(count, len(words))))]


# --- names


def _tagged_turkish() -> Iterable[Tagged]:
    for sentence in read_conllu(package_file(_TREEBANK)):
        words = list(sentence.words())
        yield (
            tuple("".join(token.form for token in word) for word in words),
            tuple("Proper=True" in word[0].features for word in words),
        )


def _tagged_english(text: str) -> Tagged:
    """Words and punctuation, and which of them belong to names: capitals inside a sentence."""
    tokens = _TOKEN.findall(text)
    before = ["", *tokens]
    names = [
        token[0].isupper() and token != "I" and bool(before[i]) and before[i] not in _OPENING
        for i, token in enumerate(tokens)
    ]
    return tuple(tokens), tuple(names)


def _iob2(names: Sequence[bool]) -> list[str]:
    return [
        "O" if not name else "I-NAME" if before else "B-NAME"
        for before, name in pairwise([False, *names])
    ]
