"""The report page: self-contained, honest about small runs, readable without sight or script."""

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
from report_samples import record, run, settings, write_claims, write_inputs
from reproduction.paper import report
from reproduction.paper.claims_page import show_test
from reproduction.paper.report import (
    build_report,
    differences,
    show_caption,
    tokenizer_title,
)
from reproduction.paper.report_own import beside_bpe, show_change
from sagevocab.errors import UserError
from sagevocab.export import Card, WordSettings, export_greedy

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


def test_a_place_of_the_paper_stands_once(tmp_path: Path, inputs: dict):
    apart = [
        record(name, "sage", "reproduced", where=place)
        for name, place in (("first", "Table 4"), ("second", "Section 5"), ("third", "Table 4"))
    ]
    inputs |= write_claims(tmp_path, apart)
    build_report(tmp_path / "report.html", run=run(), **inputs)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert re.findall(r"<h4>(Table 4|Section 5)</h4>", text) == ["Table 4", "Section 5"]


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


def test_the_papers_own_settings_and_text_need_no_banner(tmp_path: Path, inputs: dict):
    chosen = settings(final_size=16000)
    chosen["lm"]["finetune"]["seeds"] = [1, 2, 3]
    build_report(tmp_path / "report.html", run=run(constructed=[], settings=chosen), **inputs)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.all("aside") == []
    assert "A demonstration" not in page.text


def test_the_playground_is_first_findings_second_and_the_claims_last(page: Page):
    order = [a["id"] for tag, a in page.elements if tag == "section" and "id" in a]
    assert order == [
        "playground",
        "found",
        "figures",
        "tables",
        "settings",
        "provenance",
        "claims",
    ]
    assert [a["href"] for a in page.all("a")][1:8] == [f"#{name}" for name in order]
    found = page.text.split("What was found")[1].split("Figures")[0]
    assert "SaGe < 1.0 reproduces one of two." in found
    assert "Whether." not in page.text


def test_claims_have_both_readings_side_by_side(page: Page):
    outcomes = [(a["data-tokenizer"], a["data-verdict"]) for a in page.all("li") if len(a) == 2]
    assert outcomes == [
        ("sage", "reproduced"),
        ("sage_released", "not-reproduced"),
        ("sage", "same-direction"),
        ("sage", "not-measurable-here"),
    ]
    assert "SaGe (printed)" in page.text and "SaGe 1.0 (released)" in page.text
    assert "config key lm.enabled is false" in page.text
    assert len([a for a in page.all("tr") if a.get("class") == "claim"]) == 3


def test_the_page_opens_with_controls_and_folds_the_claims(tmp_path: Path, inputs: dict):
    controls = {
        "figures": {"figure_controls": inputs["figures"]["figure_lengths"], **inputs["figures"]},
        "tables": {"table_controls": inputs["tables"]["table_examples"], **inputs["tables"]},
        "titles": {**inputs["titles"], "figure_controls": "One", "table_controls": "Two"},
        "captions": {**inputs["captions"], "figure_controls": "One.", "table_controls": "Two."},
    }
    build_report(tmp_path / "controls.html", run=run(), **{**inputs, **controls})
    page = Page((tmp_path / "controls.html").read_text(encoding="utf-8"))
    ids = [a["id"] for _, a in page.elements if "id" in a]
    parts = ("found", "table_controls", "figures", "figure_controls", "filter")
    places = [ids.index(name) for name in parts]
    assert places == sorted(places)
    assert ids.count("table_controls") == ids.count("figure_controls") == 1
    assert [a.get("class") for a in page.all("details")].count("place") == 2
    assert "random 0.550 (0.500 to 0.600)" in page.text


def test_statements_and_cells_are_text_and_not_markup(page: Page):
    assert "<b>first</b> & others hold." in page.text
    assert page.all("b") == [] and "`" not in page.text
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
    measured = tmp_path / "table_tokenizers.csv"
    measured.write_text(
        "language,text,tokenizer,tokens,fertility,whole_word_share\n"
        "Slovene,Training corpus,BPE,200,2.0,0.5\n"
        "Slovene,Training corpus,SaGe,201,2.01,0.48\n"
        "Slovene,News,BPE,300,3.0,0.1\n"
        "Slovene,News,SaGe,330,3.3,0.1\n",
        encoding="utf-8",
    )
    for name in ("claims_path", "findings"):
        del inputs[name]
    inputs["template"] = inputs["template"].with_name("own.html.jinja")
    inputs["captions"]["table_examples"] = "As in the paper."
    texts = [{"name": "Slovene", "title": "corpus.txt.xz"}]
    build_report(tmp_path / "own.html", run=run(texts=texts), measured=measured, **inputs)
    page = Page((tmp_path / "own.html").read_text(encoding="utf-8"))
    assert "SaGe: 2.010 tokens a word, 0.5\xa0% more than BPE (2.000); 48.0" in page.text
    assert "3.300" not in page.text and "Slovene (corpus.txt.xz)" in page.text
    assert not re.search("the paper|claim|reproduc|finding", page.text, re.IGNORECASE)
    order = [a["id"] for tag, a in page.elements if tag == "section" and "id" in a]
    assert order == ["playground", "found", "measured", "settings", "provenance"]
    shown = [a["id"] for a in page.all("figure")]
    assert shown == ["figure_lengths", "table_examples"]


