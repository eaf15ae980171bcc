"""What `engine.py` measures: each function is called once in a process of its own.

    python benchmarks/engine_measures.py MEASURE FOLDER PARAMETERS

A function takes the folder that `prepare` filled, and returns numbers that JSON can hold;
parameters are JSON, too. What is compiled is compiled, or read from Numba's cache, before a clock
starts; reading the prepared files does not count as time, but as memory.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
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
from tokenizers import ByteLevelBPETokenizer

from reproduction.data.extract import ExtractionSettings, extract_lines
from reproduction.data.files import Form
from reproduction.data.packages import package_file
from sagevocab.corpus.text import read_lines
from sagevocab.corpus.words import Normalizer, WordCorpus, split_words
from sagevocab.errors import UserError
from sagevocab.files import fingerprint, read_json, write_npz, write_text
from sagevocab.huggingface.load import load
from sagevocab.huggingface.sentencepiece import pieces_of_model, read_model, write_model
from sagevocab.initial.sentencepiece_models import (
    SENTENCEPIECE_SPECIALS,
    TrainingSettings,
    train_bpe,
)
from sagevocab.pieces import is_single_character, read_pieces, write_pieces
from sagevocab.progress import Progress
from sagevocab.pruning.loss import AblationLosses, make_decoder
from sagevocab.pruning.sage import build_sage
from sagevocab.segmentation.counts import SegmentedCorpus
from sagevocab.segmentation.segmenter import GreedySegmenter
from sagevocab.settings import SageSettings, settings_from
from sagevocab.training import train
from sagevocab.word2vec.blocks import BlockTrainer
from sagevocab.word2vec.embeddings import Embeddings, Word2VecSettings, train_embeddings

_WARM_LINES = 100
_ENCODED_LINES = 50_000
# What a pass costs does not depend on how well the embeddings are trained.
_EMBEDDINGS = Word2VecSettings(lines=30_000)
_SAMPLE = (
    "gensim:test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
)
# Of sage-tokenizer 2.0.
_PEER_WINDOW, _PEER_LINES = 2, 10_000

Numbers = dict[str, Any]


def prepare(folder: Path, *, text: str | None, lines: int, size: int) -> Numbers:
    """Fill the folder: lines, word types, BPE of `size` pieces, embeddings of some of the lines.

    text: None for the sample of Wikipedia that gensim ships. What is there already stays. Returns
    how much text it is.
    """
    if not (folder / "words.npz").exists():
        chosen = list(islice(read_lines(text or _write_sample(folder)), lines))
        write_text(folder / "lines.txt", "".join(f"{line}\n" for line in chosen))
        WordCorpus.from_lines(chosen, Normalizer()).save(folder / "words.npz")
    corpus = WordCorpus.load(folder / "words.npz")
    if not (folder / "pieces.txt").exists():
        model = train_bpe(corpus, size, TrainingSettings(ascii=False), "size")
        write_model(folder / "pieces.model", model)
        write_pieces(folder / "pieces.txt", pieces_of_model(read_model(folder / "pieces.model")))
    segmenter = GreedySegmenter(read_pieces(folder / "pieces.txt"))
    path = _embeddings_path(folder)
    if not path.exists():
        train_embeddings(corpus, segmenter, _EMBEDDINGS).save(path)
    _warm(corpus, Embeddings.load(path))
    _, offsets = segmenter.segment_words(corpus.types)
    return {"lines": corpus.n_lines, "tokens": int((np.diff(offsets) * corpus.counts).sum())}


def _write_sample(folder: Path) -> Path:
    """Write the lines of the sample of Wikipedia that gensim ships, and return the file."""
    path, form = folder / "sample.txt.zst", Form(key="text", format="mediawiki")
    extract_lines([package_file(_SAMPLE)], path, form, ExtractionSettings(language="en"))
    return path


class TimedPass:
    """A corpus made ready to take the losses of all pieces; a call returns the seconds it took."""

    def __init__(self, corpus: WordCorpus, embeddings: Embeddings, settings: SageSettings) -> None:
        """Prepare what does not depend on the embeddings' values."""
        pieces, self._embeddings = embeddings.pieces, embeddings
        decoder = make_decoder("greedy", corpus.types, pieces)
        self._losses = AblationLosses(corpus, pieces, decoder, settings)
        self._wanted = np.array([not is_single_character(piece) for piece in pieces])
        self._alive = np.ones(len(pieces), dtype=bool)
        self.lines = corpus.n_lines

    def first(self) -> float:
        """Take the losses with an empty cache of pair losses."""
        began = time.perf_counter()
        self._losses.use_embeddings(self._embeddings.target, self._embeddings.context)
        self._losses.losses(self._alive, self._wanted)
        return time.perf_counter() - began

    def again(self) -> float:
        """Take them with the pair losses of the last call in the cache, every sum anew."""
        # The sums of a vocabulary with fewer pieces are none that can be corrected.
        fewer = self._alive.copy()
        fewer[np.flatnonzero(self._wanted)[-1]] = False
        self._losses.losses(fewer, self._wanted & fewer)
        began = time.perf_counter()
        self._losses.losses(self._alive, self._wanted)
        return time.perf_counter() - began


