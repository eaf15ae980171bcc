"""The report in a real browser: by mouse, by keyboard alone, on a phone, in the dark."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from browser.devtools import Browser
from playground_samples import english, spoilt, turkish
from sagevocab.vocab.segment import UNCOVERED, encode, load_segmenter, read_description
from sagevocab.vocab.words import Normalizer, split_words

SCREENSHOTS = Path(__file__).parents[2] / "build/screenshots"
PAGES = ["sample_page", "given_page"]
TEXT = "The penned dialogues ☃ of Istanbul'daki songs"


@pytest.fixture
def opened(window: Browser, request) -> Browser:
    """The sample page in a desktop's window, or the page and size that the test's marks name."""
    return show(window, request.getfixturevalue("sample_page"))


def show(
    window: Browser, page: Path, width: int = 1200, *, phone: bool = False, scheme: str = "light"
) -> Browser:
    """Open a page afresh and wait for the first segmentation."""
    window.messages.clear()
    window.resize(width, 780 if phone else 1000, phone=phone)
    window.prefer(scheme)
    window.open(page)
    window.wait_for("document.querySelectorAll('.box').length > 0")
    return window


def segmented(window: Browser) -> dict[str, list[tuple[str, bool, bool]]]:
    """What stands in the boxes: by tokenizer its pieces, whether marked, whether unknown."""
    boxes = window.evaluate("""[...document.querySelectorAll(".box")].map((box) => [
        box.dataset.tokenizer,
        [...box.querySelectorAll(".piece")].map((piece) =>
          [piece.firstChild.data, piece.tagName === "MARK", piece.classList.contains("unknown")]),
    ])""")
    return {name: [tuple(piece) for piece in pieces] for name, pieces in boxes}


def status(window: Browser) -> str:
    return window.evaluate("document.getElementById('segmented').textContent")


def focused(window: Browser) -> str:
    """The element with the focus: its tag and what tells it from others."""
    return window.evaluate("""(() => {
        const element = document.activeElement;
        return [element.tagName, element.name, element.value].filter(Boolean).join(" ");
    })()""")


def write(window: Browser, text: str) -> None:
    """Replace the text in the box and wait until it is segmented."""
    window.click("#play textarea")
    window.press("a", control=True)
    window.evaluate("document.querySelector('#play textarea').select()")
    window.paste(text)
    first = json.dumps(text.split()[0])
    window.wait_for(
        f"document.querySelector('.pieces').textContent.replaceAll(' ', '') && "
        f"document.querySelector('#play textarea').value.startsWith({first})"
    )
    window.wait_for(SETTLED)


# The boxes follow a moment after the last key: they show as many words as the text has.
SETTLED = """(() => {
    const text = document.querySelector("#play textarea").value.trim();
    const words = document.querySelectorAll(".box:first-child .word").length;
    return words === (text ? text.split(/\\s+/).length : 0);
})()"""


def library(folder: Path, text: str) -> list[tuple[str, int, str]]:
    """The library's pieces of a text: word and place in it, number, characters."""
    segmenter, told = load_segmenter(folder), read_description(folder)
    normalizer = Normalizer(told["normalization"])
    pieces = []
    for at, word in enumerate(split_words(normalizer(text), told["max_word_chars"])):
        start = 0
        for number in segmenter.segment(word):
            length = 1 if number == UNCOVERED else len(segmenter.pieces[number])
            pieces.append((f"{at} {start}", number, word[start : start + length]))
            start += length
    return pieces


def expected(folders: dict[str, Path], text: str) -> dict[str, list[tuple[str, bool, bool]]]:
    """What the boxes must show; the first tokenizer is the one compared with."""
    pieces = {name: library(folder, text) for name, folder in folders.items()}
    first = pieces[next(iter(pieces))]
    known = {(place, characters, number == UNCOVERED) for place, number, characters in first}
    return {
        name: [
            (chars, (place, chars, number == UNCOVERED) not in known, number == UNCOVERED)
            for place, number, chars in found
        ]
        for name, found in pieces.items()
    }


# --- the page by itself


