# SPDX-License-Identifier: MIT
"""test_html_served.py - the page as `gputrack html --serve` serves it: who is answered, and what is followed."""
import csv
import io
import json
import os
import re
import shutil
import signal
import socket
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from browser import Browser
from pages import page_of

TOGETHER = True  # one browser


def ask(address, path="", **headers):
    request = urllib.request.Request(address + path, headers={k.replace("_", "-"): v
                                                              for k, v in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


class Served:
    def __init__(self, case, *arguments, by="--serve"):
        self.process = case.start(case.build / "gputrack", "html", by, *arguments)
        self.address = self.process.stdout.readline().decode().strip()
        assert self.address.startswith("http://127.0.0.1:"), self.process.stderr.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.communicate(timeout=20)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
        assert self.process.returncode == 0


def test_only_requests_with_the_token_are_served(case):
    page_of(case, "leaks.gt")
    with Served(case, "leaks.gt") as served:
        status, headers, body = ask(served.address)
        assert status == 200 and b"connect-src 'self'" in body
        assert headers["X-Content-Type-Options"] == "nosniff"
        status, headers, body = ask(served.address, "data.json")
        assert status == 200 and json.loads(body)["sets"][0]["leaked"] == 130
        assert ask(served.address, "data.json", If_None_Match=headers["ETag"])[0] == 304
        root = served.address[:served.address.index("/", 8)]
        assert ask(root, "/")[0] == 404
        assert ask(root, "/" + "0" * 32 + "/")[0] == 404
        assert ask(served.address, "../etc/passwd")[0] == 404
        assert ask(served.address, Host="evil.example")[0] == 403
        assert ask(served.address, Origin="http://evil.example")[0] == 403


def send(served, request):
    """The response to these bytes: (status, body), or (0, b"") if the server hangs up."""
    with socket.create_connection(("127.0.0.1", urlsplit(served.address).port), timeout=20) as s:
        try:
            s.sendall(request)
            s.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: s.recv(65536), b""))
        except TimeoutError:
            raise
        except OSError:
            return 0, b""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, body


def lines(served, *more, first="GET {path} HTTP/1.1", host="127.0.0.1:{port}"):
    """A request for the page with the caller's own header lines."""
    address = urlsplit(served.address)
    head = [first, *([f"Host: {host}"] if host is not None else []), *more]
    text = "\r\n".join(head) + "\r\n\r\n"
    return text.replace("{path}", address.path).replace("{port}", str(address.port)).encode("latin-1")


def test_only_requests_for_its_own_address_are_answered(case):
    """A web site whose name resolves to this machine (DNS rebinding) sends another host name."""
    page_of(case, "leaks.gt")
    with Served(case, "leaks.gt") as served:
        for host in ("127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}"):
            assert send(served, lines(served, host=host))[0] == 200, host
            assert send(served, lines(served, f"Origin: http://{host}", host=host))[0] == 200, host
        for host in ("127.0.0.1", "127.0.0.1:80", "127.0.0.1:{port}0", "evil.example:{port}", ":{port}",
                     "127.0.0.1.evil.example:{port}", "[]:{port}", "[::1:{port}", "x" * 100 + ":{port}"):
            assert send(served, lines(served, host=host))[0] == 403, host
        for origin in ("http://evil.example", "https://127.0.0.1:{port}", "null", "",
                       "http://localhost:{port}"):
            assert send(served, lines(served, f"Origin: {origin}"))[0] == 403, origin
        assert send(served, lines(served, first="GET {path} HTTP/1.0", host=None))[0] == 403


def test_the_default_port_need_not_be_named(case):
    page_of(case, "leaks.gt")
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", 80))
        except OSError:
            case.skip("port 80 cannot be had")
    with Served(case, "leaks.gt", "--port", "80") as served:
        served.address = served.address.replace("0.1/", "0.1:80/")
        for host in ("127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:80", "localhost"):
            assert send(served, lines(served, f"Origin: http://{host}", host=host))[0] == 200, host
        for host in ("evil.example", "127.0.0.1:81", "[]"):
            assert send(served, lines(served, host=host))[0] == 403, host
        assert send(served, lines(served, "Origin: http://evil.example", host="127.0.0.1"))[0] == 403