def one_pass(folder: Path, *, threads: int) -> Numbers:
    """Take the losses of all pieces: with an empty cache of pair losses, and with a filled one."""
    corpus, embeddings = _load(folder)
    _warm(corpus, embeddings)
    timed = TimedPass(corpus, embeddings, SageSettings(threads=threads))
    return {"first": timed.first(), "filled": timed.again()}


def loop(folder: Path, *, threads: int, vocab_size: int, every_batch: bool) -> Numbers:
    """Prune to `vocab_size` without Word2Vec; every_batch: rank all pieces before each batch."""
    corpus, embeddings = _load(folder)
    _warm(corpus, embeddings)
    changes = {"rerank_every": 1, "candidates": len(embeddings.pieces)} if every_batch else {}
    return {"seconds": _prune(corpus, embeddings, vocab_size, threads, **changes)}


def word2vec(folder: Path, *, threads: int, **settings: Any) -> Numbers:
    """Train embeddings with some settings, all else by default."""
    corpus, embeddings = _load(folder)
    segmenter = GreedySegmenter(embeddings.pieces)
    began = _now()
    train_embeddings(corpus, segmenter, Word2VecSettings(**settings).on(threads))
    return _spent_since(began)


def pairs(folder: Path, *, threads: int, repeats: int) -> Numbers:
    """Train an epoch by blocks some times.

    Returns the number of pairs, the nanoseconds a pair of each repeat, and `multiply_adds`.
    """
    corpus, embeddings = _load(folder)
    text = SegmentedCorpus(corpus, GreedySegmenter(embeddings.pieces))
    nanoseconds: dict[str, list[float]] = {"clock": [], "processor": []}
    for number in range(repeats + 1):
        trainer = BlockTrainer(text, Word2VecSettings(epochs=1))
        began = _now()
        for _ in trainer.chunks(threads):
            pass
        ended = _now()
        count = sum(int(trainer._listed(chunk).offsets[-1]) for chunk in range(trainer.total))
        if number:  # the first one compiles
            for spent, first, last in zip(nanoseconds.values(), began, ended, strict=True):
                spent.append((last - first) / count * 1e9)
    return {"pairs": count, **nanoseconds, "multiply_adds": multiply_adds()}


