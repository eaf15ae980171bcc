"""Linear probes: which rows are predicted, what a model sees of them, what it answers."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from reproduction.analysis.probe_kinds import CLASSES, SIMILARITY, TAGS
from reproduction.analysis.probes import (
    HELDOUT,
    VALIDATION,
    PieceCounts,
    _answers,
    divide_rows,
    mean_vectors,
    probe_task,
    windows,
)
from sagevocab.corpus.words import Normalizer
from sagevocab.segmentation.segmenter import GreedySegmenter

PIECES = ["▁good", "▁bad", "▁film", "▁", *"abdfgilmo"]
WORDS = {"normalization": "nmt_nfkc", "max_word_chars": 256}
VECTORS = {"7": np.eye(len(PIECES), 6, dtype=np.float32)}


def texts(count, seed):
    """Texts whose class is whether they call something good."""
    rng = random.Random(seed)
    labels = [rng.randrange(2) for _ in range(count)]
    fill = [" ".join(rng.choices(["film", "a", "ago", "mob"], k=rng.randint(1, 5))) for _ in labels]
    rows = [f"{rest} {('bad', 'good')[label]}" for rest, label in zip(fill, labels, strict=True)]
    return pd.DataFrame({"text": rows, "label": labels})


def tagged(count, seed):
    """Sentences in which the word after "good" is a name."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        words = rng.choices(["film", "a", "bad", "good", "mob"], k=rng.randint(1, 6))
        tags = ["B-X" if word == "good" else "O" for word in ["", *words[:-1]]]
        rows.append({"tokens": words, "tags": tags})
    return pd.DataFrame(rows)


def probed(train, validation, kind, vectors=VECTORS, heldout_rows=10, **options):
    rows = divide_rows(train, validation, kind, heldout_rows=heldout_rows, seed=1)
    return probe_task(rows, kind, GreedySegmenter(PIECES), vectors, **WORDS, **options)


# --- rows


def test_rows_held_out_are_drawn_and_never_fitted():
    train, validation = texts(100, 1), texts(30, 2)
    rows = divide_rows(train, validation, CLASSES, heldout_rows=12, seed=3)
    assert rows.asked.groupby("split").size().to_dict() == {HELDOUT: 12, VALIDATION: 30}
    fitted, asked = rows.frame["text"][: rows.fitted], rows.frame["text"][rows.fitted :]
    assert not set(fitted) & set(asked)
    held = rows.asked[rows.asked["split"] == HELDOUT]["example"]
    assert asked[:12].tolist() == train["text"][held].tolist()
    assert asked[12:].tolist() == validation["text"].tolist()
    again = divide_rows(train, validation, CLASSES, heldout_rows=12, seed=4)
    assert again.asked["example"].tolist() != rows.asked["example"].tolist()


def test_of_tagged_words_no_row_is_held_out_and_of_pairs_every_one():
    rows = divide_rows(tagged(20, 1), tagged(5, 2), TAGS, heldout_rows=3, seed=1)
    assert (rows.fitted, rows.asked["split"].unique().tolist()) == (20, [VALIDATION])
    pairs = pd.DataFrame({"text": list("ab"), "text_pair": list("ba"), "label": [1.0, 2.0]})
    rows = divide_rows(pairs, pairs, SIMILARITY, heldout_rows=0, seed=1)
    assert (rows.fitted, len(rows.asked)) == (0, 4)


# --- what a model sees


def test_a_text_is_how_often_each_piece_is_in_it():
    counts = PieceCounts(GreedySegmenter(PIECES), Normalizer(), 256)
    found = counts(["good film good", "Жbad film", ""]).toarray()
    assert found.shape == (3, len(PIECES) + 1)
    named = [dict(zip([*PIECES, "?"], row, strict=True)) for row in found]
    assert {name: n for name, n in named[0].items() if n} == {"▁good": 2, "▁film": 1}
    expected = {"▁": 1, "?": 1, "b": 1, "a": 1, "d": 1, "▁film": 1}
    assert {name: n for name, n in named[1].items() if n} == expected
    assert not found[2].any()


