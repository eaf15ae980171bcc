"""What malformed input gives: one line that names the place and the way out, listed in the docs.

The rows below are data: what is wrong, what the user runs or writes, and the files. The page holds
the message of each, so a change of a message shows in its diff. This writes the page anew:

    WRITE_MESSAGES=1 pytest tests/unit/test_messages.py
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
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
PAGE = ROOT / "docs/messages.md"
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
TEXTS: list[tuple[str, str, Files]] = [
    ("an empty text", "train bad.txt -o out", {"bad.txt": b""}),
    ("a text of white space", "train bad.txt -o out", {"bad.txt": b"\n  \n\t\n\r\n"}),
    ("binary data", "train bad.txt -o out", {"bad.txt": b"one two\nthree\0four\n"}),
    ("a text in Latin-1", "train bad.txt -o out", {"bad.txt": b"one\ntwo\nthr\xffee\n"}),
    ("a text in UTF-16", "encode tok bad.txt", {"bad.txt": "one two\n".encode("utf-16")}),
    ("a text that is too small", "train bad.txt -o out", {"bad.txt": b"a few words only\n"}),
    ("a reserved character", "train bad.txt -o out", {"bad.txt": "full ▅\n".encode() * 90}),
    ("a cut .gz", "train bad.gz -o out", {"bad.gz": cut(gzip.compress(CZECH))}),
    ("a cut .bz2", "train bad.bz2 -o out", {"bad.bz2": cut(bz2.compress(CZECH))}),
    ("a cut .xz", "encode tok bad.xz", {"bad.xz": cut(lzma.compress(CZECH))}),
    ("a cut .zst", "train bad.zst -o out", {"bad.zst": cut(zstandard.compress(CZECH))}),
    ("a .xz without a byte", "encode tok bad.xz", {"bad.xz": b""}),
    ("a flipped bit in .gz", "train bad.gz -o out", {"bad.gz": flip(-8)(gzip.compress(CZECH))}),
    ("a flipped bit in .bz2", "encode tok bad.bz2", {"bad.bz2": flip(99)(bz2.compress(CZECH))}),
    ("a flipped bit in .xz", "encode tok bad.xz", {"bad.xz": flip(99)(lzma.compress(CZECH))}),
    ("no such text", "train none.txt -o out", {}),
    ("a data set of the hub for a text", "train Salesforce/wikitext -o out", {}),
    ("a folder in a text's place", "train own -o out", {"own/letter": b"dear"}),
    ("a tokenizer in a text's place", "train tok -o out", {}),
    ("text and tokenizer swapped", "encode text.txt tok", {}),
    ("tokenizer and text swapped", "compare text.txt --text own.model", {}),
    ("a text called .gz", "train bad.gz -o out", {"bad.gz": CZECH}),
    ("text and output swapped", "train tok -o text.txt", {}),
    ("a table without its column", "train bad.jsonl -o out", {"bad.jsonl": TABLE}),
    ("no such column", "train bad.jsonl --column txt -o out", {"bad.jsonl": TABLE}),
    ("numbers in the column", "encode tok bad.jsonl --column id", {"bad.jsonl": TABLE}),
    ("a column of a text", "train text.txt --column text -o out", {}),
    ("parquet without its column", "train bad.pq -o out", {"bad.pq": parquet(text=["a"])}),
    ("a cut parquet", "encode tok a.pq --column a", {"a.pq": cut(parquet(a=["b"]))}),
    ("a list in JSON", "train bad.json --column text -o out", {"bad.json": b"[{}]"}),
    ("an archive", "train bad.zip -o out", {"bad.zip": b"PK\3\4 and so on"}),
    ("no words to compare on", "compare tok --text bad.txt", {"bad.txt": b" \n"}),
    ("a file in the output's place", "train text.txt -o text.txt", {}),
    ("an output that is there", "train text.txt -o tok", {}),
    ("other files in the output's place", "train text.txt -o own --force", {"own/letter": b"dear"}),
    ("an export into itself", "export tok -o tok --force", {}),
]
SETTINGS: list[tuple[str, str, Files]] = [
    ("no such initial vocabulary", f"{PRUNE} --initial bpee.txt", {}),
    ("a tokenizer of the hub to prune", f"{PRUNE} --initial bert-base-uncased", {}),
    ("a size above the initial one", f"{TRAIN} --vocab-size 300", {}),
    ("a size below the characters", f"{TRAIN} --vocab-size 30", {}),
    ("too small an initial size", f"{TRAIN} --initial-size 20 --vocab-size 10", {}),
    ("a coverage out of range", f"{TRAIN} --character-coverage 0.1", {}),
    ("an unknown loss", f"{TRAIN} --loss odd", {}),
    ("too few candidates", f"{TRAIN} --candidates 5", {}),
    ("an absurd length", f"{TRAIN} --max-word-chars 9999999999", {}),
    ("a rate that is no number", f"{TRAIN} --word2vec-alpha nan", {}),
    ("a window that is too large", f"{TRAIN} --window 99999999999999999999", {}),
    ("a window that is a word", f"{TRAIN} --window wide", {}),
    ("a negative seed", f"{TRAIN} --seed -1", {}),
    ("no language code", f"{TRAIN} --language x:y", {}),
    ("no threads", f"{TRAIN} --threads 0", {}),
    ("merges of UnigramLM", f"{TRAIN} --initial unigram --decoder merges", {}),
    ("the size of a vocabulary that is there", f"{TRAIN} --initial tok", {}),
    ("a coverage of what is there", f"{PRUNE} --initial tok --character-coverage 1", {}),
    ("a rule that a model brings", f"{PRUNE} --initial own.model --normalization nfkc", {}),
    ("a normalisation of bytes", f"{PRUNE} --lossless --normalization nfkc", {}),
    ("no such contexts", f"{PRUNE} --contexts none", {}),
    ("lossless UnigramLM", f"{TRAIN} --initial unigram --lossless", {}),
    ("special tokens of nobody", f"{TRAIN} --special-tokens roberta", {}),
    ("a template without a text", f"{TRAIN} --template [CLS]", {}),
    (
        "special tokens beside those of a tokenizer",
        f"{PRUNE} --initial hub.json --special-tokens gpt",
        {"hub.json": hub()},
    ),
    ("an unknown normalisation", "export tok -o out --normalization nfx", {}),
    ("words of no characters", "export tok -o out --max-word-chars 0", {}),
]
TOKENIZERS: list[tuple[str, str, Files]] = [
    ("no such tokenizer", "encode none.model text.txt", {}),
    ("a tokenizer of the hub", "compare bert-base-uncased --text text.txt", {}),
    ("a folder of other files", "encode own text.txt", {"own/letter": b"dear"}),
    ("an empty list", "encode bad.txt text.txt", {"bad.txt": b""}),
    ("a list in UTF-16", "encode bad.txt text.txt", {"bad.txt": "▁a\n".encode("utf-16")}),
    ("a piece twice", "encode bad.txt text.txt", {"bad.txt": LISTED + b"ab\n"}),
    ("a piece with a space", "export bad.txt -o out", {"bad.txt": LISTED + b"a b\n"}),
    ("a list without ▁", "compare tok bad.txt --text text.txt", {"bad.txt": b"a\nb\n"}),
    ("an empty .model", "encode own.model text.txt", {"own.model": b""}),
    ("a list called .model", "export bad.model -o out", {"bad.model": LISTED}),
    ("a cut .model", "encode own.model text.txt", {"own.model": cut}),
    ("a cut .model to prune", f"{PRUNE} --initial own.model", {"own.model": cut}),
    ("a cut tokenizer.json", "encode tok text.txt", {"tok/tokenizer.json": cut}),
    ("a flipped bit there", "encode tok text.txt", {"tok/tokenizer.json": flip(900)}),
    ("another type", "encode own text.txt", {"own/tokenizer.json": b'{"model": {"type": "Odd"}}'}),
    ("no JSON", "encode bad.json text.txt", {"bad.json": b"{"}),
    ("a list in JSON", "encode bad.json text.txt", {"bad.json": b"[1]"}),
    ("a cut pieces.txt", "encode tok text.txt", {"tok/pieces.txt": cut}),
    ("a flipped bit there", "export tok -o out", {"tok/pieces.txt": flip(8)}),
    ("damaged pieces to prune", f"{PRUNE} --initial tok", {"tok/pieces.txt": cut}),
    ("a cut tokenizer.json to prune", f"{PRUNE} --initial hub.json", {"hub.json": hub()[:40]}),
    (
        "a tokenizer that splits nothing",
        f"{PRUNE} --initial hub.json",
        {"hub.json": hub(pre_tokenizer=None)},
    ),
    (
        "a tokenizer that falls back to bytes",
        f"{PRUNE} --initial hub.json",
        {"hub.json": hub(byte_fallback=True)},
    ),
    (
        "a tokenizer with suffixes",
        f"{PRUNE} --initial hub.json",
        {"hub.json": hub(end_of_word_suffix="</w>")},
    ),
    (
        "a tokenizer of whole words",
        f"{PRUNE} --initial hub.json",
        {"hub.json": hub(type="WordLevel", unk_token="a")},
    ),
    (
        "a folder of a newer version",
        "encode tok text.txt",
        {
            "tok/tokenizer_config.json": lambda data: data.replace(
                b'"method"', b'"format": 9, "method"'
            )
        },
    ),
    ("a folder without pieces", f"{PRUNE} --initial own", {"own/letter": b"dear"}),
    (
        "a tokenizer_config.json of another form",
        "encode tok text.txt",
        {"tok/tokenizer_config.json": b'["sagevocab"]'},
    ),
    (
        "a method that there is not",
        "encode tok text.txt",
        {"tok/tokenizer_config.json": b'{"sagevocab": {"method": "odd"}}'},
    ),
]

# --- snakemake: what a user writes into the configuration

CONFIGURATIONS = """\
seeds: 3
sage: {prunebatch: 3}
vocabulary: {initial_size: 100}
languages: [de]
sage: {candidates: 10}
tokenizer_settings: {sage: {loss_lines: 10}}
tokenizer_settings: {printed: {loss_lines: 10}}
lm: {tokenizers: [mine]}
task_settings: {cola: {source: {train: &one {path: config.yaml, format: jsonl}, validation: *one}}}
language_settings: {en: {source: {where: {split: 1.5}}}}
lm: {pretraining_seeds: [2, 1]}
lm: {pretrain: {hours: }}
lm: {nodes: 2}
lm: {pretrain: {replay: notes.txt}}
lm: {pretrain: {micro_batch: auto}}
lm: {pretrain: {compile: auto}}
lm: {finetune: {per_gpu: 4}}
lm: {pretrain: {steps: 1, tokens: 1}}
lm: {pretrain: {sequence_length: 64}}
lm: {pretrain: {heads: 7}}
lm: {pretrain: {tokens: 1.0e+9}}
lm: {pretrain: {learning_rate: 1e-3}}
task_settings: {stsb: {metric: accuracy}}
language_settings: {en: {source: {path: no/such.bz2, format: text}}}
language_settings: {en: {source: {path: 'a{b}.txt'}}}
{lm: {enabled: false}, tokenizers: [x], tokenizer_settings: {x: {method: external, path: '{b}'}}}
language_settings: {en: {source: {path: config.dat}}}
domain_settings: {legal: {source: {path: [a.txt, b.csv]}}}
{tokenizers: [x], tokenizer_settings: {x: {method: external}}}
language_settings: {en: {source: {path: [notes.txt, no/such.xz], format: text}}}
language_settings: {tr: {morphology: {path: no.tsv, format: derivation}}}
language_settings: {tr: {morphology: {path: config.yaml}}}
studies: {readings: [bpe]}
tokenizer_settings: {sage: {prune_batch: 200}}
probes: {tasks: [mine]}
probes: {tasks: [mrpc]}
probes: {seeds: []}
{lm: {enabled: false}, task_settings: {sst2: {source: {train: {path: no.tsv, format: tsv}}}}}
studies: {varied: [mine]}
studies: {values: {rerank_every: [20]}}
studies: {values: {initial_size: [10]}}
tokenizer_settings: {sage: {decoder: viterbi}}
languages: [no]
language_settings: {no: {}}
tokenizers: [bpe, bpe]
tokenizer_settings: {sage_released: {label: SaGe}}
tokenizer_settings: {released: {label: as printed}}
task_settings: {mrpc: {label: QQP}}
language_settings: {tr: {name: English}}
domain_settings: {legal: {name: quora questions}}
{lm: {enabled: no}, tokenizers: [bpe_initial], tokenizer_settings: {bpe_initial: {method: random}}}
word2vec: {lines: 0}
sage: 
lm: {finetune: {epochs: '5'}}
language_settings: {de: {name: German}}
language_settings: {en: {source: {dataset: }}}
tokenizer_settings: {sage_released: {initial: unigram}}
tokenizer_settings: {printed: {initial: unigram}}
tokenizer_settings: {wordpiece: {initial: unigram}}
tokenizer_settings: {unigram: {method: wordpiece}}
languages: en
run: my run
run: ../up
seed: -1
seed: 1.5
download_dir: [a]
vocabulary: {final_size: 16e3}
corpus: {min_words: three}
tokenizer_settings: {x: {method: bpee}}
tokenizer_settings: {sage: {path: 3}}
{tokenizers: [x], tokenizer_settings: {x: {method: external, path: none}}, lm: {enabled: false}}
{tokenizers: [x], tokenizer_settings: {x: {method: external, path: a.json}}, lm: {enabled: false}}
language_settings: {en: {source: {dataset: wikl}}}
language_settings: {en: {source: {package: none}}}
language_settings: {en: {source: {dataset: wikipedia}}}
language_settings: {en: {source: {dataset: wikipedia, language: en, date: yesterday}}}
language_settings: {en: {source: {constructed: cola}}}
task_settings: {cola: {source: {train: {constructed: colla, rows: 5}}}}
task_settings: {cola: {source: {train: {constructed: cola}}}}
task_settings: {cola: {columns: {text: }}}
task_settings: {cola: {labels: [a]}}
lm: {gpus: -1}
lm: {pretrain: {precision: fp8}}
scheduler: tcp://host:8786
""".splitlines()

CONFIG_FILES = [
    ("no YAML", b"sage: {prune_batch: 3\n"),
    ("tabs", b"sage:\n\tprune_batch: 3\n"),
    ("a list", b"- languages\n"),
    ("text", b"languages\n"),
    ("Latin-1", b"run: caf\xe9\n"),
    ("code", b"run: !!python/object/apply:pathlib.Path.touch [hacked]\n"),
    ("a name that is not defined", b"run: *other\n"),
]

# --- snakemake: what is wrong with a text, its source in the configuration, the file's content

SITE = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">'
ARTICLE = "<page><title>A</title><ns>0</ns><revision><text>Some text. </text></revision></page>"
DUMP = f"{SITE}{ARTICLE * 3}</mediawiki>".encode()
BOMB = b'<!DOCTYPE m [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><mediawiki>&b;</mediawiki>'
CORPORA: list[tuple[str, str, bytes]] = [
    ("an empty dump", "{path: bad.xml}", b""),
    ("a dump that is text", "{path: bad.xml}", b"plain text"),
    ("a dump that is a web page", "{path: bad.xml}", b"<html><body/></html>"),
    ("a dump that is a cut", "{path: bad.xml}", DUMP[:-40]),
    ("a dump without articles", "{path: bad.xml}", DUMP.replace(b"<ns>0", b"<ns>1")),
    ("a dump with bad bytes", "{path: bad.xml}", DUMP.replace(b"Some", b"\xff\xfe")),
    ("a dump with entities", "{path: bad.xml}", BOMB),
    ("a cut dump", "{path: bad.xml.bz2}", cut(bz2.compress(DUMP))),
    ("a damaged dump", "{path: bad.xml.bz2}", b"BZh9" + b"junk" * 50),
    ("a text in Latin-1", "{path: bad.txt}", b"one\ncaf\xe9\n"),
    ("an empty text", "{path: bad.txt}", b"\n\n"),
    ("a cut text", "{path: bad.txt.zst}", cut(zstandard.compress(CZECH))),
    ("no `column`", "{path: bad.csv}", b"a,b\n1,2\n"),
    ("no such column", "{path: bad.csv, column: text}", b"a,b\n1,2\n"),
    ("no such column in a list", "{path: [bad.tsv], column: c}", b"a\tb\n1\t2\n"),
    ("no such column in rows", "{path: bad.jsonl, column: text}", b'{"txt": "a"}\n'),
    ("no such column in parquet", "{path: bad.parquet, column: text}", parquet(txt=["a"])),
    ("numbers for text", "{path: bad.jsonl, column: a}", b'{"a": 5}\n'),
    ("a line that is no JSON", "{path: bad.jsonl, column: a}", b'{"a": "b"}\n{"a": \n'),
    ("a line that is no object", "{path: bad.jsonl, column: a}", b'{"a": "b"}\n[1]\n'),
    ("too few fields", "{path: bad.csv, column: a}", b"a,b\n1\n"),
    ("a quote that is not closed", "{path: bad.csv, column: a}", b'a,b\n1,"2\n'),
    ("a table in Latin-1", "{path: bad.tsv, column: a}", b"a\tb\n\xe7\t1\n"),
    ("no parquet", "{path: bad.parquet, column: a}", b"PAR1 but not really"),
    ("a cut parquet", "{path: bad.parquet, column: a}", cut(parquet(a=["b"]))),
    ("a treebank of one column", "{path: bad.conllu}", b"# text = a\n1 a\n"),
    ("a column of a CoNLL file", "{path: bad.conll, column: a}", b"a O\n"),
    ("no rows that `where` wants", "{path: bad.csv, column: a, where: {b: x}}", b"a,b\n1,2\n"),
    ("no column that `where` names", "{path: bad.csv, column: a, where: {c: x}}", b"a,b\n1,2\n"),
]

# --- snakemake: what is wrong with a task, its kind, the file and its content

TASKS: list[tuple[str, str, str, bytes]] = [
    ("an empty file", "labels", "bad.jsonl", b""),
    ("a header alone", "labels", "bad.csv", b"s,l\n"),
    ("no column of labels", "labels", "bad.jsonl", b'{"s": "good", "idx": 1}\n'),
    ("no such column in parquet", "labels", "bad.parquet", parquet(s=["a"])),
    ("a number for text", "labels", "bad.jsonl", b'{"s": 5, "l": 1}\n'),
    ("no label", "labels", "bad.jsonl", b'{"s": "a", "l": null}\n'),
    ("an unlabelled split", "labels", "bad.csv", b"s,l\na,-1\n"),
    ("an unknown label", "labels", "bad.csv", b"s,l\na,2\n"),
    ("a score that is a word", "scores", "bad.csv", b"s,l\na,x\n"),
    ("a score that is missing", "scores", "bad.csv", b"s,l\na,\n"),
    ("scores of a test set", "scores", "bad.csv", b"s,l\na,-1\n"),
    ("a score that is no number", "scores", "bad.csv", b"s,l\na,NaN\n"),
    ("a cut line", "labels", "bad.jsonl", b'{"s": "a", "l": 1}\n{"s": \n'),
    ("a cut parquet", "labels", "bad.parquet", cut(parquet(s=["a"], l=[1]))),
    ("a flipped bit in parquet", "labels", "bad.parquet", flip(-9)(parquet(s=["a"], l=[1]))),
    ("too few rows to hold out", "labels", "bad.csv", b"s,l\na,1\n"),
    ("one column", "tags", "bad.conll", b"one two\nthree\n"),
    ("no sentence", "tags", "bad.conll", b"\n\n"),
    ("an unknown prefix", "tags", "bad.conll", b"a Z-PER\n"),
    ("a tag without a class", "tags", "bad.conll", b"a B\nb I\n"),
    ("tags of two schemes", "tags", "bad.conll", b"a B-PER\nb LOC\n"),
    ("class numbers", "tags", "bad.jsonl", b'{"tokens": ["a"], "ner_tags": [1]}\n'),
    ("a class number too high", "names", "bad.jsonl", b'{"tokens": ["a"], "ner_tags": [5]}\n'),
    ("tags of a test set", "names", "bad.jsonl", b'{"tokens": ["a"], "ner_tags": [-1]}\n'),
    ("an unknown tag", "names", "bad.jsonl", b'{"tokens": ["a"], "ner_tags": ["MISC"]}\n'),
    ("a missing tag", "tags", "bad.jsonl", b'{"tokens": ["a"], "ner_tags": [null]}\n'),
    ("no tags", "tags", "bad.jsonl", b'{"tokens": ["a"], "ner_tags": null}\n'),
    ("too few tags", "tags", "bad.jsonl", b'{"tokens": ["a", "b"], "ner_tags": ["O"]}\n'),
    ("words as one text", "tags", "bad.jsonl", b'{"tokens": "a b", "ner_tags": ["O"]}\n'),
]

# --- snakemake: files between jobs, changed after the job that wrote them; the rule that reads them

BETWEEN: list[tuple[str, str, str, Callable[[bytes], bytes]]] = [
    ("a cut corpus", "index_words", "corpus/en.txt.zst", cut),
    ("a flipped bit in words", "train_embeddings", "corpus/en.train.words.npz", flip(9)),
    ("a flipped bit in pieces", "train_embeddings", "vocab/en/bpe_initial/pieces.txt", flip(5)),
    ("a flipped bit in a model", "train_embeddings", "vocab/en/bpe/sentencepiece.model", flip(5)),
    ("cut embeddings", "build_sage", "embeddings/en/sage.npz", cut),
    ("a flipped bit in prunings", "measure_rankings", "vocab/en/sage/ablations.parquet", flip(9)),
    ("a flipped bit in a tokenizer", "count_pieces", "vocab/en/sage/tokenizer.json", flip(5)),
    (
        "a flipped bit in counts",
        "table_frequencies",
        "analysis/en/train/sage/frequencies.parquet",
        flip(9),
    ),
    ("a flipped bit in shards", "pretrain_model", "shards/en/sage/train.npy", flip(9)),
    ("a cut list of shards", "pretrain_model", "shards/en/sage/index.json", cut),
    ("a flipped bit in weights", "finetune_model", "models/en/sage/model.safetensors", flip(9)),
    ("a flipped bit in a task", "finetune_model", "tasks/sst2/train.parquet", flip(9)),
    ("a changed score", "table_sequence", "scores/en/sage/sst2/1.json", flip(9)),
]

# --- what is wrong with the progress of killed work, which goes on; a file of it

FOLDER = ".out.state/sagevocab"
CHECKPOINTS: list[tuple[str, str, str, Callable[[bytes], bytes]]] = [
    ("a cut initial vocabulary", TRAIN, f"{FOLDER}.initial/sentencepiece.model", cut),
    ("cut embeddings", TRAIN, f"{FOLDER}.embeddings/blocks.npz", cut),
    ("a flipped bit in a pruning", TRAIN, f"{FOLDER}.pruning/pruning.npz", flip(-300)),
]

# --- snakemake: what is wrong, its options, the files that are given

OPTIONS: list[tuple[str, str, Files]] = [
    ("a profile that is not there", "--workflow-profile profiles/slrum", {}),
    ("no SLURM on this machine", "--workflow-profile profiles/slurm", {}),
    ("an unknown key", "--workflow-profile own", {"own/config.yaml": b"keep_going: true\n"}),
    ("no such configuration", "--configfile none.yaml", {}),
    ("a configuration with tabs", "--configfile bad.yaml", {"bad.yaml": b"sage:\n\tseed: 1\n"}),
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
    """A folder with a text and the progress of a training that was stopped while it pruned."""

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
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1, told.err
    assert "; " in told.err, f"without a way out: {told.err}"
    return told.err.rstrip("\n")


def names(rows: list) -> list[str]:
    return [" ".join(map(str, row[:2])).replace("/", "_") for row in rows]


COMMANDS = [
    (section, *row)
    for section, found in (("texts", TEXTS), ("settings", SETTINGS), ("tokenizers", TOKENIZERS))
    for row in found
]


@pytest.mark.parametrize(("section", "what", "command", "files"), COMMANDS, ids=names(COMMANDS))
def test_a_command(section, what, command, files, whole: Path, here: Path, capsys) -> None:
    shutil.copytree(whole, here, dirs_exist_ok=True)
    write(files)
    before = contents(here)
    quiet = ["--quiet"] if command.startswith("train") else []
    capsys.readouterr()
    assert cli.main([*command.split(), *quiet]) == 1
    check_listed(section, what, f"sagevocab {command}", said(capsys))
    assert contents(here) == before


def plan(config: Mapping[str, Any], *, working_directory: bool = False) -> Run | None:
    """Plan a run as the Snakefile does; None where that ends with a message."""
    try:
        checked = load_config(ROOT, config, working_directory=working_directory)
        return Run.of(checked, ROOT / "workflow/resources")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return None


@pytest.mark.parametrize("written", CONFIGURATIONS)
def test_a_configuration(written: str, here: Path, capsys) -> None:
    write({"a.json": b"{", "notes.txt": b"", "a.txt": b"", "a{b}.txt": b"", "b.csv": b""})
    assert plan(yaml.safe_load(written)) is None
    message = said(capsys)
    assert message.startswith("error: config key")
    check_listed("configurations", "", written, message)


@pytest.mark.parametrize(("what", "content"), CONFIG_FILES)
def test_a_configuration_file(what: str, content: bytes, here: Path, capsys) -> None:
    write({"config.yaml": content})
    assert plan({}, working_directory=True) is None
    check_listed("files", what, repr(content)[2:-1], said(capsys))
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


@pytest.mark.parametrize(("what", "source", "content"), CORPORA, ids=names(CORPORA))
def test_a_corpus(what, source, content, here: Path, capsys) -> None:
    given = yaml.safe_load(source)
    write({"".join(given["path"]): content})
    run = plan({"language_settings": {"en": {"source": given}}})
    if run is not None:
        run_refusing(
            "extract_corpus",
            Named(source=run.source_files("language_settings", "en")),
            Named(sentences="sentences.txt.zst"),
            Named(
                source=run.source_form("language_settings", "en"),
                **{"min_words": 3, "state_dir": None, "code": ""},
            ),
            lang="en",
        )
    check_listed("corpora", what, f"source: {source}", said(capsys))


KINDS = {
    "labels": "{kind: sequence, metric: accuracy, labels: [0, 1], columns: {text: s, label: l}}",
    "scores": "{kind: sequence, metric: pearson, labels: , columns: {text: s, label: l}}",
    "names": "{kind: tokens, metric: span_f1, labels: [O, B-PER], columns: "
    "{tokens: tokens, tags: ner_tags}}",
    "tags": "{kind: tokens, metric: span_f1, labels: , columns: {tokens: tokens, tags: ner_tags}}",
}


@pytest.mark.parametrize(("what", "kind", "name", "content"), TASKS, ids=names(TASKS))
def test_a_task(what, kind, name, content, here: Path, capsys) -> None:
    write({name: content})
    source = {"train": {"path": name}}
    stanza = {**yaml.safe_load(KINDS[kind]), "language": "en", "source": source}
    stanza["validation_share"] = 0.25
    run = plan({"tasks": ["mine"], "task_settings": {"mine": stanza}})
    if run is not None:
        files = {split: run.task_files("mine", split) for split in ("train", "validation")}
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
    check_listed("tasks", what, f"{name}, {kind}", said(capsys))


@pytest.mark.parametrize(("what", "rule", "path", "change"), BETWEEN, ids=names(BETWEEN))
def test_a_file_between_jobs(what, rule, path, change, here: Path, capsys) -> None:
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
    check_listed("between", what, f"{path}, read by {rule}", said(capsys))


@pytest.mark.parametrize(("what", "work", "path", "change"), CHECKPOINTS, ids=names(CHECKPOINTS))
def test_progress_that_is_damaged(
    what, work, path, change, killed_training: Path, here: Path, capsys
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
    check_listed("progress", what, path, message)


@pytest.mark.parametrize(("what", "options", "files"), OPTIONS, ids=names(OPTIONS))
def test_an_option_of_snakemake(what, options, files, here: Path) -> None:
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
    check_listed("options", what, f"snakemake {options}", message)


# --- the page

PAGE_HEAD = """\
# Messages

