# SPDX-License-Identifier: MIT
"""chromium.py - one headless Chromium for all tests, over WebDriver, by the standard library.

It is started on first use, and again if it has died; its files are removed with it. A failed start
takes long to detect, so it is tried only once.
"""
import atexit
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request

ATTEMPTS = 3
START_SECONDS = 120  # a cold disk and a busy machine
ANSWER_SECONDS = 60

# No sandbox: tests run as root, too. Nothing that asks the network or a bus, no big shared memory.
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--disable-quic",
             "--disable-extensions", "--force-device-scale-factor=1"]


class NotStarted(Exception):
    """Why there is no browser."""


class Chromium:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gputrack-chromium-"))
        self.process = self.session = None
        try:
            self._start_driver()
            self._start_browser()
        except BaseException:
            self.end()
            raise

    def _start_driver(self):
        # whatever the caller's environment lacks: a home to write to, no display, no bus
        self.environment = dict(os.environ, HOME=str(self.folder), XDG_RUNTIME_DIR=str(self.folder),
                                DBUS_SESSION_BUS_ADDRESS="disabled:")
        self.environment.pop("DISPLAY", None)
        self.process = subprocess.Popen(
            [shutil.which("chromedriver"), "--port=0", f"--log-path={self.folder / 'log'}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=self.environment,
            start_new_session=True)
        for line in self.process.stdout:
            if "started successfully on port" in line:
                port = int(line.split()[-1].rstrip("."))
                self.base = f"http://127.0.0.1:{port}"
                return
        raise NotStarted(f"chromedriver ended with status {self.process.wait()}")

    def _start_browser(self):
        arguments = [*ARGUMENTS, f"--user-data-dir={self.folder / 'profile'}", "about:blank"]
        wanted = {"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "goog:chromeOptions": {"binary": shutil.which("chromium"), "args": arguments}}}}
        try:
            answer = self.ask("POST", "/session", wanted, START_SECONDS)
        except (AssertionError, OSError) as error:
            raise NotStarted(self._reason(error)) from error
        self.session = f"/session/{answer['sessionId']}"

    def _reason(self, error):
        """One line: the messages of the driver and of the browser itself."""
        try:
            said = json.loads(str(error).split(": ", 1)[1])["value"]["message"].splitlines()[0]
        except (IndexError, ValueError, KeyError, TypeError):
            said = str(error) or type(error).__name__
        command = [shutil.which("chromium"), *ARGUMENTS,
                   f"--user-data-dir={self.folder / 'alone'}", "--dump-dom", "about:blank"]
        try:
            alone = subprocess.run(command, capture_output=True, text=True, errors="replace",
                                   env=self.environment, timeout=ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            return f"{said}; by itself it does not come to an end"
        words = " ".join(alone.stderr.split())[:300] or "nothing"
        return f"{said}; by itself it ends with status {alone.returncode} and says: {words}"

    def ask(self, method, path, body=None, seconds=ANSWER_SECONDS):
        data = None if body is None else json.dumps(body).encode()
        kind = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.base + path, data, kind, method=method)
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode(errors='replace')[:2000]}")

    def is_alive(self):
        try:
            return bool(self.ask("GET", f"{self.session}/window/handles"))
        except (OSError, AssertionError):
            return False

    def end(self):
        """Ends the browser, its driver, and the processes they left."""
        if self.session:
            try:
                self.ask("DELETE", self.session)
            except (OSError, AssertionError):
                pass
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
            self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


the_one = reason = None


def shared():
    """The browser; raises NotStarted if it cannot be started."""
    global the_one, reason
    if the_one and the_one.is_alive():
        return the_one
    close()
    if not shutil.which("chromedriver") or not shutil.which("chromium"):
        raise NotStarted("chromium or chromium-driver is not installed")
    attempts = 0
    while not reason:
        try:
            the_one = Chromium()
            return the_one
        except NotStarted as error:
            attempts += 1
            if attempts == ATTEMPTS:
                reason = f"Chromium does not start here: {error}"
    raise NotStarted(reason)


def close():
    """Ends the browser; the next call of shared starts a new one."""
    global the_one
    if the_one:
        the_one.end()
    the_one = None


atexit.register(close)
