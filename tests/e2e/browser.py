# SPDX-License-Identifier: MIT
"""browser.py - a page in headless Chromium, used as a person would.

    with Browser(case) as page:
        page.open(path)
        assert page.js("return document.title") == "…"
"""
import base64
import json
import pathlib
import time

import chromium


class Browser:
    """A separate tab in the browser that all tests share (chromium.py)."""

    def __init__(self, case, width=1280, height=900, dark=False):
        self.case, self.width, self.height, self.dark = case, width, height, dark

    def __enter__(self):
        try:
            self.chromium = chromium.shared()
        except chromium.NotStarted as reason:
            self.case.skip(str(reason))
        self.session = self.chromium.session
        self.home = self._ask("GET", f"{self.session}/window")
        tab = self._ask("POST", f"{self.session}/window/new", {"type": "tab"})["handle"]
        self._switch(tab)
        self.complaints()
        self.requests()
        self.resize(self.width, self.height)
        self.cdp("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"}])
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind and issubclass(kind, Exception):
                self._keep_picture()
            self._ask("DELETE", f"{self.session}/window")
            self._switch(self.home)
        except (OSError, AssertionError):
            chromium.close()  # it has gone, or is in no state to be used again

    def _keep_picture(self):
        """What the page looked like when a test failed; build/failed-pictures keeps it."""
        folder = getattr(self.case, "build", None)
        if not folder:
            return
        folder = pathlib.Path(folder) / "failed-pictures"
        folder.mkdir(exist_ok=True)
        path = folder / f"{self.case.name.replace('/', '-')}.png"
        self.screenshot(path, whole=True)
        print(f"    kept: {path}")

    def saved(self, selector):
        """The text of the file that a button saves."""
        self.js("""
            const create = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
            window.saved = null;
            URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return '#'; };
            HTMLAnchorElement.prototype.click = () => {
              URL.createObjectURL = create;
              HTMLAnchorElement.prototype.click = click;
            };
            document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click', { bubbles: true }));""",
                selector)
        self.wait("window.saved !== null")
        return self.js("return window.saved")

    def _switch(self, tab):
        self._ask("POST", f"{self.session}/window", {"handle": tab})

    def _ask(self, *words):
        return self.chromium.ask(*words)

    def resize(self, width, height):
        """Sets the size of the page: a window cannot be as narrow as a phone."""
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)

    def cdp(self, command, **params):
        return self._ask("POST", f"{self.session}/goog/cdp/execute", {"cmd": command,
                                                                      "params": params})

    def open(self, address):
        if isinstance(address, pathlib.Path):
            address = address.resolve().as_uri()
        self._ask("POST", f"{self.session}/url", {"url": address})

    def js(self, script, *arguments):
        return self._ask("POST", f"{self.session}/execute/sync",
                         {"script": script, "args": list(arguments)})

    def wait(self, script, seconds=20):
        """Waits until the expression is true."""
        end = time.monotonic() + seconds
        while not self.js(f"return !!({script})"):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.05)

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0])?.innerText ?? null", selector)

    def texts(self, selector):
        return self.js("return [...document.querySelectorAll(arguments[0])].map(n => n.innerText)",
                       selector)

    def click(self, selector):
        found = self.js("const n = document.querySelector(arguments[0]); n?.click(); return !!n",
                        selector)
        assert found, f"there is no {selector}"

    def type(self, selector, text):
        self.js("const n = document.querySelector(arguments[0]); n.value = arguments[1];"
                "n.dispatchEvent(new Event('input'))", selector, text)

    def key(self, key, shift=False):
        """Presses a key on the focused element."""
        down = {"type": "keyDown", "value": key}
        up = {"type": "keyUp", "value": key}
        keys = [{"type": "keyDown", "value": "\ue008"}, down, up, {"type": "keyUp",
                                                                   "value": "\ue008"}]
        self._ask("POST", f"{self.session}/actions", {"actions": [
            {"type": "key", "id": "keyboard", "actions": keys if shift else [down, up]}]})

    def _box(self, selector):
        """Where it is in the window, after scrolling there: left, top, width, height."""
        return self.js("document.querySelector(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'});"
                      "const b = document.querySelector(arguments[0]).getBoundingClientRect();"
                      "return [b.left, b.top, b.width, b.height]", selector)

    def drag(self, selector, start, end, shift=False):
        """Drags the mouse between two fractions of the element's width."""
        box = self._box(selector)
        at = [{"type": "pointerMove", "duration": 0, "x": round(box[0] + box[2] * share),
               "y": round(box[1] + box[3] / 2)} for share in (start, (start + end) / 2, end)]
        pauses = [{"type": "pause", "duration": 0}] * 3
        held = [{"type": "key", "id": "keyboard", "actions": [{"type": "keyDown", "value": "\ue008"}, *pauses, pauses[0],
                                                              {"type": "keyUp", "value": "\ue008"}]}]
        self._ask("POST", f"{self.session}/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
             "actions": [at[0], {"type": "pointerDown", "button": 0}, at[1], at[2],
                         {"type": "pointerUp", "button": 0}]}, *(held if shift else [])]})

    def swipe(self, selector, start, end):
        """A finger's way between two fractions of the element's width."""
        left, top, width, height = self._box(selector)
        at = [[{"x": left + width * share, "y": top + height / 2}] for share in (start, (start + end) / 2, end)]
        for kind, points in (("touchStart", at[0]), ("touchMove", at[1]), ("touchMove", at[2]), ("touchEnd", [])):
            self.cdp("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    def screenshot(self, path, whole=False, part=None):
        """What the window shows; the whole page, or `part` of it, by its selector."""
        how = {"captureBeyondViewport": True} if whole or part else {}
        if part:
            box = self.js("const b = document.querySelector(arguments[0]).getBoundingClientRect();"
                          "return [b.left + scrollX, b.top + scrollY, b.width, b.height]", part)
            how["clip"] = {"x": box[0] - 12, "y": box[1] - 12, "width": box[2] + 24, "height": box[3] + 24, "scale": 1}
        if whole:
            size = self.cdp("Page.getLayoutMetrics")["cssContentSize"]
            how["clip"] = {"x": 0, "y": 0, "width": size["width"],
                           "height": min(size["height"], 6000), "scale": 1}
        if pathlib.Path(path).suffix == ".webp":
            how.update(format="webp", quality=85)
        picture = self.cdp("Page.captureScreenshot", **how)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(picture))

    def complaints(self):
        """Errors and warnings of the console since the last call."""
        return [entry["message"] for entry in self._log("browser")
                if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """Addresses requested since the last call, except data: and the browser's own."""
        found = []
        for entry in self._log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                address = message["params"]["request"]["url"]
                if not address.startswith(("data:", "chrome:")):
                    found.append(address)
        return found

    def _log(self, kind):
        return self._ask("POST", f"{self.session}/se/log", {"type": kind})
