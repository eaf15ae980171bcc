"""Digests of the code that a rule uses: its adapter, and all of ours that it imports.

Comments and docstrings do not count. The digest must not depend on the version of Python: a job in
a conda environment compares it with the one that Snakemake's Python took.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import itertools
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import sagevocab
from sagevocab import source
from sagevocab.errors import UserError
from sagevocab.source import code_of_source, statements
from sagevocab.state import write_json

HERE = Path(__file__).parent
# The library's folder is where it was imported from, so that another copy of it is noticed.
PACKAGES = {path.name: path for path in (Path(sagevocab.__file__).parent, HERE)}
SCRIPTS = HERE.parent / "scripts"
# What is known of files, in the working directory of Snakemake and its jobs.
KNOWN = Path(".snakemake/sagevocab/code.json")


def code_of(adapter: str, function: str = "") -> str:
    """Return an adapter's file name and the digest of its code, for the `params` of its rule.

    Snakemake does not see an edit of a module that a script imports; it reruns a rule whose
    `params` change. The digest is over the adapter, all that it imports of `reproduction` and
    `sagevocab`, and the data files of those packages.
    function: one that the adapter calls by its name, `artefacts.figures.figure_ratio`. It counts
    with the functions of its module that it calls and with what they import, not with its decorator
    and what its module imports at the head.

    Raises:
        UserError: there is no such adapter, or no such function.
    """
    path = SCRIPTS / adapter
    if not path.is_file():
        raise UserError(f"{path}: there is no such adapter")
    return f"{adapter} {function}".strip() + f":{_digest(path, function)}"


def version_of(module: str) -> str:
    """Return the name and RESULT_VERSION of `reproduction.<module>`, for the `params` of its rule.

    It takes the place of `code_of` where a result costs hours or days: an edit of the code leaves
    finished results alone, and whoever changes what the same settings give raises the version by
    hand (tests/golden/test_lm_results.py notices). The module is read, not imported.

    Raises:
        UserError: there is no such module, or it has no RESULT_VERSION.
    """
    path = _module_file(f"{HERE.name}.{module}")
    text = "" if path is None else path.read_text(encoding="utf-8")
    found = re.search(r"^RESULT_VERSION = (\d+)$", text, re.MULTILINE)
    if found is None:
        raise UserError(f"version_of: {HERE.name}.{module} has no RESULT_VERSION")
    return f"{module}:{found[1]}"


@functools.cache
def _digest(first: Path, function: str = "") -> str:
    digest = hashlib.sha256()
    called: list[str] = []
    if function:
        code = _source_of(function)
        tree = ast.parse(code)
        digest.update(code_of_source(code, tree))
        called = _imported(tree)
    sources = _sources(first, *map(_module_file, called))
    for name, path in sorted((_name(path), path) for path in sources):
        digest.update(name.encode())
        digest.update(_read(path)[0].encode())
    return digest.hexdigest()


@functools.cache
def _name(path: Path) -> str:
    """Return the name of a file that is the same in every checkout."""
    own = next((one for one in PACKAGES.values() if path.is_relative_to(one)), path.parent)
    return path.relative_to(own.parent).as_posix()


@functools.cache
def _read(path: Path) -> tuple[str, list[str]]:
    """Return the digest of a file, and the names that it imports."""
    status = path.stat()
    now = [status.st_size, status.st_mtime_ns]
    known = _known().get(str(path))
    if not known or known[0] != now:
        data, imported = path.read_bytes(), []
        if path.suffix == ".py":
            tree = ast.parse(data)
            data, imported = code_of_source(data, tree), _imported(tree)
        known = [now, hashlib.sha256(data).hexdigest(), imported]
        _known()[str(path)] = known
    return known[1], known[2]


@functools.cache
def _known() -> dict[str, Any]:
    """Return what `_read` found before, by file; what other code of ours found counts no more."""
    with suppress(OSError, ValueError):
        known = json.loads(KNOWN.read_text(encoding="utf-8"))
        if known.get("by") == _readers():
            return known
    return {"by": _readers()}


def _readers() -> list[int]:
    return [Path(file).stat().st_mtime_ns for file in (__file__, source.__file__)]


def keep_known() -> None:
    """Keep what is known of files for the jobs, which would else parse a hundred of them each."""
    with suppress(OSError):
        write_json(KNOWN, _known())


def _source_of(function: str) -> bytes:
    """Return the source of a function's module with it and the functions that it calls alone.

    The lines of others, of decorators and of imports at the head are empty.
    """
    module, _, name = function.rpartition(".")
    path = _module_file(f"{HERE.name}.{module}")
    body = [] if path is None else _tree(path)
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    if path is None or name not in functions:
        raise UserError(f"code_of: {HERE.name} has no function {function!r}")
    called = _called(functions, name)
    lines = path.read_bytes().splitlines()
    for node in body:
        first, last = node.lineno, node.end_lineno
        if isinstance(node, ast.FunctionDef):
            first = min([first, *(decorator.lineno for decorator in node.decorator_list)])
            last = node.lineno - 1 if node.name in called else last
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        lines[first - 1 : last] = [b""] * (last - first + 1)
    return b"\n".join(lines)


@functools.cache
def _tree(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_bytes()).body


def _called(functions: Mapping[str, ast.FunctionDef], first: str) -> list[str]:
    """Return those of a module's functions that one of them needs, itself among them."""
    found = [first]
    for name in found:  # which grows
        inside = itertools.chain.from_iterable(map(ast.walk, functions[name].body))
        names = {node.id for node in inside if isinstance(node, ast.Name)}
        found += sorted((names & functions.keys()).difference(found))
    return found


def _sources(*first: Path | None) -> set[Path]:
    """Return some files, what of ours they import, and the packages that hold those modules."""
    found: set[Path] = set()
    waiting = list(first)
    while waiting:
        path = waiting.pop()
        if path is None or path in found:
            continue
        found.add(path)
        if path.name == "__init__.py":
            found.update(_data_files(path.parent))
        elif any(path.is_relative_to(package) for package in PACKAGES.values()):
            waiting.append(path.parent / "__init__.py")
        waiting.extend(map(_module_file, _read(path)[1]))
    return found


@functools.cache
def _data_files(folder: Path) -> list[Path]:
    """Return the package data of `folder`: word lists and templates, no code."""
    found = []
    for path in folder.iterdir():
        if path.is_file() and path.suffix not in (".py", ".pyc", ".nbi", ".nbc"):
            found.append(path)
        elif path.is_dir() and not (path / "__init__.py").exists() and path.name != "__pycache__":
            found += _data_files(path)
    return found


def _imported(tree: ast.Module) -> list[str]:
    names: list[str] = []
    for node in statements(tree):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
            names += (f"{node.module}.{alias.name}" for alias in node.names)
    return names


@functools.cache
def _module_file(name: str) -> Path | None:
    first, *parts = name.split(".")
    if first not in PACKAGES:
        return None
    base = PACKAGES[first].joinpath(*parts)
    candidates = (base.with_suffix(".py"), base / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)
