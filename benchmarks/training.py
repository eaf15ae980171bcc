"""Our training loops beside transformers' own, as one table.

    python benchmarks/training.py                              # a GPU if there is one, or the CPU
    python benchmarks/training.py --device cuda --size paper   # the paper's model on a GPU
    python benchmarks/training.py --device cuda --size paper --compile no --micro-batch 32

Pretraining runs beside `Trainer` with `DataCollatorForLanguageModeling`, fine-tuning beside
`Trainer` with `DataCollatorWithPadding`: the same first weights, rows, order, device, precision,
attention, compilation, batch, accumulation and optimiser, each loop with a model of its own, in one
process. After every block of the Trainer's updates its callback hands over to our loop for a block,
so whatever else the machine does slows both. The table is printed and written.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch
from engine import Line, machine_facts, spread, table
from engine_measures import write_sample
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

from reproduction.lm import finetune, pretrain
from reproduction.lm.batches import masked_per_row
from reproduction.lm.encoder import load_encoder
from reproduction.lm.finetune import FinetuneSettings, Finetuning
from reproduction.lm.journal import flops_per_update, peak_flops
from reproduction.lm.model import build_model
from reproduction.lm.settings import PretrainSettings
from reproduction.lm.shards import build_shards
from reproduction.lm.tasks import Examples, Task, encode_texts
from reproduction.lm.training import Device, Learner, choose_device, examples_of, make_optimizer
from sagevocab.bpe import TrainingSettings, pieces_of_model, read_model, train_bpe
from sagevocab.errors import UserError
from sagevocab.export import Card, WordSettings, export_greedy
from sagevocab.state import file_digest, write_text
from sagevocab.text import read_lines, write_lines
from sagevocab.words import Normalizer, WordCorpus

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
# Targets: times the Trainer's speed, per cent of the device's peak, per cent of time waiting.
FASTER = {"cpu": {}, "cuda": {"pretraining": 1.2}}
PEAK_SHARE, WAITING = 40.0, 2.0
COMPILE = {"auto": "auto", "yes": True, "no": False}
PACKAGES = ("torch", "transformers", "accelerate", "tokenizers")

EXPLANATION = """\
Each ratio compares a block of the Trainer's updates with the block of ours after it: medians of the
blocks (lowest to highest). Other work on the machine slows both; the clock feels it more than the
processor's time does.

Both loops have the same model class of transformers, the same first weights, the same rows in the
same order, device, precision, attention, compilation, batch, micro-batch, accumulation, fused AdamW
and learning rate. The Trainer neither evaluates nor saves nor logs. It gets its rows from memory,
in the form that its collator takes fastest (`--workers`). What is compared:

- we compute the output layer, as wide as the vocabulary, at the masked positions only, 15 % of all;
  transformers' model computes it at every position. This is most of the gain where the vocabulary
  is large beside the model, and little at the paper's size (1.05 times fewer operations);
- we mask the same number of tokens in each row, for a whole update at once and in a thread beside
  the training; the collator masks each token with a probability of 15 %, a micro-batch at a time;
- we do less bookkeeping between micro-batches.

