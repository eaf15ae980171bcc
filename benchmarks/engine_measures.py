"""What `engine.py` measures: each function is called once in a process of its own.

A function takes the folder that `prepare` filled, and returns numbers that JSON can hold. What is
compiled is compiled, or read from Numba's cache, before a clock starts; reading the prepared files
does not count as time, but as memory.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import io
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import sentencepiece

from reproduction.data.extract import ExtractionSettings, extract_lines
from reproduction.data.files import Form
from sagevocab.bpe import (
    SENTENCEPIECE_SPECIALS,
    TooManyPiecesError,
    TrainingSettings,
    pieces_of_model,
    read_model,
    train_bpe,
)
from sagevocab.counting import SegmentedCorpus
from sagevocab.embeddings import Embeddings, Word2VecSettings, train_embeddings
from sagevocab.errors import UserError
from sagevocab.loss import AblationLosses, Objective, make_decoder
from sagevocab.pieces import is_single_character, read_pieces, write_pieces
from sagevocab.presets import DEFAULT_PRESET
from sagevocab.progress import Progress
from sagevocab.sage import build_sage, settings_from
from sagevocab.segment import GreedySegmenter
from sagevocab.skipgram import BlockTrainer
from sagevocab.state import fingerprint, read_json, write_npz, write_text
from sagevocab.text import read_lines
from sagevocab.training import train
from sagevocab.words import Normalizer, WordCorpus, split_words

_WARM_LINES = 100
_LARGE_BATCHES = 3
# What a pass costs does not depend on how well the embeddings are trained.
_EMBEDDINGS = Word2VecSettings(lines=30_000)
_SAMPLE = "test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
_LARGE_NORM = 3.0  # about that of embeddings of frequent pieces
_PEER_WINDOW = 2  # of sage-tokenizer 2.0

Numbers = dict[str, Any]


def prepare(folder: Path, *, text: str | None, lines: int, size: int) -> Numbers:
    """Fill the folder: lines, word types, BPE of `size` pieces, embeddings of some of the lines.

    text: None for the sample of Wikipedia that gensim ships. What is there already stays. Returns
    how much text it is.
    """
    corpus, pieces = word_corpus(folder, text, lines), bpe_pieces(folder, size, "pieces")
    path = _embeddings_path(folder)
    if not path.exists():
        segmenter = GreedySegmenter(pieces)
        train_embeddings(corpus, segmenter, _EMBEDDINGS, folder / "training").save(path)
    _warm(corpus, pieces, Embeddings.load(path))
    tokens = count_tokens(corpus, pieces)
    return {"lines": corpus.n_lines, "tokens": tokens, "pieces": len(pieces)}


def prepare_large(folder: Path, *, size: int) -> Numbers:
    """Train BPE of `size` pieces, or if sentencepiece refuses, of the largest number it accepts."""
    try:
        pieces = bpe_pieces(folder, size, f"large-{size}")
    except TooManyPiecesError as error:
        pieces = bpe_pieces(folder, error.largest, f"large-{size}")
    return {"pieces": len(pieces)}


class TimedPass:
    """A corpus made ready to take the losses of all pieces; a call returns the seconds it took."""

    def __init__(
        self, corpus: WordCorpus, embeddings: Embeddings, objective: Objective, threads: int
    ) -> None:
        """Prepare what does not depend on the embeddings' values."""
        pieces, self._embeddings = embeddings.pieces, embeddings
        decoder = make_decoder("greedy", corpus.types, pieces)
        self._losses = AblationLosses(corpus, pieces, decoder, objective, threads=threads)
        self._wanted = np.array([not is_single_character(piece) for piece in pieces])
        self._alive = np.ones(len(pieces), dtype=bool)
        self.found = np.zeros(0)  # float[pieces], the losses of the last call
        self.lines = corpus.n_lines

    def first(self) -> float:
        """Take the losses with an empty cache of pair losses."""
        began = time.perf_counter()
        self._losses.use_embeddings(self._embeddings.target, self._embeddings.context)
        self.found = self._losses.losses(self._alive, self._wanted).loss
        return time.perf_counter() - began

    def again(self) -> float:
        """Take them with the pair losses of the last call in the cache, every sum anew."""
        # The sums of a vocabulary with fewer pieces are none that can be corrected.
        fewer = self._alive.copy()
        fewer[np.flatnonzero(self._wanted)[-1]] = False
        self._losses.losses(fewer, self._wanted & fewer)
        began = time.perf_counter()
        self.found = self._losses.losses(self._alive, self._wanted).loss
        return time.perf_counter() - began


