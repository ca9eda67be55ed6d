# SPDX-License-Identifier: MIT
"""The Level Zero door as loaders see it, newer functions, other layers, and `gputrack run`."""
import os
import pathlib
import re
import shutil

import harness
from test_levelzero_log import alive_kinds, handle_makers, line_of
from tracker_csv import (COUNTERS, HEADER, app_output, check_against, check_numbers, own_log,
                         read_csv, read_log, the_csv)

# Tables of the newest loader that is known, 1.32: 76.
CORE = ("Global Driver DriverExp Device DeviceExp Context CommandQueue CommandList CommandListExp Image "
        "ImageExp Fence EventPool Event EventExp Module ModuleBuildLog Kernel KernelExp Sampler "
        "PhysicalMem Mem MemExp VirtualMem FabricVertexExp FabricEdgeExp RTASBuilder RTASBuilderExp "
        "RTASParallelOperation RTASParallelOperationExp Graph ExecutableGraph").split()
TOOLS = ("Device DeviceExp Context CommandList CommandListExp Module Kernel MetricGroup MetricGroupExp "
         "Metric MetricExp MetricStreamer MetricQueryPool MetricQuery MetricTracerExp MetricDecoderExp "
         "MetricProgrammableExp TracerExp Debug").split()
SYSMAN = ("Global Driver DriverExp Device DeviceExp Overclock Scheduler PerformanceFactor Power Frequency "
          "Engine Standby Firmware FirmwareExp Memory FabricPort Temperature Psu Fan Led Ras RasExp "
          "Diagnostics VFManagementExp").split()
GETTERS = [f"{prefix}Get{name}ProcAddrTable" for prefix, names in
           (("ze", CORE), ("zet", TOOLS), ("zes", SYSMAN), ("zer", ["Global"])) for name in names]


def layer(case):
    return str(case.build / "levelzero" / "libze_validation_layer.so.1")


def system_layer(case):
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"):
        path = pathlib.Path(folder) / "libze_validation_layer.so.1"
        if path.exists():
            return str(path)
    case.skip("the system has no validation layer of its own")


def slots(case):
    """{getter: [(index, minor, function)]} of the door."""
    text = (case.source / "src/capture/levelzero/slots.def").read_text()
    found = {}
    for table, index, minor, function in re.findall(r"^SLOT\((\w+), (\d+), (\d+), (\w+)\)", text, re.M):
        getter = re.sub(r"^(zet?)", r"\1Get", table) + "ProcAddrTable"
        found.setdefault(getter, []).append((int(index), int(minor), function))
    assert sum(len(entries) for entries in found.values()) > 120
    return found


def sizes(case):
    """{getter: [(since, slots)]}: the table lengths of each version, from the test of the test driver."""
    text = (case.source / "tests/fake/levelzero/test_tables.c").read_text()
    found = {getter: list(zip(*[[int(n) for n in part.split(",")] for part in parts]))
            for getter, *parts in re.findall(
                r'\.getter = "(\w+)",\s*\.since = \{ ([\d, ]+) \},\s*\.sizes = \{ ([\d, ]+) \}', text)}
    # the test driver has none of these
    return dict({"zeGetMemExpProcAddrTable": [(0, 0), (6, 2), (7, 4)]}, **found)


def ask_tables(case, **env):
    """{(getter, what): [numbers]} of the lines that ze_tables prints."""
    run = case.run(case.program("ze_tables"), layer(case), *GETTERS, env=env)
    assert run.status == 0 and "failed" not in run.out, run.err
    found = {}
    for line in run.out.splitlines():
        if line.startswith("missing"):
            continue
        name, what, rest = re.fullmatch(r"(\w+) ([^:]+):(.*)", line).groups()
        found[name, what] = rest.split()
    return found


def test_tables(case):
    """Exactly the slots that a version has are replaced; nothing beyond, and nothing twice."""
    known, lengths = slots(case), sizes(case)
    for getter, entries in known.items():
        for index, minor, function in entries:
            assert minor == next(since for since, size in lengths[getter] if size > index), function
    for env in ({"ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER": "1"},
                {"GPUTRACK_RECORDING": str(case.path("a.gt"))}):
        found = ask_tables(case, **env)
        assert len(found) >= 75 * (2 * 19 + 2)
        for (getter, what), shown in found.items():
            entries = known.get(getter, [])
            version = re.fullmatch(r"1\.(\d+)", what)
            if what == "wrong":
                assert shown == ["0x78000007", "0x78000002"], (getter, shown)
            elif not version:
                assert shown == [], (getter, what, shown)
            else:
                minor = int(version.group(1))
                assert [int(s) for s in shown] == sorted(
                    index for index, since, _ in entries if since <= minor), (getter, what)
                room = [size for since, size in lengths.get(getter, []) if since <= minor]
                assert not shown or max(map(int, shown)) < room[-1], (getter, what, shown)


