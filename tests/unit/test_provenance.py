"""The frame of a rule's adapter, and the digests that make rules run again."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from reproduction import digests
from reproduction import job as provenance
from reproduction.digests import code_of, version_of
from reproduction.job import job
from sagevocab.errors import UserError
from sagevocab.state import file_digest


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch) -> None:
    """Locks of jobs lie in the working directory."""
    monkeypatch.chdir(tmp_path)


class Params(SimpleNamespace):
    """As Snakemake's: attributes, and a mapping."""

    def get(self, name: str, default: object = None) -> object:
        return getattr(self, name, default)

    def items(self):  # noqa: ANN201
        return vars(self).items()


def rule(tmp_path: Path, **params: object) -> SimpleNamespace:
    (tmp_path / "in.txt").write_text("input")
    return SimpleNamespace(
        rule="figure_x",
        log=[str(tmp_path / "x.log")],
        params=Params(**params),
        input=[str(tmp_path / "in.txt")],
        output=[str(tmp_path / "figure_x.pdf"), str(tmp_path / "figure_x.png")],
        wildcards=Params(lang="en"),
        threads=1,
    )


def test_success_leaves_one_record_an_artefact(tmp_path: Path) -> None:
    code = code_of("artefact.py", "paper.figures.figure_lengths")
    with job(rule(tmp_path, code=code, seed=3, state_dir="elsewhere")):
        print("to the log")
    record = json.loads((tmp_path / "figure_x.provenance.json").read_text())
    assert record["config"] == {"seed": 3}
    assert record["wildcards"] == {"lang": "en"}
    assert list(record["inputs"].values()) == [file_digest(tmp_path / "in.txt")]
    assert "to the log" in (tmp_path / "x.log").read_text()


def test_a_record_names_what_was_retrieved_instead_of_the_configured_source(
    tmp_path: Path,
) -> None:
    made = rule(tmp_path, source={"name": "wiki", "title": "A dump"})
    description = tmp_path / "en.source.json"
    found = {"name": "other", "title": "Another dump", "instead_of": "wiki", "format": "parquet"}
    description.write_text(json.dumps(found | {"bytes": 3, "column": None}))
    made.input.append(str(description))
    with job(made):
        pass
    retrieval = rule(tmp_path)
    retrieval.output = [str(tmp_path / "en"), str(description)]
    with job(retrieval):
        pass
    for name in ("figure_x", "en"):
        record = json.loads((tmp_path / f"{name}.provenance.json").read_text())
        assert record["run"]["sources"] == {str(description): found}


@pytest.mark.parametrize(
    ("outputs", "record"),
    [
        (["random.seed2.json", "random.seed2.parquet"], "random.seed2"),
        (["1.predictions.parquet", "1.json"], "1"),
        (["en.source.json", "en"], "en"),
        (["en.dump.words.npz"], "en.dump.words.npz"),
    ],
)
def test_files_of_one_artefact_share_a_record(
    outputs: list[str], record: str, tmp_path: Path
) -> None:
    made = rule(tmp_path)
    made.output = [str(tmp_path / name) for name in outputs]
    with job(made):
        pass
    assert [path.name for path in tmp_path.glob("*.json")] == [f"{record}.provenance.json"]


def test_each_of_several_folders_has_its_record(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("bpe", "sage")]
    made = rule(tmp_path, artefact=list(map(str, folders)))
    made.output = [str(folder / "lines.parquet") for folder in folders]
    with job(made):
        for path in map(Path, made.output):
            path.parent.mkdir()
            path.write_text(path.parent.name)
    (tmp_path / "sage.provenance.json").unlink()
    with job(made):  # which nobody has done, as one of its records says nothing
        pass
    user = rule(tmp_path)
    user.input = made.output
    with job(user):
        pass
    Path(made.output[1]).write_text("cut")
    with pytest.raises(SystemExit), job(user):
        pass


