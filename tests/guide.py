#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""guide.py - runs every command of a document and compares its output with the document's.

usage: tests/guide.py [--rewrite] [DOCUMENT]     in the root of a checkout that is built in build/

The document is doc/guide.md, or another that is named (README.md has a command too). A fence
```console holds commands, lines that begin with "$ ", each followed by its output. Each command runs
after the `export` lines of the document's ```sh fences, with build/ on PATH and PoCL as OpenCL driver.
--rewrite puts the actual output into the document. Process numbers, addresses and times differ from run
to run and are not compared.
"""
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
GUIDE = ROOT / "doc" / "guide.md"
FENCE = re.compile(r"^```(\w*)$")

NOT_THE_SAME_TWICE = (
    (r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\]", "[DATE]"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d on \S+", "DATE on HOST"),
    (r"\bpid \d+", "pid PID"),
    (r"thread-id: \d+", "thread-id: TID"),
    (r"0x[0-9a-f]{6,}", "ADDRESS"),
    (r"\+[\d.]+ ?[KMG]?i?B?/(s|min|h)\b", "+RATE"),
    # a curve over time, with the values at its ends
    (r"^( *)[ ▁▂▃▄▅▆▇█]*[▁▂▃▄▅▆▇█]+ .*$", "CURVE"),
    (r"\b\d+(\.\d+)? (ns|us|µs|ms|s|min)\b", "TIME"),
    # first and last are shown as one where they round to the same
    (r"created (at|from) TIME( to TIME)?", "created WHEN"),
)


class Step:
    """A command of the document with the lines that follow it."""

    def __init__(self, command):
        self.command, self.said = command, []


def read(text):
    """The document as a list of lines and steps, and the commands that come before each step."""
    parts, prelude, fence = [], [], None
    for line in text.splitlines():
        mark = FENCE.match(line)
        if mark:
            fence = mark.group(1) if fence is None else None
            parts.append(line)
        elif fence == "console" and line.startswith("$ "):
            parts.append(Step(line[2:]))
        elif fence == "console" and isinstance(parts[-1], Step):
            parts[-1].said.append(line)
        else:
            if fence == "sh" and line.startswith("export "):
                prelude.append(line)
            parts.append(line)
    return parts, prelude


def run(command, prelude):
    """The output for a reader without settings of their own or older recordings."""
    for recording in re.findall(r"-o (\S+\.gt)\b", command):
        shutil.rmtree(ROOT / recording, ignore_errors=True)
    environment = {name: value for name, value in os.environ.items()
                   if not re.match(r"GPUTRACK_|ZE|OCL_|OPENCL_|POCL_|GT_|NO_COLOR", name)}
    environment.update(GPUTRACK_CONFIG="", LC_ALL="C.UTF-8", TZ="UTC", COLUMNS="80",
                       PYTHONDONTWRITEBYTECODE="1", OCL_ICD_VENDORS="pocl.icd",
                       PATH=f"{ROOT}/build:{os.environ['PATH']}")
    done = subprocess.run(["sh", "-c", "\n".join([*prelude, command])], cwd=ROOT, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=120)
    return [line.rstrip() for line in done.stdout.rstrip().splitlines()]


def comparable(lines):
    text = "\n".join(lines).strip("\n")
    for pattern, word in NOT_THE_SAME_TWICE:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return text.splitlines()


def check(document=GUIDE):
    """Yields (command, difference), with no difference where the document is right."""
    parts, prelude = read(document.read_text(encoding="utf-8"))
    for step in parts:
        if isinstance(step, Step):
            said, printed = comparable(step.said), comparable(run(step.command, prelude))
            yield step.command, "\n".join(difflib.unified_diff(said, printed, "the document",
                                                               "printed now", lineterm=""))


def rewrite(document=GUIDE):
    parts, prelude = read(document.read_text(encoding="utf-8"))
    lines = []
    for i, part in enumerate(parts):
        if not isinstance(part, Step):
            lines.append(part)
            continue
        printed = run(part.command, prelude)
        more = i + 1 < len(parts) and isinstance(parts[i + 1], Step)
        lines += ["$ " + part.command, *printed, *([""] if more and printed else [])]
    document.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    arguments = sys.argv[1:]
    rewriting = "--rewrite" in arguments
    names = [word for word in arguments if word != "--rewrite"]
    document = pathlib.Path(names[0]).resolve() if names else GUIDE
    if len(names) > 1 or any(name.startswith("-") for name in names):
        sys.exit(__doc__)
    if not (ROOT / "build" / "gputrack").exists():
        sys.exit("guide.py: build/gputrack is missing; run ./dev build first")
    if rewriting:
        rewrite(document)
        return
    wrong = 0
    for command, difference in check(document):
        print(("FAIL " if difference else "ok   ") + command)
        if difference:
            print(difference)
            wrong += 1
    if wrong:
        sys.exit(f"guide.py: {wrong} commands print something else; look, then: tests/guide.py --rewrite")


if __name__ == "__main__":
    main()
