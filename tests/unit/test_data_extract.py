"""Extraction of sentences: what is kept, and that it resumes where a killed run stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from reproduction.data import extract
from reproduction.data.extract import ExtractionSettings, extract_lines, extract_sample
from reproduction.data.files import Form
from sagevocab.corpus.text import read_lines
from sagevocab.errors import UserError

DUMP = Form(key="k.source", format="mediawiki")
TEXT = Form(key="k.source", format="text")
SETTINGS = ExtractionSettings(language="en")


@pytest.fixture
def dump(tmp_path, monkeypatch) -> Path:
    """40 articles in some twenty batches."""
    monkeypatch.setattr(extract, "_BATCH_CHARACTERS", 1000)
    pages = []
    for number in range(40):
        text = "".join(
            f"Sentence {i} of '''article''' {number} is [[here]]. {{{{x}}}}\n\n* no\n\n"
            for i in range(10)
        )
        pages.append(
            f"<page><title>P{number}</title><ns>0</ns><revision><text>{text}</text></revision></page>"
        )
    path = tmp_path / "dump.xml"
    path.write_text(f"<mediawiki>{''.join(pages)}</mediawiki>")
    return path


def test_sentences_come_in_the_order_of_the_dump(dump, tmp_path) -> None:
    count = extract_lines([dump], tmp_path / "a.txt.zst", DUMP, SETTINGS)
    lines = list(read_lines(tmp_path / "a.txt.zst"))
    assert count == len(lines) == 40 * 10
    expected = [f"Sentence {i} of article {n} is here." for n in range(40) for i in range(10)]
    assert lines == expected


def test_the_bytes_do_not_depend_on_the_number_of_processes(dump, tmp_path) -> None:
    for threads in (1, 3):
        extract_lines([dump], tmp_path / f"{threads}.txt.zst", DUMP, SETTINGS, threads=threads)
    one, three = ((tmp_path / f"{n}.txt.zst").read_bytes() for n in (1, 3))
    assert one == three


@pytest.mark.parametrize("changed", [{}, {"min_words": 4}, "another dump", "other code"])
def test_an_interrupted_extraction_resumes_with_the_same_settings_dump_and_code_only(
    dump, tmp_path, monkeypatch, changed
) -> None:
    whole, output, state = tmp_path / "whole.zst", tmp_path / "out.zst", tmp_path / "state"
    settings = replace(SETTINGS, **changed) if isinstance(changed, dict) else SETTINGS
    extract_lines([dump], whole, DUMP, settings)
    parse, parsed = extract.parse_articles, []

    def stops(articles, settings):
        if len(parsed) == 3:
            raise KeyboardInterrupt
        parsed.append(len(articles))
        return parse(articles, settings)

    options = {"state_dir": state, "code": "c", "save_seconds": 0}
    monkeypatch.setattr(extract, "parse_articles", stops)
    with pytest.raises(KeyboardInterrupt):
        extract_lines([dump], output, DUMP, SETTINGS, **options)
    assert not output.exists()

    if changed == "another dump":
        os.utime(dump, (0, 0))
    if changed == "other code":
        options["code"] = "d"
    resumed = []
    monkeypatch.setattr(
        extract, "parse_articles", lambda a, s: resumed.append(len(a)) or parse(a, s)
    )
    extract_lines([dump], output, DUMP, settings, **options)
    assert sum(resumed) == (40 if changed else 40 - sum(parsed))
    assert output.read_bytes() == whole.read_bytes()
    assert not state.exists()


SLOW = """
import sys, time
from reproduction.data import extract
extract._BATCH_CHARACTERS = 1000
parse = extract.parse_articles
def slow(articles, settings):
    time.sleep(0.1)
    return parse(articles, settings)
extract.parse_articles = slow
form = extract.Form(key="k", format="mediawiki")
extract.extract_lines([sys.argv[1]], sys.argv[2], form, extract.ExtractionSettings("en"),
                      threads=2, state_dir=sys.argv[3], save_seconds=0)
"""


def test_a_killed_process_leaves_no_children_and_loses_little(dump, tmp_path) -> None:
    whole, output, state = tmp_path / "whole.zst", tmp_path / "out.zst", tmp_path / "state"
    extract_lines([dump], whole, DUMP, SETTINGS)
    environment = {**os.environ, "PYTHONPATH": os.environ["PYTHONPATH"]}
    command = [sys.executable, "-c", SLOW, str(dump), str(output), str(state)]
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    wait_until(lambda: len(list(state.glob("part-*.npz"))) >= 1 or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    wait_until(lambda: not group_alive(process.pid))
    assert not output.exists()
    subprocess.run(command, env=environment, check=True)
    assert output.read_bytes() == whole.read_bytes()


def wait_until(condition, seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def group_alive(group: int) -> bool:
    """Whether a process of the group lives; zombies, which nobody may reap here, don't count."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            return True
    return False


@pytest.fixture
def one_is_unreadable(monkeypatch) -> None:
    """An article of the dump, in an early batch, can't be parsed."""
    plain_text = extract.plain_text
    monkeypatch.setattr(
        extract,
        "plain_text",
        lambda text, *names: plain_text(text, *names) if "article''' 7 " not in text else 1 / 0,
    )
    monkeypatch.setattr(extract, "UNREADABLE", (ZeroDivisionError,))