@pytest.fixture
def training(tmp_path: Path):
    """A training run, as a job that says whether it had to be done; its outputs are removed."""
    settings = {"code": version_of("lm.pretrain"), "state_dir": str(tmp_path / ".state/m")}
    model = tmp_path / "m"

    def run(text: str = "input", **params: object) -> bool:
        made, done = rule(tmp_path, **settings, artefact=str(model), **params), False
        Path(made.input[0]).write_text(text)
        made.output = [str(model / name) for name in ("weights", "log")]
        for path in made.output:
            Path(path).unlink(missing_ok=True)
        (tmp_path / "m.provenance.json").unlink(missing_ok=True)
        model.mkdir(exist_ok=True)
        with suppress(SystemExit), job(made):
            done = True
            for name in ("weights", "log", "pieces.txt"):
                (model / name).write_text(f"{name} {params}")
        return done

    return run


def test_training_is_not_repeated_for_equal_inputs(training, tmp_path: Path, capsys) -> None:
    assert training(seed=1)
    record = (tmp_path / "m.provenance.json").read_bytes()
    (tmp_path / "m/pieces.txt").unlink()
    before = time.time() - 1
    assert not training(seed=1)
    assert f"delete {tmp_path}/.state/m.kept" in capsys.readouterr().err
    assert (tmp_path / "m/weights").read_text() == "weights {'seed': 1}"
    assert (tmp_path / "m/pieces.txt").exists()
    assert (tmp_path / "m/log").stat().st_mtime > before
    assert (tmp_path / "m.provenance.json").read_bytes() == record


def test_training_is_repeated_for_other_settings_texts_or_damaged_files(training, tmp_path) -> None:
    assert training(seed=1)
    assert training(seed=2)
    assert training("other text", seed=2)
    (tmp_path / ".state/m.kept/weights").write_text("cut")
    assert training("other text", seed=2)


def test_an_input_is_not_read_again_to_know_its_digest(tmp_path: Path) -> None:
    """Else every job would read a dump of 20 GB once more than it needs to."""
    maker, reader = rule(tmp_path), rule(tmp_path)
    maker.output = reader.input = [str(tmp_path / "big.npz")]
    with job(maker):
        (tmp_path / "big.npz").write_text("big")
    record = tmp_path / "big.npz.provenance.json"
    record.write_text(record.read_text().replace(file_digest(tmp_path / "big.npz"), "as recorded"))
    with job(reader):
        pass
    inputs = json.loads((tmp_path / "figure_x.provenance.json").read_text())["inputs"]
    assert list(inputs.values()) == ["as recorded"]


def test_an_input_that_is_not_what_its_job_wrote_stops_the_rule(tmp_path: Path, capsys) -> None:
    maker, reader = rule(tmp_path), rule(tmp_path)
    maker.output = [str(tmp_path / "counts.parquet")]
    reader.input, written = maker.output, tmp_path / "counts.parquet"
    with job(maker):
        written.write_bytes(b"PAR1 numbers")
    with job(reader):
        pass
    written.write_bytes(b"PAR1 numbdrs")  # a bit was flipped
    with pytest.raises(SystemExit), job(reader):
        raise AssertionError("the adapter must not run")
    assert "counts.parquet: was cut or changed since its job wrote it" in capsys.readouterr().err
    (tmp_path / "counts.provenance.json").unlink()
    with job(reader):  # as the message advises for a file that is to be used as it is
        pass


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UserError("corpus.txt:3: not UTF-8;\n convert it"), "corpus.txt:3: not UTF-8; convert it"),
        (OSError(errno.ENOSPC, "No space left on device", "results/a"), "results/a: "),
        (MemoryError(), "set-resources: {figure_x: {mem_mb: MB}}"),
        (BrokenExecutor(), "set-resources: {figure_x: {mem_mb: MB}}"),
    ],
)
def test_what_a_user_can_mend_is_one_line_and_no_record(tmp_path, capsys, error, line) -> None:
    with pytest.raises(SystemExit) as caught, job(rule(tmp_path)):
        raise error
    given = capsys.readouterr().err
    assert (caught.value.code, given.count("\n")) == (1, 1)
    assert given.startswith("error: figure_x: ")
    assert line in given
    assert line in (tmp_path / "x.log").read_text()
    assert not (tmp_path / "figure_x.provenance.json").exists()


