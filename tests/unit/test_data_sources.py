"""Retrieval of every kind of source."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import create_autospec

import datasets
import huggingface_hub
import pandas as pd
import pytest

from sagevocab.data import fetch, sources
from sagevocab.data.sources import retrieve
from sagevocab.errors import UserError

SCRIPTS = Path(sources.__file__).parents[2]


def source(kind: str, name: str, **fields) -> dict:
    form = {"format": "text", "column": None, "rows": None, "split": None, "sentences": False}
    return {"kind": kind, "name": name, "key": "x.source", **form, **fields}


def get(resolved: dict, folder: Path, seed: int = 1) -> dict:
    description = folder / "out.source.json"
    retrieve(resolved, folder / "out", description, cache_dir=folder / "cache", seed=seed)
    return json.loads(description.read_text())


def test_a_file_of_a_package_is_found_without_importing_it(tmp_path) -> None:
    package = "gensim:test/test_data/lee_background.cor"
    digest = "5d78d6dafd953bbf65797bef09a9ffb9ec430583381be705f8fd460000f370fb"
    resolved = source("package", package, package=package, sha256=digest, bytes=360082)
    seen = get(resolved, tmp_path)
    assert (tmp_path / "out").stat().st_size == 360082
    assert (seen["origin"], seen["sha256"]) == (package, digest)
    if os.environ.get("PYTEST_XDIST_WORKER") is None:
        code = (
            "import sys; from sagevocab.data.sources import package_file; "
            f"package_file({package!r}); assert 'gensim' not in sys.modules"
        )
        environment = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.parametrize(
    ("package", "told"),
    [
        ("no_such_package:a", r"x\.source\.package: 'no_such_package' is not installed"),
        ("gensim:no/such/file", r"no/such/file does not exist; set `x\.source\.path`"),
    ],
)
def test_a_missing_package_or_file_is_one_line(tmp_path, package, told) -> None:
    with pytest.raises(UserError, match=told):
        get(source("package", package, package=package), tmp_path)


def test_a_file_of_a_distribution_lies_where_its_own_list_says(tmp_path) -> None:
    package = "turkish-treebanks:data/web.conllu"
    get(source("package", package, package=package), tmp_path)
    assert (tmp_path / "out").read_text(encoding="utf-8").startswith("# sent_id = tr-forum")


def test_several_files_of_packages_are_joined(tmp_path) -> None:
    packages = ["docutils:licenses/licenses/gpl-3-0.txt", "transformers:licenses/LICENSE"]
    seen = get(source("package", packages, package=packages), tmp_path)
    text = (tmp_path / "out").read_text(encoding="utf-8")
    assert "GNU GENERAL PUBLIC LICENSE" in text and "Apache License" in text
    assert seen["origin"] == ", ".join(packages)
    assert seen["bytes"] == len(text.encode())


def test_the_rows_of_a_task_are_constructed(tmp_path) -> None:
    seen = get(source("constructed", "cola", rows=50, split="train"), tmp_path)
    assert (len(pd.read_parquet(tmp_path / "out")), seen["origin"]) == (50, "constructed: cola")


def test_a_fallback_stands_in_for_what_is_gone_and_says_so(tmp_path, monkeypatch, caplog) -> None:
    (tmp_path / "other").write_text("text")

    really_fetch = fetch.fetch

    def fetched(urls, output, **options):
        if "gone" in urls[0]:
            raise fetch.GoneError(f"{urls[0]}: gone")
        return really_fetch(urls, output, **options)

    monkeypatch.setattr(fetch, "fetch", fetched)
    fallback = {"name": "other", "urls": [(tmp_path / "other").as_uri()], "in_paper": False}
    resolved = source("dataset", "wiki", urls=["http://x/gone"], in_paper=True, fallback=fallback)
    seen = get(resolved, tmp_path)
    assert (tmp_path / "out").read_text() == "text"
    assert (seen["name"], seen["instead_of"], seen["in_paper"]) == ("other", "wiki", False)
    assert "other is taken instead of wiki" in caplog.text
    with pytest.raises(fetch.GoneError):
        get(resolved | {"fallback": None}, tmp_path)


def test_a_failing_network_is_no_reason_for_other_data(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(fetch, "BACKOFF_SECONDS", 0.0)
    fallback = {"name": "other", "urls": [tmp_path.as_uri()]}
    resolved = source("dataset", "wiki", urls=["http://127.0.0.1:9/d"], fallback=fallback)
    with pytest.raises(UserError, match=r"127.0.0.1:9/d: cannot.*set `x\.source\.path` to a local"):
        get(resolved, tmp_path)
    assert not (tmp_path / "out").exists()


# --- the hub

ROWS = pd.DataFrame({"words": [["Ali", "geldi"]] * 20, "ner": [["PER", "O"]] * 20, "id": range(20)})
PAGE = "http://127.0.0.1:9/datasets"


@pytest.fixture
def client(monkeypatch):
    """A stand-in for the hub's client that takes what the real one takes; the hub is nowhere."""

    def load(repo, *_, **__):
        if repo != "someone/words":
            raise FileNotFoundError("no such data set\nand ten lines about it")
        return datasets.Dataset.from_pandas(ROWS)

    stand_in = create_autospec(datasets.load_dataset, side_effect=load)
    monkeypatch.setattr(datasets, "load_dataset", stand_in)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", PAGE.removesuffix("/datasets"))
    return stand_in


def test_shares_of_a_data_set_of_the_hub_are_kept(client, tmp_path, monkeypatch) -> None:
    where = {"repo": "someone/words", "revision": "parquet", "data_files": "tr/*.parquet"}
    wanted = source("dataset", "words", hub=where, format="parquet")
    ids = []
    with monkeypatch.context() as connected:
        connected.setattr(fetch, "check_connection", lambda *_: None)
        for share in ([0.0, 0.9], [0.9, 1.0]):
            seen = get(wanted | {"share": share}, tmp_path)
            ids += pd.read_parquet(tmp_path / "out")["id"].tolist()
    assert (sorted(ids), len(pd.read_parquet(tmp_path / "out"))) == (list(range(20)), 2)
    assert client.call_args.args == ("someone/words", None)
    asked = {key: client.call_args.kwargs[key] for key in ("split", "revision", "data_files")}
    assert asked == {"split": "train", "revision": "parquet", "data_files": "tr/*.parquet"}
    assert seen["origin"] == f"{PAGE}/someone/words"
    assert seen["sha256"] == hashlib.sha256((tmp_path / "out").read_bytes()).hexdigest()
    # Again without a connection: from the cache.
    assert get(wanted | {"share": [0.9, 1.0]}, tmp_path) == seen
    assert client.call_count == 2


@pytest.mark.parametrize(
    ("connected", "told"), [(True, "no such data set"), (False, "no connection")]
)
def test_what_the_hub_does_not_give_is_one_line(client, tmp_path, monkeypatch, connected, told):
    if connected:
        monkeypatch.setattr(fetch, "check_connection", lambda *_: None)
    with pytest.raises(UserError) as caught:
        get(source("dataset", "words", hub={"repo": "someone/else"}, format="parquet"), tmp_path)
    advice = "set `x.source.path` to a local copy"
    assert str(caught.value) == f"{PAGE}/someone/else: cannot be fetched ({told}); {advice}"
    assert not (tmp_path / "out").exists()
