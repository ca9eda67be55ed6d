#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_goals.py - the page of goals that bench/goals.py makes of the benchmarks' tables: SOURCE_DIR"""
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

BENCH = pathlib.Path(sys.argv[1]).resolve() / "bench"
TABLES = """# Performance

| what | CPU s |
|---|--:|
| `gputrack import` | 99 |

## snapshot: Memory snapshots of PyTorch

| command | file, MB | CPU s | peak MiB |
|---|--:|--:|--:|
| `gputrack import` | 102 | 0.42 | 17.3 |
| `gputrack import` | 1002 | 3.97 | 1,077.7 |
| Python's `pickle.load` | 1002 | 32.05 | 6634.3 |

## html: Pages

| page of | MB | a key of the search, ms: min, median, most (goal: ≤ 100) | a range, ms |
|---|--:|--:|--:|
| 50,000 boxes | 1.2 | 3, 8, 37 | - |
"""


def run(*arguments):
    return subprocess.run([sys.executable, BENCH / "goals.py", *arguments], capture_output=True, text=True)


def on_terminal(columns, *arguments):
    """What it prints on a terminal of so many columns."""
    master, slave = pty.openpty()
    process = subprocess.Popen([sys.executable, BENCH / "goals.py", *arguments], stdout=slave,
                               env=dict(os.environ, COLUMNS=str(columns), PYTHONIOENCODING="utf-8"))
    os.close(slave)
    text = b""
    try:
        while part := os.read(master, 65536):
            text += part
    except OSError:  # the terminal's other end is closed
        pass
    os.close(master)
    process.wait()
    return text.decode().replace("\r", "")


def check(what, right, found):
    if not right:
        sys.exit(f"{what}: {found}")


def main():
    tables, figures = pathlib.Path("tables.md"), pathlib.Path("figures.json")
    tables.write_text(TABLES)
    done = run(tables, "--json", figures)
    rows = {line.split("|")[1].strip(): line for line in done.stdout.splitlines() if line.startswith("| ")}
    check("met, beside the peer", "| ≤ 10 s | 3.97 s | Python's pickle.load | 32.05 | 0.12 | ok |"
          in rows["import of a 1 GB snapshot of PyTorch"], rows)
    check("missed, a figure with a comma", "| 1,078 MiB |" in rows["memory to import it"] and "**missed**" in rows["memory to import it"],
          rows)
    check("the worst of several figures", "| 37 ms |" in rows["search on 50,000 boxes: the slowest keystroke"], rows)
    check("a benchmark that measured nothing", "not measured" in rows["page of 10 million events"], rows)
    check("one that did not run is left out", not any("OpenCL" in row for row in rows), rows)
    check("the sum", "2 goals met, 1 missed, 4 not measured." in done.stdout, done.stdout)

    page = pathlib.Path("page.md")
    every = run(tables, "--all", "--page", page).stdout
    check("all goals, if asked for", every.count("not measured") > 20 and "OpenCL call" in every, every)
    check("the page by itself", page.read_text().startswith("# Performance\n") and
          page.read_text().endswith(every) and "## snapshot" not in page.read_text(), page.read_text())
    for columns in (80, 200):
        text = on_terminal(columns, tables, "--all")
        check("no line is too long", max(map(len, text.splitlines())) <= columns, text)
        check("a peer's figure", "Python's pickle.load: 32.05 (ours / peer: 0.12)" in text, text)
        check("a missed goal", re.search(r"^missed +memory to import it .* 1,078 MiB", text, re.M), text)

    tables.write_text(TABLES.replace("3.97", "7.94").replace("32.05", "32.06"))
    done = run(tables, "--compare", figures)
    check("what has changed", "| import of a 1 GB snapshot of PyTorch | 3.97 | 7.94 | +100.0 % | worse |" in done.stdout,
          done.stdout)
    check("what has not", "| memory to import it | 1,078 | 1,078 | +0.0 % |  |" in done.stdout, done.stdout)
    both = run(tables, "--beside", figures).stdout
    check("two machines", "| import of a 1 GB snapshot of PyTorch | ≤ 10 s | 7.94 | ok | 3.97 | ok | Python's pickle.load: 32.06, 32.05 | 0.25, 0.12 |"
          in both, both)
    check("not measured on either", "| page of 10 million events | ≤ 5 MB |  |  |  |  |  |  |" in both, both)
    check("both sums", both.count("2 goals met, 1 missed, 4 not measured.") == 2, both)
    for text in ("", "{}x", '[{"a": 1}]', "3"):
        figures.write_text(text)
        done = run(tables, "--compare", figures)
        check("figures that are none", done.returncode == 1 and done.stderr.startswith("goals.py: figures.json: ") and
              done.stderr.count("\n") == 1, (text, done))

    disturbed = "\n".join(["## pool: Blocks", "", "| calls | how | over bare, ns per call: min |", "|---|---|--:|",
                           "| made and freed | recorded, stacks | %s |", ""])
    for figure, verdict in (("-12", "ok"), ("-301", "not measured"), ("301", "**missed**")):
        tables.write_text(disturbed % figure)
        check("a bare run that was disturbed", f" | {verdict} |" in run(tables).stdout, run(tables).stdout)

    captions = ["## cuda: Calls", ""]
    for caption, figure in (("1 thread", 7), ("4 threads", 301)):
        captions += [f"**{caption}**", "", "| calls | how | over bare, ns per call: min | goal |", "|---|---|--:|--:|",
                     f"| create + destroy, event | direct door, stacks | {figure} | ≤ 300 |", ""]
    tables.write_text("\n".join(captions))
    page = run(tables).stdout
    check("the first of several tables", "| CUDA call, recorded with 16 frames, over bare | ≤ 300 ns | 7 ns |" in page, page)
    check("a table by its caption", "| CUDA call of four threads, recorded with 16 frames | ≤ 300 ns | 301 ns |" in page, page)

    tables.write_text("\n".join(["## ebpf: Attaching", "", "| processes | | first calls seen |", "|--:|---|--:|",
                                 "| 100 × C | -p | 97 of 100 |", ""]))
    check("some of all", "| 97 calls | the same, Python's |  |  | **missed** |" in run(tables).stdout, run(tables).stdout)

    known, names = re.findall(r"^\t(\w+)\t", (BENCH / "run.sh").read_text(), re.M), set()
    for line in (BENCH / "goals.tsv").read_text().splitlines():
        if not line.startswith("#"):
            fields = line.split("\t")
            check("a benchmark that is run", fields[0] in known, line)
            check("a name of its own", fields[1] not in names, line)
            names.add(fields[1])
            check("fields", len(fields) in (6, 9) and re.fullmatch(r"(<=|>=) [0-9.]+", fields[4]), line)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
