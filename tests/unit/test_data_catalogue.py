from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from reproduction.data.files import local_files
from reproduction.data.sources import load_catalogue, resolve_source
from sagevocab.errors import SettingError, UserError

REPOSITORY = Path(__file__).parents[2]
CATALOGUE = REPOSITORY / "workflow/resources/datasets.yaml"
ENTRY = {"title": "T", "version": "1", "licence": "MIT", "format": "text"}
ENTRY |= {"urls": ["https://x.org/a"]}

SET = {"title": "T", "version": "1", "licence": "MIT"}
HUB = {"repo": "g", "revision": "main", "files": "*"}


def written(tmp_path, **entry) -> Path:
    path = tmp_path / "datasets.yaml"
    fields = {name: value for name, value in (ENTRY | entry).items() if value != "drop"}
    path.write_text(yaml.safe_dump({"a": fields}))
    return path


def test_the_projects_own_catalogue_has_what_the_papers_config_names() -> None:
    catalogue = load_catalogue(CATALOGUE)
    config = yaml.safe_load((REPOSITORY / "config.yaml").read_text())
    stanzas = [config["language_settings"][name] for name in config["languages"]]
    stanzas += [config["domain_settings"][name] for name in config["domains"]]
    for stanza in stanzas:
        source = resolve_source(stanza["source"], catalogue, key="k")
        assert source.in_paper or source.stands_for
        assert source.format != "parquet" or source.column
    for name in config["tasks"]:
        for split, source in config["task_settings"][name]["source"].items():
            resolved = resolve_source(source, catalogue, key="k", split=split)
            assert resolved.kind in ("hub", "download")
            assert resolved.labels or name == "stsb"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"licence": "drop"}, r"a\.licence: missing"),
        ({"url": "x"}, r"a\.url: unknown; did you mean urls"),
        ({"urls": "https://x.org"}, r"a\.urls: "),
        ({"sha256": "abc"}, r"a\.sha256: .*pattern"),
        ({"urls": "drop"}, "a: needs exactly one of urls, hub, package"),
        ({"package": "p:f"}, "a: needs exactly one of urls, hub, package"),
        ({"format": "xls"}, r"a\.format: 'xls'"),
        ({"urls": "drop", "hub": {"repo": "r", "files": "*"}}, r"a\.hub\.revision: missing"),
        ({"share": [0.9, 1.0]}, r"a\.share: unknown"),
        ({"urls": "drop", "hub": HUB, "share": [0.5, 0.5]}, r"a\.share: "),
        ({"urls": "drop", "hub": HUB, "share": [0.5, 2]}, r"a\.share: 2"),
        ({"splits": {"test": {}}}, r"a\.split: 'test'"),
        ({"splits": {"train": {"urls": []}}}, "a: needs exactly one of urls"),
        ({"stands_for": "b"}, r"a\.stands_for: 'b'"),
    ],
)
def test_a_wrong_entry_is_one_line(tmp_path, entry, message) -> None:
    path = written(tmp_path, **entry)
    with pytest.raises(UserError, match=message) as caught:
        load_catalogue(path)
    assert str(caught.value).startswith(f"{path}: a")
    assert "\n" not in str(caught.value)


# --- resolving


@pytest.fixture
def catalogue(tmp_path):
    entries = {
        "wiki": ENTRY | {"format": "mediawiki", "in_paper": True},
        "hub-wiki": {**SET, "hub": HUB | {"repo": "w"}, "column": "text", "stands_for": "wiki"},
        "other-wiki": {**SET, "hub": HUB | {"repo": "o"}, "column": "t", "stands_for": "wiki"},
        "bare": {**SET, "hub": HUB},
        "task": {
            **SET,
            "hub": HUB,
            "splits": {"train": {"hub": {"files": "t"}}, "validation": {"share": [0.9, 1.0]}},
        },
        "sample": {**SET, "package": "gensim:x", "format": "text", "sha256": "5" * 64},
    }
    path = tmp_path / "datasets.yaml"
    path.write_text(yaml.safe_dump(entries))
    return load_catalogue(path)


def test_the_first_of_path_constructed_package_dataset_wins(catalogue) -> None:
    source = {"dataset": "wiki", "rows": 5}
    assert resolve_source(source, catalogue, key="k").format == "mediawiki"
    for kind, name in {"package": "gensim:x", "constructed": "cola", "path": "a.txt"}.items():
        source |= {kind: name}
        found = resolve_source(source, catalogue, key="k", split="train")
        assert found.kind == ("path" if kind == "constructed" else kind)
        assert bool(found.constructed) == (kind == "constructed")
    local = resolve_source({**source, "format": "tsv", "column": "c"}, catalogue, key="k")
    assert (local.kind, local.format, local.column) == ("path", "tsv", "c")


ANY = {"title": "{language}", "version": "{date}", "licence": "MIT", "format": "mediawiki"}
ANY |= {"urls": ["https://x.org/{language}/{date}"]}
SAID = {"language": "hu", "date": "20260801", "format": "csv", "column": "c"}
SAID |= {"title": "a text", "licence": "free"}


