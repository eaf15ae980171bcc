"""What the paper printed, and names that figures, tables and claims share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

# The tokenizer that the others are compared with; the rules that make its vocabulary and SaGe's.
BASELINE = "bpe"
BPE_RULE = "train_bpe"
SAGE_RULES = ("train_bpe_initial", "train_embeddings", "build_sage")


def read_paper_values(path: str | Path) -> dict[str, Any]:
    """Read what the paper printed (workflow/resources/paper_values.yaml)."""
    return yaml.safe_load(Path(path).read_text(encoding="utf-8"))


def of_language(
    printed: Mapping[str, Any], languages: Mapping[str, str]
) -> dict[str, Mapping[str, Any]]:
    """Return {title: printed} for the language that the paper printed it of; {} without it."""
    title = languages.get(printed["language"])
    return {title: printed} if title is not None else {}
