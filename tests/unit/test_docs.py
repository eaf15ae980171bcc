"""What the documents tell a user to type and to open."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("*/README.md"), ROOT / "Snakefile"]
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_command_lets_configfile_swallow_its_target(page: Path) -> None:
    # The flag takes several files: what follows them must be an option, `--` or nothing.
    pattern = r"^ *snakemake .*--configfile(?: \S+\.yaml)+(.*)"
    commands = re.findall(pattern, page.read_text(), re.MULTILINE)
    assert [rest for rest in commands if rest.strip() and not rest.strip().startswith("-")] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_local_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_shows_the_main_table_of_the_reference_results() -> None:
    shown = (ROOT / "README.md").read_text().split("<!-- table_claims -->\n")[1]
    table = (ROOT / "results/reference/intrinsic/tables/table_claims.md").read_text()
    assert shown.split("<!-- /table_claims -->")[0] == table


def test_every_target_of_the_readme_is_a_rule() -> None:
    rules = "".join(path.read_text() for path in ROOT.glob("workflow/rules/*.smk"))
    table = (ROOT / "README.md").read_text().split("## Which target is which figure")[1]
    named = re.findall(r"`((?:figure|table)_[a-z_]+)`", table.split("\n## ")[0])
    assert len(named) > 12
    assert [name for name in named if not re.search(rf"rule (\w+ as )?{name}\b", rules)] == []
