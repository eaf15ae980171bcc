"""Our loss is PyTorch's cross-entropy, forward and back."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from reproduction.lm.loss import ROWS, nats_of
from reproduction.lm.tokenizer import IGNORED


@settings(max_examples=30)
@given(st.integers(0, 2 * ROWS + 1), st.integers(1, 40), st.integers(0, 2**32))
def test_value_and_gradient_are_cross_entropys(count, pieces, seed):
    draws = torch.Generator().manual_seed(seed)
    logits = 5 * torch.randn(count, pieces, generator=draws)
    labels = torch.randint(pieces, (count,), generator=draws)
    labels[torch.rand(count, generator=draws) < 0.2] = IGNORED
    slopes = torch.randn(count, generator=draws)
    peers, own = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    expected = functional.cross_entropy(peers, labels, ignore_index=IGNORED, reduction="none")
    expected.backward(slopes)
    found = nats_of(1 * own, labels)  # a product, as a parameter is no output of a layer
    found.backward(slopes)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(own.grad, peers.grad)


def test_bfloat16_is_summed_in_float32():
    logits = torch.randn(3, 5000).bfloat16()
    labels = torch.tensor([7, IGNORED, 4999])
    expected = functional.cross_entropy(logits.float(), labels, reduction="none")
    torch.testing.assert_close(nats_of(logits, labels), expected)


@pytest.mark.parametrize("label", [-1, 5])
def test_a_label_that_is_no_piece_is_refused(label):
    with pytest.raises((RuntimeError, IndexError)):
        nats_of(torch.zeros(1, 5), torch.tensor([label]))
