# SPDX-License-Identifier: MIT
"""test_instruments.py - programs that others instrument or restrict behave under run as they do bare."""
import shutil

SANITIZERS = ("thread", "address", "undefined")
SHAPES = ("--threads", "6", "--calls", "60")
# What a recorder calls when the trace needs more space: doc/reliability.md names them.
GUEST_CALLS = {"newfstatat": 262, "prlimit64": 302, "fallocate": 285, "rt_sigaction": 13}


def build(case, compiler, *flags):
    """The program built with a compiler's instruments."""
    if not shutil.which(compiler):
        case.skip(f"there is no {compiler}")
    program = case.path("-".join([compiler, *(f.strip("-").replace("=", "-") for f in flags)]))
    made = case.run(compiler, "-g", "-O1", *flags, case.source / "tests/e2e/programs/ze_locked.c",
                    "-o", program, "-lze_loader", "-lpthread")
    if made.status:
        case.skip(f"{compiler} cannot build with {' '.join(flags)}: {made.err.splitlines()[-1]}")
    return program


def allocations(case, recording):
    return sum(e["function"] == "zeMemAllocDevice" for e in case.events(recording))


def same_as_bare(case, name, *command):
    """Runs a command bare and recorded; the number of allocations it made."""
    env = case.levelzero()
    bare = case.run(*command, env=env)
    assert bare.status == 0 and bare.out.startswith("made "), (name, bare.status, bare.err)
    run = case.gputrack("run", "-q", "-o", f"{name}.gt", *command, env=env)
    assert (run.status, run.out, run.err) == (bare.status, bare.out, bare.err), (
        name, run.status, run.out, run.err[:4000])
    made = int(bare.out.split()[1])
    assert allocations(case, f"{name}.gt") == made, name
    return made


def check_sanitizers(case, compiler, *more):
    for sanitizer in (*SANITIZERS, *more):
        program = build(case, compiler, f"-fsanitize={sanitizer}")
        assert same_as_bare(case, f"{compiler}-{sanitizer}", program, *SHAPES) == 7 * 60 + 1


def test_programs_with_the_sanitizers_of_gcc(case):
    check_sanitizers(case, "gcc")


def test_programs_with_the_sanitizers_of_clang(case):
    check_sanitizers(case, "clang", "memory")


def test_programs_built_for_coverage_and_profiles(case):
    for flags in (("--coverage",), ("-pg",)):
        same_as_bare(case, flags[0].strip("-"), build(case, "gcc", *flags), *SHAPES)


def under_valgrind(case, tool, *more):
    if not shutil.which("valgrind"):
        case.skip("valgrind is not installed")
    # the test driver is not built for valgrind: only what it reports beyond the bare run counts
    same_as_bare(case, tool, "valgrind", "-q", f"--tool={tool}", "--error-exitcode=9", *more,
                 case.program("ze_locked"), *SHAPES)


def test_memcheck(case):
    under_valgrind(case, "memcheck")


def test_helgrind(case):
    under_valgrind(case, "helgrind")


def test_rr(case):
    """Recorded by rr; it needs the processor's counters, which few virtual machines have."""
    if not shutil.which("rr"):
        case.skip("rr is not installed")
    record = ("rr", "record", "-n", "-o")
    tried = case.run(*record, case.path("tried"), "true")
    if tried.status:
        case.skip(f"rr cannot record here: {tried.err.strip().splitlines()[-1]}")
    command = case.program("ze_locked"), *SHAPES
    env = case.levelzero()
    bare = case.run(*record, case.path("bare"), *command, env=env)
    run = case.gputrack("run", "-q", "-o", "rr.gt", *record, case.path("recorded"), *command, env=env)
    assert bare.status == 0 and (run.status, run.out) == (bare.status, bare.out), (run.status, run.out, run.err)
    assert allocations(case, "rr.gt") == int(bare.out.split()[1])


def locked(case, program, env, filter, calls, allowed=()):
    """A program that allows itself what it needs, and those calls; it behaves as bare, recorded."""
    command = [case.program(program), "--filter", filter, "--calls", calls]
    for number in allowed:
        command += ["--allow", number]
    bare = case.run(*command, env=env)
    if bare.status == 77:
        case.skip(bare.err)
    assert (bare.status, bare.out) == (0, f"made {calls + 1}\n"), (bare.status, bare.err)
    run = case.gputrack("run", "-q", "-o", "locked.gt", *command, env=env)
    assert (run.status, run.out, run.err) == (0, bare.out, ""), (filter, calls, run.status, run.err)
    # and those of the context
    assert case.report("locked.gt", "summary")["recording"]["events"] in (
        2 * (calls + 1) + 1, 2 * (calls + 1) + 2)


def test_a_program_that_locks_itself_down(case):
    """Its own system calls suffice for the first megabyte of its trace."""
    for filter in ("kill", "trap"):
        for calls in (100, 10000):
            locked(case, "ze_locked", case.levelzero(), filter, calls)


def test_an_opencl_program_that_locks_itself_down(case):
    for filter in ("kill", "trap"):
        locked(case, "cl_locked", case.pocl(), filter, 10000)


def test_a_program_that_locks_itself_down_and_fills_its_trace(case):
    """Then those that are documented suffice: nothing else is called."""
    locked(case, "ze_locked", case.levelzero(), "kill", 100000, GUEST_CALLS.values())


def test_the_documented_system_calls_are_those_that_are_made(case):
    text = (case.source / "doc/reliability.md").read_text()
    for name in GUEST_CALLS:
        assert f"`{name}`" in text, name