def test_tables_when_not_asked(case):
    """Without the tracker's variable, and without a recording, nothing is changed."""
    for env in ({}, {"ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER": "0"},
                {"ZEL_SYSTEM_RESOURCE_TRACKER_CSV": "tracker.csv"}):
        for (getter, what), shown in ask_tables(case, **env).items():
            assert what == "wrong" or shown == [], (getter, what, shown)
        assert not list(case.folder.iterdir())


def test_every_table_is_present(case):
    """All 76 that a current loader may ask for, and whatever the system's layer has."""
    assert len(GETTERS) == 76
    run = case.run(case.program("ze_tables"), layer(case), *GETTERS)
    missing = [line for line in run.out.splitlines() if line.startswith("missing")]
    assert not missing, missing
    names = case.run("nm", "-D", "--defined-only", system_layer(case))
    wanted = re.findall(r" T (ze\w+ProcAddrTable)$", names.out, re.M)
    assert len(wanted) >= 53
    run = case.run(case.program("ze_tables"), layer(case), *wanted)
    assert "missing" not in run.out, run.out


def test_only_symbols_the_loader_needs_are_exported(case):
    names = case.run("nm", "-D", "--defined-only", layer(case))
    exported = set(re.findall(r" [A-Z] (\w+)", names.out))
    assert {"zelLoaderSetLogger", "zelLoaderGetVersion"} <= exported
    others = {n for n in exported if not re.fullmatch(r"ze[tsr]?Get\w+ProcAddrTable|zelLoader\w+", n)}
    assert not others, others


def test_file_descriptor_handles_are_tracked(case):
    """zeMemGetIpcHandleFromFileDescriptorExp and its inverse, the table MemExp since 1.6."""
    functions = {f for entries in slots(case).values() for _, _, f in entries}
    assert {"zeMemGetIpcHandleFromFileDescriptorExp",
            "zeMemGetFileDescriptorFromIpcHandleExp"} <= functions


# Functions newer than the loader.

def run_newer(case, *arguments, **env):
    run = case.run(case.program("ze_newer"), layer(case), case.program("libze_fake.so"),
                   "--log", "own", *arguments, env=case.tracker(**env))
    assert run.out == "done\n" and run.status == 0, run.err
    return run


def test_newer_functions(case):
    run = run_newer(case, ZEL_SYSTEM_RESOURCE_TRACKER_CSV="tracker.csv",
                    ZEL_ENABLE_LOADER_LOGGING="1", ZEL_LOADER_LOG_CONSOLE="1")
    rows, calls = read_csv(the_csv(case, run.pid)), own_log(case.path("own"))
    assert not check_against(rows, calls, unlogged=()).alive
    newer = {f for entries in slots(case).values() for _, since, f in entries
             if since > 4 and not f.startswith("zet")}
    assert len(newer) > 25
    assert not newer - {row["APICall"] for row in rows}, newer - {row["APICall"] for row in rows}
    assert max(row["CommandLists"] for row in rows) == 3 and max(row["Images"] for row in rows) == 2
    assert run.err == "", run.err


# What ze_newer --leak leaves: {created by: kind in reports}
NEWER_LEAKS = {"zeContextCreate": "context", "zeEventCounterBasedCreate": "event",
               "zeEventCounterBasedGetIpcHandle": "IPC handle",
               "zeEventCounterBasedOpenIpcHandle": "opened event", "zeImageCreate": "image",
               "zeImageViewCreateExt": "image", "zeRTASBuilderCreateExt": "RTAS builder",
               "zeRTASParallelOperationCreateExt": "RTAS operation",
               "zeDeviceImportExternalSemaphoreExt": "semaphore", "zeGraphCreateExt": "graph",
               "zeCommandListEndGraphCaptureExt": "graph",
               "zeGraphInstantiateExt": "executable graph",
               "zeCommandListCreateCloneExp": "command list",
               "zeDeviceReserveCacheExt": "cache reservation"}


