"""The site that `make site` built: whole, no wider than a phone, legible, and fit for paper."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.support.ui import WebDriverWait

from .conftest import REFERENCE, SITE

CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")
PAGES = sorted(
    str(page.relative_to(SITE).parent)
    for page in SITE.rglob("index.html")
    if page.relative_to(SITE).parts[0] != "results"
)
LOCAL = re.compile(r'(?:href|src)="(?!https?:|data:|mailto:|javascript:)([^"#?]+)')
PHONE = 390  # pixels


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Where the built site is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.skipif(not PAGES, reason="no site; run make site")
def test_every_link_leads_to_a_file() -> None:
    missing = {
        f"{page.relative_to(SITE)}: {link}"
        for page in (*SITE.rglob("index.html"), SITE / REFERENCE)
        for link in LOCAL.findall(page.read_text(encoding="utf-8"))
        if not any((page.parent / unquote(link) / end).is_file() for end in ("", "index.html"))
    }
    assert missing == set()


@pytest.mark.skipif(not PAGES, reason="no site; run make site")
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole_on_a_phone(page: str, browser: Chrome, address: str) -> None:
    screen = {"width": PHONE, "height": 780, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get(f"{address}/{page}/")
    missing = [
        entry["message"]
        for entry in browser.get_log("browser")
        if address in entry["message"] and "favicon" not in entry["message"]
    ]
    assert missing == []
    images = "return [...document.images].filter((i) => !i.naturalWidth).map((i) => i.src)"
    assert browser.execute_script(images) == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= PHONE


@pytest.mark.skipif(not PAGES, reason="no site; run make site")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_the_text_of_a_page_stands_out(
    page: str, scheme: str, browser: Chrome, address: str
) -> None:
    wish = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [wish]})
    stored = {"origin": address, "storageTypes": "local_storage"}
    browser.execute_cdp_cmd("Storage.clearDataForOrigin", stored)
    browser.get(f"{address}/{page}/")
    assert browser.execute_script(CONTRAST) == []


@pytest.mark.skipif(not PAGES, reason="no site; run make site")
@pytest.mark.parametrize("page", PAGES)
def test_paper_shows_the_page_alone_and_keeps_headings_with_what_follows(
    page: str, browser: Chrome, address: str
) -> None:
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.get(f"{address}/{page}/")
    shown = """return [...document.querySelectorAll(
          "form, nav, .md-header, .md-sidebar, .md-footer, details:not([open])")]
        .filter((each) => each.checkVisibility()).map((each) => each.outerHTML.slice(0, 80))"""
    assert browser.execute_script(shown) == []
    loose = """return [...document.querySelectorAll("article :is(h1, h2, h3, h4)")]
        .filter((each) => getComputedStyle(each).breakAfter !== "avoid")
        .map((each) => each.textContent)"""
    assert browser.execute_script(loose) == []


@pytest.mark.skipif(not PAGES, reason="no site; run make site")
def test_the_report_opens_with_the_finding_and_segments_with_what_it_is_about(
    browser: Chrome, address: str
) -> None:
    screen = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.get(f"{address}/{REFERENCE}")
    tops = """return ["#found p", "#found figure"]
        .map((each) => document.querySelector(each).getBoundingClientRect().top)"""
    assert max(browser.execute_script(tops)) < screen["height"]
    shown = "return [...document.querySelectorAll('.box')].map((box) => box.dataset.tokenizer)"
    WebDriverWait(browser, 20).until(lambda each: each.execute_script(shown))
    assert browser.execute_script(shown) == ["bpe", "sage", "sage_released", "counts"]
