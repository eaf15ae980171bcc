"""The README of a pretrained model's folder."""

from __future__ import annotations

import math

import pandas as pd

from sagevocab.lm.settings import PretrainSettings


def card(name: str, settings: PretrainSettings, seed: int, frame: pd.DataFrame) -> str:
    """Return the README of the model's folder.

    name: what it is called. frame: its training log.
    """
    last = frame.iloc[-1]
    return f"""---
library_name: transformers
tags: [masked-lm, subword]
pipeline_tag: fill-mask
---

# {name}

A masked language model, pretrained from scratch with sagevocab: pre-layer-norm BERT
(RobertaPreLayerNorm) of {settings.layers} layers, {settings.hidden} wide. It was trained on the
corpus that its vocabulary was trained on.

    from transformers import AutoModelForMaskedLM, AutoTokenizer
    model = AutoModelForMaskedLM.from_pretrained("path/to/this/folder")
    tokenizer = AutoTokenizer.from_pretrained("path/to/this/folder")

| | |
|---|---|
| updates | {len(frame):,} of {settings.batch:,} sequences of {settings.sequence_length} tokens |
| passes over the corpus | {last.epoch:.2f} |
| largest learning rate | {frame.learning_rate.max():.3g} |
| seed | {seed} |
{_heldout(last)}

Every update is a row of `training_log.parquet`, every held-out line and validation one of
`heldout.parquet`. Models with different vocabularies compare by bits per character and words
right, not by piece.
"""


def _heldout(last: pd.Series) -> str:
    if math.isnan(last.heldout_loss):
        return "| held-out words | none were asked |"
    return f"""\
| held-out words | {last.heldout_bits_per_character:.4f} bits per character, \
{last.heldout_word_accuracy:.4f} right |
| their pieces | {last.heldout_loss:.4f} nats, {last.heldout_accuracy:.4f} right |"""