def test_unreadable_articles_are_left_out_until_they_are_too_many(
    dump, one_is_unreadable, tmp_path, caplog, monkeypatch
) -> None:
    output = tmp_path / "o.zst"
    monkeypatch.setattr(extract, "MOST_FAILED", 0.03)
    assert extract_lines([dump], output, DUMP, SETTINGS) == 39 * 10
    assert "'P7' left out" in caplog.text
    monkeypatch.setattr(extract, "MOST_FAILED", 0.02)
    output.unlink()
    with pytest.raises(UserError, match=r"1 of 40 articles can't be parsed"):
        extract_lines([dump], output, DUMP, SETTINGS)
    assert not output.exists()


def test_unreadable_articles_count_though_the_extraction_was_interrupted(
    dump, one_is_unreadable, tmp_path, monkeypatch
) -> None:
    parse, parsed = extract.parse_articles, []

    def stops(articles, settings):
        parsed.extend(articles)
        if len(parsed) > 20:
            raise KeyboardInterrupt
        return parse(articles, settings)

    options = {"state_dir": tmp_path / "state", "code": "c", "save_seconds": 0}
    monkeypatch.setattr(extract, "parse_articles", stops)
    with pytest.raises(KeyboardInterrupt):
        extract_lines([dump], tmp_path / "o.zst", DUMP, SETTINGS, **options)
    monkeypatch.setattr(extract, "parse_articles", parse)
    with pytest.raises(UserError, match=r"1 of 40 articles can't be parsed"):
        extract_lines([dump], tmp_path / "o.zst", DUMP, SETTINGS, **options)


# --- other sources


@pytest.mark.parametrize(
    ("description", "content", "lines"),
    [
        (TEXT, "  One   line.  Two. \n\n \t\nOK\n", ["One line. Two.", "OK"]),
        (
            TEXT.model_copy(update={"sentences": True}),
            "One line. Two.\nOK\n",
            ["One line.", "Two.", "OK"],
        ),
        (
            Form(key="k", format="jsonl", column="text"),
            '{"text": "A bill\\n\\n  to do  x\\n"}\n{"text": null}\n{"text": "B"}\n',
            ["A bill", "to do x", "B"],
        ),
    ],
)
def test_texts_become_lines_or_sentences(tmp_path, description, content, lines) -> None:
    (tmp_path / "text").write_text(content)
    output = tmp_path / "o.zst"
    assert extract_lines([tmp_path / "text"], output, description, SETTINGS) == len(lines)
    assert list(read_lines(output)) == lines


def test_an_unusable_source_leaves_no_output(tmp_path) -> None:
    source, output = tmp_path / "source", tmp_path / "o.zst"
    source.write_text("\n\n")
    with pytest.raises(UserError, match="no usable line"):
        extract_lines([source], output, TEXT, SETTINGS)
    assert not output.exists()


def test_a_fallback_is_cleaned_like_a_dump(tmp_path) -> None:
    text = "History\n\nOne is here. Two was there.\n* an item\nTwo words.\nA caption without end"
    (tmp_path / "text").write_text(json.dumps({"text": text}))
    form = Form(key="k", format="jsonl", column="text", sentences=True, clean=True)
    extract_lines([tmp_path / "text"], tmp_path / "o.zst", form, SETTINGS)
    assert list(read_lines(tmp_path / "o.zst")) == ["One is here.", "Two was there."]


@pytest.mark.parametrize(("good", "warned"), [(1, True), (4, False)])
def test_a_text_that_is_mostly_left_out_is_reported(tmp_path, caplog, good, warned) -> None:
    page = "<page><title>A</title><ns>0</ns><revision><text>{}</text></revision></page>"
    text = "\n\n".join(["no full stop at the end"] * 3 + ["A whole sentence."] * good)
    (tmp_path / "dump").write_text(f"<mediawiki>{page.format(text)}</mediawiki>")
    extract_lines([tmp_path / "dump"], tmp_path / "o.zst", DUMP, SETTINGS)
    assert (f"3 of {3 + good} sentences are left out" in caplog.text) == warned


def test_a_sample_of_a_domain_text(tmp_path) -> None:
    source = tmp_path / "text"
    source.write_text("".join(f"line {i % 50}\n" for i in range(100)))
    output = tmp_path / "o.zst"
    assert extract_sample([source], output, TEXT, SETTINGS, lines=None) == 50
    assert extract_sample([source], output, TEXT, SETTINGS, lines=20) == 20
    first = list(read_lines(output))
    extract_sample([source], output, TEXT, replace(SETTINGS, seed=2), lines=20)
    assert list(read_lines(output)) != first
    with pytest.raises(UserError, match=r"^config key k\.lines: .* 50 distinct lines"):
        extract_sample([source], output, TEXT, SETTINGS, lines=51)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["o.zst", "text"]


def test_ctrl_c_is_left_to_the_parent(dump, tmp_path, monkeypatch) -> None:
    """Ctrl-C interrupts all processes: those that parse say nothing of it."""
    parent, plain_text = os.getpid(), extract.plain_text

    def interrupted(*arguments) -> str:
        assert os.getpid() != parent
        os.kill(os.getpid(), signal.SIGINT)
        return plain_text(*arguments)

    extract_lines([dump], tmp_path / "all.zst", DUMP, SETTINGS)
    monkeypatch.setattr(extract, "plain_text", interrupted)
    extract_lines([dump], tmp_path / "interrupted.zst", DUMP, SETTINGS, threads=2)
    assert (tmp_path / "interrupted.zst").read_bytes() == (tmp_path / "all.zst").read_bytes()
