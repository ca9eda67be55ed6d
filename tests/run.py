#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py - runs the tests side by side and counts: unit, golden, end-to-end, fuzz, sanitizers.

usage: tests/run.py BUILD_DIR [PART...]

PART selects the tests that have it in their name (unit/live, golden/ci, e2e/run/every_exit_status).
The tests under a sanitizer run when PART starts with its name (address, thread/guest) or there is
none. JOBS says how many run at once; by default two more than there are CPUs, because many tests wait.
"""
import atexit
import collections
import difflib
import importlib.util
import itertools
import json
import os
import pathlib
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import traceback

TESTS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS / "e2e"))
import harness  # noqa: E402

CPUS = len(os.sched_getaffinity(0))
SLOWEST = 10
PATIENCE = float(os.environ.get("PATIENCE") or 3)  # a unit test's time limit counts so often

# The guest's tests with threads, for the thread sanitizer.
THREADED = ("writer", "writer_descriptor", "writer_limits", "live",
            "guest", "guest_forks", "fork_guard", "heap", "python_frames", "ranges")
SANITIZERS = {"address": "address,undefined", "thread": "thread"}
# Tests that stop at every instruction: a sanitizer makes many of one.
STEPPING = ("python_cache",)


class Job:
    """Tests that one process runs in order. `run` yields (name, verdict, detail, seconds) for each.

    The lane says what may run at the same time: TRACED jobs run beside each other, an ALONE job runs
    beside no other ALONE or TRACED job, and all others run beside anything.
    """
    FREE, TRACED, ALONE = range(3)

    def __init__(self, names, run, lane=FREE, after=None, seconds=0):
        self.names, self.run, self.lane, self.after = names, run, lane, after
        self.seconds = seconds  # a guess, until it has run once
        self.ended = self.failed = False


# What is there to run.

def verdict_of(function):
    """Calls it and returns the verdict and its reason."""
    try:
        function()
        return "ok", ""
    except harness.Skip as reason:
        return "skip", str(reason)
    except AssertionError:
        return "fail", traceback.format_exc(limit=-2)
    except Exception:  # a test that breaks has failed
        return "fail", traceback.format_exc()


def known_programs(folder):
    """Meson's tests of a build folder, by name."""
    path = folder / "meson-info" / "intro-tests.json"
    return {test["name"]: test for test in json.loads(path.read_text())} if path.exists() else {}


def compiled(folder):
    """The names of those that are programs of that build, not scripts that read the sources."""
    return [name for name, test in known_programs(folder).items()
            if folder in pathlib.Path(test["cmd"][0]).parents]


def run_program(folder, name, full):
    """A test that Meson knows, in the way that Meson runs it."""
    test = known_programs(folder).get(name)
    if not test:
        return  # another configuration has it
    environment = {"MALLOC_PERTURB_": "165",
                   "ASAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_summary=1",
                   "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_summary=1:print_stacktrace=1"}
    begun = time.time()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(test["cmd"], cwd=test["workdir"] or folder, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=output, start_new_session=True,
                                   env={**environment, **os.environ, **test["env"]})
        try:
            status = process.wait(test["timeout"] * PATIENCE)  # others run beside it
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = f"none within {test['timeout'] * PATIENCE:.0f} s"
        output.seek(0)
        text = output.read().decode(errors="replace")
    verdict = {0: "ok", 77: "skip"}.get(status, "fail")
    detail = "" if verdict == "ok" else "\n".join(text.splitlines()[-40:])
    if verdict == "fail":
        detail += f"\nexit status: {status}"
    yield full, verdict, detail, time.time() - begun


def program_jobs(folder, group, tests, after=None):
    return [Job([f"{group}/{name}"], lambda name=name: run_program(folder, name, f"{group}/{name}"),
                after=after) for name in tests]


def golden_names(build):
    done = subprocess.run(["sh", str(TESTS / "golden/check.sh"), str(build), "--list"],
                          stdout=subprocess.PIPE, text=True)
    return [line for line in done.stdout.splitlines() if " " not in line]


