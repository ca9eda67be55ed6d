# SPDX-License-Identifier: MIT
"""gputrack attach: the same events as through the doors, whatever the processes do."""
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import threading
import time

import harness

ALONE = True


def need_root(case):
    if os.environ.get("GPUTRACK_TEST_QEMU"):
        case.skip("qemu: bpf() and perf_event_open()")
    if os.geteuid() != 0:
        case.skip("only root may load BPF programs")
    if not pathlib.Path("/sys/kernel/btf/vmlinux").exists():
        case.skip("the kernel has no BTF")
    if "attach" not in case.gputrack("--help").out:
        case.skip("built without attach")


def read_line(stream, seconds=30):
    """A line from a pipe; the timeout is only for programs that hang."""
    ready, _, _ = select.select([stream], [], [], seconds)
    assert ready, "nothing came"
    return stream.readline().decode(errors="replace")


class Target:
    """A program on the stand-in CUDA driver that does what it is told."""

    def __init__(self, case, name="attach_target", library=None, before=()):
        self.library = library or case.program("libcuda.so.1")
        self.process = subprocess.Popen([*before, case.program(name), self.library], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0, cwd=case.folder)
        self.pid = self.process.pid
        assert read_line(self.process.stdout) == "ready\n"

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        return read_line(self.process.stdout).strip()

    def end(self):
        self.process.stdin.write(b"q\n")
        self.process.wait(30)


class Attached:
    """gputrack attach in the background, from the moment it follows until it is interrupted."""

    def __init__(self, case, *options, name="a.gt", env=None):
        self.name = name
        self.case = case
        self.process = case.start(case.build / "gputrack", "attach", "-i", "0", "-o", name, *options,
                                  env=env, bufsize=0)
        self.head = ""
        while "gputrack: tracking" not in self.head:
            line = read_line(self.process.stderr)
            assert line, self.head
            self.head += line

    def stop(self, number=signal.SIGINT):
        if number:
            self.process.send_signal(number)
        begun = time.monotonic()
        self.out, self.err = (text.decode(errors="replace")
                              for text in self.process.communicate(timeout=60))
        self.seconds = time.monotonic() - begun
        return self.process.returncode

    def events(self):
        return self.case.events(self.name)


def lives(events, handles=("handle", "owner")):
    """Events without what varies between runs: handles become the number of their creation."""
    known, out, count = {}, [], 0
    for e in events:
        if e["effect"] == "create" and e["outcome"] == "done":
            count += 1
            known[e["handle"]] = count
        out.append((e["function"], e["effect"], e["kind"], e["outcome"], e.get("result"),
                    e.get("bytes"), known.get(e.get("handle")), known.get(e.get("owner"))))
    return out


def wait_for_perf_probes_to_go():
    """The kernel removes them late; until then return probes truncate stacks."""
    def remain():
        for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
            try:
                if path.read_text() == "gputrack-detach\n":
                    return True
            except OSError:
                pass
        return False
    while remain():
        time.sleep(0.1)


def through_both(case, program, env, *options):
    assert case.gputrack("run", "-q", "-o", "door.gt", program, env=env).status == 0
    run = case.gputrack("attach", "-q", "-o", "kernel.gt", *options, "-c", program, env=env)
    assert run.status == 0, run.err
    return lives(case.events("door.gt")), lives(case.events("kernel.gt"))


@harness.alone
def test_a_release_that_may_throw_is_recorded_with_its_stack(case):
    """It is recorded when it begins, so that its return address stays what it is."""
    need_root(case)
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (6, 13):
        case.skip("the kernel has no session probes")
    wait_for_perf_probes_to_go()
    for unwind in ("auto", "fp", "dwarf"):
        counts = case.path("counts")
        counts.write_bytes(bytes(8200))
        done = case.gputrack("attach", "-q", "-o", f"{unwind}.gt", "--unwind", unwind, "-c",
                             case.program("odd_opencl"), "exception-through-callback",
                             env=case.small_opencl(ODD_COUNTS=str(counts)))
        assert done.status == 0 and done.out.count("caught in a callback") == 5, (done.status, done.err)
        thrown = [e["stack"][:2] for e in case.events(f"{unwind}.gt") if e["effect"] == "release"
                  and e["stack"] and e["stack"][0]["function"] == "door_call_back"]
        assert len(thrown) == 5, thrown
        assert all(stack[1]["function"] == "throw_through_callback" for stack in thrown), thrown


