"""The findings: no number is typed, what a run lacks is left out, and the LaTeX is whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import nodes

import report_samples
from claim_samples import PAPER, VALUES
from report_samples import ROOT, frame_of, record
from reproduction.paper.findings import (
    SUMMARY,
    Evidence,
    build_findings,
    findings_environment,
    most_common,
    render,
    section,
    without_gaps,
)
from reproduction.paper.statements import Statement
from reproduction.parquet import write_parquet
from sagevocab.errors import UserError

TEMPLATE = ROOT / "workflow/report/findings.md.jinja"
SAGES = [claim for claim in PAPER["claims"] if claim.tokenizers != "bpe"]
IDS = {claim.id for claim in SAGES}
# What has a number in its name.
NAMES = re.compile(r"SaGe 1\.0|Word2Vec|Algorithm \d|(Section|Table|Figure) \d|95 %")
NONE = {"random": 0, "frequency": 0, "counts": 0}
TEXTS = [
    {"name": name, "language": language, "corpus": corpus, "title": "Pages", "paper": "its own"}
    | {"in_paper": False}
    for name, language, corpus in (
        ("English", "en", "train"),
        ("Turkish", "tr", "train"),
        ("news", "en", "quora"),
    )
]


def run(**changes) -> dict:
    chosen = report_samples.settings()
    chosen["word2vec"] |= {"lines": 1000, "trainer": "gensim"}
    chosen["lm"]["pretrain"] = {"layers": 2, "batch": 32}
    values = {"languages": ["en", "tr"], "constructed": [], "settings": chosen}
    made = report_samples.run(**values | changes)
    made["labels"] |= {"counts": "counts", "random": "pruned at random"}
    made["presets"] |= {"counts": None, "random": None}
    return made


def of(claim: Statement, language: str, tokenizer: str, **changes) -> dict:
    """A record of a claim as `claims.json` has it."""
    given = {key: getattr(claim, key) for key in ("paper", "statement")}
    given |= {"beyond": False, "verdict": "reproduced"}
    given |= {"family": claim.measured_by.family if claim.measure else None}
    return {**record(claim.id, tokenizer, "", language=language), **given, **changes}


def every_record(**changes) -> list[dict]:
    """Every claim in each of its languages, for both readings of SaGe."""
    return [
        of(claim, language, tokenizer, **changes)
        for claim in SAGES
        for language in claim.languages
        for tokenizer in ("sage", "sage_released")
    ]


def tables() -> dict[str, list[dict]]:
    """Every table that the findings read, with a row or two."""
    overlap = {"language": "English", "reading": "SaGe", "low": 0.5, "accounts_for": None}
    return {
        "table_tokenizers": [
            {"language": "English", "text": text, "tokenizer": "BPE", "lines": 1234, "words": 5678}
            for text in ("Training corpus", "News")
        ],
        "table_overlap": [
            {**overlap, "control": "its own seeds", "mean": None},
            {**overlap, "control": "counts", "mean": 0.875},
            {**overlap, "control": "pruned at random", "mean": 0.2},
        ],
    }


def shown(records: list[dict], given: dict | None = None, figures=("figure_controls",), **changes):
    own = run(**changes)
    texts = [text for text in TEXTS if text["language"] in own["languages"]]
    evidence = Evidence(records, tables() if given is None else given, PAPER, own)
    return render(TEMPLATE, evidence, texts=texts, figures=figures)


def titles(text: str) -> list[str]:
    return re.findall(r"^## (.+)$", text, flags=re.MULTILINE)


# --- no number is typed


def constants(tree: nodes.Node) -> Iterator[str | int | float]:
    """The strings and numbers in the template's expressions."""
    for node in tree.find_all(nodes.Const):
        if isinstance(node.value, str | int | float) and not isinstance(node.value, bool):
            yield node.value


