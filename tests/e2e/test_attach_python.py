# SPDX-License-Identifier: MIT
"""gputrack attach: the lines of Python that `gputrack run` has, read from outside."""
import collections
import pathlib
import re
import shutil
import subprocess
import sys

from test_attach import Attached, need_root, read_line
import test_python

ALONE = True

# Makes a buffer in a function, for each way to get there.
CALLS = """\
import ctypes, os, sys, threading

cl, held = ctypes.CDLL("libOpenCL.so.1"), ctypes.PyDLL("libOpenCL.so.1")
for library in cl, held:
    library.clCreateContext.restype = library.clCreateBuffer.restype = ctypes.c_void_p
platform, device = ctypes.c_void_p(), ctypes.c_void_p()
assert cl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
assert cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xffffffff), 1, ctypes.byref(device), None) == 0
context = cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None)


def make(size, library=cl):
    assert library.clCreateBuffer(ctypes.c_void_p(context), ctypes.c_ulong(1),
                                  ctypes.c_size_t(size), None, None)


def with_the_gil():
    make(2000, held)


def 大きさ():
    make(3000)


def generate():
    yield make(4000)


def in_threads():
    threads = [threading.Thread(target=spin, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def spin(number):
    for i in range(50):
        make(5000 + number, held if i % 2 else cl)


def compiled():
    # code that is freed; the next may get its address
    for i in range(200):
        scope = {"make": make}
        exec("\\n" * (i % 7) + "def made():\\n    make(%d)\\nmade()" % (10000 + i), scope)
        del scope


def forked():
    pid = os.fork()
    if not pid:
        make(6000)
        os._exit(0)
    os.waitpid(pid, 0)


def sorted_by():
    sorted([1], key=lambda n: make(7000))


def main():
    make(1000)
    with_the_gil()
    大きさ()
    list(generate())
    in_threads()
    compiled()
    forked()
    sorted_by()


if len(sys.argv) > 1:
    print("ready", flush=True)
    input()
main()
print("done", flush=True)
if len(sys.argv) > 1:
    input()
"""


def places(case, name):
    """The calls of a recording: function, size, Python's frames; those of children count as well."""
    return collections.Counter(
        (event["function"], event["bytes"],
         tuple((frame["function"], frame["file"], frame["line"]) for frame in event["stack"]
               if frame["module"] == "Python"))
        for event in case.events(name) if event["kind"] == "buffer")


def assert_same(ours, those, what):
    same, total = sum((ours & those).values()), sum(those.values())
    assert sum(ours.values()) == total, (what, ours, those)
    assert same >= 0.999 * total, (what, same, total, list((those - ours))[:3], list((ours - those))[:3])


def test_lines_are_those_of_run(case):
    """GIL held or not; threads, generators, a child, names beyond ASCII, code that is freed."""
    need_root(case)
    script = case.path("größe_名.py")
    script.write_text(CALLS, encoding="utf-8")
    env = case.small_opencl()
    for version, python in sorted(test_python.pythons().items()):
        if not (3, 8) <= version <= (3, 14):
            continue
        done = case.gputrack("run", "-q", "-o", "door.gt", python, script, env=env)
        assert done.status == 0, done.err
        program = case.start(python, script, "wait", env=env, bufsize=0)
        assert read_line(program.stdout) == "ready\n"
        run = Attached(case, "-p", program.pid)
        program.stdin.write(b"\n")
        assert read_line(program.stdout) == "done\n"
        assert run.stop() == 0, run.err
        program.communicate(b"\n", timeout=60)
        expected = places(case, "door.gt")
        if version != (3, 11):  # which has frozen its own modules, and run's stacks end in them
            assert all(stack for _, _, stack in expected)
        assert_same(places(case, "a.gt"), expected, version)