def test_opencl_events_match_those_of_the_door(case):
    need_root(case)
    door, kernel = through_both(case, case.program("objects"), case.pocl())
    assert len(door) > 200 and door == kernel, [p for p in zip(door, kernel) if p[0] != p[1]][:5]
    # platforms too, as the program has asked for their names
    door_places, places = ([e.get("place") for e in case.events(name)]
                           for name in ("door.gt", "kernel.gt"))
    assert places == door_places and "Portable Computing Language" in places, set(places)
    # error codes too, where the program asked for them
    assert [e[4] for e in kernel if e[0] == "clCreateBuffer" and e[3] == "failed"] == [-61, None]
    # and whole stacks, through the distribution's libraries, which have no frame pointers
    door, kernel = ([[(f["function"], f["offset"], f["module"]) for f in e["stack"]]
                     for e in case.events(name)] for name in ("door.gt", "kernel.gt"))
    assert door == kernel, [p for p in zip(door, kernel) if p[0] != p[1]][:3]


@harness.also_on("intel")
def test_levelzero_events_match_those_of_the_door(case):
    need_root(case)
    door, kernel = through_both(case, case.program("ze_app"), case.levelzero())
    # only the driver knows how much another process's memory is, and how it pads images
    unknown = ("zeMemOpenIpcHandle",) + (("zeImageCreate",) if case.driver == "intel" else ())
    def without(events):
        return [e[:5] + (None,) + e[6:] if e[0] in unknown else e for e in events]
    assert len(door) >= 40 and without(door) == without(kernel), \
        [p for p in zip(door, kernel) if p[0] != p[1]][:5]


def test_cuda_events_match_those_of_the_door(case):
    """Every function of the table: events, owners, devices and stacks."""
    need_root(case)
    folder = pathlib.Path(case.program("libcuda.so.1")).parent
    env = {"LD_LIBRARY_PATH": f"{folder}:{case.build / 'tests/fake/gpu_memory'}", "FAKE_NVML_GPUS": "1"}
    door, kernel = through_both(case, case.program("cuda_objects"), env)
    assert len(door) > 100 and door == kernel, [p for p in zip(door, kernel) if p[0] != p[1]][:5]
    door, kernel = ([(e.get("place"), [(f["function"], f["line"]) for f in e["stack"]]) for e in case.events(name)]
                    for name in ("door.gt", "kernel.gt"))
    assert door == kernel, [p for p in zip(door, kernel) if p[0] != p[1]][:3]


def test_every_cuda_function_in_the_table_is_seen(case):
    """The program prints its calls with their handles and sizes."""
    need_root(case)
    run = case.gputrack("attach", "-q", "--api", "cuda", "-o", "a.gt", "-c",
                        case.program("cuda_objects"), env=case.cuda())
    assert run.status == 0, run.err
    told = [line.split() for line in run.out.splitlines()]
    events = case.events("a.gt")
    for words, event in zip(told, events):
        assert event["function"] == words[0], (words, event)
        assert event["handle"] == words[1], (words, event)
        if len(words) == 3:
            assert event["bytes"] == int(words[2]), (words, event)
    assert len(events) == len(told) > 100
    assert case.report("a.gt", "leakage")["totals"] == {"count": 0, "bytes": 0}


def test_every_probe_type_sees_the_same_events(case):
    need_root(case)
    seen = {}
    for way in ("session", "multi", "perf"):
        run = case.gputrack("attach", "-q", "--probes", way, "--api", "levelzero", "-o", way + ".gt",
                            "-c", case.program("ze_app"), env=case.levelzero())
        if run.status and "cannot load" in run.err and way != "perf":
            continue  # an older kernel
        assert run.status == 0, run.err
        seen[way] = lives(case.events(way + ".gt"))
    wait_for_perf_probes_to_go()
    assert len(seen["perf"]) >= 50
    assert all(events == seen["perf"] for events in seen.values())


