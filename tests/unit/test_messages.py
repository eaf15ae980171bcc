"""What malformed input gives: one line that names the place and the way out.

A row is what the user runs or writes, the files, and words of the line.
"""

from __future__ import annotations

import bz2
import gzip
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import yaml
import zstandard

from reproduction.config import load_config
from reproduction.job import job
from reproduction.run import Run
from sagevocab import cli
from sagevocab.bpe import TrainingSettings, train_bpe
from sagevocab.errors import UserError
from sagevocab.progress import Progress
from sagevocab.text import read_lines
from sagevocab.training import train
from sagevocab.words import Normalizer, WordCorpus
from scripts_text import lines_in

ROOT = Path(__file__).parents[2]
Files = Mapping[str, bytes | Callable[[bytes], bytes]]


def cut(data: bytes) -> bytes:
    """Leave out the last third."""
    return data[: len(data) * 2 // 3]


def flip(place: int) -> Callable[[bytes], bytes]:
    """Return what changes one bit."""
    return lambda data: data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :]


def parquet(**columns: list) -> bytes:
    """Return a table as parquet."""
    return pd.DataFrame(columns).to_parquet(index=False)


WORDS = {"type": "Whitespace"}


def hub(pre_tokenizer: Any = WORDS, **model: Any) -> bytes:
    """Return a tokenizer.json of two pieces."""
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [], **model}
    rest = dict.fromkeys(("truncation", "padding", "normalizer", "post_processor", "decoder"))
    spec = {"version": "1.0", **rest, "added_tokens": [], "pre_tokenizer": pre_tokenizer}
    return json.dumps({**spec, "model": model}).encode()


CZECH = "".join(f"{line}\n" for line in lines_in("czech", 300)).encode()
TABLE = b'{"id": 1, "text": "some words"}\n{"id": 2, "text": null}\n'
LISTED = "".join(f"{piece}\n" for piece in ("▁", *"abcdeěš", "▁a", "ab", "▁ab")).encode()

# --- sagevocab: what is wrong, the command, the files that are given or changed.
# text.txt, tok/ (a tokenizer) and own.model (of sentencepiece) are there and whole.

