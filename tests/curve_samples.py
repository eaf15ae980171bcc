"""Learning curves of given values, and the files that they are read from."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction.paper.curves import Curve
from reproduction.parquet import write_parquet

BITS = math.log(2)
# Bits per character of the tables of frequencies, and of the numbers of pieces alone.
FLOOR_BITS = {"unigram": 6.0, "placed": 5.0}
COUNT_BITS = 0.25


def curve(bits, *, steps=None, lines=40, seed=0, spread=0.1, floors=FLOOR_BITS) -> Curve:
    """A curve of given bits per character, one value a validation, that lines scatter around.

    floors: of the tables of frequencies, the same for every line.
    """
    bits, rng = np.asarray(bits, dtype=float), np.random.default_rng(seed)
    steps = np.asarray(steps or range(10, 10 * len(bits) + 1, 10), dtype=float)
    characters = np.full(lines, 8.0)
    noise = rng.normal(0, spread, lines)
    noise -= noise.mean()
    at = {"step": steps, "characters": 100 * steps}
    return Curve(
        at=pd.DataFrame(at),
        lines=np.arange(lines),
        words=np.full(lines, 2.0),
        characters=characters,
        nats=(bits[:, None] + noise) * characters * BITS,
        floors={name: bits * characters * BITS for name, bits in floors.items()},
    )


def write_model(folder: Path, of: Curve) -> Path:
    """The files of a model that a curve is read from; training continues between validations."""
    counts = COUNT_BITS * of.characters * BITS
    steps = of.at["step"].astype(int)
    asked = pd.DataFrame(
        {
            "step": np.repeat(steps, len(of.lines)),
            "line": np.tile(of.lines, len(steps)),
            "words": np.tile(of.words, len(steps)).astype(int),
            "characters": np.tile(of.characters, len(steps)).astype(int),
            "pieces": 3,
            "nats": (of.nats - counts).ravel(),
        }
    )
    write_parquet(folder / "heldout.parquet", asked)
    every = np.arange(1, steps.max() + 1)
    log = {"step": every, "characters": 100.0 * every, "loss": 1.0}
    write_parquet(folder / "training_log.parquet", pd.DataFrame(log))
    return folder / "heldout.parquet"


def write_floors(path: Path, of: Curve) -> Path:
    """The floors of the words that a curve's model predicted."""
    counts = COUNT_BITS * of.characters * BITS
    whole = {
        "line": of.lines,
        "words": of.words.astype(int),
        "characters": of.characters.astype(int),
    }
    nats = {f"{name}_nats": nats - counts for name, nats in of.floors.items()}
    write_parquet(path, pd.DataFrame({**whole, "count_nats": counts, **nats}))
    return path