def test_stacks_match_those_of_the_door(case):
    """Unwind tables find all frames, as the door does, in the kernel or from stack copies."""
    need_root(case)
    env = case.levelzero()
    case.gputrack("run", "-q", "-o", "door.gt", case.program("ze_app"), env=env)

    def stacks(name):
        return [[(f["function"], f["line"]) for f in e["stack"]] for e in case.events(name)]
    for how in ("auto", "dwarf"):
        run = case.gputrack("attach", "-q", "--unwind", how, "-o", f"{how}.gt", "-c",
                            case.program("ze_app"), env=env)
        assert run.status == 0, run.err
        assert stacks("door.gt") == stacks(f"{how}.gt"), how


def test_a_program_that_ended_before_the_tracer_looked_has_its_stacks(case):
    """The tracer is held while a program makes all its calls and ends, as on a busy machine."""
    need_root(case)
    env = case.levelzero()
    case.gputrack("run", "-q", "-o", "door.gt", case.program("ze_app"), env=env)
    shell = case.start("sh", "-c", 'read x; "$0"; true', case.program("ze_app"), env=env)
    attached = Attached(case, "--unwind", "dwarf", "--api", "levelzero", "-p", shell.pid)
    attached.process.send_signal(signal.SIGSTOP)
    shell.communicate(b"go\n", timeout=60)
    attached.process.send_signal(signal.SIGCONT)
    attached.process.communicate(timeout=60)

    def stacks(name):
        return [[(f["function"], f["line"]) for f in e["stack"]] for e in case.events(name)]
    assert stacks("door.gt") == stacks("a.gt")


def functions_of(event):
    return [frame["function"] for frame in event["stack"]]


def test_unwinding_with_and_without_frame_pointers(case):
    need_root(case)
    whole = ["allocate_here", "middle", "outer"]
    for name, how, expected in (("attach_target", "fp", whole), ("attach_bare", "dwarf", whole),
                                ("attach_bare", "auto", whole), ("attach_bare", "fp", whole[:1])):
        target = Target(case, name)
        attached = Attached(case, "-p", target.pid, "--unwind", how, name=f"{name}-{how}.gt")
        target.tell("a 4096")
        attached.stop()
        target.end()
        (event,) = attached.events()
        assert functions_of(event)[:len(expected)] == expected, (name, how, functions_of(event))
        if expected is whole:
            assert functions_of(event)[-1] == "main", functions_of(event)


CTYPES = """
import ctypes
cl = ctypes.CDLL("libOpenCL.so.1")
platform, device = ctypes.c_void_p(), ctypes.c_void_p()
cl.clGetPlatformIDs(1, ctypes.byref(platform), None)
cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xffffffff), 1, ctypes.byref(device), None)
print("ready", flush=True)
input()
cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None)
print("done", flush=True)
input()
"""


def test_stack_words_that_are_not_code_are_not_frames(case):
    """ctypes calls through libffi, whose frame pointer points into the stack."""
    need_root(case)
    for how, is_cut in (("fp", True), ("auto", False), ("dwarf", False)):
        # it stays until the stacks were looked at: of a process that is gone nobody knows what is code
        program = case.start(sys.executable, "-c", CTYPES, env=case.pocl(), bufsize=0)
        assert read_line(program.stdout) == "ready\n"
        run = Attached(case, "--no-python", "--unwind", how, "-p", program.pid)
        program.stdin.write(b"\n")
        assert read_line(program.stdout) == "done\n"
        assert run.stop() == 0, run.err
        program.communicate(b"\n", timeout=60)
        (event,) = run.events()
        stack = event["stack"]
        assert stack and all(frame["module"] for frame in stack), stack
        hint = "attach --unwind dwarf` unwinds further"
        for text in (run.out + run.err, case.gputrack("report", "a.gt", "-a", "leakage").out):
            assert " ".join(text.split()).count(hint) == is_cut, (how, text)
        told = json.loads(case.gputrack("report", "a.gt", "--format", "json").out)["recording"]
        assert told["cut_stacks"] == (1 if is_cut else None), told
        assert is_cut or len(stack) > 2, stack


