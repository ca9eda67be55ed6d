# SPDX-License-Identifier: MIT
"""The library that `gputrack run` preloads for CUDA: it sees every way to the driver, and nobody sees it."""
import os
import pathlib
import shutil
import subprocess
import sys

WAYS = ("handle", "default", "proc", "old")


def as_bare(case, recording, *command, **environment):
    """Runs a command bare and under gputrack; the events of the second."""
    bare = case.run(*command, env=case.cuda_preloaded(**environment))
    traced = case.gputrack("run", "-q", "-o", recording, "--cuda-door", "direct", *command,
                           env=case.cuda_preloaded(**environment))
    assert (bare.out, bare.err, bare.status) == (traced.out, traced.err, traced.status), (bare, traced)
    return traced, case.events(recording) if case.path(recording).exists() else []


def functions(events):
    return sorted(event["function"] for event in events)


USED = ["cuCtxCreate_v2"] + ["cuMemAlloc_v2"] * 10 + ["cuMemFree_v2"] * 8


def test_every_way_of_asking_for_the_driver_is_seen(case):
    for way in WAYS:
        run, events = as_bare(case, f"{way}.gt", case.program("cuda_asks"), way)
        assert run.out == "used\n", run.err
        assert functions(events) == USED, (way, functions(events))


def test_recorded_stacks_begin_in_the_program(case):
    as_bare(case, "a.gt", case.program("cuda_asks"), "proc")
    report = case.report("a.gt", "leakage", "--all-frames")
    memory = next(group for group in report["groups"] if group["kind"] == "device memory")
    assert memory["count"] == 2 and memory["stack"][0]["function"] == "use", memory["stack"]


def test_dlsym_answers_as_without_us(case):
    run, _ = as_bare(case, "a.gt", case.program("cuda_asks"), "questions")
    assert "before, default cuMemAlloc_v2: none" in run.out, run.out
    assert "global, default cuMemAlloc_v2: found" in run.out, run.out
    assert "local, handle cuNobodys: none" in run.out, run.out


def test_a_driver_in_a_name_space_of_its_own_works_as_bare(case):
    run, _ = as_bare(case, "a.gt", case.program("cuda_asks"), "apart")
    assert run.out == "used\n", run.err


def test_a_library_that_links_the_driver_where_others_do_not_see_it(case):
    """As Python loads its modules; Triton compiles such."""
    use = f"import ctypes; print(ctypes.CDLL({case.program('cuda_plugin.so')!r}).use_cuda())"
    run, events = as_bare(case, "a.gt", sys.executable, "-c", use)
    assert run.out == "0\n", run.out
    assert functions(events) == ["cuDevicePrimaryCtxRetain", "cuMemAlloc_v2"]


def test_a_program_with_a_dlsym_of_its_own(case):
    run, events = as_bare(case, "a.gt", case.program("cuda_own_dlsym"))
    assert run.out == "0 0 0, 3 questions\n"
    assert functions(events) == ["cuCtxCreate_v2", "cuMemAlloc_v2"]


def test_a_library_between_the_program_and_the_driver(case):
    """Preloaded before us or behind us, and met by linking or by asking: it passes, and is recorded once."""
    between = case.program("cuda_before.so")
    bare = case.run(case.program("cuda_lives"), "leak", env=case.cuda_preloaded(LD_PRELOAD=between))
    assert "allocations passed by" in bare.out and not bare.out.startswith("0"), bare.out
    ours = str(case.build / "libgputrack_preload.so")
    for order in (f"{between}:{ours}", f"{ours}:{between}"):
        traced = case.gputrack("run", "-q", "-o", "a.gt", case.program("cuda_lives"), "leak",
                               env=case.cuda_preloaded(LD_PRELOAD=order))
        assert traced.out == bare.out, (order, traced.out, bare.out)
        assert functions(case.events("a.gt")).count("cuMemAlloc_v2") == 3, functions(case.events("a.gt"))


