# SPDX-License-Identifier: MIT
"""test_nsys_odd.py - exports that are broken, hostile or unusual: read, or refused in one line."""
import os

from odd_exports import READ, REFUSED
from test_nsys import need_import, refuse


def make(case, name, maker):
    path = case.path(f"{name}.sqlite")
    return maker(path) or path


def files(case):
    """What lies beside an import, and must stay as it is."""
    return {p.name: p.read_bytes() if p.is_file() else None for p in case.folder.iterdir()
            if p.suffix not in (".gt", ".txt") and p.name != "tmp"}


def test_what_cannot_be_read_is_refused_in_one_line(case):
    need_import(case)
    for name, (words, maker) in REFUSED.items():
        path = make(case, name, maker)
        before = files(case)
        error = refuse(case, path)
        assert words in error, (name, error)
        assert files(case) == before, name


def test_what_is_only_unusual_is_read_and_shown(case):
    need_import(case)
    tmp = case.path("tmp")
    tmp.mkdir()
    for name, (words, maker) in READ.items():
        path = make(case, name, maker)
        before = files(case)
        done = case.gputrack("import", path, "-o", f"{name}.gt", env={"TMPDIR": str(tmp)})
        assert done.status == 0 and done.err == "" and words in done.out, (name, done.out, done.err)
        assert files(case) == before and not os.listdir(tmp), name
        shown = case.gputrack("report", f"{name}.gt", "-a", ",".join(case.analyses()))
        assert shown.status == 0 and shown.err == "", (name, shown.err)
        assert "\x1b" not in shown.out, name
        drawn = case.gputrack("plot", f"{name}.gt", "-o", "p.txt")
        assert drawn.status == 0, (name, drawn.err)
