"""The model that is pretrained: transformers' pre-layer-norm BERT, its loss, its folder.

RobertaPreLayerNorm runs on PyTorch's fused attention. It has one layer norm more than the
architecture of Izsak et al. 2021, after the embeddings. MegatronBert has none there, but only
transformers' eager attention, which keeps the weights of all pairs of tokens; on a CPU the two are
equally fast (within 6 %, 4 layers 256 wide and 6 layers 512 wide).
"""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pandas as pd
import torch
from torch.nn import functional
from transformers.models.roberta_prelayernorm import (
    RobertaPreLayerNormConfig,
    RobertaPreLayerNormForMaskedLM,
)
from transformers.utils import logging

from reproduction.lm.encoder import TextEncoder
from reproduction.lm.loss import nats_of
from reproduction.lm.settings import PretrainSettings
from sagevocab.state import write_json

TOKENIZER_SETTINGS = "tokenizer_config.json"
TOKENIZER_FILES = (
    "tokenizer.json",
    TOKENIZER_SETTINGS,
    "special_tokens_map.json",
    "pieces.txt",
)
WEIGHTS = "model.safetensors"
PADDED_TO = 64  # entries, of which a GPU's matrix units take whole multiples


def build_model(encoder: TextEncoder, settings: PretrainSettings) -> RobertaPreLayerNormForMaskedLM:
    """Return an untrained model with BERT's two segments and `sequence_length` positions."""
    config = RobertaPreLayerNormConfig(
        vocab_size=encoder.size,
        hidden_size=settings.hidden,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=settings.intermediate,
        hidden_act=settings.activation,
        hidden_dropout_prob=settings.dropout,
        attention_probs_dropout_prob=settings.attention_dropout,
        # This class counts positions from the id of [PAD] plus one.
        max_position_embeddings=settings.sequence_length + encoder.pad + 1,
        type_vocab_size=2,
        pad_token_id=encoder.pad,
        bos_token_id=encoder.cls,
        eos_token_id=encoder.sep,
    )
    return RobertaPreLayerNormForMaskedLM(config)


def longest_input(config: RobertaPreLayerNormConfig) -> int:
    """Return the longest input, in tokens, for which the model has trained positions."""
    return config.max_position_embeddings - config.pad_token_id - 1


def masked_logits(
    model: RobertaPreLayerNormForMaskedLM,
    inputs: torch.Tensor,
    positions: torch.Tensor,
    present: torch.Tensor | None,
) -> torch.Tensor:
    """Return float32[rows * masked, vocabulary] for the masked positions, and no others.

    For a vocabulary of 16,000 pieces the output layer would else cost as much as several of the
    layers below it.

    Args:
        model: the model.
        inputs: int64[rows, length], ids.
        positions: int64[rows, masked], where to predict.
        present: bool[rows, length], False on padding; None if there is none.
    """
    states = model.base_model(input_ids=inputs, attention_mask=present).last_hidden_state
    index = positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])
    states = states.gather(1, index).flatten(0, 1)
    if states.is_cuda:
        return padded_output(model, states).float()
    return model.lm_head(states).float()


def padded_output(model: RobertaPreLayerNormForMaskedLM, states: torch.Tensor) -> torch.Tensor:
    """Return what `model.lm_head` returns, by a product as wide as a multiple of PADDED_TO.

    GPUs multiply matrices of odd sizes at a fraction of their speed. Only the product is padded:
    weights, configuration and checkpoints have the tokenizer's size. The padded copy is made, and
    cast, for every micro-batch; beside the product that is nothing.
    """
    head = model.lm_head
    weight, bias = head.decoder.weight, head.decoder.bias
    missing = -len(weight) % PADDED_TO
    states = head.layer_norm(functional.gelu(head.dense(states)))
    padded = functional.pad(weight, (0, 0, 0, missing)), functional.pad(bias, (0, missing))
    return functional.linear(states, *padded)[:, : len(weight)]


