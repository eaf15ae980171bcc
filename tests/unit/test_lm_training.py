"""What Trainer does otherwise, or would do wrong: order, decay, scaling, checkpoints, the clock."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import PretrainedConfig, PreTrainedModel, TrainingArguments
from transformers.trainer import TRAINER_STATE_NAME

from reproduction.lm import training as module
from reproduction.lm.settings import BudgetSchedule
from reproduction.lm.training import (
    BudgetTrainer,
    examples_of,
    last_checkpoint,
    memory_for,
    training_arguments,
)
from sagevocab.errors import UserError

SCHEDULE = BudgetSchedule(peak=0.1, warmup=0.0, updates=8)


class Line(PreTrainedModel):
    """y = w x, with a layer norm that has no part in it, under a name like the encoder's."""

    config_class = PretrainedConfig

    def __init__(self) -> None:
        super().__init__(PretrainedConfig())
        self.roberta_prelayernorm = torch.nn.Linear(1, 1)
        self.norm = torch.nn.LayerNorm(1)
        self.post_init()
        torch.nn.init.constant_(self.roberta_prelayernorm.weight, 0.5)
        torch.nn.init.zeros_(self.roberta_prelayernorm.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.roberta_prelayernorm(x) + 0 * self.norm(x).sum()


class LineTrainer(BudgetTrainer):
    """Fits the line to y = 2 x, in micro-batches of unlike sizes."""

    section, memory_key, summary = "lm.line", "batch", ("weight",)

    def summed_loss(self, model, batch):
        return (model(batch["x"]) - batch["y"]).pow(2).sum()

    def validate(self):
        weight = self.model.roberta_prelayernorm.weight.item()
        return pd.DataFrame({"line": [0], "weight": [weight]}), {"weight": weight}


def examples(update: int, sizes: list[int]) -> tuple[list[dict[str, torch.Tensor]], int]:
    x = torch.linspace(0.5, 1.5, sum(sizes)).unsqueeze(1) + 0.1 * update
    return [{"x": part, "y": 2 * part} for part in x.split(sizes)], len(x)


def trainer_of(folder: Path, sizes=(1, 4, 2), how=None, decay=0.0, **named) -> LineTrainer:
    named = {"schedule": SCHEDULE, "validation_every": 0.25, "checkpoint_minutes": 1e9} | named
    share_of = how or (lambda update, rank: examples(update, list(sizes)))
    arguments = training_arguments(folder, "fp32", 0, 1, weight_decay=decay, max_grad_norm=0.0)
    return LineTrainer(Line(), arguments, share_of, seed=1, **named)


def test_an_epoch_shows_every_example_once():
    seen = np.concatenate([examples_of(update, 4, 10, seed=1) for update in range(5)])
    assert sorted(seen[:10]) == sorted(seen[10:]) == list(range(10))
    assert seen[:10].tolist() != seen[10:].tolist()


def test_matrices_decay_whatever_their_name_and_nothing_else_does(tmp_path):
    trainer = trainer_of(tmp_path, decay=0.5)
    trainer.create_optimizer()
    decayed, others = trainer.optimizer.param_groups
    assert (decayed["weight_decay"], others["weight_decay"]) == (0.5, 0.0)
    assert [id(one) for one in decayed["params"]] == [id(trainer.model.roberta_prelayernorm.weight)]
    assert len(others["params"]) == 3


def test_micro_batches_of_any_sizes_are_one_update(tmp_path):
    """The mean is over the examples of the update, not over the means of its micro-batches."""
    trainers = [trainer_of(tmp_path / str(n), sizes) for n, sizes in enumerate([(7,), (1, 4, 2)])]
    for trainer in trainers:
        trainer.run()
    losses = [trainer.history()["loss"] for trainer in trainers]
    x = np.linspace(0.5, 1.5, 7)
    assert losses[0][0] == pytest.approx(((0.5 * x - 2 * x) ** 2).mean())
    assert losses[0].tolist() == pytest.approx(losses[1].tolist(), rel=1e-5)


def test_every_update_of_every_process_draws_its_own_dropout(tmp_path, monkeypatch):
    seeds = []
    for rank in (0, 1):
        monkeypatch.setattr(TrainingArguments, "process_index", rank)
        trainer = trainer_of(tmp_path / str(rank), sizes=(7,))

        def summed_loss(*given, own=trainer.summed_loss):
            seeds.append(torch.initial_seed())
            return own(*given)

        monkeypatch.setattr(trainer, "summed_loss", summed_loss)
        trainer.run()
    assert len(set(seeds)) == len(seeds) == 2 * 8


def test_a_loss_that_is_not_finite_ends_the_run(tmp_path):
    def share(update, rank):
        batches, targets = examples(update, [3])
        return [{"x": batches[0]["x"] * (torch.nan if update == 2 else 1), "y": batches[0]["y"]}], 3

    with pytest.raises(UserError, match=r"^lm\.line\.learning_rate: .* nan after 2 updates"):
        trainer_of(tmp_path, how=share).run()


def killed_after(folder: Path, updates: int, **named) -> None:
    def share(update, rank):
        if update == updates:
            raise KeyboardInterrupt
        return examples(update, [1, 4, 2])

    # The loader makes an update's share while the one before is computed.
    with pytest.raises(KeyboardInterrupt):
        trainer_of(folder, how=share, checkpoint_minutes=0.0, **named).run()


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    killed_after(folder, 6)
    return folder


@pytest.mark.parametrize(
    "name", [TRAINER_STATE_NAME, "model.safetensors", "optimizer.pt", "scheduler.pt"]
)
@pytest.mark.parametrize("kept", [None, 0.9])
def test_only_whole_checkpoints_are_resumed(name, kept, killed, tmp_path):
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    damaged = tmp_path / "checkpoint-5" / name
    content = damaged.read_bytes()
    damaged.unlink() if kept is None else damaged.write_bytes(content[: int(kept * len(content))])
    assert last_checkpoint(tmp_path) == str(tmp_path / "checkpoint-4")
    assert not damaged.parent.exists()


def ticking(seconds: float):
    """A clock that moves by so much whenever it is read: that is how long an update takes."""
    return itertools.count(0.0, seconds).__next__


def test_a_budget_of_time_survives_a_restart(tmp_path):
    """The first update of each process costs nothing; the rate is that of the clock at once."""
    hours = {"schedule": BudgetSchedule(1.0, 0.0, None, seconds=10.0), "clock": ticking(2.0)}
    whole = trainer_of(tmp_path / "whole", **hours)
    whole.run()
    history = whole.history()
    assert history["seconds"].tolist() == [0, 2, 4, 6, 8, 10]
    assert history["learning_rate"].tolist() == pytest.approx([1, 1, 0.8, 0.6, 0.4, 0.2])
    killed_after(tmp_path / "part", 4, **hours | {"clock": ticking(2.0)})
    part = trainer_of(tmp_path / "part", **hours | {"clock": ticking(2.0)})
    part.run()
    assert part.history()["seconds"].tolist() == [0, 2, 4, 4, 6, 8, 10]


def test_all_processes_follow_the_clock_of_the_first(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "broadcast_object_list", lambda own: [5.0])
    trainer = trainer_of(tmp_path)
    trainer.run()
    assert trainer.rhythm.seconds == 7 * 5.0


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("CUDA error: out of memory"),
        MemoryError(),
    ],
)
def test_too_little_memory_names_the_key(error):
    with pytest.raises(UserError, match="^a key: too little memory"), memory_for("a key"):
        raise error
    with pytest.raises(RuntimeError, match="something else"), memory_for("a key"):
        raise RuntimeError("something else")


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("computes", [False, True])
def test_bf16_on_a_processor_that_emulates_it_is_warned_of(
    precision, computes, tmp_path, monkeypatch, caplog
):
    found = {"architecture": "x86_64", "avx512_bf16": computes, "amx_bf16": False}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: found, raising=False)
    training_arguments(tmp_path, precision, gpus=0, threads=1)
    assert ("bf16" in caplog.text) == (precision == "bf16" and not computes)
