"""The model that is pretrained: transformers' pre-layer-norm BERT, and its folder.

RobertaPreLayerNorm runs on PyTorch's fused attention. It has one layer norm more than the
architecture of Izsak et al. 2021, after the embeddings. MegatronBert has none there, but only
transformers' eager attention, which keeps the weights of all pairs of tokens; on a CPU the two are
equally fast (within 6 %, 4 layers 256 wide and 6 layers 512 wide).
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from transformers.models.roberta_prelayernorm import (
    RobertaPreLayerNormConfig,
    RobertaPreLayerNormForMaskedLM,
)

from reproduction.lm.settings import PretrainSettings
from reproduction.lm.tokenizer import TextEncoder
from sagevocab.files import write_json

TOKENIZER_SETTINGS = "tokenizer_config.json"
TOKENIZER_FILES = (
    "tokenizer.json",
    TOKENIZER_SETTINGS,
    "special_tokens_map.json",
    "pieces.txt",
)
WEIGHTS = "model.safetensors"


def build_model(encoder: TextEncoder, settings: PretrainSettings) -> MaskedModel:
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
    return MaskedModel(config)


def longest_input(config: RobertaPreLayerNormConfig) -> int:
    """Return the longest input, in tokens, for which the model has trained positions."""
    return config.max_position_embeddings - config.pad_token_id - 1


class MaskedModel(RobertaPreLayerNormForMaskedLM):
    """The same model, computed at masked positions only.

    For a vocabulary of 16,000 pieces the output layer would else cost as much as several of the
    layers below it.
    """

    def forward(
        self,
        input_ids: torch.Tensor,
        positions: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return float32[rows * masked, vocabulary].

        Args:
            input_ids: int64[rows, length].
            positions: int64[rows, masked], where to predict.
            attention_mask: bool[rows, length], False on padding; None if there is none.
        """
        states = self.base_model(input_ids, attention_mask=attention_mask).last_hidden_state
        index = positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])
        return self.lm_head(states.gather(1, index).flatten(0, 1)).float()


def save_model(model: MaskedModel, vocabulary: Path, folder: Path) -> None:
    """Write weights and configuration, and the files of the tokenizer, into `folder`.

    The tokenizer's longest input becomes the model's, or truncation would leave too much.
    """
    usual = RobertaPreLayerNormForMaskedLM(model.config)
    usual.load_state_dict(model.state_dict())
    usual.config.use_cache = True  # the class's default, which Trainer turns off
    usual.save_pretrained(folder)
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
    name: str,
    settings: PretrainSettings,
    seed: int,
    history: pd.DataFrame,
    place: Mapping[str, Any],
    corpus: str | None,
) -> str:
    """Return the README of the model's folder.

    history: its training log. place: what trained it, see `training.place_of`. corpus: what the
    card says of the text, if anything.
    """
    last = history.iloc[-1]
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
| updates | {len(history):,} of {settings.batch:,} sequences of {settings.sequence_length} tokens |
| passes over the corpus | {last.epoch:.2f} |
| largest learning rate | {history.learning_rate.max():.3g} |
| seed | {seed} |
| trained on | {place["processes"]} x {place["device"]} in {place["precision"]} |
{_heldout(last)}

Every update is a row of `training_log.parquet`, every held-out line and validation one of
`heldout.parquet`. The bits are given the number of pieces of each word. Models with different
vocabularies compare by `table_differences` of their run, which adds its code.
"""


def _heldout(last: pd.Series) -> str:
    if math.isnan(last.heldout_loss):
        return "| held-out words | none were predicted |"
    return f"""\
| held-out words | {last.heldout_bits_per_character:.4f} bits per character, \
{last.heldout_word_accuracy:.4f} right |
| their pieces | {last.heldout_loss:.4f} nats, {last.heldout_accuracy:.4f} right |"""