@pytest.mark.parametrize("page", PAGES)
def test_page_opens_from_disk_without_network_or_errors(page, window, request):
    show(window, request.getfixturevalue(page))
    asked = [
        message["params"]["request"]["url"].split(":")[0]
        for message in window.messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert set(asked) <= {"file", "data"} and asked.count("file") == 1
    failures = ("Log.entryAdded", "Runtime.exceptionThrown")
    assert [m["params"] for m in window.messages if m["method"] in failures] == []


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [320, 360, 768])
def test_narrow_windows_never_scroll_sideways(page, width, window, request):
    show(window, request.getfixturevalue(page), width, phone=True)
    window.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert window.evaluate("document.documentElement.scrollWidth") <= width
    cut_off = window.evaluate("""[...document.querySelectorAll("#play *, .box *, nav a, h2")]
        .filter((each) => !each.closest(".scroll, [hidden]") && each.getClientRects().length)
        .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
        .map((each) => each.outerHTML.slice(0, 80))""")
    assert cut_off == []


def test_boxes_stand_side_by_side_and_on_a_phone_below_each_other(window, sample_page):
    boxes = "[...document.querySelectorAll('.box')]"
    lefts = f"new Set({boxes}.map((box) => box.getBoundingClientRect().left)).size"
    show(window, sample_page)
    assert window.evaluate(lefts) == 3
    show(window, sample_page, 360, phone=True)
    assert window.evaluate(lefts) == 1


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(page, scheme, window, request):
    """WCAG 2.1, 1.4.3: a contrast of at least 4.5 to 1."""
    show(window, request.getfixturevalue(page), scheme=scheme)
    faint = window.evaluate("""(() => {
        const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
        const light = (colour) => channels(colour).slice(0, 3).map((value) => value / 255)
          .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
          .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
        const ground = (element) => {
          for (let at = element; at; at = at.parentElement) {
            const colour = getComputedStyle(at).backgroundColor;
            if (channels(colour)[3] !== 0) return colour;
          }
          return "rgb(255, 255, 255)";
        };
        const ratio = (element) => {
          const [a, b] = [light(getComputedStyle(element).color), light(ground(element))];
          return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        };
        const texts = [...document.querySelectorAll("body *")].filter((each) =>
          each.getClientRects().length &&
          [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
        return texts.filter((each) => ratio(each) < 4.5)
          .map((each) => `${ratio(each).toFixed(2)} ${each.outerHTML.slice(0, 80)}`);
    })()""")
    assert faint == []


# --- the playground by mouse


def test_opens_with_the_papers_sentence(opened, folders):
    text = opened.evaluate("document.querySelector('#play textarea').value")
    assert text.startswith("His son Rajashri Sudhakar has penned dialogues")
    assert segmented(opened) == expected(folders["en"], text)
    assert any(marked for _, marked, _ in segmented(opened)["sage"])


def test_text_is_segmented_counted_and_marked_as_the_library_says(opened, folders):
    write(opened, TEXT)
    shown = expected(folders["en"], TEXT)
    assert segmented(opened) == shown
    assert ("☃", False, True) in shown["sage"]
    numbers = opened.evaluate("""Object.fromEntries(
        [...document.querySelectorAll(".box[data-tokenizer=sage] dl div")]
        .map((each) => [...each.children].map((child) => child.textContent)))""")
    tokens, unknown = len(shown["sage"]), sum(each[2] for each in shown["sage"])
    assert numbers == {
        "tokens": str(tokens),
        "words": "7",
        "tokens per word": f"{tokens / 7:.2f}",
        "unknown": str(unknown),
    }
    assert f"SaGe (algorithm-1) {tokens}" in status(opened)


def test_a_button_brings_its_sentence(opened, folders):
    opened.click("#play-sentences button:nth-child(3)")
    text = opened.evaluate("document.querySelector('#play textarea').value")
    assert text == "The Stooges work for Miracle Detective Agency,"
    opened.wait_for(SETTLED)
    assert segmented(opened) == expected(folders["en"], text)