def test_newer_leaks(case):
    run = run_newer(case, "--leak", ZEL_ENABLE_LOADER_LOGGING="1", ZEL_LOADER_LOG_CONSOLE="1")
    entries = read_log(run.err)
    makers = [re.search(r"created by (\w+)", text).group(1) for _, text in entries]
    assert sorted(makers) == sorted(NEWER_LEAKS), makers
    assert all("ze_newer.c:" in text for _, text in entries)


def test_newer_leaks_in_a_recording(case):
    run = case.gputrack("run", "-q", "-o", "a.gt", case.program("ze_newer"), layer(case),
                        case.program("libze_fake.so"), "--leak", env=case.levelzero())
    assert run.status == 0, run.err
    groups = case.report("a.gt", "leakage")["groups"]
    assert sorted(g["kind"] for g in groups for _ in range(g["count"])) == \
        sorted(NEWER_LEAKS.values()), [(g["kind"], g["count"]) for g in groups]


# The system's own layer below ours.

def test_parameter_validation(case):
    """A wrong call is refused as with the system's layer alone, and tracking continues."""
    system_layer(case)
    wrong = case.program("ze_wrong")
    bare = case.run(wrong, "--stale", env=case.levelzero())
    for variable in ("ZE_ENABLE_PARAMETER_VALIDATION", "ZE_ENABLE_HANDLE_LIFETIME",
                     "ZE_ENABLE_THREADING_VALIDATION"):
        alone = case.run(wrong, "--stale", env=case.levelzero(
            ZE_ENABLE_VALIDATION_LAYER="1", **{variable: "1"}))
        both = case.run(wrong, "--stale", env=case.tracker(
            ZEL_SYSTEM_RESOURCE_TRACKER_CSV="tracker.csv", **{variable: "1"}))
        ours = case.run(wrong, "--stale", env=case.levelzero(
            ZE_ENABLE_VALIDATION_LAYER="1", LD_LIBRARY_PATH=str(case.build / "levelzero"),
            **{variable: "1"}))
        assert (both.status, both.out) == (0, alone.out), (variable, both.out, alone.out)
        assert ours.out == alone.out
        if variable == "ZE_ENABLE_PARAMETER_VALIDATION":
            assert alone.out != bare.out
        rows = read_csv(the_csv(case, both.pid))
        check_numbers(rows)
        refused = variable == "ZE_ENABLE_PARAMETER_VALIDATION"
        assert [row["APICall"] for row in rows].count("zeCommandQueueCreate") == (1 if refused else 2)
        assert rows[-1]["APICall"] == "zeEventPoolDestroy" and rows[-1]["Contexts"] == 1


def opened_by(case, **env):
    """True if the dynamic linker loaded the system's layer during the run."""
    run = case.run(case.program("ze_wrong"), env=case.tracker(LD_DEBUG="files", **env))
    assert run.status == 0 and layer(case) in run.err
    begun = re.findall(r"calling init: (\S+/libze_validation_layer\.so\.1)$", run.err, re.M)
    return any(os.path.samefile(path, system_layer(case)) for path in begun)


def test_system_layer_is_loaded_on_request(case):
    assert not opened_by(case)
    assert not opened_by(case, ZE_ENABLE_PARAMETER_VALIDATION="0")
    for variable in ("ZE_ENABLE_PARAMETER_VALIDATION", "ZE_ENABLE_HANDLE_LIFETIME",
                     "ZE_ENABLE_THREADING_VALIDATION", "ZEL_ENABLE_BASIC_LEAK_CHECKER",
                     "ZEL_ENABLE_EVENTS_CHECKER"):
        assert opened_by(case, **{variable: "1"}), variable


def test_memory_tracker_of_the_system_layer(case):
    """The fourth switch that layer 1.8.12 has."""
    assert opened_by(case, ZE_ENABLE_MEMORY_TRACKER="1")


