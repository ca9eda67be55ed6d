#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""glossary.py - the glossary of src/event/event.h as doc/glossary.md, and a check of the words in use.

usage: tests/glossary.py [--rewrite]

The words are defined once, in the header. The document has them as a table, followed by a table of
words to avoid, with their replacements: these may not occur in help texts, reports, the page or
documents.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADER = ROOT / "src" / "event" / "event.h"
DOCUMENT = ROOT / "doc" / "glossary.md"
BEGIN, END = "<!-- from src/event/event.h -->\n", "<!-- end -->\n"
SPOKEN = ("src", "viewer/js", "viewer/page.html", "doc", "include", "README.md", "CHANGELOG.md",
          "CONTRIBUTING.md", "packaging")


def words():
    """[(word, meaning)] as the header has them."""
    text = HEADER.read_text(encoding="utf-8")
    text = text[text.index("Glossary"):]
    lines = text[:text.index("*/")].splitlines()[2:]
    found = []
    for line in lines:
        line = line.removeprefix(" *")
        begin = re.match(r"   (\S+(?: \S+)?)  +(\S.*)", line)
        if begin and not line.startswith("    "):
            found.append([begin[1], begin[2]])
        elif line.strip() and found:
            found[-1][1] += " " + line.strip()
    return found


def table():
    rows = "".join(f"| **{word}** | {meaning} |\n" for word, meaning in words())
    return BEGIN + "| term | meaning |\n|---|---|\n" + rows + END


def rewritten():
    """The document with the header's words in it."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return text[:text.index(BEGIN)] + table() + text[text.index(END) + len(END):]


def avoided():
    """The words to avoid, from the document's second table."""
    text = DOCUMENT.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| .+ \|$", text[text.index("## Not used"):], re.M)[1:]
    return [word.strip(" *`") for row in rows for word in row.split(",")]


def uses():
    """Lines that have one of them: FILE:LINE: TEXT."""
    files = subprocess.run(["git", "ls-files", *SPOKEN], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.splitlines()
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, avoided())) + r")\b", re.I)
    found = []
    for name in files:
        path = ROOT / name
        if path == DOCUMENT or not path.exists() or path.suffix in (".png", ".svg", ".webp", ".json"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if pattern.search(line):
                found.append(f"{name}:{number}: {line.strip()}")
    return found


def main():
    if sys.argv[1:] == ["--rewrite"]:
        DOCUMENT.write_text(rewritten(), encoding="utf-8")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    wrong = uses()
    if DOCUMENT.read_text(encoding="utf-8") != rewritten():
        wrong.append("doc/glossary.md is not what src/event/event.h says: tests/glossary.py --rewrite")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
