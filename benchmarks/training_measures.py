"""What `training.py` measures: our training loops and transformers' own, a block each in turn.

Both loops run in one process, each with a model and an optimiser of its own that start from the
same weights and see the same rows in the same order. transformers' `Trainer` is started once; after
every block of updates its callback hands over to our loop for a block, and goes on. So whatever
else the machine does falls on both, and neither pays for a start that the other does not.
"""

from __future__ import annotations

import copy
import functools
import importlib.util
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.utils.data import Dataset, SequentialSampler
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    DataCollatorWithPadding,
    PreTrainedModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from sagevocab.data.construct import construct
from sagevocab.data.corpus import read_lines, write_lines
from sagevocab.data.datasets import read_rows
from sagevocab.data.extract import ExtractionSettings, extract_lines
from sagevocab.errors import UserError
from sagevocab.lm import finetune, pretrain
from sagevocab.lm.encoder import load_encoder
from sagevocab.lm.finetune import FinetuneSettings, Finetuning
from sagevocab.lm.masking import masked_per_row
from sagevocab.lm.model import build_model
from sagevocab.lm.pretrain import Pretraining
from sagevocab.lm.settings import PretrainSettings
from sagevocab.lm.shards import Shard, build_shards
from sagevocab.lm.tasks import Examples, Task, encode_texts
from sagevocab.lm.throughput import flops_per_update, peak_flops
from sagevocab.lm.training import Device, Learner, choose_device, examples_of, make_optimizer
from sagevocab.vocab.bpe import TrainingSettings, pieces_of_model, read_model, train_bpe
from sagevocab.vocab.export import Card, WordSettings, export_greedy

SAMPLE = "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
SEED = 1
PRODUCTS = 20
RATE = 1e-4  # of every update: what it is does not change what an update costs
TASK = Task("sst2", "sequence", "accuracy", (0, 1))


@dataclass(frozen=True)
class Plan:
    """How a comparison runs: blocks of `updates`, `rounds` of them each, `warm_up` updates before.

    workers: of the Trainer's data loader.
    """

    updates: int
    rounds: int
    warm_up: int
    workers: int

    def total(self) -> int:
        """Return the updates that each loop does."""
        return self.warm_up + self.updates * self.rounds


@dataclass(frozen=True)
class Block:
    """What a block of updates took: seconds by the clock, of the processor, of waiting for data."""

    seconds: float
    processor: float
    waiting: float


@dataclass(frozen=True)
class Comparison:
    """Blocks of both loops, the i-th of one beside the i-th of the other.

    Attributes:
        what: "pretraining" or "fine-tuning".
        unit: what `size` counts, "tokens" or "examples".
        size: of them in a block.
        peer, ours: the blocks.
        losses: mean over all updates of the peer and of ours.
        operations: floating-point operations of a block, the peer's and ours; None if not counted.
        peak: the most operations a second that the device can do, on the CPU a second of the
            processor's time; None if it is not known.
        model: what was trained, in words.
    """

    what: str
    unit: str
    size: int
    peer: list[Block]
    ours: list[Block]
    losses: tuple[float, float]
    operations: tuple[float, float] | None
    peak: float | None
    model: str


# --- data


def prepare(folder: Path, text: Path | None, vocabulary: int, sequence_length: int) -> None:
    """Fill the folder with lines, a BPE vocabulary and shards; what is there already stays.

    Raises:
        UserError: there is no text, or too little for a vocabulary of this size.
    """
    lines = folder / "lines.txt.zst"
    if not lines.exists():
        _write_lines(lines, text)
    words = folder / f"bpe-{vocabulary}"
    if not (words / "tokenizer.json").exists():
        model = folder / f"bpe-{vocabulary}.model"
        train_bpe(lines, vocabulary, model, TrainingSettings(), "--vocabulary")
        card = Card("en", "English", "BPE")
        export_greedy(words, pieces_of_model(read_model(model)), WordSettings(), card)
    shards = _shards(folder, vocabulary, sequence_length)
    if not (shards / "index.json").exists():
        heldout = folder / "heldout.txt.zst"
        write_lines(heldout, [])
        build_shards(lines, heldout, words, shards, sequence_length=sequence_length)


def _shards(folder: Path, vocabulary: int, sequence_length: int) -> Path:
    return folder / f"shards-{vocabulary}-{sequence_length}"


