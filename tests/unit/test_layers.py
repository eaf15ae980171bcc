"""Imports point one way: the library knows nothing of the pipeline, lower parts not of pages."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIPELINE = ("data", "analysis", "lm", "paper")


def imports_of(folder: Path) -> Iterator[str]:
    """Yield the modules that the code below a folder imports, anywhere in it."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
            elif isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)


def test_the_library_imports_nothing_of_the_pipeline() -> None:
    found = list(imports_of(ROOT / "src"))
    assert "sagevocab.errors" in found
    assert not [name for name in found if name.split(".")[0] == "reproduction"]


def test_the_librarys_tests_import_nothing_outside_their_folder() -> None:
    """They run against the installed wheel, from a copy of their folder (`make test-library`)."""
    found = {name.split(".")[0] for name in imports_of(ROOT / "tests/library")}
    pipeline = {path.stem for path in (ROOT / "tests").glob("*.py")} - {"conftest"}
    assert "sagevocab" in found and "playground_samples" in pipeline
    assert not found & (pipeline | {"reproduction", "pandas"})


@pytest.mark.parametrize("part", PIPELINE)
def test_a_part_of_the_pipeline_imports_itself_and_what_is_below(part: str) -> None:
    found = [name.split(".") for name in imports_of(ROOT / "workflow/reproduction" / part)]
    used = {names[1] if names[1:] else "itself" for names in found if names[0] == "reproduction"}
    below = {"parquet", "resuming", "value_types", *PIPELINE[: PIPELINE.index(part) + 1]}
    assert part in used
    assert used <= below | ({"manifest"} if part == "paper" else set())


def test_the_rules_need_numpy_and_pydantic_alone() -> None:
    """Where conda installs what jobs need, Snakemake's own Python has nothing else.

    So a dry run is fast, too, and nothing that rules ask needs Snakemake.
    """
    rules = "".join(path.read_text("utf-8") for path in (ROOT / "workflow/rules").glob("*.smk"))
    imports = re.findall(r"from (?:reproduction|sagevocab)[\w.]* import (?:\([^)]+\)|.+)", rules)
    imports.append(
        "from reproduction.artefacts import figures, tables"
    )  # the registry imports them
    absent = ["datasets", "gensim", "huggingface_hub", "matplotlib", "mwparserfromhell", "numba"]
    absent += ["pandas", "pyarrow", "scipy", "sentencepiece", "snakemake", "tokenizers"]
    absent += ["backports.zstd", "torch", "transformers"]
    lines = [f"import sys; sys.modules.update(dict.fromkeys({absent}))"]
    program = "\n".join(lines + imports)
    paths = os.pathsep.join(str(ROOT / name) for name in ("src", "workflow"))
    environment = {**os.environ, "PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
