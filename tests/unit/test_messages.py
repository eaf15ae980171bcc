"""What malformed input gives: one line that begins with the place and ends with the way out.

A row has the place that the line names: a file, with a row or a line of it, or a key.
"""

from __future__ import annotations

import bz2
import gzip
import json
import runpy
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import yaml

from reproduction.config import load_run
from reproduction.run import Run
from sagevocab import cli
from sagevocab.corpus.text import zstd
from sagevocab.errors import UserError
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
LISTED = "".join(f"{piece}\n" for piece in ("▁", *"abcdeěš", "▁a", "ab", "▁ab")).encode()

# --- sagevocab: the place, the command, the files that are given or changed.
# text.txt and tok/ (a tokenizer) are there and whole.

PRUNE = "train text.txt -o out --vocab-size 200"
FROM_HUB = f"{PRUNE} --initial hub.json"
COMMANDS = [
    ("bad.txt", "train bad.txt -o out", {"bad.txt": b""}),
    ("bad.txt, line 2", "train bad.txt -o out", {"bad.txt": b"one two\nthree\0four\n"}),
    ("bad.txt, line 3", "train bad.txt -o out", {"bad.txt": b"one\ntwo\nthr\xffee\n"}),
    ("--initial-size", "train bad.txt -o out", {"bad.txt": b"a few words only\n"}),
    ("bad.txt", "train bad.txt -o out", {"bad.txt": "full ▅\n".encode() * 90}),
    ("bad.gz", "train bad.gz -o out", {"bad.gz": cut(gzip.compress(CZECH))}),
    ("bad.gz", "train bad.gz -o out", {"bad.gz": flip(-8)(gzip.compress(CZECH))}),
    ("a.pq", "encode tok a.pq --column a", {"a.pq": cut(parquet(a=["b"]))}),
    ("tok", "train tok -o out", {}),
    ("tok", "train tok -o text.txt", {}),
    ("tok", "train text.txt -o tok", {}),
    ("own", "train text.txt -o own --force", {"own/letter": b"dear"}),
    ("tok", "export tok -o tok --force", {}),
    ("--initial", f"{PRUNE} --initial bpee.txt", {}),
    ("--vocabulary.character_coverage", f"{PRUNE} --vocabulary.character_coverage 0.1", {}),
    ("--sage.loss", f"{PRUNE} --sage.loss odd", {}),
    ("--vocabulary.max_word_chars", f"{PRUNE} --vocabulary.max_word_chars 9999999999", {}),
    ("--language", f"{PRUNE} --language x:y", {}),
    ("none.model", "encode none.model text.txt", {}),
    ("own", "encode own text.txt", {"own/letter": b"dear"}),
    ("bad.txt:12", "encode bad.txt text.txt", {"bad.txt": LISTED + b"ab\n"}),
    ("bad.txt:12", "export bad.txt -o out", {"bad.txt": LISTED + b"a b\n"}),
    ("bad.txt", "compare tok bad.txt --text text.txt", {"bad.txt": b"a\nb\n"}),
    ("tok/tokenizer.json", "encode tok text.txt", {"tok/tokenizer.json": cut}),
    ("--initial: hub.json", FROM_HUB, {"hub.json": hub(pre_tokenizer=None)}),
    ("--initial: hub.json", FROM_HUB, {"hub.json": hub(byte_fallback=True)}),
    ("--initial: hub.json", FROM_HUB, {"hub.json": hub(end_of_word_suffix="</w>")}),
    ("--initial: hub.json", FROM_HUB, {"hub.json": hub(type="WordLevel", unk_token="a")}),
]

# --- snakemake: what a user writes into the configuration