def one_pass(folder: Path, *, threads: int, lines: int) -> Numbers:
    """Take the losses of all pieces over the first lines: with an empty cache, and a filled one."""
    corpus, pieces, embeddings = _load(folder)
    _warm(corpus, pieces, embeddings)
    corpus = _head(corpus, lines)
    timed = TimedPass(corpus, embeddings, Objective(), threads)
    first, losses = timed.first(), timed.found
    filled = timed.again()
    if not np.array_equal(losses, timed.found):
        raise AssertionError("two passes over the same lines differ")
    tokens = count_tokens(corpus, pieces)
    return {"first": first, "filled": filled, "tokens": tokens, "memory": _peak()}


def loop(folder: Path, *, threads: int, final_size: int, every_batch: bool) -> Numbers:
    """Prune to `final_size` without Word2Vec; every_batch: rank all pieces before each batch."""
    corpus, pieces, embeddings = _load(folder)
    _warm(corpus, pieces, embeddings)
    changes = {"rerank_every": 1, "candidates": len(pieces)} if every_batch else {}
    seconds = _prune(corpus, embeddings, final_size=final_size, threads=threads, **changes)
    return {"seconds": seconds, "memory": _peak()}


def large(folder: Path, *, threads: int, size: int) -> Numbers:
    """Prune a few batches of the large vocabulary; its embeddings are seeded random ones."""
    corpus, pieces, embeddings = _load(folder)
    _warm(corpus, pieces, embeddings)
    pieces = read_pieces(folder / f"large-{size}.txt")
    shape = (2, len(pieces), Word2VecSettings().dimension)
    drawn = np.random.default_rng(1).standard_normal(shape, dtype=np.float32)
    drawn *= _LARGE_NORM / np.sqrt(shape[-1])
    embeddings = Embeddings(pieces, *drawn)
    singles = sum(map(is_single_character, pieces))
    final = max(len(pieces) - _LARGE_BATCHES * settings_from("printed").prune_batch, singles)
    seconds = _prune(corpus, embeddings, final_size=final, threads=threads)
    return {"seconds": seconds, "memory": _peak(), "pieces": len(pieces)}


def word2vec(folder: Path, *, threads: int, **settings: Any) -> Numbers:
    """Train embeddings with some settings, all else by default."""
    corpus, pieces, _ = _load(folder)
    began = _now()
    train_embeddings(corpus, GreedySegmenter(pieces), Word2VecSettings(**settings).on(threads))
    return _spent_since(began)


def pairs(folder: Path, *, threads: int, repeats: int) -> Numbers:
    """Train an epoch by blocks some times, and list its pairs alone by one thread.

    Returns the number of pairs, and the nanoseconds a pair of each repeat.
    """
    corpus, pieces, _ = _load(folder)
    text = SegmentedCorpus(corpus, GreedySegmenter(pieces))
    spent: dict[str, list[float]] = {"processor": [], "clock": [], "listing": []}
    for number in range(repeats + 1):
        trainer = BlockTrainer(text, Word2VecSettings(epochs=1))
        clock, processor = _now()
        for _ in trainer.chunks(threads):
            pass
        trained, listed_from = _now()
        count = sum(int(trainer._listed(chunk).offsets[-1]) for chunk in range(trainer.total))
        listing = time.process_time() - listed_from
        seconds = listed_from - processor, trained - clock, listing
        if number:  # the first one compiles
            for key, one in zip(spent, seconds, strict=True):
                spent[key].append(one / count * 1e9)
    return {"pairs": count, **spent}


def peers(folder: Path, *, threads: int, repeats: int, peers: str, peer_lines: int) -> Numbers:
    """Take one pass of losses of all pieces with sage-tokenizer 2.0, and one here.

    Both get the same normalised lines, pieces and embeddings (one matrix for both sides), a window
    of 2, greedy longest match, the total loss, and as many workers. The passes alternate.

    The other program segments the text in each pass, and so that it ends in a minute it gets only
    the first lines. The library gets these too, and then all. What it prepares once for any number
    of passes (the corpus as word types, the decoder) does not count; the cache of pair losses,
    which depends on the embeddings, is part of a pass. The other program looks for finished workers
    once a second: its seconds are whole ones and a bit.

    Returns seconds (medians), lines, and ratios, theirs over ours: `ratio` on the same lines,
    `ratio_per_line` by a line's share of our pass over all; `_again` is with the cache filled.
    """
    lines = list(read_lines(folder / "lines.txt"))
    embeddings = Embeddings.load(_embeddings_path(folder))
    _our_pass(lines[:100], embeddings, threads).first()  # compile
    few, every = (_our_pass(part, embeddings, threads) for part in (lines[:peer_lines], lines))
    with tempfile.TemporaryDirectory() as place:
        run = _their_pass(lines[:peer_lines], embeddings, threads, Path(peers), Path(place))
        rounds = [
            (run(), few.first(), few.again(), every.first(), every.again()) for _ in range(repeats)
        ]
    theirs, ours, ours_again, ours_all, ours_all_again = map(median, zip(*rounds, strict=True))
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


