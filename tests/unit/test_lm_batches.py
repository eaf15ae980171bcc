from __future__ import annotations

import numpy as np
import pytest
import torch

from lm_samples import make_vocabulary
from reproduction.lm.batches import MaskedRows, even_parts, make_batch, mask_rows, masked_per_row
from reproduction.lm.encoder import IGNORED, load_encoder
from reproduction.lm.team import Team
from reproduction.lm.training import generator


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return load_encoder(make_vocabulary(tmp_path_factory.mktemp("vocabulary")))


def random_rows(encoder, count: int, length: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).integers(5, encoder.size, (count, length), dtype=np.uint16)
    rows[:, 0], rows[:, -1] = encoder.cls, encoder.sep
    return rows


def test_every_row_has_the_same_number_of_targets(encoder):
    masked = mask_rows(random_rows(encoder, 50, 128), 0.15, encoder, generator(1, 0))
    assert masked_per_row(128, 0.15) == 19
    assert masked.positions.shape == masked.labels.shape == (50, 19)
    assert (masked.labels != IGNORED).all()
    assert masked.present is None
    assert all(len(set(row)) == 19 for row in masked.positions.tolist())


def test_labels_are_what_stood_there_and_nothing_else_changes(encoder):
    rows = random_rows(encoder, 40, 64)
    masked = mask_rows(rows, 0.15, encoder, generator(1, 0))
    index = np.arange(40)[:, None]
    assert (masked.labels == rows[index, masked.positions]).all()
    restored = masked.inputs.copy()
    restored[index, masked.positions] = masked.labels
    assert (restored == rows).all()


def test_eight_in_ten_are_hidden_one_replaced_one_kept(encoder):
    masked = mask_rows(random_rows(encoder, 2000, 128), 0.15, encoder, generator(1, 0))
    shown = np.take_along_axis(masked.inputs, masked.positions, axis=1)
    hidden = (shown == encoder.mask).mean()
    kept = (shown == masked.labels).mean()
    # 38,000 draws: a standard error of 0.002 at most. A replacement may be the token itself.
    assert hidden == pytest.approx(0.8, abs=0.01)
    assert kept == pytest.approx(0.1 + 0.1 / encoder.ordinary.sum(), abs=0.01)
    assert encoder.ordinary[shown[shown != encoder.mask]].all()


def test_every_place_is_equally_likely(encoder):
    masked = mask_rows(random_rows(encoder, 5000, 32), 0.15, encoder, generator(1, 0))
    counts = np.bincount(masked.positions.flatten(), minlength=32)
    assert counts[0] == counts[31] == 0
    # 25,000 targets over 30 places.
    assert counts[1:31] == pytest.approx(5000 * 4 / 30, rel=0.15)


def test_special_and_unknown_tokens_are_never_targets(encoder):
    rows = random_rows(encoder, 3, 16)
    rows[0, 1:10] = encoder.unk
    rows[1, 4:] = [encoder.sep, *[encoder.pad] * 11]
    rows[2, 2:] = [encoder.sep, *[encoder.pad] * 13]
    masked = mask_rows(rows, 0.3, encoder, generator(1, 0))
    assert masked.positions.shape == (3, 4)
    assert (masked.labels[0] > 4).all()
    assert sorted(masked.labels[1].tolist())[1:] == sorted(rows[1, 1:4].tolist())
    assert sorted(masked.labels[2].tolist()) == [IGNORED] * 3 + [rows[2, 1]]
    assert (masked.inputs[rows < 5] == rows[rows < 5]).all()


def test_padding_is_told_and_slices_without_it_forget_it(encoder):
    rows = random_rows(encoder, 4, 16)
    rows[3, 8:] = encoder.pad
    masked = mask_rows(rows, 0.15, encoder, generator(1, 0))
    assert (masked.present == (rows != encoder.pad)).all()
    assert masked[0:3].present is None
    assert masked[2:4].present.shape == (2, 16)
    assert len(masked[0:3]) == 3


# --- which process trains on which rows


@pytest.mark.parametrize("rows", [1, 7, 504, 4032])
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_shares_are_all_rows_once_and_even(rows, size):
    shares = [Team(rank, size).share(rows) for rank in range(size)]
    assert np.concatenate([np.arange(rows)[share] for share in shares]).tolist() == [*range(rows)]
    sizes = [share.stop - share.start for share in shares]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("rows", "largest", "sizes"),
    [(4032, 32, {32}), (807, 32, {31, 32}), (8, 4, {4}), (5, 3, {2, 3}), (3, 8, {3})],
)
def test_micro_batches_have_two_sizes_at_most(rows, largest, sizes):
    parts = even_parts(rows, largest)
    assert {part.stop - part.start for part in parts} == sizes
    assert [row for part in parts for row in range(rows)[part]] == [*range(rows)]


def test_a_batch_counts_the_targets_of_all_processes():
    labels = np.arange(12).reshape(6, 2)
    present = np.ones((6, 3), dtype=bool)
    present[5, 2] = False
    masked = MaskedRows(np.arange(18).reshape(6, 3), labels % 3, labels, present)
    first, last = (make_batch(masked, Team(rank, 2), 2, torch.from_numpy) for rank in (0, 1))
    assert first.targets == last.targets == 12
    parts = [*first.parts, *last.parts]
    assert torch.cat([part.inputs for part in parts]).tolist() == masked.inputs.tolist()
    assert [part.present is None for part in parts] == [True, True, True, False]
    assert parts[-1].present.tolist() == present[4:].tolist()
