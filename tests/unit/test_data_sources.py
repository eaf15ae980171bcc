"""Retrieval of every kind of source, the hub by a stand-in that speaks its protocol."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import os
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from sagevocab.data import fetch, sources
from sagevocab.data.sources import retrieve
from sagevocab.errors import UserError

SCRIPTS = Path(sources.__file__).parents[2]
COMMIT = "a" * 40
REPO = "someone/words"


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


class Hub(http.server.BaseHTTPRequestHandler):
    """As much of the hub's protocol as its client needs to load one data set of parquet files."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        path = urllib.parse.unquote(self.path.split("?")[0])
        api, resolve = f"/api/datasets/{REPO}", f"/datasets/{REPO}/resolve/"
        if path.startswith(f"{api}/tree/"):
            self.tree(path.removeprefix(f"{api}/tree/").partition("/")[2])
        elif path.startswith(api):
            files = [{"rfilename": name} for name in self.server.files]
            self.json({"id": REPO, "_id": "1", "sha": COMMIT, "siblings": files})
        elif path.startswith(resolve) and (name := self.file_of(path)):
            content = self.server.files[name]
            etag = hashlib.sha1(content).hexdigest()
            self.reply(200, content, {"X-Repo-Commit": COMMIT, "ETag": f'"{etag}"'})
        elif path == f"/datasets/{REPO}":
            self.reply(200, b"")
        else:
            self.missing()

    def file_of(self, path: str) -> str | None:
        return next((name for name in self.server.files if path.endswith(f"/{name}")), None)

    def tree(self, folder: str) -> None:
        prefix = f"{folder}/" if folder else ""
        inside = [name for name in self.server.files if name.startswith(prefix)]
        entries = {}
        for name in inside:
            head, _, rest = name.removeprefix(prefix).partition("/")
            size = 0 if rest else len(self.server.files[name])
            kind = "directory" if rest else "file"
            entries[head] = {"type": kind, "path": prefix + head, "size": size, "oid": "b" * 40}
        if entries:
            self.json(list(entries.values()))
        else:
            self.missing()

    def json(self, value) -> None:
        self.reply(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def missing(self) -> None:
        self.reply(404, b"{}", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})

    def reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


ROWS = pd.DataFrame({"words": [["Ali", "geldi"]] * 20, "ner": [["PER", "O"]] * 20, "id": range(20)})


@pytest.fixture
def hub() -> Iterator[http.server.ThreadingHTTPServer]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    buffer = io.BytesIO()
    ROWS.to_parquet(buffer)
    server.files, server.paths = {"tr/train/0000.parquet": buffer.getvalue()}, []
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


RETRIEVE = """
import json, sys
from sagevocab.data.sources import retrieve
from sagevocab.errors import UserError
for resolved, out in json.loads(sys.argv[1]):
    try:
        retrieve(resolved, out, out + ".source.json", cache_dir=sys.argv[2], seed=1)
    except UserError as error:
        print(error)
"""


def get_from_hub(jobs: list, folder: Path, endpoint: str) -> str:
    """Retrieve in a process of its own: the client reads its settings when it is imported."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(SCRIPTS),
        "HF_ENDPOINT": endpoint,
        "HF_HUB_DISABLE_XET": "1",
        "HF_HOME": str(folder / "home"),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", RETRIEVE, json.dumps(jobs), str(folder / "cache")],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def test_the_hub(hub, tmp_path) -> None:
    where = {"repo": REPO, "revision": "refs/convert/parquet", "data_files": "tr/train/*.parquet"}
    jobs = []
    for name, share in (("train", [0.0, 0.9]), ("validation", [0.9, 1.0])):
        resolved = source("dataset", "words", hub=where, share=share, format="parquet")
        jobs.append((resolved, str(tmp_path / name)))
    absent = source("dataset", "words", hub={"repo": "someone/else"}, format="parquet")
    jobs.append((absent, str(tmp_path / "absent")))
    endpoint = f"http://127.0.0.1:{hub.server_port}"

    told = get_from_hub(jobs, tmp_path, endpoint)
    train, validation = (pd.read_parquet(tmp_path / name) for name in ("train", "validation"))
    assert (len(train), len(validation)) == (18, 2)
    assert sorted([*train["id"], *validation["id"]]) == list(range(20))
    assert any("refs%2Fconvert%2Fparquet" in path for path in hub.paths)
    description = json.loads((tmp_path / "train.source.json").read_text())
    assert description["origin"] == f"{endpoint}/datasets/{REPO}"
    assert description["sha256"] == hashlib.sha256((tmp_path / "train").read_bytes()).hexdigest()
    assert told.startswith(f"{endpoint}/datasets/someone/else: cannot be fetched (")
    assert told.endswith("set `x.source.path` to a local copy")
    assert "\n" not in told
    assert not (tmp_path / "absent").exists()

    # Again without the hub: from the cache, and what is not there is one line at once.
    hub.shutdown()
    hub.server_close()
    (tmp_path / "train").unlink()
    told = get_from_hub([jobs[0], jobs[2]], tmp_path, endpoint)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "train"), train)
    assert told == (
        f"{endpoint}/datasets/someone/else: cannot be fetched (no connection); "
        "set `x.source.path` to a local copy"
    )
