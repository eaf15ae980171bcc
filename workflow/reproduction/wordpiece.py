"""WordPiece, in the notation of sentencepiece's pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from sagevocab.corpus.words import WordCorpus
from sagevocab.initial.sentencepiece_models import TooFewPiecesError, TooManyPiecesError
from sagevocab.pieces import WORD_START

_WORDS_A_TEXT = 1000


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
