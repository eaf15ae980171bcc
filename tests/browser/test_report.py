"""The report in a real browser: by mouse, by keyboard alone, on a phone, in the dark."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.support.ui import WebDriverWait

from sagevocab.corpus.words import Normalizer, split_words
from sagevocab.huggingface.folders import read_description
from sagevocab.huggingface.segmenter import load_segmenter
from sagevocab.segmentation.segmenter import UNCOVERED

TEXT = "The penned dialogues ☃ of Istanbul'daki songs"
AREA = "#play textarea"
CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")
PAPER = 717  # pixels: A4 without its margins
both_pages = pytest.mark.parametrize("page", ["sample_page", "given_page"])


@pytest.fixture
def shown(browser: Chrome, request):
    """Open the page of a fixture's name anew, and wait for its first segmentation."""

    def show(page: str, width: int = 1200, *, phone: bool = False, scheme: str = "light") -> Chrome:
        size = {"width": width, "height": 780 if phone else 1000}
        screen = {**size, "deviceScaleFactor": 2 if phone else 1, "mobile": phone}
        # Without smooth scrolling, under which a click would miss its element.
        wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get("about:blank")
        for kind in ("browser", "performance"):
            browser.get_log(kind)
        browser.get(request.getfixturevalue(page).resolve().as_uri())
        wait_for(browser, "document.querySelectorAll('.box').length > 0")
        return browser

    return show


@pytest.fixture
def opened(shown) -> Chrome:
    """The sample page in a desktop's window."""
    return shown("sample_page")


def js(browser: Chrome, expression: str):
    """Return the value of a JavaScript expression."""
    return browser.execute_script(f"return {expression}")


def wait_for(browser: Chrome, condition: str) -> None:
    WebDriverWait(browser, 20, 0.05).until(lambda each: js(each, condition), condition)


def click(browser: Chrome, selector: str) -> None:
    browser.find_element("css selector", selector).click()


def press(browser: Chrome, *keys: str) -> None:
    ActionChains(browser).send_keys(*keys).perform()


def text_of(browser: Chrome, name: str) -> str:
    return js(browser, f"document.getElementById({json.dumps(name)}).textContent")


def typed(browser: Chrome) -> str:
    return js(browser, f"document.querySelector('{AREA}').value")


def write(browser: Chrome, text: str) -> None:
    """Replace the text in the box and wait until it is segmented."""
    area = browser.find_element("css selector", AREA)
    area.send_keys(Keys.CONTROL, "a")
    area.send_keys(text)
    wait_for(browser, SETTLED)


# The boxes follow a moment after the last key: they show as many words as the text has.
SETTLED = """(() => {
    const text = document.querySelector("#play textarea").value.trim();
    const words = document.querySelectorAll(".box:first-child .word").length;
    return words === (text ? text.split(/\\s+/).length : 0);
})()"""


def segmented(browser: Chrome) -> dict[str, list[tuple[str, bool, bool]]]:
    """What stands in the boxes: by tokenizer its pieces, whether marked, whether unknown."""
    boxes = js(
        browser,
        """[...document.querySelectorAll(".box")].map((box) => [
        box.dataset.tokenizer,
        [...box.querySelectorAll(".piece")].map((piece) =>
          [piece.firstChild.data, piece.tagName === "MARK", piece.classList.contains("unknown")]),
    ])""",
    )
    return {name: [tuple(piece) for piece in pieces] for name, pieces in boxes}


def library(folder: Path, text: str) -> list[tuple[str, str, bool]]:
    """The library's pieces of a text: word and place in it, characters, whether unknown."""
    segmenter, description = load_segmenter(folder), read_description(folder)
    normal = Normalizer(description["normalization"])(text)
    pieces = []
    for at, word in enumerate(split_words(normal, description["max_word_chars"])):
        start = 0
        for number in segmenter.segment(word):
            length = 1 if number == UNCOVERED else len(segmenter.pieces[number])
            pieces.append((f"{at} {start}", word[start : start + length], number == UNCOVERED))
            start += length
    return pieces


