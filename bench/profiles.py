#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""profiles.py BUILD_DIR [WHAT…] - where the time goes: a Markdown table, a row for each profile, by perf; needs root.

A sample is one line of text: "DSO function file-of-ours…", or "kernel ENTRY function" with the system call or the fault
that led there ("-" where none did). A part is a name and a regular expression; the first that matches has the sample.
Inlined functions count with their caller. Nanoseconds are of the processor. A program's threads that call a driver are
named "caller", and only they count. PROFILE_PART=NAME also prints the samples of a part, to refine the table.

No module may be named "profile": Python has one, which PyTorch needs.
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Callable, NamedTuple

PERIOD_NS = 200_000
SHOWN = 1  # % from which a part is named
IS_QUICK = bool(os.environ.get("BENCH_QUICK"))
SOURCE = pathlib.Path(__file__).resolve().parent.parent / "src"
EVENTS = 100_000 if IS_QUICK else 1_000_000
THREADS = 16 if len(os.sched_getaffinity(0)) >= 8 else 4


class Skipped(Exception):
    """Its text is the reason."""


class Measured(NamedTuple):
    samples: collections.Counter
    units: int = 0        # events or calls
    total_ns: float = 0   # of one; 0: as the samples have it


class Profile(NamedTuple):
    title: str
    unit: str
    measure: Callable     # (build, work) -> Measured
    parts: tuple


def source_files():
    """The files of ours that define a function of a name: static ones may share it."""
    found = collections.defaultdict(list)
    begins = re.compile(r"^[a-zA-Z_][\w *()]*?[ *](\w+)\(", re.MULTILINE)
    for path in sorted(SOURCE.rglob("*.[ch]")):
        for name in set(begins.findall(path.read_text(errors="replace"))):
            found[name].append(str(path.relative_to(SOURCE)))
    return found


def entry_of(frames):
    """By which a thread came into the kernel."""
    for name, _ in reversed(frames):
        found = re.match(r"(?:__x64_sys|__do_sys|ksys|vfs)_(\w+)|asm_exc_(\w+)|asm_(sysvec)", name)
        if found:
            return next(filter(None, found.groups()))
    return "-"


def samples_of(data, comm, files):
    lines = subprocess.run(["perf", "script", "-i", data, "--no-inline", "-F", "comm,ip,sym,dso"],
                           capture_output=True, text=True, check=True).stdout
    samples = collections.Counter()
    for block in lines.split("\n\n"):
        head, *chain = block.strip("\n").splitlines() or [""]
        if comm and head.strip() != comm:
            continue
        frames = [found.groups() for found in (re.match(r"\s*[0-9a-f]+ (.*) \((.*)\)$", line) for line in chain) if found]
        if not frames:
            continue
        function, dso = frames[0]
        if dso.startswith("[kernel") or dso.startswith("bpf_prog") or function.startswith("bpf_prog"):
            samples[f"kernel {entry_of(frames)} {function}"] += 1
            continue
        # the compiler and the linker add .isra.0, .part.0, .lto_priv.0
        ours = files.get(function.split(".")[0], ()) if re.search("gputrack|libze_validation", dso) else ()
        samples[" ".join([pathlib.Path(dso).name, function, *ours])] += 1
    return samples


def run(command, environment=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env={**os.environ, **{name: str(value) for name, value in (environment or {}).items()}})
    if done.returncode:
        raise Skipped(f"{pathlib.Path(command[0]).name} failed: {(done.stderr or done.stdout).strip()[:200]}")
    return done.stdout


def figures_of(printed, name):
    """Of a line "NAME<tab>FIGURE…"."""
    found = re.search(rf"^{name}((?:\t\d+)+)", printed, re.MULTILINE)
    if not found:
        raise Skipped(f"no figure of {name} was printed")
    return [int(figure) for figure in found[1].split()]


def record(work, command, environment=None, comm=None):
    """What the command printed, and its samples."""
    data = work / "perf.data"
    perf = ["perf", "record", "-q", "-e", "cpu-clock", "-c", PERIOD_NS, "-g", "-o", data, "--"]
    printed = run([*perf, *command], environment)
    return printed, samples_of(data, comm, source_files())