def test_the_tracker_of_the_layer_below_sleeps(case):
    """Newer validation layers have a tracker too, by the same variable: it does not wake up beside
    another checker, which works. The program's own variable stays."""
    loader, = {os.path.realpath(path) for path in
               pathlib.Path("/usr/lib").glob("*/libze_loader.so.1")}
    folder = case.path("newer")
    folder.mkdir()
    shutil.copy(loader, folder / "libze_loader.so.1")
    shutil.copy(case.program("libze_checkers.so"), folder / "libze_validation_layer.so.1")
    env = case.tracker(LD_LIBRARY_PATH=f"{case.build}/levelzero:{folder}",
                       ZE_ENABLE_PARAMETER_VALIDATION="1",
                       ZEL_SYSTEM_RESOURCE_TRACKER_CSV="tracker.csv")
    run = case.run(case.program("ze_cycles"), "queue", "1", env=env)
    assert "zeContextCreate" in run.err and run.status, run.err
    assert [line for line in run.err.splitlines() if line.startswith("checkers")] == [
        "checkers loaded: parameters", "checkers asked: parameters",
        "checkers at the end: tracker parameters"], run.err
    env["ZE_ENABLE_PARAMETER_VALIDATION"] = "0"
    run = case.run(case.program("ze_cycles"), "queue", "1", env=dict(env, **{
        "ZEL_ENABLE_BASIC_LEAK_CHECKER": "1"}))
    assert run.err.splitlines() == ["checkers loaded:", "checkers asked:",
                                    "checkers at the end: tracker"], run.err
    assert [row["APICall"] for row in read_csv(the_csv(case, run.pid))] == [
        "zeContextCreate", "zeCommandQueueCreate", "zeCommandQueueDestroy", "zeContextDestroy"]


# By the variables of the original alone.

THREE = ("ZE_ENABLE_VALIDATION_LAYER=1 ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER=1 "
         "ZEL_SYSTEM_RESOURCE_TRACKER_CSV=tracker.csv")


def rows_by(case, script):
    """The functions in the CSV that a shell's program leaves; None: no CSV."""
    run = case.run("sh", "-c", f"{script}\nexport {THREE}\n{case.program('ze_cycles')} queue 1",
                   env=dict(case.levelzero(), LD_LIBRARY_PATH=""))
    assert run.status == 0 and run.err == "", run.err
    found = list(case.folder.glob("tracker_pid*.csv"))
    rows = [row["APICall"] for row in read_csv(found[0])] if found else None
    for path in found:
        path.unlink()
    return rows


QUEUE = ["zeContextCreate", "zeCommandQueueCreate", "zeCommandQueueDestroy", "zeContextDestroy"]


def test_the_documented_variables_are_enough_after_env(case):
    system_layer(case)
    assert rows_by(case, "") is None
    assert rows_by(case, 'eval "$(gputrack env levelzero)"') == QUEUE
    assert rows_by(case, 'eval "$(gputrack env)"') == QUEUE
    # what was there stays, behind it
    done = case.run("sh", "-c", 'LD_LIBRARY_PATH="/a b:/c"; eval "$(gputrack env levelzero)"; '
                                'printf %s "$LD_LIBRARY_PATH"')
    assert done.out == f"{case.build}/levelzero:/a b:/c", done.out
    assert case.gputrack("env", "vulkan").status == 2


def test_the_documented_variables_are_enough_with_the_linkers_file(case):
    """What the administrator switches on, in a file system of its own."""
    system_layer(case)
    conf = case.build / "src/capture/levelzero/levelzero.conf"
    folder = conf.read_text().splitlines()[-1]
    assert folder.endswith("/gputrack/levelzero"), folder
    if case.run("unshare", "--mount", "true").status:
        case.skip("this machine lets nobody mount")
    case.path("00.conf").write_text(conf.read_text().replace(folder, f"{case.build}/levelzero"))
    case.path("ld.so.conf").write_text(f"include {case.path('00.conf')}\ninclude /etc/ld.so.conf\n")
    made = case.run("/sbin/ldconfig", "-X", "-f", case.path("ld.so.conf"), "-C", case.path("cache"))
    assert made.status == 0, made.err
    mounted = f"mount --bind {case.path('cache')} /etc/ld.so.cache"
    run = case.run("unshare", "--mount", "sh", "-c",
                   f"{mounted} && export {THREE} && {case.program('ze_cycles')} queue 1",
                   env=dict(case.levelzero(), LD_LIBRARY_PATH=""))
    assert run.status == 0 and run.err == "", run.err
    found, = case.folder.glob("tracker_pid*.csv")
    assert [row["APICall"] for row in read_csv(found)] == QUEUE
    doctor = case.run("unshare", "--mount", "sh", "-c", f"{mounted} && gputrack doctor",
                      env={"LD_LIBRARY_PATH": ""})
    assert "gputrack's layer is found, by the linker's configuration" in \
        " ".join(doctor.out.split()), doctor.out