def test_malformed_requests_get_nothing(case):
    page_of(case, "leaks.gt")
    with Served(case, "leaks.gt") as served:
        assert send(served, lines(served))[0] == 200
        assert send(served, lines(served, first="HEAD {path} HTTP/1.1")) == (200, b"")
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get", "CONNECT"):
            status, body = send(served, lines(served, first=f"{method} {{path}} HTTP/1.1"))
            assert status in (400, 405), (method, status)
        path = urlsplit(served.address).path
        for target in ("/", "//", path[:-1], path + "x", path + "?x=1", path + "%2e", "/" + path,
                       path.replace(path[1], f"%{ord(path[1]):02x}", 1), "*", path + "data.json?",
                       "http://127.0.0.1:{port}" + path, "/" + "a" * 4000):
            status, body = send(served, lines(served, first=f"GET {target} HTTP/1.1"))
            assert status in (0, 400, 404, 414), (target, status)
            assert b"sets" not in body, target
        for request in (b"GET\r\n\r\n", b"\r\n\r\n", b"\0" * 64, b"\xff" * 64, b"GET / HTTP/9.9\r\n\r\n",
                        lines(served, first="GET {path} HTTP/2.0"), lines(served, first="GET {path}"),
                        lines(served, first="GET  {path}\x01 HTTP/1.1"),
                        lines(served, "Host: 127.0.0.1:{port}"), lines(served, host=None),
                        lines(served, "Origin: http://127.0.0.1:{port}", "Origin: http://127.0.0.1:{port}"),
                        lines(served, "Content-Length: 5") + b"hello", lines(served, "Content-Length: -1"),
                        lines(served, "Transfer-Encoding: chunked") + b"0\r\n\r\n",
                        lines(served, "no colon"), lines(served, " folded: x"),
                        lines(served, host="127.0.0.1\x80:{port}"),
                        lines(served, *(f"X-{i}: {'a' * 1000}" for i in range(64))),
                        lines(served, "X: " + "a" * 1000000), b"GET /" + b"a" * 1000000):
            status, body = send(served, request)
            assert status == 0 or status >= 400, (request[:100], status)
            assert b"sets" not in body, request[:100]
        # one that hangs up while it is answered
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", urlsplit(served.address).port)) as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                s.sendall(lines(served))
                s.recv(100)
        assert ask(served.address)[0] == 200


def test_a_request_times_out_after_ten_seconds(case):
    """However slowly its bytes come."""
    page_of(case, "leaks.gt")
    with Served(case, "leaks.gt") as served:
        with socket.create_connection(("127.0.0.1", urlsplit(served.address).port)) as s:
            s.settimeout(0.5)
            begun, closed = time.monotonic(), False
            s.sendall(b"GET / HTTP/1.1\r\n")
            while not closed and time.monotonic() - begun < 30:
                try:
                    s.sendall(b"X")
                    closed = s.recv(100) == b""
                except TimeoutError:
                    pass
                except OSError:
                    closed = True
            assert closed and time.monotonic() - begun > 5, time.monotonic() - begun


def test_without_its_library_pages_are_not_served(case):
    page_of(case, "leaks.gt")
    case.path("libmicrohttpd.so.12").touch()
    done = case.gputrack("html", "--serve", "leaks.gt", env={"LD_LIBRARY_PATH": str(case.folder)})
    assert done.status == 1 and not done.out and len(done.err.splitlines()) == 1, done.err
    assert "cannot load libmicrohttpd.so.12" in done.err and "install" in done.err, done.err


def test_idle_clients_do_not_block_others(case):
    page_of(case, "leaks.gt")
    with Served(case, "leaks.gt") as served:
        port = int(served.address.split(":")[2].split("/")[0])
        begun = time.monotonic()
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
        assert ask(served.address)[0] == 200
        # by then the server would have hung up on the first of them by itself
        assert time.monotonic() - begun < 9
        for one in silent:
            one.close()


