"""A written table read again, in each of its forms: outputs are paths by form."""

from __future__ import annotations

import csv


def text_of(outputs, form) -> str:
    return outputs[form].read_text(encoding="utf-8")


def rows_of(outputs) -> list[dict[str, str]]:
    with outputs["csv"].open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def markdown_rows(outputs) -> list[list[str]]:
    """Cells of the table's body."""
    lines = [line for line in text_of(outputs, "md").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]