@pytest.mark.parametrize(
    ("source", "split", "taken"),
    [
        ({"dataset": "any"}, None, {"language", "date"}),
        ({"dataset": "wiki"}, None, set()),
        ({"dataset": "hub-wiki"}, None, set()),
        ({"dataset": "task"}, "train", set()),
        ({"package": "gensim:x"}, None, set()),
        ({"package": "gensim:y.csv"}, None, {"format", "column", "title", "licence"}),
        ({"path": "a.csv"}, None, {"format", "column", "title", "licence"}),
        ({"path": "a.csv"}, "train", {"format", "title", "licence"}),
        ({"path": "a.txt"}, None, {"format", "title", "licence"}),
        ({"constructed": "cola"}, "train", set()),
    ],
)
def test_a_key_that_a_source_does_not_take_is_refused(catalogue, source, split, taken) -> None:
    """A key of an override lies over a source of the base that may be of another kind."""
    catalogue = {**catalogue, "any": ANY}
    needed = {key: SAID[key] for key in taken & {"language", "date"}}
    if source.get("path", source.get("package", "")).endswith(".csv"):
        needed |= {"column": "c"} if split is None else {}
    for key, value in SAID.items():
        stanza = {**source, **needed, key: value}
        if key in taken:
            # A table of texts needs its column.
            stanza |= {"column": "c"} if key == "format" and split is None else {}
            resolve_source(stanza, catalogue, key="k", split=split)
            continue
        with pytest.raises(SettingError, match=rf"^k\.{key}: .*(leave|`columns`)") as caught:
            resolve_source(stanza, catalogue, key="k", split=split)
        assert key not in ("language", "date") or "`dataset: wikipedia`" in str(caught.value)


@pytest.mark.parametrize(
    "source", [{"path": "a.csv"}, {"package": "p:a.tsv"}, {"dataset": "bare"}], ids=str
)
def test_a_table_of_texts_needs_a_column_and_one_of_a_task_none(catalogue, source) -> None:
    with pytest.raises(SettingError, match=r"^k\.column: missing; name the column"):
        resolve_source(source, catalogue, key="k")
    assert resolve_source(source | {"column": "c"}, catalogue, key="k").column == "c"
    assert resolve_source(source, catalogue, key="k", split="train").column is None


def test_a_listed_package_file_is_checked_and_an_unlisted_one_is_not(catalogue) -> None:
    assert resolve_source({"package": "gensim:x"}, catalogue, key="k").sha256 == "5" * 64
    other = resolve_source({"package": "gensim:y", "format": "text"}, catalogue, key="k")
    assert (other.package, other.format, other.sha256) == ("gensim:y", "text", None)


def test_splits_lie_over_their_entry(catalogue) -> None:
    train = resolve_source({"dataset": "task"}, catalogue, key="k", split="train")
    validation = resolve_source({"dataset": "task"}, catalogue, key="k", split="validation")
    assert train.hub.model_dump() == HUB | {"files": "t"}
    assert (validation.hub.model_dump(), validation.share) == (HUB, [0.9, 1.0])
    assert train.format == "parquet"


def test_entries_that_stand_for_the_same_text_come_next_to_each_other(catalogue) -> None:
    others = {
        name: resolve_source({"dataset": name}, catalogue, key="k").others
        for name in ("wiki", "hub-wiki", "other-wiki", "sample")
    }
    assert others == {
        "wiki": ["hub-wiki", "other-wiki"],
        "hub-wiki": ["other-wiki"],  # not the paper's, which is hard to get
        "other-wiki": ["hub-wiki"],
        "sample": [],
    }


def test_what_is_said_for_people_decides_no_retrieval(catalogue) -> None:
    decisive = resolve_source({"dataset": "hub-wiki"}, catalogue, key="k").decisive
    assert {"version", "format", "kind"} <= decisive.keys()
    assert not {"title", "licence", "note", "others", "stands_for"} & decisive.keys()


def test_a_path_is_a_file_a_folder_a_pattern_or_a_list_of_such(tmp_path) -> None:
    for name in ("b.txt", "a.txt.xz", "c.csv", ".hidden", "sub/d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    folder, absent = str(tmp_path), str(tmp_path / "absent.txt")
    a, b, c, d = (str(tmp_path / name) for name in ("a.txt.xz", "b.txt", "c.csv", "sub/d.txt"))
    assert local_files(b) == [b]
    assert local_files(folder) == [a, b, c]
    assert local_files(f"{folder}/*.txt*") == [a, b]
    assert local_files([c, f"{folder}/**/*.txt"]) == [c, b, d]
    assert local_files(absent) == [absent]
    assert local_files(f"{folder}/*.zip") == [f"{folder}/*.zip"]


def test_the_addresses_of_any_wikipedia_name_its_language_and_date() -> None:
    catalogue = load_catalogue(CATALOGUE)
    source = {"dataset": "wikipedia", "language": "zh-yue", "date": "20260801"}
    resolved = resolve_source(source, catalogue, key="k")
    name = "zh_yuewiki-20260801-pages-articles-multistream"
    assert resolved.urls[0].endswith(f"/zh_yuewiki/20260801/{name}.xml.bz2")
    assert resolved.index[0].endswith(f"{name}-index.txt.bz2")
    assert resolved.version == "20260801"
    with pytest.raises(UserError, match=r"k\.language: missing"):
        resolve_source({"dataset": "wikipedia"}, catalogue, key="k")
    with pytest.raises(UserError, match=r"k\.date: missing"):
        resolve_source({"dataset": "wikipedia", "language": "hu"}, catalogue, key="k")
