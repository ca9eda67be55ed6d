# SPDX-License-Identifier: MIT
"""places.py - the stacks of tests/places/stacks as recordings, and what a person calls their places.

A file holds what one program recorded (tests/places/record.py): the program, its folder, and stacks of
frames [function, file, line, module, offset, inlined], innermost first. `headlines` says how a person would
name the places of these stacks, written from the rule in words and not from any output:

    place    the innermost frame of the user's own code: "function file:line"; "function module" without
             lines, "module+0xoffset" without names. Template arguments are left out
    via      library functions that its line called, which must be named, in this order
    callers  own callers that tell it from the others, outermost last; more may stand between them

Stacks with the same number are one place, so a list shows them as one row.
"""
import json
import os
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent


class Corpus:
    def __init__(self, path):
        self.name = path.stem
        self.__dict__.update(json.loads(path.read_text(encoding="utf-8")))

    def record(self, case, name=None, only=None, repeat=1, size=1):
        """Writes a recording in the case's folder in which stack i leaks 2 to the power of i bytes.

        `only`: the number of a stack. `repeat`: leaks `size` times as much so often, over a minute.
        """
        name = name or f"{self.name}.gt"
        lines = []
        for number, stack in enumerate(self.stacks):
            if only not in (None, number):
                continue
            for i in range(repeat):
                lines.append(f"leak\t{size << number}\t{i * 60000 // repeat}")
                for function, file, line, module, offset, inlined in stack["frames"]:
                    lines.append(f"frame\t{module}\t{offset}\t{function or ''}\t{file or ''}\t{line or 0}\t"
                                 f"{int(inlined)}")
        made = case.run(case.build / "tests/places/make_places", name, self.program, self.command,
                        self.directory, stdin="\n".join(lines + [""]).encode())
        assert made.status == 0, made.err
        return name


def all_of_them():
    return [Corpus(path) for path in sorted((FOLDER / "stacks").glob("*.json"))]


def named(name):
    return Corpus(FOLDER / "stacks" / f"{name}.json")


def without_arguments(name):
    """A function's name without template arguments; <module>, <lambda> and Rust's <T as U> stay."""
    out, depth = "", 0
    for i, letter in enumerate(name):
        if letter == "<" and (depth or (i and re.match(r"[\w…]", name[i - 1]))):
            depth += 1
        elif letter == ">" and depth and name[i - 1] != "-":
            depth -= 1
        elif not depth:
            out += letter
    return out


def plain_function(name):
    """A function as the headlines of the corpus spell it."""
    name = name.replace(".<locals>", "")
    name = re.sub(r"(\(\))?::(\(anonymous class\)|\{lambda.*?\}(#\d+)?|<lambda.*?>)(::operator\(\))?",
                  "::{lambda}", name)
    return without_arguments(name)


def matches(expected, shown):
    """Whether "function file:line" is what was expected, the file maybe with more folders."""
    function, _, where = expected.rpartition(" ")
    shown_function, _, shown_where = shown.rpartition(" ")
    if not function:
        return shown == expected
    if plain_function(shown_function) != function:
        return False
    if ":" not in where:  # a module: its offset is no part of the name
        return re.fullmatch(re.escape(where) + r"(\+0x[0-9a-f]+)?", shown_where) is not None
    return shown_where == where or shown_where.endswith("/" + where.lstrip("/"))


def is_within(wanted, shown, same=str.__eq__):
    """Whether the wanted ones are among those shown, in their order."""
    rest = iter(shown)
    return all(any(same(one, other) for other in rest) for one in wanted)


def runs_pending():
    """Whether views that do not name places by the rule yet are tried, too."""
    return bool(os.environ.get("GPUTRACK_TEST_PENDING"))
