#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""goals.py - the page of goals, from the tables that the benchmarks printed: TABLES [--json OUT] [--page OUT.md]
[--compare OLD.json] [--beside OTHER.json] [--all]

A goal is a row of goals.tsv. TABLES is what bench/run.sh prints: a heading "## NAME: TITLE" for each benchmark,
then Markdown tables. A figure in a cell is its last number, which is the worst of several, or N of "N of M". On a terminal the page
is text as wide as that, elsewhere Markdown.
"""
import argparse
import json
import pathlib
import re
import shutil
import sys
import textwrap

NOISE = 0.05  # a smaller change is none
WIDE = 130    # columns from which a peer has the same line


def split(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables_of(text):
    """For each benchmark: its tables, as (header, rows, caption); a caption is a bold line of its own."""
    found, name, table, caption = {}, None, None, ""
    for line in text.splitlines():
        heading, bold = re.match(r"## (\w+): ", line), re.fullmatch(r"\*\*(.*)\*\*", line)
        if heading:
            name, table, caption = heading[1], None, ""
            found[name] = []
        elif not line.startswith("|"):
            caption = bold[1] if bold else "" if line.strip() or table else caption
            table = None
        elif name and table is None:
            table = (split(line), [], caption)
            found[name].append(table)
        elif table and not re.match(r"\|[-:|]+$", line):
            table[1].append(split(line))
    return found


def column_of(header, wanted):
    name, _, number = wanted.partition("#")
    columns = [i for i, cell in enumerate(header) if cell.startswith(name)]
    return columns[int(number or 1) - 1] if len(columns) >= int(number or 1) else None


def figure_of(tables, row, column):
    """The first table that has both decides; None if none has. A row ends in its table's caption."""
    for header, rows, caption in tables:
        at = column_of(header, column)
        for cells in rows if at is not None else []:
            cell = cells[at].partition(" of ")[0] if at < len(cells) else ""
            numbers = re.findall(r"-?[0-9][0-9,]*\.?[0-9]*", cell)
            if re.search(row, "| " + " | ".join(cells) + " |" + caption) and numbers:
                return float(numbers[-1].replace(",", "").rstrip("."))
    return None


def goals(path):
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            yield (line.split("\t") + [""] * 3)[:9]


def is_met(value, goal):
    operator, limit = goal.split()
    return None if value is None else value <= float(limit) if operator == "<=" else value >= float(limit)


def measure(tables, every):
    """A figure for each goal of the benchmarks that ran, or of all: None where one was skipped."""
    found = []
    path = pathlib.Path(__file__).with_name("goals.tsv")
    for bench, what, row, column, goal, unit, peer, peer_row, peer_column in goals(path):
        if bench not in tables and not every:
            continue
        value = figure_of(tables.get(bench, []), row, column)
        compared = figure_of(tables.get(bench, []), row if peer_row == "=" else peer_row, peer_column) if peer else None
        # as far below bare as the goal is above it: other programs disturbed the bare run
        if value is not None and value < -float(goal.split()[1]):
            value = None
        found.append({"benchmark": bench, "what": what, "goal": goal, "unit": unit, "value": value,
                      "met": is_met(value, goal), "peer": peer or None, "peer_value": compared})
    return found


def number(value):
    return "" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def cells_of(f):
    """what, goal, figure, peer, its figure, ours / peer, verdict"""
    goal = f["goal"].replace("<=", "≤").replace(">=", "≥")
    value = f"{number(f['value'])} {f['unit']}" if f["value"] is not None else ""
    # a peer's figure of another unit, which its name ends in, is not ours to divide by
    is_alike = not any((f["peer"] or "").endswith(", " + unit) and f["unit"] != unit for unit in ("ns", "CPU s"))
    is_alike &= f["value"] is not None and f["value"] >= 0 and (f["peer_value"] or 0) > 0
    by = f"{f['value'] / f['peer_value']:.2f}" if is_alike else ""
    verdict = {None: "not measured", True: "ok", False: "missed"}[f["met"]]
    return [f["what"], f"{goal} {f['unit']}", value, f["peer"] or "", number(f["peer_value"]), by, verdict]


VERDICTS = {None: "", True: "ok", False: "**missed**"}


def markdown(found):
    yield "| what | goal | figure | peer | its figure | ours / peer | |"
    yield "|---|--:|--:|---|--:|--:|---|"
    for f in found:
        *cells, verdict = cells_of(f)
        yield f"| {' | '.join(cells)} | {'**missed**' if verdict == 'missed' else verdict} |"