def test_mean_vectors_are_of_the_known_pieces():
    counts = PieceCounts(GreedySegmenter(PIECES), Normalizer(), 256)
    vectors = np.arange(2 * len(PIECES), dtype=np.float32).reshape(-1, 2)
    good, film, mark = (vectors[PIECES.index(piece)] for piece in ("▁good", "▁film", "▁"))
    found = mean_vectors(counts(["good good film", "Ж film", ""]), vectors)
    np.testing.assert_allclose(found, [(2 * good + film) / 3, (mark + film) / 2, [0, 0]])


def test_windows_do_not_cross_sentences():
    sentences = [[3], [1, 2, 4, 5], [6, 7]]
    expected = [
        [row[place + shift] if 0 <= place + shift < len(row) else 9 for shift in range(-2, 3)]
        for row in sentences
        for place in range(len(row))
    ]
    assert np.transpose(windows(sentences, outside=9)).tolist() == expected


# --- what it answers


def test_texts_are_answered_as_scikit_learn_does_by_hand():
    train, validation = texts(200, 1), texts(80, 2)
    found = probed(train, validation, CLASSES)
    assert found.columns.tolist() == ["split", "example", "label", "pieces", "vectors_7"]
    rows = divide_rows(train, validation, CLASSES, heldout_rows=10, seed=1)
    pieces = GreedySegmenter(PIECES)
    table = np.zeros((len(rows.frame), len(PIECES) + 1))
    for place, text in enumerate(rows.frame["text"]):
        for word in text.split():
            np.add.at(table[place], pieces.segment(f"▁{word}"), 1)
    model = LogisticRegression(max_iter=1000).fit(
        table[: rows.fitted], rows.frame["label"][: rows.fitted]
    )
    assert found["pieces"].tolist() == model.predict(table[rows.fitted :]).tolist()
    assert (found["pieces"] == found["label"]).mean() > 0.9
    assert (found["vectors_7"] == found["label"]).mean() > 0.9


def test_the_order_of_rows_decides_no_answer():
    # With scikit-learn's own tolerance, five answers to these rows depend on it.
    rng = np.random.default_rng(2)
    counts = rng.poisson(8 / np.arange(1, 501), (7000, 500)).astype(float)
    known, order = rng.integers(0, 2, 2000), rng.permutation(2000)
    shuffled = np.concatenate([counts[order], counts[2000:]])
    first, second = (
        _answers(sparse.csr_matrix(rows), own)
        for rows, own in ((counts, known), (shuffled, known[order]))
    )
    assert (first == second).all()


def test_words_are_tagged_by_their_neighbours():
    found = probed(tagged(200, 1), tagged(60, 2), TAGS)
    assert found["pieces"].tolist() == found["tags"].tolist()
    assert found["vectors_7"].tolist() == found["tags"].tolist()


def test_pairs_are_compared_by_the_cosine_of_their_means():
    pairs = pd.DataFrame(
        {"text": ["good film", "Ж"], "text_pair": ["good bad", "bad"], "label": [2.5, 0.0]}
    )
    found = probed(pairs, pairs[:1], SIMILARITY)
    assert found["split"].tolist() == [HELDOUT, HELDOUT, VALIDATION]
    assert found.columns.tolist() == ["split", "example", "label", "vectors_7"]
    assert found["label"].tolist() == [2.5, 0.0, 2.5]
    # Unit vectors: they share one of two pieces. "Ж" leaves the mark, which is another piece.
    np.testing.assert_allclose(found["vectors_7"], [0.5, 0, 0.5], atol=1e-7)


def test_a_task_with_one_answer_is_answered_by_it():
    train = texts(20, 1).assign(label=1)
    assert set(probed(train, texts(5, 2), CLASSES)["pieces"]) == {1}