PRUNE = "train text.txt -o out --vocab-size 200"
TRAIN = f"{PRUNE} --initial-size 250"
TEXTS = [
    ("train bad.txt -o out", {"bad.txt": b""}, "bad.txt: holds no words"),
    ("train bad.txt -o out", {"bad.txt": b"one two\nthree\0four\n"}, "bad.txt:2: contains NUL"),
    ("train bad.txt -o out", {"bad.txt": b"one\ntwo\nthr\xffee\n"}, "bad.txt:3: is not UTF-8"),
    ("train bad.txt -o out", {"bad.txt": b"a few words only\n"}, "--initial-size: bad.txt yields"),
    ("train bad.txt -o out", {"bad.txt": "full ▅\n".encode() * 90}, "bad.txt: 90 of the 180 words"),
    ("train bad.gz -o out", {"bad.gz": cut(gzip.compress(CZECH))}, "bad.gz: the compressed file"),
    ("encode tok bad.xz", {"bad.xz": b""}, "bad.xz: has no bytes, not even compressed"),
    ("train bad.gz -o out", {"bad.gz": flip(-8)(gzip.compress(CZECH))}, "bad.gz: the compressed"),
    ("train none.txt -o out", {}, "none.txt: cannot be read"),
    ("train Salesforce/wikitext -o out", {}, "Salesforce/wikitext: cannot be read"),
    ("train own -o out", {"own/letter": b"dear"}, "is a folder"),
    ("train tok -o out", {}, "is a tokenizer, not text"),
    ("train bad.gz -o out", {"bad.gz": CZECH}, "bad.gz: is not compressed, though its name ends"),
    ("train tok -o text.txt", {}, "text.txt: is a file, and -o names a new folder"),
    ("train bad.jsonl -o out", {"bad.jsonl": TABLE}, "bad.jsonl: is a table with the columns id,"),
    ("train bad.jsonl --column txt -o out", {"bad.jsonl": TABLE}, "bad.jsonl: has no column 'txt'"),
    ("encode tok bad.jsonl --column id", {"bad.jsonl": TABLE}, "bad.jsonl: column 'id', row 1: is"),
    ("train text.txt --column text -o out", {}, "text.txt: is no table"),
    ("train bad.pq -o out", {"bad.pq": parquet(text=["a"])}, "bad.pq: is a table with the columns"),
    ("encode tok a.pq --column a", {"a.pq": cut(parquet(a=["b"]))}, "a.pq: cannot be read as"),
    ("train bad.json --column text -o out", {"bad.json": b"[{}]"}, "bad.json: is one list in JSON"),
    ("train bad.zip -o out", {"bad.zip": b"PK\3\4 and so on"}, "bad.zip: is a zip archive"),
    ("train text.txt -o text.txt", {}, "text.txt: is a file"),
    ("train text.txt -o tok", {}, "already exists"),
    ("train text.txt -o own --force", {"own/letter": b"dear"}, "holds something else than a"),
    ("export tok -o tok --force", {}, "is or holds the vocabulary to export"),
]
SETTINGS = [
    (f"{PRUNE} --initial bpee.txt", {}, "--initial: bpee.txt is neither bpe nor unigram nor a"),
    (f"{PRUNE} --initial bert-base-uncased", {}, "--initial: bert-base-uncased is neither bpe nor"),
    (f"{TRAIN} --vocab-size 300", {}, "--vocab-size: 300 is above the 250 initial pieces, from"),
    (f"{TRAIN} --vocab-size 30", {}, "--vocab-size: 30 is below the 125 single characters, which"),
    (f"{TRAIN} --initial-size 20 --vocab-size 10", {}, "--initial-size: 20 pieces are too few for"),
    (f"{TRAIN} --character-coverage 0.1", {}, "--character-coverage: 0.1 is not allowed"),
    (f"{TRAIN} --loss odd", {}, "--loss: 'odd' is unknown"),
    (f"{TRAIN} --candidates 5", {}, "--candidates: 5 run out before the next ranking"),
    (f"{TRAIN} --max-word-chars 9999999999", {}, "--max-word-chars: 9999999999 is not allowed"),
    (f"{TRAIN} --seed -1", {}, "--seed: -1 is not allowed"),
    (f"{TRAIN} --language x:y", {}, "--language: 'x:y' is no language code"),
    (f"{TRAIN} --initial unigram --decoder merges", {}, "--decoder: merges needs an initial"),
    (f"{TRAIN} --initial tok", {}, "--initial-size: is for a vocabulary that is trained on the"),
    (f"{PRUNE} --initial own.model --normalization nfkc", {}, "--normalization: own.model brings"),
    (f"{PRUNE} --lossless --normalization nfkc", {}, "--normalization: has no meaning with"),
    (f"{TRAIN} --initial unigram --lossless", {}, "--lossless: pieces of bytes are trained, not"),
    (f"{TRAIN} --template [CLS]", {}, "--template: '[CLS]' lacks $A, the place of a text"),
    (f"{PRUNE} --initial hub.json --special-tokens gpt", {"hub.json": hub()}, "--special-tokens:"),
]
TOKENIZERS = [
    ("encode none.model text.txt", {}, "none.model does not exist"),
    ("compare bert-base-uncased --text text.txt", {}, "bert-base-uncased does not exist"),
    ("encode own text.txt", {"own/letter": b"dear"}, "own holds no tokenizer"),
    ("encode bad.txt text.txt", {"bad.txt": b""}, "bad.txt holds no pieces"),
    ("encode bad.txt text.txt", {"bad.txt": "▁a\n".encode("utf-16")}, "bad.txt is not UTF-8 text"),
    ("encode bad.txt text.txt", {"bad.txt": LISTED + b"ab\n"}, "bad.txt:12: 'ab' is on line"),
    ("export bad.txt -o out", {"bad.txt": LISTED + b"a b\n"}, "bad.txt:12: the piece 'a b'"),
    ("compare tok bad.txt --text text.txt", {"bad.txt": b"a\nb\n"}, "no piece in bad.txt starts"),
    ("encode own.model text.txt", {"own.model": b""}, "own.model: is no sentencepiece model, or"),
    ("encode tok text.txt", {"tok/tokenizer.json": cut}, "tok/tokenizer.json: is damaged or"),
    ("encode tok text.txt", {"tok/tokenizer.json": flip(900)}, "tok/tokenizer.json is no Hugging"),
    ("encode tok text.txt", {"tok/pieces.txt": cut}, "tok/pieces.txt: is not UTF-8"),
    ("export tok -o out", {"tok/pieces.txt": flip(8)}, "tok/pieces.txt: lists other pieces than"),
    (f"{PRUNE} --initial hub.json", {"hub.json": hub(pre_tokenizer=None)}, "--initial: hub.json:"),
    (f"{PRUNE} --initial hub.json", {"hub.json": hub(byte_fallback=True)}, "--initial: hub.json:"),
    (
        f"{PRUNE} --initial hub.json",
        {"hub.json": hub(end_of_word_suffix="</w>")},
        "--initial: hub.json:",
    ),
    (
        f"{PRUNE} --initial hub.json",
        {"hub.json": hub(type="WordLevel", unk_token="a")},
        "--initial: hub.json: a",
    ),
    (
        "encode tok text.txt",
        {
            "tok/tokenizer_config.json": lambda data: data.replace(
                b'"method"', b'"format": 9, "method"'
            )
        },
        "tok/tokenizer_config.json:",
    ),
    (f"{PRUNE} --initial own", {"own/letter": b"dear"}, "--initial: own holds no pieces.txt and"),
    (
        "encode tok text.txt",
        {"tok/tokenizer_config.json": b'["sagevocab"]'},
        "tok/tokenizer_config.json:",
    ),
]

