#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutate.py - breaks the code on purpose, one place at a time, and checks that the tests notice.

usage: tests/mutate.py SCRATCH_DIR [NAME...]    every mutation, or those with NAME in their name
       tests/mutate.py --check                  only look whether each finds its place, and its tests

The mutations are in tests/mutations.txt. They are made in a copy of the working tree below SCRATCH_DIR,
which the next run reuses. The tests that each mutation names run first; when they pass, all unit
and golden tests run, and the end-to-end tests it names. Ends with 1 when a mutation survived.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "tests"))
import run  # noqa: E402

KEYS = ("name", "file", "find", "with", "tests", "then")
DEFAULT_THEN = "unit/ golden/"


class Mutation:
    def __init__(self, fields):
        self.name, self.file, self.find, self.replacement = (
            fields.get(key, "") for key in ("name", "file", "find", "with"))
        self.tests = fields.get("tests", "").split()
        self.then = (DEFAULT_THEN + " " + fields.get("then", "")).split()

    def pattern(self):
        """Where the text breaks into lines, and how it is indented, does not matter."""
        return re.compile(r"\s+".join(re.escape(word) for word in self.find.split()))

    def places(self, root):
        """[(file, match)] in the file that is named, or if there is none, in any other of src/."""
        found = []
        for files in ([root / self.file], sorted((root / "src").rglob("*.[ch]"))):
            for path in filter(pathlib.Path.exists, files):
                found += [(path, hit) for hit in self.pattern().finditer(path.read_text())]
            if found:
                break
        return found


def read_mutations():
    """Blocks of `key: value` lines, separated by blank lines; # begins a comment."""
    mutations = []
    text = (SOURCE / "tests/mutations.txt").read_text(encoding="utf-8")
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        fields = dict(re.split(r":\s*", line, maxsplit=1) for line in lines)
        if fields:
            assert set(fields) <= set(KEYS) and "find" in fields and "tests" in fields, block
            mutations.append(Mutation(fields))
    return mutations


def misplaced(mutations, root):
    """A line for each mutation whose text is not found once."""
    lines = []
    for m in mutations:
        places = m.places(root)
        if len(places) != 1:
            where = ", ".join(sorted({str(path.relative_to(root)) for path, _ in places}))
            lines.append(f"{m.name}: '{m.find}' is found {len(places)} times, once was expected"
                         + (f" ({where})" if where else f" (it was in {m.file})"))
    return lines


def without_tests(mutations):
    """A line for each name of unit or end-to-end tests that no test has."""
    known = [f"unit/{path.stem[5:]}" for path in (SOURCE / "tests/unit").glob("test_*")] + ["unit/fuzz "]
    # programs that are run again in another way
    known += [f"unit/{name}" for names in re.findall(r"test\('(\w+)'|'(\w+)': \d", (SOURCE / "tests/unit/meson.build").read_text())
              for name in names if name]
    known += [f"{name}_{size}k_pages" for name in known for size in (16, 64)]
    for path in (SOURCE / "tests/e2e").glob("test_*.py"):
        known += [name for name, _ in run.functions_of(run.load(path), f"e2e/{path.stem[5:]}")]
    return [f"{m.name}: no test has '{part}' in its name" for m in mutations for part in m.tests + m.then
            if part.startswith(("unit/", "e2e/")) and not any(part in name for name in known)]


