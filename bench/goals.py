#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""goals.py - the page of goals, from the tables that the benchmarks printed: TABLES [--json OUT] [--compare OLD.json]

A goal is a row of goals.tsv. TABLES is what bench/run.sh prints: a heading "## NAME: TITLE" for each benchmark,
then Markdown tables. A figure in a cell is its last number, which is the worst of several.
"""
import argparse
import json
import pathlib
import re
import sys


def split(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables_of(text):
    """For each benchmark: its tables, as (header, rows)."""
    found, name, table = {}, None, None
    for line in text.splitlines():
        heading = re.match(r"## (\w+): ", line)
        if heading:
            name, table = heading[1], None
            found[name] = []
        elif not line.startswith("|"):
            table = None
        elif name and table is None:
            table = (split(line), [])
            found[name].append(table)
        elif table and not re.match(r"\|[-:|]+$", line):
            table[1].append(split(line))
    return found


def column_of(header, wanted):
    name, _, number = wanted.partition("#")
    columns = [i for i, cell in enumerate(header) if cell.startswith(name)]
    return columns[int(number or 1) - 1] if len(columns) >= int(number or 1) else None


def figure_of(tables, row, column):
    """The first table that has both decides; None if none has."""
    for header, rows in tables:
        at = column_of(header, column)
        for cells in rows if at is not None else []:
            numbers = re.findall(r"-?[0-9][0-9,]*\.?[0-9]*", cells[at] if at < len(cells) else "")
            if re.search(row, "| " + " | ".join(cells) + " |") and numbers:
                return float(numbers[-1].replace(",", "").rstrip("."))
    return None


def goals(path):
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            yield (line.split("\t") + [""] * 3)[:9]


def measure(tables):
    """A figure for each goal of the benchmarks that ran: None where one was skipped."""
    found = []
    path = pathlib.Path(__file__).with_name("goals.tsv")
    for bench, what, row, column, goal, unit, peer, peer_row, peer_column in goals(path):
        if bench not in tables:
            continue
        value = figure_of(tables[bench], row, column)
        compared = figure_of(tables[bench], row if peer_row == "=" else peer_row, peer_column) if peer else None
        operator, limit = goal.split()
        met = None if value is None else value <= float(limit) if operator == "<=" else value >= float(limit)
        found.append({"benchmark": bench, "what": what, "goal": goal, "unit": unit, "value": value, "met": met,
                      "peer": peer or None, "peer_value": compared})
    return found


def number(value):
    return "" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def print_page(found):
    print("| what | goal | figure | peer | its figure | ours by it | |")
    print("|---|--:|--:|---|--:|--:|---|")
    for f in found:
        goal = f["goal"].replace("<=", "≤").replace(">=", "≥")
        value = f"{number(f['value'])} {f['unit']}" if f["value"] is not None else ""
        by = f"{f['value'] / f['peer_value']:.2f}" if f["value"] is not None and f["peer_value"] else ""
        verdict = {None: "not measured", True: "ok", False: "**missed**"}[f["met"]]
        print(f"| {f['what']} | {goal} {f['unit']} | {value} | {f['peer'] or ''} | {number(f['peer_value'])} | {by} "
              f"| {verdict} |")
    counts = [sum(f["met"] is met for f in found) for met in (True, False, None)]
    print("\n%d goals met, %d missed, %d not measured." % tuple(counts))


def print_changes(old, found):
    before = {f["what"]: f["value"] for f in old}
    print("| what | before | now | change |")
    print("|---|--:|--:|--:|")
    for f in found:
        was, now = before.get(f["what"]), f["value"]
        if was is None and now is None:
            continue
        change = f"{100 * (now / was - 1):+.1f} %" if was and now is not None else ""
        print(f"| {f['what']} | {number(was)} | {number(now)} | {change} |")


def main():
    arguments = argparse.ArgumentParser(description="The page of goals, from the tables that the benchmarks printed.")
    arguments.add_argument("tables", type=pathlib.Path)
    arguments.add_argument("--json", type=pathlib.Path, help="keep the figures for --compare")
    arguments.add_argument("--compare", type=pathlib.Path, metavar="OLD.json", help="show what has changed since")
    chosen = arguments.parse_args()
    try:
        found = measure(tables_of(chosen.tables.read_text()))
        old = json.loads(chosen.compare.read_text()) if chosen.compare else None
        if old is not None and not all("what" in f and "value" in f for f in old):
            raise ValueError("no figures in it")
    except (OSError, ValueError, TypeError) as error:
        sys.exit(f"goals.py: {chosen.compare or chosen.tables}: {error}")
    print_page(found)
    if old is not None:
        print()
        print_changes(old, found)
    if chosen.json:
        beside = chosen.json.with_name(chosen.json.name + ".new")
        beside.write_text(json.dumps(found, indent=1) + "\n")
        beside.rename(chosen.json)


main()
