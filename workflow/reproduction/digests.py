"""Digests of code, so that an edit reruns what uses it.

Snakemake sees an edit of a script, but none of a module that the script imports; it reruns a rule
whose `params` change. So the Snakefile puts a digest among the `params` of every rule. It is of the
parsed code: of another version of Python it is another.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sagevocab

SCRIPTS = Path(__file__).parents[1] / "scripts"
# Folders of the packages whose code counts.
PACKAGES = {path.name: path for path in (Path(sagevocab.__file__).parent, Path(__file__).parent)}
_ARTEFACTS = ("figure_", "table_")  # how functions that make a figure or a table are named


@dataclass(frozen=True)
class _Part:
    """A function that makes a figure or a table, or all the rest of a file.

    digest: of its code, comments and docstrings left out. artefacts: the names of figures and
    tables that stand in it.
    """

    digest: str
    artefacts: frozenset[str]


@dataclass(frozen=True)
class _File:
    """What a file of code imports, the rest of it, and its figures and tables by name."""

    imports: tuple[str, ...]
    rest: _Part
    functions: dict[str, _Part]


def code_of(script: str, *functions: str) -> str:
    """Return the digest of a script and of all modules of these packages that it imports.

    Comments and docstrings do not count. A function that makes a figure or a table counts where
    other code names it: an edit of one redraws no other.

    Args:
        script: file name, below workflow/scripts.
        functions: those that the script calls by name, `paper.figures.figure_ratio`.

    Raises:
        FileNotFoundError: there is no such script, or no module of such a function.
    """
    modules = {_module(name.rpartition(".")[0]) for name in functions}
    files = {file.as_posix(): _read(file) for file in imported_files(SCRIPTS / script, *modules)}
    artefacts = {name.rpartition(".")[2] for name in functions}
    used = sorted(f"{name} {part.digest}" for name, part in _used(files, artefacts))
    return hashlib.sha256("\n".join(used).encode()).hexdigest()


def _module(name: str) -> Path:
    """Return the file of a module below `reproduction`."""
    return PACKAGES["reproduction"].joinpath(*name.split(".")).with_suffix(".py")


def imported_files(*first: Path) -> set[Path]:
    """Return some files, and all that these import."""
    found: set[Path] = set()
    waiting = [*first]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += (file for name in _read(path).imports for file in _module_files(name))
    return found


def _used(files: dict[str, _File], artefacts: set[str]) -> set[tuple[str, _Part]]:
    """Return the parts of files that count, each with a name, from the figures wanted on."""
    used = {(Path(name).name, file.rest) for name, file in files.items()}
    wanted = artefacts.union(*(part.artefacts for _, part in used))
    while wanted:
        parts = [(n, part) for file in files.values() for n, part in file.functions.items()]
        added = {(name, part) for name, part in parts if name in wanted} - used
        used |= added
        wanted = set().union(*(part.artefacts for _, part in added))
    return used


@functools.cache
def _read(path: Path) -> _File:
    tree = ast.parse(path.read_bytes())
    imports = tuple(_imports(tree))
    _remove_docstrings(tree)
    made = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith(_ARTEFACTS)
    ]
    tree.body = [node for node in tree.body if node not in made]
    return _File(imports, _part(tree), {node.name: _part(node) for node in made})


def _part(tree: ast.AST) -> _Part:
    code = ast.dump(tree)
    # Few files name a figure or a table, and to look through a tree takes time.
    may_name = any(prefix in code for prefix in _ARTEFACTS)
    names = {name for name in _names(tree) if name.startswith(_ARTEFACTS)} if may_name else set()
    return _Part(hashlib.sha256(code.encode()).hexdigest(), frozenset(names))


def _remove_docstrings(tree: ast.Module) -> None:
    for node in _statements(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(ast.Constant(value=str())), *others]:
                    node.body = others


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield name


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _statements(module: ast.Module) -> Iterator[ast.AST]:
    """Yield statements at any depth that run; no expressions, which are most of a tree."""
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, block, ())


@functools.cache
def _module_files(name: str) -> list[Path]:
    """Return the files that an import of `name` runs: a module and the packages that hold it."""
    package, *parts = name.split(".")
    if package not in PACKAGES:
        return []
    places = [PACKAGES[package].joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]
    candidates = [file for one in places for file in (one / "__init__.py", one.with_suffix(".py"))]
    return [file for file in candidates if file.is_file()]
