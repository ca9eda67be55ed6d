# SPDX-License-Identifier: MIT
"""test_endings.py - every row of the table in doc/endings.md: word and status for each way to end."""
import os
import pathlib
import re
import signal
import time

import harness
from test_attach import Attached, need_root, read_line

ALIVE = ("LEAKED", "PERHAPS LEAKED", "ALIVE WHEN KILLED", "ALIVE")
KEYS = dict(zip(ALIVE, ("leaked", "perhaps", "killed", "alive")))

# The ways that need nothing but the program: the table's words, and the program's.
SIMPLE = {
    "return from main": "return", "exit": "exit", "`_exit`": "_exit", "quick_exit": "quick_exit",
    "pthread_exit of the last thread": "last-thread", "exec of another program": "exec",
    "uncaught exception": "throw", "abort": "abort", "SIGSEGV in the driver": "driver-segv",
    "SIGTERM": "term", "SIGKILL": "kill",
}


def rows(case):
    """{way: [(word, status) or None, …]}, in the order of the table's columns."""
    text = (case.source / "doc/endings.md").read_text()
    table = text[text.index("| the program ends by"):].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return {way: [None if cell == "-" else (cell.rsplit(", ", 1)[0], int(cell.rsplit(", ", 1)[1]))
                  for cell in more] for way, *more in cells}


COLUMNS = [("leak", "run"), ("clean", "run"), ("leak", "attach"), ("clean", "attach")]


def expected(case, way, column):
    return rows(case)[way][COLUMNS.index(column)]


def check(case, way, column, *recording):
    """The recording says what the table's cell says, as text, JSON and status."""
    word, status = expected(case, way, column)
    done = case.gputrack("report", *recording, "--fail-on-leak")
    where = (way, column, done.out, done.err)
    assert done.status == status, (done.status, *where)
    assert re.search(rf"^{word}\b", done.out, re.M), where
    for other in ALIVE:
        assert other == word or not re.search(rf"^{other}  ", done.out, re.M), where
    fates = case.report(*recording[:1], "leakage", *recording[1:])["fates"]
    counts = {key: fates[key]["count"] for key in fates if fates[key]["count"]}
    assert counts == ({KEYS[word]: counts.get(KEYS[word])} if word in KEYS else {}), where
    if status == 25:
        assert done.err.startswith("UNSURE") and "so gputrack cannot tell" in " ".join(done.err.split()), where


def endings(case, *how):
    return [case.program("endings"), *how]


def ways(case):
    """The simple ones that this build has."""
    done = case.run(*endings(case, "throw", "clean"), env=case.levelzero(), preexec=harness.no_cores)
    return {way: word for way, word in SIMPLE.items() if word != "throw" or done.status == -signal.SIGABRT}


def test_the_table_has_a_row_for_every_way(case):
    known = {**SIMPLE, **OTHERS}
    assert set(rows(case)) == set(known), set(rows(case)) ^ set(known)


@harness.also_on("intel", is_long=True)
def test_the_program_itself_ends(case):
    for way, word in ways(case).items():
        for how in "leak", "clean":
            bare = case.run(*endings(case, word, how), env=case.levelzero(), preexec=harness.no_cores)
            done = case.gputrack("run", "-q", "-o", "r.gt", *endings(case, word, how),
                                 env=case.levelzero(), preexec=harness.no_cores)
            assert (done.status, done.out) == (bare.status, bare.out), (way, done.err)
            check(case, way, (how, "run"), "r.gt")


SCRIPT = """
while read way how; do
    "$0" $way $how & echo $way $how $!
    wait $!
done 2>/dev/null
"""


def pids_of(out):
    return {tuple(line.split()[:2]): line.split()[2] for line in out.splitlines() if line[-1].isdigit()}