def test_tokenizers_can_be_left_out_and_the_next_is_compared_with(opened, folders):
    opened.click("#play input[value=bpe]")
    opened.wait_for("!document.querySelector('.box[data-tokenizer=bpe]')")
    left = {name: folder for name, folder in folders["en"].items() if name != "bpe"}
    text = opened.evaluate("document.querySelector('#play textarea').value")
    assert segmented(opened) == expected(left, text)
    assert opened.evaluate("document.getElementById('compared').textContent") == "BPE (merges)"
    for name in left:
        opened.click(f"#play input[value={name}]")
    opened.wait_for("!document.querySelector('.box')")
    assert status(opened) == "Choose a tokenizer."


def test_another_language_has_its_own_vocabularies(opened, folders):
    opened.click("#play input[value=tr]")
    opened.wait_for("document.querySelector('.pieces').lang === 'tr'")
    text = opened.evaluate("document.querySelector('#play textarea').value")
    assert text.startswith("Evlerimizdeki")
    assert segmented(opened) == expected(folders["tr"], text)
    write(opened, TEXT)
    opened.click("#play input[value=en]")
    opened.wait_for("document.querySelector('.pieces').lang === 'en'")
    assert segmented(opened) == expected(folders["en"], TEXT)


def test_thousands_of_lines_get_the_librarys_ids_in_the_browser_too(opened, folders):
    texts = {"en": english()[500:1300], "tr": turkish(800, seed=2)}
    for language, named in folders.items():
        lines = texts[language] + spoilt(texts[language], seed=5)
        for name, folder in named.items():
            told, segmenter = read_description(folder), load_segmenter(folder)
            normalizer = Normalizer(told["normalization"])
            theirs = opened.evaluate(f"""(() => {{
                const data = JSON.parse(document.getElementById("playground-data").textContent);
                const spec = data.languages.find((each) => each.key === "{language}")
                  .tokenizers.find((each) => each.key === "{name}");
                const using = Segmentation.tokenizer(
                  spec, Segmentation.normalizer(data.normalizations[spec.normalization]));
                return {json.dumps(lines)}.map((line) => Segmentation.encode(using, line));
            }})()""")
            ours = [encode(line, segmenter, normalizer, told["max_word_chars"]) for line in lines]
            assert theirs == ours, (language, name)


