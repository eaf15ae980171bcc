"""Python source cut to what it does, so that a digest of it says which results are alike."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence

Span = tuple[int, float]  # from one byte of a line to before another


def code_of_source(source: bytes, tree: ast.Module) -> bytes:
    """Return Python source without comments, docstrings and empty lines.

    It is cut from the text: what `ast` or `tokenize` would write differs between Python's versions,
    and a job in a conda environment may have another one than Snakemake.
    """
    lines, strings = source.splitlines(), _strings_by_line(tree)
    for docstring in _docstrings(tree):
        for number in range(docstring.lineno - 1, docstring.end_lineno):
            lines[number] = b""
            strings.pop(number, None)
    code = [_without_comment(line, strings.get(n, ())) for n, line in enumerate(lines)]
    return b"\n".join(line for number, line in enumerate(code) if line or number in strings)


def _without_comment(line: bytes, strings: Sequence[Span]) -> bytes:
    """Return a line without its comment; `strings`: where it has text."""
    for mark in re.finditer(b"#", line):
        if not any(start <= mark.start() < end for start, end in strings):
            return line[: mark.start()].rstrip()
    is_open = any(end == math.inf for _, end in strings)  # then spaces at its end are text
    return line if is_open else line.rstrip()


def _strings_by_line(tree: ast.Module) -> dict[int, list[Span]]:
    spans: dict[int, list[Span]] = {}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        if is_text or isinstance(node, ast.JoinedStr):
            first, last = node.lineno - 1, node.end_lineno - 1
            for number in range(first, last + 1):
                start = node.col_offset if number == first else 0
                end = node.end_col_offset if number == last else math.inf
                spans.setdefault(number, []).append((start, end))
    return spans


def _docstrings(tree: ast.Module) -> Iterator[ast.Expr]:
    for node in statements(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(ast.Constant(value=str())) as first, *_]:
                    yield first


def statements(module: ast.Module) -> Iterator[ast.AST]:
    """Yield statements at any depth that run; no expressions, which are most of a tree."""
    waiting: list[ast.AST] = [module]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, block, ())
