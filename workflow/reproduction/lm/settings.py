"""The keys of `lm.pretrain` and `lm.finetune`, checked, and the schedules that they ask for.

A schedule tells after how many updates and seconds training ends (`share`), and the learning rate
of every update (`rate`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from sagevocab.errors import SettingError
from sagevocab.fields import (
    Count,
    Flag,
    InnerShare,
    Natural,
    NotNegative,
    Positive,
    Seeds,
    Share,
    settings,
)

# Keys that change speed and memory, or what is an input of its own (`replay`): a run may be resumed
# with other values of them, and a finished model needs no other training for them.
FREE = ("checkpoint_minutes", "replay", "micro_batch", "validation_batch", "compile")
_BUDGETS = ("hours", "steps", "tokens")


# --- schedules


@dataclass(frozen=True)
class BudgetSchedule:
    """A rise over the share `warmup` of a budget, then a linear decay to 0 (paper, Appendix A).

    The budget is a number of updates, or of seconds when `updates` is None: then the clock alone
    drives the rate, as in Izsak et al. 2021. `decay` False keeps the peak after the rise.
    """

    peak: float
    warmup: float
    updates: int | None
    seconds: float | None = None
    decay: bool = True

    def share(self, updates: float, seconds: float) -> float:
        """Return the share of the budget that is spent."""
        return updates / self.updates if self.updates is not None else seconds / self.seconds

    def rate(self, updates: int, seconds: float) -> float:
        """Return the rate in the middle of the update: neither the first nor the last is 0."""
        share = min(1.0, self.share(updates + 0.5, seconds))
        if share < self.warmup:
            return self.peak * share / self.warmup
        if not self.decay:
            return self.peak
        return self.peak * (1 - share) / max(1 - self.warmup, 1e-9)


@dataclass(frozen=True)
class ReplaySchedule:
    """The learning rates of an earlier run, one an update: repeats a run that the clock drove."""

    rates: Sequence[float]

    def share(self, updates: float, seconds: float) -> float:
        """Return the share of the recorded updates that are done."""
        return updates / len(self.rates)

    def rate(self, updates: int, seconds: float) -> float:
        """Return the recorded rate."""
        return self.rates[updates]


Schedule = BudgetSchedule | ReplaySchedule


def crosses(before: float, after: float, every: float) -> bool:
    """Return whether a multiple of `every` lies in (before, after]."""
    # Sums of shares miss a multiple by rounding: 3 * 0.1 > 0.3.
    return math.floor(after / every + 1e-9) > math.floor(before / every + 1e-9)


# --- keys


@settings("lm.pretrain")
class PretrainKeys:
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
    micro_batch: Count | Literal["auto"] = Field(
        "auto",
        description="Sequences that are on a device at once; must divide `batch`. On several "
        "devices the largest that leaves equal parts, to within one. auto is the largest that fits "
        "a GPU, by trial at the start, and at most 32 on a CPU.",
    )
    learning_rate: Positive = Field(0.001, description="Peak learning rate.")
    schedule: Literal["linear", "constant"] = Field(
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
        None,
        description="Budget in hours of training. `steps` or `tokens`, where one is set, takes its "
        "place.",
    )
    steps: Count | None = Field(None, description="Budget in updates, instead of hours.")
    tokens: Count | None = Field(
        None, description="Budget in tokens (positions of the rows trained on), instead of hours."
    )
    validation_every: Annotated[Positive, Field(le=1)] = Field(
        0.05, description="Share of the budget between two validations; one more ends the run."
    )
    validation_batch: Count = Field(16, description="Sequences that are validated at once.")
    heldout_lines: Natural = Field(
        1000,
        description="Held-out lines whose words the model is asked for at each validation; 0 asks "
        "for none.",
    )
    precision: Literal["auto", "fp32", "fp16", "bf16"] = Field(
        "auto",
        description="auto takes bf16 on a GPU that computes in it (Ampere and newer), fp16 on "
        "those before (Volta, Turing), else fp32.",
    )
    compile: Flag | Literal["auto"] = Field(
        "auto",
        description="Compile the model with torch.compile. auto does on GPUs from Volta on where "
        "Triton, a C compiler and Python's headers are installed.",
    )
    checkpoint_minutes: Positive = Field(30.0, description="Minutes between two checkpoints.")
    replay: str | None = Field(
        None,
        description="A training_log.parquet whose learning rates, one an update, replace schedule "
        "and budget: repeats a run whose budget was hours. `{lang}` and `{tok}` in the path are "
        "filled in.",
    )

    @model_validator(mode="after")
    def _parts_divide_their_whole(self) -> PretrainKeys:
        for key, whole in (("micro_batch", "batch"), ("heads", "hidden")):
            part, value = getattr(self, key), getattr(self, whole)
            if part != "auto" and value % part:
                raise SettingError(
                    key, f"{part} does not divide {whole} ({value}); choose one that does"
                )
        return self


@settings("lm.pretrain")
class PretrainSettings(PretrainKeys):
    """Settings of a pretraining that can be run: exactly one of its budgets is set."""

    @model_validator(mode="after")
    def _one_budget(self) -> PretrainSettings:
        given = [name for name in _BUDGETS if getattr(self, name) is not None]
        if len(given) != 1:
            found = f"{' and '.join(given)}; set the others to null" if given else "none; set one"
            raise SettingError(
                "", f"exactly one of {', '.join(_BUDGETS)} is the budget, here {found}"
            )
        return self

    def replay_of(self, **names: str) -> str | None:
        """Return `replay` with `names` (lang, tok) filled in.

        Raises:
            UserError: it holds another name.
        """
        try:
            return self.replay and self.replay.format(**names)
        except (LookupError, ValueError, AttributeError, TypeError) as error:
            known = " and ".join(f"{{{name}}}" for name in names)
            raise SettingError(
                "lm.pretrain.replay",
                f"{self.replay}: only {known} can be filled in; take other braces out",
            ) from error

    def budget_schedule(self) -> BudgetSchedule:
        """Return the schedule that the budget drives; tokens become whole updates, rounded up."""
        updates, seconds = self.steps, None
        if self.tokens is not None:
            updates = math.ceil(self.tokens / (self.batch * self.sequence_length))
        if self.hours is not None:
            seconds = self.hours * 3600
        return BudgetSchedule(
            peak=self.learning_rate,
            warmup=self.warmup,
            updates=updates,
            seconds=seconds,
            decay=self.schedule == "linear",
        )


@settings("lm.causal")
class CausalSettings:
    """Small causal transformers (GPT-2's) that are asked whole lines, as n-grams are; ours.

    Every model of a seed sees the same lines in the same updates, whatever its tokenizer.
    """

    layers: Count = Field(2, description="Transformer layers.")
    hidden: Count = Field(256, description="Width; feed-forward layers are four times as wide.")
    heads: Count = Field(4, description="Attention heads; must divide `hidden`.")
    longest: Annotated[Count, Field(ge=8, le=8192)] = Field(
        128, description="Symbols of a row. A row is a line; a longer line goes on in another."
    )
    lines: Count = Field(
        100_000,
        description="Budget: lines of the training corpus, each seen once. A seed draws its own.",
    )
    batch: Count = Field(32, description="Lines of an update.")
    learning_rate: Positive = Field(
        0.002, description="Peak learning rate; it rises over 6 % of the budget and falls to 0."
    )
    validation_every: Annotated[Positive, Field(le=1)] = Field(
        0.1, description="Share of the budget between two validations; one more ends the run."
    )
    heldout_lines: Count = Field(
        500, description="Held-out lines of a validation; the last one asks all lines."
    )
    precision: Literal["auto", "fp32", "fp16", "bf16"] = Field(
        "auto", description="As for `lm.pretrain`."
    )
    checkpoint_minutes: Positive = Field(30.0, description="Minutes between two checkpoints.")

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> CausalSettings:
        if self.hidden % self.heads:
            raise SettingError(
                "heads",
                f"{self.heads} does not divide hidden ({self.hidden}); choose one that does",
            )
        return self


@settings("lm.causal")
class CausalKeys(CausalSettings):
    """Small causal transformers."""

    seeds: Seeds = Field([], description="Seeds of the models of each tokenizer; none trains none.")


@settings("lm.finetune")
class FinetuneSettings:
    """Fine-tuning on the tasks. Defaults are those of the paper (Appendix A).

    An update sees `batch * accumulation` examples. AdamW's other settings are PyTorch's own.
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
    schedule: Literal["polynomial", "linear", "constant"] = Field(
        "polynomial", description="Decay of the learning rate."
    )
    warmup_steps: Natural = Field(50, description="Updates in which the learning rate rises.")

    def updates_per_epoch(self, examples: int) -> int:
        """Return the updates of one pass over the examples; the last may see fewer of them."""
        return math.ceil(examples / (self.batch * self.accumulation))

    def learning_rates(self, examples: int) -> Schedule:
        """Return the schedule for a number of training examples.

        "polynomial" is Hugging Face's decay of degree 1 to 1e-7, "linear" that to 0. As there, the
        very first update has rate 0 if there is a warm-up.
        """
        updates = math.ceil(self.epochs * self.updates_per_epoch(examples))
        peak, warmup = self.learning_rate, self.warmup_steps
        if self.schedule == "constant":
            return BudgetSchedule(peak, warmup / updates, updates, decay=False)
        end = 1e-7 if self.schedule == "polynomial" else 0.0
        rises = [peak * update / warmup for update in range(min(warmup, updates))]
        left = [1 - (update - warmup) / (updates - warmup) for update in range(warmup, updates)]
        return ReplaySchedule((*rises, *(end + (peak - end) * share for share in left)))


@settings("lm.finetune")
class FinetuneKeys(FinetuneSettings):
    """Fine-tuning on the tasks."""

    seeds: Annotated[Seeds, Field(min_length=1)] = Field(
        [1, 2, 3], description="Seeds of the runs that are averaged."
    )
    per_gpu: Count = Field(
        1,
        description="Fine-tunings that share a GPU. Small batches leave it idle while kernels are "
        "launched; each takes memory of its own. On SLURM, `profiles/slurm` puts as many into a "
        "job.",
    )