def expected(folders: dict[str, Path], text: str) -> dict[str, list[tuple[str, bool, bool]]]:
    """What the boxes must show; the first tokenizer is the one compared with."""
    pieces = {name: library(folder, text) for name, folder in folders.items()}
    first = pieces[next(iter(pieces))]
    return {
        name: [(piece[1], piece not in first, piece[2]) for piece in found]
        for name, found in pieces.items()
    }


# --- the page by itself


@both_pages
def test_page_opens_from_disk_without_network_or_errors(page, shown):
    browser = shown(page)
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        event["params"]["request"]["url"].split(":")[0]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert set(asked) <= {"file", "data"} and asked.count("file") == 1
    assert browser.get_log("browser") == []


@both_pages
@pytest.mark.parametrize("width", [320, 768])
def test_narrow_windows_never_scroll_sideways(page, width, shown):
    browser = shown(page, width, phone=True)
    js(browser, "document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert js(browser, "document.documentElement.scrollWidth") <= width
    cut_off = """[...document.querySelectorAll("#play *, .box *, nav a, h2")]
        .filter((each) => !each.closest(".scroll, [hidden]") && each.getClientRects().length)
        .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
        .map((each) => each.outerHTML.slice(0, 80))"""
    assert js(browser, cut_off) == []


@both_pages
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(page, scheme, shown):
    assert shown(page, scheme=scheme).execute_script(CONTRAST) == []


# --- the playground by mouse


def test_text_is_segmented_counted_and_marked_as_the_library_says(opened, folders):
    write(opened, TEXT)
    pieces = expected(folders["en"], TEXT)
    assert segmented(opened) == pieces
    assert ("☃", False, True) in pieces["sage"]
    selector = ".box[data-tokenizer=sage] dd"
    numbers = [each.text for each in opened.find_elements("css selector", selector)]
    tokens, unknown = len(pieces["sage"]), sum(each[2] for each in pieces["sage"])
    assert numbers == [str(tokens), "7", f"{tokens / 7:.2f}", str(unknown)]
    assert f"SaGe (printed) {tokens}" in text_of(opened, "segmented")


def test_a_link_opens_the_page_with_the_text_and_its_language(opened):
    text = "İstanbul'un 50 % + 1 & #sokağı\n☃"
    click(opened, "#play-languages label:last-child")
    write(opened, text)
    link = js(opened, "document.getElementById('play-link').href")
    opened.get("about:blank")
    opened.get(link)
    wait_for(opened, "document.querySelectorAll('.box').length > 0")
    assert typed(opened) == text
    assert js(opened, "new FormData(document.getElementById('play')).get('language')") == "tr"


def test_paper_shows_what_is_folded(opened):
    folded = "document.querySelectorAll('details:not([open])').length"
    before = js(opened, folded)
    assert before > 3
    opened.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert js(opened, folded) == 0
    opened.execute_script("dispatchEvent(new Event('afterprint'))")
    assert js(opened, folded) == before


@both_pages
def test_nothing_is_wider_than_paper(page, shown):
    """Otherwise the browser shrinks the text of all pages. Forms do not print."""
    browser = shown(page, width=PAPER)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert js(browser, "document.documentElement.scrollWidth") <= PAPER
    printed = "[...document.forms].filter((form) => getComputedStyle(form).display !== 'none')"
    assert js(browser, f"{printed}.length") == 0


def test_a_long_text_is_cut_short_with_a_word(opened):
    text = "Gazeteciler söyledi: the zeppelin's ☃ half-life x²\n" * 2000
    opened.execute_script(
        """const area = document.querySelector("#play textarea");
        const clipboardData = new DataTransfer();
        clipboardData.setData("text/plain", arguments[0]);
        area.select();
        area.dispatchEvent(
          new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));""",
        text,
    )
    wait_for(opened, "document.getElementById('segmented').textContent.includes('Only the first')")
    numbers = re.search(r"Only the first (\S+) of (\S+) char", text_of(opened, "segmented"))
    cut, whole = (int(number.replace(",", "")) for number in numbers.groups())
    assert 49_900 < cut <= 50_000 and whole == len(text)
    words = js(opened, "document.querySelectorAll('.box:first-child dd')[1].textContent")
    assert int(words.replace(",", "")) == len(text[:cut].split())
    assert js(opened, "document.querySelectorAll('.box:first-child .word').length") == 400
    write(opened, "short again")
    assert "Only" not in text_of(opened, "segmented")


def test_nothing_and_nonsense_are_taken(opened):
    area = opened.find_element("css selector", AREA)
    for text in (" ", "▁▁▁", "<b>&amp;</b><script>alert(1)</script>", "\u0301\u200d", "a" * 700):
        area.send_keys(Keys.CONTROL, "a")
        area.send_keys(text)
        opened.execute_async_script("setTimeout(arguments[0], 400)")
        assert typed(opened) == text
    assert opened.get_log("browser") == []
    assert js(opened, "document.querySelectorAll('.pieces b, .pieces script').length") == 0


def test_claims_can_be_filtered_by_mouse(opened):
    total = js(opened, "document.querySelectorAll('.outcomes li').length")
    assert text_of(opened, "shown") == f"{total} verdicts shown"
    click(opened, "#filter input[value=reproduced]")
    hidden = js(opened, "document.querySelectorAll('.outcomes li[hidden]').length")
    assert hidden > 0 and text_of(opened, "shown") == f"{total - hidden} verdicts shown"


# --- by keyboard alone


def focused(browser: Chrome) -> str:
    """The element with the focus: its tag and what tells it from others."""
    element = browser.switch_to.active_element
    parts = [element.tag_name, *map(element.get_dom_attribute, ("name", "value"))]
    return " ".join(filter(None, parts))


def tab_to(browser: Chrome, goal: str, limit: int = 400) -> None:
    """Press Tab until the element that starts like `goal` has the focus, each visibly so."""
    for _ in range(limit):
        press(browser, Keys.TAB)
        style = browser.switch_to.active_element.value_of_css_property("outline-style")
        assert style != "none", f"{focused(browser)} has the focus, but does not show it"
        if focused(browser).startswith(goal):
            return
    pytest.fail(f"Tab does not reach {goal!r}")


@both_pages
def test_everything_works_by_keyboard(page, shown):
    browser = shown(page)
    boxes = js(browser, "document.querySelectorAll('.box').length")
    tab_to(browser, "input language")
    tab_to(browser, "input tokenizer")
    for left in (boxes - 1, boxes):
        press(browser, Keys.SPACE)
        wait_for(browser, f"document.querySelectorAll('.box').length === {left}")
    tab_to(browser, "button")
    press(browser, Keys.TAB, Keys.ENTER)
    wait_for(browser, f"document.querySelector('{AREA}').value.startsWith('This gene is')")
    tab_to(browser, "textarea")
    write(browser, "unbelievable songs")
    assert all("".join(p for p, *_ in s).startswith("▁unb") for s in segmented(browser).values())
    press(browser, Keys.TAB)
    assert not focused(browser).startswith("textarea"), "the text box does not let the focus go"
    if js(browser, "document.querySelectorAll('#play-languages input').length") > 1:
        js(browser, "document.querySelector('#play-languages input:checked').focus()")
        press(browser, Keys.ARROW_RIGHT)
        wait_for(browser, "document.querySelector('.pieces').lang !== 'en'")


# --- for a screen reader


@both_pages
def test_everything_has_a_role_and_a_name(page, shown):
    browser = shown(page)
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named: dict[str, list[str]] = {}
    for node in nodes:
        if not node["ignored"]:
            role, name = node["role"]["value"], node.get("name", {}).get("value", "")
            named.setdefault(role, []).append(name.strip())
    for role in ("textbox", "checkbox", "radio", "button", "searchbox", "combobox", "image", "img"):
        assert all(named.get(role, [])), role
    assert "Text" in named["textbox"]
    assert {"Language", "Tokenizers", "Try"} <= set(named["group"])
    assert {"Claims", "Playground", "BPE"} <= set(named["region"])
    assert named["main"] and named["navigation"] == ["Sections of this page"]
    assert len(named["status"]) >= 2
    assert "mark" in named, "changed pieces are no marks"
    headings = browser.find_elements("css selector", "h1, h2, h3, h4")
    levels = [int(heading.tag_name[1]) for heading in headings]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))
