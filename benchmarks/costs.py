"""What the paper's setting and smaller budgets cost on common GPUs: writes docs/costs.md.

    python benchmarks/costs.py                       # the page, from the numbers below
    python benchmarks/costs.py --share 0.3           # at another share of the cards' peak
    python benchmarks/costs.py --measure-memory      # prints anew what a layer keeps for a row

Every number of the page is computed from costs.yaml, where each is marked as measured, published or
assumed, from the peaks and the count of operations in `sagevocab.lm.throughput`, and from
config.yaml. Change one and write the page again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from transformers.models.roberta_prelayernorm import (
    RobertaPreLayerNormConfig,
    RobertaPreLayerNormForMaskedLM,
    RobertaPreLayerNormModel,
)

from sagevocab.lm.masking import masked_per_row
from sagevocab.lm.throughput import PEAKS, flops_per_update
from sagevocab.state import write_text

ROOT = Path(__file__).parents[1]
GB, HOUR, DAY = 1e9, 3600.0, 24 * 3600.0
SPECIAL_TOKENS = 5


@dataclass(frozen=True)
class Fact:
    """A number that isn't computed here: what it is, its kind, and where it is from."""

    value: float
    what: str
    kind: str  # measured, published or assumed
    source: str


@dataclass(frozen=True)
class Card:
    """A GPU: its key in PEAKS and memory bandwidth in GB/s (data sheets)."""

    name: str
    peaks: str
    bandwidth: float


@dataclass(frozen=True)
class TaskSize:
    """Rows of a task, and the longest row of a batch of 16, on average, in tokens of BPE."""

    name: str
    train: int
    validation: int
    padded: float


NUMBERS = yaml.safe_load((Path(__file__).parent / "costs.yaml").read_text(encoding="utf-8"))
TEMPLATE = (Path(__file__).parent / "costs.template.md").read_text(encoding="utf-8")
FACTS = {name: Fact(**fields) for name, fields in NUMBERS["facts"].items()}
CARDS = [Card(**fields) for fields in NUMBERS["cards"]]
TASKS = [TaskSize(**fields) for fields in NUMBERS["tasks"]]


def fact(name: str) -> float:
    """Return the value of a fact."""
    return FACTS[name].value


# --- the model


@dataclass(frozen=True)
class Setting:
    """The paper's setting: config.yaml's, and the model it makes."""

    pretrain: dict[str, Any]
    finetune: dict[str, Any]
    languages: int
    tokenizers: int
    config: RobertaPreLayerNormConfig
    weights: int
    share: float

    @property
    def row(self) -> int:
        """Tokens of a row, special ones included."""
        return self.pretrain["sequence_length"]

    @property
    def operations(self) -> float:
        """Floating-point operations of an update of pretraining."""
        masked = masked_per_row(self.row, self.pretrain["mask_rate"])
        return flops_per_update(self.config, self.pretrain["batch"], self.row, masked)

    def tokens(self, updates: float) -> float:
        """Return the tokens that updates see, without special ones."""
        return updates * self.pretrain["batch"] * (self.row - 2)


def read_setting(share: float) -> Setting:
    """Read config.yaml."""
    whole = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    lm = whole["lm"]
    pretrain = lm["pretrain"]
    config = RobertaPreLayerNormConfig(
        vocab_size=whole["vocabulary"]["final_size"] + SPECIAL_TOKENS,
        hidden_size=pretrain["hidden"],
        num_hidden_layers=pretrain["layers"],
        num_attention_heads=pretrain["heads"],
        intermediate_size=pretrain["intermediate"],
        max_position_embeddings=pretrain["sequence_length"] + 1,
        type_vocab_size=2,
        pad_token_id=0,
    )
    with torch.device("meta"):
        model = RobertaPreLayerNormForMaskedLM(config)
    weights = sum(parameter.numel() for parameter in model.parameters())
    sizes = len(whole["languages"]), len(lm["tokenizers"])
    return Setting(pretrain, lm["finetune"], *sizes, config, weights, share)


@dataclass(frozen=True)
class Speed:
    """A card in the precision that `precision: auto` takes on it."""

    card: Card
    precision: str

    @property
    def peak(self) -> float:
        """Operations a second."""
        return PEAKS[self.card.peaks][self.precision] * 1e12

    @property
    def label(self) -> str:
        """Name and precision."""
        return f"{self.card.name}, {self.precision}"


