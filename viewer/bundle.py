#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bundle.py - puts the page together and writes it as a C header.

usage: bundle.py OUTPUT.h PAGE.html STYLE.css... SCRIPT.js... -- MODULE.js...

Scripts before `--` are taken as they are. Modules after it are put into one function in the order
given, without their import lines and the word export: so a top-level name may be used once only.
"""
import base64
import hashlib
import pathlib
import re
import sys

TOP_LEVEL = re.compile(r"^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)", re.M)


def fail(text):
    sys.exit(f"bundle.py: {text}")


def joined_modules(paths):
    owners, parts = {}, []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"^import [^;]*;\n", "", text, flags=re.M)
        for name in TOP_LEVEL.findall(text):
            if name in owners:
                fail(f"{name} is in both {owners[name]} and {path.name}")
            owners[name] = path.name
        parts.append(re.sub(r"^export ", "", text, flags=re.M))
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


def hashed(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def c_array(name, text):
    data = text.encode()
    lines = [",".join(str(byte) for byte in data[i:i + 40]) for i in range(0, len(data), 40)]
    return f"static const unsigned char {name}[] = {{\n" + ",\n".join(lines) + "\n};\n"


def main():
    if len(sys.argv) < 4 or "--" not in sys.argv:
        sys.exit(__doc__)
    output = pathlib.Path(sys.argv[1])
    split = sys.argv.index("--")
    page, *plain = [pathlib.Path(word) for word in sys.argv[2:split]]
    style = "".join(p.read_text(encoding="utf-8") for p in plain if p.suffix == ".css")
    script = "".join(p.read_text(encoding="utf-8") for p in plain if p.suffix == ".js")
    script += joined_modules([pathlib.Path(word) for word in sys.argv[split + 1:]])
    for text, end in ((style, "</style"), (script, "</script"), (script, "<!--")):
        if end in text.lower():
            fail(f"{end} in what goes between tags")
    html = page.read_text(encoding="utf-8")
    for mark, text in (("@SCRIPT_HASH@", hashed(script)), ("@STYLE_HASH@", hashed(style)),
                       ("@STYLE@", style), ("@SCRIPT@", script)):
        if html.count(mark) != 1:
            fail(f"{page.name} must have {mark} once")
        html = html.replace(mark, text)
    opening, rest = html.split("@CONNECT@")
    middle, closing = rest.split("@DATA@")
    output.write_text("/* Made by viewer/bundle.py. */\n" + c_array("page_opening", opening)
                      + c_array("page_middle", middle) + c_array("page_closing", closing))


main()
