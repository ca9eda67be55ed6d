# SPDX-License-Identifier: MIT
"""test_arm64.py - what was built for arm64, run by qemu: a few tests, and recordings that cross over.

Skipped where nothing was built for it: `./dev build --arch arm64` does that, which takes minutes. The other tests run
by `./dev test --arch arm64`.
"""
import ctypes.util
import json
import pathlib
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile

from test_attach import need_root

FREE = True  # no probe reaches into qemu


class Arm64:
    """The build for arm64, and the Debian that it runs in."""

    def __init__(self, case):
        if platform.machine() == "aarch64":
            case.skip("this machine is one")
        self.case, self.cross = case, case.source / "packaging/cross"
        made = case.run("sh", self.cross / "root.sh", "--if-made", "arm64")
        if made.status == 77:
            case.skip(made.err.strip())
        assert made.status == 0, made.err
        self.root = made.out.strip()
        self.build = case.build.parent / f"{case.build.name}-arm64"
        if not (self.build / "build.ninja").exists():
            case.skip("nothing is built for arm64; `./dev build --arch arm64` does")
        plan = case.run("ninja", "-n", "-C", self.build)
        if "no work to do" not in plan.out:
            case.skip("the build for arm64 is older than the sources; `./dev build --arch arm64` makes it anew")

    def run(self, script):
        done = self.case.run("sh", self.cross / "inside.sh", self.root, "sh", "-c",
                             f"cd {shlex.quote(str(self.case.folder))}\n{script}")
        if done.status == 77:
            self.case.skip(done.err.strip())
        return done


def test_tests_of_what_differs_pass(case):
    arm64 = Arm64(case)
    names = ["own_stack", "own_stack_signed", "unwind_walk", "unwind_walk_signed", "unwind_make", "probe_rows", "ranges", "heap", "bytes"]
    programs = [arm64.build / f"tests/unit/test_{name}" for name in names]
    done = arm64.run("\n".join(f"if test -x {program}; then {program} || exit 1; fi" for program in programs))
    assert done.status == 0, (done.out + done.err)[-4000:]
    assert done.out.count("Running") + done.err.count("Running") >= 5, done.out


ANALYSES = ("summary", "leakage", "watermark", "memory", "usage", "sites", "range", "growth", "idle", "unified", "touches", "processes")


def reports(recording, folder):
    """A script that prints the recording in every way, with names from the files below that folder."""
    views = [f"report {recording} -a {analysis} --format {form}" for analysis in ANALYSES for form in ("text", "json")]
    views += [f"export {recording} --format {form}" for form in ("tsv", "json", "collapsed", "chrome", "prometheus")]
    return "\n".join(f"gputrack {view} --symbols {folder} 2>&1; echo {view}: $?" for view in views)


def test_recordings_cross_over(case):
    """Made on one processor, read on the other, which does not have the program: the same bytes, with files and lines."""
    arm64 = Arm64(case)
    own = pathlib.Path(tempfile.mkdtemp(prefix="gputrack-", dir="/var/tmp"))  # /tmp is that of both
    others = pathlib.Path(f"{arm64.root}{own}")
    symbols = case.path("symbols")
    try:
        for folder, build in ((own, case.build), (symbols / str(own)[1:], case.build), (others, arm64.build)):
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(build / "tests/e2e/programs/forks", folder)
        here = case.gputrack("run", "-q", "-o", "here.gt", own / "forks", "--late", "--exec", env=case.small_opencl())
        assert here.status == 0, here.err
        there = arm64.run(f"PATH={arm64.build}:$PATH\nexport OCL_ICD_VENDORS={arm64.build}/tests/fake/opencl/cl_fake.icd\n"
                          f"gputrack run -q -o there.gt {own}/forks --late --exec >&2 || exit 1\n"
                          + reports("there.gt", "/") + "\n" + reports("here.gt", symbols))
        shutil.rmtree(own)
        own.mkdir()
        again = case.run("sh", "-c", reports("there.gt", arm64.root) + "\n" + reports("here.gt", symbols))
    finally:
        shutil.rmtree(own)
        shutil.rmtree(others, ignore_errors=True)
    assert (there.status, again.status) == (0, 0), (there.err, again.err)
    assert again.out.count("forks.c") > 20, again.out[:2000]
    assert again.out == there.out, difference(case, again.out, there.out)


def difference(case, one, other):
    case.path("one").write_text(one)
    case.path("other").write_text(other)
    return case.run("diff", "-u", "one", "other").out[:4000]


