#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py - runs every test there is and counts: unit, golden, end-to-end, fuzz, sanitizers.

usage: tests/run.py BUILD_DIR [NAME_PART...]
"""
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback

TESTS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS / "e2e"))
import harness  # noqa: E402


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []

    def add(self, name, verdict, detail="", seconds=0.0):
        mark = {"ok": "ok  ", "fail": "FAIL", "skip": "skip"}[verdict]
        if verdict == "ok":
            self.passed += 1
        elif verdict == "skip":
            self.skipped += 1
        else:
            self.failed += 1
            self.failures.append(name)
        first = detail.strip().splitlines()[0] if verdict == "skip" and detail.strip() else ""
        print(f"{mark} {name}" + (f"  ({first})" if first else "")
              + (f"  {seconds:.1f} s" if seconds >= 1 else ""), flush=True)
        if verdict == "fail" and detail:
            print("    " + detail.strip().replace("\n", "\n    "), flush=True)


def run_meson(build, wanted, count, group="unit", tests=()):
    """Unit tests and whatever else Meson knows: its own log says how each ended."""
    log = build / "meson-logs" / "testlog.json"
    if log.exists():
        log.unlink()
    subprocess.run(["meson", "test", "-C", str(build), "--num-processes", "2", "-q", *tests],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not log.exists():
        count.add(group, "fail", "meson ran no test: is the build made with -Dtests=enabled?")
        return
    for line in log.read_text().splitlines():
        entry = json.loads(line)
        name = group + "/" + entry["name"].split(" / ")[-1]
        if wanted and not any(part in name for part in wanted):
            continue
        verdict = {"OK": "ok", "SKIP": "skip", "EXPECTEDFAIL": "ok"}.get(entry["result"], "fail")
        detail = (entry.get("stdout") or "") + (entry.get("stderr") or "")
        count.add(name, verdict, "\n".join(detail.splitlines()[-40:]), entry.get("duration", 0))


# What runs in the traced process, with threads: the thread sanitizer looks at it.
THREADED = ("writer", "writer_descriptor", "writer_limits", "live",
            "guest", "fork_guard", "python_frames")


def programs_of(folder, tests):
    """What is built of a folder to run these tests, all there are if none is named: paths in it."""
    known = json.loads(subprocess.run(["meson", "introspect", "--tests", str(folder)],
                                      stdout=subprocess.PIPE).stdout or "[]")
    programs = {pathlib.Path(test["cmd"][0]) for test in known
                if not tests or test["name"] in tests}
    return sorted(str(path.relative_to(folder)) for path in programs if folder in path.parents)


def run_sanitized(build, wanted, count):
    """The unit tests again, built with the address, undefined-behaviour and thread sanitizers; and
    with the first two the tool.

    Only what they need is built: the rest would take most of the time.
    """
    for group, how, tests in (("address", "address,undefined", ()), ("thread", "thread", THREADED)):
        # a part of a name as it is printed, or of the group's
        parts = [part for part in wanted if part not in group]
        if wanted and not any(part in group or part.startswith(group) for part in wanted):
            continue
        folder = build.parent / f"{build.name}-{group}"
        if not (folder / "build.ninja").exists():
            subprocess.run(["meson", "setup", str(folder), f"-Db_sanitize={how}", "-Db_lundef=false",
                            "-Dopencl=disabled", "-Dlevelzero=disabled"], cwd=TESTS.parent,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # what it knows may be of an older day
        subprocess.run(["ninja", "-C", str(folder), "build.ninja"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        tool = ["gputrack", "tests/golden/make_recordings"] if group == "address" else []
        made = subprocess.run(["ninja", "-C", str(folder), *tool, *programs_of(folder, tests)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace")
        if made.returncode:
            count.add(group, "fail", made.stdout[-4000:])
            continue
        run_meson(folder, parts, count, group, tests)
        if group == "address":
            run_golden(folder, parts, count, "address/golden/")
            run_functions(load(TESTS / "e2e" / "sanitized.py"), "address/tool", folder, parts, count)


def run_golden(build, wanted, count, group="golden/"):
    """tests/golden/check.sh prints a line `ok NAME` or `FAIL NAME` per case."""
    script = TESTS / "golden" / "check.sh"
    if not script.exists():
        return
    done = subprocess.run(["sh", str(script), str(build)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    cases, detail = [], []
    for line in done.stdout.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word in ("ok", "FAIL"):
            cases.append([word, rest.strip(), ""])
        elif cases:
            cases[-1][2] += line + "\n"
        else:
            detail.append(line)
    for word, name, text in cases:
        if not wanted or any(part in group + name for part in wanted):
            count.add(group + name, "ok" if word == "ok" else "fail", text[:4000])
    if not cases or (done.returncode and not any(c[0] == "FAIL" for c in cases)):
        count.add("golden", "fail", done.stdout[-4000:])


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_functions(module, group, build, wanted, count):
    """Every function test_* of a module, by its name."""
    for name, function in list(vars(module).items()):
        full = f"{group}/{name[5:]}"
        if not name.startswith("test_") or not callable(function):
            continue
        if wanted and not any(part in full for part in wanted):
            continue
        begun = time.time()
        try:
            with harness.Case(build, full) as case:
                function(case)
            verdict, detail = "ok", ""
        except harness.Skip as reason:
            verdict, detail = "skip", str(reason)
        except AssertionError:
            verdict, detail = "fail", traceback.format_exc(limit=-2)
        except Exception:  # a test that breaks has failed
            verdict, detail = "fail", traceback.format_exc()
        count.add(full, verdict, detail, time.time() - begun)


def run_end_to_end(build, wanted, count):
    for path in sorted((TESTS / "e2e").glob("test_*.py")):
        run_functions(load(path), f"e2e/{path.stem[5:]}", build, wanted, count)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, wanted, count = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:], Count()
    os.environ.pop("OPENCL_LAYERS", None)
    # a shell that starts us in the background, and nohup, have us and all that we start ignore them
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    run_meson(build, wanted, count)
    run_golden(build, wanted, count)
    run_end_to_end(build, wanted, count)
    run_sanitized(build, wanted, count)
    if count.failures:
        print("failed: " + ", ".join(count.failures))
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    sys.exit(1 if count.failed or not count.passed else 0)


if __name__ == "__main__":
    main()