def need(*paths):
    for path in paths:
        if not path.exists():
            raise Skipped(f"{path.name} is not built")


def on_cores(count, *command):
    if len(os.sched_getaffinity(0)) < count:
        raise Skipped("there are too few cores")
    return ["taskset", "-c", ",".join(map(str, sorted(os.sched_getaffinity(0))[:count])), *command]


def on_events(shape, events, *words, output=None, cores=1):
    """A command on a recording. The words that follow it come from the caller."""
    def measure(build, work):
        need(build / "gputrack", build / "bench/make_events")
        if shutil.disk_usage(work).free < events * 5000:
            raise Skipped("the disk is too full")
        run([build / "bench/make_events", work / "events.gt", events, shape])
        to = ["-o", work / output] if output else []
        _, samples = record(work, on_cores(cores, build / "gputrack", *words, work / "events.gt", *to))
        return Measured(samples, events)
    return measure


def nsys(build, work):
    need(build / "bench/make_nsys")
    run([build / "bench/make_nsys", work / "export.sqlite", EVENTS, "ordered"])
    to_import = [build / "gputrack", "import", "-q", work / "export.sqlite", "-o", work / "import.gt"]
    _, samples = record(work, on_cores(1, *to_import))
    return Measured(samples, 2 * EVENTS - 10000)  # each memory row has a call


