"""Find the paper's two kinds of example sentence in a corpus, by rule and not by hand.

Table 1: a piece that one vocabulary keeps and the other lacks, in distinct contexts. Table 2: an
ablation outside a target's window that changes a token inside it. Both searches are
deterministic: the same lines and vocabularies give the same sentences.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, islice, pairwise

from sagevocab.corpus.words import Normalizer, split_words
from sagevocab.pieces import WORD_START, is_single_character
from sagevocab.segmentation.segmenter import GreedySegmenter, Segmenter

UNKNOWN = "[UNK]"
FEWEST_WORDS, MOST_WORDS = 6, 16
MOST_CHARACTERS = 110
PLAIN_MARKS = frozenset(" ,.;:?!'’-")
MOST_LINES = 100_000
MOST_ABLATIONS = 50

# The tokens before and after a piece in its word.
Context = tuple[str, str]


@dataclass(frozen=True)
class WordRule:
    """How a line becomes words: the normalisation and the length at which words are cut."""

    normalization: str = "nmt_nfkc"
    max_word_chars: int = 256

    def words(self, lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
        """Yield each line with its words, which begin with `▁`."""
        normalizer = Normalizer(self.normalization)
        for line in lines:
            yield line, split_words(normalizer(line), self.max_word_chars)


@dataclass(frozen=True)
class Segmentation:
    """Tokens of a sentence or word; marked: the indices of those that a reader should look at."""

    tokens: tuple[str, ...]
    marked: frozenset[int] = frozenset()

    def __str__(self) -> str:
        """Return the tokens alone."""
        return " ".join(self.tokens)

    def runs(self) -> list[tuple[str, bool]]:
        """Return the text in runs of tokens that are all marked, or all not."""
        tokens = [(token, index in self.marked) for index, token in enumerate(self.tokens)]
        return [
            (" ".join(token for token, _ in run), mark)
            for mark, run in groupby(tokens, key=lambda pair: pair[1])
        ]

    def marked_tokens(self) -> list[str]:
        """Return the marked tokens alone."""
        return [self.tokens[index] for index in sorted(self.marked)]


@dataclass(frozen=True)
class Example:
    """A sentence under two tokenizers; marked: the tokens of the words that hold the piece.

    Punctuation that ends such a word is not marked.
    """

    sentence: str
    piece: str
    bpe: Segmentation
    sage: Segmentation


@dataclass(frozen=True)
class Retokenization:
    """A sentence before and after the ablation of one piece, seen from one target token.

    before, after: marked are the tokens of re-segmented words. window_before, window_after:
    half-open spans of positions around the target, itself included.
    """

    sentence: str
    piece: str
    target: str
    before: Segmentation
    after: Segmentation
    window_before: tuple[int, int]
    window_after: tuple[int, int]


def tokenize_words(words: Sequence[str], segmenter: Segmenter) -> list[list[str]]:
    """Return the tokens of each word; an uncovered character is `[UNK]`."""
    ids, offsets = segmenter.segment_words(words)
    tokens = [UNKNOWN if piece < 0 else segmenter.pieces[piece] for piece in ids.tolist()]
    return [tokens[start:stop] for start, stop in pairwise(offsets.tolist())]


def segment_sentence(
    sentence: str, rule: WordRule, bpe: Segmenter, sage: Segmenter, piece: str
) -> Example:
    """Segment a given sentence (one of the paper's) with both tokenizers.

    Marked are the tokens of the words whose BPE segmentation holds `piece`, or, where none does,
    of the words that hold it as a string: with another vocabulary the paper's piece may not occur.
    """
    [(_, words)] = rule.words([sentence])
    tokens = tokenize_words(words, bpe)
    marked = [piece in parts for parts in tokens]
    if not any(marked):
        marked = [piece in word for word in words]
    others = tokenize_words(words, sage)
    return Example(sentence, piece, _marked(tokens, marked), _marked(others, marked))


def find_examples(
    lines: Iterable[str], rule: WordRule, bpe: Segmenter, sage: Segmenter, count: int = 3
) -> list[Example]:
    """Find sentences with a piece that BPE keeps and SaGe lacks, each in another context.

    A context is the pair of tokens around the piece in a word. Chosen is the piece with the most
    distinct contexts in short sentences, then its `count` most frequent contexts with distinct
    left tokens, each by its shortest sentence. Fewer are returned if the first MOST_LINES lines
    have no more. Source: paper, Table 1.
    """
    dropped = _dropped_pieces(bpe.pieces, sage.pieces)
    found = _collect_contexts(_short_sentences(lines, rule), bpe, dropped)
    if not found:
        return []
    piece = min(found, key=lambda name: (-len(found[name]), name))
    sentences = _varied_sentences(found[piece], count)
    return [segment_sentence(sentence, rule, bpe, sage, piece) for sentence in sentences]


def find_retokenization(
    lines: Iterable[str],
    rule: WordRule,
    pieces: Sequence[str],
    ablated: Sequence[str],
    window: int = 2,
) -> Retokenization | None:
    """Find a sentence in which an ablation outside a target's window changes a token within it.

    pieces: the vocabulary before; ablated: pieces to try, in this order (SaGe's, as it pruned
    them), one at a time. Among the first MOST_ABLATIONS of them that precede another token of
    a word (of letters alone, for the reader's sake), the shortest sentence wins. None if there is
    none. Source: paper, Table 2.
    """
    sentences = list(_short_sentences(lines, rule))
    before = GreedySegmenter(pieces)
    holders = _words_led_by(_plain_words(sentences), before, set(ablated))
    best: Retokenization | None = None
    for piece in [piece for piece in ablated if piece in holders][:MOST_ABLATIONS]:
        after = GreedySegmenter([other for other in pieces if other != piece])
        affected = {word for word in holders[piece] if _end_changes(word, before, after)}
        found = (
            compare_ablation(sentence, words, before, after, piece, window)
            for sentence, words in _shorter(sentences, affected, best)
        )
        best = next(filter(None, found), best)
    return best


def compare_ablation(
    sentence: str,
    words: Sequence[str],
    before: Segmenter,
    after: Segmenter,
    piece: str,
    window: int = 2,
) -> Retokenization | None:
    """Return the first target whose window lacks `piece` yet changes with its ablation.

    words: the sentence's words with `▁`. Only targets with a full window on both sides, in words
    that keep their segmentation, are considered. None if there is no such target, or the sentence
    has an uncovered character.
    """
    old, new = tokenize_words(words, before), tokenize_words(words, after)
    changed = [left != right for left, right in zip(old, new, strict=True)]
    ours, theirs = _marked(old, changed), _marked(new, changed)
    if UNKNOWN in ours.tokens:
        return None
    for target_before, target_after in _kept_targets(old, new):
        spans = _span(target_before, window), _span(target_after, window)
        if _context_changes(ours.tokens, theirs.tokens, spans, piece):
            target = ours.tokens[target_before]
            return Retokenization(sentence, piece, target, ours, theirs, *spans)
    return None


def _marked(words: list[list[str]], marked: list[bool]) -> Segmentation:
    """Join words; a token has its word's mark, except for the punctuation that ends a word."""
    tokens: list[str] = []
    places: set[int] = set()
    for parts, mark in zip(words, marked, strict=True):
        kept = len(parts)
        while kept and not any(map(str.isalnum, parts[kept - 1].removeprefix(WORD_START))):
            kept -= 1
        places |= set(range(len(tokens), len(tokens) + (kept or len(parts)))) if mark else set()
        tokens += parts
    return Segmentation(tuple(tokens), frozenset(places))


def _dropped_pieces(bpe: Iterable[str], sage: Iterable[str]) -> set[str]:
    """Return BPE's own pieces within words: `isalpha` leaves `▁` out, as in the paper's table."""
    kept = set(sage)
    return {
        piece
        for piece in bpe
        if piece not in kept and piece.isalpha() and not is_single_character(piece)
    }


def _short_sentences(lines: Iterable[str], rule: WordRule) -> Iterator[tuple[str, list[str]]]:
    """Yield (sentence, words) of lines that fit a table and read as a plain sentence."""
    sentences = (line.strip() for line in islice(lines, MOST_LINES))
    plain = (s for s in sentences if len(s) <= MOST_CHARACTERS and _is_plain(s))
    for sentence, words in rule.words(plain):
        if FEWEST_WORDS <= len(words) <= MOST_WORDS:
            yield sentence, words


def _is_plain(sentence: str) -> bool:
    """Whether a sentence begins and ends as one, in letters of one script and no odd symbols."""
    if not sentence.endswith((".", "?", "!")) or not sentence[0].isalpha() or sentence[0].islower():
        return False
    characters = set(sentence) - PLAIN_MARKS
    return all(map(str.isalpha, characters)) and len(set(map(_script, characters))) == 1


@cache
def _script(letter: str) -> str:
    """Return the script of a letter as its Unicode name begins: LATIN, CYRILLIC, CJK."""
    return unicodedata.name(letter, "").partition(" ")[0]


def _collect_contexts(
    sentences: Iterable[tuple[str, list[str]]], bpe: Segmenter, dropped: set[str]
) -> dict[str, dict[Context, list[str]]]:
    """Return dropped piece -> context -> a sentence for each time that it was seen.

    Sentences with an uncovered character are left out.
    """
    found: dict[str, dict[Context, list[str]]] = {}
    known: dict[str, list[str]] = {}
    for sentence, words in sentences:
        new = [word for word in dict.fromkeys(words) if word not in known]
        known.update(zip(new, tokenize_words(new, bpe), strict=True))
        if any(UNKNOWN in known[word] for word in words):
            continue
        for word in words:
            for piece, context in _contexts_in(known[word], dropped):
                found.setdefault(piece, {}).setdefault(context, []).append(sentence)
    return found


def _contexts_in(tokens: Sequence[str], dropped: set[str]) -> Iterator[tuple[str, Context]]:
    padded = ["", *tokens, ""]
    for left, piece, right in zip(padded, padded[1:], padded[2:], strict=False):
        if piece in dropped:
            yield piece, (left, right)


def _varied_sentences(contexts: Mapping[Context, list[str]], count: int) -> list[str]:
    """Return sentences of the most frequent contexts, no left token and no sentence twice."""
    chosen: dict[str, str] = {}
    for context in sorted(contexts, key=lambda context: (-len(contexts[context]), context)):
        sentence = min(contexts[context], key=len)
        if context[0] not in chosen and sentence not in chosen.values():
            chosen[context[0]] = sentence
    return list(chosen.values())[:count]


def _plain_words(sentences: Iterable[tuple[str, list[str]]]) -> list[str]:
    """Return the word types that are letters alone, in order of appearance."""
    types = dict.fromkeys(word for _, words in sentences for word in words)
    return [word for word in types if word.removeprefix(WORD_START).isalpha()]


def _words_led_by(
    words: Sequence[str], segmenter: Segmenter, wanted: set[str]
) -> dict[str, list[str]]:
    """Return, by piece, the words in which it precedes other tokens of the word."""
    holders: dict[str, list[str]] = {}
    for word, tokens in zip(words, tokenize_words(words, segmenter), strict=True):
        for piece in set(tokens[:-1]) & wanted - set(tokens[-1:]):
            holders.setdefault(piece, []).append(word)
    return holders


def _end_changes(word: str, before: Segmenter, after: Segmenter) -> bool:
    old, new = (tokenize_words([word], segmenter)[0] for segmenter in (before, after))
    return old[-1:] != new[-1:]


def _shorter(
    sentences: Sequence[tuple[str, list[str]]], affected: set[str], best: Retokenization | None
) -> Iterator[tuple[str, list[str]]]:
    """Yield sentences with an affected word, each shorter than the last and than `best`."""
    if not affected:
        return
    candidates = [item for item in sentences if not affected.isdisjoint(item[1])]
    longest = float("inf") if best is None else len(best.sentence)
    for sentence, words in sorted(candidates, key=lambda item: (len(item[0]), item[0])):
        if len(sentence) < longest:
            yield sentence, words


def _kept_targets(old: list[list[str]], new: list[list[str]]) -> Iterator[tuple[int, int]]:
    """Yield the positions, before and after, of the tokens of words that stayed the same."""
    start_old = start_new = 0
    for before, after in zip(old, new, strict=True):
        if before == after:
            yield from ((start_old + step, start_new + step) for step in range(len(before)))
        start_old += len(before)
        start_new += len(after)


def _span(target: int, window: int) -> tuple[int, int]:
    return target - window, target + window + 1


def _context_changes(
    old: Sequence[str],
    new: Sequence[str],
    spans: tuple[tuple[int, int], tuple[int, int]],
    piece: str,
) -> bool:
    (first_old, last_old), (first_new, last_new) = spans
    if min(first_old, first_new) < 0 or last_old > len(old) or last_new > len(new):
        return False
    before, after = old[first_old:last_old], new[first_new:last_new]
    return piece not in before and before != after