def test_other_preloads_stay_and_the_variable_grows_by_our_library_alone(case):
    shown = [sys.executable, "-c", "import os; print(os.environ.get('LD_PRELOAD'))"]
    ours = str(case.build.resolve() / "libgputrack_preload.so")
    alone = case.gputrack("run", "-q", "-o", "a.gt", *shown, env=case.cuda_preloaded())
    assert alone.out == ours + "\n", alone.out
    other = case.program("cuda_before.so")
    both = case.gputrack("run", "-q", "-o", "a.gt", *shown, env=case.cuda_preloaded(LD_PRELOAD=other))
    assert both.out.splitlines()[0] == f"{other}:{ours}", both.out


def test_env_prints_what_the_direct_door_needs(case):
    """Evaluated twice, with another preload before it: both stay, ours once and last."""
    ours = str(case.build / "libgputrack_preload.so")
    evaluate = 'eval "$(gputrack env cuda)"; eval "$(gputrack env cuda)"; printf %s "$LD_PRELOAD"'
    for before, after in (("", ours), ("/nowhere/other.so", "/nowhere/other.so:" + ours)):
        shell = case.run("sh", "-c", 'PATH="$1:$PATH"; LD_PRELOAD="$2"; ' + evaluate, "sh", str(case.build), before,
                         env=case.cuda_preloaded())
        assert shell.out == after, (shell, before)
    done = case.run("sh", "-c", 'PATH="$1:$PATH"; eval "$(gputrack env cuda)"; GPUTRACK_RECORDING=env.gt "$2" leak', "sh",
                    str(case.build), case.program("cuda_lives"), env=case.cuda_preloaded())
    assert done.status == 0 and "cuMemAlloc_v2" in functions(case.events("env.gt")), done


def test_allocators_that_stand_before_malloc(case):
    found = [path for name in ("libjemalloc.so.2", "libtcmalloc.so.4", "libtcmalloc_minimal.so.4")
             for path in pathlib.Path("/usr/lib").glob(f"*/{name}")]
    if not found:
        case.skip("neither jemalloc nor tcmalloc is installed")
    ours = str(case.build / "libgputrack_preload.so")
    for library in found:
        _, events = as_bare(case, "a.gt", case.program("cuda_asks"), "proc", LD_PRELOAD=str(library))
        assert functions(events) == USED, library
        # behind us, too: a library that is named already stays where it is
        for way in ("proc", "questions"):
            bare = case.run(case.program("cuda_asks"), way, env=case.cuda_preloaded(LD_PRELOAD=str(library)))
            behind = case.gputrack("run", "-q", "-o", "b.gt", case.program("cuda_asks"), way,
                                   env=case.cuda_preloaded(LD_PRELOAD=f"{ours}:{library}"))
            assert (behind.out, behind.err, behind.status) == (bare.out, bare.err, 0), (library, way, behind, bare)
        case.gputrack("run", "-q", "-o", "b.gt", case.program("cuda_asks"), "proc",
                      env=case.cuda_preloaded(LD_PRELOAD=f"{ours}:{library}"))
        assert functions(case.events("b.gt")) == USED, library