# --- snakemake: what a user writes into the configuration

# What is written; words of the line.
CONFIGURATIONS = re.findall(
    r"^(\S.*)\n    (.*)$",
    """\
seeds: 3
    seeds: unknown
languages: [de]
    languages: 'de' has no stanza in language_settings
tokenizer_settings: {sage: {loss_lines: 10}}
    tokenizer_settings.sage.loss_lines: a total loss is over all lines
lm: {tokenizers: [mine]}
    lm.tokenizers: 'mine' is not in tokenizers
task_settings: {cola: {source: {train: &one {path: config.yaml, format: jsonl}, validation: *one}}}
    task_settings.cola.source: train and validation are the same file
lm: {pretraining_seeds: [2, 1]}
    lm.pretraining_seeds: 1 is the seed of the run's own models
lm: {pretrain: {hours: }}
    lm.pretrain: has no budget; set hours, steps or tokens
lm: {nodes: 2}
    lm.nodes: removed: one machine trains a model
lm: {pretrain: {replay: notes.txt}}
    lm.pretrain.replay: removed: a budget in updates repeats exactly
lm: {finetune: {per_gpu: 4}}
    lm.finetune.per_gpu: removed: a fine-tuning has a GPU of its own
lm: {pretrain: {steps: 1, tokens: 1}}
    lm.pretrain: steps and tokens are two budgets; set one of them to null
lm: {pretrain: {sequence_length: 64}}
    lm.finetune.max_sequence_length: 128 is more than the models
lm: {pretrain: {heads: 7}}
    lm.pretrain.heads: 7 does not divide hidden
task_settings: {stsb: {metric: accuracy}}
    task_settings.stsb.metric: accuracy does not fit this task
language_settings: {en: {source: {path: no/such.bz2, format: text}}}
    language_settings.en.source.path: there is no file no/such.bz2
language_settings: {tr: {morphology: {path: no/such.tsv, format: derivation}}}
    language_settings.tr.morphology.path: there is no file no/such.tsv
language_settings: {en: {source: {path: 'a{b}.txt'}}}
    language_settings.en.source.path: Snakemake takes the braces in
{lm: {enabled: false}, tokenizers: [x], tokenizer_settings: {x: {method: external, path: '{b}'}}}
    tokenizer_settings.x.path: Snakemake takes the braces in {b} for
language_settings: {en: {source: {path: config.dat}}}
    language_settings.en.source.format: missing, and the name does
{tokenizers: [x], tokenizer_settings: {x: {method: external}}}
    tokenizer_settings.x.path: missing
language_settings: {en: {source: {path: [notes.txt, no/such.xz], format: text}}}
    language_settings.en.source.path: there is no file no/such.xz
probes: {tasks: [mine]}
    probes.tasks: 'mine' has no stanza in task_settings
probes: {tasks: [mrpc]}
    probes.tasks: 'mrpc' can't be probed: it is not one text with
probes: {seeds: []}
    probes.seeds: 'stsb' in probes.tasks needs vectors
lm: {languages: [de]}
    lm.languages: 'de' has no stanza in language_settings
figures: {tokenizers: [mine]}
    figures.tokenizers: 'mine' has no stanza in tokenizer_settings
studies: {enabled: false}
    studies: removed
analysis: {heuristics: [bpe]}
    analysis.heuristics: 'bpe' has no stanza in tokenizer_settings of
tokenizer_settings: {sage_exact: {seeds: 2}}
    tokenizer_settings.sage_exact.seeds: a tokenizer of
tokenizer_settings: {sage: {initial_size: 10}}
    tokenizer_settings.sage.vocabulary.final_size: 16000 is above
tokenizer_settings: {random: {initial_size: 10}}
    tokenizer_settings.random.initial_size: 10 is below
tokenizer_settings: {sage_unigram: {initial_size: 24000}}
    tokenizer_settings.sage_unigram.initial_size: is for prunings of BPE
languages: [no]
    languages: False is not allowed
tokenizers: [bpe, bpe]
    tokenizers: 'bpe' is there twice
tokenizer_settings: {sage_released: {label: SaGe}}
    tokenizer_settings.sage_released.label: 'SaGe' is sage's, too
task_settings: {mrpc: {label: QQP}}
    task_settings.qqp.label: 'QQP' is mrpc's, too
language_settings: {tr: {name: English}}
    language_settings.tr.name: 'English' is en's, too
domain_settings: {legal: {name: quora questions}}
    domain_settings.legal.name: 'Quora questions' is quora's, too
{domains: [tr], domain_settings: {tr: {name: A, language: en, source: {path: a.txt}}}}
    domains: 'tr' is the name of a training corpus
{lm: {enabled: no}, tokenizers: [bpe_initial], tokenizer_settings: {bpe_initial: {method: random}}}
    tokenizers: 'bpe_initial' is a folder of the workflow's own
sage: 
    sage: None is not allowed
language_settings: {en: {source: {dataset: }}}
    language_settings.en.source: none of path, constructed, package,
tokenizer_settings: {sage_released: {initial: unigram}}
    tokenizer_settings.sage_released.decoder: merges needs the merges
tokenizer_settings: {wordpiece: {initial: unigram}}
    tokenizer_settings.wordpiece.initial: method wordpiece prunes
tokenizer_settings: {frequency: {seeds: 3}}
    tokenizer_settings.frequency.seeds: method frequency has no seed
{lm: {enabled: false}, tokenizers: [x], tokenizer_settings: {x: {method: bpe}}}
    tokenizers: x: the one tokenizer of method bpe is named bpe
tokenizer_settings: {frequency: {method: swallowed}}
    tokenizer_settings.frequency.method: must be frequency
tokenizer_settings: {unigram: {method: wordpiece}}
    tokenizer_settings.unigram: must be of method unigram:
download_dir: [a]
    download_dir: ['a'] is not allowed
{tokenizers: [x], tokenizer_settings: {x: {method: external, path: none}}, lm: {enabled: false}}
    tokenizer_settings.x.path: none does not exist
{tokenizers: [x], tokenizer_settings: {x: {method: external, path: a.json}}, lm: {enabled: false}}
    tokenizer_settings.x.path: a.json is no tokenizer or cannot be
language_settings: {en: {source: {constructed: cola}}}
    language_settings.en.source.constructed: only the rows of tasks
task_settings: {cola: {source: {train: {constructed: colla, rows: 5}}}}
    task_settings.cola.source.train.constructed: there is no 'colla'
download_dir: ""
    download_dir: '' is not allowed; give text of 1 or more
true: 3
    1: True is not allowed; give keys in quotes
figures: {width: narrow}
    figures.width: 'narrow' is unknown; choose full or column
analysis: {random_prunings: 9}
    analysis.random_prunings: removed
language_settings: {en: {source: {generator: x}}}
    language_settings.en.source.generator: removed: leave it out; the source's key `constructed`
task_settings: {cola: {source: {train: {generator: x}}}}
    task_settings.cola.source.train.generator: removed: leave it out; the source's key `constructed`
tokenizer_settings: {bpe: {method: bpe, loss: mean_piece_lines}}
    tokenizer_settings.bpe.loss: method bpe is no reading of SaGe; leave it out
tokenizer_settings: {frequency: {method: frequency, seed: 9}}
    tokenizer_settings.frequency.seed: method frequency has no seed; leave it out
tokenizer_settings: {sage: {method: sage, preset: printed, path: a.json}}
    tokenizer_settings.sage.path: method sage is not from elsewhere; leave it out
scheduler: tcp://host:8786
    scheduler: removed: one machine maps what is larger than its memory
""",
    re.MULTILINE,
)