def _write_lines(output: Path, text: Path | None) -> None:
    if text is None:
        settings = ExtractionSettings(language="en")
        extract_lines([_sample()], output, {"format": "mediawiki", "key": "--data"}, settings)
        return
    files = sorted(path for path in text.iterdir() if path.is_file()) if text.is_dir() else [text]
    write_lines(output, (line for file in files for line in read_lines(file) if line.strip()))


def _sample() -> Path:
    found = importlib.util.find_spec("gensim")
    if found is None:
        raise UserError("--data: is not given, and gensim, whose sample is the default, is missing")
    return Path(found.submodule_search_locations[0]) / SAMPLE


def task_rows(path: Path | None, count: int) -> pd.DataFrame:
    """Return rows of a sentence task (columns text, label): of a file, or constructed as CoLA's.

    Raises:
        UserError: the file has no such columns.
    """
    rows = construct("cola", "train", count, SEED) if path is None else read_rows(path)
    rows = rows.rename(columns={"sentence": "text"})
    if not {"text", "label"} <= set(rows):
        raise UserError(f"{path}: has no columns `sentence` and `label`; give rows like SST-2's")
    return rows


# --- the two loops in turn


@dataclass
class Watch:
    """Times blocks; `waited` grows while a loop waits for data."""

    device: torch.device
    waited: float = 0.0
    _began: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def start(self) -> None:
        """Begin a block."""
        self._began = self._now()

    def stop(self) -> Block:
        """End the block."""
        return Block(*(now - began for now, began in zip(self._now(), self._began, strict=True)))

    def _now(self) -> tuple[float, float, float]:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter(), time.process_time(), self.waited

    def waiting(self, function: Callable) -> Callable:
        """Return `function` with its time counted as waiting."""

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.waited += time.perf_counter() - began

        return timed


class PairedTrainer(Trainer):
    """transformers' loop on rows in the order given; its waiting for data is timed."""

    def __init__(self, watch: Watch, **arguments: Any) -> None:
        """Take the watch to count the waiting with."""
        super().__init__(**arguments)
        self.get_batch_samples = watch.waiting(self.get_batch_samples)

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> SequentialSampler:
        return SequentialSampler(self.train_dataset if train_dataset is None else train_dataset)


