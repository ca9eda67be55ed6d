# SPDX-License-Identifier: MIT
"""Intel's Level Zero driver without hardware: every product family it knows, recorded and tracked.

Tests of other modules that only create and destroy run on this driver too (harness.also_on).
"""
import os
import pathlib

import harness
from tracker_csv import app_output, check_against, own_log, read_csv

FAMILIES = ("dg1", "skl", "icllp", "tgllp")


def check_family(case, family, rounds):
    """All pairs of creation and destruction, tracked and recorded at once."""
    case.driver = "intel"
    env = case.levelzero(ProductFamilyOverride=family)
    run = case.gputrack("run", "-q", "--fail-on-leak", "-o", f"{family}.gt", "--csv", f"{family}.csv",
                        case.program("ze_app"), "--log", "own", "--rounds", rounds, env=env)
    assert (run.status, run.out, run.err) == (0, app_output(case, rounds), "")
    calls = own_log(case.path("own"))
    (path,) = case.folder.glob(f"{family}_pid*.csv")
    assert not check_against(read_csv(path), calls).alive
    # the recording has no appends, and the program's log no IPC handles
    wanted = [call[0] for call in calls if "Append" not in call[0] and "Reset" not in call[0]]
    events = [event["function"] for event in case.events(f"{family}.gt")
              if event["outcome"] == "done" and event["kind"] not in ("build log", "IPC handle")]
    assert sorted(events) == sorted(name for name in wanted if name != "zeModuleBuildLogDestroy")
    assert len(events) == 36 * rounds, len(events)


def test_every_family(case):
    """Each in short; GPUTRACK_TEST_LONG=1: 50 rounds."""
    for family in FAMILIES:
        check_family(case, family, 50 if os.environ.get("GPUTRACK_TEST_LONG") else 1)


def test_images_of_every_family(case):
    """It pads them alike on all."""
    case.driver = "intel"
    said = {}
    for family in FAMILIES:
        run = case.run(case.program("ze_images"), env=case.levelzero(ProductFamilyOverride=family))
        assert run.status == 0, run.err
        said[family] = run.out
    assert len(set(said.values())) == 1 and said["skl"].count("\n") == 165


def test_tools_and_functions_by_address(case):
    """Metric queries, API tracers and the program's own memory, which the driver has; it refuses to
    debug a device that it only simulates. The simulation has no metric groups, and no IPC handles."""
    if not (case.source / "src/api/levelzero_tools.def").exists():
        case.skip("the tools API is not tracked")
    case.driver = "intel"
    for family in FAMILIES:
        env = case.levelzero(ProductFamilyOverride=family, ZET_ENABLE_API_TRACING_EXP="1")
        for more in [], ["--leak"]:
            name = f"{family}{''.join(more)}.gt"
            run = case.gputrack("run", "-q", "-o", name, case.program("ze_tools"), *more, env=env)
            assert run.status == 0, run.err
            lines = run.out.splitlines()
            assert [line for line in lines if line.startswith("refused")] == ["refused zetDebugAttach"]
            events = [f"{e['function']} {e['effect']} {e['handle']}" for e in case.events(name)
                      if e["outcome"] == "done"]
            assert events == [line for line in lines if not line.startswith("refused")]
            groups = case.report(name, "leakage")["groups"]
            assert sorted((g["kind"], g["count"], g["bytes"]) for g in groups) == (sorted([
                ("context", 1, 0), ("metric query pool", 1, 0), ("metric query", 1, 0),
                ("API tracer", 1, 0), ("registered host memory", 1, 65536)]) if more else []), groups


def test_threads_in_a_recording(case):
    case.driver = "intel"
    run = case.gputrack("run", "-q", "--fail-on-leak", "-o", "t.gt", case.program("ze_threads"),
                        "--threads", "4", "--rounds", "300", env=case.levelzero())
    assert run.status == 0, run.err
    said = dict(word.split("=") for word in run.out.split())
    assert said["created"] == said["destroyed"]
    summary = case.report("t.gt", "summary")
    assert sum(kind["created"] for kind in summary["kinds"]) == int(said["created"]), summary["kinds"]
    assert not any(kind["live"] for kind in summary["kinds"])
    assert summary["redundant"] == summary["failures"] == [] and summary["unknown_ends"] == 0


def test_a_real_driver_beside_ours(case):
    """Each handle goes to the driver that it came from, and all are counted together."""
    intel = next(pathlib.Path("/usr/lib").glob("*/libze_intel_gpu.so.1"), None)
    env = case.intel_levelzero(ZE_ENABLE_ALT_DRIVERS=f"{intel},{case.program('libze_fake.so')}")
    bare = case.run(case.program("ze_foreign"), "--mode", "drivers", env=env)
    run = case.gputrack("run", "-q", "--fail-on-leak", "-o", "a.gt", "--csv", "a.csv",
                        case.program("ze_foreign"), "--mode", "drivers", "--log", "own", env=env)
    assert run.out.startswith("drivers=2 ") and (run.status, run.out) == (0, bare.out), run.err
    (path,) = case.folder.glob("a_pid*.csv")
    rows = read_csv(path)
    assert not check_against(rows, own_log(case.path("own")), unlogged=()).alive
    assert max(row["Contexts"] for row in rows) == 4 and max(row["Modules"] for row in rows) == 2


@harness.also_on("intel")
def test_the_sample_leaks_what_it_says(case):
    """samples/frames.c, the second sample of `./dev demo`. Intel's pads an image's 1080 rows to 1088."""
    run = case.gputrack("run", "-o", "f.gt", "--fail-on-leak", case.program("frames"),
                        env=case.levelzero())
    assert (run.status, run.out) == (23, "uploaded 24 frames of 1920 x 1080 pixels\n"), run.err
    rows = 1088 if case.driver == "intel" else 1080
    found = [(g["kind"], g["count"], g["bytes"], g["stack"][0]["function"])
             for g in case.report("f.gt", "leakage")["groups"]]
    assert found == [("image", 3, 3 * 4 * 1920 * rows, "make_picture"),
                     ("event", 24, 0, "upload")], found


def test_a_kill_between_calls_loses_none(case):
    """Every call that the program has written down is in the recording and in the CSV."""
    case.driver = "intel"
    process = case.start(case.build / "gputrack", "run", "-q", "-o", "k.gt", "--csv", "tracker.csv",
                         case.program("ze_end"), "--how", "kill9", "--log", "own",
                         env=case.levelzero())
    process.communicate(timeout=60)
    assert process.returncode == -9
    calls = own_log(case.path("own"))
    (path,) = case.folder.glob("tracker_pid*.csv")
    check_against(read_csv(path, killed=True), calls)
    events = [(event["function"], int(event["handle"], 16)) for event in case.events("k.gt")]
    assert events == [call[:2] for call in calls]
    groups = case.report("k.gt", "leakage")["groups"]
    assert sorted((g["kind"], g["bytes"]) for g in groups) == [
        ("context", 0), ("device memory", 12288), ("event", 0), ("event pool", 0)]
