"""What is refused in a configuration, and in which words."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from reproduction.config import Configuration, check_config
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


@pytest.mark.parametrize(
    ("names", "first"),
    [(["wiki"], "en.txt.xz"), (["wiki", "small_models", "reference"], "en_wiki.txt.xz")],
)
def test_the_configurations_for_local_texts_are_valid_once_they_are_there(
    paper: dict, names: list[str], first: str, tmp_path, monkeypatch
) -> None:
    config = paper
    for name in names:
        config = merged(config, yaml.safe_load((ROOT / f"config/{name}.yaml").read_text()))
    with pytest.raises(UserError, match=f"there is no file data/{first}"):
        check_config(copy.deepcopy(config))
    paths = [value for key, value in leaves(config).items() if key[-1] == "path"]
    for path in np.hstack(paths):
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
    filled = check_config(paper)
    assert filled.word2vec.negative == 15
    assert filled.lm.finetune.seeds == [1, 2, 3]
    filled.lm.finetune.seeds.append(4)
    again = check_config({**copy.deepcopy(paper), "lm": {"pretrain": {"steps": 1}}})
    assert again.lm.finetune.seeds == [1, 2, 3]


def test_one_value_has_one_form(paper: dict) -> None:
    """Else `hours: 24` for 24.0, or keys in another order, would train finished models again."""
    usual = check_config(copy.deepcopy(paper))
    paper["lm"]["pretrain"] |= {"hours": 24, "gradient_clipping": 0, "warmup": 6e-2}
    paper["lm"]["pretrain"] = dict(reversed(paper["lm"]["pretrain"].items()))
    paper["word2vec"] |= {"alpha": 2.5e-2}
    assert repr(check_config(paper).model_dump()) == repr(usual.model_dump())


def test_a_key_that_may_be_left_out_may_have_no_value(paper: dict) -> None:
    paper["tokenizer_settings"]["sage"]["seeds"] = None
    assert "seeds" not in check_config(paper).tokenizer_settings["sage"].model_dump()


@pytest.mark.parametrize("key", ["steps", "tokens"])
def test_one_key_is_enough_for_another_budget(paper: dict, key: str) -> None:
    assert paper["lm"]["pretrain"]["hours"] == 24
    paper["lm"]["pretrain"][key] = 100
    assert check_config(paper).lm.pretrain.hours is None


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


def test_the_schema_is_fresh_and_describes_every_key() -> None:
    schema = Configuration.model_json_schema()
    written = json.loads((ROOT / "workflow/schemas/config.schema.json").read_text())
    assert written == schema, "run make docs"
    sections = {"": schema, **schema["$defs"]}
    keys = {
        (name, key): node
        for name, one in sections.items()
        for key, node in one["properties"].items()
    }
    described = ("description", "$ref")
    assert [
        key for key, node in keys.items() if not any(word in str(node) for word in described)
    ] == []


def test_planning_a_run_loads_no_library_that_takes_seconds() -> None:
    code = "import sys, reproduction.config; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    path = {"PYTHONPATH": f"{ROOT}/src{os.pathsep}{ROOT}/workflow"}
    modules = subprocess.check_output(command, env=os.environ | path, text=True).split()
    assert not {"torch", "gensim", "pandas", "numba", "pyarrow"} & set(modules)


def test_older_names_of_presets_mean_the_presets(paper) -> None:
    checked = check_config(
        merged(paper, {"tokenizer_settings": {"sage": {"preset": "algorithm-1"}}})
    )
    assert checked == check_config(paper)