@dataclass
class HandOver(TrainerCallback):
    """After every block of the Trainer's, a block of ours.

    ours: does so many updates, and adds to its watch what it waited for data.
    """

    plan: Plan
    ours: Callable[[int], None]
    watches: tuple[Watch, Watch]
    blocks: tuple[list[Block], list[Block]] = field(default_factory=lambda: ([], []))

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Hand over if a block has ended."""
        done = state.global_step - self.plan.warm_up
        if done < 0 or done % self.plan.updates:
            return
        peer, ours = self.watches
        if done == 0:
            self.ours(self.plan.warm_up)
        else:
            self.blocks[0].append(peer.stop())
            ours.start()
            self.ours(self.plan.updates)
            self.blocks[1].append(ours.stop())
        peer.start()


def alternate(
    plan: Plan,
    device: Device,
    ours: Callable[[Watch], Callable[[int], None]],
    *,
    compiled: bool,
    batch: int,
    accumulation: int,
    optimiser: dict[str, float],
    **trainer: Any,
) -> tuple[list[Block], list[Block], float]:
    """Run both loops; return the Trainer's blocks, ours, and the Trainer's mean loss."""
    watches = Watch(device.device), Watch(device.device)
    hand_over = HandOver(plan, ours(watches[1]), watches)
    with TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=plan.total(),
            per_device_train_batch_size=batch,
            gradient_accumulation_steps=accumulation,
            learning_rate=RATE,
            lr_scheduler_type="constant",
            optim="adamw_torch_fused",
            bf16=device.precision == "bf16",
            fp16=device.precision == "fp16",
            use_cpu=device.device.type == "cpu",
            torch_compile=compiled,
            dataloader_num_workers=plan.workers,
            dataloader_pin_memory=device.device.type == "cuda",
            remove_unused_columns=False,
            # Nothing but training: no evaluation, checkpoint or log, no look at every loss.
            eval_strategy="no",
            save_strategy="no",
            logging_strategy="no",
            logging_nan_inf_filter=False,
            report_to=[],
            disable_tqdm=True,
            seed=SEED,
            **optimiser,
        )
        arguments._n_gpu = min(arguments.n_gpu, 1)  # not several devices by threads
        peer = PairedTrainer(watches[0], args=arguments, callbacks=[hand_over], **trainer)
        peer.pop_callback(PrinterCallback)
        # The model's class takes a count of targets and ignores it: with it the Trainer would add
        # up the means of micro-batches instead of averaging them.
        peer.model_accepts_loss_kwargs = False
        loss = peer.train().training_loss
    return *hand_over.blocks, loss


# --- pretraining


class PretrainingRows(Dataset):
    """Rows of a shard as the Trainer reads them, in the order of our updates."""

    def __init__(self, shard: Shard, order: np.ndarray) -> None:
        """Take the shard and which row comes when."""
        self.rows, self.order = shard.rows, order

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.order)

    def __getitem__(self, place: int) -> torch.Tensor:
        """Return a row: of the forms that the collator takes, the fastest."""
        return torch.from_numpy(self.rows[self.order[place]].astype(np.int64))


def compare_pretraining(
    folder: Path, settings: PretrainSettings, vocabulary: int, device: Device, plan: Plan
) -> Comparison:
    """Compare masked-language-model training: ours, and the Trainer with its own collator."""
    words = folder / f"bpe-{vocabulary}"
    shards = _shards(folder, vocabulary, settings.sequence_length)
    run = _pretraining(words, shards, settings, device)
    order = np.concatenate(
        [
            examples_of(update, settings.batch, len(run.train.rows), SEED)
            for update in range(plan.total())
        ]
    )
    losses: list[float] = []
    peer, ours, peer_loss = alternate(
        plan,
        device,
        functools.partial(_our_pretraining, run, losses),
        compiled=settings.compile,
        batch=settings.micro_batch,
        accumulation=settings.batch // settings.micro_batch,
        optimiser=_optimiser(settings),
        model=copy.deepcopy(run.model),
        train_dataset=PretrainingRows(run.train, order),
        data_collator=DataCollatorForLanguageModeling(
            AutoTokenizer.from_pretrained(words), mlm_probability=settings.mask_rate, seed=SEED
        ),
    )
    run.batches.close()
    length = settings.sequence_length
    masked = masked_per_row(length, settings.mask_rate)
    rows = settings.batch * plan.updates
    return Comparison(
        what="pretraining",
        unit="tokens",
        size=rows * length,
        peer=peer,
        ours=ours,
        losses=(peer_loss, float(np.mean(losses))),
        operations=tuple(
            flops_per_update(run.model.config, rows, length, predicted)
            for predicted in (length, masked)
        ),
        peak=peak_of(device),
        model=_describe(run.model, length),
    )


def _optimiser(settings: PretrainSettings) -> dict[str, float]:
    return {
        "adam_beta1": settings.adam_beta1,
        "adam_beta2": settings.adam_beta2,
        "adam_epsilon": settings.adam_epsilon,
        "weight_decay": settings.weight_decay,
        "max_grad_norm": settings.gradient_clipping,
    }


def peak_of(device: Device) -> float | None:
    """Return the most operations a second; on the CPU a second of the processor's time.

    There it is what a product of large matrices reaches, timed as nothing else on the machine can
    disturb it.
    """
    if device.device.type == "cuda":
        return peak_flops(device.device, device.precision)
    size, times = 1024, []
    left, right = (torch.ones(size, size, dtype=device.dtype) for _ in range(2))
    for _ in range(PRODUCTS):
        began = time.process_time()
        torch.matmul(left, right)
        times.append(time.process_time() - began)
    return 2.0 * size**3 / min(times)


def _pretraining(
    words: Path, shards: Path, settings: PretrainSettings, device: Device
) -> Pretraining:
    encoder = load_encoder(words)
    train, heldout = pretrain.open_rows(shards, encoder, settings)
    return pretrain.prepare_run(settings, SEED, encoder, train, heldout, device)


def _our_pretraining(run: Pretraining, losses: list[float], watch: Watch) -> Callable[[int], None]:
    def do(updates: int) -> None:
        before = run.batches.waited
        for _ in range(updates):
            losses.append(pretrain.train_on(run, len(losses), RATE))
        watch.waited += run.batches.waited - before

    return do


def _describe(model: PreTrainedModel, length: int) -> str:
    config = model.config
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return (
        f"{config.num_hidden_layers} layers, {config.hidden_size} wide, {parameters / 1e6:.1f} M "
        f"parameters, {config.vocab_size:,} ids, rows of {length} tokens, attention "
        f"`{config._attn_implementation}`"
    )


# --- fine-tuning


class TaskRows(Dataset):
    """Encoded rows as the Trainer's scripts have them, in the order of our updates."""

    def __init__(self, examples: Examples, order: np.ndarray) -> None:
        """Take the examples and which comes when."""
        self.examples, self.order = examples, order

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.order)

    def __getitem__(self, place: int) -> dict[str, Any]:
        """Return a row as lists, which is what tokenizers give."""
        row = self.order[place]
        ids = self.examples.ids[row].tolist()
        return {
            "input_ids": ids,
            "token_type_ids": self.examples.segments[row].tolist(),
            "attention_mask": [1] * len(ids),
            "labels": int(self.examples.targets[row]),
        }


