"""The report page: self-contained, escaped, readable without sight or script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from claim_samples import PAPER
from report_samples import run, settings, write_inputs
from reproduction.paper.report import (
    build_report,
    differences,
    tokenizer_title,
)
from sagevocab.errors import UserError
from sagevocab.huggingface.export import Card, WordSettings, export_greedy

VOID = {"meta", "input", "img", "br", "hr", "link"}


PIECES = ["▁", "a", "</script>", "<", "/", "s", "c", "r", "i", "p", "t", ">", "▁a"]


@pytest.fixture
def inputs(tmp_path: Path) -> dict:
    names = ("bpe", "sage", "sage_released")
    for name in names:
        card = Card(language="en", language_name="English", method="test")
        export_greedy(tmp_path / name, PIECES, WordSettings(), card)
    files = {name: tmp_path / name / "tokenizer.json" for name in names}
    return write_inputs(tmp_path, {"en": files})


class Page(HTMLParser):
    """Collects what the tests ask: elements with attributes, text, unclosed elements."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text += data

    def all(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def page(tmp_path: Path, inputs: dict) -> Page:
    build_report(tmp_path / "report.html", run=run(), **inputs)
    return Page((tmp_path / "report.html").read_text(encoding="utf-8"))


def test_page_loads_nothing_and_links_to_files_beside_it(tmp_path: Path, inputs: dict):
    """What a link leads to is made by the run: here as empty files."""
    folder = tmp_path / "run"
    for name in (*inputs["figures"], *inputs["tables"]):
        kind = f"{name.partition('_')[0]}s"
        for form in ("png", "pdf", "csv", "md", "tex"):
            path = folder / kind / f"{name}.{form}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        given = inputs[kind][name]
        inputs[kind][name] = Path(shutil.copy(given, folder / kind / f"{name}{given.suffix}"))
    (folder / "findings.md").touch()
    build_report(folder / "report.html", run=run(), **inputs)
    text = (folder / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    for tag, attributes in page.elements:
        for name in ("src", "href", "srcset", "action", "poster", "data"):
            value = attributes.get(name)
            if value is None or value.startswith(("data:image/png;base64,", "#")):
                continue
            assert tag == "a" and (folder / value).is_file(), value
    assert page.all("link") == []
    assert {a["href"] for a in page.all("a")} >= {
        "figures/figure_lengths.png",
        "figures/figure_lengths.pdf",
        "tables/table_examples.csv",
    }
    assert not re.search(r"https?://|@import|url\(|fetch\(|XMLHttpRequest", text)
    policies = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]
    assert policies[0].startswith("default-src 'none'; img-src data:")


def test_code_and_packages_are_those_of_the_run(page: Page):
    """They are not those of the checkout that draws the page."""
    assert "git commit commit1, commit2" in page.text
    assert re.search(r"numpy\s*2\.4\s*pandas\s*1, 2", page.text)


def test_statements_and_cells_are_text_and_not_markup(page: Page):
    assert "<b>first</b> & others hold." in page.text
    assert page.all("b") == [] and "`" not in page.text
    assert page.all("i") == [] and "SaGe, run <i>tiny" in page.text
    assert "a | b" in page.text and "A note < all." in page.text
    assert "▁dial og ues" in page.text and len(page.all("strong")) == 3


def test_page_can_be_used_without_sight_or_mouse(page: Page):
    assert page.all("html")[0]["lang"] == "en"
    assert all(image["alt"] for image in page.all("img"))
    assert page.all("img")[0]["alt"] == "A title: What is shown in bpe."
    assert {heading["scope"] for heading in page.all("th")} <= {
        "col",
        "row",
        "colgroup",
        "rowgroup",
    }
    regions = [a for a in page.all("div") if a.get("class") == "scroll"]
    assert regions and all(a["tabindex"] == "0" and a["aria-label"] for a in regions)
    anchors = {a["id"] for _, a in page.elements if "id" in a}
    assert {a["href"][1:] for a in page.all("a") if a["href"].startswith("#")} <= anchors
    assert len(anchors) == sum("id" in a for _, a in page.elements)


def test_a_run_of_other_languages_has_a_page_without_the_paper(tmp_path: Path, inputs: dict):
    for name in ("claims_path", "findings"):
        del inputs[name]
    inputs["template"] = inputs["template"].with_name("texts.html.jinja")
    inputs["captions"]["table_examples"] = "As in the paper."
    texts = [{"name": "Slovene", "title": "corpus.txt.xz"}]
    build_report(tmp_path / "texts.html", run=run(texts=texts), **inputs)
    page = Page((tmp_path / "texts.html").read_text(encoding="utf-8"))
    assert "Slovene (corpus.txt.xz)" in page.text
    assert not re.search("the paper|claim|reproduc|finding", page.text, re.IGNORECASE)
    order = [a["id"] for tag, a in page.elements if tag == "section" and "id" in a]
    assert order == ["playground", "measured", "settings", "provenance"]
    shown = [a["id"] for a in page.all("figure")]
    assert shown == ["figure_lengths", "table_examples"]


def test_differences_ignore_models_that_a_run_does_not_have():
    chosen = settings()
    chosen["lm"]["pretrain"] = {"layers": 2}
    found = {row["key"] for row in differences(run(settings=chosen), PAPER)}
    assert found == {"vocabulary.vocab_size", "lm.finetune.seeds"}
    chosen["word2vec"]["lines"] = 1000
    sample = {"key": "word2vec.lines", "paper": "not stated; all lines", "run": "1000"}
    assert sample in differences(run(settings=chosen), PAPER)
    found = {row["key"] for row in differences(run(settings=chosen, models=True), PAPER)}
    assert "lm.pretrain.layers" in found


# --- playground


def test_the_policy_allows_the_pages_own_scripts_alone(tmp_path: Path, page: Page):
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    [policy] = re.findall(r'http-equiv="Content-Security-Policy"\s+content="([^"]+)"', text)
    scripts = re.findall("<script>(.*?)</script>", text, re.S)
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    allowed = policy.split("script-src ")[1]
    assert allowed == " ".join(f"'sha256-{digest}'" for digest in digests)
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("name", "file", "place"),
    [
        ("figures", {"figure_lengths": "nowhere.png"}, r"nowhere\.png: "),
        ("findings", "nowhere.md", r"nowhere\.md: "),
    ],
)
def test_a_missing_input_is_one_line_and_leaves_no_page(tmp_path, inputs, name, file, place):
    with pytest.raises(UserError, match=place):
        build_report(tmp_path / "report.html", run=run(), **{**inputs, name: file})
    assert not (tmp_path / "report.html").exists()


def test_a_piece_that_spells_the_end_of_a_script_does_not_end_it(tmp_path: Path, page: Page):
    kinds = [attributes.get("type") for attributes in page.all("script")]
    assert kinds == ["application/json", None, None]
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    [embedded] = re.findall(r'id="playground-data">(.*?)</script>', text, flags=re.S)
    [language] = json.loads(embedded)["languages"]
    assert language["pieces"].split("\n") == PIECES
    assert [row["key"] for row in language["tokenizers"]] == ["bpe", "sage", "sage_released"]


@pytest.mark.parametrize(
    ("label", "preset", "title"),
    [
        ("SaGe (printed)", "printed", "SaGe (printed)"),
        ("SaGe (released loss), shuffled words", "released_loss (contexts: shuffled)", None),
        ("counts, ranked again", "counts (rerank_every: 1)", None),
        ("mine", "printed", "mine (printed)"),
        ("mine", "printed (seed: 7)", "mine: printed (seed: 7)"),
        ("BPE", None, "BPE"),
    ],
)
def test_a_title_says_the_preset_once(label: str, preset: str | None, title: str | None) -> None:
    run = {"labels": {"one": label}, "presets": {"one": preset}}
    assert tokenizer_title("one", run) == (title or label)