CONFIG_FILES = [
    ("no YAML", b"sage: {prune_batch: 3\n", "config.yaml:2: is not YAML"),
    ("tabs", b"sage:\n\tprune_batch: 3\n", "config.yaml:2: is not YAML"),
    ("a list", b"- languages\n", "config.yaml: must hold keys and their values"),
    ("text", b"languages\n", "config.yaml: must hold keys and their values"),
    ("Latin-1", b"run: caf\xe9\n", "config.yaml: cannot be read as YAML"),
    ("code", b"run: !!python/object/apply:pathlib.Path.touch [hacked]\n", "config.yaml:1: is not"),
    ("a name that is not defined", b"run: *other\n", "config.yaml:1: is not YAML"),
]

# --- snakemake: what is wrong with a text, its source in the configuration, the file's content

SITE = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">'
ARTICLE = "<page><title>A</title><ns>0</ns><revision><text>Some text. </text></revision></page>"
DUMP = f"{SITE}{ARTICLE * 3}</mediawiki>".encode()
BOMB = b'<!DOCTYPE m [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><mediawiki>&b;</mediawiki>'
CORPORA = [
    ("{path: bad.xml}", b"", "is not a MediaWiki XML dump, or is damaged before its"),
    ("{path: bad.xml}", b"<html><body/></html>", "is not a MediaWiki XML dump"),
    ("{path: bad.xml}", DUMP[:-40], "the XML breaks off after 2 pages"),
    ("{path: bad.xml}", DUMP.replace(b"<ns>0", b"<ns>1"), "a dump without articles"),
    ("{path: bad.xml.bz2}", cut(bz2.compress(DUMP)), "the compressed file is truncated"),
    ("{path: bad.xml.bz2}", b"BZh9" + b"junk" * 50, "the compressed file is damaged"),
    ("{path: bad.txt}", b"one\ncaf\xe9\n", "is not UTF-8"),
    ("{path: bad.txt}", b"\n\n", "holds no usable line of text"),
    ("{path: bad.txt.zst}", cut(zstandard.compress(CZECH)), "the compressed file is truncated"),
    ("{path: bad.csv, column: text}", b"a,b\n1,2\n", "language_settings.en.source.column: bad.csv"),
    ("{path: bad.parquet, column: text}", parquet(txt=["a"]), "has no column 'text'"),
    ("{path: bad.jsonl, column: a}", b'{"a": 5}\n', "column 'a', row 1: is of type int"),
    ("{path: bad.jsonl, column: a}", b'{"a": "b"}\n{"a": \n', "is not JSON"),
    ("{path: bad.jsonl, column: a}", b'{"a": "b"}\n[1]\n', "is not a JSON object, which every"),
    ("{path: bad.csv, column: a}", b"a,b\n1\n", "has more or fewer fields than the header"),
    ("{path: bad.csv, column: a}", b'a,b\n1,"2\n', "unexpected end of data"),
    ("{path: bad.parquet, column: a}", b"PAR1 but not really", "cannot be read as parquet"),
    ("{path: bad.conllu}", b"# text = a\n1 a\n", "is no CoNLL-U token, which has a number and 10"),
]