def compare_finetuning(
    folder: Path,
    architecture: PretrainSettings,
    settings: FinetuneSettings,
    vocabulary: int,
    rows: pd.DataFrame,
    device: Device,
    plan: Plan,
) -> Comparison:
    """Compare fine-tuning of a sentence task: ours, and the Trainer with padding by batch."""
    words = folder / f"bpe-{vocabulary}"
    run, examples = _finetuning(words, architecture, settings, rows, device)
    order = np.concatenate(list(_finetuning_order(settings, len(examples), plan)))
    losses: list[float] = []
    peer, ours, peer_loss = alternate(
        plan,
        device,
        functools.partial(_our_finetuning, run, examples, losses),
        compiled=False,
        batch=settings.batch,
        accumulation=settings.accumulation,
        optimiser={
            "weight_decay": settings.weight_decay,
            "max_grad_norm": settings.max_grad_norm,
        },
        model=copy.deepcopy(run.model),
        train_dataset=TaskRows(examples, order),
        data_collator=DataCollatorWithPadding(AutoTokenizer.from_pretrained(words)),
    )
    longest = max(len(ids) for ids in examples.ids)
    return Comparison(
        what="fine-tuning",
        unit="examples",
        size=settings.batch * settings.accumulation * plan.updates,
        peer=peer,
        ours=ours,
        losses=(peer_loss, float(np.mean(losses))),
        operations=None,
        peak=None,
        model=_describe(run.model, longest),
    )


def _finetuning(
    words: Path,
    architecture: PretrainSettings,
    settings: FinetuneSettings,
    rows: pd.DataFrame,
    device: Device,
) -> tuple[Finetuning, Examples]:
    encoder = load_encoder(words)
    shape = {key: getattr(architecture, key) for key in pretrain.ARCHITECTURE}
    with torch.device("meta"):
        config = build_model(encoder, **shape).config
    torch.manual_seed(SEED)
    model = AutoModelForSequenceClassification.from_config(config).to(device.device)
    optimizer = make_optimizer(
        model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay
    )
    labels = rows["label"].to_numpy(np.int64)
    examples = encode_texts(rows, labels, encoder, settings.max_sequence_length)
    learner = Learner(model, optimizer, device.scaler())
    run = Finetuning(TASK, settings, SEED, encoder, [], device, model, learner)
    return run, examples


def _finetuning_order(settings: FinetuneSettings, count: int, plan: Plan) -> Iterable[np.ndarray]:
    """Yield what each update sees; updates that would see fewer rows at an epoch's end are out."""
    size = settings.batch * settings.accumulation
    if plan.total() * size > count:
        raise UserError(
            f"--task-rows: {count} rows are fewer than the {plan.total() * size} of the run; give "
            "more, or fewer --finetuning-updates"
        )
    for update in range(plan.total()):
        yield finetune.examples_in_epoch(settings, update, count, SEED)


@dataclass(frozen=True)
class WatchedExamples(Examples):
    """Examples whose padding counts as waiting."""

    watch: Watch | None = None

    def padded(self, chosen: Iterable[int], pad: int) -> dict[str, np.ndarray]:
        """Return the arrays of `chosen`, see `Examples`."""
        return self.watch.waiting(super().padded)(chosen, pad)


def _our_finetuning(
    run: Finetuning, examples: Examples, losses: list[float], watch: Watch
) -> Callable[[int], None]:
    watched = WatchedExamples(**vars(examples), watch=watch)

    def do(updates: int) -> None:
        for _ in range(updates):
            losses.append(finetune.train_on(run, watched, len(losses), RATE))

    return do


def device_of(name: str, precision: str, threads: int) -> Device:
    """Return the device called "cpu" or "cuda".

    Raises:
        UserError: it is not there.
    """
    return choose_device(int(name == "cuda"), precision, threads)
