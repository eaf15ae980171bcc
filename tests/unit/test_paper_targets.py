"""From the name of a figure or table to its code in one step: rule, adapter, function alike."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

WORKFLOW = Path(__file__).parents[2] / "workflow"
RULES = "\n".join(path.read_text(encoding="utf-8") for path in (WORKFLOW / "rules").glob("*.smk"))
TARGETS = re.findall(r"^ *rule ((?:figure|table)_\w+):", RULES, flags=re.MULTILINE)
THE_PAPERS = {
    *("figure_lengths", "figure_fertility", "figure_exponence", "figure_ratio"),
    *(f"figure_{kind}_{name}" for kind in ("fertility", "ratio") for name in ("quora", "legal")),
    *("figure_fertility_reviews", "figure_ratio_reviews"),
    *("table_examples", "table_retokenization", "table_frequencies", "table_costs"),
    *("table_sequence", "table_ner", "table_tokenizers", "figure_tokenizers"),
    *("figure_learning_curves", "table_learning_curves"),
    *(f"table_hyperparameters_{name}" for name in ("vocabulary", "pretraining", "finetuning")),
}


def body_of(target: str) -> str:
    """Text of a rule, to the next one."""
    return re.split(r"^ *rule \w+:", RULES.split(f"rule {target}:")[1], flags=re.MULTILINE)[0]


def functions_of_the_library() -> dict[str, str]:
    """Public functions of sagevocab.paper by name, with their docstrings."""
    trees = [
        ast.parse(path.read_text(encoding="utf-8"))
        for path in (WORKFLOW / "scripts" / "sagevocab" / "paper").glob("*.py")
    ]
    functions = [node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {node.name: ast.get_docstring(node) or "" for node in functions}


def test_every_artefact_of_the_paper_is_a_target():
    assert set(TARGETS) >= THE_PAPERS
    assert len(TARGETS) == len(set(TARGETS))


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_is_a_rule_an_adapter_a_function_and_a_caption(target):
    assert f'"../scripts/{target}.py"' in body_of(target)
    adapter = (WORKFLOW / "scripts" / f"{target}.py").read_text(encoding="utf-8")
    # Targets that differ by a text or a stage share a function.
    (called,) = re.findall(r"^    ((?:figure|table)_\w+)\(", adapter, flags=re.MULTILINE)
    assert len(adapter.splitlines()) <= 21
    assert functions_of_the_library()[called]
    assert (WORKFLOW / "report" / f"{target}.rst").read_text(encoding="utf-8").strip()


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_writes_files_of_its_own_name_in_every_form(target):
    kind = target.partition("_")[0]
    forms = {"figure": ("pdf", "png"), "table": ("tex", "csv", "md")}[kind]
    for form in forms:
        assert f'result("{kind}s/{target}.{form}")' in body_of(target)
    assert "{" not in "".join(re.findall(r'result\("(?:figures|tables)/[^"]*"\)', body_of(target)))