@pytest.mark.parametrize("page", PAGES)
def test_a_megabyte_is_cut_short_with_a_word_and_does_not_freeze(page, window, request):
    show(window, request.getfixturevalue(page))
    lines = "Gazeteciler söyledi: the zeppelin's ☃ half-life x²\n"
    text = lines * (1_000_000 // len(lines))
    window.evaluate(f"""(() => {{
        const area = document.querySelector("#play textarea");
        const clipboardData = new DataTransfer();
        clipboardData.setData("text/plain", {json.dumps(text)});
        area.select();
        window.began = performance.now();
        area.dispatchEvent(
          new ClipboardEvent("paste", {{ clipboardData, bubbles: true, cancelable: true }}));
    }})()""")
    window.wait_for("document.getElementById('segmented').textContent.includes('Only the first')")
    taken = window.evaluate("document.body.offsetHeight && performance.now() - began")
    assert taken < 10_000, f"{taken:.0f} ms"
    told = re.search(r"Only the first (\S+) of (\S+) characters", status(window))
    cut, whole = (int(number.replace(",", "")) for number in told.groups())
    assert 49_900 < cut <= 50_000 and whole == len(text)
    words = window.evaluate("document.querySelectorAll('.box:first-child dd')[1].textContent")
    assert int(words.replace(",", "")) == len(text[:cut].split())
    assert window.evaluate("document.querySelectorAll('.box:first-child .word').length") == 400
    assert "more words" in window.evaluate("document.querySelector('.pieces').textContent")
    write(window, "short again")
    assert "Only" not in status(window)


def test_nothing_and_nonsense_are_taken(opened):
    for text in (" ", "▁▁▁", "<b>&amp;</b><script>alert(1)</script>", "\u0301\u200d", "a" * 700):
        write_any(opened, text)
    assert opened.evaluate("document.querySelectorAll('.pieces b, .pieces script').length") == 0


def write_any(window: Browser, text: str) -> None:
    window.evaluate("document.querySelector('#play textarea').value = ''")
    window.click("#play textarea")
    window.paste(text)
    window.wait_for(f"document.querySelector('#play textarea').value === {json.dumps(text)}")
    window.evaluate("new Promise((done) => setTimeout(done, 400))")
    errors = [m for m in window.messages if m["method"] == "Runtime.exceptionThrown"]
    assert errors == []


def test_claims_can_be_filtered_by_mouse(opened):
    total = opened.evaluate("document.querySelectorAll('.outcomes li').length")
    assert opened.evaluate("document.getElementById('shown').textContent").startswith(str(total))
    opened.click("#filter input[value=reproduced]")
    opened.wait_for(f"!document.getElementById('shown').textContent.startsWith('{total} ')")
    hidden = opened.evaluate("document.querySelectorAll('.outcomes li[hidden]').length")
    left = opened.evaluate("parseInt(document.getElementById('shown').textContent)")
    assert hidden > 0 and left == total - hidden


# --- by keyboard alone


def tab_to(window: Browser, goal: str, limit: int = 400) -> None:
    """Press Tab until the element that starts like `goal` has the focus, each visibly so."""
    for _ in range(limit):
        window.press("Tab")
        outline = window.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", f"{focused(window)} has the focus, but does not show it"
        if focused(window).startswith(goal):
            return
    pytest.fail(f"Tab does not reach {goal!r}")


@pytest.mark.parametrize("page", PAGES)
def test_everything_works_by_keyboard(page, window, request):
    show(window, request.getfixturevalue(page))
    tab_to(window, "INPUT language")
    languages = window.evaluate("document.querySelectorAll('#play-languages input').length")
    tab_to(window, "INPUT tokenizer bpe")
    boxes = window.evaluate("document.querySelectorAll('.box').length")
    window.press(" ")
    window.wait_for(f"document.querySelectorAll('.box').length === {boxes - 1}")
    window.press(" ")
    window.wait_for(f"document.querySelectorAll('.box').length === {boxes}")
    tab_to(window, "BUTTON")
    window.press("Tab")
    window.press("Enter")
    window.wait_for("document.querySelector('textarea').value.startsWith('This gene is')")
    tab_to(window, "TEXTAREA text")
    window.press("a", control=True)
    window.evaluate("document.activeElement.select()")
    window.type("unbelievable songs")
    window.wait_for(SETTLED)
    assert all("".join(p for p, *_ in s).startswith("▁unb") for s in segmented(window).values())
    window.press("Tab")
    assert not focused(window).startswith("TEXTAREA"), "the text box does not let the focus go"
    if languages > 1:
        window.evaluate("document.querySelector('#play-languages input:checked').focus()")
        window.press("ArrowRight")
        window.wait_for("document.querySelector('.pieces').lang !== 'en'")


# --- for a screen reader


@pytest.mark.parametrize("page", PAGES)
def test_everything_has_a_role_and_a_name(page, window, request):
    show(window, request.getfixturevalue(page))
    nodes = window.send("Accessibility.getFullAXTree")["nodes"]
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
    marks = [node for node in nodes if node.get("role", {}).get("value") == "mark"]
    assert marks, "changed pieces are no marks"


def test_headings_skip_no_level(opened):
    levels = opened.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4')].map((each) => Number(each.tagName[1]))"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))


# --- to be looked at


VIEWS = {
    "desktop": {"width": 1200},
    "dark": {"width": 1200, "scheme": "dark"},
    "phone": {"width": 360, "phone": True},
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("view", VIEWS)
def test_screenshots_are_taken(page, view, window, request):
    """Of the top, the playground's form and its boxes; a person has to look at them."""
    show(window, request.getfixturevalue(page), **VIEWS[view])
    for place in ("main", "playground", "segmentations"):
        window.evaluate(
            f"document.getElementById('{place}').scrollIntoView({{behavior: 'instant'}})"
        )
        path = SCREENSHOTS / f"{page}_{view}_{place}.png"
        window.screenshot(path)
        assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 10_000