@harness.also_on("intel", is_long=True)
def test_a_child_of_the_program_ends(case):
    """Its parent, a shell that gputrack does not see into, takes its status at once."""
    cases = "".join(f"{word} {how}\n" for word in ways(case).values() for how in ("leak", "clean"))
    done = case.gputrack("run", "-q", "-o", "r.gt", "bash", "-c", SCRIPT, *endings(case), env=case.levelzero(),
                         stdin=cases.encode(), preexec=harness.no_cores)
    for way, word in ways(case).items():
        for how in "leak", "clean":
            check(case, way, (how, "run"), "r.gt", "--pid", pids_of(done.out)[word, how])


@harness.alone
def test_an_attached_process_ends(case):
    need_root(case)
    cases = "".join(f"{word} {how}\n" for word in ways(case).values() for how in ("leak", "clean"))
    done = case.gputrack("attach", "-q", "-i", "0", "-o", "a.gt", "-c", "--", "bash", "-c", SCRIPT,
                         *endings(case), env=case.levelzero(), stdin=cases.encode(), preexec=harness.no_cores)
    for way, word in ways(case).items():
        for how in "leak", "clean":
            check(case, way, (how, "attach"), "a.gt", "--pid", pids_of(done.out)[word, how])


# Ways that need something around the program. Each gives the arguments of `report`.

def record(case, column, *command, options=()):
    """Records a command by `run` or `attach -c`."""
    name = "-".join(column) + ".gt"
    start = ("run",) if column[1] == "run" else ("attach", "-i", "0")
    end = ("--",) if column[1] == "run" else ("-c", "--")
    done = case.gputrack(*start, "-q", "-o", name, *options, *end, *command, env=case.levelzero(),
                         preexec=harness.no_cores)
    assert done.status != 1, done.err
    return [name]


def by_busy__exit(case, column):
    return record(case, column, *endings(case, "_exit-busy", column[0]))


def by_orphan(case, column):
    # cat waits for whoever has the pipe: the orphan, too
    return record(case, column, "sh", "-c", f'"$0" orphan {column[0]} | cat', case.program("endings"))


def by_timeout(case, column):
    return record(case, column, "timeout", "1", *endings(case, "pause", column[0]))


def memory_group(case):
    for path in pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup"):
        group = path / f"gputrack-test-{os.getpid()}"
        limit = group / ("memory.limit_in_bytes" if path.name == "memory" else "memory.max")
        try:
            group.mkdir()
            limit.write_text(str(64 << 20))
            return group
        except OSError:
            if group.exists():
                group.rmdir()
    case.skip("no memory group can be made here")


def by_oom(case, column):
    group = memory_group(case)
    try:
        return record(case, column, "sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$0" oom {column[0]}',
                      case.program("endings"))
    finally:
        group.rmdir()


def test_the_kernels_oom_killer_is_named(case):
    name, = by_oom(case, ("leak", "run"))
    process, = [p for p in case.report(name, "summary")["recording"]["processes"] if p["signal"]]
    assert process["signal"] == 9 and process["oom_kill"] is True, process
    text = " ".join(case.gputrack("report", name).out.split())
    assert "OUT OF MEMORY" in text, text
    assert "was killed by the kernel, because memory of the host ran out" in text, text
    other, = record(case, ("clean", "run"), *endings(case, "kill", "leak"))
    assert "OUT OF MEMORY" not in case.gputrack("report", other).out


class Waiting:
    """The program, waiting with its resources alive; under `run` or on its own."""

    def __init__(self, case, how, *before):
        self.process = case.start(*before, *endings(case, "wait", how), env=case.levelzero(), bufsize=0)
        assert read_line(self.process.stdout) == "ready\n"


def attach_to_waiting(case, how, *options):
    """Attached before it makes its calls: the program is held by a pipe until then."""
    hold = case.start("sh", "-c", f'read line; exec "$0" wait {how}', case.program("endings"),
                      env=case.levelzero(), bufsize=0)
    attached = Attached(case, "-p", hold.pid, *options, name=f"{how}.gt")
    hold.stdin.write(b"go\n")
    assert read_line(hold.stdout) == "ready\n"
    return hold, attached


def wait_for_events(case, recording):
    """Until the tracer has written what it has seen."""
    while not case.events(recording):
        time.sleep(0.05)


