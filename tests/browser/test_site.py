"""The site that `make site` built: nothing is missing, and nothing is wider than a phone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.support.ui import WebDriverWait

SITE = Path(__file__).parents[2] / "build/site"
PAGES = sorted(
    str(page.relative_to(SITE).parent)
    for page in SITE.rglob("index.html")
    if "results" not in page.parts
)
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
def test_the_playground_segments_with_bpe_both_versions_and_counts(
    browser: Chrome, address: str
) -> None:
    browser.get(f"{address}/playground.html")
    shown = "return [...document.querySelectorAll('.box')].map((box) => box.dataset.tokenizer)"
    WebDriverWait(browser, 20).until(lambda each: each.execute_script(shown))
    assert browser.execute_script(shown) == ["bpe", "sage", "sage_released", "counts"]
