"""A real Chromium, driven through its own protocol over a pipe: no port, and no library."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
PATIENCE = 30.0


class Tab:
    """One page of a browser."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._rest = b""
        self._number = 0
        self._session = ""
        self.events: deque[dict[str, Any]] = deque(maxlen=10_000)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol."""
        self._number += 1
        said: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            said["sessionId"] = self._session
        os.write(self._write, json.dumps(said).encode() + b"\0")
        while (heard := self._next()).get("id") != self._number:
            self.events.append(heard)
        assert "error" not in heard, (method, heard["error"])
        return dict(heard["result"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            got = os.read(self._read, 1 << 20)
            assert got, "Chromium ended"
            self._rest += got
        line, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(line))

    def run(self, script: str) -> Any:
        """The value of an expression on the page; of a promise, what it is kept with."""
        done = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def until(self, script: str) -> None:
        """Wait until an expression is true."""
        ends = time.monotonic() + PATIENCE
        while not self.run(script):
            assert time.monotonic() < ends, script
            time.sleep(0.05)

    def open(self, url: str) -> None:
        """Go to an address, and wait until the page is there."""
        self.run("window.leaving = true")
        self.ask("Page.navigate", url=url)
        self.loaded()

    def loaded(self) -> None:
        """Wait for the page that comes next."""
        self.until("!window.leaving && document.readyState === 'complete'")

    def sized(self, width: int, height: int = 900) -> None:
        """A window of this size, as on a phone or a desk."""
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def themed(self, scheme: str) -> None:
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def scripted(self, *, on: bool) -> None:
        self.ask("Emulation.setScriptExecutionDisabled", value=not on)

    def press(self, key: str, code: int) -> None:
        """A key of the keyboard."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def type(self, text: str) -> None:
        self.ask("Input.insertText", text=text)

    def picture(self, path: Path, *, top: str = "body", height: int) -> None:
        """A screenshot of the page from an element on, in the format that the name ends with."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        y = self.run(f"document.querySelector({json.dumps(top)}).getBoundingClientRect().top + scrollY")
        clip = {"x": 0, "y": y, "width": size["width"], "height": min(height, size["height"] - y), "scale": 1}
        kind = path.suffix.removeprefix(".")
        quality = {} if kind == "png" else {"quality": 80}
        shot = self.ask("Page.captureScreenshot", format=kind, captureBeyondViewport=True, clip=clip, **quality)
        path.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """What the console said: blocked by the page's policy, thrown by a script, or failed to load."""
        self.run("1")
        found = [
            one["params"] for one in self.events if one.get("method") in {"Log.entryAdded", "Runtime.exceptionThrown"}
        ]
        return [json.dumps(one)[:400] for one in found]

    def asked(self) -> list[str]:
        """Every address that was asked for."""
        return [
            one["params"]["request"]["url"] for one in self.events if one.get("method") == "Network.requestWillBeSent"
        ]


@contextmanager
def chromium(folder: Path) -> Iterator[Tab]:
    """A browser with a profile of its own."""
    to_browser, write = os.pipe()
    read, from_browser = os.pipe()
    words = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--disable-dev-shm-usage",
        "--no-first-run", "--disable-background-networking", f"--user-data-dir={folder / 'profile'}", "about:blank",
    ]  # fmt: skip
    # The protocol is spoken on the file descriptors 3 and 4.
    shell = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
    running = subprocess.Popen(
        ["bash", "-c", shell, "chromium", *words],
        pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Tab(write, read)
    finally:
        os.close(write)
        running.terminate()
        running.wait(20)
        os.close(read)
