# SPDX-License-Identifier: MIT
"""test_opencl_extension.py - the live-object extension, and the layer as a loader sees it."""
import pathlib
import re
import shutil


# The extension.

def layer(case, env, **more):
    """Loads the layer as the loader does, without gputrack run."""
    return dict(env, OPENCL_LAYERS=str(case.build / "libgputrack_opencl.so"), **more)


def live_lines(out):
    return re.findall(r"^ Live (\S+) object: (0x[0-9a-f]+) refcount (\d+)$", out, re.M)


def check_live_sample(out):
    lines = live_lines(out)
    assert [(kind, count) for kind, _, count in lines] == [("cl_event", "1")] * 20, out
    assert len({handle for _, handle, _ in lines}) == 20
    return [handle for _, handle, _ in lines]


def test_live_objects_sample_lists_twenty_events_newest_first(case):
    program = case.program("live_objects")
    done = case.gputrack("run", "-q", "-o", "live.gt", program, env=case.pocl())
    assert done.status == 0 and done.out.endswith("counted to 10\n"), done.out
    listed = check_live_sample(done.out)
    made = [e["handle"] for e in case.events("live.gt")
            if e["effect"] == "create" and e["kind"] == "event"]
    assert listed == made[::-1]
    # the layer alone, with nothing recorded
    done = case.run(program, env=layer(case, case.pocl()))
    assert done.status == 0 and done.err == "", done.err
    check_live_sample(done.out)
    assert [p.name for p in case.folder.iterdir()] == ["live.gt"]
    # without gputrack: the library that is linked brings the layer
    done = case.run(program, env=case.pocl())
    assert done.status == 0 and done.err == "", done.err
    check_live_sample(done.out)
    assert [p.name for p in case.folder.iterdir()] == ["live.gt"]
    # without any layer it runs and lists nothing; nor without tracking
    for env, option in ((case.pocl(OPENCL_LAYERS=""), []), (case.pocl(), ["--no-debug"]),
                        (layer(case, case.pocl()), ["--no-debug"])):
        done = case.run(program, *option, env=env)
        assert done.status == 0 and done.out == "counted to 10\n" and done.err == ""


def test_the_companion_finds_the_layer_and_overrides_no_setting(case):
    """Installed or alone; existing settings are kept."""
    program, libraries = case.program("live_objects"), case.path("lib")
    (libraries / "gputrack").mkdir(parents=True)
    shutil.copy(case.build / "libgputrack_live.so.1.0.0", libraries / "libgputrack_live.so.1")
    alone = case.pocl(LD_LIBRARY_PATH=str(libraries))
    done = case.run(program, env=alone)
    assert done.status == 0 and done.out == "counted to 10\n", done.out
    assert done.err.count("\n") == 1 and "live objects are not tracked" in done.err, done.err
    for name in ("libgputrack_opencl.so", "libgputrack.so"):
        shutil.copy(case.build / name, libraries / "gputrack" / name)
    done = case.run(program, env=alone)
    assert done.status == 0 and done.err == "", done.err
    check_live_sample(done.out)
    done = case.run(program, env=dict(alone, OPENCL_LAYERS="/nowhere/layer.so"))
    assert done.out == "counted to 10\n" and "not tracked" not in done.err, done.err


def test_live_objects_sample_works_on_intel(case):
    done = case.run(case.program("live_objects"), env=layer(case, case.intel()))
    assert done.status == 0, done.err
    check_live_sample(done.out)


def live_api(case, name, env, *more):
    done = case.run(case.program("live_api"), "--case", name, *more, env=env)
    assert done.status == 0 and done.err == "", (name, done.status, done.out, done.err)
    return done.out.splitlines()


NAMES = ["clTrackLiveObjectsIntelFPGA", "clTrackLiveObjectsAltera", "clReportLiveObjectsIntelFPGA",
         "clReportLiveObjectsAltera", "clReportLiveObjectsWithStacksGPUTRACK"]


