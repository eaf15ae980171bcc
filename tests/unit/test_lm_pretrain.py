from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer, RobertaPreLayerNormForMaskedLM

from lm_samples import PIECES, TINY, make_shards
from reproduction.lm import pretrain as module
from reproduction.lm.heldout import HeldoutSettings
from reproduction.lm.pretrain import Pretrainer, pretrain
from reproduction.lm.settings import PretrainSettings
from reproduction.lm.tokenizer import IGNORED
from reproduction.lm.training import training_arguments
from sagevocab.errors import UserError


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    make_shards(folder)
    return folder


def train(corpus: Path, output: Path, seed: int = 1, arguments=None, **overrides) -> Path:
    state = {"state_dir": output.with_suffix(".state")}
    pretrain(
        corpus / "shards",
        corpus / "vocabulary",
        output,
        PretrainSettings(**(TINY | overrides)),
        name="English/test",
        seed=seed,
        corpus="Other dump",
        **(state | (arguments or {})),
    )
    return output


@pytest.fixture(scope="module")
def model(corpus, tmp_path_factory) -> Path:
    return train(corpus, tmp_path_factory.mktemp("model") / "en", steps=40)


def trainer_of(corpus: Path, folder: Path, **overrides) -> Pretrainer:
    settings = PretrainSettings(**(TINY | {"dropout": 0.0, "attention_dropout": 0.0} | overrides))
    arguments = training_arguments(folder, "fp32", 0, 1, max_grad_norm=0.0)
    return Pretrainer(corpus / "shards", corpus / "vocabulary", arguments, settings, seed=1)


def losses_of(trainer: Pretrainer) -> list[float]:
    trainer.run()
    return trainer.history()["loss"].tolist()


def test_the_folder_loads_with_the_hub_classes(model):
    loaded, info = AutoModelForMaskedLM.from_pretrained(model, output_loading_info=True)
    tokenizer = AutoTokenizer.from_pretrained(model)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    assert type(loaded).__name__ == "RobertaPreLayerNormForMaskedLM"
    assert loaded.config.vocab_size == len(tokenizer) == len(PIECES) + 5
    ids = tokenizer("the cat sees a river.", return_tensors="pt")
    assert torch.isfinite(loaded(**ids).logits).all()
    assert loaded.config.pad_token_id == tokenizer.pad_token_id


def test_every_update_is_logged(model, corpus):
    log = pd.read_parquet(model / "training_log.parquet")
    counts = json.loads((corpus / "shards" / "index.json").read_text())["train"]
    settings = PretrainSettings(**(TINY | {"steps": 40}))
    rates = [settings.budget_schedule().rate(update, 0.0) for update in range(40)]
    assert log.step.tolist() == list(range(1, 41))
    assert log.learning_rate.tolist() == rates
    assert log.epoch.iloc[-1] == 40 * 8 / counts["rows"]
    assert log.tokens.iloc[-1] == pytest.approx(40 * 8 / counts["rows"] * counts["tokens"])
    assert log.characters.iloc[-1] == pytest.approx(40 * 8 / counts["rows"] * counts["characters"])
    assert log.seconds.is_monotonic_increasing
    assert np.flatnonzero(log.heldout_loss.notna()).tolist() == [19, 39]


def test_the_loss_is_that_of_transformers(corpus, tmp_path):
    trainer = trainer_of(corpus, tmp_path, steps=1, learning_rate=1e-30)
    batch = trainer.masked_batch(0)
    labels = torch.full(batch["input_ids"].shape, IGNORED)
    labels.scatter_(1, batch["positions"], batch["labels"])
    usual = RobertaPreLayerNormForMaskedLM(trainer.model.config)
    usual.load_state_dict(trainer.model.state_dict())
    theirs = usual.eval()(
        input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels
    )
    assert losses_of(trainer) == [pytest.approx(theirs.loss.item(), rel=1e-6)]


def test_a_checkpoint_of_other_settings_or_another_version_is_neither_resumed_nor_lost(
    corpus, tmp_path, caplog, monkeypatch
):
    caplog.set_level("INFO")

    def said(**overrides) -> str:
        caplog.clear()
        state = {"state_dir": tmp_path / "state"}
        train(corpus, tmp_path / "m", arguments=state, **overrides)
        return caplog.text

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(module, "save_model", Mock(side_effect=KeyboardInterrupt))
        said(checkpoint_minutes=1e-9)
    assert "resuming" not in said(learning_rate=1e-4)
    assert "resuming" not in said(seed=2)
    with monkeypatch.context() as patch:
        patch.setitem(module.RESULT_VERSION, "pretrain", 0)
        assert "resuming" not in said()
    assert "resuming after 5 updates" in said(micro_batch=2, checkpoint_minutes=1.0)


def test_half_precision_trains_and_is_written_whole(corpus, tmp_path):
    model = train(corpus, tmp_path / "m", precision="bf16")
    log = pd.read_parquet(model / "training_log.parquet")
    assert np.isfinite(log.loss).all()
    assert AutoModelForMaskedLM.from_pretrained(model).dtype == torch.float32


def test_nothing_held_out_is_no_validation(tmp_path):
    make_shards(tmp_path, questions=HeldoutSettings(lines=0, rate=0.3, seed=1))
    model = train(tmp_path, tmp_path / "m")
    assert pd.read_parquet(model / "training_log.parquet").heldout_loss.isna().all()
    assert pd.read_parquet(model / "heldout.parquet").empty
    assert "| held-out words | none were predicted |" in (model / "README.md").read_text()


def test_a_batch_that_is_larger_than_the_corpus_is_refused(corpus, tmp_path):
    with pytest.raises(UserError, match=r"shards: \d+ rows are fewer than lm\.pretrain\.batch"):
        train(corpus, tmp_path / "m", batch=4000)
    assert not (tmp_path / "m").exists()
