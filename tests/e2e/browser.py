"""browser.py - headless Chromium over WebDriver, with nothing but the standard library.

    with Browser(case) as page:
        page.open(path)
        assert page.js("return document.title") == "…"
"""
import base64
import json
import pathlib
import shutil
import subprocess
import time
import urllib.error
import urllib.request


class Browser:
    def __init__(self, case, width=1280, height=900, dark=False):
        self.driver = shutil.which("chromedriver")
        self.chromium = shutil.which("chromium")
        if not self.driver or not self.chromium:
            case.skip("chromium or chromium-driver is not installed")
        self.case, self.width, self.height, self.dark = case, width, height, dark
        self.process = self.session = None

    def __enter__(self):
        log = self.case.path("chromedriver.log")
        self.process = subprocess.Popen([self.driver, "--port=0", f"--log-path={log}"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.base = f"http://127.0.0.1:{self._port()}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", f"--window-size={self.width},{self.height}",
                     f"--user-data-dir={self.case.path('profile')}", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update",
                     "--force-device-scale-factor=1", "about:blank"]
        wanted = {"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "goog:chromeOptions": {"binary": self.chromium, "args": arguments}}}}
        for attempt in range(3):
            try:
                answer = self._ask("POST", "/session", wanted)
                break
            except (AssertionError, OSError) as error:
                if isinstance(error, AssertionError) and "session not created" not in str(error):
                    raise
                # or the driver itself has gone
                if attempt == 2 or self.process.poll() is not None:
                    self.process.terminate()
                    self.process.wait(timeout=20)
                    self.case.skip("Chromium does not start here: not even an empty page")
        self.session = f"/session/{answer['sessionId']}"
        try:
            self.resize(self.width, self.height)
            self.cdp("Emulation.setEmulatedMedia", features=[
                {"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"}])
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind, value, trace):
        try:
            if self.session:
                self._ask("DELETE", self.session)
        except (OSError, AssertionError):
            pass
        self.process.terminate()
        self.process.wait(timeout=20)

    def _port(self):
        for line in self.process.stdout:
            if "started successfully on port" in line:
                return int(line.rstrip(". \n").split()[-1])
        raise AssertionError("chromedriver did not start")

    def _ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode()[:600]}")

    def resize(self, width, height):
        """The page's own size: a window cannot be as narrow as a telephone."""
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
        """Until the expression is true."""
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
        """A key as a person presses it, on what has the focus."""
        down = {"type": "keyDown", "value": key}
        up = {"type": "keyUp", "value": key}
        keys = [{"type": "keyDown", "value": "\ue008"}, down, up, {"type": "keyUp",
                                                                   "value": "\ue008"}]
        self._ask("POST", f"{self.session}/actions", {"actions": [
            {"type": "key", "id": "keyboard", "actions": keys if shift else [down, up]}]})

    def drag(self, selector, start, end):
        """The mouse, from one share of the element's width to another."""
        box = self.js("document.querySelector(arguments[0]).scrollIntoView({block: 'center'});"
                      "const b = document.querySelector(arguments[0]).getBoundingClientRect();"
                      "return [b.left, b.top, b.width, b.height]", selector)
        at = [{"type": "pointerMove", "duration": 0, "x": round(box[0] + box[2] * share),
               "y": round(box[1] + box[3] / 2)} for share in (start, (start + end) / 2, end)]
        self._ask("POST", f"{self.session}/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
             "actions": [at[0], {"type": "pointerDown", "button": 0}, at[1], at[2],
                         {"type": "pointerUp", "button": 0}]}]})

    def screenshot(self, path, whole=False):
        how = {"captureBeyondViewport": True} if whole else {}
        if whole:
            size = self.cdp("Page.getLayoutMetrics")["cssContentSize"]
            how["clip"] = {"x": 0, "y": 0, "width": size["width"],
                           "height": min(size["height"], 6000), "scale": 1}
        picture = self.cdp("Page.captureScreenshot", format="png", **how)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(picture))

    def complaints(self):
        """What the console has said that is wrong since last asked."""
        return [entry["message"] for entry in self._log("browser")
                if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """Addresses that were asked for since last asked, but for data: and the browser's own."""
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