def test_attaching_in_mid_run(case):
    """Frees of memory allocated before attaching are counted separately; later leaks are found."""
    need_root(case)
    target = Target(case)
    before = [target.tell("a 1000") for _ in range(3)]
    attached = Attached(case, "-p", target.pid)
    kept = target.tell("a 2000")
    gone = target.tell("a 3000")
    target.tell("f " + gone)
    for handle in before:
        assert target.tell("f " + handle) == "0"
    assert attached.stop() == 0, attached.err
    assert target.process.poll() is None, "the target goes on"
    assert target.tell("a 1") != "0", "and works"
    target.end()
    assert "3 releases of resources created before tracking began" in attached.out, attached.out
    assert "ALIVE" in attached.out and "LEAKED" not in attached.out, attached.out
    leaks = case.report("a.gt", "leakage")
    assert leaks["totals"] == {"count": 1, "bytes": 2000} and leaks["lost"] == 0
    assert leaks["groups"][0]["objects"][0]["handle"] == kept
    assert [e["function"] for e in attached.events()] == [
        "cuMemAlloc_v2"] * 2 + ["cuMemFree_v2"] * 4


def test_ended_processes_leak_while_others_still_run(case):
    need_root(case)
    ending, lasting = Target(case), Target(case)
    attached = Attached(case, "-p", ending.pid, "-p", lasting.pid)
    for target in ending, lasting:
        target.tell("a 2000")
    ending.end()
    assert attached.stop() == 0, attached.err
    lasting.end()
    for words in "LEAKED  1 resource", "ALIVE  1 resource", "kept running after gputrack detached: may be in use":
        assert words in attached.out, attached.out
    for target, word, state in (ending, "LEAKED", "ended"), (lasting, "ALIVE", "went_on"):
        assert re.search(f"^{word}  1 resource",
                         case.gputrack("report", "a.gt", "--pid", target.pid).out, re.M), word
        processes = case.report("a.gt", "leakage")["recording"]["processes"]
        assert [p["state"] for p in processes if p["pid"] == target.pid] == [state], processes


def test_a_context_created_before_attaching_keeps_its_memory_when_another_ends(case):
    """Memory ends with the context that its thread had made current."""
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", target.pid)
    target.tell("c 1000")
    kept = target.tell("a 2000")
    assert target.tell("d") == "0"
    assert attached.stop() == 0, attached.err
    target.end()
    leaks = case.report("a.gt", "leakage")
    alive = {o["handle"] for group in leaks["groups"] for o in group["objects"]}
    assert alive == {kept}, leaks


def test_memory_ends_with_the_only_context(case):
    """Seen from its start, a context is known to be the only one."""
    need_root(case)
    folder = pathlib.Path(case.program("libcuda.so.1")).parent
    case.path("orders").write_text("a 1000\nq\n")
    run = case.gputrack("attach", "-q", "-o", "a.gt", "-c", "sh", "-c",
                        f"{case.program('attach_target')} {folder}/libcuda.so.1 <orders",
                        env={"LD_LIBRARY_PATH": str(folder)})
    assert run.status == 0, run.err
    context, memory = case.events("a.gt")
    assert memory["owner"] == context["handle"], memory


def test_one_call_unmaps_everything_in_its_range(case):
    need_root(case)
    run = case.gputrack("attach", "-o", "a.gt", "-c", case.program("cuda_lives"), "stripes", env=case.cuda())
    assert run.status == 0 and "No leaks: all" in run.err, run.err


def test_detaching_is_quick(case):
    """Nothing waits for the seconds the kernel needs to remove perf probes."""
    need_root(case)
    for way in ("auto", "perf"):
        target = Target(case)
        attached = Attached(case, "-p", target.pid, "--probes", way, "--api", "levelzero",
                            name=way + ".gt")
        assert attached.stop() == 24, "it has loaded no Level Zero"
        assert attached.seconds < 5, "something waits for the kernel"
        target.end()
    wait_for_perf_probes_to_go()


def test_only_the_requested_apis_are_recorded(case):
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", target.pid, "--api", "opencl")
    target.tell("a 10")
    assert attached.stop() == 24 and "nothing was tracked" in attached.err, attached.err
    target.end()
    assert not list(case.path("a.gt").glob("*.trace"))
    assert case.gputrack("attach", "--all", "--api", "metal").status == 2