def test_no_number_is_typed_into_the_findings():
    tree = findings_environment(TEMPLATE).parse(TEMPLATE.read_text(encoding="utf-8"))
    prose = "".join(node.data for node in tree.find_all(nodes.TemplateData))
    assert len(prose.split()) > 500
    assert re.findall(r".*\d.*", NAMES.sub("", prose)) == []
    numbers = [value for value in constants(tree) if not isinstance(value, str)]
    assert set(numbers) <= {0, 1}
    texts = [value for value in constants(tree) if isinstance(value, str)]
    name_or_format = re.compile(r"[a-z]\w*(\.\w+)*|[,.]?\d?[fg]")
    assert [t for t in texts if re.search(r"\d", t) and not name_or_format.fullmatch(t)] == []


@pytest.mark.parametrize("typed", ["{{ 5 }}", '{{ "5 %" }}', "It is 5."])
def test_the_search_for_typed_numbers_finds_them(typed):
    tree = findings_environment(TEMPLATE).parse(typed)
    prose = "".join(node.data for node in tree.find_all(nodes.TemplateData))
    assert re.search(r"\d", prose + "".join(map(str, constants(tree))))


def test_the_findings_ask_for_claims_that_there_are(monkeypatch):
    """A name that is spelled wrong would leave its sentence out for ever."""
    asked = set()
    claim = Evidence.claim

    def spy(self, name, *arguments):
        asked.add(name)
        return claim(self, name, *arguments)

    monkeypatch.setattr(Evidence, "claim", spy)
    shown(every_record())
    assert len(asked) > 8
    assert asked <= IDS


# --- what a run has, and what it lacks


def test_the_findings_of_a_whole_run_have_every_section_and_its_numbers():
    text = shown(every_record())
    assert titles(text) == [
        SUMMARY,
        "What was done",
        "What is reproduced",
        "What controls give as well",
        "What depends on the reading, seeds and settings",
        "Language models",
        "What the authors could object",
        "What a reader should do with it",
    ]
    main = "| tokens, SaGe over BPE | 1.125 | 0.550 (0.500 to 0.600) | 0.4 | 0.35 |"
    assert f"{main} 0.800 [0.750, 0.850] ✓ | 0.800 [0.750, 0.850] ✓" in text
    assert "English: 1,234 lines; the paper has its own." in text
    assert (
        "Word2Vec sees a sample of the lines, and is trained with gensim, as in the paper." in text
    )
    assert "| SaGe, English | – | – | – | 88 % | 20 % |" in text
    assert "figures/figure_controls.png" in text and "figure_learning_curves.png" not in text


@pytest.mark.parametrize("verdict", ["reproduced", "undecided", "not reproduced"])
def test_sentences_follow_the_verdicts(verdict):
    text = shown(every_record(verdict=verdict))
    assert f"0.800 [0.750, 0.850] ({verdict})" in text
    count = len({(r["id"], r["language"]) for r in every_record() if not r["definition"]})
    reproduced = count if verdict == "reproduced" else 0
    assert f"- SaGe reproduces {reproduced} of the {count} statements" in section(text, SUMMARY)
    assert "What controls give as well" in titles(text)
    assert "take SaGe" not in text  # neither reading reproduces more


def test_a_sentence_without_its_claim_is_left_out():
    records = [r for r in every_record() if r["id"] != "token_ratio"]
    text = shown(records)
    line = "| tokens, SaGe over BPE |"
    assert line in shown(every_record()) and line not in text
    assert "\0" not in text


def test_a_claim_that_is_not_measured_gives_its_reason_and_no_number():
    reason = {"verdict": "not measurable here", "reason": "no models"}
    empty = dict.fromkeys(("ours", "low", "high", "meets"))
    nothing = {**empty, "controls": {}, "met_by": {}}
    text = shown(every_record(**reason, **nothing))
    count = len({r["id"] for r in every_record() if not r["definition"]})
    assert f"Not measurable here are {count} statements" in text
    assert "Language models" not in titles(text)
    assert "reproduces" not in section(text, SUMMARY)


