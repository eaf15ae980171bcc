"""From the name of a figure or table to its code in one step: rule, adapter and files alike."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from sagevocab.workflow import caption_file

WORKFLOW = Path(__file__).parents[2] / "workflow"
RULES = "\n".join(
    (WORKFLOW / "rules" / f"{name}.smk").read_text(encoding="utf-8")
    for name in ("figures", "tables")
)
# name -> the rule whose adapter it shares, "" for its own; and the text of the rule
BLOCKS = {
    name: (shared or "", body)
    for shared, name, body in re.findall(
        r"^ *(?:use )?rule (?:(\w+) as )?(\w+)(?: with)?:\n(.*?)(?=^ *(?:use )?rule |\Z)",
        RULES,
        flags=re.MULTILINE | re.DOTALL,
    )
}
THE_PAPERS = {
    *("figure_lengths", "figure_fertility", "figure_exponence", "figure_ratio"),
    *(f"figure_{kind}_{name}" for kind in ("fertility", "ratio") for name in ("quora", "legal")),
    *("figure_fertility_reviews", "figure_ratio_reviews"),
    *("table_examples", "table_retokenization", "table_frequencies", "table_costs"),
    *("table_sequence", "table_ner", "table_tokenizers", "figure_tokenizers"),
    *("figure_learning_curves", "table_learning_curves"),
    *(f"table_hyperparameters_{name}" for name in ("vocabulary", "pretraining", "finetuning")),
}


def library_names(adapter: str) -> set[str]:
    """What an adapter imports of sagevocab.paper."""
    tree = ast.parse(adapter)
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.name
        for node in imports
        if (node.module or "").startswith("sagevocab.paper")
        for alias in node.names
    }


def test_every_artefact_of_the_paper_is_a_target():
    assert set(BLOCKS) >= THE_PAPERS


@pytest.mark.parametrize("target", BLOCKS)
def test_a_target_leads_to_its_adapter_its_caption_and_its_files(target):
    shared, body = BLOCKS[target]
    script, code = (shared or target), BLOCKS[shared or target][1]
    assert f'"../scripts/{script}.py"' in code
    assert f'code=code_of("{script}.py")' in code
    adapter = (WORKFLOW / "scripts" / f"{script}.py").read_text(encoding="utf-8")
    assert library_names(adapter)
    assert len(adapter.splitlines()) <= 22
    kind = target.partition("_")[0]
    for form in {"figure": ("pdf", "png"), "table": ("tex", "csv", "md")}[kind]:
        assert f'("{kind}s/{target}.{form}")' in body


@pytest.mark.parametrize("target", [*BLOCKS, "claims"])
def test_every_artefact_in_the_report_has_a_caption(target):
    caption = WORKFLOW / "report" / caption_file(target)
    assert caption.read_text(encoding="utf-8").strip()