def test_frees_on_other_threads_and_failures(case):
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", target.pid)
    target.tell("t " + target.tell("a 4096"))
    assert target.tell("x") != "0"
    assert target.tell("f 0xdead") != "0"
    attached.stop()
    target.end()
    events = attached.events()
    assert [(e["function"], e["outcome"]) for e in events] == [
        ("cuMemAlloc_v2", "done"), ("cuMemFree_v2", "done"), ("cuMemAlloc_v2", "failed"),
        ("cuMemFree_v2", "failed")]
    assert events[0]["tid"] != events[1]["tid"]
    assert case.report("a.gt", "leakage")["totals"]["count"] == 0
    assert "FAILED CALLS" in attached.out


def test_a_process_that_is_killed_with_live_memory(case):
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", target.pid)
    target.tell("a 5000")
    target.process.kill()
    target.process.wait()
    assert attached.stop(None) == 0, "it ends with its process"
    assert case.report("a.gt", "leakage")["totals"] == {"count": 1, "bytes": 5000}
    process, = case.report("a.gt", "summary")["recording"]["processes"]
    assert process["state"] == "ended"


def test_children_are_followed(case):
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", target.pid)
    target.tell("a 100")
    child = int(target.tell("k 200"))
    grandchild = int(target.tell("k 300"))
    attached.stop()
    target.end()
    sizes = {(e["pid"], e["bytes"]) for e in attached.events()}
    assert sizes == {(target.pid, 100), (child, 200), (grandchild, 300)}
    names = sorted(p.name for p in case.path("a.gt").glob("*.trace"))
    assert names == sorted(f"{pid}.trace" for pid in (target.pid, child, grandchild))
    stacks = {tuple(functions_of(e)[:3]) for e in attached.events()}
    assert stacks == {("allocate_here", "middle", "outer")}, "a child that is gone has names too"


def test_exec_starts_another_trace(case):
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", target.pid)
    target.tell("a 100")
    assert target.tell("e") == "ready"
    target.tell("a 200")
    attached.stop()
    target.end()
    assert sorted(p.name for p in case.path("a.gt").glob("*.trace")) == sorted(
        [f"{target.pid}.trace", f"{target.pid}-2.trace"])
    events = [e for e in attached.events() if e["function"] == "cuMemAlloc_v2"]
    assert [e["bytes"] for e in events] == [100, 200]
    # the stand-in gives the same handle again: two lives, not one replaced
    assert case.report("a.gt", "leakage")["totals"]["bytes"] == 300


def test_a_reused_pid_is_another_process(case):
    """In a PID namespace, where the next pid can be chosen."""
    need_root(case)
    folder = pathlib.Path(case.program("libcuda.so.1")).parent
    alone = ("unshare", "--pid", "--fork", "--mount-proc")
    probe = case.run(*alone, "sh", "-c", "echo 499 >/proc/sys/kernel/ns_last_pid; sh -c 'echo $$'")
    if probe.out.strip() != "500":
        case.skip("process numbers cannot be chosen here")
    for size in (100, 200):
        case.path(f"orders.{size}").write_text(f"a {size}\nq\n")
    # another process or thread may take the number: then try again; the program has not started yet
    target = f"exec {case.program('attach_target')} {folder}/libcuda.so.1"
    case.path("target.sh").write_text(f"[ $$ = 500 ] || exit 9\n{target}\n")
    case.path("reuse.sh").write_text(
        "for size in 100 200; do for try in 1 2 3 4 5 6 7 8 9 10; do echo 499 >/proc/sys/kernel/ns_last_pid; "
        "sh target.sh <orders.$size; [ $? = 9 ] || break; done; done")
    run = case.run(*alone, case.build / "gputrack", "attach", "-q", "-o", "a.gt", "-c", "sh",
                   "reuse.sh", env={"LD_LIBRARY_PATH": str(folder)})
    assert run.status == 0, run.err
    events = [e for e in case.events("a.gt") if e["function"] == "cuMemAlloc_v2"]
    assert [(e["pid"], e["bytes"]) for e in events] == [(500, 100), (500, 200)]
    assert sorted(p.name for p in case.path("a.gt").glob("*.trace")) == ["500-2.trace", "500.trace"]
    assert case.report("a.gt", "leakage")["totals"]["bytes"] == 300