def all_speeds() -> list[Speed]:
    """Return the rows of the tables of cards: all compute in bf16 or, before Ampere, in fp16."""
    return [Speed(card, "bf16" if "bf16" in PEAKS[card.peaks] else "fp16") for card in CARDS]


# --- pretraining and fine-tuning


def updates_in(seconds: float, speed: Speed, setting: Setting) -> float:
    """Return the updates of pretraining in some time."""
    return seconds * setting.share * speed.peak / setting.operations


def pretraining_rows(setting: Setting) -> Iterator[list[str]]:
    """Yield a row a card: what an hour and a day reach."""
    for speed in all_speeds():
        per_second = setting.tokens(updates_in(1, speed, setting))
        cells = [speed.label, f"{speed.peak / 1e12:,.0f}", _round(per_second)]
        for seconds in (HOUR, DAY):
            updates = updates_in(seconds, speed, setting)
            tokens = setting.tokens(updates)
            cells += [
                _round(updates),
                f"{_round(tokens / 1e6)} M",
                *(_round(tokens / fact(name)) for name in ("tokens_en_bpe", "tokens_en_released")),
            ]
        yield cells


def finetuning_hours(task: TaskSize, speed: Speed, setting: Setting) -> float:
    """Return the GPU hours of one fine-tuning with its evaluation.

    An update takes what its operations take at the share of the peak, but at least `launch`, and
    reading and writing weights, gradients and moments once: seven times four bytes a weight.
    """
    batch, epochs = setting.finetune["batch"], setting.finetune["epochs"]
    operations = flops_per_update(setting.config, batch, round(task.padded), 0)
    update = max(fact("launch"), operations / (setting.share * speed.peak))
    optimiser = 7 * 4 * setting.weights / (speed.card.bandwidth * GB)
    updates = epochs * -(-task.train // batch)
    evaluation = -(-task.validation // setting.finetune["eval_batch"]) * update / 3
    return (updates * (update + optimiser) + evaluation) / HOUR


def runs_of(task: TaskSize, setting: Setting) -> int:
    """Return how often a task is fine-tuned."""
    return setting.tokenizers * len(setting.finetune["seeds"])


def all_finetuning_hours(speed: Speed, setting: Setting) -> float:
    """Return the GPU hours of all fine-tunings."""
    return sum(finetuning_hours(task, speed, setting) * runs_of(task, setting) for task in TASKS)


def task_hours(setting: Setting) -> Iterator[list[str]]:
    """Yield a row a task: rows, updates, hours on some cards."""
    for task in TASKS:
        updates = setting.finetune["epochs"] * -(-task.train // setting.finetune["batch"])
        hours = (_round(finetuning_hours(task, speed, setting)) for speed in all_speeds())
        yield [task.name, f"{task.train:,}", f"{task.padded:.0f}", f"{updates:,}", *hours]


def total_rows(setting: Setting) -> Iterator[list[str]]:
    """Yield a row a card: GPU hours of the whole second half."""
    models = setting.languages * setting.tokenizers
    for speed in all_speeds():
        tuning = all_finetuning_hours(speed, setting)
        yield [
            speed.label,
            f"{models} x 24 = {models * 24}",
            _round(tuning),
            _round(models * 24 + tuning),
            _round(models * 1 + tuning),
        ]


# --- memory


def gpu_memory(rows: int, precision: str, setting: Setting) -> dict[str, float]:
    """Return the GB of a GPU that a micro-batch of `rows` takes, by what it is for."""
    config, length = setting.config, setting.row
    half = precision != "fp32"
    units = rows * length * config.hidden_size * config.num_hidden_layers
    kept = fact("kept_bf16" if half else "kept_fp32")
    masked = rows * masked_per_row(length, setting.pretrain["mask_rate"])
    return {
        "weights, gradients, moments": 16 * setting.weights / GB,
        "weights in half precision": 2 * setting.weights / GB if half else 0.0,
        "kept for the backward pass": kept * units / GB,
        "output layer": masked * config.vocab_size * (10 if half else 8) / GB,
        "driver and gaps": fact("other_memory"),
    }


def memory_rows(setting: Setting) -> Iterator[list[str]]:
    """Yield what micro-batches take, in both precisions."""
    for precision in ("bf16", "fp32"):
        for rows in (setting.pretrain["micro_batch"], 126, 252):
            parts = gpu_memory(rows, precision, setting)
            total = sum(parts.values())
            cells = [
                f"{precision}, micro-batch {rows}",
                *(f"{part:.1f}" for part in parts.values()),
            ]
            yield [*cells, f"**{total:.1f}**", _fitting(total)]


def _fitting(total: float) -> str:
    sizes = sorted({PEAKS[card.peaks]["memory"] for card in CARDS})
    fitting = [size for size in sizes if total <= size * 2**30 / GB]
    return f"{fitting[0]:g} GB" if fitting else "none of these"


# --- the CPU and the disk


def turkish() -> tuple[float, float, float]:
    """Return MB of text, lines and tokens (BPE) of the entire Turkish dump."""
    megabytes = fact("text_tr")
    scale = megabytes * 1e6 / fact("bytes_tr")
    return megabytes, scale * fact("lines_tr"), scale * fact("tokens_tr_bpe")


def english() -> tuple[float, float, float]:
    """Return MB of text, lines and tokens (BPE) of the English lines."""
    return fact("bytes_en") / 1e6, 750_000, fact("tokens_en_bpe")


def cpu_hours() -> dict[str, tuple[float, float]]:
    """Return core hours by stage: English, Turkish."""

    def per_megabyte(name: str, times: int = 1) -> tuple[float, float]:
        return tuple(times * fact(name) * text[0] / HOUR for text in (english(), turkish()))

    tokens = english()[2], turkish()[2]
    return {
        "extract the entire dump": tuple(
            fact("extraction") * fact(dump) * 1000 / HOUR for dump in ("dump_en", "dump_tr")
        ),
        "sample, index words": per_megabyte("indexing"),
        "train BPE, twice": per_megabyte("bpe", 2),
        "train UnigramLM": per_megabyte("unigram"),
        "Word2Vec, 5 epochs, two SaGe readings": tuple(
            2 * 5 * count / fact("word2vec") / HOUR for count in tokens
        ),
        "prune, two SaGe readings": tuple(
            2 * fact("loop") * count / 1e6 / HOUR for count in tokens
        ),
        "count the pieces of six tokenizers": per_megabyte("counting", 6),
    }


def cpu_rows() -> Iterator[list[str]]:
    """Yield core hours by stage."""
    stages = cpu_hours()
    for stage, hours in stages.items():
        yield [stage, *(_round(value) for value in hours)]
    totals = [sum(column) for column in zip(*stages.values(), strict=True)]
    yield ["**together**", *(f"**{_round(total)}**" for total in totals)]


def disk_rows(setting: Setting) -> Iterator[list[str]]:
    """Yield GB of disk by artefact: English, Turkish."""
    (en, _, en_tokens), (tr, _, tr_tokens) = english(), turkish()
    dump_en, dump_tr = fact("dump_en"), fact("dump_tr")
    model = 4 * setting.weights / GB
    shards = [
        setting.tokenizers * 2 * tokens * setting.row / (setting.row - 2) / GB
        for tokens in (en_tokens, tr_tokens)
    ]
    rows = {
        "dump, compressed": (dump_en, dump_tr),
        "its sentences, compressed": (
            dump_en * fact("prose") * fact("compressed"),
            tr / 1000 * fact("compressed"),
        ),
        "sampled lines, indexed words": tuple(
            text * (fact("compressed") + fact("indexed")) / 1000 for text in (en, tr)
        ),
        f"shards of {setting.tokenizers} tokenizers": tuple(shards),
        f"models of {setting.tokenizers} tokenizers": (setting.tokenizers * model,) * 2,
        "checkpoints of one running pretraining, removed at its end": (3 * 3 * model,) * 2,
    }
    for name, sizes in rows.items():
        yield [name, *(_round(size) for size in sizes)]


def pruning_memory(tokens: float) -> float:
    """Return GB of memory that pruning takes: what does not grow, and the rest in proportion."""
    growing = (fact("loop_memory") - fact("loop_table")) / 23.885406e6
    return fact("loop_table") + growing * tokens


# --- the page


def page(setting: Setting) -> str:
    """Return docs/costs.md."""
    return TEMPLATE.format(**_words(setting), **_tables(setting))


def _words(setting: Setting) -> dict[str, str]:
    megabytes, lines, tokens = turkish()
    return {
        "weights": f"{setting.weights / 1e6:.0f}",
        "operations": f"{setting.operations / 1e15:.2f}",
        "epochs": f"{setting.finetune['epochs']:g}",
        "share": f"{100 * setting.share:.0f}",
        "turkish": (
            f"{_round(megabytes)} MB, {_round(lines / 1e6)} million lines, {_round(tokens / 1e6)} "
            "million tokens"
        ),
        "pruning": f"{pruning_memory(tokens):.0f}",
    }


def _tables(setting: Setting) -> dict[str, str]:
    hours = [f"h, {speed.card.name.split(' (')[0]}, {speed.precision}" for speed in all_speeds()]
    reached = ["updates", "tokens", "epochs, BPE", "epochs, SaGe 1.0"]
    spans = [f"{span}: {name}" for span in ("1 h", "24 h") for name in reached]
    facts = ([_digits(item.value), item.what, item.kind, item.source] for item in FACTS.values())
    return {
        "pretraining": _table(
            ["card, precision", "peak, TFLOP/s", "tokens/s", *spans], pretraining_rows(setting)
        ),
        "tasks": _table(
            ["task", "training rows", "tokens of a padded row", "updates", *hours],
            task_hours(setting),
        ),
        "total": _table(
            ["card, precision", "six models of 24 h", "all fine-tunings", "together", "with 1 h"],
            total_rows(setting),
        ),
        "memory": _table(
            ["GB", *gpu_memory(1, "bf16", setting), "together", "smallest card"],
            memory_rows(setting),
        ),
        "cpu": _table(["core hours", "English, 750,000 lines", "Turkish, all"], cpu_rows()),
        "disk": _table(["GB", "English", "Turkish"], disk_rows(setting)),
        "facts": _table(["number", "what", "kind", "from"], facts),
    }


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _round(value: float) -> str:
    """Write a number with two digits, which is more than the assumptions bear."""
    if value == 0:
        return "0"
    if value >= 100:
        step = 10 ** (len(str(int(value))) - 2)
        return f"{round(value / step) * step:,.0f}"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# --- measuring what a layer keeps


def kept_bytes(rows: int, layers: int, hidden: int, length: int, bf16: bool) -> int:
    """Return the bytes that the forward pass of `layers` layers keeps for the backward pass.

    Weights are not counted, copies of them in half precision are.
    """
    config = RobertaPreLayerNormConfig(
        vocab_size=64,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=max(1, hidden // 64),
        intermediate_size=4 * hidden,
        attention_probs_dropout_prob=0.0,  # the CPU's fused attention has none
        max_position_embeddings=length + 2,
        pad_token_id=1,
    )
    model = RobertaPreLayerNormModel(config, add_pooling_layer=False).train()
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    inputs = torch.randint(5, 64, (rows, length))
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=bf16)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), autocast:
        states = model(inputs).last_hidden_state  # keeps alive what is counted
    del states
    return sum(kept.values())


def kept_per_unit(hidden: int, length: int, bf16: bool) -> float:
    """Return the bytes that a layer keeps for a hidden unit of a token, from four measurements."""
    one, two = (
        kept_bytes(2, layers, hidden, length, bf16) - kept_bytes(1, layers, hidden, length, bf16)
        for layers in (1, 2)
    )
    return (two - one) / (hidden * length)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--share", type=float, default=fact("share"), help="of the peak")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/costs.md")
    parser.add_argument("--measure-memory", action="store_true")
    options = parser.parse_args(argv)
    if options.measure_memory:
        for bf16 in (True, False):
            name = "bf16" if bf16 else "fp32"
            print(f"{name}: {kept_per_unit(1024, 128, bf16):.2f} bytes a hidden unit of a token")
        return 0
    if not 0 < options.share <= 1:
        parser.error("--share: must be above 0 and at most 1")
    write_text(options.output, page(read_setting(options.share)))
    print(f"costs: written to {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
