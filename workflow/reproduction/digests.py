"""Digests of the code that a rule uses: its adapter, and all of ours that it imports.

Comments and docstrings do not count. The digest must not depend on the version of Python: a job in
a conda environment compares it with the one that Snakemake's Python took.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import sagevocab
from sagevocab.errors import UserError
from sagevocab.source import code_of_source, statements

HERE = Path(__file__).parent
# The library's folder is where it was imported from, so that another copy of it is noticed.
PACKAGES = {path.name: path for path in (Path(sagevocab.__file__).parent, HERE)}
SCRIPTS = HERE.parent / "scripts"


def search_path() -> list[str]:
    """Return the folders that must be on the search path of a process that runs this code."""
    return [str(path.parent) for path in PACKAGES.values()]


def code_of(adapter: str) -> str:
    """Return an adapter's file name and the digest of its code, for the `params` of its rule.

    Snakemake does not see an edit of a module that a script imports; it reruns a rule whose
    `params` change. The digest is over the adapter, all that it imports of `reproduction` and
    `sagevocab`, and the data files of those packages.

    Raises:
        UserError: there is no such adapter.
    """
    path = SCRIPTS / adapter
    if not path.is_file():
        raise UserError(f"{path}: there is no such adapter")
    return f"{adapter}:{_digest(path)}"


def version_of(module: str) -> str:
    """Return the name and RESULT_VERSION of `reproduction.<module>`, for the `params` of its rule.

    It takes the place of `code_of` where a result costs hours or days: an edit of the code leaves
    finished results alone, and whoever changes what the same settings give raises the version by
    hand (tests/golden/test_lm_results.py notices). The module is read, not imported.

    Raises:
        UserError: there is no such module, or it has no RESULT_VERSION.
    """
    path = _module_file(f"{HERE.name}.{module}")
    source = "" if path is None else path.read_text(encoding="utf-8")
    found = re.search(r"^RESULT_VERSION = (\d+)$", source, re.MULTILINE)
    if found is None:
        raise UserError(f"version_of: {HERE.name}.{module} has no RESULT_VERSION")
    return f"{module}:{found[1]}"


@functools.cache
def _digest(first: Path) -> str:
    digest = hashlib.sha256()
    for name, path in sorted((_name(path), path) for path in _sources(first)):
        digest.update(name.encode())
        digest.update(_file_digest(path))
    return digest.hexdigest()


def _name(path: Path) -> str:
    """Return the name of a file that is the same in every checkout."""
    own = next((one for one in PACKAGES.values() if path.is_relative_to(one)), path.parent)
    return path.relative_to(own.parent).as_posix()


@functools.cache
def _file_digest(path: Path) -> bytes:
    data = path.read_bytes()
    return hashlib.sha256(
        code_of_source(data, _tree(path)) if path.suffix == ".py" else data
    ).digest()


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def _sources(first: Path) -> set[Path]:
    """Return `first`, what of ours it imports, and the packages that hold those modules."""
    found: set[Path] = set()
    waiting: list[Path | None] = [first]
    while waiting:
        path = waiting.pop()
        if path is None or path in found:
            continue
        found.add(path)
        if path.name == "__init__.py":
            found.update(_data_files(path.parent))
        elif any(path.is_relative_to(package) for package in PACKAGES.values()):
            waiting.append(path.parent / "__init__.py")
        waiting.extend(_module_file(name) for name in _imports(path))
    return found


def _data_files(folder: Path) -> Iterator[Path]:
    """Yield the package data of `folder`: word lists and templates, no code."""
    for path in folder.iterdir():
        if path.is_file() and path.suffix not in (".py", ".pyc", ".nbi", ".nbc"):
            yield path
        elif path.is_dir() and not (path / "__init__.py").exists() and path.name != "__pycache__":
            yield from _data_files(path)


@functools.cache
def _imports(path: Path) -> tuple[str, ...]:
    names: list[str] = []
    for node in statements(_tree(path)):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
            names += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(names)


@functools.cache
def _module_file(name: str) -> Path | None:
    first, *parts = name.split(".")
    if first not in PACKAGES:
        return None
    base = PACKAGES[first].joinpath(*parts)
    candidates = (base.with_suffix(".py"), base / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)