def _our_pass(lines: Sequence[str], embeddings: Embeddings, threads: int) -> TimedPass:
    """Prepare lines for passes with one matrix for both sides."""
    both = Embeddings(embeddings.pieces, embeddings.target, embeddings.target)
    corpus = WordCorpus.from_lines(lines, Normalizer())
    return TimedPass(corpus, both, Objective(_PEER_WINDOW), threads)


def _their_pass(
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
        peers.absolute() / "sage_tokenizer_2/bin/python",
        Path(__file__).parent / "peers/run_sage_tokenizer_2.py",
        "--workers", str(threads), "--lines", folder / "words.txt",
        "--pieces", folder / "pieces.txt", "--embeddings", folder / "embeddings.npz",
        "--output", output,
    ]  # fmt: skip

    def run() -> float:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return read_json(output)["seconds"][0]

    return run


def lengthen(folder: Path, *, lines: int) -> Numbers:
    """Write so many lines, and return the file: the first ones, or all of them in shuffled copies.

    It is made in a process of its own, whose memory does not count as that of others.
    """
    path = folder / f"lines-{lines}.txt"
    whole = (folder / "lines.txt").read_bytes().splitlines(keepends=True)
    rng = np.random.default_rng(1)
    with path.open("wb") as file:
        file.writelines(whole[:lines])
        for first in range(len(whole), lines, len(whole)):
            order = rng.permutation(len(whole))[: lines - first]
            file.writelines(whole[number] for number in order)
    return {"text": str(path)}


def bpe(folder: Path, *, size: int, text: str | None = None) -> Numbers:
    """Train BPE of `size` pieces by sentencepiece itself, on the lines or a file in their place.

    Its memory is what the peak rises by: the modules of this file are none of its own.
    """
    began, before = _now(), _peak()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=read_lines(text or folder / "lines.txt"),
        model_writer=io.BytesIO(),
        model_type="bpe",
        vocab_size=size + SENTENCEPIECE_SPECIALS,
        minloglevel=2,
    )
    spent = _spent_since(began)
    return spent | {"memory": spent["memory"] - before}


def whole(
    folder: Path,
    *,
    threads: int,
    initial_size: int,
    final_size: int,
    text: str | None = None,
    preset: str = DEFAULT_PRESET,
) -> Numbers:
    """Make a SaGe tokenizer of the lines, from text to folder.

    text: a file in their place. Reading Numba's cache counts here, as warming up would count as
    memory. Returns seconds, processor seconds and the peak memory, each also by stage: the peak is
    that of all stages so far. `anonymous` is the memory without mapped files, which the system
    takes back when it needs room.
    """
    with tempfile.TemporaryDirectory(dir=folder) as place:
        chosen = Path(text or folder / "lines.txt")
        clock = _StageClock()
        train(
            chosen,
            vocab_size=final_size,
            initial_size=initial_size,
            preset=preset,
            threads=threads,
            output=Path(place) / "tokenizer",
            progress=clock,
        )
        clock.stop()
        count = sum(1 for _ in chosen.open("rb"))
    return {
        "lines": count,
        "seconds": sum(clock.seconds.values()),
        "processor": sum(clock.processor.values()),
        "memory": _peak(),
        "anonymous": clock.anonymous,
        "stages": clock.seconds,
        "processor_stages": clock.processor,
        "memory_stages": clock.memory,
    }