# The key that the line names, where it is not the one that is written; and what is written.
EXTERNAL = "tokenizers: [x], lm.enabled: false, tokenizer_settings.x.method: external"
SAME = "{train: &a {path: a.csv}, validation: *a}"
DOMAIN = "{name: A, language: en, source: {path: a.txt}}"
KEYS = f"""\
seeds: 3
languages: [de]
languages: [no]
lm.tokenizers: [mine]
lm.languages: [de]
lm.pretraining_seeds: [2, 1]
lm.pretrain.heads: 7
tokenizers: [bpe, bpe]
probes.tasks: [mine]
probes.tasks: [mrpc]
figures.tokenizers: [mine]
figures.width: narrow
analysis.heuristics: [bpe]
download_dir: [a]
download_dir: ""
sage:
task_settings.stsb.metric: accuracy
tokenizer_settings.sage.loss_lines: 10
tokenizer_settings.sage_unigram.initial_size: 24000
tokenizer_settings.random.initial_size: 10
tokenizer_settings.wordpiece.initial: unigram
tokenizer_settings.frequency.seeds: 3
tokenizer_settings.frequency.seed: 9
tokenizer_settings.frequency.method: swallowed
tokenizer_settings.bpe.loss: mean_piece_lines
tokenizer_settings.sage_released.label: SaGe (printed)
language_settings.tr.name: English
language_settings.tr.morphology.path: no.conllu
domain_settings.legal.name: quora questions
language_settings.en.source.constructed: cola
lm.pretrain <- lm.pretrain.hours:
lm.causal.cut_sizes: [15000]
lm.finetune.max_sequence_length <- lm.pretrain.sequence_length: 64
probes.seeds <- probes.seeds: []
domains <- {{domains: [tr], domain_settings.tr: {DOMAIN}}}
tokenizers <- {{lm.enabled: no, tokenizers: [bpe_initial]}}
tokenizers <- {{lm.enabled: no, tokenizers: [x], tokenizer_settings.x.method: bpe}}
tokenizer_settings.sage.vocabulary.vocab_size <- tokenizer_settings.sage.initial_size: 10
tokenizer_settings.sage_released.decoder <- tokenizer_settings.sage_released.initial: unigram
tokenizer_settings.unigram <- tokenizer_settings.unigram.method: wordpiece
tokenizer_settings.x.path <- {{{EXTERNAL}}}
tokenizer_settings.x.path <- {{{EXTERNAL}, tokenizer_settings.x.path: none}}
tokenizer_settings.x.path <- {{{EXTERNAL}, tokenizer_settings.x.path: a.json}}
tokenizer_settings.x.path <- {{{EXTERNAL}, tokenizer_settings.x.path: '{{b}}'}}
task_settings.qqp.label <- task_settings.mrpc.label: QQP
task_settings.cola.source <- task_settings.cola.source: {SAME}
language_settings.en.source <- language_settings.en.source.dataset:
language_settings.en.source.path <- language_settings.en.source: {{path: no, format: text}}
language_settings.en.source.path <- language_settings.en.source: {{path: [a, no], format: text}}
language_settings.en.source.format <- language_settings.en.source.path: a
"""
CONFIG_FILES = [
    ("config.yaml:3", b"run: a\nsage: {window: 3}\nsage: {window: 4}\n"),
    ("config.yaml:2", b"sage: {prune_batch: 3\n"),
    ("config.yaml:2", b"sage:\n\tprune_batch: 3\n"),
    ("config.yaml", b"- languages\n"),
    ("config.yaml", b"run: caf\xe9\n"),
    ("config.yaml:1", b"run: !!python/object/apply:pathlib.Path.touch [hacked]\n"),
]

# --- snakemake: the place in a text, its source in the configuration, the file's content