def peers(folder: Path, *, threads: int, repeats: int, peers: str) -> Numbers:
    """Take one pass of losses of all pieces with sage-tokenizer 2.0, and one here.

    Both get the same normalised lines, pieces and embeddings (one matrix for both sides), a window
    of 2, greedy longest match, the total loss, and as many workers. The passes alternate.

    The peer segments the text in each pass, and so that it ends in a minute it gets only the first
    lines. The library gets these too, and then all. What it prepares once for any number of passes
    (the corpus as word types, the decoder) does not count; the cache of pair losses, which depends
    on the embeddings, is part of a pass. The peer looks for finished workers once a second: its
    seconds are whole ones and a bit.

    Returns lines, seconds (medians) and ratios, the peer's over the library's: `ratio` on the same
    lines, `ratio_per_line` by a line's share of the pass over all; `_again` is with the cache
    filled.
    """
    lines = list(read_lines(folder / "lines.txt"))
    embeddings = Embeddings.load(_embeddings_path(folder))
    _prepared_pass(lines[:100], embeddings, threads).first()  # compile
    few, every = (
        _prepared_pass(part, embeddings, threads) for part in (lines[:_PEER_LINES], lines)
    )
    with tempfile.TemporaryDirectory() as place:
        run = _peers_pass(lines[:_PEER_LINES], embeddings, threads, Path(peers), Path(place))
        rounds = [
            (run(), few.first(), few.again(), every.first(), every.again()) for _ in range(repeats)
        ]
    peer, first, again, first_all, again_all = map(median, zip(*rounds, strict=True))
    per_line = peer / few.lines
    return {
        "lines": few.lines,
        "all_lines": every.lines,
        "peer_seconds": peer,
        "seconds": first,
        "seconds_again": again,
        "ratio": peer / first,
        "ratio_again": peer / again,
        "ratio_per_line": per_line / (first_all / every.lines),
        "ratio_per_line_again": per_line / (again_all / every.lines),
    }


def _prepared_pass(lines: Sequence[str], embeddings: Embeddings, threads: int) -> TimedPass:
    """Prepare lines for passes with one matrix for both sides."""
    both = Embeddings(embeddings.pieces, embeddings.target, embeddings.target)
    corpus = WordCorpus.from_lines(lines, Normalizer())
    return TimedPass(corpus, both, SageSettings(window=_PEER_WINDOW, threads=threads))


def _peers_pass(
    lines: Sequence[str], embeddings: Embeddings, threads: int, peers: Path, folder: Path
) -> Callable[[], float]:
    """Write the same lines and pieces into `folder`; return what runs sage-tokenizer 2.0 on them.

    A call returns the seconds for the losses of all pieces, without the start of the program.
    """
    normalizer, output = Normalizer(), folder / "seconds.json"
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
        return read_json(output)

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


def bpe(folder: Path, *, size: int, text: str | None) -> Numbers:
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
    return spent | {"memory": spent["memory"] - before, "multiply_adds": multiply_adds()}


def whole(
    folder: Path, *, threads: int, initial_size: int, vocab_size: int, text: str | None, preset: str
) -> Numbers:
    """Make a SaGe tokenizer of the lines, from text to folder.

    text: a file in their place. Reading Numba's cache counts here, as warming up would count as
    memory. Returns seconds, processor seconds and the peak memory, the seconds of each stage, and
    `multiply_adds`.
    """
    began, stages = _now(), _StageClock()
    with tempfile.TemporaryDirectory(dir=folder) as place:
        train(
            Path(text or folder / "lines.txt"),
            vocab_size=vocab_size,
            initial_size=initial_size,
            preset=preset,
            threads=threads,
            output=Path(place) / "tokenizer",
            progress=stages,
        )
        stages.stop()
        spent = _spent_since(began)
    return spent | {"stages": stages.seconds, "multiply_adds": multiply_adds()}