def test_two_tracers_at_once(case):
    need_root(case)
    target = Target(case)
    first = Attached(case, "-p", target.pid, name="one.gt")
    second = Attached(case, "-p", target.pid, name="two.gt")
    target.tell("b 50")
    first.stop()
    target.tell("a 1")
    second.stop()
    target.end()
    assert len(first.events()) == 100 and len(second.events()) == 101
    assert lives(first.events()) == lives(second.events())[:100]


def test_two_tracers_do_not_share_a_recording(case):
    need_root(case)
    target = Target(case)
    first = Attached(case, "-p", target.pid)
    one_line(case.gputrack("attach", "-d", "1", "-o", "a.gt", "-p", target.pid), "a.gt", "-o")
    target.tell("b 50")
    assert first.stop() == 0 and len(first.events()) == 100
    target.end()


def test_closing_the_terminal_leaves_a_complete_recording(case):
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", target.pid)
    target.tell("b 50")
    assert attached.stop(signal.SIGHUP) == 0 and "detached after" in attached.out, attached.err
    target.end()
    assert case.report("a.gt", "summary")["recording"]["duration_ns"]


def test_all_processes_and_those_that_start_later(case):
    """Other processes on this machine may be traced too: only ours are checked."""
    need_root(case)
    early = Target(case)
    attached = Attached(case, "--all")
    early.tell("a 111")
    late = Target(case)
    late.tell("a 222")
    late.end()
    attached.stop()
    early.end()
    ours = [e for e in attached.events() if e["pid"] in (early.pid, late.pid)]
    assert [(e["pid"], e["bytes"]) for e in ours if e["function"] == "cuMemAlloc_v2"] == [
        (early.pid, 111), (late.pid, 222)]


MAP = """
import mmap, sys
file = open(sys.argv[1], "rb")
code = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
print("ready", flush=True)
input()
"""


def bad_library(case, folder, change):
    """A copy of the stand-in driver with one of its functions changed."""
    library = case.program("libcuda.so.1")
    names = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    address = int(re.search(r"(\w+) T cuMemAlloc_v2\n", names).group(1), 16)
    case.path(folder).mkdir()
    copy = case.path(folder) / "libcuda.so.1"
    bytes = bytearray(pathlib.Path(library).read_bytes())
    change(bytes, address)
    copy.write_bytes(bytes)
    return copy


def break_in(bytes, address):
    bytes[address] = 0xcc  # int3, where no probe may be put


def claim_more(bytes, address):
    heads, size, count = (int.from_bytes(bytes[at:at + n], "little")
                          for at, n in ((32, 8), (54, 2), (56, 2)))
    for at in range(heads, heads + size * count, size):
        kind = int.from_bytes(bytes[at:at + 4], "little")
        first = int.from_bytes(bytes[at + 16:at + 24], "little")
        room = int.from_bytes(bytes[at + 32:at + 40], "little")
        if kind == 1 and first <= address < first + room:
            bytes[at + 8:at + 16] = (1 << 30).to_bytes(8, "little")


def test_a_file_that_cannot_be_probed_does_not_stop_the_rest(case):
    """Any process may map a file of that name."""
    need_root(case)
    for name, change, is_told in (("broken", break_in, True), ("longer", claim_more, False)):
        bad = bad_library(case, name, change)
        other = case.start(sys.executable, "-c", MAP, bad, bufsize=0)
        assert read_line(other.stdout) == "ready\n"
        target = Target(case)
        attached = Attached(case, "--all", "--api", "cuda", name=name + ".gt")
        target.tell("a 333")
        attached.stop()
        target.end()
        other.communicate(b"\n", timeout=60)
        assert any(e["bytes"] == 333 for e in attached.events() if e["pid"] == target.pid)
        told = attached.head + attached.err
        assert told.count(f"cannot attach to {bad}") == is_told, told
        text = case.gputrack("report", name + ".gt", env={"COLUMNS": "300"}).out
        assert (f"calls into {bad} are missing: it could not be probed" in text) == is_told, text


