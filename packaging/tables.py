# SPDX-License-Identifier: MIT
"""tables.py - gputrack's commands and options, as `gputrack describe` prints them."""
import json
import pathlib
import re
import sys


def load(path):
    with open(path, encoding="utf-8") as file:
        tables = json.load(file)
    if tables["schema"] != 1:
        sys.exit(f"{path}: schema {tables['schema']} is not known here")
    return tables


def kind(word):
    """What a value or an operand is, by the name that the tables give it."""
    for pattern, what in ((r"\.gt\b", "recording"), (r"^(DIR|FOLDER)\b", "folder"),
                          (r"^(PROGRAM|COMMAND)\b", "program"), (r"^PID\b", "process"),
                          (r"^(FILE|INPUT)\b|\.(csv|json|html|png|sqlite)\b|_LOG\b", "file")):
        if re.search(pattern, word or ""):
            return what
    return "word"


def operand(command):
    """The kind of a command's operands; None when it takes none."""
    if command["first_operand_ends"]:
        return "program"
    kinds = {kind(word) for word in re.findall(r"[A-Z][A-Za-z_.]*", command["operands"] or "")}
    # where files may stand as well as recordings, which are folders, all is offered
    for what in ("file", "recording", "folder", "process", "word"):
        if what in kinds:
            return what
    return None


def brief(option, most=60):
    """The first words of an option's help, for a list."""
    short = re.split(r"[;:(]|\. ", option["help"])[0].strip()
    if short in option["choices"]:
        short = "one of " + ", ".join(option["choices"])
    if len(short) > most:
        short = short[:most].rsplit(" ", 1)[0] + "…"
    return short


def forms(option):
    """--name and -n."""
    return ["--" + option["name"]] + (["-" + option["letter"]] if option["letter"] else [])


def main_arguments(usage, count):
    if len(sys.argv) != count + 1:
        sys.exit(f"usage: {pathlib.Path(sys.argv[0]).name} {usage}")
    return sys.argv[1:]
