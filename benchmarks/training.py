"""Our training loops beside transformers' own, as one table.

    python benchmarks/training.py                              # a GPU if there is one, or the CPU
    python benchmarks/training.py --device cuda --size paper   # the paper's model on a GPU
    python benchmarks/training.py --device cuda --size paper --compile --micro-batch 252

Pretraining runs beside `Trainer` with `DataCollatorForLanguageModeling`, fine-tuning beside
`Trainer` with `DataCollatorWithPadding`: the same first weights, rows, order, device, precision,
attention, compilation, batch, accumulation and optimiser, each loop with a model of its own, in one
process. After every block of the Trainer's updates its callback hands over to our loop for a block,
so whatever else the machine does slows both. The table is printed and written.
"""

from __future__ import annotations

import argparse
import copy
import importlib.metadata
import importlib.util
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
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

from sagevocab.data.corpus import read_lines, write_lines
from sagevocab.data.extract import ExtractionSettings, extract_lines
from sagevocab.errors import UserError
from sagevocab.lm import finetune, pretrain
from sagevocab.lm.batches import masked_per_row
from sagevocab.lm.encoder import load_encoder
from sagevocab.lm.finetune import FinetuneSettings, Finetuning
from sagevocab.lm.journal import flops_per_update, peak_flops
from sagevocab.lm.model import build_model
from sagevocab.lm.settings import PretrainSettings
from sagevocab.lm.shards import build_shards
from sagevocab.lm.tasks import Examples, Task, encode_texts
from sagevocab.lm.training import Device, Learner, choose_device, examples_of, make_optimizer
from sagevocab.state import file_digest, write_text
from sagevocab.vocab.bpe import TrainingSettings, pieces_of_model, read_model, train_bpe
from sagevocab.vocab.export import Card, WordSettings, export_greedy

# Per size: the model, and the updates of a block (pretraining, fine-tuning).
SIZES: dict[str, dict[str, int]] = {
    "demo": {
        "layers": 2, "hidden": 64, "heads": 4, "intermediate": 256, "vocabulary": 4000,
        "sequence_length": 64, "batch": 32, "micro_batch": 32,
    },
    "small": {
        "layers": 4, "hidden": 256, "heads": 4, "intermediate": 1024, "vocabulary": 16_000,
        "sequence_length": 128, "batch": 64, "micro_batch": 32,
    },
    "paper": {"vocabulary": 16_000},
}  # fmt: skip
UPDATES = {"demo": (20, 40), "small": (2, 20), "paper": (1, 20)}
WARM_UP = 2
SEED = 1
RATE = 1e-4  # of every update: its value does not change what an update costs
TASK = Task("task", "sequence", "accuracy", (0, 1))
SAMPLE = "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
# Targets: times the Trainer's speed, per cent of the device's peak, per cent of time waiting.
FASTER = {"cpu": {}, "cuda": {"pretraining": 1.2}}
PEAK_SHARE, WAITING = 40.0, 2.0
PACKAGES = ("torch", "transformers", "accelerate", "tokenizers")

EXPLANATION = """\
Each ratio compares a block of the Trainer's updates with the block of ours after it: medians of the
blocks (lowest to highest). Other work on the machine slows both; the clock feels it more than the
processor's time does.

Both loops have the same model class of transformers, the same first weights, the same rows in the
same order, device, precision, attention, compilation, batch, micro-batch, accumulation, fused AdamW
and learning rate. The Trainer neither evaluates nor saves nor logs. It reads the rows from the same
memory map, in the form that its collator takes fastest (`--workers`). What is compared:

- we compute the output layer, as wide as the vocabulary, at the masked positions only, 15 % of all;
  transformers' model computes it at every position. This is most of the gain where the vocabulary
  is large beside the model, and little at the paper's size (1.05 times fewer operations);
- we mask the same number of tokens in each row, for a whole update at once and in a thread beside
  the training; the collator masks each token with a probability of 15 %, a micro-batch at a time;
- we do less bookkeeping between micro-batches.

Operations are those of the matrix products (`flops_per_update` in `sagevocab/lm/journal.py`): ours
with the output layer at masked positions, the Trainer's at all. The losses show that both learn the
same; masks and dropout differ.
"""


