from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from reproduction.lm.training import (
    Checkpoints,
    Clock,
    Device,
    Learner,
    Progress,
    choose_device,
    examples_of,
    make_optimizer,
    memory_for,
    seed_torch,
)
from sagevocab.errors import UserError
from sagevocab.state import ResumableState


def small_model() -> torch.nn.Module:
    seed_torch(3)
    return torch.nn.Sequential(
        torch.nn.Embedding(5, 4), torch.nn.Linear(4, 3), torch.nn.LayerNorm(3)
    )


def learner_of(model, rate: float = 0.01, decay: float = 0.1, precision: str = "fp32") -> Learner:
    optimizer = make_optimizer(model, learning_rate=rate, weight_decay=decay)
    return Learner(model, optimizer, Device(torch.device("cpu"), precision).scaler())


def step(learner: Learner) -> None:
    learner.optimizer.zero_grad()
    learner.backward(learner.model(torch.tensor([0, 1, 2, 3, 4])).pow(2).sum())
    learner.apply(0.01, 0.0)


def test_an_epoch_shows_every_example_once():
    seen = np.concatenate([examples_of(update, 4, 10, seed=1) for update in range(5)])
    assert sorted(seen[:10]) == sorted(seen[10:]) == list(range(10))
    assert seen[:10].tolist() != seen[10:].tolist()


def test_a_batch_may_be_larger_than_an_epoch():
    batch = examples_of(1, 25, 10, seed=1)
    assert len(batch) == 25
    assert sorted(batch[5:15]) == list(range(10))


def test_the_order_is_that_of_the_seed():
    first, same, other = (examples_of(0, 50, 50, seed) for seed in (1, 1, 2))
    assert first.tolist() == same.tolist() != other.tolist()


def test_matrices_decay_and_nothing_else_does():
    model = small_model()
    learner = learner_of(model, 0.1, 0.5)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    learner.apply(0.1, 0.0)
    decayed = {name for name, value in model.named_parameters() if not value.equal(before[name])}
    assert decayed == {"0.weight", "1.weight"}
    assert model[1].weight.detach().numpy() == pytest.approx(before["1.weight"].numpy() * 0.95)


def test_gradients_are_clipped_to_the_norm():
    model = torch.nn.Linear(2, 1, bias=False)
    learner = learner_of(model, 1.0, 0.0)
    model.weight.grad = torch.tensor([[3.0, 4.0]])
    learner.apply(1.0, 1.0)
    assert model.weight.grad.norm().item() == pytest.approx(1.0, rel=1e-4)


def saved(tmp_path, updates: int, precision: str = "fp32") -> Learner:
    learner = learner_of(small_model(), precision=precision)
    checkpoints = Checkpoints(ResumableState(tmp_path, "mine"), learner)
    progress = Progress()
    for update in range(1, updates + 1):
        step(learner)
        progress.updates, progress.seconds = update, update * 2.0
        progress.record(loss=1.0 / update)
        checkpoints.save(progress)
    return learner


def restored(folder, mark: str = "mine", precision: str = "fp32") -> tuple[Learner, Progress]:
    learner = learner_of(small_model(), precision=precision)
    return learner, Checkpoints(ResumableState(folder, mark), learner).restore()


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_a_restored_run_goes_on_with_the_same_bits(tmp_path, precision):
    saved(tmp_path, 3, precision)
    learner, progress = restored(tmp_path, precision=precision)
    assert (progress.updates, progress.seconds) == (3, 6.0)
    assert progress.log == {"loss": [1.0, 0.5, 1 / 3]}
    step(learner)
    unbroken = saved(tmp_path / "other", 4, precision)
    both = zip(learner.model.parameters(), unbroken.model.parameters(), strict=True)
    assert all(ours.equal(theirs) for ours, theirs in both)
    assert learner.scaler.state_dict() == unbroken.scaler.state_dict()


def test_an_update_that_overflows_is_left_out_and_its_scale_is_kept(tmp_path):
    learner = learner_of(small_model(), precision="fp16")
    scale = learner.scaler.get_scale()
    before = [value.detach().clone() for value in learner.model.parameters()]
    learner.backward(torch.stack([value.sum() for value in learner.model.parameters()]).sum())
    next(learner.model.parameters()).grad[0, 0] = torch.inf
    learner.apply(0.01, 1.0)
    assert all(map(torch.equal, before, learner.model.parameters()))
    assert learner.scaler.get_scale() == scale / 2
    Checkpoints(ResumableState(tmp_path, "mine"), learner).save(Progress(updates=1))
    assert restored(tmp_path, precision="fp16")[0].scaler.get_scale() == scale / 2


