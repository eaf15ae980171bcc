from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from lm_samples import make_vocabulary
from reproduction.lm.masking import mask_rows, micro_batches
from reproduction.lm.tokenizer import IGNORED, TextEncoder, load_encoder
from reproduction.lm.training import generator


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return load_encoder(make_vocabulary(tmp_path_factory.mktemp("vocabulary")))


def masked_rows(rows: np.ndarray, rate: float, encoder: TextEncoder) -> SimpleNamespace:
    """What `mask_rows` returns, as arrays."""
    batch = mask_rows(rows, rate, encoder, generator(1, 0))
    return SimpleNamespace(**{name: values.numpy() for name, values in batch.items()})


def random_rows(encoder, count: int, length: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).integers(5, encoder.size, (count, length), dtype=np.uint16)
    rows[:, 0], rows[:, -1] = encoder.cls, encoder.sep
    return rows


def test_labels_are_what_stood_there_and_nothing_else_changes(encoder):
    rows = random_rows(encoder, 40, 64)
    masked = masked_rows(rows, 0.15, encoder)
    index = np.arange(40)[:, None]
    assert (masked.labels == rows[index, masked.positions]).all()
    restored = masked.input_ids.copy()
    restored[index, masked.positions] = masked.labels
    assert (restored == rows).all()


def test_eight_in_ten_are_hidden_one_replaced_one_kept(encoder):
    masked = masked_rows(random_rows(encoder, 2000, 128), 0.15, encoder)
    shown = np.take_along_axis(masked.input_ids, masked.positions, axis=1)
    hidden = (shown == encoder.mask).mean()
    kept = (shown == masked.labels).mean()
    # 38,000 draws: a standard error of 0.002 at most. A replacement may be the token itself.
    assert hidden == pytest.approx(0.8, abs=0.01)
    assert kept == pytest.approx(0.1 + 0.1 / encoder.ordinary.sum(), abs=0.01)
    assert encoder.ordinary[shown[shown != encoder.mask]].all()


def test_special_and_unknown_tokens_are_never_targets(encoder):
    rows = random_rows(encoder, 3, 16)
    rows[0, 1:10] = encoder.unk
    rows[1, 4:] = [encoder.sep, *[encoder.pad] * 11]
    rows[2, 2:] = [encoder.sep, *[encoder.pad] * 13]
    masked = masked_rows(rows, 0.3, encoder)
    assert masked.positions.shape == (3, 4)
    assert (masked.labels[0] > 4).all()
    assert sorted(masked.labels[1].tolist())[1:] == sorted(rows[1, 1:4].tolist())
    assert sorted(masked.labels[2].tolist()) == [IGNORED] * 3 + [rows[2, 1]]
    assert (masked.input_ids[rows < 5] == rows[rows < 5]).all()


@pytest.mark.parametrize(
    ("rows", "largest", "sizes"),
    [(4032, 32, {32}), (807, 32, {31, 32}), (8, 4, {4}), (5, 3, {2, 3}), (3, 8, {3})],
)
def test_micro_batches_have_two_sizes_at_most(rows, largest, sizes):
    batch = {"input_ids": torch.arange(rows), "labels": -torch.arange(rows)}
    parts = micro_batches(batch, largest)
    assert {len(part["input_ids"]) for part in parts} == sizes
    for name, values in batch.items():
        assert torch.cat([part[name] for part in parts]).equal(values)