What is wrong in an input ends with one line that names the file, the line or the key, and the way
out. These are such inputs and what they give. A test runs them all and writes this page. It
runs the code of command and rules in its own process, as starting a process for each takes seconds;
only for the options of `snakemake` it starts the program.

"""
HEADINGS = {
    "texts": "Texts for `sagevocab`",
    "settings": "Settings of `sagevocab`",
    "tokenizers": "Tokenizers and lists of pieces",
    "configurations": "Configurations: `snakemake` ends before the first job",
    "files": "A `config.yaml` in the working directory",
    "corpora": "Texts of a run, by their `source`",
    "tasks": "Tasks of a run",
    "between": "Files between two jobs, changed after they were written",
    "progress": "Progress of work that was killed",
    "options": "Options of `snakemake`",
}
INTRODUCTIONS = {
    "progress": """\
Damaged progress costs time and nothing else: these are warnings, and the work is done. Progress of
other settings is never resumed.

""",
    "options": """\
Profiles and the files of `--configfile` are read before the workflow. So Snakemake answers itself,
in the last line, which is the one here, of its usage or of a traceback. A partition or an account
that SLURM does not take is in [the table of its messages](clusters.md#slurm).

""",
}
HEADS = {
    1: "| input | message |\n|---|---|",
    2: "| what is wrong | input | message |\n|---|---|---|",
}
WRITES = "WRITE_MESSAGES" in os.environ
rows: dict[str, list[str]] = {heading: [] for heading in HEADINGS}


def code(text: str) -> str:
    """Return text as code in a cell of a table."""
    return f"`` {text} ``".replace("|", r"\|") if "`" in text else f"`{text}`".replace("|", r"\|")


def check_listed(section: str, what: str, given: str, message: str) -> None:
    """Compare a row with the page's, or keep it for the page that is written."""
    row = "| " + " | ".join(filter(None, (what, code(given), code(message)))) + " |"
    rows[section].append(row)
    assert WRITES or row in PAGE.read_text(encoding="utf-8").splitlines(), row


def test_the_page_lists_the_rows_and_no_others() -> None:  # the last of this file
    if WRITES:
        tables = [
            f"## {HEADINGS[section]}\n\n{INTRODUCTIONS.get(section, '')}"
            + f"{HEADS[found[0].count(' | ')]}\n"
            + "".join(f"{row}\n" for row in found)
            for section, found in rows.items()
        ]
        PAGE.write_text(PAGE_HEAD + "\n".join(tables), encoding="utf-8")
    lists = (COMMANDS, CONFIGURATIONS, CONFIG_FILES, CORPORA, TASKS, BETWEEN, CHECKPOINTS, OPTIONS)
    heads = {head.splitlines()[0] for head in HEADS.values()}
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    listed = [line for line in lines if line.startswith("| ") and line not in heads]
    assert len(listed) == sum(map(len, lists))