def test_fp16_that_learns_nothing_stops_in_one_line(tmp_path):
    learner = learner_of(small_model(), precision="fp16")
    with pytest.raises(
        UserError,
        match=r"^lm\.pretrain\.precision, lm\.causal\.precision: fp16 learns nothing: .* 27 upd",
    ):
        for update in range(40):
            learner.backward(next(learner.model.parameters()).sum() * torch.inf)
            learner.apply(0.01, 1.0)
            assert learner.scaling() == {"loss_scale": 2.0 ** (15 - update), "skipped": update + 1}
    learner.require_change(28)
    with pytest.raises(UserError, match="fp16 learns nothing"):
        learner.require_change(27)
    assert learner_of(small_model()).scaling() == {}
    Checkpoints(ResumableState(tmp_path, "mine"), learner).save(Progress(updates=1))
    assert restored(tmp_path, precision="fp16")[0].skipped == 27


def test_every_sitting_is_kept(tmp_path):
    progress, device = Progress(), Device(torch.device("cpu"))
    for updates in (0, 7):
        progress.updates = updates
        progress.sit_down(device, cards=1)
        Checkpoints(ResumableState(tmp_path, "mine"), learner_of(small_model())).save(progress)
        progress = restored(tmp_path)[1]
    place = {"card": "CPU", "precision": "fp32", "cards": 1}
    assert progress.sittings == [
        {"sitting": 1, "first_step": 1} | place,
        {"sitting": 2, "first_step": 8} | place,
    ]


def files(folder) -> list[str]:
    return sorted(path.name for path in folder.glob("*update-*"))


def flipped(data: bytes) -> bytes:
    """Change a bit in the middle, where the weights are."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize("damage", [lambda data: data[:-50], flipped])
def test_the_last_two_are_kept_and_a_damaged_one_is_passed_over(tmp_path, damage):
    saved(tmp_path, 4)
    assert files(tmp_path) == ["update-000000003.pt", "update-000000004.pt"]
    path = tmp_path / "update-000000004.pt"
    path.write_bytes(damage(path.read_bytes()))
    assert restored(tmp_path)[1].updates == 3


def test_damaged_and_half_written_checkpoints_do_not_push_good_ones_out(tmp_path):
    saved(tmp_path, 4)
    (tmp_path / ".update-000000009.1.partial.pt").write_text("half")
    for path in tmp_path.glob("update-*"):
        path.write_text("{")
    checkpoints = Checkpoints(ResumableState(tmp_path, "mine"), learner_of(small_model()))
    assert checkpoints.restore().updates == 0
    checkpoints.save(Progress(updates=2))
    assert files(tmp_path) == ["update-000000002.pt"]
    assert restored(tmp_path)[1].updates == 2


def test_checkpoints_of_another_run_are_not_resumed(tmp_path):
    saved(tmp_path, 2)
    assert restored(tmp_path, "another")[1].updates == 0
    assert not list(tmp_path.glob("update-*"))


def test_scores_of_held_out_lines_are_kept(tmp_path):
    progress = Progress(updates=3)
    for _ in range(2):
        progress.validated(pd.DataFrame({"line": [4, 7], "nats": [0.5, 1.5]}))
        progress.updates += 2
    Checkpoints(ResumableState(tmp_path, "mine"), learner_of(small_model())).save(progress)
    found = restored(tmp_path)[1].heldout
    pd.testing.assert_frame_equal(found, progress.heldout)
    assert found.step.tolist() == [3, 3, 5, 5]


class Unpleasant:
    def __reduce__(self):
        return print, ("code of the checkpoint ran",)


def test_no_code_of_a_checkpoint_runs(tmp_path, capsys):
    saved(tmp_path, 1)
    torch.save({"updates": Unpleasant()}, tmp_path / "update-000000001.pt")
    assert restored(tmp_path)[1].updates == 0
    assert "ran" not in capsys.readouterr().out


def test_checkpoints_are_due_by_count_and_by_time(tmp_path):
    learner = learner_of(small_model())
    step(learner)
    counted = Checkpoints(ResumableState(tmp_path / "counted", "mine"), learner, updates=2)
    timed = Checkpoints(ResumableState(tmp_path / "timed", "mine"), learner, seconds=0.0)
    clock = Clock(0.0)
    for update in (1, 2, 3):
        for checkpoints in (counted, timed):
            checkpoints.save_if_due(clock, Progress(updates=update))
    assert [path.stem[-1] for path in (tmp_path / "counted").glob("update-*")] == ["2"]
    assert len(list((tmp_path / "timed").glob("update-*"))) == 2


@pytest.mark.parametrize(
    ("native", "capability", "precision"),
    [
        (True, (9, 0), "bf16"),
        (False, (7, 5), "fp16"),  # the paper's Quadro RTX 8000
        (False, (6, 1), "fp32"),
    ],
)
def test_auto_is_the_fastest_precision_of_the_gpu(native, capability, precision, monkeypatch):
    def is_supported(including_emulation: bool = True) -> bool:
        return native or including_emulation

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", is_supported)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    device = choose_device(2, "auto", 1, local_rank=1)
    assert device.precision == precision
    assert str(device.device) == "cuda:1"
    for asked in ("bf16", "fp16", "fp32"):
        assert choose_device(1, asked, 1).precision == asked
    assert choose_device(0, "auto", 1).precision == "fp32"


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


def test_another_error_stays_what_it_is():
    with pytest.raises(RuntimeError, match="something else"), memory_for("a key"):
        raise RuntimeError("something else")
