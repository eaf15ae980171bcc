from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from lm_samples import ASKED, PIECES, TINY, make_shards, make_vocabulary
from reproduction.digests import HERE, search_path
from reproduction.lm import pretrain as module
from reproduction.lm.batches import MaskedRows
from reproduction.lm.encoder import IGNORED, load_encoder
from reproduction.lm.journal import read_sittings
from reproduction.lm.model import PADDED_TO, masked_loss, padded_output
from reproduction.lm.pretrain import pretrain
from reproduction.lm.settings import PretrainSettings
from reproduction.lm.training import Device, Progress, choose_device
from sagevocab.errors import UserError

SCRIPT = """
import json, logging, sys
logging.basicConfig(level="INFO")
from reproduction.lm.pretrain import pretrain
from reproduction.lm.settings import PretrainSettings
pretrain(*sys.argv[1:4], PretrainSettings(**json.loads(sys.argv[4])), name="x", seed=1,
         state_dir=sys.argv[5], checkpoint_updates=5)
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    make_shards(folder)
    return folder


def train(corpus: Path, output: Path, seed: int = 1, arguments=None, **overrides) -> Path:
    settings = PretrainSettings(**(TINY | overrides))
    pretrain(
        corpus / "shards",
        corpus / "vocabulary",
        output,
        settings,
        name="English/test",
        seed=seed,
        corpus="Other dump",
        **(arguments or {}),
    )
    return output


@pytest.fixture(scope="module")
def model(corpus, tmp_path_factory) -> Path:
    return train(corpus, tmp_path_factory.mktemp("model") / "en", steps=40)


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def run_of(corpus: Path, **overrides) -> module.Pretraining:
    settings = PretrainSettings(**(TINY | overrides))
    encoder, device = load_encoder(corpus / "vocabulary"), choose_device(0, "auto", 1)
    return module.prepare_run(settings, 1, encoder, corpus / "shards", device)


def batch_of(run: module.Pretraining, update: int) -> MaskedRows:
    return module.masked_batch(run.settings, run.train, run.encoder, run.seed, update)


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


def test_gpus_that_are_not_there_are_told_before_processes_start(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(UserError, match=r"^lm\.gpus: 2, but torch .*; set lm\.gpus: 0"):
        train(corpus, tmp_path / "m", arguments={"gpus": 2})


def test_it_learns_from_context(tmp_path):
    # A line is one letter many times over: only its neighbours tell which a masked one was.
    letters = random.Random(0).choices("bcdgjklm", k=200)
    make_shards(tmp_path, lines=[letter * 27 for letter in letters])
    model = train(tmp_path, tmp_path / "m", steps=150, learning_rate=1e-2, hidden=32)
    loss = pd.read_parquet(model / "training_log.parquet").loss
    assert loss[0] == pytest.approx(np.log(len(PIECES) + 5), rel=0.05)
    assert loss[-10:].mean() < 0.7 * np.log(8)


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
    assert (log[["tokens_per_second", "peak_share"]] > 0).all(axis=None)
    assert log.waiting.between(0, 1).all()


def test_held_out_lines_are_scored_at_every_validation(model):
    log = pd.read_parquet(model / "training_log.parquet")
    rows = pd.read_parquet(model / "heldout.parquet")
    assert rows.columns[0] == "step"
    for step, part in rows.groupby("step"):
        assert len(part) == ASKED.lines
        last = log[log.step == step].iloc[0]
        assert last.heldout_loss == pytest.approx(part.nats.sum() / part.pieces.sum())
    assert rows.step.unique().tolist() == [20, 40]


def test_the_card_says_what_was_done(model):
    card = (model / "README.md").read_text()
    assert "# English/test\n" in card
    assert "40 of 8 sequences of 16 tokens" in card
    assert "was trained on: Other dump." in card
    assert "| trained on | 1 x CPU in fp32, 4 sequences at once |" in card


def test_equal_seeds_give_equal_bytes_and_others_do_not(corpus, tmp_path):
    first, same = (weights(train(corpus, tmp_path / name)) for name in "ab")
    assert first == same
    assert first != weights(train(corpus, tmp_path / "c", seed=2))


def test_the_loss_is_that_of_transformers(corpus):
    run = run_of(corpus, dropout=0.0, attention_dropout=0.0)
    batch = batch_of(run, 0)
    labels = np.full(batch.inputs.shape, IGNORED)
    np.put_along_axis(labels, batch.positions, batch.labels, axis=1)
    theirs = run.model(
        input_ids=torch.from_numpy(batch.inputs),
        attention_mask=None if batch.present is None else torch.from_numpy(batch.present),
        labels=torch.from_numpy(labels),
    ).loss.item()
    assert module.train_on(run, 0, 1e-3) == pytest.approx(theirs, rel=1e-6)


def test_micro_batches_change_nothing_but_memory(corpus):
    runs = [run_of(corpus, micro_batch=size, dropout=0.0, attention_dropout=0.0) for size in (8, 2)]
    losses = [[module.train_on(run, update, 1e-3) for update in range(4)] for run in runs]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_validation_is_repeatable_and_without_dropout(corpus):
    run, progress = run_of(corpus, validation_batch=3), Progress()
    first = module.validate(run, progress)
    assert module.validate(run, progress) == first
    other = module.validate(run_of(corpus, validation_batch=16), progress)
    assert other == pytest.approx(first, rel=1e-5)


def test_a_killed_run_resumes_to_the_same_bytes(corpus, tmp_path):
    settings = TINY | {"steps": 120, "checkpoint_minutes": 1e9}
    output, state = tmp_path / "killed", tmp_path / "state"
    command = [sys.executable, "-c", SCRIPT, corpus / "shards", corpus / "vocabulary", output]
    search = os.pathsep.join(path for path in sys.path if path)
    child = subprocess.Popen(
        [*map(str, command), json.dumps(settings), str(state)],
        env=os.environ | {"PYTHONPATH": search},
    )
    deadline = time.monotonic() + 600
    while not list(state.glob("update-*")) and child.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    done = max(int(path.stem.removeprefix("update-")) for path in state.glob("update-*"))
    assert 5 <= done < 120
    assert not output.exists()

    resumed = train(corpus, output, arguments={"state_dir": state}, **settings)
    unbroken = train(corpus, tmp_path / "unbroken", **settings)
    assert weights(resumed) == weights(unbroken)
    logs = [pd.read_parquet(path / "training_log.parquet") for path in (resumed, unbroken)]
    for column in ("step", "loss", "learning_rate", "heldout_loss"):
        pd.testing.assert_series_equal(logs[0][column], logs[1][column], check_exact=True)
    assert logs[0].seconds.is_monotonic_increasing
    assert not state.exists()


def test_a_checkpoint_of_other_settings_is_neither_resumed_nor_lost(
    corpus, tmp_path, caplog, monkeypatch
):
    state = tmp_path / "state"
    monkeypatch.setattr(module, "save_model", Mock(side_effect=KeyboardInterrupt))
    arguments = {"state_dir": state, "checkpoint_updates": 2}
    with pytest.raises(KeyboardInterrupt):
        train(corpus, tmp_path / "m", arguments=arguments)
    assert list(state.glob("update-*"))
    monkeypatch.undo()
    caplog.set_level("INFO")
    with pytest.raises(UserError, match="of a training with other lm.pretrain.learning_rate;"):
        train(corpus, tmp_path / "m", arguments=arguments, learning_rate=1e-4)
    assert "resuming" not in caplog.text
    with pytest.raises(UserError, match="of a training with other lm.pretrain.precision;"):
        train(corpus, tmp_path / "m", arguments=arguments, precision="bf16")
    free = {"micro_batch": 2, "checkpoint_minutes": 1.0, "precision": "fp32"}  # what auto was
    model = train(corpus, tmp_path / "m", arguments=arguments, **free)
    assert "resuming after" in caplog.text
    sittings = read_sittings(model / "training_log.parquet")
    assert [(s["sitting"], s["first_step"], s["micro_batch"]) for s in sittings] == [(1, 1, 4)]


def test_a_run_resumes_after_an_edit_of_the_code(corpus, tmp_path, monkeypatch):
    state, scripts = tmp_path / "state", tmp_path / "scripts"
    monkeypatch.setattr(module, "save_model", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        train(corpus, tmp_path / "m", arguments={"state_dir": state, "checkpoint_updates": 5})
    shutil.copytree(HERE, scripts / HERE.name)
    for path in (scripts / HERE.name / "lm").glob("*.py"):
        path.write_text(f"{path.read_text()}# edited\n")
    files = corpus / "shards", corpus / "vocabulary", tmp_path / "m"
    resumed = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, files), json.dumps(TINY), str(state)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(scripts), *search_path()])},
        capture_output=True,
        text=True,
    )
    assert "resuming after 5 updates" in resumed.stderr


def test_a_budget_in_hours_ends_in_time_and_is_replayed_from_its_log(corpus, tmp_path):
    timed = train(corpus, tmp_path / "timed", steps=None, hours=0.0001, validation_every=1.0)
    log = pd.read_parquet(timed / "training_log.parquet")
    assert 0.36 <= log.seconds.iloc[-1] < 2
    peak = int(log.learning_rate.argmax())
    assert log.learning_rate[: peak + 1].is_monotonic_increasing
    assert log.learning_rate[peak:].is_monotonic_decreasing
    assert log.learning_rate.max() <= TINY["learning_rate"]
    replay = str(timed / "training_log.parquet")
    again = train(corpus, tmp_path / "again", replay=replay, steps=None, hours=0.0001)
    assert weights(again) == weights(timed)


@pytest.mark.parametrize("content", [None, b"not a table"])
def test_a_log_that_can_not_be_replayed_names_the_key(content, corpus, tmp_path):
    path = tmp_path / "log.parquet"
    if content:
        path.write_bytes(content)
    with pytest.raises(UserError, match=r"^lm\.pretrain\.replay: .*log\.parquet: no ") as error:
        train(corpus, tmp_path / "m", replay=str(path))
    assert "\n" not in str(error.value)


def test_batches_made_ahead_are_those_of_their_update(corpus):
    run = run_of(corpus)
    for update in (0, 1, 2, 7, 0):
        parts = run.batches.take(update).parts
        expected = batch_of(run, update)
        assert torch.cat([part.inputs for part in parts]).tolist() == expected.inputs.tolist()
        assert torch.cat([part.labels for part in parts]).tolist() == expected.labels.tolist()
    assert run.batches.waited > 0
    run.batches.close()


def test_a_budget_in_tokens_is_whole_updates(corpus, tmp_path):
    # An update is 8 rows of 16 tokens.
    model = train(corpus, tmp_path / "m", steps=None, tokens=3 * 128 + 1)
    assert len(pd.read_parquet(model / "training_log.parquet")) == 4


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_trains(corpus, tmp_path, precision):
    model = train(corpus, tmp_path / "m", precision=precision)
    log = pd.read_parquet(model / "training_log.parquet")
    assert np.isfinite(log.loss).all()
    assert AutoModelForMaskedLM.from_pretrained(model).dtype == torch.float32
    assert weights(model) != weights(train(corpus, tmp_path / "n"))


def test_nothing_held_out_is_no_validation(corpus):
    run = run_of(corpus)
    held = run.heldout
    empty = dataclasses.replace(
        held, lines=held.lines[:0], ids=held.ids[:0], offsets=held.offsets[:1], asked=held.asked[:0]
    )
    progress = Progress()
    scores = module.validate(dataclasses.replace(run, heldout=empty), progress)
    assert np.isnan([*scores.values()]).all()
    assert len(progress.heldout) == 0


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"learning_rate": 1e38}, r"^lm\.pretrain\.learning_rate: the loss is (nan|inf)"),
        ({"batch": 4000}, r"train\.npy: \d+ rows are fewer than lm\.pretrain\.batch"),
        ({"sequence_length": 32}, r"rows of 16 tokens, but lm\.pretrain\.sequence_length"),
    ],
)
def test_a_setting_that_does_not_work_is_named(setting, message, corpus, tmp_path):
    with pytest.raises(UserError, match=message):
        train(corpus, tmp_path / "m", **setting)
    assert not (tmp_path / "m").exists()


def test_shards_of_another_tokenizer_are_an_error(corpus, tmp_path):
    other = make_vocabulary(tmp_path / "other", PIECES[:-1])
    with pytest.raises(UserError, match="made with another tokenizer"):
        pretrain(
            corpus / "shards", other, tmp_path / "m", PretrainSettings(**TINY), name="x", seed=1
        )


def test_no_compiler_is_an_error(corpus, monkeypatch):
    monkeypatch.setattr("torch._inductor.config.cpp.cxx", (None, "/no/such/compiler"))
    run = run_of(corpus, compile=True)
    with pytest.raises(UserError, match=r"^lm\.pretrain\.compile: .*compiler.*; set it to false$"):
        module.train_on(run, 0, 1e-3)
    run.batches.close()


GPU = Device(torch.device("cuda"), "bf16")


@pytest.mark.parametrize(("room", "chosen"), [(0, 1), (1, 1), (5, 4), (7, 6), (99, 12)])
def test_auto_is_the_largest_divisor_that_fits_the_gpu(room, chosen, corpus, monkeypatch):
    run = dataclasses.replace(run_of(corpus, batch=12, micro_batch="auto"), device=GPU)
    monkeypatch.setattr(module, "_fits", lambda run, rows: rows <= room)
    assert module._micro_batch(run) == chosen


def test_auto_is_32_at_most_on_a_cpu(corpus):
    assert [run_of(corpus, batch=n, micro_batch="auto").micro_batch for n in (8, 64, 66)] == [
        8, 32, 22
    ]  # fmt: skip


def test_a_trial_of_memory_leaves_no_trace(corpus, monkeypatch):
    def loss_of(model, inputs, *others):
        if len(inputs) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return masked_loss(model, inputs, *others)

    monkeypatch.setattr(module, "_reserve", lambda device: torch.empty(1))
    tried, untouched = run_of(corpus), run_of(corpus)
    monkeypatch.setattr(module, "masked_loss", loss_of)
    assert [module._fits(tried, rows) for rows in (2, 3, 4, 8)] == [True, True, False, False]
    assert all(weight.grad is None for weight in tried.model.parameters())
    monkeypatch.undo()
    losses = [[module.train_on(run, n, 1e-3) for n in range(3)] for run in (tried, untouched)]
    assert losses[0] == losses[1]


def test_a_trial_does_not_hide_other_errors(corpus, monkeypatch):
    monkeypatch.setattr(module, "_reserve", Mock(side_effect=RuntimeError("something else")))
    with pytest.raises(RuntimeError, match="something else"):
        module._fits(run_of(corpus), 1)


@pytest.mark.parametrize("capability", [(7, 5), (6, 1)])
@pytest.mark.parametrize(("triton", "headers"), [(True, True), (True, False), (False, True)])
def test_auto_compiles_where_triton_can(capability, triton, headers, monkeypatch, tmp_path):
    if headers:
        (tmp_path / "Python.h").touch()
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr("reproduction.lm.training.find_spec", lambda name: triton or None)
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/cc")
    assert GPU.can_compile() == (triton and headers and capability >= (7, 0))
    assert not Device(torch.device("cpu")).can_compile()


def test_a_padded_product_gives_the_same_logits_and_gradients(corpus):
    run = run_of(corpus)
    assert run.encoder.size % PADDED_TO
    states = torch.randn(5, run.settings.hidden)
    found = []
    for output in (run.model.lm_head, lambda states: padded_output(run.model, states)):
        run.gradients.clear()
        logits = output(states)
        logits.square().sum().backward()
        found.append([logits, *(weight.grad for weight in run.model.lm_head.parameters())])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_weights_are_cast_once_an_update(corpus, monkeypatch):
    device = Device(torch.device("cpu"), "bf16")
    run = dataclasses.replace(run_of(corpus, batch=12, micro_batch=3), device=device)
    batch, casts = run.batches.take(0), []
    for _ in range(2):
        with torch.profiler.profile() as profile:
            module._add_gradients(run, batch)
        casts += [event.count for event in profile.key_averages() if event.key == "aten::_to_copy"]
        monkeypatch.setattr(Device, "update", lambda device: contextlib.nullcontext())
    saved, rest = divmod(casts[1] - casts[0], len(batch.parts) - 1)
    linear = [part for part in run.model.modules() if isinstance(part, torch.nn.Linear)]
    assert (saved, rest) == (2 * len(linear), 0)  # weight and bias


def test_too_little_memory_names_the_key(corpus):
    full = Mock(side_effect=torch.OutOfMemoryError("CUDA out of memory"))
    run = dataclasses.replace(run_of(corpus), loss_of=full)
    with pytest.raises(UserError, match=r"^lm\.pretrain\.micro_batch: too little memory"):
        module.train_on(run, 0, 1e-3)


def test_the_papers_settings_are_the_defaults():
    settings = PretrainSettings(hours=24)
    model = {"layers": 24, "hidden": 1024, "heads": 16, "intermediate": 4096}
    update = {"batch": 4032, "micro_batch": "auto", "learning_rate": 1e-3, "warmup": 0.06}
    adam = {"adam_beta1": 0.9, "adam_beta2": 0.98, "adam_epsilon": 1e-6, "weight_decay": 0.01}
    assert (model | update | adam).items() <= dataclasses.asdict(settings).items()
    assert settings.gradient_clipping == 0.0
