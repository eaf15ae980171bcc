"""Vocabularies to compare SaGe with: WordPiece, and pruning without looking at contexts.

Both ways to prune begin where SaGe begins, at the initial BPE vocabulary, end at the same size, and
keep single characters, as SaGe does. What SaGe shares with them comes from pruning, not from
context.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from sagevocab.bpe import TooFewPiecesError, TooManyPiecesError
from sagevocab.decoding import UNCOVERED, Decoder, build_trie
from sagevocab.pieces import WORD_START, check_singles, is_single_character
from sagevocab.state import Columns
from sagevocab.words import WordCorpus

_NEVER = np.iinfo(np.int64).max
_WORDS_A_TEXT = 1000


# --- pruned without contexts


def prune_random(pieces: Sequence[str], final_size: int, seed: int) -> tuple[list[str], Columns]:
    """Prune pieces drawn at random, each of the prunable ones equally likely.

    Returns the pieces left, in their order, and columns of the pruned ones, in the order in which
    they were drawn: iteration (0), order, piece.

    Raises:
        UserError: there are more single characters than `final_size`.
    """
    check_singles(pieces, final_size)
    prunable = [number for number, piece in enumerate(pieces) if not is_single_character(piece)]
    drawn = np.random.default_rng(seed).permutation(prunable)[: len(pieces) - final_size]
    return _without(pieces, drawn, np.zeros(len(drawn), np.int64))


def prune_least_frequent(
    corpus: WordCorpus, pieces: Sequence[str], final_size: int, batch: int
) -> tuple[list[str], Columns]:
    """Prune the least frequent pieces under greedy segmentation, `batch` at a time, as SaGe does.

    Frequencies are counted again before every batch; of equally frequent pieces those with the
    higher number go first, as BPE merged them later. Returns what `prune_random` returns.

    Raises:
        UserError: there are more single characters than `final_size`.
    """
    check_singles(pieces, final_size)
    decoder = Decoder.greedy(corpus.types, build_trie(pieces))
    prunable = np.array([not is_single_character(piece) for piece in pieces])
    alive, numbers = np.ones(len(pieces), dtype=bool), np.arange(len(pieces))
    order, iterations = np.zeros(0, np.int64), np.zeros(0, np.int64)
    while (left := int(alive.sum()) - final_size) > 0:
        counts = np.where(prunable & alive, _frequencies(corpus, decoder, alive), _NEVER)
        lowest = np.lexsort((-numbers, counts))[: min(batch, left)]
        iterations = np.append(iterations, np.full(len(lowest), len(order) // batch))
        order = np.append(order, lowest)
        alive[lowest] = False
    return _without(pieces, order, iterations)


def _frequencies(corpus: WordCorpus, decoder: Decoder, alive: np.ndarray) -> np.ndarray:
    """Return how often each piece occurs in the corpus, segmented with those alive: int64."""
    ids, offsets = decoder.segment(alive)
    times, covered = np.repeat(corpus.counts, np.diff(offsets)), ids != UNCOVERED
    return np.bincount(ids[covered], times[covered], len(alive)).astype(np.int64)


def _without(
    pieces: Sequence[str], pruned: np.ndarray, iterations: np.ndarray
) -> tuple[list[str], Columns]:
    gone = set(pruned.tolist())
    left = [piece for number, piece in enumerate(pieces) if number not in gone]
    names = [pieces[number] for number in pruned]
    return left, {"iteration": iterations, "order": np.arange(len(names)), "piece": names}


# --- WordPiece


def train_wordpiece(
    corpus: WordCorpus, size: int, character_coverage: float, key: str
) -> list[str]:
    """Train WordPiece as `tokenizers` does for BERT and return its pieces in `▁` notation.

    A character that begins a word and the same one inside a word are different symbols, as in BERT:
    BERT's `ing` is `▁ing` here and its `##ing` is `ing`. So that no covered word is unknown, every
    covered character is a piece for the inside of words, and so is `▁`. Words with a character
    beyond `character_coverage` are not trained on.

    Raises:
        UserError: the corpus allows no vocabulary of this size.
    """
    words, counts = _whole_words(corpus)
    alphabet = _alphabet(words, counts, character_coverage)
    covered = set(alphabet)
    known = [number for number, word in enumerate(words) if covered.issuperset(word)]
    initial = {words[number][0] for number in known}
    characters = [WORD_START]
    for character in alphabet:
        characters += [WORD_START + character] * (character in initial) + [character]
    if len(characters) > size:
        raise TooFewPiecesError(size, len(characters), "the training corpus", key)
    repeats = np.repeat(known, counts[known])
    pieces = characters + _merge_words(words, repeats, alphabet, size - len(characters))
    if len(pieces) < size:
        raise TooManyPiecesError(size, len(pieces), "the training corpus", key)
    return pieces


def _whole_words(corpus: WordCorpus) -> tuple[list[str], np.ndarray]:
    """Return the word types without their `▁`, and their counts; no rests of cut words."""
    whole = [i for i, word in enumerate(corpus.types) if word[0] == WORD_START and len(word) > 1]
    return [corpus.types[i][1:] for i in whole], corpus.counts[whole]


def _alphabet(words: Sequence[str], counts: np.ndarray, coverage: float) -> list[str]:
    """Return the fewest characters that make up `coverage` of the text, frequent ones first."""
    frequency: Counter[str] = Counter()
    for word, count in zip(words, counts.tolist(), strict=True):
        for character in word:
            frequency[character] += count
    ranked = sorted(frequency, key=lambda character: (-frequency[character], character))
    shares = np.cumsum([frequency[character] for character in ranked]) / max(frequency.total(), 1)
    return ranked[: int(np.searchsorted(shares, coverage - 1e-12)) + 1]


def _merge_words(
    words: Sequence[str], repeats: np.ndarray, alphabet: Sequence[str], merges: int
) -> list[str]:
    """Run the WordPiece trainer over words and return what it merged, at most `merges` pieces.

    The trainer breaks ties by the numbers of its symbols, which it gives in the order of a hash
    table, different in each process. Symbols handed over as special tokens are numbered first, in
    the order given: with all of them the result is always the same.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    # Words are free of `▁`, so that as a prefix it marks the inside of words without ambiguity.
    symbols = [form for character in alphabet for form in (character, WORD_START + character)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=len(symbols) + merges,
        special_tokens=symbols,
        continuing_subword_prefix=WORD_START,
        min_frequency=1,
        show_progress=False,
    )
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "removed")
    tokenizer.train_from_iterator(_texts(words, repeats), trainer)
    vocabulary = tokenizer.get_vocab(with_added_tokens=False)
    ordered = sorted(vocabulary, key=vocabulary.__getitem__)[len(symbols) :]
    return [token[1:] if token.startswith(WORD_START) else WORD_START + token for token in ordered]


def _texts(words: Sequence[str], tokens: Iterable[int]) -> Iterator[str]:
    tokens = np.asarray(tokens)
    for start in range(0, len(tokens), _WORDS_A_TEXT):
        yield " ".join([words[i] for i in tokens[start : start + _WORDS_A_TEXT].tolist()])
