"""A headless Chromium, driven through the DevTools protocol over a pipe; nothing to install.

Mouse and keyboard events are those of a person: they go to what lies under the point or has the
focus, not to an element by name.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TIMEOUT = 60.0
KEYS = {
    "Tab": {"code": "Tab", "windowsVirtualKeyCode": 9},
    " ": {"code": "Space", "windowsVirtualKeyCode": 32, "text": " "},
    "Enter": {"code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
    "Backspace": {"code": "Backspace", "windowsVirtualKeyCode": 8},
    "ArrowRight": {"code": "ArrowRight", "windowsVirtualKeyCode": 39},
    "ArrowLeft": {"code": "ArrowLeft", "windowsVirtualKeyCode": 37},
}


def find_chromium() -> str | None:
    """Return the program's path: `CHROMIUM` of the environment, else the first one installed."""
    named = os.environ.get("CHROMIUM")
    return named or next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class Browser:
    """One window with one page."""

    def __init__(self, program: str, profile: Path) -> None:
        """Start `program` with an empty `profile` folder and open an empty page."""
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        self._process = subprocess.Popen(
            _on_descriptors_3_and_4(program, profile, to_browser, from_browser),
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._held, self._number, self._session = b"", 0, None
        self.messages: list[Mapping[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def close(self) -> None:
        """End the program."""
        os.close(self._write)
        os.close(self._read)
        self._process.terminate()
        self._process.wait(timeout=TIMEOUT)

    # --- protocol

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result; events go into `messages`."""
        self._number += 1
        call = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            call["sessionId"] = self._session
        os.write(self._write, json.dumps(call).encode() + b"\0")
        while (message := self._receive()).get("id") != self._number:
            self.messages.append(message)
        assert "error" not in message, f"{method}: {message['error']}"
        return message["result"]

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._held:
            ready, _, _ = select.select([self._read], [], [], TIMEOUT)
            data = os.read(self._read, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("Chromium does not answer; does it start from a terminal?")
            self._held += data
        message, _, self._held = self._held.partition(b"\0")
        return json.loads(message)

    # --- page

    def open(self, path: Path) -> None:
        """Load a file and wait until it is ready."""
        self.send("Page.navigate", url=path.resolve().as_uri())
        self.wait_for("document.readyState === 'complete' && location.protocol === 'file:'")

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression, as JSON carries it."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result.get("exceptionDetails")
        return result["result"].get("value")

    def wait_for(self, condition: str, seconds: float = 20.0) -> None:
        """Wait until a JavaScript condition holds; fail if it does not within `seconds`."""
        end = time.monotonic() + seconds
        while not self.evaluate(f"Boolean({condition})"):
            assert time.monotonic() < end, f"never came true: {condition}"
            time.sleep(0.05)

    def resize(self, width: int, height: int, *, phone: bool = False) -> None:
        """Set the window's size in CSS pixels; a phone's has two device pixels for one of them."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )

    def prefer(self, scheme: str) -> None:
        """Set the colour scheme that the reader prefers: light or dark."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.send("Emulation.setEmulatedMedia", features=[feature])

    def screenshot(self, path: Path) -> None:
        """Write what the window shows as png."""
        path.parent.mkdir(parents=True, exist_ok=True)
        data = self.send("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    # --- hands

    def click(self, selector: str) -> None:
        """Click the middle of an element, wherever it has to be scrolled to."""
        x, y = self.evaluate(f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{block: "center", behavior: "instant"}});
            const box = element.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, *, shift: bool = False, control: bool = False) -> None:
        """Press and release a key, by its name or character."""
        told = KEYS.get(key) or {"text": key}
        modifiers = 8 * shift + 2 * control
        if control:
            told = {name: value for name, value in told.items() if name != "text"}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, modifiers=modifiers, **told)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=modifiers)

    def type(self, text: str) -> None:
        """Type text, key by key."""
        for key in text:
            self.press(key)

    def paste(self, text: str) -> None:
        """Insert text at once, as from the clipboard or an input method."""
        self.send("Input.insertText", text=text)


def _on_descriptors_3_and_4(program: str, profile: Path, reading: int, writing: int) -> list[str]:
    """Return the command. Chromium reads commands from descriptor 3 and answers on 4."""
    options = [
        "--headless=new",
        "--remote-debugging-pipe",
        "--no-sandbox",  # in a container there is no other way, and the page is ours
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--no-first-run",
        "--no-default-browser-check",
        "--hide-scrollbars",
        f"--user-data-dir={profile}",
        "about:blank",
    ]
    moved = f'exec "$0" "$@" 3<&{reading} 4>&{writing}'
    return ["bash", "-c", moved, program, *options]
