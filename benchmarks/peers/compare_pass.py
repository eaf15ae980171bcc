"""One pass of ablation losses over all pieces: sage-tokenizer 2.0 beside this library.

Both take the same normalised lines, pieces and embeddings (one matrix for both sides), a window of
2, greedy longest match, the total loss, and as many workers. The passes alternate, and medians are
compared. `engine.py --rows peers` runs this.

The other program segments the text in each pass, and so that it ends in a minute it gets only the
first lines. The library gets these too, and then all. What it prepares once for any number of
passes (the corpus as word types, the decoder) does not count; the cache of pair losses, which
depends on the embeddings, is part of a pass. `ratio` compares the same lines, `ratio_per_line` a
line's share of our pass over all lines; `_again` is with the cache filled.

The other program looks for finished workers once a second: its seconds are whole ones and a bit.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from make_environments import FOLDER, python_of

from sagevocab.state import write_npz, write_text
from sagevocab.vocab.ablation import AblationLosses, Objective, make_decoder
from sagevocab.vocab.embeddings import Embeddings
from sagevocab.vocab.pieces import is_single_character, write_pieces
from sagevocab.vocab.words import Normalizer, WordCorpus, split_words

WINDOW = 2


class OurPass:
    """A corpus made ready; a call takes all losses once and returns the seconds it took."""

    def __init__(self, lines: Sequence[str], embeddings: Embeddings, threads: int) -> None:
        """Prepare `lines`."""
        pieces = embeddings.pieces
        corpus = WordCorpus.from_lines(lines, Normalizer())
        decoder = make_decoder("greedy", corpus.types, pieces)
        self._losses = AblationLosses(corpus, pieces, decoder, Objective(WINDOW), threads=threads)
        self._target = embeddings.target
        self._wanted = np.array([not is_single_character(piece) for piece in pieces])
        self.lines = corpus.n_lines

    def __call__(self) -> float:
        """Take the losses of all pieces."""
        began = time.perf_counter()
        self._losses.use_embeddings(self._target, self._target)
        return time.perf_counter() - began + self.again()

    def again(self) -> float:
        """Take them with the embeddings of the last call, every sum afresh."""
        alive = np.ones(len(self._wanted), dtype=bool)
        self._losses.losses(alive, np.zeros_like(alive))  # nothing is left that could be corrected
        began = time.perf_counter()
        self._losses.losses(alive, self._wanted)
        return time.perf_counter() - began


def their_pass(
    lines: Sequence[str], embeddings: Embeddings, threads: int, peers: Path, folder: Path
) -> Callable[[], float]:
    """Write the same lines and pieces into `folder`; return what runs sage-tokenizer 2.0 on them.

    A call returns the seconds for the losses of all pieces, without the start of the program.
    """
    normalizer, output = Normalizer(), folder / "losses.json"
    words = ("".join(split_words(normalizer(line))) for line in lines)
    write_text(folder / "words.txt", "".join(f"{line}\n" for line in words if line))
    write_pieces(folder / "pieces.txt", embeddings.pieces)
    write_npz(folder / "embeddings.npz", target=embeddings.target)
    command = [
        python_of("sage_tokenizer_2", peers), Path(__file__).with_name("run_sage_tokenizer_2.py"),
        "--workers", str(threads), "--lines", folder / "words.txt",
        "--pieces", folder / "pieces.txt", "--embeddings", folder / "embeddings.npz",
        "--output", output,
    ]  # fmt: skip

    def run() -> float:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return json.loads(output.read_text(encoding="utf-8"))["seconds"][0]

    return run


def compare(
    lines: Sequence[str],
    embeddings: Embeddings,
    *,
    threads: int = 2,
    peer_lines: int = 10_000,
    repeats: int = 3,
    peers: Path = FOLDER,
) -> dict[str, Any]:
    """Time both programs, see above.

    lines: raw text. Returns seconds (medians), lines, and ratios: theirs over ours.
    """
    OurPass(lines[:100], embeddings, threads)()  # compile
    few, every = (OurPass(part, embeddings, threads) for part in (lines[:peer_lines], lines))
    with tempfile.TemporaryDirectory() as folder:
        theirs = their_pass(lines[:peer_lines], embeddings, threads, peers, Path(folder))
        rounds = [(theirs(), few(), few.again(), every(), every.again()) for _ in range(repeats)]
    theirs, ours, ours_again, ours_all, ours_all_again = map(
        statistics.median, zip(*rounds, strict=True)
    )
    return {
        "lines": few.lines,
        "sage_tokenizer_seconds": theirs,
        "ours_seconds": ours,
        "ours_again_seconds": ours_again,
        "ratio": theirs / ours,
        "ratio_again": theirs / ours_again,
        "all_lines": every.lines,
        "ratio_per_line": (theirs / few.lines) / (ours_all / every.lines),
        "ratio_per_line_again": (theirs / few.lines) / (ours_all_again / every.lines),
    }