def run_golden(build, group, names):
    """tests/golden/check.sh prints a line `ok NAME` or `FAIL NAME` per case, then why."""
    process = subprocess.Popen(["sh", str(TESTS / "golden/check.sh"), str(build), *names],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace")
    case, failed, begun, stray = None, False, time.time(), ""
    for line in itertools.chain(process.stdout, ["end"]):
        word, _, name = line.strip().partition(" ")
        if word not in ("ok", "FAIL", "end"):
            if case and case[1] == "fail":
                case[2] += line
            else:
                stray += line
            continue
        if case:
            failed |= case[1] == "fail"
            yield f"{group}/{case[0]}", case[1], case[2][:4000], case[3]
        now = time.time()
        case, begun = [name.strip(), "ok" if word == "ok" else "fail", "", now - begun], now
    if process.wait() and not failed:
        yield group, "fail", stray[-4000:], 0


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_functions(build, functions):
    for full, function in functions:
        begun = time.time()

        def call():
            with harness.Case(build, full) as case:
                function(case)
        verdict, detail = verdict_of(call)
        yield full, verdict, detail, time.time() - begun


def functions_of(module, group):
    return [pair for name, function in vars(module).items()
            if name.startswith("test_") and callable(function)
            for pair in harness.variants(f"{group}/{name[5:]}", function)]


def module_jobs(build, module, functions):
    """A job for each test; if they run TOGETHER one for all, then one for those that run alone."""
    def is_alone(pair):
        return getattr(module, "ALONE", False) or getattr(pair[1], "alone", False)
    together, lane = getattr(module, "TOGETHER", False), Job.FREE if getattr(module, "FREE", False) else Job.TRACED
    batches = [[pair] for pair in functions]
    if together:
        batches = [[pair for pair in functions if is_alone(pair) == alone] for alone in (False, True)]
    jobs = []
    for batch in filter(None, batches):
        jobs.append(Job([full for full, _ in batch], lambda batch=batch: run_functions(build, batch),
                        Job.ALONE if is_alone(batch[0]) else lane, jobs[0] if together and jobs else None,
                        getattr(module, "SECONDS", 0)))
    return jobs


def end_to_end_jobs(build, is_wanted):
    jobs = []
    for path in sorted((TESTS / "e2e").glob("test_*.py")):
        module = load(path)
        jobs += module_jobs(build, module, [pair for pair in functions_of(module, f"e2e/{path.stem[5:]}")
                                            if is_wanted(pair[0])])
    return jobs


# The same under sanitizers.

def build_sanitized(folder, group, targets, tests):
    """Only what the tests need: the rest would take most of the time."""
    begun = time.time()
    if not (folder / "build.ninja").exists():
        # -O1 takes twice as long to compile, and leaves less to check; a message needs lines, not variables
        subprocess.run(["meson", "setup", str(folder), f"-Db_sanitize={SANITIZERS[group]}",
                        "-Doptimization=0", "-Dc_args=-g1",
                        "-Db_lundef=false", "-Dopencl=disabled", "-Dlevelzero=disabled"],
                       cwd=TESTS.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ninja = ["ninja", "-C", str(folder), "-j", str(max(1, CPUS // 2))]
    # the list of tests may be older than the tree
    subprocess.run([*ninja, "build.ninja"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    known = known_programs(folder)
    programs = [pathlib.Path(test["cmd"][0]) for name, test in known.items() if name in tests]
    wanted = [str(path.relative_to(folder)) for path in programs if folder in path.parents]
    if "symbol" in tests and "symbol" in known:
        wanted.append("tests/unit/symbol-fixtures")
    if any(name.startswith("fuzz") for name in tests):
        wanted.append("meson-test-prereq")
    made = subprocess.run([*ninja, *targets, *wanted], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    yield f"{group}/build", "fail" if made.returncode else "ok", made.stdout[-4000:], \
        time.time() - begun


def sanitized_jobs(build, group, units, goldens, functions):
    """units, goldens, functions: the names, without the group's, of what to run."""
    if not (units or goldens or functions):
        return []
    folder = build.parent / f"{build.name}-{group}"
    tool = ["gputrack", "tests/golden/make_recordings"] if goldens or functions else []
    first = Job([f"{group}/build"], lambda: build_sanitized(folder, group, tool, units))
    jobs = [first, *program_jobs(folder, group, units, first)]
    if goldens:
        jobs.append(Job([f"{group}/golden/{name}" for name in goldens],
                        lambda: run_golden(folder, f"{group}/golden", goldens), after=first))
    return jobs + [Job([full], lambda full=full, function=function: run_functions(
        folder, [(full, function)]), after=first) for full, function in functions]


class Selection:
    """The tests that the command line names, and whether each PART named any."""

    def __init__(self, parts):
        self.parts, self.matched, self.names = parts, set(), []

    def has(self, name):
        self.names.append(name)
        group = name.split("/")[0]
        if group in SANITIZERS:
            hits = [part for part in self.parts if part in name and part.startswith(group)]
        else:
            hits = [part for part in self.parts if part in name]
        self.matched.update(hits)
        return bool(hits) or not self.parts

    def complain(self):
        """A line for each PART that names nothing; true when there was one."""
        known = set(self.names) | {word for name in self.names for word in name.split("/")}
        for part in (part for part in self.parts if part not in self.matched):
            near = difflib.get_close_matches(part, sorted(known), 3, 0.5)
            print(f"no test has '{part}' in its name"
                  + (f"; near to it: {', '.join(near)}" if near else ""))
        return len(self.matched) < len(set(self.parts))


def impossible(name):
    """Why qemu cannot pass this test, by tests/qemu.txt; None where it can, or without qemu."""
    if not os.environ.get("GPUTRACK_TEST_QEMU"):
        return None
    for line in (TESTS / "qemu.txt").read_text().splitlines():
        known, _, why = line.partition("  ")
        if not line.startswith("#") and (name == known or known.endswith("/") and name.startswith(known)):
            return f"qemu: {why.strip()}"
    return None


def without_impossible(jobs):
    """The same jobs; those of which qemu can pass no test skip these."""
    def skip(job):
        return lambda: ((name, "skip", impossible(name), 0) for name in job.names)
    for job in jobs:
        if all(impossible(name) for name in job.names):
            job.run = skip(job)
    return jobs


def all_jobs(build, selection):
    units, goldens = list(known_programs(build)), golden_names(build)
    if not units:
        sys.exit(f"run.py: {build} knows no tests: is it made with -Dtests=enabled?")
    jobs = program_jobs(build, "unit", [name for name in units if selection.has(f"unit/{name}")])
    chosen = [name for name in goldens if selection.has(f"golden/{name}")]
    if chosen:
        some = chosen if len(chosen) < len(goldens) else []  # without names, it checks more
        jobs.append(Job([f"golden/{name}" for name in chosen],
                        lambda: run_golden(build, "golden", some)))
    jobs += end_to_end_jobs(build, selection.has)
    jobs = without_impossible(jobs)
    for group in SANITIZERS:
        mine = compiled(build) if group == "address" else [name for name in units if name in THREADED]
        mine = [name for name in mine if name not in STEPPING and selection.has(f"{group}/{name}")]
        views = tool = []
        if group == "address":
            views = [name for name in goldens if selection.has(f"{group}/golden/{name}")]
            tool = [pair for pair in functions_of(load(TESTS / "e2e/sanitized.py"), "address/tool")
                    if selection.has(pair[0])]
        jobs += sanitized_jobs(build, group, mine, views, tool)
    return jobs


# Running.

def group_of(name):
    """e2e/run of e2e/run/every_exit_status, unit of unit/live."""
    return "/".join(name.split("/")[:2 if name.startswith("e2e/") else 1])


class Count:
    """Prints a line a test; knows how all ended and where the time went."""

    def __init__(self):
        self.ended = collections.Counter()
        self.failures, self.seconds = [], {}
        self.processor = collections.Counter()  # seconds of user and system, by group
        self.begun = time.time()

    def add(self, name, verdict, detail="", seconds=0.0):
        self.seconds[name] = seconds
        is_build = name.endswith("/build") and name.split("/")[0] in SANITIZERS
        if verdict == "fail" or not is_build:
            self.ended[verdict] += 1
        if verdict == "fail":
            self.failures.append(name)
        mark = {"ok": "ok  ", "fail": "FAIL", "skip": "skip"}[verdict]
        why = detail.strip().splitlines()[0] if verdict == "skip" and detail.strip() else ""
        print(f"{mark} {name}" + (f"  ({why})" if why else "")
              + (f"  {seconds:.1f} s" if seconds >= 1 else ""), flush=True)
        if verdict == "fail" and detail:
            print("    " + detail.strip().replace("\n", "\n    "), flush=True)

    def report(self, workers):
        groups = collections.Counter()
        for name, seconds in self.seconds.items():
            groups[group_of(name)] += seconds
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"\nwhere the time went: {time.time() - self.begun:.0f} s, {workers} at once; "
              f"user {used.ru_utime:.0f} s, system {used.ru_stime:.0f} s")
        print("  slowest tests")
        for name, seconds in sorted(self.seconds.items(), key=lambda item: -item[1])[:SLOWEST]:
            print(f"  {seconds:7.1f} s  {name}")
        print("  groups, and the processor's time of each")
        for name, seconds in groups.most_common():
            if seconds >= 1:
                print(f"  {seconds:7.1f} s  {self.processor[name]:7.1f} s  {name}")
        print()


class Running:
    """A job in a process of its own, and the results that it has sent so far."""

    def __init__(self, job):
        self.job, self.missing = job, list(job.names)
        self.text = b""
        self.pipe, write = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            self.work(write)
        os.close(write)

    def work(self, write):
        """In the child: output of a test goes to its detail."""
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        status = 1
        try:
            printed = tempfile.TemporaryFile()
            for number in (1, 2):
                os.dup2(printed.fileno(), number)
            seen = 0
            for name, verdict, detail, seconds in self.job.run():
                sys.stdout.flush()
                size = os.fstat(printed.fileno()).st_size
                if verdict == "fail" and size > seen:
                    detail += "\n" + os.pread(printed.fileno(), 20000, seen).decode(errors="replace")
                seen = size
                line = json.dumps([name, verdict, detail, seconds]) + "\n"
                with open(write, "wb", closefd=False) as out:
                    out.write(line.encode())
            status = 0
        except BaseException:
            line = json.dumps([self.job.names[0], "fail", traceback.format_exc(), 0]) + "\n"
            os.write(write, line.encode())
        finally:
            atexit._run_exitfuncs()  # a shared browser ends here
            os._exit(status)

    def read(self, count):
        """False at the end."""
        data = os.read(self.pipe, 1 << 16)
        self.text += data
        while b"\n" in self.text:
            line, _, self.text = self.text.partition(b"\n")
            name, verdict, detail, seconds = json.loads(line)
            count.add(name, verdict, detail, seconds)
            self.job.failed |= verdict == "fail"
            if name in self.missing:
                self.missing.remove(name)
        return bool(data)

    def end(self, count):
        os.close(self.pipe)
        _, status, used = os.wait4(self.pid, 0)
        count.processor[group_of(self.job.names[0])] += used.ru_utime + used.ru_stime
        if status and not self.job.failed:
            self.job.failed = True
            count.add((self.missing or self.job.names)[0], "fail", f"the test's process died: {status:#x}")
        self.job.ended = True


def may_start(job, running):
    if job.after and not job.after.ended:
        return False
    lanes = [other.job.lane for other in running]
    if job.lane == Job.ALONE:
        return Job.ALONE not in lanes and Job.TRACED not in lanes
    return job.lane == Job.FREE or Job.ALONE not in lanes


def run_all(jobs, workers, count):
    running, poll = [], selectors.DefaultSelector()
    try:
        while jobs or running:
            jobs = [job for job in jobs if not (job.after and job.after.failed)]
            while len(running) < workers:
                job = next((job for job in jobs if may_start(job, running)), None)
                if not job:
                    break
                jobs.remove(job)
                running.append(Running(job))
                poll.register(running[-1].pipe, selectors.EVENT_READ, running[-1])
            for key, _ in poll.select():
                if not key.data.read(count):
                    poll.unregister(key.fileobj)  # before it is closed: the children have it too
                    key.data.end(count)
                    running.remove(key.data)
    except KeyboardInterrupt:
        for other in running:
            os.kill(other.pid, signal.SIGINT)
        for other in running:
            os.waitpid(other.pid, 0)
        sys.exit(130)


def in_order(jobs, times):
    """Jobs that run alone hold up the traced ones, so free jobs fill that time, and traced jobs start last;
    of each, those that others wait for come first, then the longest."""
    builds = {job.after for job in jobs}

    def key(job):
        guess = max(job.seconds, sum(times.get(name, 1) for name in job.names))
        return job.lane == Job.TRACED, job not in builds, job.lane != Job.ALONE, -guess
    return sorted(jobs, key=key)


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__.strip())
        return
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, selection, count = pathlib.Path(sys.argv[1]).resolve(), Selection(sys.argv[2:]), Count()
    os.environ.pop("OPENCL_LAYERS", None)
    # a shell that starts us in the background, and nohup, have us and all that we start ignore them
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    jobs = all_jobs(build, selection)
    if selection.complain():
        sys.exit(1)
    times = build / "test-times.json"  # how long each took last time: only the order depends on it
    known = json.loads(times.read_text()) if times.exists() else {}
    workers = int(os.environ.get("JOBS") or CPUS + 2)
    run_all(in_order(jobs, known), workers, count)
    times.write_text(json.dumps({**known, **count.seconds}))
    count.report(workers)
    if count.failures:
        print("failed: " + ", ".join(count.failures))
    ended = count.ended
    print(f"{ended['ok']} passed, {ended['fail']} failed, {ended['skip']} skipped")
    sys.exit(1 if ended["fail"] or not ended["ok"] else 0)


if __name__ == "__main__":
    main()
