# SPDX-License-Identifier: MIT
"""test_monitor.py - gputrack monitor: the rows, against what /proc tells us ourselves."""
import csv
import datetime
import os
import pathlib
import re
import signal
import subprocess
import time

HEADER = ("timestamp,description,pid,name,cpu_percent,memory_mb,memory_percent,disk_read_kb,"
          "disk_write_kb")
BUSY = "while :; do :; done"


def one_line(done, status):
    assert done.status == status, (done.status, done.out, done.err)
    assert len(done.err.splitlines()) == 1, done.err
    return done.err


def rows(text):
    assert text.startswith(HEADER + "\n"), text
    return list(csv.DictReader(text.splitlines()))


def proc(pid, file):
    return pathlib.Path(f"/proc/{pid}/{file}").read_text()


def cpu_s(pid):
    """Processor time by the scheduler's own count: of all threads, none of ours has ended."""
    return sum(int(path.read_text().split()[0])
               for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def when(row):
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}", row["timestamp"]), row
    return datetime.datetime.strptime(row["timestamp"], "%Y-%m-%d %H:%M:%S.%f").timestamp()


def test_rows_agree_with_proc(case):
    busy = case.start("sh", "-c", BUSY)
    idle = case.start("sleep", "1000")
    try:
        before, began = cpu_s(busy.pid), time.time()
        done = case.gputrack("monitor", "--pids", f"{busy.pid},{idle.pid}", "--interval", "0.1",
                             "--duration", "1", "--description", "--free-ratio 1.0")
        after, ended = cpu_s(busy.pid), time.time()
        assert done.status == 0 and done.err == "", done.err
        found = rows(done.out)
        mine = [r for r in found if r["pid"] == str(busy.pid)]
        other = [r for r in found if r["pid"] == str(idle.pid)]
        assert len(mine) + len(other) == len(found) and len(mine) == len(other) >= 1
        # rows add up to no more than was used while we looked, and miss the two ends only
        used, last = 0.0, None
        for row in mine:
            assert began - 1e-3 <= when(row) <= ended + 1e-3
            if last is not None:
                used += float(row["cpu_percent"]) / 100 * (when(row) - last)
            last = when(row)
        assert used <= (after - before) * 1.02 + 0.02, (used, after - before)
        assert sum(float(r["cpu_percent"]) for r in mine) > 0
        assert all(float(r["cpu_percent"]) == 0 for r in other), other
        for pid, some, name in ((busy.pid, mine, "sh"), (idle.pid, other, "sleep")):
            pages = int(proc(pid, "statm").split()[1])
            io = dict(line.split(": ") for line in proc(pid, "io").splitlines())
            assert {r["description"] for r in some} == {"--free-ratio 1.0"}
            for row in some[-1:]:  # the first may be of a process that is still being started
                assert row["name"] == name
                assert abs(float(row["memory_mb"]) - pages * 4096 / 2**20) < 1
                assert row["disk_read_kb"] == f"{int(io['read_bytes']) / 1024:.1f}"
                assert row["disk_write_kb"] == f"{int(io['write_bytes']) / 1024:.1f}"
    finally:
        for process in (busy, idle):
            process.kill()
            process.wait()


def test_monitor_ends_with_the_last_process(case):
    first, second = (case.start("sleep", "1000") for _ in range(2))
    monitor = case.start(case.build / "gputrack", "monitor", "--pids", str(first.pid), "--pids",
                         str(second.pid), "--interval", "0.01")
    out = monitor.stdout.readline() + monitor.stdout.readline()
    first.kill()
    first.wait()
    assert monitor.poll() is None
    line = b""
    seen = 0
    while seen < 5:  # rows of the other come on, each as soon as it is made
        line = monitor.stdout.readline()
        out += line
        seen = seen + 1 if f",{second.pid},".encode() in line else seen
    second.kill()
    second.wait()
    rest, err = monitor.communicate(timeout=60)
    assert monitor.returncode == 0 and err == b"", err
    found = rows((out + rest).decode())
    assert {r["pid"] for r in found} == {str(first.pid), str(second.pid)}
    assert f",{first.pid}," not in rest.decode()


def test_runs_are_appended_only_to_files_of_monitor_rows(case):
    def run(text):
        return case.gputrack("monitor", "--output", "m.csv", "--interval", "0.02",
                             "--description", text, "sleep", "0.5")

    for text in ("one", "two, and \"three\""):
        done = run(text)
        assert (done.status, done.out, done.err) == (0, "", ""), done.err
    text = case.path("m.csv").read_text()
    assert text.count("timestamp,") == 1
    assert {r["description"] for r in rows(text)} == {"one", "two, and \"three\""}
    # a row that was cut by a kill does not spoil the next
    case.path("m.csv").write_text(text[:-7])
    assert run("four").status == 0
    last = case.path("m.csv").read_text().splitlines()[-1]
    assert last.split(",")[1] == "four" and len(last.split(",")) == 9, last
    for other in ("hello\n", "timestamp,pid\n1,2\n", HEADER[:-1]):
        case.path("m.csv").write_text(other)
        message = one_line(run("five"), 1)
        assert "m.csv" in message and case.path("m.csv").read_text() == other
    assert "no/such" in one_line(case.gputrack("monitor", "-o", "no/such/m.csv", "true"), 1)


