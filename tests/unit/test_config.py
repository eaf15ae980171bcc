"""What is refused in a configuration, and in which words."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from snakemake.utils import update_config

from reproduction.config import check_config, load_run
from reproduction.settings import Configuration
from sagevocab.errors import UserError

ROOT = Path(__file__).parents[2]


def written(path: str) -> dict:
    """Return a configuration that is shipped."""
    return yaml.safe_load((ROOT / path).read_text())


@pytest.fixture
def paper() -> dict:
    return written("config.yaml")


def leaves(node: object, path: tuple = ()) -> dict:
    if not isinstance(node, dict):
        return {path: node}
    return {k: v for key, child in node.items() for k, v in leaves(child, (*path, key)).items()}


@pytest.mark.parametrize(
    ("names", "first"),
    [(["wiki"], "en.txt.xz"), (["wiki", "small_models", "reference"], "en_wiki.txt.xz")],
)
def test_the_configurations_for_local_texts_are_valid_once_they_are_there(
    names: list[str], first: str, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given: dict = {}
    for name in names:
        update_config(given, written(f"config/{name}.yaml"))
    with pytest.raises(UserError, match=f"there is no file data/{first}"):
        load_run(given)
    paths = [value for key, value in leaves(given).items() if key[-1] == "path"]
    for path in map(Path, np.hstack(paths)):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    load_run(given)


def test_one_value_has_one_form(paper: dict) -> None:
    """Else `hours: 24` for 24.0, or keys in another order, would train finished models again."""
    usual = check_config(copy.deepcopy(paper))
    paper["lm"]["pretrain"] |= {"hours": 24, "gradient_clipping": 0, "warmup": 6e-2}
    paper["lm"]["pretrain"] = dict(reversed(paper["lm"]["pretrain"].items()))
    paper["word2vec"] |= {"alpha": 2.5e-2}
    assert repr(check_config(paper).model_dump()) == repr(usual.model_dump())


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
    shipped = json.loads((ROOT / "workflow/schemas/config.schema.json").read_text())
    assert shipped == schema, "run make docs"
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


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("sage:\n  windw: 4\n", "sage.windw: unknown; did you mean window? (in {}:2)"),
        (
            "seed: 3\ntokenizer_settings:\n  sage: {windw: 4}\n",
            "tokenizer_settings.sage.windw: unknown; .* (in {}:3)",
        ),
        (
            "language_settings:\n  en:\n    source:\n      dataset: olm-enwiki-202208\n",
            "language_settings.en.source.dataset: 'olm-enwiki-202208' is unknown; "
            "did you mean olm-enwiki-20220820?; .* (in {}:4)",
        ),
    ],
)
def test_a_refused_key_names_file_and_line(text: str, line: str, tmp_path) -> None:
    files = {name: tmp_path / name for name in ("mine.yaml", "yours.yaml")}
    files["mine.yaml"].write_text("sage: {window: 3}\n")
    files["yours.yaml"].write_text(text)
    given: dict = {}
    for file in files.values():
        update_config(given, yaml.safe_load(file.read_text()))
    with pytest.raises(UserError) as refused:
        load_run(given, files=[*files.values()])
    expected = f"config key {line.format(files['yours.yaml'])}"
    assert all(part in str(refused.value) for part in expected.split(".*")), refused.value


def test_numbers_in_braces_on_the_command_line_are_numbers(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.yaml"
    file.write_text("tokenizer_settings: {sage: {label: '5'}}\n")
    given = {
        "tokenizer_settings": {"sage": {"seeds": "null"}},
        "sage": {"window": "3"},
        "lm": {"enabled": "false", "finetune": {"seeds": ["4", "5"], "learning_rate": "1.0e-3"}},
    }
    # As Snakemake gives what a file and --config say.
    both = {**given, "tokenizer_settings": {"sage": {"label": "5", "seeds": "null"}}}
    config = load_run(both, working_directory=True, files=[file], command_line=given).config
    assert config.tokenizer_settings["sage"].label == "5"
    assert config.tokenizer_settings["sage"].seeds is None
    assert (config.sage.window, config.lm.enabled) == (3, False)
    assert (config.lm.finetune.seeds, config.lm.finetune.learning_rate) == ([4, 5], 1e-3)


@pytest.mark.parametrize("text", ["run: {{ run }}\n", "seed: 1\n? [a, b]\n: 3\n"])
def test_a_key_that_is_no_text_is_refused_with_its_line(tmp_path, text: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    line = len(text.splitlines()) if "{" in text else 2
    with pytest.raises(UserError, match=rf"mine\.yaml:{line}: a key is text; .* in quotes"):
        load_run({}, files=[file])


def test_a_source_that_a_later_file_names_takes_the_place_of_all_of_the_other(tmp_path) -> None:
    file = tmp_path / "mine.yaml"

    def load(section: str, name: str, said: str) -> dict:
        file.write_text(f"{section}: {{{name}: {{source: {{{said}}}}}}}")
        given = written("config/demo.yaml")
        update_config(given, yaml.safe_load(file.read_text()))
        run = load_run(given, files=[ROOT / "config/demo.yaml", file])
        source = getattr(run.config, section)[name].source
        return {key: value for key, value in source.model_dump().items() if value is not None}

    loaded = load("language_settings", "en", "dataset: trwiki-202302")
    assert loaded == {"dataset": "trwiki-202302"}
    # The data set of the paper's settings, which the text of the demo stands for, stays.
    loaded = load("domain_settings", "legal", "title: News")
    assert {*loaded} == {"package", "dataset", "format", "title", "licence"}
    with pytest.raises(UserError, match=r"en\.source\.language: .*`dataset: wikipedia`.*mine"):
        load("language_settings", "en", 'language: hu, date: "20261101"')


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("tr: {source: {date: 2026-11-01}}", r'tr\.source\.date: 2026-11-01 .* as "20261101"'),
        ("tr: {source: {date: 20261101}}", r'tr\.source\.date: 20261101 .* as "20261101"'),
        ("tr: {source: {date: '2026-11'}}", r'tr\.source\.date: 2026-11 .* as "20260801"'),
        ("tr: {source: {date: [1]}}", r'tr\.source\.date: .* as "20260801"'),
        ("tr: {source: {hub: {repo: a}}}", r"tr\.source\.hub: .*datasets\.yaml"),
        ("tr: {source: {url: 'https://x.org'}}", r"tr\.source\.url: .*datasets\.yaml"),
        ("hu: {source: {path: a.txt}}", r"hu\.name: missing; .*name: Hungarian"),
        ("hu: {nam: x, source: {path: a.txt}}", r"hu\.nam: unknown; did you mean name\?"),
    ],
)
def test_a_language_or_source_in_a_wrong_form_is_told_the_right_one(said, message) -> None:
    with pytest.raises(UserError, match=message) as caught:
        load_run({"language_settings": yaml.safe_load(f"{{{said}}}")})
    assert "datetime" not in str(caught.value) and "pattern" not in str(caught.value)


def test_a_key_that_the_loss_of_a_tokenizer_does_not_read_is_refused(paper: dict) -> None:
    paper["tokenizer_settings"]["sage"] |= {"preset": "counts", "loss_lines": 500}
    with pytest.raises(UserError, match=r"settings\.sage\.loss_lines: .*tokens_per_line; leave it"):
        check_config(paper)
