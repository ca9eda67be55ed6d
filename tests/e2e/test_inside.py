# SPDX-License-Identifier: MIT
"""test_inside.py - a process that ends inside a call: which call, from where, with what arguments."""
import re
import shutil

import harness
from harness import alone, no_cores
from test_attach import need_root

WAYS = {"segv": -11, "abort": -6, "kill": -9, "exit": 1, "_exit": 1}

# What the driver is asked to end the process in, and an argument that the program prints.
CALLS = {"zeContextCreate": None, "zeMemAllocDevice": None, "zeCommandListAppendBarrier": "list",
         "zeMemFree": "memory", "zeCommandListDestroy": "list"}
NAMES = {"zeContextCreate": ["hDriver", "desc", "phContext"],
         "zeMemAllocDevice": ["hContext", "device_desc", "size", "alignment", "hDevice", "pptr"],
         "zeCommandListAppendBarrier": ["hCommandList", "hSignalEvent", "numWaitEvents",
                                        "phWaitEvents"],
         "zeMemFree": ["hContext", "ptr"], "zeCommandListDestroy": ["hCommandList"]}


def last_call(case, name="r.gt"):
    last, = case.report(name, "summary")["last_calls"]
    return last


def check_text(case, function, name="r.gt"):
    text = " ".join(case.gputrack("report", name).out.split())
    assert "ENDED INSIDE A CALL" in text and f"{function}(" in text, text
    assert "NOTHING WAS TRACKED" not in text, text


def check(case, function, how, thread):
    env = case.levelzero(GT_FAKE_ZE_END=f"{function}:{how}")
    done = case.gputrack("run", "-q", "-o", "r.gt", case.program("ze_inside"), *thread, env=env,
                         preexec=no_cores)
    what = (function, how, thread, done.out, done.err)
    assert done.status == WAYS[how], (done.status, what)
    last = last_call(case)
    assert last["function"] == function and last["stack"][0]["function"] == "make_calls", (last, what)
    assert bool(thread) == (last["tid"] != last["pid"]), last
    arguments = {a["name"]: a["value"] for a in last["arguments"]}
    assert list(arguments) == NAMES[function], last
    if function == "zeMemAllocDevice":
        assert arguments["size"] == "0x1000" and arguments["alignment"] == "0x40", arguments
    if CALLS[function]:
        printed = re.search(rf"{CALLS[function]}=(0x[0-9a-f]+)", done.out).group(1)
        assert printed in arguments.values() and printed == last["handle"], (last, what)
    check_text(case, function)


def test_the_call_a_level_zero_program_ends_in_is_known(case):
    for function in CALLS:
        for how in WAYS:
            check(case, function, how, [])


def test_the_call_that_ends_a_process_may_be_another_threads(case):
    for function in CALLS:
        for how in ("segv", "exit"):
            check(case, function, how, ["--thread"])


def test_the_call_an_opencl_program_crashes_in_is_known(case):
    for call, function, argument in (
            ("first", "clCreateContext", ("properties", "0x10")),
            ("create", "clCreateBuffer", ("context", "0x10")),
            ("enqueue", "clEnqueueMarkerWithWaitList", ("event_wait_list", "0x10")),
            ("retain", "clRetainCommandQueue", ("command_queue", "0x10")),
            ("release", "clReleaseCommandQueue", ("command_queue", "0x10"))):
        done = case.gputrack("run", "-q", "-o", "r.gt", case.program("inside"), "--call", call,
                             env=case.pocl(), preexec=no_cores)
        assert done.status == -11, (call, done.status, done.err)
        last = last_call(case)
        assert last["function"] == function and last["stack"][0]["function"] == "main", last
        assert dict(zip(("name", "value"), argument)) in last["arguments"], last
        check_text(case, function)


def test_a_compiler_that_exits_is_named(case):
    """Intel's, on what is no SPIR-V."""
    case.intel()
    env = {"NEOReadDebugKeys": "1", "SetCommandStreamReceiver": "1", "ProductFamilyOverride": "dg1",
           "AUBDumpCaptureFileName": "/dev/null"}
    done = case.gputrack("run", "-q", "-o", "r.gt", case.program("ze_inside"), "--module", env=env)
    if "error" in done.err or not case.path("r.gt").exists():
        case.skip("Intel's Level Zero driver does not run here")
    assert done.status == 1, (done.status, done.err)
    assert last_call(case)["function"] == "zeModuleCreate"
    check_text(case, "zeModuleCreate")


@harness.also_on("intel")
def test_a_call_that_returned_is_not_the_one_a_program_ended_in(case):
    env = case.levelzero()
    done = case.gputrack("run", "-q", "-o", "r.gt", case.program("ze_inside"), env=env)
    assert done.status == 0, done.err
    assert case.report("r.gt", "summary")["last_calls"] == []


@alone
def test_attached_programs_end_inside_calls_too(case):
    need_root(case)
    for function in ("zeContextCreate", "zeMemAllocDevice", "zeMemFree"):
        for how, thread in (("segv", []), ("exit", ["--thread"]), ("kill", ["--thread"])):
            shutil.rmtree(case.path("a.gt"), ignore_errors=True)
            done = case.gputrack("attach", "-q", "-i", "0", "--api", "levelzero", "-o", "a.gt", "-c",
                                 case.program("ze_inside"), *thread, preexec=no_cores,
                                 env=case.levelzero(GT_FAKE_ZE_END=f"{function}:{how}"))
            last = last_call(case, "a.gt")
            what = (function, how, last, done.status, done.err)
            assert last["function"] == function, what
            assert [frame["function"] for frame in last["stack"]] == ["make_calls"], what
            assert [a["name"] for a in last["arguments"]] == NAMES[function], what
            assert bool(thread) == (last["tid"] != last["pid"]), what
            check_text(case, function, "a.gt")
    done = case.gputrack("attach", "-q", "-i", "0", "--api", "levelzero", "-o", "b.gt", "-c",
                         case.program("ze_inside"), "--thread", env=case.levelzero())
    assert case.report("b.gt", "summary")["last_calls"] == [], done.err