Operations are those of the matrix products (`flops_per_update` in `lm/journal.py`): ours
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
        model: what was trained, in words.
        operations: floating-point operations of a block, the peer's and ours; None if not counted.
        peak: the most operations that the device can do per second; None if unknown.
    """

    what: str
    size: int
    peer: list[Block]
    ours: list[Block]
    losses: tuple[float, float]
    model: str
    operations: tuple[float, float] | None = None
    peak: float | None = None


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


@dataclass
class HandOver(TrainerCallback):
    """After every block of the Trainer's, one of ours; `update` does an update by its number."""

    plan: Plan
    update: Callable[[int], float]
    watches: tuple[Watch, Watch]
    blocks: tuple[list[Block], list[Block]] = field(default_factory=lambda: ([], []))
    losses: list[float] = field(default_factory=list)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Hand over if a block has ended."""
        done = state.global_step - WARM_UP
        if done < 0 or done % self.plan.updates:
            return
        peer, ours = self.watches
        if done:
            self.blocks[0].append(peer.stop())
        ours.start()
        for number in range(len(self.losses), state.global_step):
            self.losses.append(self.update(number))
        if done:
            self.blocks[1].append(ours.stop())
        peer.start()


def alternate(hand_over: HandOver, device: Device, options: dict[str, Any], **trainer: Any) -> dict:
    """Run both loops; return their blocks and mean losses as fields of a `Comparison`.

    options: more of the Trainer's arguments. trainer: its model, rows and collator.
    """
    plan = hand_over.plan
    with TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=plan.total(),
            learning_rate=RATE,
            lr_scheduler_type="constant",
            optim="adamw_torch_fused",
            train_sampling_strategy="sequential",
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
        peer = Trainer(args=arguments, callbacks=[hand_over], **trainer)
        peer.pop_callback(PrinterCallback)
        peer.get_batch_samples = hand_over.watches[0].waiting(peer.get_batch_samples)
        # The model's class takes a count of targets and ignores it: with it the Trainer would add
        # up the means of micro-batches instead of averaging them.
        peer.model_accepts_loss_kwargs = False
        loss = peer.train().training_loss
    blocks = dict(zip(("peer", "ours"), hand_over.blocks, strict=True))
    return blocks | {"losses": (loss, float(np.mean(hand_over.losses)))}


def _prepare(settings: PretrainSettings, folder: Path, device: Device) -> pretrain.Pretraining:
    """Prepare our run; on a GPU with half of the rows at once for which it has room.

    A second model and its moments stand beside, and the Trainer keeps logits at every position.
    """
    given = SEED, load_encoder(folder / "vocabulary"), folder / "shards", device
    run = pretrain.prepare_run(settings, *given)
    if settings.micro_batch != "auto" or device.device.type == "cpu" or run.micro_batch == 1:
        return run
    run.batches.close()
    sizes = range(1, run.micro_batch // 2 + 1)
    half = max(rows for rows in sizes if settings.batch % rows == 0)
    return pretrain.prepare_run(replace(settings, micro_batch=half), *given)


def compare_pretraining(
    folder: Path, settings: PretrainSettings, device: Device, plan: Plan
) -> Comparison:
    """Compare masked-language-model training: ours, and the Trainer with its own collator."""
    words, length = folder / "vocabulary", settings.sequence_length
    run = _prepare(settings, folder, device)
    rows, batch = run.train.rows, settings.batch
    chosen = [examples_of(update, batch, len(rows), SEED) for update in range(plan.total())]
    watches = Watch(device.device), Watch(device.device)
    run.batches.take = watches[1].waiting(run.batches.take)
    found = alternate(
        HandOver(plan, lambda update: pretrain.train_on(run, update, RATE), watches),
        device,
        {
            "per_device_train_batch_size": run.micro_batch,
            "gradient_accumulation_steps": batch // run.micro_batch,
            "torch_compile": run.is_compiled,
            "adam_beta1": settings.adam_beta1,
            "adam_beta2": settings.adam_beta2,
            "adam_epsilon": settings.adam_epsilon,
            "weight_decay": settings.weight_decay,
            "max_grad_norm": settings.gradient_clipping,
        },
        model=copy.deepcopy(run.model),
        train_dataset=torch.from_numpy(rows[np.concatenate(chosen)].astype(np.int64)),
        data_collator=DataCollatorForLanguageModeling(
            AutoTokenizer.from_pretrained(words), mlm_probability=settings.mask_rate, seed=SEED
        ),
    )
    run.batches.close()
    count, masked = batch * plan.updates, masked_per_row(length, settings.mask_rate)
    return Comparison(
        what="pretraining",
        size=count * length,
        model=f"{describe(run.model, length)}; {run.micro_batch} rows at once, "
        f"{'compiled' if run.is_compiled else 'not compiled'}",
        operations=tuple(
            flops_per_update(run.model.config, count, length, predicted)
            for predicted in (length, masked)
        ),
        peak=peak_flops(device.device, device.precision),
        **found,
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
    watches = Watch(device.device), Watch(device.device)
    examples.padded = watches[1].waiting(examples.padded)
    found = alternate(
        HandOver(plan, lambda update: finetune.train_on(run, examples, update, RATE), watches),
        device,
        {
            "per_device_train_batch_size": settings.batch,
            "gradient_accumulation_steps": settings.accumulation,
            "weight_decay": settings.weight_decay,
            "max_grad_norm": settings.max_grad_norm,
        },
        model=copy.deepcopy(run.model),
        train_dataset=[_as_lists(examples, row) for row in np.concatenate(chosen)],
        data_collator=DataCollatorWithPadding(AutoTokenizer.from_pretrained(words)),
    )
    model = describe(run.model, max(map(len, examples.ids)))
    return Comparison(what="fine-tuning", size=size * plan.updates, model=model, **found)


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


def lines_of(name: str, found: Comparison, device: str) -> Iterator[Line]:
    """Yield the table's lines of one comparison; `name` is the size's."""
    what, unit = f"{name}: {found.what}", "tokens" if found.operations else "examples"
    speeds = [found.size / _median(blocks, "seconds") for blocks in (found.ours, found.peer)]
    beside = f", {speeds[0]:,.3g} beside the Trainer's {speeds[1]:,.3g}"
    bound = FASTER[device].get(found.what, 1.0)
    yield _ratio_line(f"{what}, {unit} a second", found, "seconds", bound, beside)
    if device == "cpu":
        yield _ratio_line(f"{what}, by the processor's time", found, "processor", 1.0)
    if found.operations and found.peak:
        peer, ours = (
            100 * operations / _median(blocks, "seconds") / found.peak
            for operations, blocks in zip(found.operations, (found.peer, found.ours), strict=True)
        )
        more = found.operations[0] / found.operations[1]
        aim = (PEAK_SHARE, f"at least {PEAK_SHARE:g} %")
        yield Line(
            f"{what}, share of the device's peak ({found.peak / 1e12:.3g} TFLOP/s)",
            f"{ours:.0f} % (the Trainer {peer:.0f} %, doing {more:.2f} times as many operations)",
            ours,
            *(aim if (device, name) == ("cuda", "paper") else ()),
        )
    ours, peer = (
        100 * median(block.waiting / block.seconds for block in blocks)
        for blocks in (found.ours, found.peer)
    )
    yield Line(
        f"{what}, share of the time waiting for data",
        f"{ours:.2f} % (the Trainer {peer:.2f} %)",
        ours,
        WAITING,
        f"at most {WAITING:g} %",
    )
    losses = f"{found.losses[1]:.3f} (the Trainer {found.losses[0]:.3f})"
    yield Line(f"{what}, mean loss", losses)


def _ratio_line(
    what: str, found: Comparison, quantity: str, bound: float, beside: str = ""
) -> Line:
    """Return the line of a quantity of the Trainer's over ours, block by block."""
    blocks = zip(found.peer, found.ours, strict=True)
    ratios = [getattr(peer, quantity) / getattr(ours, quantity) for peer, ours in blocks]
    measured = f"{spread(ratios)}x{beside}"
    return Line(what, measured, median(ratios), bound, f"at least {bound:g}x")


