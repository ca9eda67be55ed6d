# SPDX-License-Identifier: MIT
"""test_live.py - what programs and tests are told about their living resources, by the documents' own examples."""
import functools
import hashlib
import os
import re
import shutil
import subprocess


PYTHON = "/usr/bin/python3"  # the one that Debian's modules are for


def section(case, document, title):
    text = (case.source / "doc" / document).read_text()
    return re.search(rf"^##+ {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.S | re.M)[1]


def blocks(text):
    """The fenced parts of a document."""
    return re.findall(r"^```\w*\n(.*?)^```$", text, re.S | re.M)


def write_examples(case, text, folder=None):
    """Writes the parts that begin with a comment that names a file; returns the lines of the console."""
    console = []
    for block in blocks(text):
        named = re.match(r"(?:#|//|/\*) ([\w.]+)(?: \*/)?\n", block)
        if named:
            ((folder or case.folder) / named[1]).write_text(block)
        elif block.startswith("$ "):
            console.append(block.splitlines())
    return console


@functools.cache
def found_modules():
    """Which of them Python has, without importing any: PyTorch takes a second."""
    names = ("pytest", "xdist", "pyopencl", "torch", "IPython")
    find = f"import importlib.util as u; print(*[name for name in {names} if u.find_spec(name)])"
    return subprocess.run([PYTHON, "-c", find], stdout=subprocess.PIPE, text=True).stdout.split()


def need_modules(case, *modules):
    for module in modules:
        if module not in found_modules():
            case.skip(f"Python has no module {module}")


def python_env(case, **more):
    return dict({"PYTHONPATH": str(case.build), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200",
                 "PATH": "/usr/bin:/bin"}, **more)


def test_without_a_recording_leaks_have_no_place(case):
    """Recording has stopped: nothing may pass for that."""
    case.path("a.py").write_text("""
import pyopencl as cl, gputrack
before = gputrack.snapshot()
buffer = cl.Buffer(cl.create_some_context(interactive=False), cl.mem_flags.READ_WRITE, 4096)
print([one.kind for one in gputrack.diff(before)])
try:
    print(gputrack.leaks(before))
except RuntimeError as error:
    print(error)
""")
    need_modules(case, "pyopencl")
    for option in ("--max-size=1", "--duration=0.001"):
        done = case.gputrack("run", "-q", "-o", "a.gt", option, PYTHON, "a.py",
                             env=python_env(case, **case.small_opencl()))
        assert done.out.splitlines() == [
            "['buffer']", "gputrack cannot list what is alive: the recording has stopped, or lost events, since then",
        ], done.out + done.err


def kept_program(case, command):
    """Where the build folder keeps what a command has compiled, as long as all of its sources stay as they are."""
    sources = [*case.folder.glob("*.c*"), *(case.source / "include/gputrack").glob("*.h*")]
    texts = [" ".join(command), *(path.read_text() for path in sorted(sources))]
    return case.build / "tests/examples" / hashlib.sha256("\0".join(texts).encode()).hexdigest()


def compile_example(case, line, *more):
    """By the command that the document shows; clang needs two thirds of the time for C++'s headers."""
    words = line.removeprefix("$ ").split()
    quick = words[0] == "c++" and not os.environ.get("GPUTRACK_TEST_LONG") and shutil.which("clang++")
    compiler = quick or shutil.which(words[0]) or case.skip(f"there is no {words[0]}")
    program = case.path(words[words.index("-o") + 1])
    more = [*more, f"-ffile-prefix-map={case.folder}=."]  # of no one run
    kept = kept_program(case, [compiler, *more[:-1], *words[1:]])
    if kept.exists():
        shutil.copy(kept, program)
        return
    done = case.run(compiler, *more, f"-I{case.source}/include", *words[1:])
    if "cannot find -l" in done.err or re.search(r"fatal error: (gtest|catch2)", done.err):
        case.skip("the test framework is not installed: " + done.err.splitlines()[-1])
    assert done.status == 0, done.err
    assert "warning" not in done.err, done.err
    kept.parent.mkdir(exist_ok=True)
    shutil.copy(program, f"{kept}.{os.getpid()}")
    os.replace(f"{kept}.{os.getpid()}", kept)


def check_framework(case, title, more):
    """The document's example, with more tests that pass."""
    lines = write_examples(case, section(case, "ci.md", title))[0]
    source = case.path(next(word for word in lines[0].split() if word.endswith(".cc")))
    source.write_text(source.read_text() + more)
    compile_example(case, lines[0], "-Wall", "-Wextra")
    program = lines[1].split()[-1]
    done = case.gputrack("run", "-q", "-o", "a.gt", program, env=case.small_opencl())
    assert done.status == 1, done.out + done.err
    at = 0
    for line in lines[2:]:
        at = done.out.find(line.strip(), at)
        assert at >= 0, (line, done.out)
    assert done.out.count("left alive") == 1, done.out
    # alone it runs as it would without the header
    assert case.run(program, env=case.small_opencl()).status == 0


def test_googletest_fails_the_tests_that_leak(case):
    check_framework(case, "GoogleTest", """
TEST_F(Buffers, MayStay)
{
	RecordProperty("gpu_leak_limit", 4096);
	clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, nullptr, nullptr);
}
""")


def test_catch2_fails_the_tests_that_leak(case):
    check_framework(case, "Catch2", "")


ASK = r"""
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <errno.h>

static cl_context context;

static void work(void)
{
	clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, NULL);
	clReleaseMemObject(clCreateBuffer(context, CL_MEM_READ_WRITE, 1 << 20, NULL, NULL));
}

int main(void)
{
	cl_platform_id platform;
	cl_device_id device;

	if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 9;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	errno = 99;
	ask(work);
	clReleaseContext(context);
	return errno != 99;
}
"""


def test_a_c_program_asks(case):
    write_examples(case, section(case, "live-objects.md", "From C and C++"))
    example = case.path("ask.c").read_text() + ASK
    for name, compiler, flags in (("c", "gcc", ["-std=c11"]), ("clang", "clang", []), ("cpp", "g++", ["-x", "c++"])):
        if not shutil.which(compiler):
            continue
        case.path("ask.c").write_text(example)
        compile_example(case, f"{compiler} -g -Wall -Wextra -Wpedantic ask.c -o ask_{name} -lOpenCL", *flags)
        line = example[:example.index("clCreateBuffer(context")].count("\n") + 1
        done = case.gputrack("run", "-q", "-o", f"{name}.gt", f"./ask_{name}", env=case.small_opencl())
        text = f"{(1 << 20) + 4096} bytes at most\n1 buffer, 4.00 KiB left alive: work ask.c:{line} < ask ask.c:"
        assert done.status == 0 and not done.err, done.err
        assert done.out.startswith(text.split(" < ")[0]), done.out
    bare = case.run("./ask_c", env=case.small_opencl())
    assert (bare.status, bare.out, bare.err) == (0, "", ""), bare.err


WORK = """
import pyopencl as cl

context = cl.create_some_context(interactive=False)
kept = []


def work():
    for _ in range(3):
        kept.append(cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096))
    kept.pop()
"""


def test_a_python_script_asks(case):
    """The document's example, of a module that leaves two buffers of three."""
    need_modules(case, "pyopencl")
    write_examples(case, section(case, "live-objects.md", "From Python"))
    case.path("work.py").write_text(WORK)
    script = case.path("ask.py").read_text()
    case.path("ask.py").write_text(script.replace("import gputrack\n", "import gputrack\nfrom work import work\n"))
    done = case.gputrack("run", "-q", "-o", "a.gt", PYTHON, "ask.py", env=python_env(case, **case.small_opencl()))
    line = WORK[:WORK.index("cl.Buffer")].count("\n") + 1
    resource = "<gputrack.Resource: buffer, 4.00 KiB, by clCreateBuffer>"
    assert done.out.splitlines() == [f"2 buffers, 8.00 KiB work.py:{line}", f"[{resource}, {resource}]", "12288"], \
        done.out + done.err
    assert re.search(r"# (.*) work.py:\d+$", script, re.M)[1] == "2 buffers, 8.00 KiB"


EVERY_API = """
import ctypes, sys
import gputrack, gputrack_pool

before = gputrack.snapshot()
word = ctypes.c_void_p
def made(function, *before):
    out = word()
    assert function(*before, ctypes.byref(out)) == 0, function
    return out

ze = ctypes.CDLL("libze_loader.so.1")
assert ze.zeInit(0) == 0
one = ctypes.c_uint32(1)
driver, device = word(), word()
assert ze.zeDriverGet(ctypes.byref(one), ctypes.byref(driver)) == 0
assert ze.zeDeviceGet(driver, ctypes.byref(one), ctypes.byref(device)) == 0
class Description(ctypes.Structure):
    _fields_ = [("stype", ctypes.c_int), ("next", word), ("flags", ctypes.c_uint32), ("ordinal", ctypes.c_uint32)]
context = made(ze.zeContextCreate, driver, ctypes.byref(Description(0xd)))
ze_memory = word()
assert ze.zeMemAllocDevice(context, ctypes.byref(Description(0x15)), ctypes.c_size_t(3000), ctypes.c_size_t(1), device,
                           ctypes.byref(ze_memory)) == 0

cu = ctypes.CDLL("libcuda.so.1")
assert cu.cuInit(0) == 0
cuda_context, memory = word(), word()
assert cu.cuCtxCreate_v2(ctypes.byref(cuda_context), 0, 0) == 0
assert cu.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 20)) == 0
gputrack_pool.block("arena", memory.value, 500)

for one in sorted(gputrack.diff(before), key=lambda one: (one.api, one.kind)):
    print(one.api, one.kind, one.bytes, sep="|")
print([leak.excused for leak in gputrack.leaks(before, excused=True) if leak.excused])
print(gputrack.peak(before))
gputrack_pool.end("arena", memory.value)
assert cu.cuCtxDestroy_v2(cuda_context) == 0
assert ze.zeMemFree(context, ze_memory) == 0
assert ze.zeContextDestroy(context) == 0
print(gputrack.diff(before), gputrack.leaks(before), gputrack.snapshot())
"""


def test_every_api_and_pools(case):
    case.path("all.py").write_text(EVERY_API)
    env = python_env(case, **case.cuda_preloaded(**case.levelzero()))
    done = case.gputrack("run", "-q", "-o", "all.gt", "--cuda-door", "direct", PYTHON, "all.py", env=env)
    assert done.status == 0, done.out + done.err
    assert done.out.splitlines() == [
        "CUDA|context|0", f"CUDA|device memory|{1 << 20}", "Level Zero|context|0", "Level Zero|device memory|3000",
        "Pool|pool block|500", "['memory that a pool holds']", "500",
        "[] [] <gputrack.Snapshot: 0 resources, 0 bytes of device memory>"], done.out


NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "gputrack")
shell.run_cell("import pyopencl as cl")
shell.run_cell("context = cl.create_some_context(interactive=False)")
shell.run_cell(CELL)
shell.run_cell("%%gputrack\\ncl.Buffer(context, cl.mem_flags.READ_WRITE, 4096); value = 7")
print(shell.user_ns["value"])
"""

STAND_IN = """
import gputrack

