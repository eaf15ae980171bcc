"""Small evaluation tasks constructed from real sentences, for runs without a network.

The sentences are those of files that packages ship; labels and pairs are made here, in the columns
of the real data sets. A score on such a task says that the pipeline runs, nothing about the real
task. A sentence serves either training or validation, by its checksum, whatever the seed.

There is one constructor for each kind of task: `classes` of a text, `pairs` by how many words two
texts share, `tags` of words.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
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
_REVIEW_LABELS = {"__label__neg": 0, "__label__pos": 1}
_FEWEST_WORDS, _MOST_WORDS = 6, 24
_TOKEN = re.compile(r"\w+(?:['’.&-]\w+)*|[^\w\s]")
_OPENING = frozenset("\"'“‘:([")

# Chooses items of the split by the seed.
Draw = Callable[[Iterable], list]
Tagged = tuple[Sequence[str], Sequence[bool]]


def construct(task: str, split: str, count: int, seed: int, key: str = "") -> pd.DataFrame:
    """Make `count` rows of a task, the same for the same arguments.

    task: one of `TASKS`. split: `train` or `validation`. key: configuration key of the source, for
    the message.
    Returns the columns of the real data set: its texts and label (int; float 0-5 for stsb), or
    tokens and ner_tags (IOB2).

    Raises:
        UserError: the text has fewer sentences for the split than `count`.
    """
    rng = random.Random(f"{task} {split} {seed}")

    def draw(items: Iterable) -> list:
        """Draw items of the split: a quarter of all, by their checksums, is for validation."""
        is_validation = split == "validation"
        fitting = [i for i in items if (zlib.crc32(str(i).encode()) % 4 == 0) == is_validation]
        if len(fitting) < count:
            raise UserError(
                f"config key {key}.rows: there are {len(fitting)} sentences for {split}; ask for "
                "fewer"
            )
        return rng.sample(fitting, count)

    return TASKS[task](draw, rng)


# --- the constructors


def classes(draw: Draw, _rng: random.Random, labelled: Callable) -> pd.DataFrame:
    """Make rows of texts and their labels. labelled: yields both."""
    return pd.DataFrame(draw(labelled()), columns=["sentence", "label"])


def pairs(
    draw: Draw,
    rng: random.Random,
    language: str,
    columns: tuple[str, str],
    shares: Sequence[float] = (),
) -> pd.DataFrame:
    """Make rows of two texts; the label is how many words of the first the second has.

    shares: of the words that the second takes, by label; empty for a score of five times the share.
    """
    texts, rows = draw(_sentences(language)), []
    for i, text in enumerate(texts):
        label = i % len(shares) if shares else round(5 * rng.random(), 1)
        share = shares[label] if shares else label / 5
        rows.append((text, _mixed(text, texts[i - 1], share, rng), label))
    return pd.DataFrame(rows, columns=[*columns, "label"])


def tags(draw: Draw, _rng: random.Random, tagged: Callable) -> pd.DataFrame:
    """Make rows of words and tags in IOB2. tagged: yields words, and which belong to names."""
    rows = []
    for words, names in draw(tagged()):
        iob2 = [
            "O" if not name else "I-NAME" if before else "B-NAME"
            for before, name in pairwise([False, *names])
        ]
        rows.append((list(words), iob2))
    return pd.DataFrame(rows, columns=["tokens", "ner_tags"])


def _mixed(text: str, other: str, share: float, rng: random.Random) -> str:
    """Keep a share of the words of `text`; mix half as many as are missing from `other` into them.

    Words keep their order. The less two texts share, the shorter the second: that alone tells a
    small model something.
    """

    def some(words: list[str], count: int) -> list[str]:
        return [words[i] for i in sorted(rng.sample(range(len(words)), min(count, len(words))))]

    ours = text.split(" ")
    kept = some(ours, round(share * len(ours)))
    added = some(other.split(" "), (len(ours) - len(kept)) // 2)
    turns = [kept] * len(kept) + [added] * len(added)
    rng.shuffle(turns)
    rest = {id(words): iter(words) for words in (kept, added)}
    return " ".join(next(rest[id(words)]) for words in turns)


# --- what they draw from


def shipped_sentences(language: str) -> list[str]:
    """Return the distinct sentences that packages ship: English news, Turkish Wikipedia (`tr`)."""
    if language == "tr":
        return [sentence.text for sentence in read_conllu(package_file(_TREEBANK))]
    lines = read_lines(package_file(_NEWS))
    return list(dict.fromkeys(s for line in lines for s in split_sentences(clean_line(line), "en")))


def _sentences(language: str) -> Iterator[str]:
    """Sentences of middling length: long enough to shuffle, short enough for a small model."""
    for text in shipped_sentences(language):
        if _FEWEST_WORDS <= text.count(" ") + 1 <= _MOST_WORDS:
            yield text


def _intact_or_shuffled() -> Iterator[tuple[str, int]]:
    """Sentences, every second with its words shuffled, but for the first and the last word.

    Their capital and full stop would tell it.
    """
    for number, text in enumerate(_sentences("en")):
        first, *inner, last = text.split(" ")
        shuffled = inner[:]
        rng = random.Random(text)
        while number % 2 and shuffled == inner and len(set(inner)) > 1:
            rng.shuffle(shuffled)
        yield " ".join([first, *shuffled, last]), int(shuffled == inner)


def _reviews() -> Iterator[tuple[str, int]]:
    """Review sentences and their real labels; the file is in an encoding of Windows."""
    text = package_file(_REVIEWS).read_text(encoding="cp1252")
    for line in text.splitlines():
        label, _, sentence = line.partition(" ")
        yield sentence.strip(), _REVIEW_LABELS[label]


def _tagged_turkish() -> Iterator[Tagged]:
    """Words of a treebank, of which it marks the proper nouns."""
    for sentence in read_conllu(package_file(_TREEBANK)):
        words = list(sentence.words())
        yield (
            tuple("".join(token.form for token in word) for word in words),
            tuple("Proper=True" in word[0].features for word in words),
        )


def _tagged_english() -> Iterator[Tagged]:
    """Words and punctuation, and which of them belong to names: capitals inside a sentence."""
    for text in _sentences("en"):
        tokens = _TOKEN.findall(text)
        before = ["", *tokens]
        names = [
            token[0].isupper() and token != "I" and bool(before[i]) and before[i] not in _OPENING
            for i, token in enumerate(tokens)
        ]
        yield tuple(tokens), tuple(names)


_SENTENCES, _INFERENCE = ("sentence1", "sentence2"), ("premise", "hypothesis")
TASKS: dict[str, Callable[[Draw, random.Random], pd.DataFrame]] = {
    "cola": partial(classes, labelled=_intact_or_shuffled),
    "sst2": partial(classes, labelled=_reviews),
    "mrpc": partial(pairs, language="en", columns=_SENTENCES, shares=(0.2, 0.9)),
    "qqp": partial(pairs, language="en", columns=("question1", "question2"), shares=(0.2, 0.9)),
    "qnli": partial(pairs, language="en", columns=("question", "sentence"), shares=(0.9, 0.1)),
    "mnli": partial(pairs, language="en", columns=_INFERENCE, shares=(0.9, 0.5, 0.1)),
    "xnli_tr": partial(pairs, language="tr", columns=_INFERENCE, shares=(0.9, 0.5, 0.1)),
    "stsb": partial(pairs, language="en", columns=_SENTENCES),
    "ner_en": partial(tags, tagged=_tagged_english),
    "ner_tr": partial(tags, tagged=_tagged_turkish),
}
