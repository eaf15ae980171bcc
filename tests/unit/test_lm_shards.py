from __future__ import annotations

import json

import numpy as np
import pytest

from lm_samples import make_shards, make_vocabulary
from reproduction.lm.tokenizer import load_encoder
from sagevocab.errors import UserError


def test_index_counts_lines_characters_and_unknown_tokens(tmp_path):
    shards = make_shards(tmp_path, lines=["the cat", "ж dog жж"])
    counts = json.loads((shards / "index.json").read_text())["train"]
    # ▁the ▁cat | ▁ ж ▁dog ▁ ж ж
    assert counts == {"lines": 2, "characters": 15, "tokens": 8, "unknown": 3, "rows": 1}


def test_text_that_spells_a_special_token_is_text(tmp_path):
    shards = make_shards(tmp_path, lines=["a [MASK] b [SEP] [CLS] [PAD]"])
    rows = np.load(shards / "train.npy")
    assert 4 not in rows
    assert (rows == 3).sum() == (rows == 2).sum() == len(rows)
    assert (rows[:-1] != 0).all()


def test_an_empty_corpus_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"train\.txt\.zst: holds no text"):
        make_shards(tmp_path, lines=[])
    assert not (tmp_path / "shards" / "index.json").exists()


def test_a_tokenizer_without_a_mask_token_is_refused(tmp_path):
    make_vocabulary(tmp_path)
    path = tmp_path / "tokenizer_config.json"
    config = json.loads(path.read_text())
    del config["mask_token"]
    path.write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"tokenizer_config\.json: names no mask_token"):
        load_encoder(tmp_path)