class Shell:
    def register_magic_function(self, function, kind, name):
        self.magic = kind, name
        self.function = function
    def run_cell(self, cell):
        print("ran", cell)

shell = Shell()
gputrack.load_ipython_extension(shell)
print(*shell.magic)
shell.function("", "1 + 1")
"""


def test_the_cells_of_a_notebook(case):
    need_modules(case, "IPython", "pyopencl")
    text = section(case, "ci.md", "Notebooks")
    cell = next(block for block in blocks(text) if block.startswith("%%gputrack"))
    case.path("cells.py").write_text(NOTEBOOK.replace("CELL", repr(cell)))
    env = python_env(case, **case.small_opencl(IPYTHONDIR=str(case.path("ipython"))))
    done = case.gputrack("run", "-q", "-o", "a.gt", PYTHON, "cells.py", env=env)
    said = [line for line in done.out.splitlines() if not line.startswith("Out")]
    expected = next(block for block in blocks(text) if block.startswith("gputrack: peak")).strip().rstrip("…")
    assert done.status == 0 and said[0].startswith(expected), done.out + done.err
    assert said[1:] == ["gputrack: peak 4.00 KiB, nothing left alive", "7"], done.out


def test_a_cell_that_is_not_recorded_says_so_and_runs(case):
    line = next(block for block in blocks(section(case, "ci.md", "Notebooks"))
                if block.startswith("gputrack does not record")).strip()
    case.path("cells.py").write_text(STAND_IN)
    bare = case.run(PYTHON, "cells.py", env=python_env(case))
    assert bare.out.splitlines() == ["cell gputrack", line, "ran 1 + 1"], bare.out + bare.err