def copy_tree(to):
    """The working tree as it is; files that have not changed keep their time, for ninja."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=SOURCE,
                            stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    wanted = {name for name in listed if (SOURCE / name).is_file()}
    for name in wanted:
        here, there = SOURCE / name, to / name
        if there.exists() and there.read_bytes() == here.read_bytes():
            continue
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(here, there)
    for path in [p for folder in ("src", "tests", "include") for p in (to / folder).rglob("*")]:
        if path.is_file() and str(path.relative_to(to)) not in wanted and "__pycache__" not in path.parts:
            path.unlink()
    modules = SOURCE / "viewer/node_modules"
    if modules.exists() and not (to / "viewer/node_modules").exists():
        shutil.copytree(modules, to / "viewer/node_modules", symlinks=True)


def run_in(cwd, *command):
    return subprocess.run([str(word) for word in command], cwd=cwd, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env=dict(os.environ, PATIENCE="1"))


def targets_of(tests, build):
    """What is built for tests of these names: the unit tests' programs, or everything."""
    targets = []
    for name in tests:
        if name.startswith("golden"):
            targets += ["gputrack", "tests/golden/make_recordings"]
        elif name.startswith("unit/") and (build / "tests/unit" / f"test_{name[5:]}").exists():
            targets.append(f"tests/unit/test_{name[5:]}")
        else:
            return []
    return targets


def tests_fail(tree, tests, times):
    """The first test that fails this many times, or None; build failures are reported as such."""
    build = tree / "build"
    made = run_in(tree, "ninja", "-C", build, *targets_of(tests, build))
    if made.returncode:
        return "DOES NOT BUILD\n" + made.stdout[-1500:]
    failed, parts = None, tests
    for _ in range(times):
        done = run_in(tree, sys.executable, "tests/run.py", "build", *parts)
        if done.returncode == 0:
            return None
        failed = re.search(r"^failed: (.*)$", done.stdout, re.M)
        if not failed:
            return "BROKEN\n" + done.stdout[-1500:]
        parts = failed[1].split(", ")
    return parts[0]


def try_one(tree, m):
    """(verdict, by which test)"""
    path, hit = m.places(tree)[0]
    original = path.read_text()
    path.write_text(original[:hit.start()] + m.replacement + original[hit.end():])
    try:
        # twice where nobody expected it: something else may be wrong with that test
        by = tests_fail(tree, m.tests, 1) or tests_fail(tree, m.then, 2)
    finally:
        path.write_text(original)
    if not by:
        return "SURVIVED", ""
    word = by.split("\n")[0]
    return (by, "") if word in ("DOES NOT BUILD", "BROKEN") else ("caught", by)


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__.strip())
        return
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1].startswith("-") and sys.argv[1] != "--check":
        sys.exit(f"mutate: there is no option {sys.argv[1]}\n\n{__doc__.strip()}")
    mutations = read_mutations()
    wrong = misplaced(mutations, SOURCE) + without_tests(mutations)
    for line in wrong:
        print(f"mutate: {line}")
    if wrong or sys.argv[1] == "--check":
        sys.exit(1 if wrong else 0)
    tree = pathlib.Path(sys.argv[1]).resolve() / "tree"
    chosen = [m for m in mutations if not sys.argv[2:] or any(part in m.name for part in sys.argv[2:])]
    if not chosen:
        sys.exit("mutate: no mutation has that in its name")
    copy_tree(tree)
    if not (tree / "build/build.ninja").exists():
        made = run_in(tree, "meson", "setup", "build")
        if made.returncode:
            sys.exit(made.stdout[-3000:])
    named = sorted({name for m in chosen for name in m.tests})
    made = run_in(tree, "ninja", "-C", "build")
    by = made.stdout[-1500:] if made.returncode else tests_fail(tree, named, 1)
    if by:
        sys.exit(f"mutate: the tests fail before anything is broken: {by}")
    counts = {"caught": 0}
    for m in chosen:
        begun = time.time()
        verdict, by = try_one(tree, m)
        word = verdict.split("\n")[0]
        counts[word] = counts.get(word, 0) + 1
        print(f"{word:<8}  {m.name}" + (f"  ({by})" if by else "") + f"  {time.time() - begun:.0f} s",
              flush=True)
        if word != verdict:
            print("    " + verdict.replace("\n", "\n    "))
    run_in(tree, "ninja", "-C", "build")
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    sys.exit(0 if set(counts) == {"caught"} else 1)


if __name__ == "__main__":
    main()