def test_a_command_that_ends_at_once_has_its_lines(case):
    """Its texts have been copied when it made its calls: nobody has to read them in time."""
    need_root(case)
    script = case.path("caller.py")
    script.write_text(CALLS, encoding="utf-8")
    env = case.small_opencl()
    assert case.gputrack("run", "-q", "-o", "door.gt", sys.executable, script, env=env).status == 0
    done = case.gputrack("attach", "-q", "-o", "a.gt", "-c", sys.executable, script, env=env)
    assert done.status == 0, done.err
    assert_same(places(case, "a.gt"), places(case, "door.gt"), "command")
    done = case.gputrack("attach", "-q", "--no-python", "-o", "a.gt", "-c", sys.executable, script,
                         env=env)
    assert done.status == 0 and not any(stack for _, _, stack in places(case, "a.gt"))


def test_a_python_that_ends_at_once_in_a_known_process(case):
    """Of a process that has ended only its mappings are left, and one of them says that it was a Python."""
    need_root(case)
    quick = case.path("python3-quick")
    shutil.copy("/bin/true", quick)
    script = f"read go; for i in 1 2 3; do (sleep 0.3; exec '{quick}'); done; sleep 0.3"
    shell = case.start("sh", "-c", script, bufsize=0)
    run = Attached(case, "-p", shell.pid)
    shell.communicate(b"\n", timeout=60)
    assert run.stop(None) == 24, (run.process.returncode, run.err)  # nothing was tracked


def test_summaries_name_the_python_line(case):
    need_root(case)
    script = case.path("caller.py")
    script.write_text(CALLS, encoding="utf-8")
    program = case.start(sys.executable, script, "wait", env=case.small_opencl(), bufsize=0)
    assert read_line(program.stdout) == "ready\n"
    run = Attached(case, "-i", "0.2", "-T", "100", "-p", program.pid)
    program.stdin.write(b"\n")
    assert read_line(program.stdout) == "done\n"
    seen = ""
    while "spin" not in seen:
        seen += read_line(run.process.stdout)
    run.stop()
    program.communicate(b"\n", timeout=60)
    line = next(i for i, text in enumerate(CALLS.splitlines(), 1) if "library.clCreateBuffer(" in text)
    assert re.search(rf"make .*caller\.py:({line}|{line + 1})", seen), seen


def test_python_that_is_loaded_late(case):
    """By a program that embeds it, after gputrack attached."""
    need_root(case)
    library = next(iter(sorted(pathlib.Path("/usr/lib/x86_64-linux-gnu").glob("libpython3.*.so.1.0"))),
                   None)
    if not library:
        case.skip("there is no libpython")
    script = case.path("caller.py")
    # the first calls come after the time that a new library takes to be seen
    script.write_text("import sys, time\nsys.argv = ['']\ntime.sleep(1)\n" + CALLS, encoding="utf-8")
    program = case.start(case.program("embed_python"), library, script, env=case.small_opencl(),
                         bufsize=0)
    assert read_line(program.stdout) == "ready\n"
    run = Attached(case, "-p", program.pid)
    program.stdin.write(b"\n")
    assert read_line(program.stdout) == "done\n"
    run.process.wait(60)
    assert run.stop(0) == 0, run.err
    program.communicate(timeout=60)
    found = places(case, "a.gt")
    assert sum(found.values()) == 406, (sum(found.values()), run.err)
    assert all(stack for _, _, stack in found), found


def test_the_offsets_that_an_interpreter_publishes(case):
    """3.14 has no key of thread states: they are found in the interpreters' lists."""
    need_root(case)
    library = case.program("libcuda.so.1")
    program = case.start(case.program("fake_python"), library, bufsize=0)
    assert read_line(program.stdout) == "ready\n"
    run = Attached(case, "-p", program.pid)
    for _ in range(3):
        program.stdin.write(b"\n")
        assert read_line(program.stdout) == "done\n"
    assert run.stop() == 0, run.err
    program.communicate(timeout=60)
    stacks = {}
    for event in case.events("a.gt"):
        frames = tuple((frame["function"], frame["file"], frame["line"]) for frame in event["stack"]
                       if frame["module"] == "Python")
        stacks.setdefault(event["bytes"], []).append(frames)
    size, module = ("größe", "fake.py", 22), ("<module>", "fake.py", 12)
    assert stacks == {1000: [(size, module)] * 3, 2000: [(size,)] * 3, 3000: [()] * 3}, stacks