def test_doctor_says_which_layer_programs_get(case):
    other = system_layer(case)
    for env, wanted in (
            ({}, f"the system's own layer is found: {other}"),
            ({"LD_LIBRARY_PATH": f"/nowhere:{case.build}/levelzero"},
             "gputrack's layer is found, by LD_LIBRARY_PATH"),
            ({"ZEL_LIBRARY_PATH": "/opt/ze"},
             "ZEL_LIBRARY_PATH is set: newer loaders take the layer in /opt/ze")):
        done = case.gputrack("doctor", "--json", env=dict({"LD_LIBRARY_PATH": ""}, **env))
        text, = re.findall(r'"what": "by variables".*?"text": "([^"]*)"', done.out, re.S)
        if "system's" in wanted:
            assert os.path.samefile(text.split(": ")[1], other), text
        else:
            assert text == wanted, text


def test_a_script_that_drops_the_library_path_is_named(case):
    script = case.path("start.sh")
    for lines, number in ((["export LD_LIBRARY_PATH=/opt/mine"], 2),
                          (["# LD_LIBRARY_PATH=x", "LD_LIBRARY_PATH=/opt/mine; export LD_LIBRARY_PATH"], 3),
                          (["unset LD_LIBRARY_PATH"], 2),
                          (["LD_LIBRARY_PATH=/opt/mine:$LD_LIBRARY_PATH"], 0)):
        script.write_text("\n".join(["#!/bin/sh", *lines, 'exec "$@"', ""]))
        script.chmod(0o755)
        run = case.gputrack("run", "-q", "-o", "s.gt", script, case.program("ze_cycles"), "queue", "1",
                            env=case.levelzero())
        assert run.status == 0
        said = f"start.sh sets LD_LIBRARY_PATH without its old value (line {number})" in run.err
        assert said == (number > 0) and (run.err == "") == (not number), (lines, run.err)
    # nothing is tracked, and the script is not why
    script.write_text("#!/bin/sh\nLD_LIBRARY_PATH=/opt/mine:$LD_LIBRARY_PATH\ntrue\n")
    run = case.gputrack("run", "-o", "t.gt", script, env=case.levelzero())
    assert run.status == 0 and "LD_LIBRARY_PATH" not in run.err, run.err


@harness.also_on("intel")
def test_session_above_parameter_validation(case):
    run = case.run(case.program("ze_app"), "--log", "own", env=case.tracker(
        ZEL_SYSTEM_RESOURCE_TRACKER_CSV="tracker.csv", ZE_ENABLE_PARAMETER_VALIDATION="1",
        ZE_ENABLE_TRACING_LAYER="1"))
    assert (run.status, run.err) == (0, "")
    check_against(read_csv(the_csv(case, run.pid)), own_log(case.path("own")))


# gputrack run.

KINDS = {"context": "context", "queue": "queue", "module": "module", "build_log": "build log",
         "kernel": "kernel", "event_pool": "event pool", "event": "event", "list": "command list",
         "immediate": "command list", "fence": "fence", "image": "image", "view": "image",
         "sampler": "sampler", "device": "device memory", "host": "host memory",
         "shared": "shared memory", "physical": "physical memory",
         "reservation": "address reservation", "mapping": "mapping",
         "ipc_memory": "opened IPC memory", "ipc_pool": "opened event pool"}


@harness.also_on("intel")
def test_run_reports_leaks(case):
    """One of every kind at once: kind, number, bytes, and the line of ze_app.c that made it."""
    table = alive_kinds(case)
    kinds = [kind for kind in table if kind != "reservation"]
    run = case.gputrack("run", "-q", "-o", "a.gt", case.program("ze_app"), "--leak", ",".join(kinds),
                        env=case.levelzero())
    assert run.status == 0 and run.err == "" and "rounds=1 live=" in run.out, run.err
    wanted = {}
    for kind, (_, function, size) in table.items():
        wanted[KINDS[kind], line_of(case, function)] = (1, size)
    for function in handle_makers(case).values():
        wanted["IPC handle", line_of(case, function)] = (1, 0)
    found = {}
    for group in case.report("a.gt", "leakage")["groups"]:
        assert group["api"] == "levelzero"
        frame = group["stack"][0]
        assert frame["file"].endswith("/ze_app.c"), group
        found[group["kind"], frame["line"]] = (group["count"], group["bytes"])
    # windows onto the bytes of another resource have none of their own
    for kind in {"reservation", "mapping", "ipc_memory"} & set(table):
        key = KINDS[kind], line_of(case, table[kind][1])
        assert found[key][0] == 1
        del wanted[key], found[key]
    assert found == wanted, (set(found.items()) ^ set(wanted.items()))


