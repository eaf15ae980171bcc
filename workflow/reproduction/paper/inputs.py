"""What several figures, tables and claims read, and what they need of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from sagevocab.errors import UserError

# The tokenizer that the others are compared with; the rules that make its vocabulary and SaGe's.
BASELINE = "bpe"
BPE_RULE = "train_bpe"
SAGE_RULES = ("train_bpe_initial", "train_embeddings", "build_sage")


def read_paper_values(path: str | Path) -> dict[str, Any]:
    """Read what the paper printed (workflow/resources/paper_values.yaml).

    Raises:
        UserError: the file is missing or no YAML.
    """
    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(f"{path}: cannot be read ({error}); restore it from git") from error


def of_language(
    printed: Mapping[str, Any], languages: Mapping[str, str]
) -> dict[str, Mapping[str, Any]]:
    """Return {title: printed} for the language that the paper printed it of; {} without it."""
    title = languages.get(printed["language"])
    return {title: printed} if title is not None else {}


def require_comparison(panels: Mapping[str, Mapping[str, Any]], tokenizers: int = 2) -> None:
    """Check that every panel holds BPE and at least one tokenizer to compare it with.

    tokenizers: the fewest that a panel needs; 1 where BPE is not among them. A run without BPE or
    without SaGe gives no panels, or empty ones.

    Raises:
        UserError: the run has too few tokenizers for a comparison.
    """
    if min((len(panel) for panel in panels.values()), default=0) < tokenizers:
        raise UserError(
            "config key tokenizers: a comparison needs bpe and sage or sage_released; list them"
        )
