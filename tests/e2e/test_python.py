# SPDX-License-Identifier: MIT
"""Calls from Python: file, line and function of each frame, in every installed version."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

CALLER = """\
import ctypes, sys, threading

cl = ctypes.CDLL("libOpenCL.so.1")
cl.clCreateContext.restype = ctypes.c_void_p
cl.clCreateBuffer.restype = ctypes.c_void_p
cl.clReleaseContext.argtypes = cl.clReleaseMemObject.argtypes = [ctypes.c_void_p]


class Keeper:
    def keep(self, context, size):
        error = ctypes.c_int()
        buffer = cl.clCreateBuffer(ctypes.c_void_p(context), ctypes.c_ulong(1),
                                   ctypes.c_size_t(size), None, ctypes.byref(error))
        assert error.value == 0
        return buffer


def größe(keeper, context, 大きさ):
    return keeper.keep(context,
                       大きさ)


def generate(keeper, context):
    yield keeper.keep(context, 3000)


def deep(n, keeper, context):
    if n:
        return deep(n - 1, keeper, context)
    return keeper.keep(context, 4000)


def main():
    platform, device = ctypes.c_void_p(), ctypes.c_void_p()
    assert cl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
    assert cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xffffffff), 1, ctypes.byref(device),
                             None) == 0
    context = cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None)
    keeper = Keeper()
    keeper.keep(context, 1000)
    größe(keeper, context, 2000)
    list(generate(keeper, context))
    deep(200, keeper, context)
    thread = threading.Thread(target=größe, args=(keeper, context, 5000))
    thread.start()
    thread.join()
    for i in range(2000):
        cl.clReleaseMemObject(keeper.keep(context, 64))
    print("kept 5 buffers")


main()
"""


def pythons():
    """One interpreter of each version: on the path, or below pyenv's folder."""
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    found = {}
    names = [sys.executable, shutil.which("python3", path="/usr/bin")]
    names += [shutil.which(f"python3.{minor}") for minor in range(8, 15)]
    names += [str(path) for path in root.glob("versions/3.*/bin/python3")]
    for name in filter(None, names):
        done = subprocess.run([name, "-c", "import sys, ctypes; print(*sys.version_info[:2])"],
                              capture_output=True, text=True)
        if done.returncode == 0:
            found.setdefault(tuple(map(int, done.stdout.split())), name)
    return found


def line_of(text):
    return next(number for number, line in enumerate(CALLER.splitlines(), 1) if text in line)


def python_frames(group):
    return [(frame["function"].rsplit(".", 1)[-1], pathlib.Path(frame["file"]).name, frame["line"])
            for frame in group["stack"] if frame["module"] == "Python"]


def check_frames(report, version, script):
    by_size = {group["bytes"]: group for group in report["groups"] if group["kind"] == "buffer"}
    expected = {
        1000: ["keep", "main", "<module>"],
        2000: ["keep", "größe", "main", "<module>"],
        3000: ["keep", "generate", "main", "<module>"],
        5000: ["keep", "größe", "run"],
    }
    for size, functions in expected.items():
        frames = python_frames(by_size[size])
        assert [frame[0] for frame in frames][:len(functions)] == functions, (version, frames)
        assert {frame[1] for frame in frames if frame[0] in ("keep", "main", "größe")} == {script}
    lines = dict((name, line) for name, _, line in python_frames(by_size[1000]))
    assert line_of("cl.clCreateBuffer(") <= lines["keep"] <= line_of("cl.clCreateBuffer(") + 1
    assert lines["main"] == line_of("keeper.keep(context, 1000)")
    assert lines["<module>"] == len(CALLER.splitlines())
    lines = dict((name, line) for name, _, line in python_frames(by_size[3000]))
    assert lines["generate"] == line_of("yield")
    deep = python_frames(by_size[4000])
    assert deep[0][0] == "keep" and deep[1][0] == "deep"
    assert deep[1][2] == line_of("return keeper.keep(context, 4000)")
    assert deep[2][2] == line_of("return deep(n - 1")


def test_every_installed_python_version_shows_its_lines(case):
    tried = []
    script = case.path("größe_名.py")
    script.write_text(CALLER, encoding="utf-8")
    for version, python in sorted(pythons().items()):
        if not (3, 8) <= version <= (3, 14):
            continue
        run = case.gputrack("run", "-q", "-o", "a.gt", python, script, env=case.pocl())
        assert run.status == 0 and run.out == "kept 5 buffers\n", (version, run.err)
        check_frames(case.report("a.gt", "leakage"), version, script.name)
        tried.append(version)
    assert tried


def test_unknown_python_versions_are_left_alone(case):
    old = [python for version, python in pythons().items() if version < (3, 8)]
    if not old:
        case.skip("there is no Python older than 3.8 here")
    script = case.path("caller.py")
    script.write_text(re.sub("[^\0-\x7f]", "x", CALLER), encoding="utf-8")
    run = case.gputrack("run", "-q", "-o", "a.gt", old[0], script, env=case.pocl())
    assert run.status == 0, run.err
    assert not any(python_frames(group) for group in case.report("a.gt", "leakage")["groups"])


def test_one_line_views_name_the_python_line(case):
    script = case.path("caller.py")
    script.write_text(CALLER, encoding="utf-8")
    run = case.gputrack("run", "-o", "a.gt", sys.executable, script, env=case.pocl())
    assert re.search(r"keep.*caller\.py:1\d", run.err), run.err
