"""Digests of the code that a rule uses: its adapter, and all of ours that it imports.

Comments and docstrings do not count. The digest must not depend on the version of Python: a job in
a conda environment compares it with the one that Snakemake's Python took.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import re
from collections.abc import Iterable
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
_ARTEFACTS = ("figure_", "table_")  # how functions that make one are named
# What is known of files, in the working directory of Snakemake and its jobs.
KNOWN = Path(".snakemake/sagevocab/code.json")


def code_of(adapter: str, *functions: str) -> str:
    """Return an adapter's file name and the digest of its code, for the `params` of its rule.

    Snakemake does not see an edit of a module that a script imports; it reruns a rule whose
    `params` change. The digest is over the adapter, all that it imports of `reproduction` and
    `sagevocab`, and the data files of those packages.
    functions: those that the adapter calls by name, `paper.figures.figure_ratio`; their modules
    count with all that these import. Other figures and tables in the module of the first function
    do not, unless it calls them: an edit of one redraws no other.

    Raises:
        UserError: there is no such adapter, or no module of such a function.
    """
    path, modules = SCRIPTS / adapter, sorted({name.rpartition(".")[0] for name in functions})
    if not path.is_file():
        raise UserError(f"{path}: there is no such adapter")
    files = {name: _module_file(f"{HERE.name}.{name}") for name in modules}
    if missing := [name for name, file in files.items() if file is None]:
        raise UserError(f"code_of: {HERE.name} has no module {missing[0]!r}")
    if not functions:
        return f"{adapter}:{_digest(path)}"
    module, _, first = functions[0].rpartition(".")
    digest = _digest_of(files.pop(module), first, path, *files.values())
    return f"{' '.join([adapter, *functions])}:{digest}"


@functools.cache
def _digest_of(module: Path, function: str, *first: Path) -> str:
    """Return the digest of files and a module, less the figures that the function does not use."""
    source = module.read_bytes()
    tree = ast.parse(source)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    artefacts = [node for node in functions if node.name.startswith(_ARTEFACTS)]
    left_out = [node for node in artefacts if node.name != function]
    rest = [node for node in tree.body if node not in left_out]
    while called := [node for node in left_out if node.name in _names(rest)]:
        rest += called
        left_out = [node for node in left_out if node not in called]
    lines = source.splitlines()
    for node in left_out:
        lines[node.lineno - 1 : node.end_lineno] = [b""] * (node.end_lineno - node.lineno + 1)
    source = b"\n".join(lines)
    tree = ast.parse(source)
    imported = filter(None, map(_module_file, _imported(tree)))
    digest = hashlib.sha256(code_of_source(source, tree))
    digest.update(_digest(*first, *imported).encode())
    return digest.hexdigest()


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    walked = (name for node in nodes for name in ast.walk(node))
    return {name.id for name in walked if isinstance(name, ast.Name)}


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
def _digest(*first: Path) -> str:
    digest = hashlib.sha256()
    for name, path in sorted((_name(path), path) for path in _sources(*first)):
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