def check_live_api(case, env):
    with_layer = layer(case, env)
    assert live_api(case, "lookup", with_layer) == \
        [f"{name} found found" for name in NAMES] + ["clNoSuchFunctionAltera missing missing"]
    assert live_api(case, "wrong", with_layer)[-1] == "nothing happened"
    assert live_api(case, "release", with_layer) == ["released while listing"]
    assert live_api(case, "before", with_layer) == ["only what came after"]
    assert live_api(case, "counts", with_layer) == [
        "cl_event 7", "cl_kernel 6", "cl_program 5", "cl_sampler 4", "cl_mem 3",
        "cl_command_queue 2", "cl_context 1"]
    assert live_api(case, "env", with_layer) == ["listed 0"]
    assert live_api(case, "env", dict(with_layer, ACL_TRACK_LEAKS="1")) == ["listed 2"]


def test_extension_functions_on_pocl(case):
    check_live_api(case, case.pocl())
    # the same while gputrack run records, in which the recorder has its own view of it all
    done = case.gputrack("run", "-q", "-o", "a.gt", case.program("live_api"), "--case", "release",
                         env=case.pocl())
    assert done.status == 0 and done.out == "released while listing\n", done.err
    assert case.report("a.gt", "summary")["totals"]["count"] == 0


def test_extension_functions_on_intel(case):
    check_live_api(case, case.intel())


def test_extension_distinguishes_platforms(case):
    case.pocl()
    both = dict(case.intel())
    del both["OCL_ICD_VENDORS"]
    for platform in ("portable", "intel"):
        out = live_api(case, "wrong", layer(case, both), "--platform", platform)
        assert out == ["2 platforms", "nothing happened"]


def test_live_objects_with_stacks_have_file_line_size_and_thread(case):
    out = live_api(case, "stacks", layer(case, case.pocl()))
    thread, line = re.match(r"expect thread (\d+) line (\d+)", out[0]).groups()
    handle = re.match(r"expect buffer (\S+)", out[1]).group(1)
    assert out[2] == f"object {handle} cl_mem buffer clCreateBuffer refcount 1 size 12345 " \
                     f"thread {thread}", out
    function, place, module = out[3].split()[1:]
    assert function == "make_in_thread" and module == case.program("live_api"), out[3]
    assert pathlib.Path(place).name == f"live_api.c:{line}", out[3]
    assert out[4].split()[1] == "thread_main", out
    context = next(i for i, text in enumerate(out) if text.startswith("object ") and i > 2)
    assert "cl_context context clCreateContext refcount 1 size 0" in out[context]
    assert thread not in out[context].split(), "the context was made by another thread"


EXTENSION = "cl_altera_live_object_tracking"


def check_extension_string(case, env):
    bare, ours = live_api(case, "info", env), live_api(case, "info", layer(case, env))
    size, _, names = bare[0].partition(" ")[2].partition(" ")
    names = names.split()
    assert ours[0].split()[2:] == names + [EXTENSION]
    grown = int(ours[0].split()[1]) - int(size)
    assert grown in (len(EXTENSION), len(EXTENSION) + 1), "the space before it may be there already"
    assert ours[1:-1] == bare[1:]
    assert len(bare) == 1 or ours[-1].split()[2] == EXTENSION


def test_extension_name_is_in_the_platforms_strings(case):
    check_extension_string(case, case.pocl())


def test_extension_name_is_in_intels_strings(case):
    check_extension_string(case, case.intel())


def without_extension(text):
    """clinfo's output without the extension name and the blanks that align columns."""
    kept = []
    for line in text.splitlines():
        words = [word for word in line.split() if not word.startswith(EXTENSION)]
        # in the list with versions it has a line of its own
        if EXTENSION not in line or any(not re.fullmatch(r"[0x().]+", word) for word in words):
            kept.append(" ".join(words))
    return kept


def check_clinfo(case, env):
    """Lines that differ between two runs without gputrack (clocks, free memory) are ignored."""
    for options in ([], ["--raw"]):
        bare, again = [case.run("clinfo", *options, env=env) for _ in range(2)]
        ours = case.gputrack("run", "-q", "-o", "c.gt", "clinfo", *options, env=env)
        assert bare.status == ours.status == 0 and ours.err == bare.err, ours.err
        assert bare.out.count(EXTENSION) == 0 and ours.out.count(EXTENSION) in (1, 2)
        lines = [without_extension(done.out) for done in (bare, again, ours)]
        assert len(lines[0]) == len(lines[1]) == len(lines[2])
        steady = [(a, c) for a, b, c in zip(*lines) if a == b]
        assert len(steady) > 0.9 * len(lines[0])
        assert [(a, c) for a, c in steady if a != c] == []