def test_a_run_without_bpe_says_what_it_has():
    row = {"language": "Slovene", "text": "Training corpus", "tokenizer": "SaGe", "tokens": 3}
    row |= {"fertility": 1.5, "whole_word_share": 0.5}
    [own] = beside_bpe([row], None, ["SaGe"])
    assert (own["tokens"], own["whole"], own["bpe"], own["more"]) == (1.5, 0.5, None, None)
    assert show_change(-0.0063) == "0.6\xa0% fewer than" and show_change(0.0001) == "as many as"


def test_a_missing_input_is_reported_in_one_line_and_leaves_no_page(tmp_path: Path, inputs: dict):
    inputs["figures"] = {"figure_lengths": tmp_path / "nowhere.png"}
    with pytest.raises(UserError, match=r"nowhere\.png: cannot be read"):
        build_report(tmp_path / "report.html", run=run(), **inputs)
    inputs["findings"] = tmp_path / "nowhere.md"
    with pytest.raises(UserError, match=r"nowhere\.md: cannot be read .*; run findings"):
        build_report(tmp_path / "report.html", run=run(), **inputs)
    assert not (tmp_path / "report.html").exists()


def test_a_page_over_the_limit_is_refused(tmp_path: Path, inputs: dict, monkeypatch):
    monkeypatch.setattr(report, "LARGEST_PAGE", 1000)
    with pytest.raises(UserError, match="lower resolution"):
        build_report(tmp_path / "report.html", run=run(), **inputs)


def test_differences_ignore_models_that_a_run_does_not_have():
    chosen = settings()
    chosen["lm"]["pretrain"] = {"layers": 2}
    found = {row["key"] for row in differences(run(settings=chosen), PAPER)}
    assert found == {"vocabulary.final_size", "lm.finetune.seeds"}
    chosen["word2vec"]["lines"] = 1000
    sample = {"key": "word2vec.lines", "paper": "not stated; all lines", "run": "1,000"}
    assert sample in differences(run(settings=chosen), PAPER)
    found = {row["key"] for row in differences(run(settings=chosen, models=True), PAPER)}
    assert "lm.pretrain.layers" in found


def test_a_title_names_the_preset_once():
    labels, changed = {"sage": "SaGe", "blind": "without vectors"}, "printed (contexts: zero)"
    own = {
        "labels": labels,
        "presets": {"sage": "printed", "counts": "counts", "blind": changed},
    }
    titles = [tokenizer_title(name, own) for name in ("sage", "counts", "bpe", "blind")]
    assert titles == ["SaGe (printed)", "counts", "bpe", f"without vectors: {changed}"]


def test_an_artefact_without_a_caption_is_an_error():
    with pytest.raises(UserError, match="rule table_ner: has no caption"):
        show_caption("table_ner", "")


# --- playground


def test_the_playground_embeds_the_vocabularies_as_inert_data(tmp_path: Path, page: Page):
    """A piece that spells the end of a script does not end the script."""
    kinds = [attributes.get("type") for attributes in page.all("script")]
    assert kinds == ["application/json", None, None]
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    [embedded] = re.findall(r'id="playground-data">(.*?)</script>', text, flags=re.S)
    [language] = json.loads(embedded)["languages"]
    assert [row["key"] for row in language["tokenizers"]] == ["bpe", "sage", "sage_released"]
    assert language["tokenizers"][1]["label"] == "SaGe (printed)"
    assert language["pieces"].split("\n") == PIECES
    assert language["tokenizers"][0]["runs"] == [0, len(PIECES)]
    assert len(language["examples"]) == 3 and "Stooges" in language["examples"][2]["text"]


def test_the_policy_allows_the_pages_own_scripts_alone(tmp_path: Path, page: Page):
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    [policy] = re.findall(r'http-equiv="Content-Security-Policy"\s+content="([^"]+)"', text)
    scripts = re.findall("<script>(.*?)</script>", text, re.S)
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    allowed = policy.split("script-src ")[1]
    assert allowed == " ".join(f"'sha256-{digest}'" for digest in digests)
    assert len(digests) == 2


def test_a_run_of_foreign_tokenizers_has_no_playground(tmp_path: Path, inputs: dict):
    for name in ("bpe", "sage", "sage_released"):
        path = tmp_path / name / "tokenizer_config.json"
        config = json.loads(path.read_text(encoding="utf-8"))
        config["sagevocab"]["method"] = "external"
        path.write_text(json.dumps(config), encoding="utf-8")
    build_report(tmp_path / "report.html", run=run(), **inputs)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "#playground" not in [a["href"] for a in page.all("a")]
    assert page.all("textarea") == []


def test_the_p_value_of_a_paired_test_is_beside_ours(tmp_path: Path, inputs: dict):
    assert show_test({}) == show_test({"p_adjusted": None, "p_value": None}) == ""
    assert show_test({"p_value": 0.0421}) == "p = 0.042"
    assert show_test({"p_value": 0.01, "p_adjusted": 0.03}) == "adjusted p = 0.030"
    tested = record("fifth", "sage", "reproduced", p_adjusted=0.0001, test="sign flips over lines")
    write_claims(tmp_path, [tested])
    build_report(tmp_path / "report.html", run=run(), **inputs)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "adjusted p < 0.001 (sign flips over lines)" in page.text