# --- snakemake: what is wrong with a task, its kind, the file and its content

TASKS = [
    ("labels", "bad.jsonl", b"", "holds no rows"),
    ("labels", "bad.jsonl", b'{"s": 5, "l": 1}\n', "column 's', row 1: 5 is not text"),
    ("labels", "bad.jsonl", b'{"s": "a", "l": null}\n', "column 'l', row 1: no label"),
    ("labels", "bad.csv", b"s,l\na,2\n", "column 'l', row 1: unknown label '2'"),
    ("scores", "bad.csv", b"s,l\na,x\n", "column 'l', row 1: the score 'x' is no finite number"),
    ("scores", "bad.csv", b"s,l\na,-1\n", "column 'l': no label"),
    ("labels", "bad.csv", b"s,l\na,1\n", "of its 1 rows the share 0.75 to 1 holds none"),
    ("tags", "bad.conll", b"one two\nthree\n", "has one column, CoNLL needs a token and a tag"),
    ("tags", "bad.conll", b"a Z-PER\n", "column 'ner_tags', row 1: tag 'Z-PER' is no prefix and"),
    ("tags", "bad.conll", b"a B\nb I\n", "column 'ner_tags': tag 'B' names no class"),
    ("tags", "bad.conll", b"a B-PER\nb LOC\n", "column 'ner_tags': tags with a prefix"),
    ("tags", "bad.jsonl", b'{"tokens": ["a"], "ner_tags": [1]}\n', "column 'ner_tags', row 1:"),
    ("names", "bad.jsonl", b'{"tokens": ["a"], "ner_tags": [2]}\n', "row 1: class number 2 is out"),
    ("names", "bad.jsonl", b'{"tokens": ["a"], "ner_tags": ["MISC"]}\n', "column 'ner_tags', row"),
    ("tags", "bad.jsonl", b'{"tokens": ["a"], "ner_tags": [null]}\n', "column 'ner_tags', row 1:"),
    ("tags", "bad.jsonl", b'{"tokens": ["a"], "ner_tags": null}\n', "column 'ner_tags', row 1:"),
    ("tags", "bad.jsonl", b'{"tokens": ["a", "b"], "ner_tags": ["O"]}\n', "column 'ner_tags', row"),
    ("tags", "bad.jsonl", b'{"tokens": "a b", "ner_tags": ["O"]}\n', "column 'tokens', row 1: is"),
]

