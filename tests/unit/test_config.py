"""What is refused in a configuration, and in which words."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sagevocab.config import check_config
from sagevocab.config_reference import config_page, config_schema
from sagevocab.errors import UserError

ROOT = Path(__file__).parents[2]


def merged(base: dict, override: dict) -> dict:
    """Deep merge, as Snakemake does with `--configfile`."""
    result = dict(base)
    for key, value in override.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


@pytest.fixture
def paper() -> dict:
    return yaml.safe_load((ROOT / "config.yaml").read_text())


@pytest.mark.parametrize("override", ["", "config/demo.yaml"])
def test_shipped_configurations_are_valid(paper: dict, override: str) -> None:
    extra = yaml.safe_load((ROOT / override).read_text()) if override else {}
    check_config(merged(paper, extra))


def leaves(node: object, path: tuple = ()) -> dict:
    if not isinstance(node, dict):
        return {path: node}
    return {k: v for key, child in node.items() for k, v in leaves(child, (*path, key)).items()}


def test_the_configuration_for_local_texts_is_valid_once_they_are_there(
    paper: dict, tmp_path, monkeypatch
) -> None:
    config = merged(paper, yaml.safe_load((ROOT / "config/wiki.yaml").read_text()))
    with pytest.raises(UserError, match="there is no file data/en.txt.xz"):
        check_config(copy.deepcopy(config))
    for path in (value for key, value in leaves(config).items() if key[-1] == "path"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).touch()
    monkeypatch.chdir(tmp_path)
    check_config(config)


@pytest.mark.parametrize("name", ["demo", "wiki"])
def test_an_override_holds_only_what_differs(paper: dict, name: str) -> None:
    demo = leaves(yaml.safe_load((ROOT / f"config/{name}.yaml").read_text()))
    printed = leaves(paper)
    missing = object()
    assert [path for path, value in demo.items() if printed.get(path, missing) == value] == []


def test_defaults_are_filled_in_without_being_shared(paper: dict) -> None:
    del paper["lm"], paper["word2vec"]
    paper["lm"] = {"pretrain": {"steps": 1}}
    check_config(paper)
    assert paper["word2vec"]["negative"] == 15
    assert paper["lm"]["finetune"]["seeds"] == [1, 2, 3]
    paper["lm"]["finetune"]["seeds"].append(4)
    again: dict = {**copy.deepcopy(paper), "lm": {"pretrain": {"steps": 1}}}
    check_config(again)
    assert again["lm"]["finetune"]["seeds"] == [1, 2, 3]


@pytest.mark.parametrize("key", ["steps", "tokens"])
def test_one_key_is_enough_for_another_budget(paper: dict, key: str) -> None:
    assert paper["lm"]["pretrain"]["hours"] == 24
    paper["lm"]["pretrain"][key] = 100
    check_config(paper)
    assert paper["lm"]["pretrain"]["hours"] is None


# What a user writes, and below it a part of what he is told.
WRONG = """\
seeds: 3
    config key seeds: unknown; did you mean seed?
sage: {prunebatch: 3}
    config key sage.prunebatch: unknown; did you mean prune_batch
vocabulary: {initial_size: 100}
    config key vocabulary.final_size: 16000 is above
languages: [de]
    config key languages: 'de' has no stanza in language_settings
sage: {candidates: 10}
    config key sage.candidates: 10 run out before
tokenizer_settings: {sage: {loss_lines: 10}}
    config key tokenizer_settings.sage.loss_lines: a total loss is over all lines
tokenizer_settings: {printed: {loss_lines: 10}}
    config key tokenizer_settings.printed.loss_lines: a total loss is over all lines
lm: {tokenizers: [mine]}
    config key lm.tokenizers: 'mine' is not in tokenizers
task_settings: {cola: {source: {train: &one {path: config.yaml, format: jsonl}, validation: *one}}}
    config key task_settings.cola.source: train and validation are the same file; set
language_settings: {en: {source: {where: {split: 1.5}}}}
    config key language_settings.en.source.where.split
lm: {pretraining_seeds: [2, 1]}
    config key lm.pretraining_seeds: 1 is the seed of the
lm: {pretrain: {hours: }}
    is the budget, here none; set one
lm: {pretrain: {replay: README.md}}
    README.md is no training log; name the training_log.parquet of a run
lm: {pretrain: {steps: 1, tokens: 1}}
    exactly one of hours, steps, tokens
lm: {pretrain: {sequence_length: 64}}
    config key lm.finetune.max_sequence_length: 128 is more than
lm: {pretrain: {heads: 7}}
    config key lm.pretrain.heads: 7 does not divide
lm: {pretrain: {tokens: 1e9}}
    YAML reads 1e-3 as text: write it with a point
lm: {pretrain: {replay: 'results/paper/models/{lang}/{tok}/training_log.parquet'}}
    is a result of this run; give the run another name (config key run)
lm: {pretrain: {replay: 'old/{lang}/{tok}.parquet'}}
    config key lm.pretrain.replay: there is no file 'old/en/bpe.parquet'
lm: {pretrain: {replay: 'old/{run}.parquet'}}
    only {lang} and {tok} can be filled
task_settings: {stsb: {metric: accuracy}}
    task_settings.stsb.metric: accuracy does not fit this task; choose one of pearson, or
language_settings: {en: {source: {path: no/such.bz2, format: text}}}
    config key language_settings.en.source.path: there is no file no/such.bz2
