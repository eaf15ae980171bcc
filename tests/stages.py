"""What the code of each stage is: the adapters of its rules and all that these import."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from sagevocab import provenance

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "workflow/scripts"


def load_environments() -> ModuleType:
    """Return envs/write_environments.py, which is in no package."""
    path = ROOT / "envs/write_environments.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sources() -> dict[str, set[Path]]:
    """Return the code of each stage: its adapters, and what they import of the library."""
    found: dict[str, set[Path]] = {}
    for path in sorted(ROOT.glob("workflow/rules/*.smk")):
        for rule in re.split(r"^(?= *(?:use )?rule )", path.read_text("utf-8"), flags=re.MULTILINE):
            stage = re.search(r'"\.\./\.\./envs/(\w+)\.yaml"', rule)
            adapter = re.search(r'"\.\./(scripts/\w+\.py)"', rule)
            assert bool(stage) == bool(adapter), f"{path}: {rule}"
            if stage and adapter:
                code = provenance._sources(ROOT / "workflow" / adapter[1])
                found.setdefault(stage[1], set()).update(code)
    return {stage: {path for path in code if path.suffix == ".py"} for stage, code in found.items()}


def imports(code: set[Path]) -> set[str]:
    """Return what files import when they run, but the library and what comes with Python."""
    names = {
        name.partition(".")[0]
        for path in code
        for name in _imports(ast.parse(path.read_text(encoding="utf-8")))
    }
    return names - {"sagevocab"} - sys.stdlib_module_names


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
    for child in ast.iter_child_nodes(node):
        yield from _imports(child)