def functions_of(case, *files):
    """The instructions of each function, by its name."""
    if not shutil.which("aarch64-linux-gnu-objdump"):
        case.skip("binutils for arm64 are not installed")
    text = subprocess.run(["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", *map(str, files)],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {}
    for part in text.split("\n\n"):
        head, *lines = part.strip().splitlines() or [""]
        if head.endswith(">:"):
            found[head[head.index("<") + 1:-2]] = [line.split("\t", 1)[1].split()[0] for line in lines if "\t" in line]
    return found


def test_entries_can_be_jumped_to_and_read_their_slots_in_order(case):
    """Of the preloaded library: a landing pad (BTI), and a load that acquires."""
    arm64 = Arm64(case)
    functions = functions_of(case, arm64.build / "libgputrack_preload.so")
    entries = [code for name, code in functions.items() if name.startswith("cuMemAlloc_v2@") or name.startswith("gt_entry_")]
    assert entries, list(functions)[:100]
    for code in entries:
        assert code[0] in ("bti", "hint") and "ldar" in code[:4], code


# What one thread or process publishes for another: loads that acquire and stores that release, at least, in these
# functions. On x86-64 all loads and stores do, and under qemu on it.
IN_ORDER = """
gt_stacks_find 3 0          a table of stacks, a key in it, a number
gt_stacks_add 0 1
gt_writer_function 1 0      the number of a function
gt_block_open 3 2           a block, and the end of all
gt_lane_acquire 0 1         lanes of a trace
gt_lane_release 0 1
gt_lane_event 1 1           the bytes of a lane that are whole
gt_lane_sample 0 1
gt_lane_touch 0 1
gt_lane_enter 0 2           a call in flight
gt_lane_announce 1 2
gt_lane_leave 0 1
gt_lane_publish_call 0 3
gt_window_open 1 4          a mapped part of a trace
gt_writer_end_at 1 2        the state of a trace
gt_recorder_enter 1 0       the writer of this process
gt_recorder_event 1 0
gt_recorder_lose 1 0
gt_recorder_touch 1 0
gt_guest_begin 1 0          whether a child has a recorder of its own
gt_guest_end 1 0
gt_guest_touch 1 0
gt_settings_get 1 0         settings
gt_modules_define 3 2       mapped libraries
gt_ranges_phase 1 0         ranges of NVTX
phase_of 1 0
gt_range_start 0 1
gt_range_end 1 0
gt_range_text_get 1 0
gt_creation_stack_put 2 1   stacks of live resources
gt_preload_first 1 0        functions of the driver
gt_preload_fill 0 1
gt_report_door 1 0          the pool door
gt_report_next 1 1          functions of an allocator
"""


def test_what_is_published_is_stored_and_read_in_order(case):
    arm64 = Arm64(case)
    functions = functions_of(case, arm64.build / "src/librecorder.a", arm64.build / "src/libcore.a", arm64.build / "libgputrack_preload.so")
    for row in IN_ORDER.strip().splitlines():
        name, loads, stores = row.split()[:3]
        code = functions[name]
        seen = [sum(instruction.startswith(order) for instruction in code) for order in ("lda", "stl")]
        assert seen[0] >= int(loads) and seen[1] >= int(stores), (row, seen)


def test_the_kernel_accepts_the_programs_that_unwind(case):
    """Those for arm64, by the verifier of this machine's kernel, whose structure of registers is smaller."""
    need_root(case)
    library = ctypes.util.find_library("bpf")
    if not shutil.which("clang") or not library:
        case.skip("clang or libbpf is not installed")
    compiled = case.run("clang", "-target", "bpf", "-g", "-O2", "-Werror", "-D__TARGET_ARCH_arm64", "-DREGISTERS=18",
                        f"-I/usr/include/{platform.machine()}-linux-gnu", "-I", case.source / "src",
                        "-c", case.source / "src/capture/ebpf/calls.bpf.c", "-o", "calls.o")
    assert compiled.status == 0, compiled.err
    settings = {"everyone": 1, "frames_max": 128, "stack_bytes": 8192, "unwinds_by_tables": 1, "ring_wake": 1 << 20,
                "code_bits": (1 << 48) - 1}
    symbols = case.run("readelf", "-sW", "calls.o").out.splitlines()
    places = {words[7]: (int(words[1], 16), int(words[2])) for words in map(str.split, symbols) if len(words) == 8 and words[3] == "OBJECT"}
    script = case.path("load.py")
    script.write_text(LOAD)
    loaded = case.run(sys.executable, script, library, "calls.o", json.dumps([(*places[name], value) for name, value in settings.items()]))
    assert loaded.status == 0, loaded.err[-4000:]
    assert "call_entered" in loaded.out and "call_left" in loaded.out, loaded.out


LOAD = """
import ctypes, json, sys
bpf = ctypes.CDLL(sys.argv[1])
pointers = ("bpf_object__open_file", "bpf_object__next_map", "bpf_object__next_program", "bpf_map__initial_value")
for name in pointers:
    getattr(bpf, name).restype = ctypes.c_void_p
for name in ("bpf_map__name", "bpf_program__name"):
    getattr(bpf, name).restype = ctypes.c_char_p
object = ctypes.c_void_p(bpf.bpf_object__open_file(sys.argv[2].encode(), None))
each = lambda next: iter(lambda last=[None]: last.__setitem__(0, next(object, ctypes.c_void_p(last[0]))) or last[0], None)
for one in each(bpf.bpf_object__next_map):
    if bpf.bpf_map__name(ctypes.c_void_p(one)).endswith(b".rodata"):
        start = bpf.bpf_map__initial_value(ctypes.c_void_p(one), ctypes.byref(ctypes.c_size_t()))
        for offset, size, value in json.loads(sys.argv[3]):
            ctypes.memmove(start + offset, value.to_bytes(size, "little"), size)
for one in each(bpf.bpf_object__next_program):
    name = bpf.bpf_program__name(ctypes.c_void_p(one)).decode()
    bpf.bpf_program__set_autoload(ctypes.c_void_p(one), name != "call_session")
    print(name)
sys.exit(bpf.bpf_object__load(object) != 0)
"""