language_settings: {en: {source: {path: config.dat}}}
    config key language_settings.en.source.format: missing, and the name does not tell it (as
domain_settings: {legal: {source: {path: [a.txt, b.csv]}}}
    config key domain_settings.legal.source.format: missing, and the name does not tell it
{tokenizers: [x], tokenizer_settings: {x: {method: external}}}
    config key tokenizer_settings.x.path: missing
language_settings: {en: {source: {path: [config.yaml, no/such.xz], format: text}}}
    config key language_settings.en.source.path: there is no file no/such.xz
language_settings: {tr: {morphology: {path: no.tsv, format: derivation}}}
    config key language_settings.tr.morphology.path: there is no file no.tsv
language_settings: {tr: {morphology: {path: config.yaml}}}
    config key language_settings.tr.morphology.format: missing
studies: {readings: [bpe]}
    config key studies.readings: 'bpe' has no stanza in tokenizer_settings of method sage
tokenizer_settings: {sage: {prune_batch: 200}}
    config key tokenizer_settings.sage.candidates: 1500 run out before
probes: {tasks: [mine]}
    config key probes.tasks: 'mine' has no stanza in task_settings
probes: {tasks: [mrpc]}
    config key probes.tasks: 'mrpc' can't be probed: it is not one text with classes
probes: {seeds: []}
    config key probes.seeds: 'stsb' in probes.tasks needs vectors; list a seed
{lm: {enabled: false}, task_settings: {sst2: {source: {train: {path: no.tsv, format: tsv}}}}}
    config key task_settings.sst2.source.train.path: there is no file no.tsv
studies: {varied: [mine]}
    config key studies.varied: 'mine' is not in studies.readings
studies: {values: {rerank_every: [20]}}
    config key studies.values.rerank_every: with 20, sage.candidates: 1500 run out
studies: {values: {initial_size: [10]}}
    config key studies.values.initial_size: with 10, vocabulary.final_size: 16000 is above
tokenizer_settings: {sage: {decoder: viterbi}}
    tokenizer_settings.sage.decoder: 'viterbi' is not allowed; input should be 'greedy'
languages: [no]
    config key languages: False is not allowed; input should be a valid string; YAML reads no
language_settings: {no: {}}
    YAML reads no, off, yes and on as truth values: quote
tokenizers: [bpe, bpe]
    config key tokenizers: 'bpe' is there twice
word2vec: {lines: 0}
    config key word2vec.lines: 0 is not allowed; input
sage: 
    config key sage: None is not allowed; use a section of keys
lm: {finetune: {epochs: '5'}}
    config key lm.finetune.epochs: '5' is not allowed
language_settings: {de: {name: German}}
    language_settings.de.source: missing
language_settings: {en: {source: {dataset: }}}
    none of path,
tokenizer_settings: {sage_released: {initial: unigram}}
    config key tokenizer_settings.sage_released.decoder: merges needs the merges of BPE
tokenizer_settings: {printed: {initial: unigram}}
    config key studies.readings: 'printed' prunes UnigramLM's pieces
tokenizer_settings: {wordpiece: {initial: unigram}}
    config key tokenizer_settings.wordpiece.initial: method wordpiece prunes nothing
tokenizer_settings: {unigram: {method: wordpiece}}
    config key tokenizer_settings.unigram: must be of method unigram: unigram_greedy is
""".splitlines()


@pytest.mark.parametrize(("written", "told"), zip(WRONG[::2], WRONG[1::2], strict=True))
def test_a_mistake_is_one_line_with_the_key(paper: dict, written: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        check_config(merged(paper, yaml.safe_load(written)))
    assert told.strip() in str(caught.value)
    assert "\n" not in str(caught.value)


def test_sage_of_another_initial_vocabulary_needs_no_tokenizer_beside_it(paper: dict) -> None:
    mine = {"tokenizers": ["sage_unigram"], "lm": {"enabled": False}}
    config = merged(paper, mine)
    del config["tokenizer_settings"]["unigram"]
    check_config(config)
    config["tokenizers"].append("unigram_greedy")
    with pytest.raises(UserError, match=r"^config key tokenizer_settings\.unigram: must be of"):
        check_config(config)


def test_a_validation_split_is_given_or_held_out(paper: dict) -> None:
    stanza = paper["task_settings"]["cola"]
    del stanza["source"]["validation"]
    with pytest.raises(UserError, match=r"cola\.source\.validation: missing; .*validation_share"):
        check_config(paper)
    stanza["validation_share"] = 0.1
    check_config(paper)
    # One that is held out needs no file, and one that is given is not looked at.
    stanza["source"]["validation"] = {"path": "no/such.jsonl", "format": "jsonl"}
    check_config(paper)


def test_the_page_and_the_schema_are_fresh() -> None:
    assert (ROOT / "config/README.md").read_text() == config_page(), "run make docs"
    schema = ROOT / "workflow/schemas/config.schema.json"
    assert schema.read_text() == config_schema(), "run make docs"


def test_every_key_is_described() -> None:
    rows = [row for row in config_page().splitlines() if row.startswith("| `")]
    assert [row for row in rows if row.endswith("|  |")] == []


def test_planning_a_run_loads_no_library_that_takes_seconds() -> None:
    code = "import sys, sagevocab.config; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    modules = subprocess.check_output(command, cwd=ROOT / "workflow/scripts", text=True).split()
    assert not {"torch", "gensim", "pandas", "numba", "pyarrow"} & set(modules)