class Container:
    """Files that only its processes see."""

    def __init__(self, case):
        need_root(case)
        library = case.program("libcuda.so.1")
        self.case, self.folder = case, case.path("image")
        self.folder.mkdir()
        self.program = f"exec {self.folder}/attach_target {self.folder}/libcuda.so.1"
        self.fill = f"mount -t tmpfs none {self.folder} && " \
                    f"cp {library} {case.program('attach_target')} {self.folder}/"

    def start(self, *command):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        if read_line(process.stdout) != "ready\n":
            self.case.skip("no mount namespace to be had")
        return process

    def first(self):
        return self.start("unshare", "--mount", "sh", "-c", f"{self.fill} && {self.program}")

    def another(self, first):
        return self.start("nsenter", "--mount", "--target", str(first.pid), "sh", "-c", self.program)


def tell(process, line):
    process.stdin.write(line + b"\n")
    return read_line(process.stdout)


def test_a_copy_of_the_library_in_another_root(case):
    """As in a container: another file under the same name, seen only through the process."""
    container = Container(case)
    hidden, target = container.folder, container.first()
    attached = Attached(case, "-p", target.pid)
    tell(target, b"a 77")
    attached.stop()
    assert not list(hidden.iterdir()), "out here nothing is to be seen of it"
    (event,) = attached.events()
    target.stdin.write(b"q\n")
    target.wait(30)
    assert event["bytes"] == 77
    assert functions_of(event)[:3] == ["allocate_here", "middle", "outer"], event["stack"]


def test_container_files_outlive_the_first_process_that_used_them(case):
    """Only two processes see the files, and the first one ends."""
    container = Container(case)
    first = container.first()
    second = container.another(first)
    attached = Attached(case, "-p", f"{first.pid},{second.pid}")
    tell(first, b"a 77")
    while not case.path(f"a.gt/{first.pid}.trace").exists():
        time.sleep(0.01)  # until it was looked at
    first.stdin.write(b"q\n")
    first.wait(30)
    tell(second, b"a 88")
    attached.stop()
    events = {e["bytes"]: e for e in attached.events()}
    second.stdin.write(b"q\n")
    second.wait(30)
    assert functions_of(events[88])[:3] == ["allocate_here", "middle", "outer"], events[88]["stack"]


def test_libraries_of_other_processes_are_not_probed(case):
    """Each probe costs whoever calls the function."""
    need_root(case)
    target = Target(case)
    copies = [case.path(name) / "libcuda.so.1" for name in ("theirs", "ours")]
    for copy in copies:
        copy.parent.mkdir()
        copy.write_bytes(pathlib.Path(target.library).read_bytes())
    attached = Attached(case, "-p", target.pid)

    def links():
        return sum(os.readlink(fd) == "anon_inode:bpf_link"
                   for fd in pathlib.Path(f"/proc/{attached.process.pid}/fd").iterdir() if fd.is_symlink())
    before = links()
    other = Target(case, library=str(copies[0]))
    target.tell(f"o{copies[1]}")
    while links() == before:
        time.sleep(0.01)
    for _ in range(3):  # it looks every 50 ms, in the order of the mappings
        time.sleep(0.05)
        assert links() == before + 1, (links(), before)
    other.end()
    target.end()
    assert attached.stop(None) == 0, attached.err


