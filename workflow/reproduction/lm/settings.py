"""The keys of `lm.pretrain`, `lm.finetune` and `lm.causal`, and the schedules that they ask for.

A schedule tells after how many updates and seconds training ends (`share`), and the learning rate
of every update (`rate`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from reproduction.value_types import Counts, InnerShare, NotNegative, Seeds
from sagevocab.errors import SettingError
from sagevocab.validation import Count, Flag, Natural, Positive, Share, settings

# Raise one when the same settings, data and seed give another result, in whatever module
# the reason stands: what is finished is then made anew, and checkpoints are not resumed.
RESULT_VERSION = {"shards": 1, "pretrain": 1, "finetune": 1, "causal": 2}
# Keys that change speed and memory: a run may be resumed with other values of them, and a finished
# model needs no other training for them.
FREE = ("checkpoint_minutes", "micro_batch", "validation_batch", "compile")
# What `lm.cutting` calls the model that lost nothing, and losing first what BPE merged last.
WHOLE, LAST_MERGED = "whole", "bpe"
# Keys of `lm.causal` that one model does not depend on.
FREE_OF_MODELS = ("checkpoint_minutes", "seeds", "cut_sizes")


# --- schedules


@dataclass(frozen=True)
class BudgetSchedule:
    """A rise over the share `warmup` of a budget, then a linear decay to 0 (paper, Appendix A).

    The budget is a number of updates, or of seconds when `updates` is None: then the clock alone
    drives the rate, as in Izsak et al. 2021.
    """

    peak: float
    warmup: float
    updates: int | None
    seconds: float | None = None

    def share(self, updates: float, seconds: float) -> float:
        """Return the share of the budget that is spent."""
        return updates / self.updates if self.updates is not None else seconds / self.seconds

    def rate(self, updates: int, seconds: float) -> float:
        """Return the rate in the middle of the update: neither the first nor the last is 0."""
        share = min(1.0, self.share(updates + 0.5, seconds))
        if share < self.warmup:
            return self.peak * share / self.warmup
        return self.peak * (1 - share) / max(1 - self.warmup, 1e-9)


def crosses(before: float, after: float, every: float) -> bool:
    """Return whether a multiple of `every` lies in (before, after]."""
    # Sums of shares miss a multiple by rounding: 3 * 0.1 > 0.3.
    return math.floor(after / every + 1e-9) > math.floor(before / every + 1e-9)


# --- keys


def _check_heads(heads: int, hidden: int) -> None:
    if hidden % heads:
        raise SettingError(
            "heads", f"{heads} does not divide hidden ({hidden}); choose one that does"
        )


@settings("lm.pretrain")
class PretrainSettings:
    """Masked-language-model pretraining of a pre-layer-norm BERT.

    Defaults are those of the paper (Appendix A) or of Izsak et al. (2021).
    """

    layers: Count = Field(24, description="Transformer layers.")
    hidden: Count = Field(1024, description="Width.")
    heads: Count = Field(16, description="Attention heads; must divide `hidden`.")
    intermediate: Count = Field(4096, description="Width of the feed-forward layers.")
    activation: Literal["gelu", "gelu_new", "relu", "silu"] = Field(
        "gelu", description="Activation of the feed-forward layers."
    )
    dropout: Share = Field(0.1, description="Dropout of hidden states.")
    attention_dropout: Share = Field(0.1, description="Dropout of attention weights.")
    sequence_length: Annotated[Count, Field(ge=8, le=8192)] = Field(
        128, description="Tokens of a training sequence."
    )
    mask_rate: InnerShare = Field(0.15, description="Share of tokens to predict.")
    batch: Count = Field(4032, description="Sequences of an update.")
    micro_batch: Count = Field(
        126,
        description="Most sequences that a device computes at once: its part of an update is cut "
        "into as few equal parts as that allows. It changes speed and memory, and which numbers "
        "dropout draws.",
    )
    learning_rate: Positive = Field(0.001, description="Peak learning rate.")
    # One value, for `table_hyperparameters_pretraining`, which shows it beside the paper's.
    schedule: Literal["linear"] = Field(
        "linear", description="Decay of the learning rate over the budget."
    )
    warmup: Share = Field(0.06, description="Share of the budget in which the learning rate rises.")
    weight_decay: NotNegative = Field(
        0.01, description="AdamW's decay of weights (not of biases and layer norms)."
    )
    adam_beta1: Share = Field(0.9, description="AdamW's first moment.")
    adam_beta2: Share = Field(0.98, description="AdamW's second moment.")
    adam_epsilon: Positive = Field(1e-6, description="AdamW's epsilon.")
    gradient_clipping: NotNegative = Field(
        0.0, description="Largest norm of a gradient; 0 clips nothing."
    )
    hours: Positive | None = Field(
        24.0,
        description="Budget in hours of updates. Validations, checkpoints and the first update of "
        "a process, which compiles, are left out. `steps`, where it is set, takes its place.",
    )
    steps: Count | None = Field(None, description="Budget in updates, instead of hours.")
    validation_every: Annotated[Positive, Field(le=1)] = Field(
        0.05, description="Share of the budget between two validations; one more ends the run."
    )
    validation_batch: Count = Field(16, description="Sequences that are validated at once.")
    heldout_lines: Count = Field(
        1000, description="Held-out lines whose words the model predicts at each validation."
    )
    precision: Literal["auto", "fp32", "fp16", "bf16"] = Field(
        "auto",
        description="auto takes bf16 on a GPU that computes in it (Ampere and newer), fp16 on "
        "those before (Volta, Turing), else fp32.",
    )
    compile: Flag = Field(
        True,
        description="Compile the model with torch.compile on GPUs, which needs Triton, a C "
        "compiler and Python's headers.",
    )
    checkpoint_minutes: Positive = Field(30.0, description="Minutes between two checkpoints.")

    @model_validator(mode="after")
    def _can_be_trained(self) -> PretrainSettings:
        _check_heads(self.heads, self.hidden)
        if self.steps is self.hours:
            raise SettingError("", "has no budget; set hours or steps")
        return self

    def budget_schedule(self) -> BudgetSchedule:
        """Return the schedule that the budget drives."""
        return BudgetSchedule(
            peak=self.learning_rate,
            warmup=self.warmup,
            updates=self.steps,
            seconds=3600 * self.hours if self.steps is None else None,
        )


@settings("lm.causal")
class CausalSettings:
    """Small causal transformers (GPT-2's), scored on whole lines as n-grams are; not in the paper.

    Every model of a seed sees the same lines in the same updates, whatever its tokenizer.
    """

    layers: Count = Field(2, description="Transformer layers.")
    hidden: Count = Field(256, description="Width; feed-forward layers are four times as wide.")
    heads: Count = Field(4, description="Attention heads; must divide `hidden`.")
    longest: Annotated[Count, Field(ge=8, le=8192)] = Field(
        128, description="Symbols of a row. A row is a line; a longer line continues in another."
    )
    lines: Count = Field(
        100_000,
        description="Budget: lines of the training corpus, each seen once. Each seed draws others.",
    )
    batch: Count = Field(32, description="Lines of an update.")
    learning_rate: Positive = Field(
        0.002, description="Peak learning rate; it rises over 6 % of the budget and falls to 0."
    )
    validation_every: Annotated[Positive, Field(le=1)] = Field(
        0.1, description="Share of the budget between two validations; one more ends the run."
    )
    heldout_lines: Count = Field(
        500, description="Held-out lines of a validation; the last one takes all lines."
    )
    precision: Literal["auto", "fp32", "fp16", "bf16"] = Field(
        "auto", description="As for `lm.pretrain`."
    )
    checkpoint_minutes: Positive = Field(30.0, description="Minutes between two checkpoints.")
    seeds: Seeds = Field([], description="Seeds of the models of each tokenizer; none trains none.")
    cut_sizes: Counts = Field(
        [],
        description="Sizes to which models of the initial vocabulary, one a seed, are cut by every "
        "pruning of BPE's pieces, without training again (`table_cut`); none trains none.",
    )

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> CausalSettings:
        _check_heads(self.heads, self.hidden)
        return self


@settings("lm.finetune")
class FinetuneSettings:
    """Fine-tuning on the tasks. Defaults are those of the paper (Appendix A).

    An update sees `batch * accumulation` examples. AdamW's other settings are PyTorch's defaults.
    """

    epochs: Positive = Field(
        5,
        description="Passes over a task's training examples. The paper doesn't say; 5 is what the "
        "package of Izsak et al. (2021), whose scripts it used, fine-tunes with.",
    )
    max_sequence_length: Annotated[Count, Field(ge=3)] = Field(
        128, description="Longest input in tokens; longer ones are truncated."
    )
    batch: Count = Field(16, description="Examples of a forward pass.")
    eval_batch: Count = Field(16, description="Examples that are evaluated at once.")
    accumulation: Count = Field(1, description="Forward passes of an update.")
    learning_rate: Positive = Field(5e-5, description="Initial learning rate.")
    weight_decay: NotNegative = Field(0.1, description="AdamW's decay of weights.")
    max_grad_norm: NotNegative = Field(
        1.0, description="Largest norm of a gradient; 0 clips nothing."
    )
    schedule: Literal["polynomial", "linear"] = Field(
        "polynomial", description="Decay of the learning rate: in a line to 1e-7, or to 0."
    )
    warmup_steps: Natural = Field(50, description="Updates in which the learning rate rises.")
    seeds: Annotated[Seeds, Field(min_length=1)] = Field(
        [1, 2, 3], description="Seeds of the runs that are averaged."
    )

    def updates_per_epoch(self, examples: int) -> int:
        """Return the updates of one pass over the examples; the last may see fewer of them."""
        return math.ceil(examples / (self.batch * self.accumulation))

    def updates(self, examples: int) -> int:
        """Return the updates of a fine-tuning on so many examples."""
        return math.ceil(self.epochs * self.updates_per_epoch(examples))
