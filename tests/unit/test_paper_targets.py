"""From the name of a figure or table to its code in one step: rule, adapter and files alike."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

WORKFLOW = Path(__file__).parents[2] / "workflow"
RULES = "\n".join(
    (WORKFLOW / "rules" / f"{name}.smk").read_text(encoding="utf-8")
    for name in ("figures", "tables")
)
# A rule begins with its name, or in a loop over domains with its caption and then a name.
RULE = re.compile(
    r"^ *(?:use )?rule(?: (\w+) as)?(?: (\w+))?(?: with)?:\n"
    r'\s+"""(.*?)"""\n'
    r'(?: +name:\n +f"(\w+_{domain})"\n)?'
    r"(.*?)(?=^ *(?:use )?rule\b|\Z)",
    flags=re.MULTILINE | re.DOTALL,
)
# name -> the rule whose adapter it shares, "" for its own; caption; the rest of the rule
BLOCKS = {
    name or looped: (shared or looped.removesuffix("_{domain}"), caption, body)
    for shared, name, caption, looped, body in RULE.findall(RULES)
}
THE_PAPERS = {
    *("figure_lengths", "figure_fertility", "figure_exponence", "figure_ratio"),
    *("figure_fertility_{domain}", "figure_ratio_{domain}"),
    *("table_examples", "table_retokenization", "table_frequencies", "table_costs"),
    *("table_sequence", "table_ner", "table_tokenizers", "figure_tokenizers"),
    *("figure_learning_curves", "table_learning_curves"),
    *(f"table_hyperparameters_{name}" for name in ("vocabulary", "pretraining", "finetuning")),
}


def library_names(adapter: str) -> set[str]:
    """What an adapter imports of reproduction.paper."""
    tree = ast.parse(adapter)
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.name
        for node in imports
        if (node.module or "").startswith("reproduction.paper")
        for alias in node.names
    }


def test_every_artefact_of_the_paper_is_a_target():
    assert set(BLOCKS) >= THE_PAPERS
    assert len(BLOCKS) == len(re.findall(r"^ *(?:use )?rule\b", RULES, re.MULTILINE))


@pytest.mark.parametrize("target", BLOCKS)
def test_a_target_leads_to_its_adapter_its_caption_and_its_files(target):
    shared, caption, body = BLOCKS[target]
    script, code = (shared or target), BLOCKS[shared or target][2]
    assert f'"../scripts/{script}.py"' in code
    assert f'code=code_of("{script}.py")' in code
    adapter = (WORKFLOW / "scripts" / f"{script}.py").read_text(encoding="utf-8")
    assert library_names(adapter)
    assert len(adapter.splitlines()) <= 24
    assert caption.strip()
    kind = target.partition("_")[0]
    assert re.search(rf'\*\*{kind}\(\s*f?"{re.escape(target)}", ', body)
