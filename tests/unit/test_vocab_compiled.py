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


def test_an_edit_of_what_a_function_calls_is_seen(tmp_path):
    """`high` keeps its file, and must not keep the code compiled with the old `low`."""
    package = tmp_path / "sagevocab"
    source = Path(sagevocab.__file__).parent
    for name in ("__init__.py", "errors.py", "state.py", "provenance.py", "vocab/__init__.py",
                 "vocab/compiled.py"):  # fmt: skip
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_bytes((source / name).read_bytes())
    printed = []
    for number in (3, 3, 4):
        (package / "toy").mkdir(exist_ok=True)
        for name, text in FILES.items():
            path = package / "toy" / name
            if not path.exists() or name == "low.py":
                path.write_text(text.replace("{number}", str(number)), encoding="utf-8")
        command = [sys.executable, "-B", "-c", RUN]
        printed.append(
            subprocess.check_output(command, env={"PYTHONPATH": str(tmp_path)}, text=True).split()
        )
    assert printed == [["6"], ["6", "1"], ["8"]]


def test_the_kernels_are_kept_on_disk():
    assert ablate_lines._cache is not None
