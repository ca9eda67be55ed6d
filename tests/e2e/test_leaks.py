# SPDX-License-Identifier: MIT
"""test_leaks.py - our memory and descriptors in and for a process do not grow."""
import os
import pathlib
import re
import resource
import socket
import subprocess
import time
from urllib.parse import urlsplit

import harness
from test_attach import need_root
from test_html_served import Served, ask

LONG = bool(os.environ.get("GPUTRACK_TEST_LONG"))


def steady(case, *options, **env):
    """Descriptors, mappings and bytes after ten rounds and at the end."""
    done = case.run(case.program("steady"), "--layer", case.build / "libgputrack_opencl.so", *options,
                    env=env)
    assert done.status == 0 and not done.err, (done.status, done.err)
    found = re.findall(r"^descriptors (\d+) mappings (\d+) bytes (\d+)$", done.out, re.M)
    assert len(found) == 2, done.out
    return [[int(n) for n in row] for row in found]


def ways(case):
    """Environments: recorded, with a limit and the resource tracker, with the extension's tracking."""
    return [{"GPUTRACK_RECORDING": str(case.path("r.gt"))},
            {"GPUTRACK_RECORDING": str(case.path("t.gt")), "GPUTRACK_MAX_SIZE": str(1 << 30),
             "GPUTRACK_CSV": str(case.path("t.csv")), "GPUTRACK_LOG": str(case.path("log"))},
            {"ACL_TRACK_LEAKS": "1"}]


def test_cycles_of_threads_forks_and_libraries_leak_nothing_in_the_process(case):
    rounds = ["--rounds", "5000" if LONG else "400", "--plugin", case.program("steady_plugin.so")]
    bare_first, bare_last = steady(case, *rounds)
    for env in ways(case):
        first, last = steady(case, *rounds, **env)
        assert last[0] == first[0], (env, first, last)
        assert last[1] <= first[1] + 4, (env, first, last)  # malloc may have split one
        # the loader's own come once; a table of stacks for each unloading would be hundreds of them
        assert last[2] - first[2] <= bare_last[2] - bare_first[2] + 4096, (env, first, last)


def test_generations_of_children_do_not_accumulate_resources(case):
    for env in ways(case)[:2]:
        first, last = steady(case, "--generations", "500" if LONG else "80", **env)
        assert last[0] == first[0], (env, first, last)
        assert last[1] <= first[1] + 4, (env, first, last)
        assert last[2] <= first[2] + (256 << 10), (env, first, last)


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))


def test_a_report_keeps_no_descriptors_of_ended_processes(case):
    run = case.gputrack("run", "-q", "-o", "r.gt", "sh", "-c",
                        'for i in $(seq 50); do "$0" --calls 10 >/dev/null; done; true',
                        case.program("ze_steps"), env=case.levelzero())
    assert run.status == 0 and len(list(case.path("r.gt").glob("*.trace"))) == 50, run.err
    for command in ("report r.gt", "report r.gt -a processes", "export r.gt", "html r.gt -o r.html",
                    "diff r.gt r.gt"):
        done = case.gputrack(*command.split(), preexec=few_descriptors)
        if "built without" in done.err:
            continue
        assert done.status == 0 and done.err in ("", "gputrack: wrote r.html\n"), (command, done.err)
        assert "damaged" not in done.out and "cannot be read" not in done.out, (command, done.out)


def descriptors_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def memory_kb(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^RssAnon:\s+(\d+) kB", text, re.M).group(1))


def wait_for(condition, seconds=60):
    """The timeout is only for conditions that never come true."""
    end = time.time() + seconds
    while time.time() < end and not condition():
        time.sleep(0.02)
    assert condition()


@harness.alone
def test_a_tracer_forgets_ended_processes(case):
    """attach follows one program after another, and holds resources only for live ones."""
    need_root(case)
    many, count = 400 if LONG else 60, case.path("count")
    script = f"""for i in $(seq {many}); do
        "$0" --calls 50 >/dev/null; echo $i >>count
        [ $i != 10 ] || while [ ! -e go ]; do sleep 0.02; done
    done; while [ ! -e end ]; do sleep 0.02; done"""
    process = case.start(case.build / "gputrack", "attach", "-q", "-i", "0", "--api", "levelzero",
                         "-o", "a.gt", "-c", "sh", "-c", script, case.program("ze_steps"),
                         env=case.levelzero())
    try:
        wait_for(lambda: count.exists() and count.read_text().count("\n") == 10)
        descriptors, memory = descriptors_of(process.pid), memory_kb(process.pid)
        case.path("go").touch()
        wait_for(lambda: count.read_text().count("\n") == many)
        wait_for(lambda: descriptors_of(process.pid) <= descriptors + 2)
        assert memory_kb(process.pid) <= memory + 2048, (memory, memory_kb(process.pid))
    finally:
        for name in ("go", "end"):
            case.path(name).touch()
        err = process.communicate(timeout=60)[1]
    assert process.returncode == 0, err
    assert case.report("a.gt", "summary")["recording"]["events"] == 51 * many


def test_a_server_forgets_past_clients(case):
    case.need_page()
    subprocess.run([case.build / "tests/golden/make_recordings", case.folder], check=True)
    with Served(case, "leaks.gt") as served:
        def ask_often(times):
            for i in range(times):
                if i % 3:
                    ask(served.address, ("data.json", "")[i % 2])
                    continue
                # one that hangs up in the middle of a word
                with socket.create_connection(("127.0.0.1", urlsplit(served.address).port)) as s:
                    s.sendall(b"GET /")
            ask(served.address)
        ask_often(30)
        descriptors, memory = descriptors_of(served.process.pid), memory_kb(served.process.pid)
        ask_often(2000 if LONG else 200)
        wait_for(lambda: descriptors_of(served.process.pid) <= descriptors)
        assert memory_kb(served.process.pid) <= memory + 4096, memory_kb(served.process.pid)
