# SPDX-License-Identifier: MIT
"""test_odd.py - odd programs behave under run and attach as they do bare: odd/table.py has them."""
import difflib
import functools
import mmap
import os
import pathlib
import pickle
import re
import shutil
import struct
import subprocess
import sys
import traceback

import harness
from test_attach import Attached, need_root, wait_for_perf_probes_to_go

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "odd"))
import table  # noqa: E402

LONG = os.environ.get("GPUTRACK_TEST_LONG") == "1"
REAL_GPU = os.environ.get("GPUTRACK_TEST_GPU") == "1"  # tests/gpu/odd.py
SKIPPED, PIDS = 77, 1022
SECONDS = 120  # for programs that hang


class Result:
    """What a run shows: how it ended, what it wrote, and the calls it made."""

    def __init__(self, seen, counts):
        self.seen, self.counts = seen, counts
        self.begun, self.ended, count = struct.unpack_from("<3q", counts)
        self.pids = struct.unpack_from(f"<{min(count, PIDS)}q", counts, 24)


class Program:
    """A row with one of its doors."""

    def __init__(self, case, row, door):
        self.case, self.row, self.door = case, row, door
        self.name = f"{row.name}-{door}"

    def environment(self):
        doors = {"opencl": self.case.small_opencl, "levelzero": self.case.levelzero, "none": dict,
                 "cuda": dict if REAL_GPU else
                         lambda: {"LD_LIBRARY_PATH": str(self.case.build / "tests/fake/cuda")}}
        return {**doors[self.door](), **{key: self.word(value) for key, value in self.row.env.items()}}

    def word(self, text):
        text = re.sub(r"\{lib:(.*)\}", lambda found: self.case.program(found[1]), text)
        return re.sub(r"\{system:(.*)\}", lambda found: self.installed(found[1]), text)

    def installed(self, name):
        for path in pathlib.Path("/usr/lib").glob(f"*/{name}"):
            return str(path)
        self.case.skip(f"{name} is not installed")

    def command(self, folder):
        """The words to run it; a program under another name is copied."""
        row, program = self.row, self.case.program("odd_static" if self.door == "none" else f"odd_{self.door}")
        words = [program, *map(self.word, row.long if LONG else row.mode)]
        if not row.before:
            return words
        first = row.before[0]
        if first.startswith("{copy:"):
            copy = folder.parent / (self.name + "-as") / first[6:-1]
            copy.parent.mkdir(exist_ok=True)
            shutil.copy(program, copy)
            return [str(copy), *words[1:]]
        if first == "{exec:}":
            return [sys.executable, "-c", "import os, sys; os.execv(sys.argv[1], [''] + sys.argv[2:])", *words]
        if first == "{gdb}":
            return ["gdb", "-q", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "run", "--args", *words]
        return [*row.before, *words]

    def needed(self):
        """The tool that starts it, if it is not installed."""
        tool = self.row.before[0].strip("{}").partition(":")[0] if self.row.before else ""
        return tool if tool not in ("", "copy", "exec") and not shutil.which(tool) else None

    def run(self, way, *gputrack):
        """Runs it in a folder of its own, which has the same name each time."""
        case, folder = self.case, self.case.path(way) / self.name
        folder.mkdir(parents=True)
        counts = case.path(f"{self.name}-{way}.counts")
        counts.write_bytes(bytes(24 + 8 * PIDS))
        environment = dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC", NO_COLOR="1", GPUTRACK_CONFIG="",
                           ODD_COUNTS=str(counts), **self.environment())
        process = subprocess.Popen([*map(str, gputrack), *self.command(folder)], cwd=folder, env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            out, err = process.communicate()
            err += b"HUNG"
        out = re.sub(rb"\(process \d+\)", b"(process)", out)  # gdb
        files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
                 if path.is_file()}
        shutil.rmtree(folder)
        return Result({"status": process.returncode, "out": out.decode(errors="replace"),
                       "err": err.decode(errors="replace"), "files": files},
                      counts.read_bytes())


def differences(program, bare, other):
    """What differs between two runs, as text; empty: nothing."""
    found = []
    for key, value in bare.seen.items():
        now = other.seen[key]
        if key == "err" and program.row.says:
            now = re.sub(program.row.says, "", now)
        if value == now:
            continue
        if isinstance(value, str):
            words = (difflib.ndiff(value.split(), now.split()))
            found.append(f"{program.name}: {key}: " + " ".join(w for w in words if w[0] != " ")[:1000])
        else:
            found.append(f"{program.name}: {key}: bare {str(value)[:500]}, now {str(now)[:500]}")
    return found


def missing(program, other, recorded, lost, way="run", unrecorded=0):
    """What a record lacks; `lost` are those that it says it lacks."""
    calls, begun, ended = program.row.calls, other.begun, other.ended
    if way == "attach" and calls in ("parent", "counted", "none"):
        calls = "all"  # it needs nothing of the program
    if way == "run" and calls == "parent" and not unrecorded:
        return [f"{program.name}: no process is said to be unrecorded"]
    if (calls == "all" and (recorded, lost) != (begun, 0) or
            calls == "counted" and recorded + lost != begun or
            calls == "most" and not ended - (begun - ended) <= recorded + lost <= begun or
            calls == "parent" and not 0 < recorded < begun or
            calls == "none" and recorded):
        return [f"{program.name}: {begun} calls began and {ended} ended, {recorded} recorded, {lost} lost"]
    return []


