"""JavaScript in V8 (package mini-racer), and pages in headless Chromium, controlled by two pipes.

The protocol is that of Chromium's developer tools: JSON messages, each followed by NUL.
"""

import json
import os
import select
import shutil
import subprocess
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from py_mini_racer import MiniRacer

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DOCUMENT = Path(__file__).parent / "export/document.js"
PATIENCE = 120  # seconds before the browser counts as broken
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"),
]


class Browser:
    """A browser that runs until it is closed."""

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM is not None
        asked, self._to = os.pipe()
        self._from, answered = os.pipe()
        streams = f"3<&{asked} 4>&{answered} </dev/null >/dev/null 2>&1"  # it reads from 3
        line = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
        shell = ["bash", "-c", f'exec "$0" "$@" {streams}', *line]
        self._process = subprocess.Popen(shell, pass_fds=(asked, answered))
        os.close(asked)
        os.close(answered)
        self._number = 0
        self._unread = b""
        self.heard: list[dict[str, Any]] = []  # events that no call waits for

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def call(self, method: str, session: str | None = None, **params: object) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self._to, rest) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self.heard.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            is_there = select.select([self._from], [], [], PATIENCE)[0]
            assert is_there, "the browser says nothing any more"
            some = os.read(self._from, 1 << 16)
            assert some, "the browser has gone"
            self._unread += some
        message, _, self._unread = self._unread.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def open(self, address: str) -> "Page":
        """Open a page and wait until it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        page = Page(self, attached["sessionId"])
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        granted = ["clipboardReadWrite", "clipboardSanitizedWrite"]
        self.call("Browser.grantPermissions", permissions=granted)
        page.call("Page.navigate", url=address)
        page.ask(LOADED)
        return page


LOADED = """new Promise((resolve) => {
  const look = () => document.readyState === "complete" && location.href !== "about:blank"
    ? resolve(true) : setTimeout(look, 10);
  look();
})"""


class Page:
    def __init__(self, browser: Browser, session: str) -> None:
        self.browser, self._session = browser, session

    def call(self, method: str, **params: object) -> dict[str, Any]:
        return self.browser.call(method, self._session, **params)

    def ask(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page, or of its promise."""
        how = {"awaitPromise": True, "returnByValue": True}
        answer = self.call("Runtime.evaluate", expression=expression, **how)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def heard(self, method: str) -> list[dict[str, Any]]:
        """Return the events of this name so far."""
        mine = (one for one in self.browser.heard if one.get("sessionId") == self._session)
        return [one["params"] for one in mine if one["method"] == method]


def assert_quiet(page: Page, home: str = "file:") -> None:
    """Assert that nothing was thrown, refused or asked of a network."""
    asked = [one["request"]["url"] for one in page.heard("Network.requestWillBeSent")]
    outside = [url for url in asked if not url.startswith((home, "data:"))]
    said = [one["entry"]["text"] for one in page.heard("Log.entryAdded")]
    heard = (outside, said, page.heard("Runtime.exceptionThrown"))
    assert heard == ([], [], []), heard


class Stub:
    """The scripts of a page in V8, with as much of a document as they use."""

    def __init__(self, page: str, address: str = "") -> None:
        self._v8 = MiniRacer()
        self._v8.eval(DOCUMENT.read_text("utf-8"))
        read = Reading(page)
        scripts = read.texts["script"]
        texts = iter(scripts)
        for tag, attributes in read.elements:
            element = [tag, attributes, next(texts) if tag == "script" else ""]
            if "id" in attributes:
                self._v8.eval(f"place(...{json.dumps(element)})")
        self._v8.eval(f"location.hash = {json.dumps(address)}")
        for script in scripts:
            if not script.startswith(("{", "AA")) and "use strict" in script:
                self._v8.eval(script)

    def ask(self, expression: str) -> Any:
        """Return the value of an expression, after all that waits has been done."""
        while self._v8.eval("drain()"):
            pass
        return json.loads(str(self._v8.eval(f"JSON.stringify((({expression})) ?? null)")))


@cache
def engine() -> MiniRacer:
    v8 = MiniRacer()
    v8.eval(DOCUMENT.read_text("utf-8"))
    return v8


def ask(expression: str) -> Any:
    return json.loads(str(engine().eval(f"JSON.stringify({expression})")))


class Reading(HTMLParser):
    """The elements of a page, their attributes, and their texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.text = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._open:
            self.texts[self._open[-1]][-1] += data