def masked_loss(
    model: RobertaPreLayerNormForMaskedLM,
    inputs: torch.Tensor,
    positions: torch.Tensor,
    labels: torch.Tensor,
    present: torch.Tensor | None,
) -> torch.Tensor:
    """Return the loss in nats, summed over the masked tokens; see `masked_logits`.

    labels: int64[rows, masked], the ids that stood there, or IGNORED.
    """
    logits = masked_logits(model, inputs, positions, present)
    return nats_of(logits, labels.flatten()).sum()


def save_model(model: RobertaPreLayerNormForMaskedLM, vocabulary: Path, folder: Path) -> None:
    """Write weights and configuration, and the files of the tokenizer, into `folder`.

    The tokenizer's longest input becomes the model's, or truncation would leave too much.
    """
    logging.disable_progress_bar()
    model.save_pretrained(folder)
    # Weights come readable by their owner alone, unlike every other artefact.
    (folder / WEIGHTS).chmod((folder / "config.json").stat().st_mode)
    for name in TOKENIZER_FILES:
        if (vocabulary / name).is_file():
            shutil.copyfile(vocabulary / name, folder / name)
    settings = json.loads((folder / TOKENIZER_SETTINGS).read_text(encoding="utf-8"))
    write_json(
        folder / TOKENIZER_SETTINGS, settings | {"model_max_length": longest_input(model.config)}
    )


def model_card(
    name: str, settings: PretrainSettings, seed: int, frame: pd.DataFrame, corpus: str | None
) -> str:
    """Return the README of the model's folder.

    frame: its training log. corpus: what it says of the text, if anything.
    """
    last = frame.iloc[-1]
    text = f": {corpus}" if corpus else ""
    return f"""---
library_name: transformers
tags: [masked-lm, subword]
pipeline_tag: fill-mask
---

# {name}

A masked language model, pretrained from scratch with sagevocab: pre-layer-norm BERT
(RobertaPreLayerNorm) of {settings.layers} layers, {settings.hidden} wide. It was trained on the
corpus that its vocabulary was trained on{text}.

    from transformers import AutoModelForMaskedLM, AutoTokenizer
    model = AutoModelForMaskedLM.from_pretrained("path/to/this/folder")
    tokenizer = AutoTokenizer.from_pretrained("path/to/this/folder")

| | |
|---|---|
| updates | {len(frame):,} of {settings.batch:,} sequences of {settings.sequence_length} tokens |
| passes over the corpus | {last.epoch:.2f} |
| largest learning rate | {frame.learning_rate.max():.3g} |
| seed | {seed} |
| trained on | {_places(frame)} |
{_heldout(last)}

Every update is a row of `training_log.parquet`, every held-out line and validation one of
`heldout.parquet`. The bits are given the number of pieces of each word. Models with different
vocabularies compare by `table_learning_curves` of their run, which adds its code.
"""


def _places(frame: pd.DataFrame) -> str:
    kinds = frame[["cards", "card", "precision", "micro_batch"]].drop_duplicates()
    places = "; ".join(
        f"{row.cards} x {row.card} in {row.precision}, {row.micro_batch} sequences at once"
        for row in kinds.itertuples()
    )
    sittings = frame.sitting.nunique()
    places += f"; in {sittings} sittings" if sittings > 1 else ""
    skipped = int(frame.skipped.iloc[-1]) if "skipped" in frame else 0
    return f"{places}; {skipped:,} updates were left out in fp16" if skipped else places


def _heldout(last: pd.Series) -> str:
    if math.isnan(last.heldout_loss):
        return "| held-out words | none were asked |"
    return f"""\
| held-out words | {last.heldout_bits_per_character:.4f} bits per character, \
{last.heldout_word_accuracy:.4f} right |
| their pieces | {last.heldout_loss:.4f} nats, {last.heldout_accuracy:.4f} right |"""