@dataclass(frozen=True)
class Plan:
    """Blocks of `updates`, `rounds` of them for each loop; `workers` of the Trainer's loader."""

    updates: int
    rounds: int
    workers: int

    def total(self) -> int:
        """Return the updates that each loop does."""
        return WARM_UP + self.updates * self.rounds


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
        size: tokens or examples of a block.
        peer, ours: the blocks.
        losses: mean over all updates of the peer and of ours.
        operations: floating-point operations of a block, the peer's and ours; None if not counted.
        peak: the most operations that the device can do per second; None if unknown.
        model: what was trained, in words.
    """

    what: str
    size: int
    peer: list[Block]
    ours: list[Block]
    losses: tuple[float, float]
    operations: tuple[float, float] | None
    peak: float | None
    model: str


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

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.waited += time.perf_counter() - began

        return timed


class PairedTrainer(Trainer):
    """transformers' loop on rows in the order given."""

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> SequentialSampler:
        return SequentialSampler(self.train_dataset if train_dataset is None else train_dataset)


@dataclass
class HandOver(TrainerCallback):
    """After every block of the Trainer's, a block of `ours`, which does so many updates."""

    plan: Plan
    ours: Callable[[int], None]
    watches: tuple[Watch, Watch]
    blocks: tuple[list[Block], list[Block]] = field(default_factory=lambda: ([], []))

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Hand over if a block has ended."""
        done = state.global_step - WARM_UP
        if done < 0 or done % self.plan.updates:
            return
        peer, ours = self.watches
        if done == 0:
            self.ours(WARM_UP)
        else:
            self.blocks[0].append(peer.stop())
            ours.start()
            self.ours(self.plan.updates)
            self.blocks[1].append(ours.stop())
        peer.start()


def alternate(
    plan: Plan,
    device: Device,
    watches: tuple[Watch, Watch],
    ours: Callable[[int], None],
    options: dict[str, Any],
    **trainer: Any,
) -> tuple[list[Block], list[Block], float]:
    """Run both loops; return the Trainer's blocks, ours, and the Trainer's mean loss."""
    hand_over = HandOver(plan, ours, watches)
    with TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=plan.total(),
            learning_rate=RATE,
            lr_scheduler_type="constant",
            optim="adamw_torch_fused",
            bf16=device.precision == "bf16",
            fp16=device.precision == "fp16",
            use_cpu=device.device.type == "cpu",
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
            **options,
        )
        arguments._n_gpu = min(arguments.n_gpu, 1)  # not several devices by threads
        peer = PairedTrainer(args=arguments, callbacks=[hand_over], **trainer)
        peer.pop_callback(PrinterCallback)
        peer.get_batch_samples = watches[0].waiting(peer.get_batch_samples)
        # The model's class takes a count of targets and ignores it: with it the Trainer would add
        # up the means of micro-batches instead of averaging them.
        peer.model_accepts_loss_kwargs = False
        loss = peer.train().training_loss
    return *hand_over.blocks, loss


@dataclass(frozen=True)
class Ordered(Dataset):
    """Rows of the Trainer in the order of our updates; `row` makes one from its number."""

    order: np.ndarray
    row: Callable[[int], Any]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.order)

    def __getitem__(self, place: int) -> Any:
        """Return a row."""
        return self.row(self.order[place])


def compare_pretraining(
    folder: Path, settings: PretrainSettings, device: Device, plan: Plan
) -> Comparison:
    """Compare masked-language-model training: ours, and the Trainer with its own collator."""
    words, length = folder / "vocabulary", settings.sequence_length
    run = pretrain.prepare_run(settings, SEED, load_encoder(words), folder / "shards", device)
    rows, batch = run.train.rows, settings.batch
    chosen = [examples_of(update, batch, len(rows), SEED) for update in range(plan.total())]
    watches, losses = (Watch(device.device), Watch(device.device)), []

    def ours(updates: int) -> None:
        before = run.batches.waited
        for _ in range(updates):
            losses.append(pretrain.train_on(run, len(losses), RATE))
        watches[1].waited += run.batches.waited - before

    collator = DataCollatorForLanguageModeling(
        AutoTokenizer.from_pretrained(words), mlm_probability=settings.mask_rate, seed=SEED
    )
    peer, own, peer_loss = alternate(
        plan,
        device,
        watches,
        ours,
        {
            "per_device_train_batch_size": settings.micro_batch,
            "gradient_accumulation_steps": batch // settings.micro_batch,
            "torch_compile": settings.compile,
            "adam_beta1": settings.adam_beta1,
            "adam_beta2": settings.adam_beta2,
            "adam_epsilon": settings.adam_epsilon,
            "weight_decay": settings.weight_decay,
            "max_grad_norm": settings.gradient_clipping,
        },
        model=copy.deepcopy(run.model),
        train_dataset=Ordered(
            np.concatenate(chosen), lambda row: torch.from_numpy(rows[row].astype(np.int64))
        ),
        data_collator=collator,
    )
    run.batches.close()
    count, masked = batch * plan.updates, masked_per_row(length, settings.mask_rate)
    operations = tuple(
        flops_per_update(run.model.config, count, length, predicted)
        for predicted in (length, masked)
    )
    peak = peak_flops(device.device, device.precision)
    mean_losses = (peer_loss, float(np.mean(losses)))
    model = describe(run.model, length)
    return Comparison(
        "pretraining", count * length, peer, own, mean_losses, operations, peak, model
    )


def compare_finetuning(
    folder: Path,
    architecture: PretrainSettings,
    settings: FinetuneSettings,
    device: Device,
    plan: Plan,
) -> Comparison:
    """Compare fine-tuning of a sentence task: ours, and the Trainer with padding by batch.

    The task's texts are the corpus's first words, its labels mean nothing.
    """
    words, size = folder / "vocabulary", settings.batch * settings.accumulation
    encoder = load_encoder(words)
    texts = [" ".join(line.split()[:20]) for line in read_lines(folder / "lines.txt.zst")]
    count = size * plan.total()
    rows = pd.DataFrame({"text": (texts * (1 + count // len(texts)))[:count]})
    examples = encode_texts(rows, np.arange(count) % 2, encoder, settings.max_sequence_length)
    run = _finetuning(encoder, architecture, settings, device)
    chosen = [
        finetune.examples_in_epoch(settings, update, count, SEED) for update in range(plan.total())
    ]
    watches, losses = (Watch(device.device), Watch(device.device)), []
    examples.padded = watches[1].waiting(examples.padded)

    def ours(updates: int) -> None:
        for _ in range(updates):
            losses.append(finetune.train_on(run, examples, len(losses), RATE))

    peer, own, peer_loss = alternate(
        plan,
        device,
        watches,
        ours,
        {
            "per_device_train_batch_size": settings.batch,
            "gradient_accumulation_steps": settings.accumulation,
            "weight_decay": settings.weight_decay,
            "max_grad_norm": settings.max_grad_norm,
        },
        model=copy.deepcopy(run.model),
        train_dataset=Ordered(np.concatenate(chosen), lambda row: _as_lists(examples, row)),
        data_collator=DataCollatorWithPadding(AutoTokenizer.from_pretrained(words)),
    )
    mean_losses = (peer_loss, float(np.mean(losses)))
    model = describe(run.model, max(map(len, examples.ids)))
    return Comparison("fine-tuning", size * plan.updates, peer, own, mean_losses, None, None, model)


def _finetuning(
    encoder: Any, architecture: PretrainSettings, settings: FinetuneSettings, device: Device
) -> Finetuning:
    with torch.device("meta"):
        config = build_model(encoder, architecture).config
    torch.manual_seed(SEED)
    model = AutoModelForSequenceClassification.from_config(config).to(device.device)
    optimizer = make_optimizer(
        model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay
    )
    learner = Learner(model, optimizer, device.scaler())
    return Finetuning(TASK, settings, SEED, encoder, [], device, model, learner)


def _as_lists(examples: Examples, row: int) -> dict[str, Any]:
    ids = examples.ids[row].tolist()
    return {
        "input_ids": ids,
        "token_type_ids": examples.segments[row].tolist(),
        "attention_mask": [1] * len(ids),
        "labels": int(examples.targets[row]),
    }


def describe(model: PreTrainedModel, length: int) -> str:
    """Say what is trained."""
    config = model.config
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return (
        f"{config.num_hidden_layers} layers, {config.hidden_size} wide, {parameters / 1e6:.1f} M "
        f"parameters, {config.vocab_size:,} ids, rows of {length} tokens, attention "
        f"`{config._attn_implementation}`"
    )


# --- the table


def lines_of(name: str, found: Comparison, device: str) -> Iterator[tuple[str, str, str]]:
    """Yield the table's lines of one comparison: what, target, measured; `name` is the size's."""
    what, unit = f"{name}: {found.what}", "tokens" if found.operations else "examples"
    bound = FASTER[device].get(found.what, 1.0)
    speeds = [found.size / _median(blocks, "seconds") for blocks in (found.ours, found.peer)]
    measured = (
        f"{_ratios(found, 'seconds')}, {speeds[0]:,.3g} beside the Trainer's {speeds[1]:,.3g}"
    )
    yield f"{what}, {unit} a second", f"at least {bound:g}x", measured
    if device == "cpu":
        yield f"{what}, by the processor's time", "at least 1x", _ratios(found, "processor")
    if found.operations and found.peak:
        peer, ours = (
            100 * operations / _median(blocks, "seconds") / found.peak
            for operations, blocks in zip(found.operations, (found.peer, found.ours), strict=True)
        )
        more = found.operations[0] / found.operations[1]
        target = f"at least {PEAK_SHARE:g} %" if (device, name) == ("cuda", "paper") else "-"
        yield (
            f"{what}, share of the device's peak ({found.peak / 1e12:.3g} TFLOP/s)",
            target,
            f"{ours:.0f} % (the Trainer {peer:.0f} %, doing {more:.2f} times as many operations)",
        )
    ours, peer = (
        100 * statistics.median(block.waiting / block.seconds for block in blocks)
        for blocks in (found.ours, found.peer)
    )
    measured = f"{ours:.2f} % (the Trainer {peer:.2f} %)"
    yield f"{what}, share of the time waiting for data", f"at most {WAITING:g} %", measured
    losses = f"{found.losses[1]:.3f} (the Trainer {found.losses[0]:.3f})"
    yield f"{what}, mean loss", "-", losses


def _ratios(found: Comparison, quantity: str) -> str:
    ratios = [
        getattr(peer, quantity) / getattr(ours, quantity)
        for peer, ours in zip(found.peer, found.ours, strict=True)
    ]
    return f"{statistics.median(ratios):.3g} ({min(ratios):.3g} to {max(ratios):.3g})x"


def _median(blocks: Sequence[Block], quantity: str) -> float:
    return statistics.median(getattr(block, quantity) for block in blocks)


def page(lines: list[tuple[str, str, str]], models: list[str], device: str, facts: str) -> str:
    """Return the whole file: the table, what is compared, models, machine."""
    rows = [("what", "target", "measured"), ("---",) * 3, *lines]
    unmeasured = (
        "**Not measured: a GPU at the paper's size**, for which the targets are 1.2 times the "
        "Trainer's speed and 40 % of the peak. `python benchmarks/training.py --device cuda --size "
        "paper` measures both."
    )
    parts = [
        "# Training beside transformers' own loop",
        *([] if device == "cuda" and any("paper:" in line[0] for line in lines) else [unmeasured]),
        "\n".join(f"| {' | '.join(row)} |" for row in rows),
        EXPLANATION.rstrip("\n"),
        "\n".join(f"- {model}" for model in models),
        facts,
    ]
    return "\n\n".join(parts) + "\n"


def facts_of(device: Device, options: argparse.Namespace) -> str:
    """Describe machine and versions."""
    gpu = torch.cuda.get_device_name(device.device) if device.device.type == "cuda" else "none"
    versions = "; ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    return (
        f"Machine: {os.cpu_count()} cores; GPU {gpu}; Python {platform.python_version()}; "
        f"{versions}; threads {options.threads}; precision {device.precision}; compilation "
        f"{options.compile}."
    )


# --- command line


def prepare(folder: Path, text: Path | None, vocabulary: int, sequence_length: int) -> None:
    """Fill the folder with lines, a BPE vocabulary and shards; what is there already stays.

    text: lines, or a folder of such files; None for the sample of Wikipedia in gensim.

    Raises:
        UserError: there is no text, or too little for a vocabulary of this size.
    """
    if (folder / "shards/index.json").exists():
        return
    lines, words = folder / "lines.txt.zst", folder / "vocabulary"
    if text is None:
        found = importlib.util.find_spec("gensim")
        if found is None:
            raise UserError("--data: is not given, and gensim, whose sample is the default, is not")
        sample = Path(found.submodule_search_locations[0]) / SAMPLE
        settings = ExtractionSettings(language="en")
        extract_lines([sample], lines, {"format": "mediawiki", "key": "--data"}, settings)
    else:
        files = sorted(text.iterdir()) if text.is_dir() else [text]
        write_lines(lines, (line for file in files for line in read_lines(file) if line.strip()))
    train_bpe(lines, vocabulary, folder / "bpe.model", TrainingSettings(), "--vocabulary")
    pieces = pieces_of_model(read_model(folder / "bpe.model"))
    export_greedy(words, pieces, WordSettings(), Card("en", "English", "BPE"))
    write_lines(folder / "heldout.txt.zst", [])
    build_shards(
        lines,
        folder / "heldout.txt.zst",
        words,
        folder / "shards",
        sequence_length=sequence_length,
    )


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    on_gpu = torch.cuda.is_available()
    add = parser.add_argument
    add("--device", choices=("cpu", "cuda"), default="cuda" if on_gpu else "cpu")
    add("--size", nargs="+", choices=SIZES, default=["paper" if on_gpu else "small"])
    add("--compile", action="store_true", help="torch.compile, in pretraining")
    add("--micro-batch", type=int, help="instead of the size's")
    add("--data", type=Path, help="lines, or a folder of such files; default: gensim's sample")
    add("--rounds", type=int, default=5, help="blocks of each loop, 3 or more")
    add("--updates", type=int, help="of a block, instead of the size's")
    add("--threads", type=int, default=2, help="of the CPU")
    add("--workers", type=int, default=4 if on_gpu else 0, help="of the Trainer's loader")
    add("--work", type=Path, default=Path("benchmarks/scratch/training"))
    add("--output", type=Path, default=Path("docs/benchmarks/training.md"))
    options = parser.parse_args(argv)
    if options.rounds < 3:
        parser.error("--rounds: fewer than 3 say nothing; give 3 or more")
    return options


def compare(name: str, device: Device, options: argparse.Namespace) -> Iterator[Comparison]:
    """Yield the comparisons of one size.

    Raises:
        UserError: text, device or memory do not suffice.
    """
    shape = dict(SIZES[name])
    vocabulary = shape.pop("vocabulary")
    if options.micro_batch:
        shape["micro_batch"] = options.micro_batch
    settings = PretrainSettings(**shape, steps=1, compile=options.compile)
    source = "sample"
    if options.data:
        files = sorted(options.data.iterdir()) if options.data.is_dir() else [options.data]
        source = "-".join(file_digest(file)[:12] for file in files)
    folder = options.work / f"{source}-{vocabulary}-{settings.sequence_length}"
    prepare(folder, options.data, vocabulary, settings.sequence_length)
    plans = [Plan(options.updates or n, options.rounds, options.workers) for n in UPDATES[name]]
    yield compare_pretraining(folder, settings, device, plans[0])
    tuning = FinetuneSettings(max_sequence_length=settings.sequence_length)
    yield compare_finetuning(folder, settings, tuning, device, plans[1])


def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    options = arguments(argv)
    device = choose_device(int(options.device == "cuda"), "auto", options.threads)
    lines, models = [], []
    for name in options.size:
        for found in compare(name, device, options):
            lines += lines_of(name, found, options.device)
            models.append(f"{name}, {found.what}: {found.model}; {options.rounds} blocks")
            print("\n".join(" | ".join(line) for line in lines), flush=True)
            facts = facts_of(device, options)
            write_text(options.output, page(lines, models, options.device, facts))


if __name__ == "__main__":
    try:
        main()
    except (UserError, OSError, RuntimeError) as error:  # RuntimeError: of torch, on memory
        sys.exit(f"error: {' '.join(str(error).split())}")