def test_the_log_keeps_the_traceback_of_a_defect(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), job(rule(tmp_path)):
        1 / 0  # noqa: B018
    assert "ZeroDivisionError" in (tmp_path / "x.log").read_text()


def test_another_library_than_the_digested_one_stops_the_rule(tmp_path: Path) -> None:
    with pytest.raises(SystemExit), job(rule(tmp_path, code="count_pieces.py:0123")):
        raise AssertionError("the adapter must not run")


# A job in a process of its own: it says that it has begun, and ends when the file `end` is there.
JOB = """
import sys, time
from pathlib import Path
from test_provenance import rule
from reproduction.job import job

folder = Path(sys.argv[1])
with job(rule(folder)):
    Path(sys.argv[2]).write_text("begun")
    while not (folder / "end").exists():
        time.sleep(0.01)
    for path in rule(folder).output:
        Path(path).write_text("whole")
"""


def started(folder: Path, name: str) -> subprocess.Popen:
    """Start JOB; return when it works, or waits for another."""
    places = [Path(__file__).parent, *(path.parent for path in digests.PACKAGES.values())]
    process = subprocess.Popen(
        [sys.executable, "-c", JOB, str(folder), name],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))},
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (folder / name).exists() and "waits" not in _log(folder):
        assert process.poll() is None
        time.sleep(0.01)
    return process


def _log(folder: Path) -> str:
    return (folder / "x.log").read_text() if (folder / "x.log").exists() else ""


def test_a_job_waits_for_an_orphan_and_takes_what_that_made(tmp_path: Path) -> None:
    orphan = started(tmp_path, "one")
    second = started(tmp_path, "two")
    (tmp_path / "end").touch()
    _, given = second.communicate(timeout=30)
    assert f"figure_x: process {orphan.pid} on " in given
    assert f"this job waits for it; end it (kill {orphan.pid})" in given
    assert "another job has made the files meanwhile" in given
    assert (orphan.wait(30), second.returncode) == (0, 0)
    assert not (tmp_path / "two").exists()
    assert not list(tmp_path.glob(".snakemake/*/*"))


def test_a_job_works_when_the_orphan_is_killed_and_clears_up_after_it(tmp_path: Path) -> None:
    orphan = started(tmp_path, "one")
    second = started(tmp_path, "two")
    leftover = tmp_path / f".figure_x.{orphan.pid}.partial.pdf"
    leftover.write_text("half")
    orphan.kill()
    (tmp_path / "end").touch()
    assert second.wait(30) == 0
    assert (tmp_path / "two").exists()
    assert (tmp_path / "figure_x.pdf").read_text() == "whole"
    assert not leftover.exists()


