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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engine_measures import TimedPass
from make_environments import FOLDER, python_of

from sagevocab.embeddings import Embeddings
from sagevocab.loss import Objective
from sagevocab.pieces import write_pieces
from sagevocab.state import write_npz, write_text
from sagevocab.words import Normalizer, WordCorpus, split_words

WINDOW = 2


def our_pass(lines: Sequence[str], embeddings: Embeddings, threads: int) -> TimedPass:
    """Prepare `lines` for passes with one matrix for both sides."""
    both = Embeddings(embeddings.pieces, embeddings.target, embeddings.target)
    corpus = WordCorpus.from_lines(lines, Normalizer())
    return TimedPass(corpus, both, Objective(WINDOW), threads)


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
    our_pass(lines[:100], embeddings, threads).first()  # compile
    few, every = (our_pass(part, embeddings, threads) for part in (lines[:peer_lines], lines))
    with tempfile.TemporaryDirectory() as folder:
        theirs = their_pass(lines[:peer_lines], embeddings, threads, peers, Path(folder))
        rounds = [
            (theirs(), few.first(), few.again(), every.first(), every.again())
            for _ in range(repeats)
        ]
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