def test_a_run_of_one_language_one_reading_and_no_tables_is_reported():
    records = [r for r in every_record() if r["language"] == "en" and r["tokenizer"] == "sage"]
    text = shown(records, {}, (), languages=["en"])
    assert "Turkish" not in text and "SaGe 1.0 0.800" not in text and "which of them" not in text
    assert "![" not in text


def test_a_run_without_claims_has_findings_too():
    text = shown([], {}, ())
    assert titles(text)[:3] == [SUMMARY, "What was done", "What is reproduced"]


def test_definitions_and_statements_beyond_the_paper_do_not_count():
    once = next(claim for claim in SAGES if claim.id == "token_ratio")
    records = [of(once, "en", "sage")]
    records += [of(once, "en", "sage", **{key: True}) for key in ("beyond", "variant")]
    assert "reproduces 1 of the 1 statements" in shown(records)


def test_the_seeds_of_each_reading_are_reported():
    one = [
        {**r, "seeds": [0.7, 0.8, 0.9] if r["tokenizer"] == "sage" else []} for r in every_record()
    ]
    text = shown(one)
    assert "Seeds: SaGe 3, SaGe 1.0 1. Of several, values are means" in text
    assert "*One seed is luck.* Where there is one" in text


def test_reproduced_statements_whose_premise_fails_are_counted():
    records = every_record()
    own = [record for record in records if record["tokenizer"] == "sage"]
    own[0]["failed_premise"] = own[1]["failed_premise"] = "ratio_lower"
    own[1]["verdict"] = "undecided"
    found = "Of the reproduced ones, 1 say little, because what they rest on is not reproduced."
    lines = shown(records).splitlines()
    assert [line.partition(" ")[2].split(" reproduces")[0] for line in lines if found in line] == [
        "SaGe"
    ]


def test_reproduced_statements_that_a_control_meets_are_counted():
    first, second, third = [claim for claim in SAGES if claim.headline and claim.has_controls][:3]
    records = [of(one, "en", "sage", met_by={**NONE, "counts": 1}) for one in (first, second)]
    # One of two random prunings is not most of them.
    records.append(of(third, "en", "sage", met_by={**NONE, "random": 1}))
    text = shown(records)
    found = section(text, SUMMARY)
    assert "Of 3 statements that SaGe reproduces and that can be measured" in found
    assert "a control meets 2 itself" in found
    assert f"Reproduced, and met by no control:\n\n- SaGe: {third.headline} (English).\n" in text


def test_the_tally_has_its_baseline():
    once = next(claim for claim in SAGES if claim.id == "token_ratio")
    records = [of(once, "en", name, meets=name == "sage") for name in ("sage", "sage_released")]
    text = shown(records)
    assert "How many of the 1 statements" in text
    rows = [line for line in text.splitlines() if line.startswith("| counts |")]
    assert rows == ["| counts | 1.0 | 1.0 |"]
    assert "| SaGe | 1.0 | 1.0 |" in text and "| SaGe 1.0 | 0.0 | 0.0 |" in text


def test_statements_that_are_no_headlines_are_counted():
    main = next(claim for claim in SAGES if claim.headline and claim.has_controls)
    other = next(claim for claim in SAGES if not claim.headline and claim.has_controls)
    records = [of(one, "en", "sage", met_by=NONE) for one in (main, other)]
    text = section(shown(records), "What controls give as well")
    assert f"- SaGe: {main.headline} (English); 1 more." in text


def test_texts_that_are_not_the_papers_are_named_as_such(monkeypatch):
    note = "texts are not the paper's"
    assert f"The {note}" in section(shown(every_record()), SUMMARY)
    monkeypatch.setitem(TEXTS[0], "in_paper", True)
    assert f"Some of the {note}" in section(shown(every_record()), SUMMARY)
    for text in TEXTS[1:]:
        monkeypatch.setitem(text, "in_paper", True)
    assert note not in shown(every_record())
    # Of a text that the paper lacks it is not said what the paper has.
    monkeypatch.setitem(TEXTS[0], "paper", None)
    assert "English: 1,234 lines.\n" in shown(every_record())