@pytest.fixture
def library(tmp_path: Path, monkeypatch) -> Path:
    """A folder with one adapter, the modules that it imports, and others."""
    files = {
        "draw.py": "from sagevocab.top import f\n",
        "sagevocab/__init__.py": "",
        "sagevocab/low/__init__.py": "",
        "sagevocab/low/base.py": "X = 1\n",
        "sagevocab/low/words.txt": "a\n",
        "sagevocab/top.py": "def f():\n    if 1:\n        from sagevocab.low import base\n",
        "sagevocab/other.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(digests, "HERE", tmp_path / "sagevocab")
    monkeypatch.setattr(digests, "PACKAGES", {"sagevocab": tmp_path / "sagevocab"})
    monkeypatch.setattr(digests, "SCRIPTS", tmp_path)
    return tmp_path


def fresh_code(*adapter: str) -> str:
    """`code_of` as another process would answer."""
    for name in ("_digest", "_digest_of", "_read", "_known", "_module_file"):
        getattr(digests, name).cache_clear()
    return code_of(*adapter)


FIGURES = """from sagevocab.top import f
def figure_one():
    \"\"\"One.\"\"\"
    return 1 + helper()

def helper():
    return 5

def figure_two():
    return 2 + figure_called()

def figure_called():
    return 7
"""


@pytest.mark.parametrize(
    ("edited", "reruns"),
    [
        ("draw.py", True),
        ("sagevocab/top.py", True),
        ("sagevocab/low/base.py", True),
        ("sagevocab/low/words.txt", True),
        ("sagevocab/__init__.py", True),
        ("sagevocab/other.py", False),
    ],
)
def test_code_is_the_adapter_and_what_it_or_the_figures_module_imports(
    library, edited, reruns
) -> None:
    (library / "sagevocab/drawn.py").write_text(FIGURES)
    functions = [["draw.py"], ["draw.py", "drawn.figure_one"]]
    before = [fresh_code(*given) for given in functions]
    with (library / edited).open("a") as file:
        file.write("# edited\n")
    if edited.endswith(".py"):
        assert [fresh_code(*given) for given in functions] == before  # a comment
    with (library / edited).open("a") as file:
        file.write("EDITED = 1\n")
    changed = [fresh_code(*given) != code for given, code in zip(functions, before, strict=True)]
    assert changed == [reruns, reruns]


def test_an_edit_that_keeps_the_size_of_a_file_reruns(library: Path) -> None:
    before = fresh_code("draw.py")
    digests.keep_known()
    assert fresh_code("draw.py") == before
    edited = library / "sagevocab/low/base.py"
    edited.write_text(edited.read_text().replace("1", "2"))
    os.utime(edited, (0, 0))
    assert fresh_code("draw.py") != before


@pytest.mark.parametrize(
    ("old", "new", "reruns"),
    [
        ("return 1", "return 3", {"one"}),
        ("return 5", "return 6", {"one", "two"}),
        ("return 2", "return 3", {"two"}),
        ("return 7", "return 8", {"two"}),  # another figure's function, which this one calls
        ("One.", "Other.", set()),
        ("def helper", "LIMIT = 1\n\n\ndef helper", {"one", "two"}),
    ],
)
def test_an_edit_of_one_figures_function_redraws_that_figure(library, old, new, reruns) -> None:
    module = library / "sagevocab/drawn.py"

    def codes(source: str) -> dict[str, str]:
        module.write_text(source)
        return {name: fresh_code("draw.py", f"drawn.figure_{name}") for name in ("one", "two")}

    assert old in FIGURES
    before, after = codes(FIGURES), codes(FIGURES.replace(old, new))
    assert {name for name in before if before[name] != after[name]} == reruns


@pytest.mark.parametrize(("version", "reruns"), [(1, False), (2, True)])
def test_a_versioned_result_is_kept_until_its_version_is_raised(library, version, reruns) -> None:
    digests._module_file.cache_clear()
    module = library / "sagevocab/top.py"
    module.write_text("import nothing\nRESULT_VERSION = 1\n")
    planned = version_of("top")
    module.write_text(f"# edited\nRESULT_VERSION = {version}\n")
    assert (version_of("top") != planned) == reruns
    with pytest.raises(SystemExit) if reruns else nullcontext(), job(rule(library, code=planned)):
        pass


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        (lambda: version_of("data"), "reproduction.data"),
        (lambda: code_of("nothing.py"), "nothing.py"),
        (lambda: code_of("artefact.py", "paper.none.figure"), "'paper.none'"),
    ],
)
def test_unknown_code_has_no_digest(wrong, place) -> None:
    with pytest.raises(UserError, match=place):
        wrong()


def test_a_commit_is_dirty_by_edits_but_not_by_results(tmp_path: Path, monkeypatch) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    for name in ("results/claims.md", "library/code.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("first")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "library/job.py"))
    clean = provenance.git_commit()
    (tmp_path / "results/claims.md").write_text("second")
    assert provenance.git_commit() == clean
    (tmp_path / "library/code.py").write_text("second")
    assert provenance.git_commit() == f"{clean}-dirty"


def test_ctrl_c_ends_a_job_without_a_traceback():
    # A process that starts in the background of a shell would ignore it.
    code = (
        "import reproduction, os, signal as s; s.signal(s.SIGINT, s.default_int_handler); "
        "os.kill(os.getpid(), s.SIGINT)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")