def by_killed_gputrack(case, column):
    how, by = column
    if by == "run":
        waiting = Waiting(case, how, case.build / "gputrack", "run", "-q", "-o", "run.gt")
        waiting.process.kill()
        waiting.process.wait()
        program = case.report("run.gt", "summary")["recording"]["processes"][0]["pid"]
        waiting.process.stdin.write(b"\n")
        while os.path.exists(f"/proc/{program}"):
            time.sleep(0.01)
        return ["run.gt"]
    program, attached = attach_to_waiting(case, how)
    wait_for_events(case, f"{how}.gt")
    attached.process.kill()
    attached.process.wait()
    program.communicate(b"\n", timeout=60)
    return [f"{how}.gt"]


def by_going_on(case, column):
    how, by = column
    if by == "run":
        case.waiting = [Waiting(case, how, case.build / "gputrack", "run", "-q", "-o", f"{how}.gt").process]
    else:
        program, attached = attach_to_waiting(case, how)
        case.waiting = [program, attached.process]
        wait_for_events(case, f"{how}.gt")
    return [f"{how}.gt"]


def by_detaching(case, column):
    program, attached = attach_to_waiting(case, column[0])
    assert attached.stop() == 0, attached.err
    program.communicate(b"\n", timeout=60)
    return [f"{column[0]}.gt"]


def by_size(case, column):
    return record(case, column, *endings(case, "many", column[0], "20000"), options=("--max-size", "100K"))


def by_time(case, column):
    if column[1] == "attach":
        program, attached = attach_to_waiting(case, column[0], "-d", "2")
        attached.stop(None)
        program.communicate(b"\n", timeout=60)
        return [f"{column[0]}.gt"]
    return record(case, column, *endings(case, "until", column[0]), options=("-d", "2"))


def by_full_disk(case, column):
    with case.small_disk("256k" if column[0] == "leak" else "260k") as disk:
        name = f"{disk}/{'-'.join(column)}.gt"
        start = ("run",) if column[1] == "run" else ("attach", "-i", "0")
        end = ("--",) if column[1] == "run" else ("-c", "--")
        case.gputrack(*start, "-q", "-o", name, *end, *endings(case, "many", column[0], "40000"),
                      env=case.levelzero())
        case.run("cp", "-r", name, case.folder)
    return ["-".join(column) + ".gt"]


def by_reset(case, column):
    """As a machine that was reset leaves it: no end, and another boot."""
    recording, = by_going_on(case, column)
    copy = f"reset-{recording}"
    case.run("cp", "-r", recording, copy)
    trace, = case.path(copy).glob("[0-9]*.trace")
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    data = trace.read_bytes()
    assert boot in data
    trace.write_bytes(data.replace(boot, b"0" * len(boot)))
    return [copy]


OTHERS = {
    "`_exit` while another thread works": by_busy__exit,
    "the kernel's OOM killer": by_oom,
    "timeout(1)": by_timeout,
    "exit, after its parent has died": by_orphan,
    "exit, after `gputrack` was killed": by_killed_gputrack,
    "nothing: it still runs": by_going_on,
    "nothing: `attach` detached": by_detaching,
    "exit, after recording stopped at its size": by_size,
    "exit, after recording stopped at its time": by_time,
    "exit, after the disk was full": by_full_disk,
    "nobody knows: the machine was reset": by_reset,
}


def row_test(way, function, by):
    def test(case):
        if by == "attach":
            need_root(case)
        for how in "leak", "clean":
            if not expected(case, way, (how, by)):
                continue
            try:
                check(case, way, (how, by), *function(case, (how, by)))
            finally:
                for process in getattr(case, "waiting", []):
                    process.send_signal(signal.SIGTERM)
                    process.communicate(timeout=60)
                case.waiting = []
    return harness.alone(test) if by == "attach" else test


for _way, _function in OTHERS.items():
    for _by in "run", "attach":
        globals()[f"test_{_function.__name__[3:]}_under_{_by}"] = row_test(_way, _function, _by)