def encode(folder: Path, *, threads: int, vocab_size: int, repeats: int) -> Numbers:
    """Encode the first lines, in turns: by the library, by sentencepiece and by `tokenizers`.

    The library's tokenizer is of the preset counts, the others are BPE of as many pieces, all of
    the same lines. The library's store of words is empty each time. `exported` is its tokenizer as
    `transformers` uses it.

    Returns the characters of the lines, and the seconds by the clock of each repeat.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    lines = list(islice(read_lines(folder / "lines.txt"), _ENCODED_LINES))
    with tempfile.TemporaryDirectory(dir=folder) as place:
        train(lines, vocab_size=vocab_size, preset="counts", output=Path(place) / "tokenizer")
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, model_type="bpe",
            vocab_size=vocab_size + SENTENCEPIECE_SPECIALS, minloglevel=2,
        )  # fmt: skip
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        bpe = ByteLevelBPETokenizer()
        bpe.train_from_iterator(lines, vocab_size=vocab_size, show_progress=False)
        exported = load(Path(place) / "tokenizer").tokenizer()
        spent: dict[str, list[float]] = {}
        for _ in range(repeats):
            encoder = load(Path(place) / "tokenizer")
            for name, run in {
                "encode_lines": lambda encoder=encoder: sum(map(len, encoder.encode_lines(lines))),
                "sentencepiece": lambda: processor.encode(lines, num_threads=threads),
                "exported": lambda: exported.encode_batch(lines),
                "tokenizers": lambda: bpe.encode_batch(lines),
            }.items():
                began = time.perf_counter()
                run()
                spent.setdefault(name, []).append(time.perf_counter() - began)
    return {"characters": sum(map(len, lines)), "seconds": spent}


class _StageClock:
    """Listens to a training run: time goes to the stage that was last heard of."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage, self._since = "start", time.perf_counter()

    def __call__(self, progress: Progress) -> None:
        self.stop()
        self._stage = progress.stage

    def stop(self) -> None:
        """Count the time since the last call for the current stage."""
        now = time.perf_counter()
        self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._since
        self._since = now


def multiply_adds(size: int = 384, repeats: int = 20) -> float:
    """Return how many multiply-adds of float32 a core does in a nanosecond, at best.

    By products of matrices, of which a core does as many as it can. They say how fast this machine
    was at this moment. Processor time is counted, and only one thread may work.
    """
    matrix = np.ones((size, size), np.float32)
    matrix @ matrix
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        matrix @ matrix
        seconds.append(time.process_time() - began)
    return size**3 / min(seconds) / 1e9


def _load(folder: Path) -> tuple[WordCorpus, Embeddings]:
    return WordCorpus.load(folder / "words.npz"), Embeddings.load(_embeddings_path(folder))


def _embeddings_path(folder: Path) -> Path:
    """Name embeddings by their settings: another default does not find the old ones."""
    settings = fingerprint(dataclasses.asdict(_EMBEDDINGS))
    return folder / f"embeddings-{settings[:8]}.npz"


def _head(corpus: WordCorpus, lines: int) -> WordCorpus:
    """Return the first lines, with their word types alone: these are in order of appearance."""
    offsets = corpus.line_offsets[: lines + 1]
    tokens = corpus.tokens[: offsets[-1]]
    return WordCorpus(corpus.types[: int(tokens.max()) + 1], tokens, offsets)


def _warm(corpus: WordCorpus, embeddings: Embeddings) -> None:
    """Compile all that pruning needs: two batches of one piece."""
    final = len(embeddings.pieces) - 2
    _prune(_head(corpus, _WARM_LINES), embeddings, final, 1, prune_batch=1)


def _prune(
    corpus: WordCorpus, embeddings: Embeddings, vocab_size: int, threads: int, **changes: Any
) -> float:
    """Prune by the paper's settings but for `changes`, without Word2Vec; return the seconds."""
    sizes = {"vocab_size": vocab_size, "threads": threads}
    settings = settings_from("printed", retrain=False, **sizes, **changes)
    began = time.perf_counter()
    build_sage(corpus, embeddings.pieces, None, embeddings, settings, Word2VecSettings())
    return time.perf_counter() - began


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


def main() -> None:
    """Run a measure, and print its numbers on the last line."""
    name, folder, parameters = sys.argv[1:]
    measures = (prepare, one_pass, loop, word2vec, pairs, peers, lengthen, bpe, whole, encode)
    measure = {function.__name__: function for function in measures}[name]
    try:
        print(json.dumps(measure(Path(folder), **json.loads(parameters))))
    except UserError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