def test_a_library_loaded_later_is_probed(case):
    need_root(case)
    sleeper = subprocess.Popen(["sh", "-c", f"read x; exec {case.program('attach_target')} "
                                f"{case.program('libcuda.so.1')}"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    attached = Attached(case, "-p", sleeper.pid)
    assert "waiting for it" in attached.head, attached.head
    sleeper.stdin.write(b"x\n")
    assert read_line(sleeper.stdout) == "ready\n"
    # a copy that nobody has seen yet is probed moments after it is mapped
    for _ in range(200):
        sleeper.stdin.write(b"b 1\n")
        read_line(sleeper.stdout)
        time.sleep(0.01)
    sleeper.stdin.write(b"q\n")
    sleeper.wait()
    attached.stop(None)
    assert len(attached.events()) > 2
    text = case.gputrack("report", "a.gt", env={"COLUMNS": "300"}).out
    assert re.search(r"the first calls into /\S+/libcuda.so.1 may be missing: it was loaded", text), text


def test_events_that_do_not_fit_the_ring_are_counted(case):
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", target.pid, "--ring-size", "4K")
    os.kill(attached.process.pid, signal.SIGSTOP)  # so that nobody empties it
    target.tell("b 500")
    os.kill(attached.process.pid, signal.SIGCONT)
    attached.stop()
    target.end()
    report = case.report("a.gt", "summary")
    assert report["lost"] > 0
    assert report["lost"] + len(attached.events()) == 1000
    assert re.search(r"[\d,]+ events? w\w+ LOST", attached.out), attached.out


def test_the_summary_has_no_escape_codes(case):
    need_root(case)
    target = Target(case)
    process = case.start(case.build / "gputrack", "attach", "-i", "0.2", "-T", "2", "-o", "a.gt",
                         "-p", target.pid, bufsize=0, env={"COLUMNS": "200"})
    while "tracking" not in read_line(process.stderr):
        pass
    target.tell("l 10")
    target.tell("a 123456")
    text = ""
    while not re.search(r"oldest 0x", text):
        text += read_line(process.stdout)
    process.send_signal(signal.SIGINT)
    text += process.communicate(timeout=60)[0].decode()
    target.end()
    assert "\033" not in text
    assert re.search(r"pid %d attach_target: 123 KiB in 11 resources" % target.pid, text), text
    assert re.search(r"allocate_here \S+:\d+ < middle:\d+ < outer:\d+ ", text) and "at 0x" in text, text


def test_attach_ends_after_the_duration(case):
    need_root(case)
    target = Target(case)
    run = case.gputrack("attach", "-d", "0.3", "-q", "-o", "a.gt", "-p", target.pid)
    target.end()
    assert run.status == 0 and case.path("a.gt/info").exists()


def test_the_exit_status_of_the_command_is_passed_on(case):
    need_root(case)
    for command, status in (("exit 7", 7), ("kill -9 $$", -9)):
        run = case.gputrack("attach", "-q", "-o", "a.gt", "-c", "sh", "-c", command)
        assert run.status == status, (command, run.status, run.err)


def test_privileges_are_dropped(case):
    """Of root's privileges only those still needed are kept."""
    need_root(case)
    target = Target(case)
    attached = Attached(case, "-p", target.pid)
    status = pathlib.Path(f"/proc/{attached.process.pid}/status").read_text()
    attached.stop()
    target.end()
    needed = sum(1 << bit for bit in (2, 19, 38, 39, 40))  # as in linux/capability.h
    for key in ("CapEff", "CapPrm", "CapBnd"):
        have = int(re.search(key + r":\s*(\w+)", status).group(1), 16)
        assert have and not have & ~needed, (key, hex(have))
    assert re.search(r"NoNewPrivs:\s*1", status)


def one_line(run, *words):
    assert run.status == 1 and len(run.err.splitlines()) == 1, run.err
    assert run.err.startswith("gputrack: ") and all(word in run.err for word in words), run.err


def test_obstacles_are_reported_in_one_line(case):
    need_root(case)
    dead = subprocess.Popen(["true"])
    dead.wait()
    one_line(case.gputrack("attach", "-o", "a.gt", "-p", str(dead.pid)), "no process")
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    done = case.gputrack("attach", "-o", "a.gt", "-p", str(thread.native_id))
    ended.set()
    one_line(done, f"{thread.native_id} is a thread", "Tgid")
    build = case.build / "gputrack"
    if case.is_public():
        one_line(case.run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                          "--inh-caps=-all", "sh", "-c", f"cd /; exec {build} attach -p 1"), "root")
    assert not case.path("a.gt").exists()
    wrong = case.gputrack("attach", "-p", "x")
    assert wrong.status == 2 and "is not a process id" in wrong.err
    wrong = case.gputrack("attach", "-p", "1", "--top", str(1 << 61))
    assert wrong.status == 2 and "--top must be at most 1000, not" in wrong.err
    assert case.gputrack("attach").status == 2
    assert case.gputrack("attach", "--all", "-p", "1").status == 2
    one_line(case.gputrack("attach", "-o", "a.gt", "-c", "./nothing-here"), "cannot run")
    assert not case.path("a.gt").exists()