@harness.also_on("intel")
def test_run_without_leaks(case):
    run = case.gputrack("run", "-o", "a.gt", "--fail-on-leak", case.program("ze_app"),
                        env=case.levelzero())
    assert (run.status, run.out) == (0, app_output(case)), run.err
    assert case.report("a.gt", "leakage")["totals"]["count"] == 0
    run = case.gputrack("run", "-o", "b.gt", "--fail-on-leak", case.program("ze_app"), "--leak",
                        "fence", env=case.levelzero())
    assert run.status == 23 and "ze_app.c:%d" % line_of(case, "zeFenceCreate") in run.err


@harness.also_on("intel")
def test_run_csv_and_log(case):
    """By options, without the documented variables; the recording is made as well."""
    run = case.gputrack("run", "-q", "-o", "a.gt", "--csv", "tracker.csv", "--log", "my.log",
                        case.program("ze_app"), "--log", "own", "--leak", "event",
                        env=case.levelzero())
    assert (run.status, run.err) == (0, ""), run.err
    files = list(case.folder.glob("tracker_pid*.csv"))
    assert len(files) == 1 and files[0].read_text().splitlines()[0] == HEADER
    rows = read_csv(files[0])
    check_against(rows, own_log(case.path("own")))
    entries = read_log(case.path("my.log").read_text())
    assert len([text for _, text in entries if "System Use After Call:" in text]) == len(rows)
    assert [text.split(" handle")[0] for level, text in entries if level == "error"] == \
        ["STILL ALIVE AT EXIT: Event"]
    assert [g["kind"] for g in case.report("a.gt", "leakage")["groups"]] == ["event"]


@harness.also_on("intel", is_long=True)
def test_run_log_to_stderr(case):
    run = case.gputrack("run", "-q", "-o", "a.gt", "--log", "-", case.program("ze_app"),
                        env=case.levelzero())
    assert (run.status, run.out) == (0, app_output(case))
    assert len(read_log(run.err)) > 80
    assert [p.name for p in case.folder.iterdir()] == ["a.gt"]


@harness.also_on("intel")
def test_run_child_and_killed(case):
    """A recording has a trace for each process, with all calls before the kill."""
    run = case.gputrack("run", "-q", "-o", "a.gt", case.program("ze_end"), "--how", "fork",
                        "--log", "own", env=case.levelzero())
    assert run.status == 0, run.err
    groups = case.report("a.gt", "leakage")["groups"]
    assert [(g["kind"], g["count"]) for g in groups] == [("event", 1)]
    run = case.gputrack("run", "-q", "-o", "b.gt", case.program("ze_end"), "--how", "kill9",
                        env=case.levelzero())
    assert run.status == -9
    groups = case.report("b.gt", "leakage")["groups"]
    assert sorted((g["kind"], g["bytes"]) for g in groups) == [
        ("context", 0), ("device memory", 12288), ("event", 0), ("event pool", 0)]


def test_run_opencl_csv_and_log(case):
    """The same files for a program of another API."""
    run = case.gputrack("run", "-q", "-o", "a.gt", "--csv", "tracker.csv", "--log", "-",
                        case.program("leaky"), env=case.pocl())
    assert run.status == 0, run.err
    files = list(case.folder.glob("tracker_pid*.csv"))
    assert len(files) == 1 and files[0].read_text().splitlines()[0] == HEADER
    rows = read_csv(files[0])
    check_numbers(rows)
    assert all(row["APICall"].startswith("cl") for row in rows)
    assert max(row["Contexts"] for row in rows) == 1 and max(row["Kernels"] for row in rows) >= 1
    last = {name: rows[-1][name] for name in COUNTERS if rows[-1][name]}
    assert last == {"Events": 20} and rows[-1]["TotalMemory_Bytes"] == 1 << 20, rows[-1]
    text = run.err
    assert "clCreateContext: Context Count=1, handle=0x" in text
    assert "    OpenCL Contexts (1): VmRSS=" in text
    alive = re.findall(r"STILL ALIVE AT EXIT: (\w+) .*?created by (\w+).*\n      (\w+) \((.*)\)", text)
    assert sorted((label, maker, function) for label, maker, function, _ in alive) == sorted(
        [("Event", "clEnqueueTask", "start_addition")] * 10 +
        [("Event", "clEnqueueReadBuffer", "fetch_sum")] * 10 +
        [("Memory", "clCreateBuffer", "make_scratch_buffer")]), alive
    assert all("leaky.c:" in place for *_, place in alive)