SITE = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">'
ARTICLE = "<page><title>A</title><ns>0</ns><revision><text>Some text. </text></revision></page>"
DUMP = f"{SITE}{ARTICLE * 3}</mediawiki>".encode()
CORPORA = [
    ("bad.xml", "{path: bad.xml}", b""),
    ("bad.xml", "{path: bad.xml}", b"<html><body/></html>"),
    ("after 2 pages", "{path: bad.xml}", DUMP[:-40]),
    ("bad.xml", "{path: bad.xml}", DUMP.replace(b"<ns>0", b"<ns>1")),
    ("bad.xml.bz2", "{path: bad.xml.bz2}", cut(bz2.compress(DUMP))),
    ("bad.txt:2", "{path: bad.txt}", b"one\ncaf\xe9\n"),
    ("bad.txt", "{path: bad.txt}", b"\n\n"),
    ("bad.txt.zst", "{path: bad.txt.zst}", cut(zstd.compress(CZECH))),
    ("bad.csv", "{path: bad.csv, column: text}", b"a,b\n1,2\n"),
    ("'text'", "{path: bad.parquet, column: text}", parquet(txt=["a"])),
    ("column 'a', row 1", "{path: bad.jsonl, column: a}", b'{"a": 5}\n'),
    ("bad.jsonl:2", "{path: bad.jsonl, column: a}", b'{"a": "b"}\n{"a": \n'),
    ("bad.csv:2", "{path: bad.csv, column: a}", b"a,b\n1\n"),
    ("bad.parquet", "{path: bad.parquet, column: a}", b"PAR1 but not really"),
    ("bad.conllu:2", "{path: bad.conllu}", b"# text = a\n1 a\n"),
]

# --- snakemake: the place in a task, its kind, the file and its content

LABELS = "{kind: sequence, metric: accuracy, labels: [0, 1], columns: {text: s, label: l}}"
SCORES = "{kind: sequence, metric: pearson, labels: , columns: {text: s, label: l}}"
TAGS = "kind: tokens, metric: span_f1, columns: {tokens: tokens, tags: ner_tags}"
NAMES = f"{{{TAGS}, labels: [O, B-PER]}}"
TAGS = f"{{{TAGS}, labels: }}"
TASKS = [
    ("bad.jsonl", LABELS, b""),
    ("column 's', row 1", LABELS, b'{"s": 5, "l": 1}\n'),
    ("column 'l', row 1", LABELS, b'{"s": "a", "l": null}\n'),
    ("column 'l', row 1", LABELS, b'{"s": "a", "l": 2}\n'),
    ("column 'l', row 1", LABELS, b'{"s": "a", "l": -1}\n'),
    ("1 rows", LABELS, b'{"s": "a", "l": 1}\n'),
    ("column 'l', row 1", SCORES, b'{"s": "a", "l": "x"}\n'),
    ("column 'l'", SCORES, b'{"s": "a", "l": -1}\n'),
    ("row 1: unknown tag '2'", NAMES, b'{"tokens": ["a"], "ner_tags": [2]}\n'),
    ("column 'ner_tags', row 1", NAMES, b'{"tokens": ["a"], "ner_tags": ["MISC"]}\n'),
    ("column 'ner_tags', row 1", TAGS, b'{"tokens": ["a"], "ner_tags": ["Z-PER"]}\n'),
    ("column 'ner_tags'", TAGS, b'{"tokens": ["a", "b"], "ner_tags": ["B", "I"]}\n'),
    ("column 'ner_tags'", TAGS, b'{"tokens": ["a", "b"], "ner_tags": ["B-PER", "LOC"]}\n'),
    ("column 'ner_tags', row 1", TAGS, b'{"tokens": ["a"], "ner_tags": null}\n'),
    ("column 'ner_tags', row 1", TAGS, b'{"tokens": ["a"], "ner_tags": [-1]}\n'),
    ("column 'ner_tags', row 1", NAMES, b'{"tokens": ["a"], "ner_tags": [-1]}\n'),
    ("column 'ner_tags', row 1", TAGS, b'{"tokens": ["a", "b"], "ner_tags": ["O"]}\n'),
    ("column 'tokens', row 1", TAGS, b'{"tokens": "a b", "ner_tags": ["O"]}\n'),
]

# --- running the rows


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text and a tokenizer that are what they should be."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "text.txt").write_bytes(CZECH)
    (folder / "listed.txt").write_bytes(LISTED)
    assert cli.main(["export", str(folder / "listed.txt"), "-o", str(folder / "tok")]) == 0
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