def test_programs_with_the_address_sanitizer(case):
    """gcc has it in a library, which must be the first; clang in the program."""
    tried = 0
    for compiler in ("gcc", "clang"):
        if not shutil.which(compiler):
            continue
        source = case.source / "tests/e2e/programs/cuda_asks.c"
        made = subprocess.run([compiler, "-w", "-g", "-O1", "-D_GNU_SOURCE", "-fsanitize=address", str(source), "-ldl",
                               "-o", str(case.path(compiler))], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode:
            continue
        for way in ("proc", "questions"):
            _, events = as_bare(case, "a.gt", str(case.path(compiler)), way, ASAN_OPTIONS="detect_leaks=0")
            assert way != "proc" or functions(events) == USED, compiler
            # its library before us by hand, and behind us, where it must not insist on being the first
            library = case.run(compiler, "-print-file-name=libasan.so").out.strip()
            if compiler != "gcc" or not os.path.isabs(library):
                continue
            ours = str(case.build / "libgputrack_preload.so")
            bare = case.run(str(case.path(compiler)), way, env=case.cuda_preloaded(ASAN_OPTIONS="detect_leaks=0"))
            for order in (f"{os.path.realpath(library)}:{ours}", f"{ours}:{os.path.realpath(library)}"):
                done = case.gputrack("run", "-q", "-o", "b.gt", str(case.path(compiler)), way,
                                     env=case.cuda_preloaded(LD_PRELOAD=order,
                                              ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0"))
                assert (done.out, done.status) == (bare.out, 0) and "AddressSanitizer" not in done.err, (order, done)
                assert way != "proc" or functions(case.events("b.gt")) == USED, order
        tried += 1
    if not tried:
        case.skip("no compiler with an address sanitizer")


def test_a_child_without_the_preload_is_tracked_through_cupti(case):
    script = "env -u LD_PRELOAD " + case.program("cuda_lives") + " leak; exec " + case.program("cuda_lives") + " leak"
    run = case.gputrack("run", "-q", "-o", "a.gt", "sh", "-c", script, env=case.cuda_preloaded())
    assert run.out == "leak done\nleak done\n", run.err
    processes = {}
    for event in case.events("a.gt"):
        processes.setdefault(event["pid"], []).append(event["function"])
    assert len(processes) == 2 and len({tuple(sorted(names)) for names in processes.values()}) == 1, processes


def test_both_ways_at_once_record_once(case):
    """The injection finds the preloaded library in the process, and leaves CUDA to it."""
    run = case.gputrack("run", "-q", "-o", "a.gt", case.program("cuda_lives"), "leak",
                        env=case.cuda_preloaded(FAKE_CUPTI_SUBSCRIBE="39"))
    assert run.status == 0 and not run.err, run.err
    assert case.report("a.gt", "leakage")["totals"]["count"] == 6


def test_without_a_driver_nothing_is_preloaded(case):
    if b"libcuda.so.1\0" in pathlib.Path("/etc/ld.so.cache").read_bytes():
        case.skip("this machine has NVIDIA's driver")
    case.cuda_preloaded()
    shown = [sys.executable, "-c", "import os; print(os.environ.get('LD_PRELOAD'))"]
    run = case.gputrack("run", "-q", "-o", "a.gt", *shown, env={"LD_LIBRARY_PATH": ""})
    assert run.out == "None\n", run.out


def test_python_reaches_the_driver_by_ctypes(case):
    script = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
print(cuda.cuInit(0), cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
print([cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096)) for _ in range(3)])
print(hasattr(cuda, "cuNobodys"))
"""
    _, events = as_bare(case, "a.gt", sys.executable, "-c", script)
    assert functions(events) == ["cuCtxCreate_v2"] + ["cuMemAlloc_v2"] * 3


def test_programs_in_rust_and_go(case):
    tried = 0
    rust = """
use std::ffi::{c_char, c_int, c_void, CString};
#[link(name = "dl")]
extern "C" { fn dlopen(f: *const c_char, flags: c_int) -> *mut c_void; fn dlsym(h: *mut c_void, n: *const c_char) -> *mut c_void; }
fn main() { unsafe {
    let h = dlopen(CString::new("libcuda.so.1").unwrap().as_ptr(), 1);
    let f = |n: &str| dlsym(h, CString::new(n).unwrap().as_ptr());
    let init: extern "C" fn(u32) -> i32 = std::mem::transmute(f("cuInit"));
    let make: extern "C" fn(*mut u64, u32, i32) -> i32 = std::mem::transmute(f("cuCtxCreate_v2"));
    let alloc: extern "C" fn(*mut u64, usize) -> i32 = std::mem::transmute(f("cuMemAlloc_v2"));
    let (mut c, mut m) = (0u64, 0u64);
    println!("{} {} {} {}", init(0), make(&mut c, 0, 0), alloc(&mut m, 4096), f("cuNobodys").is_null());
} }
"""
    go = """
package main
/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
typedef int any();
static int use(void) {
	void *h = dlopen("libcuda.so.1", RTLD_LAZY), *c; uint64_t m;
	return ((any *)dlsym(h, "cuInit"))(0) + ((any *)dlsym(h, "cuCtxCreate_v2"))(&c, 0, 0) +
		((any *)dlsym(h, "cuMemAlloc_v2"))(&m, (size_t)4096);
}
*/
import "C"
import "fmt"
func main() { fmt.Println(C.use()) }
"""
    case.path("r.rs").write_text(rust)
    case.path("g.go").write_text(go)
    home = {"HOME": str(case.folder), "GOCACHE": str(case.path("go")), "GOFLAGS": "-mod=mod"}
    for tool, command in (("rustc", ["rustc", "-o", "r", "r.rs"]), ("go", ["go", "build", "-o", "g", "g.go"])):
        if not shutil.which(tool):
            continue
        environment = {**os.environ, **(home if tool == "go" else {})}
        made = subprocess.run(command, cwd=case.folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if made.returncode:
            continue
        _, events = as_bare(case, "a.gt", str(case.path(command[command.index("-o") + 1])))
        assert functions(events) == ["cuCtxCreate_v2", "cuMemAlloc_v2"], tool
        tried += 1
    if not tried:
        case.skip("neither rustc nor go is installed")


def test_what_the_runtime_releases_after_the_driver_has_ended_is_no_event(case):
    """CUDA_ERROR_DEINITIALIZED: nothing was released, and nobody made a mistake."""
    run, events = as_bare(case, "a.gt", case.program("cuda_asks"), "handle", FAKE_CUDA_FAIL="cuMemFree_v2:8:4")
    assert run.out == "cuMemFree fails with 4\n", run.out
    assert functions(events).count("cuMemFree_v2") == 7
    summary = case.report("a.gt", "summary")
    assert not summary.get("failures"), summary["failures"]
    # any other failure is one
    as_bare(case, "b.gt", case.program("cuda_asks"), "handle", FAKE_CUDA_FAIL="cuMemFree_v2:8:1")
    assert case.report("b.gt", "summary")["failures"]


def test_calls_of_ours_never_fail(case):
    """compute-sanitizer shows them to its user as errors of the program."""
    log = case.path("errors")
    for command in ((case.program("cuda_asks"), "proc"), (case.program("cuda_objects"),)):
        for options in ((), ("--touches",)):
            case.gputrack("run", "-q", "-o", "a.gt", "--cuda-door", "direct", *options, *command,
                          env=case.cuda_preloaded(FAKE_CUDA_ERRORS=str(log)))
            ours = log.read_text() if log.exists() else ""
            log.unlink(missing_ok=True)
            case.run(*command, env=case.cuda_preloaded(FAKE_CUDA_ERRORS=str(log)))
            bare = log.read_text() if log.exists() else ""
            log.unlink(missing_ok=True)
            assert ours == bare, (command, options, ours, bare)


def test_nsight_computes_own_driver_is_seen(case):
    """It is preloaded before us, hands itself out for the driver, and refuses programs with CUPTI's variable."""
    injection = case.build / "tests/fake/cuda/libcuda-injection.so"
    env = case.cuda_preloaded(LD_PRELOAD=str(injection))
    for way in ("handle", "proc", "old"):
        traced = case.gputrack("run", "-q", "-o", f"{way}.gt", case.program("cuda_asks"), way, env=env)
        assert (traced.out, traced.status) == ("used\n", 0), traced.err
        assert functions(case.events(f"{way}.gt")) == USED, way
    variable = "CUDA_INJECTION64_PATH"
    shutil.copy("/usr/bin/env", case.path("ncu"))
    for command, more, is_set in (("env", {}, True), ("./ncu", {}, False),
                                  ("env", {"NV_NSIGHT_INJECTION_PORT_BASE": "49152"}, False)):
        seen = case.gputrack("run", "-q", "-o", "env.gt", command, env={**env, **more})
        assert "libgputrack_preload.so" in seen.out and (variable in seen.out) == is_set, (command, more, seen.out)