def test_a_program_that_cannot_start_leaves_no_output_file(case):
    for before in (None, "", HEADER + "\n"):
        if before is not None:
            case.path("m.csv").write_text(before)
        message = one_line(case.gputrack("monitor", "-o", "m.csv", "/no/such/program"), 1)
        assert "/no/such/program" in message
        assert case.path("m.csv").exists() == (before is not None)
        assert before is None or case.path("m.csv").read_text() == before


def test_a_program_continues_when_its_rows_cannot_be_written(case):
    done = case.gputrack("monitor", "-o", "/dev/full", "sh", "-c", "sleep 0.3; echo done >ended")
    assert "/dev/full" in one_line(done, 1)
    assert case.path("ended").read_text() == "done\n"


def test_hostile_names_stay_in_their_field(case):
    name = 'a,"b"\n\x1b[1m'
    program = case.path("x")
    program.write_text("import ctypes, time\n"
                       f"ctypes.CDLL(None).prctl(15, {name.encode()!r}, 0, 0, 0)\n"
                       "print('ready', flush=True)\ntime.sleep(1000)\n")
    process = case.start("python3", program)
    try:
        assert process.stdout.readline() == b"ready\n"
        done = case.gputrack("monitor", "-p", process.pid, "-i", "0.01", "-d", "0.03")
        assert "\x1b" not in done.out
        assert {r["name"] for r in rows(done.out)} == {'a,"b"\\x0a\\x1b[1m'}, done.out
    finally:
        process.kill()
        process.wait()


def test_long_names_are_complete(case):
    long = case.path("a-name-longer-than-the-kernel-keeps")
    long.symlink_to("/bin/sleep")
    done = case.gputrack("monitor", "-i", "0.02", "--", long, "0.5")
    assert {r["name"] for r in rows(done.out)} >= {long.name}, done.out


def test_monitor_starts_a_program(case):
    done = case.gputrack("monitor", "-i", "0.01", "--", "sh", "-c", "sleep 0.5; exit 7")
    assert done.status == 7 and rows(done.out), (done.status, done.err)
    done = case.gputrack("monitor", "--", "sh", "-c", "kill -9 $$")
    assert done.status == 128 + 9, done.status
    done = case.gputrack("monitor", "./not-there")
    assert "./not-there" in one_line(done, 1) and done.out == "", done.out
    # an interrupt reaches the program and ends both
    process = case.start(case.build / "gputrack", "monitor", "-i", "0.01", "sleep", "1000")
    process.stdout.readline()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT, process.returncode


def test_signals_reach_the_program_after_the_last_row(case):
    process = case.start(case.build / "gputrack", "monitor", "-d", "0.05", "-i", "0.01", "-o",
                         "m.csv", "--", "sleep", "60")
    while not case.path("m.csv").exists() or case.path("m.csv").read_text().count("\n") < 3:
        time.sleep(0.02)
    time.sleep(0.2)  # the rows are over, or soon will be: either way it is to end
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM


def test_processes_by_name_and_the_short_description(case):
    """As gpu-memleak-trace's pid_mon.py takes them."""
    case.path("named one").symlink_to("/bin/sleep")
    sleepers = [subprocess.Popen([case.path("named one"), "100"]) for _ in range(2)]
    other = subprocess.Popen(["sleep", "100"])
    done = case.gputrack("monitor", "--name", "named o*", "--pids", f"{other.pid},{sleepers[0].pid}",
                         "--desc", "a text", "-i", "0.05", "-d", "0.05")
    for process in sleepers + [other]:
        process.kill()
        process.wait()
    found = rows(done.out)
    assert sorted(int(row["pid"]) for row in found) == sorted(p.pid for p in sleepers + [other]), done.out
    assert {row["description"] for row in found} == {"a text"}
    assert "no process is called 'nobody-here'" in one_line(case.gputrack(
        "monitor", "--name", "nobody-here", "-d", "0.1"), 1)


def test_wrong_pids_are_reported_in_one_line(case):
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert str(gone.pid) in one_line(case.gputrack("monitor", "--pids", gone.pid), 1)
    for words in (["--pids", "x"], ["--pids", "1,,2"], ["--pids", "-1"], ["--pids", "0"],
                  ["--interval", "0", "--pids", os.getpid()],
                  ["-d", "18446744073", "--pids", os.getpid()], []):
        assert "monitor --help" in one_line(case.gputrack("monitor", *words), 2)