def programs(case, row, reasons):
    """A row with each of its doors that is to be had here; `reasons` gets why others are not."""
    for door in row.doors if case.driver == "ours" else ["levelzero"]:
        program = Program(case, row, door)
        try:
            if program.needed():
                case.skip(f"{program.needed()} is not installed")
            program.command(case.path("none"))
            program.environment()
        except harness.Skip as reason:
            reasons.append(str(reason))
            continue
        yield program


def compare(case, program, bare, *options):
    """What a recorded run does differently, or does not record."""
    way = "tracker" if options else "run"
    recording = case.path(f"{program.name}-{way}.gt")
    other = program.run(way, case.build / "gputrack", "run", "-q", "-o", recording, *options, "--")
    summary = case.report(recording, "summary")
    return [f"{way}: {text}" for text in differences(program, bare, other)
            + missing(program, other, summary["recording"]["events"], summary["lost"],
                      unrecorded=summary["recording"].get("unrecorded", 0))]


def under_run(case, row):
    found, reasons, count = [], [], 0
    for program in programs(case, row, reasons):
        bare = program.run("bare")
        if bare.seen["status"] == SKIPPED:
            reasons.append(bare.seen["err"])
            continue
        found += compare(case, program, bare)
        if program.door == "levelzero" and not row.tracker:
            found += compare(case, program, bare, "--csv", case.path("t.csv"), "--log", case.path("t.log"))
        count += 1
    assert not found, "\n".join(found)
    if not count:
        case.skip(reasons[0])


class Runner:
    """A process that attach follows, and that runs the programs when it is told to."""

    def __init__(self, case, programs):
        self.case, self.programs = case, programs
        self.results = case.path("results")
        sys.stdout.flush()
        wait, self.go = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.go)
            try:
                libraries = [self.map(path) for path in self.libraries()]
                os.read(wait, 1)
                done = [program.run("attach") for program in programs]
                self.results.write_bytes(pickle.dumps([(result.seen, result.counts) for result in done]))
                assert libraries
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(wait)

    def libraries(self):
        """Those of the APIs: what attach has not seen before, it may see late."""
        system = pathlib.Path("/usr/lib")
        yield from system.glob("*/libOpenCL.so.1")
        yield from system.glob("*/libze_loader.so.1")
        yield from (self.case.build / "tests/fake/cuda").glob("libcuda.so.1")

    @staticmethod
    def map(path):
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)

    def run(self):
        os.write(self.go, b"x")
        os.close(self.go)
        os.waitpid(self.pid, 0)
        return [Result(*result) for result in pickle.loads(self.results.read_bytes())]


def events_by_pid(case, recording):
    done = case.gputrack("export", recording, "--no-symbols", "--format", "json", timeout=600)
    assert done.status == 0, done.err
    counts = {}
    for pid in re.findall(r'"pid": ?(\d+)', done.out):
        counts[int(pid)] = counts.get(int(pid), 0) + 1
    return counts


@harness.alone
def test_under_attach(case):
    """All programs, one after another, as children of a process that is followed."""
    need_root(case)
    kernel = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    wanted = [program for row in table.ROWS if not row.held for program in programs(case, row, [])
              if not row.kernel or kernel >= row.kernel]
    wait_for_perf_probes_to_go()  # exceptions end at their return probes, bare ones too
    bare = [program.run("bare") for program in wanted]
    runner = Runner(case, wanted)
    attached = Attached(case, "-p", runner.pid, "--ring-size", "16M")
    after = runner.run()
    status = attached.stop(None)
    assert status == 0, (status, attached.err)  # otherwise it has not seen all of them
    events, found = events_by_pid(case, "a.gt"), []
    lost = case.report("a.gt", "summary")["lost"]
    assert lost == 0, lost
    for program, before, other in zip(wanted, bare, after):
        if before.seen["status"] == SKIPPED:
            continue
        found += differences(program, before, other)
        found += missing(program, other, sum(events.get(pid, 0) for pid in other.pids), 0, "attach")
    assert not found, "\n".join(found)


def test_rows_name_tests_that_exist(case):
    names = [row.name for row in table.ROWS]
    assert len(set(names)) == len(names) >= 68
    for row in table.ROWS:
        assert row.odd
        if row.held:
            module, _, function = row.held.partition("/")
            text = (HERE / f"test_{module}.py").read_text()
            assert f"def test_{function}(case):" in text, row.held


for _row in table.ROWS:
    if not _row.held:
        _test = functools.partial(under_run, row=_row)
        if "levelzero" in _row.doors:
            harness.also_on("intel", is_long=True)(_test)
        globals()["test_" + _row.name.replace("-", "_")] = _test