def _median(blocks: Iterable[Block], quantity: str) -> float:
    return median(getattr(block, quantity) for block in blocks)


def page(lines: Sequence[Line], models: Sequence[str], device: str, facts: str) -> str:
    """Return the whole file: the table, what is compared, models, machine."""
    unmeasured = (
        "**Not measured: a GPU at the paper's size**, for which the targets are 1.2 times the "
        "Trainer's speed and 40 % of the peak. `python benchmarks/training.py --device cuda --size "
        "paper` measures both."
    )
    parts = [
        "# Training beside transformers' own loop",
        *(
            []
            if device == "cuda" and any("paper:" in line.what for line in lines)
            else [unmeasured]
        ),
        table(lines).rstrip("\n"),
        EXPLANATION.rstrip("\n"),
        "\n".join(f"- {model}" for model in models),
        facts,
    ]
    return "\n\n".join(parts) + "\n"


def facts_of(device: Device, options: argparse.Namespace) -> str:
    """Describe machine and versions."""
    gpu = torch.cuda.get_device_name(device.device) if device.device.type == "cuda" else "none"
    facts = machine_facts(PACKAGES) | {
        "GPU": gpu,
        "threads": options.threads,
        "precision": device.precision,
    }
    return f"Machine: {'; '.join(f'{name} {value}' for name, value in facts.items())}."


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
        write_sample(lines)
    else:
        every = (line for file in files_of(text) for line in read_lines(file))
        write_lines(lines, (line for line in every if line.strip()))
    corpus = WordCorpus.from_lines(read_lines(lines), Normalizer())
    train_bpe(
        corpus, vocabulary, folder / "bpe.model", TrainingSettings(ascii=False), "--vocabulary"
    )
    pieces = pieces_of_model(read_model(folder / "bpe.model"))
    export_greedy(words, pieces, WordSettings(), Card("en", "English", "BPE"))
    write_lines(folder / "heldout.txt.zst", [])
    files = lines, folder / "heldout.txt.zst", words, folder / "shards"
    build_shards(*files, sequence_length=sequence_length)


def files_of(text: Path) -> list[Path]:
    """Return the files of a folder, or the file itself."""
    return sorted(text.iterdir()) if text.is_dir() else [text]


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    on_gpu = torch.cuda.is_available()
    add = parser.add_argument
    add("--device", choices=("cpu", "cuda"), default="cuda" if on_gpu else "cpu")
    add("--size", nargs="+", choices=SIZES, default=["paper" if on_gpu else "small"])
    add("--compile", choices=COMPILE, default="auto", help="torch.compile, in pretraining")
    add("--micro-batch", type=int, help="instead of the size's; the paper's: what fits the GPU")
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
    settings = PretrainSettings(**shape, steps=1, compile=COMPILE[options.compile])
    files = files_of(options.data) if options.data else []
    source = "-".join(file_digest(file)[:12] for file in files) or "sample"
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
            print(table(lines), flush=True)
            facts = facts_of(device, options)
            write_text(options.output, page(lines, models, options.device, facts))


if __name__ == "__main__":
    try:
        main()
    except (UserError, OSError, RuntimeError) as error:  # RuntimeError: of torch, on memory
        sys.exit(f"error: {' '.join(str(error).split())}")