def on_calls(program, case, threads, rounds, environment):
    """A program of bench/calls.h; the environment's function also names what has to be built."""
    def measure(build, work):
        variables, needed = environment(build, work)
        need(build / "bench" / program, *needed)
        printed, samples = record(work, [build / "bench" / program, rounds // 4 if IS_QUICK else rounds],
                                  {"BENCH_CASE": case, "BENCH_THREADS": threads, **variables}, "caller")
        return Measured(samples, figures_of(printed, "timed calls")[0])
    return measure


def opencl_recorded(build, work):
    layer = build / "libgputrack_opencl.so"
    return {"OPENCL_LAYERS": layer, "GPUTRACK_RECORDING": work / "a.gt"}, [layer]


def levelzero(build):
    driver, layer = build / "tests/fake/levelzero/libze_fake.so", build / "levelzero/libze_validation_layer.so.1"
    return {"ZE_ENABLE_ALT_DRIVERS": driver, "LD_LIBRARY_PATH": layer.parent, "ZE_ENABLE_VALIDATION_LAYER": 1}, [driver, layer]


def levelzero_recorded(build, work):
    variables, needed = levelzero(build)
    return {**variables, "GPUTRACK_RECORDING": work / "a.gt"}, needed


def levelzero_tracked(build, work):
    variables, needed = levelzero(build)
    return {**variables, "ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER": 1,
            "ZEL_SYSTEM_RESOURCE_TRACKER_CSV": work / "tracker.csv"}, needed


def cuda_without_stacks(build, work):
    driver, preload = build / "tests/fake/cuda/libcuda.so.1", build / "libgputrack_preload.so"
    return {"LD_LIBRARY_PATH": driver.parent, "LD_PRELOAD": preload, "GPUTRACK_RECORDING": work / "a.gt",
            "GPUTRACK_STACKS": 0}, [driver, preload]


def torch(step):
    def measure(build, work):
        pythons = [python for python in ("python3", "/usr/bin/python3")
                   if subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode == 0]
        if not pythons:
            raise Skipped("Python has no PyTorch")
        need(build / "gputrack", build / "libgputrack_pool.so")
        repeat = [pythons[0], pathlib.Path(__file__).with_name("torch_steps.py"), "--repeat", step, 2 if IS_QUICK else 5]
        printed, samples = record(work, [build / "gputrack", "run", "-q", "--pools", "cpu", "-o", work / "a.gt", *repeat],
                                  comm="caller")
        events, = figures_of(run([build / "bench/replay", "--read-only", work / "a.gt"]), "events")
        done, all_steps = figures_of(printed, "steps")
        return Measured(samples, events * done // all_steps)
    return measure


def attached(build, work):
    """A copy of the stand-in driver, that no other tracer of the machine knows, bare and attached in turns."""
    driver, calls = build / "tests/fake/cuda/libcuda.so.1", build / "bench/attach_calls"
    need(driver, calls, build / "gputrack")
    library = shutil.copy(driver, work / "driver.so")

    def attach(name):
        return [build / "gputrack", "attach", "-q", "-i", "0", "-o", work / name, "--driver", f"{library}=cuda", "-c", calls,
                library]
    turns = [[int(run(command).split()[1]) for command in ([calls, library], attach(f"{turn}.gt"))]
             for turn in range(2 if IS_QUICK else 5)]
    bare, with_attach = map(min, zip(*turns))
    _, samples = record(work, attach("profiled.gt"), comm="attach_calls")
    # what the program itself does is no part of the difference; every way into the kernel is the probe's
    functions = collections.Counter()
    for text, count in samples.items():
        if re.match(r"kernel|\[uprobes\]", text):
            functions[re.sub(r"^kernel \S+ ", "", text)] += count
    return Measured(functions, total_ns=with_attach - bare)


DECODING = ("decoding events", r"decode_more")
READ = r" trace/|sift_down|gt_heap_|^kernel (pread64|read) "
NAMES = ("names of functions and places", r"libdw|libelf| symbol/| replay/(frame|place|known|own|rank|by|stack|head|group)| "
         r"base/function_name|gt_intern|__(str|mem)cmp|libiberty| judge/|^ld-linux")
TEXT = ("making text", r" export/| base/(json|sink|text|format|print|bytes|small_printf)| replay/|__mem(move|cpy|set)|_IO_|str")
FAULTS = ("the kernel: new memory, mostly clearing pages", r"^kernel page_fault|^kernel (munmap|exit_group|exit|brk|madvise)")
KERNEL = ("the kernel otherwise", r"^kernel")
REPORT = (
    DECODING,
    ("reading: blocks, merging threads, the loop over batches", READ + r"| replay/replay"),
    ("looking ahead", r"look_ahead"),
    ("handles that have ended", r"ended_handles"),
    ("growing the index", r" grow_index|index_slots|add_chunks|take_chunk|grow_chunks"),
    ("growth by site, peak, sums of what is alive at the end", r"site_floors|breakdown|growing| ledger/groups| add_entry|"
     r"gt_live_each|find_site| replay/background"),
    ("index and sums", r" ledger/"),
    NAMES, FAULTS, KERNEL,
)
WRITING = ("writing the file: the kernel", r"^kernel (write|pwrite64|writev|fallocate|ftruncate) ")
FILE = (WRITING, DECODING, ("reading", READ))
LIVES = (("the ledger", r" ledger/| replay/(lives|replay|memory)"), NAMES, TEXT, FAULTS, KERNEL)
PAGE = (
    *FILE,
    ("compression", r"libz"),
    ("the page: the matrix of lives", r" page/(life_matrix|lives_json)"),
    ("the page: leaks", r" page/unreleased"),
    ("the page: blocks, rows over time", r" page/| base/(json|sink)|slot_of|time_series|memory_series"),
    *LIVES,
)
PICTURE = (
    *FILE,
    ("points of the curves", r" plot/(alive|trail|averages|overlay|curves|scale)|time_series| extremes|add_bytes"),
    ("drawing, fonts, compression", r"libcairo|libfreetype|libfontconfig|libpixman|libpng|libz|libexpat|libX| plot/"),
    *LIVES,
)
OTHERS_PROBES = ("probes of another program on this machine", r"^kernel int3|uprobe|^\[uprobes\]|xol_|^kernel debug")
CLOCK = ("the clock", r"clock_gettime|gt_now")
WALK = ("walking the stack", r"backtrace_from_here| guest/(walk|own_stack|backward|python|frame_rules)|gt_unwind|has_python")
STACK = ("finding the stack among known ones", r"gt_stack_key| guest/stack_cache| trace/stacks")
RECORDER = (
    ("the recorder: start of the call", r"gt_(plain|guest|recorder)_(begin|announce|enter)"),
    ("the recorder: end of the call, writing the event", r"gt_(plain|guest|recorder)_| trace/| event/| guest/"),
    ("the recorder: wrappers, finding the driver", r"libgputrack|libze_validation"),
)
WHOLE_RECORDER = ("the recorder, the clock, walking and finding the stack",
                  "|".join(pattern for _, pattern in (CLOCK, WALK, STACK, *RECORDER)))
LOCKS = ("locks and waiting", r"pthread_(mutex|rwlock|cond|once)|lll_lock|^kernel futex|sched_yield")
CALLS = (OTHERS_PROBES, CLOCK, WALK, STACK, LOCKS)

PROFILES = {
    "report": Profile(f"`report` on one core, {10 * EVENTS:,} events, 10,000 alive at a time", "an event",
                      on_events("balanced", 10 * EVENTS, "report"), REPORT),
    "alive": Profile(f"`report` on one core, {10 * EVENTS:,} events, all alive", "an event",
                     on_events("alive", 10 * EVENTS, "report"), REPORT),
    "both": Profile(f"`report` on two cores, {10 * EVENTS:,} events, 10,000 alive at a time", "an event, both threads together",
                    on_events("balanced", 10 * EVENTS, "report", cores=2), REPORT),
    **{form: Profile(f"`export -f {form}`, {EVENTS:,} events", "an event",
                     on_events("balanced", EVENTS, "export", "-f", form, output=f"out.{form}"), (*FILE, *LIVES))
       for form in ("tsv", "json", "chrome", "torch-snapshot")},
    "html": Profile(f"`html`, {EVENTS:,} events", "an event", on_events("balanced", EVENTS, "html", output="out.html"), PAGE),
    "page": Profile(f"`html`, {10 * EVENTS:,} events, all alive", "an event",
                    on_events("alive", 10 * EVENTS, "html", output="out.html"), PAGE),
    "plot": Profile(f"`plot`, {EVENTS:,} events", "an event", on_events("balanced", EVENTS, "plot", output="out.png"), PICTURE),
    "nsys": Profile(f"`import` of an Nsight export, {2 * EVENTS:,} rows", "a row", nsys, (
        ("SQLite", r"^libsqlite3"),
        ("ours: reading rows, call chains", r" capture/nsys"),
        ("ours: writing events", r" trace/"),
        ("the kernel", r"^kernel"),
        ("ours and the C library otherwise", r"^gputrack|^libc\."))),
    "tracker": Profile(f"Level Zero tracker with CSV, {THREADS} threads", "a call",
                       on_calls("levelzero_calls", "9 calls, one after another", THREADS, 50, levelzero_tracked), (
        OTHERS_PROBES,
        ("reading the process's size", r"^kernel (pread64|read|openat|close|getrusage) | tracker/meter|pread"),
        ("writing rows", r"^kernel (write|pwrite64|getrlimit|rt_sig\w+|lseek|(new)?fstat\w*) | write_(batch|all)|"
         r"append_file|libc_write|without_signals|getrlimit"),
        CLOCK, WALK, STACK, LOCKS,
        ("making and counting rows, checking for leaks", r"libgputrack|libze_validation|^libc"),
        ("driver and loader", r"libze_|levelzero_calls"),
        FAULTS,
        ("the kernel: entering and leaving, switching threads", r"^kernel"))),
    "opencl": Profile(f"OpenCL call with its stack, {THREADS} threads", "a call",
                      on_calls("opencl_calls", "create + release, 4 KiB buffer", THREADS, 30, opencl_recorded),
                      (*CALLS, *RECORDER,
                       ("driver and loader, their memory", r"pocl|libOpenCL|opencl_calls|^libc"), FAULTS, KERNEL)),
    "levelzero": Profile(f"Level Zero call with its stack, {THREADS} threads", "a call",
                         on_calls("levelzero_calls", "9 calls, one after another", THREADS, 30, levelzero_recorded),
                         (*CALLS, *RECORDER,
                          ("stand-in driver: its list of free objects", r"libze_fake\S* (pop|push)"),
                          ("driver and loader otherwise", r"libze_|levelzero_calls|^libc"), FAULTS, KERNEL)),
    "cuda": Profile("CUDA call without its stack", "a call",
                    on_calls("cuda_calls", "create + destroy, event", 1, 80, cuda_without_stacks),
                    (OTHERS_PROBES, CLOCK, *RECORDER,
                     ("stand-in driver, its locks, memory and settings", r"libcuda|cuda_calls|^libc|tls_get_addr"), FAULTS,
                     KERNEL)),
    **{name: Profile(f"PyTorch on the CPU: {step}", "a block made or freed", torch(step), (
        *recorder,
        ("PyTorch", r"libtorch|libc10|libgomp|blas|lapack|mkl|dnnl|sleef|protobuf"),
        ("Python", r"python|_PyEval|_ctypes"),
        ("the C library", r"^lib(c|m|stdc\+\+|pthread|gcc)[_.+-]|^ld-linux"), FAULTS, KERNEL))
       for name, step, recorder in (("torch-training", "training", [WHOLE_RECORDER]),
                                    ("torch-blocks", "1,000 tensors made and freed", [CLOCK, WALK, STACK, *RECORDER]))},
    "attach": Profile("an attached call, 4 frames, by unwind tables: over bare; goal ≤ 1600", "a call", attached, (
        ("our BPF programs: arguments, unwinding", r"^bpf_prog_"),
        ("reading memory of the process: arguments, results, its stack",
         r"nofault|probe_read|check_object_size|check_heap_object|virt_addr_valid|vmalloc|check_stack_object|usercopy"),
        ("the kernel's probe pair: traps, finding the probe, the changed return address",
         r"uprobe|uretprobe|handler_chain|emulate|should_optimize|irqentry|exc_int3|asm_exc|entry_|syscall|mtree|"
         r"copy_(from|to)_user|ret_instance|notify_resume|exit_to_user|switch_fpu|rcu_read|srcu|do_int3|notifier|insn|"
         r"die|fixup|error_|sync_regs|access_remote|search_|rep_|clear_|thunk|arch_|ri_|free_|alloc|find_"),
        ("maps, task storage, the ring and the clock", r"map|storage|ringbuf|tsc|ktime|hash|lookup|bpf|memcpy|memset|"
         r"raw_spin|preempt|migrate|clock"))),
}


def row_of(profile, measured):
    """What one takes, and the shares of its parts, the largest first."""
    counts = collections.Counter()
    for text, count in measured.samples.most_common():
        part = next((name for name, pattern in profile.parts if re.search(pattern, text)), "other")
        counts[part] += count
        if part == os.environ.get("PROFILE_PART"):
            print(f"{count}\t{text}", file=sys.stderr)
    total = sum(counts.values())
    if not total:
        raise Skipped("there were no samples")
    all_ns = measured.total_ns or total * PERIOD_NS / measured.units
    shares = [(name, 100 * counts[name] / total) for name in [*dict.fromkeys(name for name, _ in profile.parts), "other"]]
    shares.sort(key=lambda share: (share[0] == "other", -share[1]))
    return f"{all_ns:,.0f} {profile.unit} | " + "; ".join(f"{name} {share:.0f} %" for name, share in shares if share >= SHOWN)


def main():
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= PROFILES.keys():
        sys.exit(f"usage: profiles.py BUILD_DIR [{'|'.join(PROFILES)}]…")
    build = pathlib.Path(sys.argv[1]).resolve()
    if not shutil.which("perf"):
        print("Skipped: perf is not installed.")
        return
    if os.geteuid():
        print("Skipped: only root can sample the kernel.")
        return
    skipped = []
    print("| name | what | ns | shares |\n|---|---|--:|---|")
    for name in sys.argv[2:] or PROFILES:
        with tempfile.TemporaryDirectory(prefix="gputrack-profile.") as work:
            try:
                row = row_of(PROFILES[name], PROFILES[name].measure(build, pathlib.Path(work)))
                print(f"| `{name}` | {PROFILES[name].title} | {row} |", flush=True)
            except (Skipped, OSError, subprocess.SubprocessError) as reason:
                skipped.append(f"Skipped: {PROFILES[name].title}: {reason}.")
    print("", f"Parts below {SHOWN} % are left out. Nanoseconds are of the processor, and include the driver's.", *skipped,
          sep="\n")


if __name__ == "__main__":
    main()
