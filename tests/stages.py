"""What the code of each stage is: the adapters of its rules and all that these import."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from reproduction import digests

ROOT = Path(__file__).parents[1]

# The modules that an adapter imports by name.
ARTEFACTS = defaultdict(
    list, {"scripts/artefact.py": sorted(ROOT.glob("workflow/reproduction/artefacts/*.py"))}
)


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
                code = digests.imported_files(
                    ROOT / "workflow" / adapter[1], *ARTEFACTS[adapter[1]]
                )
                found.setdefault(stage[1], set()).update(code)
    return found


def imports(code: set[Path]) -> dict[str, str]:
    """Return what files import but the library and what comes with Python: statement -> module."""
    nodes = [node for path in code for node in _imports(ast.parse(path.read_text("utf-8")))]
    found = {ast.unparse(node): re.split(r"[ .]", ast.unparse(node))[1] for node in nodes}
    own = {"", "__future__", "sagevocab", "reproduction", *sys.stdlib_module_names}
    own.add("compression")  # comes with Python from 3.14 on
    return {statement: module for statement, module in found.items() if module not in own}


def _imports(node: ast.AST) -> Iterator[ast.stmt]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _imports(child)
