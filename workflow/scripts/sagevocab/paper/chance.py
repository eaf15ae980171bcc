"""What vocabularies that are pruned without contexts, the nulls, give of a claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

RANDOM, FREQUENCY = "random", "frequency"  # the methods of the nulls


@dataclass(frozen=True)
class Nulls:
    """The measurement of a claim on the nulls, in the place of SaGe.

    random: of the random prunings, one a seed, in the run's order; numbers, or the words of an
    `example`. frequency: of the vocabulary without its least frequent pieces.
    """

    random: tuple[float | str, ...] = ()
    frequency: float | str | None = None

    @classmethod
    def of(cls, values: Mapping[str, float | str], methods: Mapping[str, str]) -> Nulls:
        """Return what was measured; values: by tokenizer. methods: of all nulls, by tokenizer."""
        drawn = [values[name] for name in values if methods[name] == RANDOM]
        least = [values[name] for name in values if methods[name] == FREQUENCY]
        return cls(tuple(drawn), least[0] if least else None)

    @property
    def numbers(self) -> np.ndarray:
        """The values of the random prunings: float64[seeds], none of them for words."""
        return np.array([value for value in self.random if not isinstance(value, str)], dtype=float)

    def record(self) -> dict[str, Any]:
        """Return the values as a claim's record has them."""
        known = self.numbers
        return {
            "random": list(self.random),
            "random_mean": float(known.mean()) if known.size else None,
            "random_low": float(known.min()) if known.size else None,
            "random_high": float(known.max()) if known.size else None,
            "frequency": self.frequency,
        }