def test_the_selected_process_stays_selected(case):
    page_of(case, "leaks.gt")
    os.rename(case.path("family.gt"), case.path("now.gt"))
    with Served(case, "now.gt", by="--follow") as served, Browser(case) as page:
        page.open(served.address)
        page.wait("document.body.dataset.drawn === 'all'")
        page.js("const p = document.querySelector('#process'); p.value = '403'; "
                "p.dispatchEvent(new Event('change'))")
        before = page.text(".verdicts")
        assert page.js("return document.querySelector('#process').value") == "403"
        # another process comes that does more: the busiest is first
        shutil.copy(case.path("leaks.gt/200.trace"), case.path("now.gt/200.trace"))
        page.wait("document.querySelector('#process').options[1].value === '200'")
        assert page.js("return document.querySelector('#process').value") == "403"
        assert page.text(".verdicts") == before
        # and it goes, with all but one: what is left is shown
        for trace in case.path("now.gt").glob("*.trace"):
            if trace.name != "200.trace":
                trace.unlink()
        page.wait("document.querySelector('.verdicts')?.innerText.includes('130 leaked')")
        assert page.complaints() == []


def test_a_running_recording_is_followed(case):
    page_of(case, "leaks.gt")
    os.rename(case.path("leaks.gt"), case.path("now.gt"))
    with Served(case, "now.gt") as served, Browser(case) as page:
        page.open(served.address)
        page.wait("document.body.dataset.drawn === 'all'")
        assert "130 leaked" in page.text(".verdicts") and page.text("#live") == "live"
        page.type("#leaks input", "buffer")
        page.js("document.querySelector('#leaks input').focus()")
        # the recording becomes another, as it does when a program goes on
        os.rename(case.path("now.gt"), case.path("old.gt"))
        os.rename(case.path("family.gt"), case.path("now.gt"))
        page.wait("document.querySelector('.verdicts').innerText.includes('12 leaked')")
        assert page.js("return document.activeElement.value") == "buffer"
        assert page.complaints() == []


def test_a_running_program_is_followed(case):
    page_of(case, "leaks.gt")
    program = case.start(case.build / "gputrack", "run", "-q", "-o", "run.gt",
                         case.program("killed"), "--calls", "1000000000", env=case.pocl())
    events = "Number(document.querySelector('header .facts').innerText.replaceAll(',', '')" \
             ".match(/(\\d+) events?/)?.[1] ?? 0)"
    try:
        end = time.monotonic() + 60
        # a trace begins with its name, when it is whole; a page of no events has no range
        while not any(trace.read_bytes()[:1].strip(b"\0") for trace in case.folder.glob("run.gt/*.trace")) \
                or not case.report("run.gt", "summary")["recording"]["events"]:
            assert time.monotonic() < end and program.poll() is None, "nothing is recorded"
            time.sleep(0.05)
        os.killpg(program.pid, signal.SIGSTOP)
        with Served(case, "run.gt") as served, Browser(case) as page:
            page.open(served.address)
            page.wait("document.body.dataset.drawn === 'all'")
            first = page.js(f"return {events}")
            # all until now: what comes later does not change it
            end_s = page.js("return JSON.parse(document.getElementById('data').textContent).end_ns") / 1e9
            page.js(f"location.hash = '#range=0-{end_s:.9f}'")
            page.wait("document.querySelector('.range')?.hidden === false")
            while page.js(f"return {events}") <= first:
                assert time.monotonic() < end, "the page never showed more"
                os.killpg(program.pid, signal.SIGCONT)
                time.sleep(0.1)  # goes on in small steps: millions of events are another test's
                os.killpg(program.pid, signal.SIGSTOP)
                time.sleep(1)
            assert "is still running" in page.text(".gaps")
            assert "alive" in page.text(".verdicts") and "leak" not in page.text(".verdicts")
            until = re.search(r"report -a range --to ([\d.]+)\.", page.text(".range")).group(1)
            wanted = case.report("run.gt", "range", "--to", until)["range"]
            rows = list(csv.DictReader(io.StringIO(page.saved(".range button.csv"))))
            for title, key in (("Allocated", "allocated"), ("Freed", "freed")):
                found = sum(int(row[f"{title} (resources)"]) for row in rows)
                assert found == wanted[key] > 0, (title, found, wanted)
            assert page.complaints() == []
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()