@pytest.mark.parametrize(("place", "command", "files"), COMMANDS)
def test_a_command(place: str, command: str, files: Files, whole: Path, here: Path, capsys) -> None:
    shutil.copytree(whole, here, dirs_exist_ok=True)
    write(files)
    before = contents(here)
    quiet = ["--quiet"] if command.startswith("train") else []
    capsys.readouterr()
    assert cli.main([*command.split(), *quiet]) == 1
    assert f" {place}" in said(capsys)
    assert contents(here) == before


def plan(config: Mapping[str, Any], *, working_directory: bool = False) -> Run | None:
    """Plan a run as the Snakefile does; None where that ends with a message."""
    try:
        return load_run(config, working_directory=working_directory)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return None


def nested(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration of which keys are given as the messages name them."""
    config: dict[str, Any] = {}
    for key, value in keys.items():
        *path, last = key.split(".")
        reduce(lambda place, name: place.setdefault(name, {}), path, config)[last] = value
    return config


@pytest.mark.parametrize("row", KEYS.splitlines())
def test_a_configuration(row: str, here: Path, capsys) -> None:
    named, _, written = row.rpartition(" <- ")
    key = named or written.partition(":")[0]
    write({"a": b"", "a.txt": b"", "a.csv": b"", "a.json": b"{"})
    assert plan(nested(yaml.safe_load(written))) is None
    assert said(capsys).startswith(f"error: config key {key}: ")


@pytest.mark.parametrize(("place", "content"), CONFIG_FILES)
def test_a_configuration_file(place: str, content: bytes, here: Path, capsys) -> None:
    write({"config.yaml": content})
    assert plan({}, working_directory=True) is None
    assert f"{place}: " in said(capsys)
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


def run_refusing(rule: str, inputs: Any, outputs: Named, params: Named, **wildcards: str) -> None:
    """Run the adapter of a rule, which must refuse its input."""
    log = Path("results/r/logs/log")
    log.parent.mkdir(parents=True)
    made = SimpleNamespace(
        **{"rule": rule, "input": inputs, "output": outputs, "params": params, "log": [log]},
        **{"wildcards": Named(**wildcards), "threads": 1, "config": {}},
    )
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / f"workflow/scripts/{rule}.py"), {"snakemake": made})
    assert end.value.code == 1


@pytest.mark.parametrize(("place", "source", "content"), CORPORA)
def test_a_corpus(place: str, source: str, content: bytes, here: Path, capsys) -> None:
    given = yaml.safe_load(source)
    write({given["path"]: content})
    run = plan({"language_settings": {"en": {"source": given}}})
    if run is not None:
        run_refusing(
            "extract_corpus",
            Named(source=run.source_files("language_settings", "en")),
            Named(sentences="sentences.txt.zst"),
            Named(
                source=run.source("language_settings", "en").form,
                code="",
            ),
            lang="en",
        )
    assert place in said(capsys)


@pytest.mark.parametrize(("place", "kind", "content"), TASKS)
def test_a_task(place: str, kind: str, content: bytes, here: Path, capsys) -> None:
    write({"bad.jsonl": content})
    stanza = {"language": "en", "source": {"train": {"path": "bad.jsonl"}}}
    stanza |= {**yaml.safe_load(kind), "validation_share": 0.25}
    run = plan({"tasks": ["mine"], "task_settings": {"mine": stanza}})
    assert run is not None
    file, task = run.source_files("task_settings", "mine", "train"), run.task("mine")
    run_refusing(
        "prepare_task",
        Named(train=file, validation=file),
        Named(train="train.parquet", validation="validation.parquet"),
        Named(
            **{"splits": run.task_splits("mine"), "code": "", "kind": task.kind},
            **{"columns": task.columns.model_dump(), "labels": task.labels},
        ),
        task="mine",
    )
    assert place in said(capsys)