# --- snakemake: files between jobs, changed after the job that wrote them; the rule that reads them

BETWEEN = [
    ("a cut corpus", "index_words", "corpus/en.txt.zst", cut, "results/paper/corpus/en.txt.zst:"),
    (
        "a flipped bit in words",
        "train_embeddings",
        "corpus/en.train.words.npz",
        flip(9),
        "results/paper/corpus/en.train.words.npz:",
    ),
    (
        "a flipped bit in pieces",
        "train_embeddings",
        "vocab/en/bpe_initial/pieces.txt",
        flip(5),
        "results/paper/vocab/en/bpe_initial/pieces.txt:",
    ),
]

# --- what is wrong with the progress of killed work, which resumes; a file of it

FOLDER = ".out.state/sagevocab"
CHECKPOINTS = [
    (TRAIN, f"{FOLDER}.initial/sentencepiece.model", cut, "is damaged"),
    (TRAIN, f"{FOLDER}.embeddings/blocks.npz", cut, "is damaged"),
    (TRAIN, f"{FOLDER}.pruning/pruning.npz", flip(-300), "is damaged"),
]

# --- snakemake: what is wrong, its options, the files that are given

OPTIONS = [
    ("a profile that is not there", "--workflow-profile profiles/slrum", {}, "--workflow-profile:"),
    ("no SLURM on this machine", "--workflow-profile profiles/slurm", {}, "executor slurm: this"),
    (
        "an unknown key",
        "--workflow-profile own",
        {"own/config.yaml": b"keep_going: true\n"},
        "error: unrecognized",
    ),
    ("no such configuration", "--configfile none.yaml", {}, "[Errno 2] No such file or directory:"),
    (
        "a configuration with tabs",
        "--configfile bad.yaml",
        {"bad.yaml": b"sage:\n\tseed: 1\n"},
        "Config file is not valid",
    ),
]

# --- running the rows


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text, a tokenizer and a model that are what they should be."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "text.txt").write_bytes(CZECH)
    (folder / "listed.txt").write_bytes(LISTED)
    assert cli.main(["export", str(folder / "listed.txt"), "-o", str(folder / "tok")]) == 0
    settings = TrainingSettings(character_coverage=1.0, ascii=False)
    corpus = WordCorpus.from_lines(read_lines(folder / "text.txt"), Normalizer())
    train_bpe(corpus, 250, folder / "own.model", settings, "size")
    return folder


