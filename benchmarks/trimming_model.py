"""What a model is and costs before and after `sagevocab.prune` and `sagevocab.prune_model`.

    python benchmarks/trimming_model.py TEXT OTHER [--sizes 6000,5000,4000] [--updates 400]
    python benchmarks/trimming_model.py TEXT --model FOLDER --sizes 64000,32000

A text has a sentence a line. Without a model, a byte-level BPE of 8,000 entries and a causal
transformer of two layers are trained on both texts, half and half. Then tokenizer and model lose
what TEXT needs least; nothing is trained again. A FOLDER holds a causal language model with a
tokenizer.json; its rows must fit into memory. Of a seeded order of TEXT's lines the first 30,000
train and choose the pieces; of the next 5,000, 1,000 of fewer than 256 bytes are held out. Numbers
are of these: tokens a line, and bits a character, which compare tokenizers of any size.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn.utils.rnn import pad_sequence
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)
from trimming import LINES, lines_of

import sagevocab

ENTRIES, HIDDEN, LAYERS, HEADS, LONGEST = 8000, 128, 2, 4, 256
ROWS, RATE, WARMUP = 64, 3e-3, 50  # lines of an update, its largest learning rate, first updates
ASKED = 1000  # held-out lines
END = "<|endoftext|>"  # begins a line


def train_model(folder: Path, lines: Sequence[str], updates: int) -> None:
    """Train a tokenizer and a model on lines, and save both."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=ENTRIES, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    saved = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=END, eos_token=END)
    saved.save_pretrained(folder)
    torch.manual_seed(1)
    config = GPT2Config(
        vocab_size=tokenizer.get_vocab_size(),
        n_positions=LONGEST,
        n_embd=HIDDEN,
        n_layer=LAYERS,
        n_head=HEADS,
        bos_token_id=0,
        eos_token_id=0,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.01)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda update: min((update + 1) / WARMUP, 1 - update / updates)
    )
    waiting = cycle(lines)
    for update in range(updates):
        symbols, targets = batch_of(saved, list(islice(waiting, ROWS)), 0)
        loss = model(symbols, labels=targets).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rate.step()
        optimizer.zero_grad()
        if update % 100 == 99:
            print(f"update {update + 1} of {updates}: loss {loss:.3f}", flush=True)
    model.save_pretrained(folder)


def batch_of(
    tokenizer: PreTrainedTokenizerFast, lines: Sequence[str], begin: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the ids of lines, each behind its beginning, and those to predict."""
    ids = tokenizer(list(lines), add_special_tokens=False)["input_ids"]
    rows = [torch.tensor([begin, *one[: LONGEST - 1]]) for one in ids]
    targets = pad_sequence(rows, batch_first=True, padding_value=-100)
    return targets.clamp(min=0), targets


@torch.no_grad()
def measure(folder: Path, lines: Sequence[str]) -> tuple[int, float, float, float]:
    """Return a model's entries, its size in MB, and of lines tokens a line and bits a character."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    config = model.config
    begin = config.eos_token_id if config.bos_token_id is None else config.bos_token_id
    nats = tokens = 0
    for part in parts_of(sorted(lines, key=len)):
        symbols, targets = batch_of(tokenizer, part, begin)
        tokens += int((targets[:, 1:] >= 0).sum())
        logits = model(symbols).logits[:, :-1].double()
        nats += torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), targets[:, 1:].flatten(), reduction="sum"
        ).item()
    size = sum(file.stat().st_size for file in folder.glob("*.safetensors")) / 1e6
    characters = sum(map(len, lines))
    return len(tokenizer), size, tokens / len(lines), nats / math.log(2) / characters


def parts_of(lines: Sequence[str], size: int = 8) -> Iterator[Sequence[str]]:
    """Yield some lines at a time."""
    for start in range(0, len(lines), size):
        yield lines[start : start + size]


def main() -> None:
    """Print a table: a row a model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("other", type=Path, nargs="?")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--sizes", default="6000,5000,4000")
    parser.add_argument("--updates", type=int, default=400)
    arguments = parser.parse_args()
    if not arguments.model and not arguments.other:
        parser.error("give OTHER, a second text to train a model on, or --model")
    lines = lines_of(arguments.text)
    lines, heldout = lines[:LINES], lines[LINES:]
    heldout = [line for line in heldout if len(line.encode()) < LONGEST][:ASKED]
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        whole = arguments.model or work / "whole"
        if not arguments.model:
            both = [*lines, *lines_of(arguments.other)[:LINES]]
            random.Random(1).shuffle(both)
            train_model(whole, both, arguments.updates)
        rows = {"whole": measure(whole, heldout)}
        draw = random.Random(1)
        entries = sorted(AutoTokenizer.from_pretrained(whole).get_vocab())
        ways = {
            "by `tokens`": {},
            "by `frequency`": {"by": "frequency"},
            "at random": {"scores": {piece: draw.random() for piece in entries}},
        }
        for size in map(int, arguments.sizes.split(",")):
            for name, how in ways.items():
                sagevocab.prune(whole, lines, size, **how, output=work / "pruned", force=True)
                sagevocab.prune_model(whole, work / "pruned", work / "after", force=True)
                rows[f"{name}, {size}"] = measure(work / "after", heldout)
    print("| | entries | MB | tokens a line | bits a character | more bits |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, (count, size, tokens, bits) in rows.items():
        more = f"{100 * (bits / rows['whole'][3] - 1):+.1f} %"
        print(f"| {name} | {count:,} | {size:.1f} | {tokens:.1f} | {bits:.3f} | {more} |")


if __name__ == "__main__":
    main()
