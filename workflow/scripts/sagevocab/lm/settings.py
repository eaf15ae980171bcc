"""The keys of `lm.pretrain`, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from sagevocab.errors import UserError
from sagevocab.lm.schedule import BudgetSchedule

# Keys that change speed and memory, or what is an input of its own (`replay`): a run may be resumed
# with other values of them, and a finished model needs no other training for them.
FREE = ("checkpoint_minutes", "replay", "micro_batch", "validation_batch")
CHOICES = {
    "schedule": ("linear", "constant"),
    "precision": ("auto", "fp32", "fp16", "bf16"),
}
ARCHITECTURE = (
    "layers",
    "hidden",
    "heads",
    "intermediate",
    "activation",
    "dropout",
    "attention_dropout",
    "sequence_length",
)


@dataclass(frozen=True)
class PretrainSettings:
    """The keys of `lm.pretrain`; defaults are the paper's (Appendix A) or Izsak et al.'s.

    Exactly one of `hours`, `steps` (updates) and `tokens` (positions of the rows trained on) is
    the budget. Validation runs whenever another `validation_every` of the budget is spent, and at
    the end. `replay` is a training log whose learning rates replace schedule and budget.
    """

    layers: int = 24
    hidden: int = 1024
    heads: int = 16
    intermediate: int = 4096
    activation: str = "gelu"
    dropout: float = 0.1
    attention_dropout: float = 0.1
    sequence_length: int = 128
    mask_rate: float = 0.15
    batch: int = 4032
    micro_batch: int = 32
    learning_rate: float = 1e-3
    schedule: str = "linear"
    warmup: float = 0.06
    weight_decay: float = 0.01
    adam_beta1: float = 0.9
    adam_beta2: float = 0.98
    adam_epsilon: float = 1e-6
    gradient_clipping: float = 0.0
    hours: float | None = None
    steps: int | None = None
    tokens: int | None = None
    validation_every: float = 0.05
    validation_batch: int = 16
    heldout_lines: int = 1000
    replay: str | None = None
    precision: str = "auto"
    compile: bool = False
    checkpoint_minutes: float = 30.0

    @classmethod
    def from_config(cls, section: dict[str, Any]) -> PretrainSettings:
        """Read the section `lm.pretrain` of a configuration.

        Raises:
            UserError: a key is unknown, or values don't fit together.
        """
        known = {field.name for field in fields(cls)}
        for key in section:
            if key not in known:
                raise UserError(f"lm.pretrain.{key}: no such key; known: {', '.join(known)}")
        return cls(**section)

    def __post_init__(self) -> None:
        """Refuse values that don't fit together."""
        budgets = [value for value in (self.hours, self.steps, self.tokens) if value is not None]
        if len(budgets) != 1 or budgets[0] <= 0:
            raise UserError(
                "lm.pretrain.hours, steps, tokens: one of them is the budget; set exactly one, "
                "above 0, and the others to null"
            )
        for key, known in CHOICES.items():
            if getattr(self, key) not in known:
                raise UserError(
                    f"lm.pretrain.{key}: {getattr(self, key)}; known: {', '.join(known)}"
                )
        for key, whole in (("micro_batch", "batch"), ("heads", "hidden")):
            part, value = getattr(self, key), getattr(self, whole)
            if value % part:
                raise UserError(
                    f"lm.pretrain.{key}: {part} does not divide {whole} ({value}); choose one that "
                    "does"
                )

    def replay_of(self, **names: str) -> str | None:
        """Return `replay` with `names` (lang, tok) filled in.

        Raises:
            UserError: it holds another name.
        """
        try:
            return self.replay and self.replay.format(**names)
        except (KeyError, IndexError, ValueError) as error:
            known = ", ".join(f"{{{name}}}" for name in names)
            raise UserError(
                f"lm.pretrain.replay: {self.replay}: only {known} can be filled in"
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