def test_contexts_or_counts_is_the_first_sentence():
    row = {"language": "English", "reading": "SaGe 1.0"}
    overlap = [
        {**row, "control": control, "mean": mean, "low": mean, "accounts_for": share}
        for control, mean, share in [
            ("its own seeds", 0.95, 1.0),
            ("without vectors", 0.88, 0.91),
            ("shuffled words", 0.9, 0.93),
            ("counts", 0.87, 0.89),
            ("pruned at random", 0.2, 0.0),
        ]
    ]
    own = run(languages=["en"])
    own["labels"] |= {"sage_released_zero": "without vectors"}
    own["labels"] |= {"sage_released_shuffled": "shuffled words"}
    own["presets"] |= {"sage_released_zero": None, "sage_released_shuffled": None}
    evidence = Evidence(every_record(), tables() | {"table_overlap": overlap}, PAPER, own)
    lines = section(render(TEMPLATE, evidence, texts=TEXTS[:1], figures=()), SUMMARY).splitlines()
    assert lines[0] == "- SaGe 1.0 prunes mostly by counts in English."
    assert lines[-1] == "| SaGe 1.0, English | 95 % | 88 % | 90 % | 87 % | 20 % |"


def test_a_cell_is_of_one_row_and_a_column_is_there():
    evidence = Evidence([], tables(), PAPER, run())
    assert evidence.cell("table_tokenizers", "lines", text="News") == 1234
    assert not evidence.cell("table_tokenizers", "lines", text="nothing")
    with pytest.raises(ValueError, match="table_tokenizers: 2 rows"):
        evidence.cell("table_tokenizers", "lines", language="English")
    with pytest.raises(KeyError):
        evidence.rows("table_tokenizers", txt="News")


def test_small_helpers_of_the_template():
    assert most_common(["a", "b", "b"]) == "b"
    assert not most_common(["a", "b"]) and not most_common([])


def test_what_is_left_empty_goes():
    text = (
        "# T\n\n## A\n\n### B\n\n| a |\n| --- |\n| \0 |\n\n## C\n\nOne.\nTwo \0.\n\n\n## D\n\n\0\n"
    )
    assert without_gaps(text) == "# T\n\n## C\n\nOne.\n"


# --- files


@pytest.fixture
def inputs(tmp_path: Path) -> dict:
    write_parquet(tmp_path / "claims.parquet", frame_of(every_record()))
    measured = tmp_path / "table_tokenizers.csv"
    measured.write_text(
        "language,text,tokenizer,lines\nEnglish,Training corpus,BPE,1234\n", "utf-8"
    )
    return {
        "md": tmp_path / "findings.md",
        "template": TEMPLATE,
        "claims": tmp_path / "claims.parquet",
        "tables": {"table_tokenizers": measured},
        "values": VALUES,
        "run": run(),
        "texts": TEXTS,
    }


def test_the_findings_are_written_from_files(inputs):
    build_findings(**inputs)
    assert "English: 1,234 lines" in inputs["md"].read_text(encoding="utf-8")


def test_a_missing_table_is_reported_in_one_line(inputs, tmp_path):
    inputs["tables"] = {"table_tokenizers": tmp_path / "nowhere.csv"}
    with pytest.raises(UserError, match=r"nowhere\.csv: cannot be read"):
        build_findings(**inputs)


def test_a_users_bars_and_stars_break_no_table():
    labels = {"bpe": "BPE", "sage": "Sa|Ge *", "sage_released": "SaGe 1.0"}
    text = shown(every_record(), labels=labels)
    assert "| counts | Sa Ge   | SaGe 1.0 |" in text


def test_a_section_is_found_by_its_title():
    text = "# T\n\n## A\n\nOne.\n\n### B\n\nTwo.\n\n## C\n\nThree.\n"
    assert section(text, "A") == "One.\n\n### B\n\nTwo."
    assert section(text, "C") == "Three." and section(text, "D") == ""