@pytest.fixture(scope="module")
def killed_training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text and the progress of a training run that was stopped while it pruned."""

    def stop(progress: Progress) -> None:
        if progress.stage == "pruning" and progress.done:
            raise KeyboardInterrupt

    folder = tmp_path_factory.mktemp("killed_training")
    (folder / "text.txt").write_bytes(CZECH)
    with pytest.raises(KeyboardInterrupt):
        train(
            folder / "text.txt",
            **{"vocab_size": 200, "initial_size": 250},
            output=folder / "out",
            progress=stop,
        )
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, so that messages show short paths."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(files: Files) -> None:
    for name, content in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(path.read_bytes()) if callable(content) else content)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def said(capsys: pytest.CaptureFixture) -> str:
    """Return the one line on the terminal, and check what holds for every message."""
    reply = capsys.readouterr()
    assert reply.out == ""
    assert reply.err.count("\n") == 1, reply.err
    assert "; " in reply.err, f"without a way out: {reply.err}"
    return reply.err.rstrip("\n")


def names(rows: list) -> list[str]:
    return [f"{row[0]} {row[-1]}".replace("/", "_")[:90] for row in rows]


COMMANDS = [*TEXTS, *SETTINGS, *TOKENIZERS]


@pytest.mark.parametrize(("command", "files", "words"), COMMANDS, ids=names(COMMANDS))
def test_a_command(command, files, words, whole: Path, here: Path, capsys) -> None:
    shutil.copytree(whole, here, dirs_exist_ok=True)
    write(files)
    before = contents(here)
    quiet = ["--quiet"] if command.startswith("train") else []
    capsys.readouterr()
    assert cli.main([*command.split(), *quiet]) == 1
    assert words in said(capsys)
    assert contents(here) == before


def plan(config: Mapping[str, Any], *, working_directory: bool = False) -> Run | None:
    """Plan a run as the Snakefile does; None where that ends with a message."""
    try:
        checked = load_config(ROOT, config, working_directory=working_directory)
        return Run.of(checked, ROOT / "workflow/resources")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return None


@pytest.mark.parametrize(("written", "words"), CONFIGURATIONS, ids=names(CONFIGURATIONS))
def test_a_configuration(written: str, words: str, here: Path, capsys) -> None:
    write({"a.json": b"{", "notes.txt": b"", "a.txt": b"", "a{b}.txt": b"", "b.csv": b""})
    assert plan(yaml.safe_load(written)) is None
    assert said(capsys).startswith(f"error: config key {words}")


@pytest.mark.parametrize(("what", "content", "words"), CONFIG_FILES, ids=names(CONFIG_FILES))
def test_a_configuration_file(what, content, words, here: Path, capsys) -> None:
    write({"config.yaml": content})
    assert plan({}, working_directory=True) is None
    assert words in said(capsys)
    assert [path.name for path in here.iterdir()] == ["config.yaml"]  # no code was run


class Named(SimpleNamespace):
    """Named values, as Snakemake hands them to a script."""

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self, name, default)

    def items(self) -> Any:
        return vars(self).items()

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(vars(self).values())


def run_rule(
    rule: str, inputs: Any, outputs: Named, params: Named, config: Mapping = {}, **wildcards: str
) -> None:
    """Run the adapter of a rule."""
    made = SimpleNamespace(
        **{"rule": rule, "input": inputs, "output": outputs, "params": params, "log": ["log"]},
        **{"wildcards": Named(**wildcards), "threads": 1, "config": config},
    )
    adapter = "artefact" if rule.startswith("table_") else rule
    runpy.run_path(str(ROOT / f"workflow/scripts/{adapter}.py"), {"snakemake": made})


def run_refusing(*arguments: Any, **wildcards: str) -> None:
    """Run the adapter of a rule, which must refuse its input."""
    with pytest.raises(SystemExit) as end:
        run_rule(*arguments, **wildcards)
    assert end.value.code == 1


@pytest.mark.parametrize(("source", "content", "words"), CORPORA, ids=names(CORPORA))
def test_a_corpus(source, content, words, here: Path, capsys) -> None:
    given = yaml.safe_load(source)
    write({"".join(given["path"]): content})
    run = plan({"language_settings": {"en": {"source": given}}})
    if run is not None:
        run_refusing(
            "extract_corpus",
            Named(source=run.source_files("language_settings", "en")),
            Named(sentences="sentences.txt.zst"),
            Named(
                source=run.source("language_settings", "en").form,
                **{"min_words": 3, "state_dir": None, "code": ""},
            ),
            lang="en",
        )
    assert words in said(capsys)


KINDS = {
    "labels": "{kind: sequence, metric: accuracy, labels: [0, 1], columns: {text: s, label: l}}",
    "scores": "{kind: sequence, metric: pearson, labels: , columns: {text: s, label: l}}",
    "names": "{kind: tokens, metric: span_f1, labels: [O, B-PER], columns: "
    "{tokens: tokens, tags: ner_tags}}",
    "tags": "{kind: tokens, metric: span_f1, labels: , columns: {tokens: tokens, tags: ner_tags}}",
}


@pytest.mark.parametrize(("kind", "name", "content", "words"), TASKS, ids=names(TASKS))
def test_a_task(kind, name, content, words, here: Path, capsys) -> None:
    write({name: content})
    source = {"train": {"path": name}}
    stanza = {**yaml.safe_load(KINDS[kind]), "language": "en", "source": source}
    stanza["validation_share"] = 0.25
    run = plan({"tasks": ["mine"], "task_settings": {"mine": stanza}})
    if run is not None:
        files = dict.fromkeys(
            ("train", "validation"), run.source_files("task_settings", "mine", "train")
        )
        stanza = run.task("mine")
        run_refusing(
            "prepare_task",
            Named(**files),
            Named(train="train.parquet", validation="validation.parquet"),
            Named(
                splits=run.task_splits("mine"),
                code="",
                kind=stanza.kind,
                columns=stanza.columns.model_dump(),
                labels=stanza.labels,
            ),
            task="mine",
        )
    assert words in said(capsys)


@pytest.mark.parametrize(("what", "rule", "path", "change", "words"), BETWEEN, ids=names(BETWEEN))
def test_a_file_between_jobs(what, rule, path, change, words, here: Path, capsys) -> None:
    path = f"results/paper/{path}"
    in_folder = path.split("/")[2] in ("vocab", "shards", "models")
    artefact = {"artefact": str(Path(path).parent)} if in_folder else {}
    writer = SimpleNamespace(
        **{"rule": "writer", "input": [], "output": [path], "params": Named(**artefact)},
        **{"log": ["log"], "wildcards": Named(), "threads": 1},
    )
    with job(writer):
        write({path: b"what the job wrote"})
    write({path: change})
    run_refusing(rule, [path], Named(), Named(), task="sst2")
    assert words in said(capsys)


@pytest.mark.parametrize(("work", "path", "change", "words"), CHECKPOINTS, ids=names(CHECKPOINTS))
def test_progress_that_is_damaged(
    work, path, change, words, killed_training: Path, here: Path, capsys
) -> None:
    """The work says so and is done all the same."""
    capsys.readouterr()
    shutil.copytree(killed_training, here, dirs_exist_ok=True)
    write({path: change})
    assert cli.main(work.split()) == 0
    lines = capsys.readouterr().err
    [line] = [line for line in lines.splitlines() if "damaged" in line]
    message = re.sub(r"^\d\d:\d\d:\d\d ", "", line.replace(f"{here}/", ""))
    assert "; " in message
    assert words in message


@pytest.mark.parametrize(("what", "options", "files", "words"), OPTIONS, ids=names(OPTIONS))
def test_an_option_of_snakemake(what, options, files, words, here: Path) -> None:
    """Snakemake runs where its own helpers are installed and nothing else."""
    write(files)
    shutil.copytree(ROOT / "profiles", "profiles")
    Path("bin").mkdir()
    for name in ("bash", "which"):
        Path("bin", name).symlink_to(shutil.which(name))
    done = subprocess.run(
        [Path(sys.executable).with_name("snakemake"), f"--snakefile={ROOT / 'Snakefile'}"]
        + [*options.split(), "--", "table_hyperparameters_vocabulary"],
        env={**os.environ, "PATH": str(here / "bin"), "PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode
    message = done.stderr.strip().splitlines()[-1].strip()
    if message.startswith("error: "):  # ours
        assert "; " in message
    assert words in message