class _StageClock:
    """Listens to a training run: time goes to the stage that was last heard of.

    seconds, processor: of each stage. memory: the peak of the process at the stage's end, bytes.
    anonymous: the most memory without files that was seen when the training reported, bytes.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.processor: dict[str, float] = {}
        self.memory: dict[str, int] = {}
        self.anonymous = 0
        self._stage, self._since = "start", _now()

    def __call__(self, progress: Progress) -> None:
        self.stop()
        self._stage = progress.stage

    def stop(self) -> None:
        """Count the time since the last call for the current stage."""
        stage, now = self._stage, _now()
        for spent, began, ended in zip(
            (self.seconds, self.processor), self._since, now, strict=True
        ):
            spent[stage] = spent.get(stage, 0.0) + ended - began
        self.memory[stage] = _peak()
        self.anonymous = max(self.anonymous, _anonymous())
        self._since = now


def _load(folder: Path) -> tuple[WordCorpus, list[str], Embeddings]:
    embeddings = Embeddings.load(_embeddings_path(folder))
    return WordCorpus.load(folder / "words.npz"), embeddings.pieces, embeddings


def _embeddings_path(folder: Path) -> Path:
    """Name embeddings by their settings: another default does not find the old ones."""
    settings = fingerprint(dataclasses.asdict(_EMBEDDINGS))
    return folder / f"embeddings-{settings[:8]}.npz"


def word_corpus(folder: Path, text: str | Path | None, lines: int) -> WordCorpus:
    """Return the first lines of a text as words; keep both in the folder.

    text: None for the sample of Wikipedia that gensim ships.
    """
    path = folder / "words.npz"
    if not path.exists():
        if text is None:
            text = write_sample(folder / "sample.txt.zst")
        chosen = list(islice(read_lines(text), lines))
        write_text(folder / "lines.txt", "".join(f"{line}\n" for line in chosen))
        WordCorpus.from_lines(chosen, Normalizer()).save(path)
    return WordCorpus.load(path)


def write_sample(path: Path) -> Path:
    """Write the lines of the sample of Wikipedia that gensim ships, and return the file.

    Raises:
        UserError: gensim is not installed.
    """
    found = importlib.util.find_spec("gensim")
    if found is None:
        raise UserError("gensim, whose sample of Wikipedia is the default text, is not installed")
    sample = Path(found.submodule_search_locations[0]) / _SAMPLE
    form = Form(key="text", format="mediawiki")
    extract_lines([sample], path, form, ExtractionSettings(language="en"))
    return path


def bpe_pieces(folder: Path, size: int, name: str) -> list[str]:
    """Return the pieces of BPE trained on the folder's lines; keep them there."""
    model, path = folder / f"{name}.model", folder / f"{name}.txt"
    if not path.exists():
        corpus = WordCorpus.load(folder / "words.npz")
        train_bpe(corpus, size, model, TrainingSettings(ascii=False), "size")
        write_pieces(path, pieces_of_model(read_model(model)))
    return read_pieces(path)


def _head(corpus: WordCorpus, lines: int) -> WordCorpus:
    """Return the first lines, with their word types alone: these are in order of appearance."""
    offsets = corpus.line_offsets[: lines + 1]
    tokens = corpus.tokens[: offsets[-1]]
    return WordCorpus(corpus.types[: int(tokens.max()) + 1], tokens, offsets)


def _warm(corpus: WordCorpus, pieces: list[str], embeddings: Embeddings) -> None:
    """Compile all that pruning needs: two batches of one piece."""
    final = len(pieces) - 2
    _prune(_head(corpus, _WARM_LINES), embeddings, final_size=final, threads=1, prune_batch=1)


def _prune(corpus: WordCorpus, embeddings: Embeddings, **changes: Any) -> float:
    """Prune by the paper's settings but for `changes`, without Word2Vec; return the seconds."""
    settings = settings_from("printed", retrain=False, **changes)
    began = time.perf_counter()
    build_sage(corpus, embeddings.pieces, None, embeddings, settings, Word2VecSettings())
    return time.perf_counter() - began


def count_tokens(corpus: WordCorpus, pieces: Sequence[str]) -> int:
    """Count the corpus's greedy tokens."""
    _, offsets = GreedySegmenter(pieces).segment_words(corpus.types)
    return int((np.diff(offsets) * corpus.counts).sum())


def _now() -> tuple[float, float]:
    """Return the time by the clock, and the processor time of this process."""
    return time.perf_counter(), time.process_time()


def _spent_since(began: tuple[float, float]) -> Numbers:
    """Return the seconds since `began`, of the clock and of the processor, and the peak memory."""
    seconds, processor = (now - then for now, then in zip(_now(), began, strict=True))
    return {"seconds": seconds, "processor": processor, "memory": _peak()}


def _peak() -> int:
    """Return the most memory this process has had, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _anonymous() -> int:
    """Return the memory of this process that is of no file, in bytes; 0 where it is not known."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) * 1024