def test_clinfo_prints_the_same_except_for_the_extension(case):
    check_clinfo(case, case.pocl())


def test_clinfo_prints_the_same_on_intel(case):
    check_clinfo(case, case.intel())


# The layer as a loader sees it.

def test_layer_implements_the_khronos_loader_protocol(case):
    program, library = case.program("layer_protocol"), case.build / "libgputrack_opencl.so"
    for entries, expected in ((100, 100), (149, 149), (150, 149)):
        for how in ([], ["--properties"]):
            done = case.run(program, "--layer", library, "--entries", entries, *how)
            assert done.status == 0 and done.err == "", (entries, how, done.err)
            assert done.out == f"layer gputrack\noffered {entries} got {expected} of 149\n"
    # what went through such a table is recorded like anything else
    done = case.run(program, "--layer", library, env={"GPUTRACK_RECORDING": str(case.path("p.gt"))})
    assert done.status == 0, done.err
    assert [(e["function"], e["outcome"]) for e in case.events("p.gt")] == [
        ("clCreateUserEvent", "done"), ("clReleaseEvent", "done"), ("clCreateUserEvent", "done"),
        ("clCreateSubDevicesEXT", "done"), ("clCreateSubDevicesEXT", "done"),
        ("clRetainDeviceEXT", "done"), ("clReleaseDeviceEXT", "done")]
    assert {e.get("place") for e in case.events("p.gt") if e["effect"] == "create"} == {"fake"}


def exported(case, library):
    done = case.run("nm", "-D", "--defined-only", library)
    assert done.status == 0, done.err
    return {line.split()[-1].partition("@")[0] for line in done.out.splitlines()}


def test_layer_exports_only_what_loaders_need(case):
    assert exported(case, case.build / "libgputrack_opencl.so") == {
        "clGetLayerInfo", "clInitLayer", "clInitLayerWithProperties", "clDeinitLayer"}
    assert exported(case, case.build / "libgputrack_live.so") == set(NAMES)


def test_calls_reach_the_platform_of_their_object(case):
    """A driver with two platforms: queries go to the platform of the object."""
    done = case.run(case.program("two_platforms"), "--layer", case.build / "libgputrack_opencl.so",
                    env={"GPUTRACK_RECORDING": str(case.path("p.gt"))})
    assert done.status == 0 and done.err == "", done.err
    # every function of `extensions`, in its order, but the queries
    calls = re.findall(r'{ "(\w+)", BOTH', (case.source / "tests/e2e/programs/two_platforms.c").read_text())
    assert len(calls) >= 9
    assert done.out.splitlines() == [f"{call} {n}" for n in (1, 0) for call in calls], done.out
    found = [(e["effect"], e["function"], e["kind"], e.get("place"), e.get("bytes"))
             for e in case.events("p.gt")]
    assert found == [
        (effect, function, kind, place if effect == "create" else None, size)
        for place in ("second", "first") for effect, function, kind, size in (
            ("create", "clCreateCommandBufferKHR", "command buffer", 0),
            ("create", "clEnqueueCommandBufferKHR", "event", 0),
            ("create", "clRemapCommandBufferKHR", "command buffer", 0),
            ("create", "clCreateAcceleratorINTEL", "accelerator", 0),
            ("retain", "clRetainAcceleratorINTEL", "accelerator", None),
            ("release", "clReleaseAcceleratorINTEL", "accelerator", None),
            ("create", "clCreateSemaphoreWithPropertiesKHR", "semaphore", 0),
            ("release", "clReleaseSemaphoreKHR", "semaphore", None),
            ("create", "clSVMAllocARM", "SVM block", 256),
            ("destroy", "clSVMFreeARM", "SVM block", None),
            ("create", "clCreateFromVA_APIMediaSurfaceINTEL", "foreign object", 4096),
            ("create", "clEnqueueAcquireVA_APIMediaSurfacesINTEL", "event", 0),
            ("create", "clCreateEventFromGLsyncKHR", "event", 0),
            ("create", "clCreateEventFromEGLSyncKHR", "event", 0),
            ("create", "clCreateImage", "image", 400),
            ("create", "clCreateBuffer", "buffer", 400),
            # a view of the buffer: its bytes are counted there
            ("create", "clCreateImage", "image", 0))], found
