from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import sagevocab
from sagevocab.vocab.kernels import ablate_lines

FILES = {
    "__init__.py": "",
    "low.py": "from sagevocab.vocab.compiled import compiled\n"
    "@compiled\ndef number():\n    return {number}\n",
    "high.py": "from sagevocab.vocab.compiled import compiled\n"
    "from sagevocab.toy.low import number\n"
    "@compiled\ndef twice():\n    return 2 * number()\n",
}
RUN = "from sagevocab.toy.high import twice; print(twice(), *twice.stats.cache_hits.values())"


RENAMED = {
    "__init__.py": "",
    "data.py": "from typing import NamedTuple\n"
    "class {name}(NamedTuple):\n    number: int\nmade = {name}(5)\n",
    "use.py": "from sagevocab.vocab.compiled import compiled\n"
    "from sagevocab.toy import data\n"
    "@compiled\ndef read(made):\n    return made.number\n",
}


def copy_library(folder: Path) -> Path:
    """Copy what `compiled` needs; return an empty package beside it."""
    source = Path(sagevocab.__file__).parent
    for name in ("__init__.py", "errors.py", "state.py", "provenance.py", "vocab/__init__.py",
                 "vocab/compiled.py"):  # fmt: skip
        path = folder / "sagevocab" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((source / name).read_bytes())
    toy = folder / "sagevocab" / "toy"
    toy.mkdir()
    return toy


def run(folder: Path, program: str) -> list[str]:
    command = [sys.executable, "-B", "-c", program]
    return subprocess.check_output(command, env={"PYTHONPATH": str(folder)}, text=True).split()


def test_an_edit_of_what_a_function_calls_is_seen(tmp_path):
    """`high` keeps its file, and must not keep the code compiled with the old `low`."""
    toy = copy_library(tmp_path)
    printed = []
    for number in (3, 3, 4):
        for name, text in FILES.items():
            if not (toy / name).exists() or name == "low.py":
                (toy / name).write_text(text.replace("{number}", str(number)), encoding="utf-8")
        printed.append(run(tmp_path, RUN))
    assert printed == [["6"], ["6", "1"], ["8"]]


def test_a_class_that_is_gone_is_no_trouble(tmp_path):
    """What was compiled for it is kept with its name."""
    toy = copy_library(tmp_path)
    for name, text in RENAMED.items():
        (toy / name).write_text(text.replace("{name}", "Old"), encoding="utf-8")
    program = "from sagevocab.toy.use import data, read; print(read(data.made))"
    assert run(tmp_path, program) == ["5"]
    data = toy / "data.py"
    data.write_text(RENAMED["data.py"].replace("{name}", "New"), encoding="utf-8")
    assert run(tmp_path, program) == ["5"]


def test_the_kernels_are_kept_on_disk():
    assert ablate_lines._cache is not None
