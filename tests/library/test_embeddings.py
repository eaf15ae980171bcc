from __future__ import annotations

import numpy as np
import pytest
from gensim.models import Word2Vec

from sage_samples import make_corpus
from sagevocab.corpus.words import Normalizer, WordCorpus
from sagevocab.errors import UserError
from sagevocab.segmentation.counts import SegmentedCorpus
from sagevocab.segmentation.segmenter import GreedySegmenter
from sagevocab.word2vec import gensim_trainer as module
from sagevocab.word2vec.embeddings import Embeddings, Word2VecSettings, train_embeddings

PIECES = ["▁", "a", "b", "c", "▁a", "ab", "zz", "z", "▁ab"]
SETTINGS = Word2VecSettings(
    trainer="gensim", dimension=6, window=2, negative=3, epochs=3, sample=0, seed=4
)


@pytest.fixture
def corpus() -> WordCorpus:
    return make_corpus(3, lines=80)


def train(corpus, settings=SETTINGS) -> Embeddings:
    return train_embeddings(corpus, GreedySegmenter(PIECES), settings)


def as_bytes(embeddings: Embeddings) -> bytes:
    return embeddings.target.tobytes() + embeddings.context.tobytes()


def test_vectors_are_gensims(corpus):
    """The same sentences given to gensim as pieces, in one call, give the same two matrices."""
    segmenter = GreedySegmenter(PIECES)
    sentences = []
    for first, last in zip(corpus.line_offsets[:-1], corpus.line_offsets[1:], strict=True):
        words = [corpus.types[number] for number in corpus.tokens[first:last]]
        numbers = [number for word in words for number in segmenter.segment(word)]
        sentences.append([PIECES[number] for number in numbers if number >= 0])
    counts = {piece: sum(line.count(piece) for line in sentences) for piece in PIECES}
    theirs = Word2Vec(
        vector_size=6, window=2, negative=3, epochs=3, sample=0, seed=4, sg=1, min_count=1,
        workers=1,
    )  # fmt: skip
    theirs.build_vocab_from_freq({p: n for p, n in counts.items() if n}, corpus_count=80)
    theirs.train(sentences, total_examples=len(sentences), epochs=3)
    ours = train(corpus)
    for row, piece in enumerate(theirs.wv.index_to_key):
        number = PIECES.index(piece)
        np.testing.assert_allclose(ours.target[number], theirs.wv.vectors[row], atol=1e-5)
        np.testing.assert_allclose(ours.context[number], theirs.syn1neg[row], atol=1e-5)


def test_pieces_never_seen_get_small_seeded_vectors_in_both_matrices(corpus):
    ours, again = train(corpus), train(corpus)
    other = train(corpus, Word2VecSettings(**{**vars(SETTINGS), "seed": 5}))
    for piece in ("zz", "z"):
        number = PIECES.index(piece)
        for name in ("target", "context"):
            vector = getattr(ours, name)[number]
            assert 0 < np.abs(vector).max() <= 0.01
            assert (vector == getattr(again, name)[number]).all()
            assert (vector != getattr(other, name)[number]).any()
    assert np.abs(ours.target[PIECES.index("a")]).max() > 0.01


def test_lines_longer_than_gensim_takes_are_cut_not_dropped(monkeypatch):
    monkeypatch.setattr(module, "_LONGEST_SENTENCE", 4)
    corpus = WordCorpus.from_lines(["a b c a b c a"], Normalizer())
    text = SegmentedCorpus(corpus, GreedySegmenter(["▁", "a", "b", "c", "▁a"]))
    sentences = module._Sentences(text)
    assert [len(sentence) for sentence in sentences] == [4, 4, 3]
    assert len(sentences) == 3


def test_embeddings_survive_a_round_trip(corpus, tmp_path):
    ours = train(corpus)
    ours.save(tmp_path / "one.npz")
    ours.save(tmp_path / "two.npz")
    loaded = Embeddings.load(tmp_path / "one.npz")
    assert loaded.pieces == PIECES
    assert as_bytes(loaded) == as_bytes(ours)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_a_corpus_without_any_piece_is_a_user_error():
    corpus = WordCorpus.from_lines(["xx y"], Normalizer())
    with pytest.raises(UserError, match="^corpus: no piece occurs"):
        train_embeddings(corpus, GreedySegmenter(["a"]), SETTINGS)


def test_a_sample_of_lines_is_trained_on_as_a_corpus_of_its_own(corpus):
    few = Word2VecSettings(**{**vars(SETTINGS), "lines": 20})
    assert as_bytes(train(corpus, few)) == as_bytes(train(corpus.sample(20, SETTINGS.seed)))
    assert as_bytes(train(corpus, few)) != as_bytes(train(corpus))
    with pytest.raises(UserError, match="word2vec.lines"):
        Word2VecSettings(lines="some")