def both(found, other):
    """The page of two machines."""
    beside = {f["what"]: f for f in other}
    yield "| what | goal | here | | there | | peer: here, there | ours / peer |"
    yield "|---|--:|--:|---|--:|---|---|---|"
    for f in found:
        unknown = {**f, "value": None, "peer_value": None}
        pair = [f, {**unknown, **beside.get(f["what"], {}), "goal": f["goal"]}]
        pair[1]["met"] = is_met(pair[1]["value"], f["goal"])
        what, goal, _, peer, _, _, _ = cells_of(f)
        figures = (f"{number(one['value'])} | {VERDICTS[one['met']]}" for one in pair)
        peers, ratios = (", ".join(cells_of(one)[column] or "–" for one in pair) for column in (4, 5))
        yield f"| {what} | {goal} | {' | '.join(figures)} | {f'{peer}: {peers}' if peer else ''} | " \
              f"{ratios if ratios != '–, –' else ''} |"


def text(found, columns):
    """The page as text of so many columns: a peer is on a line of its own where there is no room beside."""
    rows = [[*cells_of(f)[:6], {None: "-", True: "ok", False: "missed"}[f["met"]]] for f in found]
    goal, figure, verdict = (max((len(row[i]) for row in rows), default=0) for i in (1, 2, 6))
    peers = [": ".join(filter(None, row[3:5])) + (f" (ours / peer: {row[5]})" if row[5] else "") for row in rows]
    beside = max(map(len, peers), default=0) if columns >= WIDE else 0
    room = max(20, columns - goal - figure - verdict - beside - (8 if beside else 6))
    room = min(room, max((len(row[0]) for row in rows), default=0))
    for row, peer in zip(rows, peers):
        first, *more = textwrap.wrap(row[0], room)
        yield f"{row[6]:{verdict}}  {first:{room}}  {row[1]:>{goal}}  {row[2]:>{figure}}  {peer if beside else ''}".rstrip()
        yield from (" " * (verdict + 2) + line for line in more)
        if peer and not beside:
            yield from textwrap.wrap(peer, columns, initial_indent=" " * (verdict + 4),
                                     subsequent_indent=" " * (verdict + 4))


def sum_of(found):
    return "%d goals met, %d missed, %d not measured." % tuple(
        sum(f["met"] is met for f in found) for met in (True, False, None))


def print_changes(old, found):
    before = {f["what"]: f["value"] for f in old}
    print("| what | before | now | change | |")
    print("|---|--:|--:|--:|---|")
    for f in found:
        was, now = before.get(f["what"]), f["value"]
        if was is None and now is None:
            continue
        by = now / was - 1 if was and now is not None else None
        change = "" if by is None else f"{100 * by:+.1f} %"
        verdict = "" if by is None or abs(by) < NOISE else "better" if (by < 0) == (f["goal"][0] == "<") else "worse"
        print(f"| {f['what']} | {number(was)} | {number(now)} | {change} | {verdict} |")
    gone = sorted(before.keys() - {f["what"] for f in found})
    if gone:
        print("\nNo longer measured: " + "; ".join(gone) + ".")


def main():
    arguments = argparse.ArgumentParser(description="The page of goals, from the tables that the benchmarks printed.")
    arguments.add_argument("tables", type=pathlib.Path)
    arguments.add_argument("--json", type=pathlib.Path, help="keep the figures for --compare")
    arguments.add_argument("--page", type=pathlib.Path, metavar="OUT.md", help="also write the page there, as Markdown")
    arguments.add_argument("--all", action="store_true", help="show goals of benchmarks that did not run, too")
    arguments.add_argument("--compare", type=pathlib.Path, metavar="OLD.json", help="show what has changed since")
    arguments.add_argument("--beside", type=pathlib.Path, metavar="OTHER.json", help="one page with another machine's figures")
    chosen = arguments.parse_args()
    try:
        tables = chosen.tables.read_text()
        found = measure(tables_of(tables), chosen.all)
        old, other = (json.loads(path.read_text()) if path else None for path in (chosen.compare, chosen.beside))
        if not all("what" in f and "value" in f for f in [*(old or ()), *(other or ())]):
            raise ValueError("no figures in it")
    except (OSError, ValueError, TypeError) as error:
        sys.exit(f"goals.py: {chosen.compare or chosen.beside or chosen.tables}: {error}")
    if other is not None:
        print(*both(found, other), "", "Here: " + sum_of(found), "There: " + sum_of(other), sep="\n")
        return
    is_terminal = sys.stdout.isatty()
    print(*(text(found, shutil.get_terminal_size().columns) if is_terminal else markdown(found)), sep="\n")
    print("\n" + sum_of(found))
    if chosen.page:
        head = tables.partition("\n## ")[0].rstrip()
        chosen.page.write_text("\n".join([head, "", *markdown(found), "", sum_of(found)]) + "\n")
    if old is not None:
        print()
        print_changes(old, found)
    if chosen.json:
        beside = chosen.json.with_name(chosen.json.name + ".new")
        beside.write_text(json.dumps(found, indent=1) + "\n")
        beside.rename(chosen.json)


main()
