# SPDX-License-Identifier: MIT
"""harness.py - the environment of end-to-end tests: a folder, gputrack, and the programs.

    def test_a_leaked_buffer_is_named(case):
        run = case.gputrack("run", "-o", "a.gt", case.program("leaky"), env=case.pocl())
        assert run.status == 0
        leaks = case.report("a.gt", "leakage")

Each test runs in a process of its own, beside others, with a folder and a HOME of its own. A module
that says TOGETHER = True has its tests run one after another in one process, because they share
something (a browser, a package). Tests that put probes into the kernel, which all traced programs run
into, say so by @harness.alone or ALONE = True in their module: no other test of programs runs meanwhile.
A module whose programs no such probe reaches says FREE = True. SECONDS, a guess, is for long ones: they
begin early.
"""
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile


def no_cores():
    """For `preexec`: a crash leaves no core file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def alone(function):
    """Marks a test that cannot run beside others."""
    function.alone = True
    return function


def also_on(*drivers, is_long=False):
    """Marks a test that runs once more on each of these drivers, as NAME_on_DRIVER.

    case.levelzero() and case.tracker() are then settings for that driver. is_long: only with
    GPUTRACK_TEST_LONG=1.
    """
    def mark(function):
        function.also_on = drivers if not is_long or os.environ.get("GPUTRACK_TEST_LONG") else ()
        return function
    return mark


def variants(name, function):
    """(name, function) of a test, and of the same test on other drivers."""
    def on(driver):
        def run(case):
            case.driver = driver
            function(case)
        run.alone = getattr(function, "alone", False)
        return run
    return [(name, function)] + [(f"{name}_on_{driver}", on(driver))
                                 for driver in getattr(function, "also_on", ())]


def with_frames(export):
    """The events of a JSON export, with the frames of its table in the place of their numbers."""
    assert [stack["stack"] for stack in export["stacks"]] == list(range(1, len(export["stacks"]) + 1))
    frames = {None: []} | {stack["stack"]: stack["frames"] for stack in export["stacks"]}
    assert {event["stack"] for event in export["events"]} | {None} == frames.keys()
    return [event | {"stack": frames[event["stack"]]} for event in export["events"]]


class Skip(Exception):
    """Why a test cannot be run here."""


class Run:
    """A program that has ended: exit status (negative: the signal), what it wrote, its pid."""

    def __init__(self, status, out, err, pid):
        self.status, self.out, self.err, self.pid = status, out, err, pid


class SmallDisk:
    """A small file system that fills up quickly; needs root."""

    def __init__(self, case, size):
        self.folder, self.size, self.case = case.path(f"disk-{size}"), size, case

    def __enter__(self):
        if os.geteuid():
            self.case.skip("only root can mount a small disk")
        self.folder.mkdir()
        done = self.case.run("mount", "-t", "tmpfs", "-o", f"size={self.size}", "tmpfs",
                             self.folder)
        if done.status:
            self.case.skip(f"no small disk can be mounted here: {done.err.strip()}")
        return self.folder

    def __exit__(self, *what):
        self.case.run("umount", "-l", self.folder)


class Case:
    def __init__(self, build, name):
        self.build = pathlib.Path(build)
        self.name = name
        self.source = pathlib.Path(__file__).resolve().parents[2]
        self.folder = self.home = None
        self.started = []
        self.driver = "ours"  # of Level Zero; see also_on

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gputrack-test-"))
        self.home = tempfile.mkdtemp(prefix="gputrack-home-")
        os.environ["HOME"] = self.home
        # what PoCL has compiled once it need not compile for every test
        os.environ.setdefault("POCL_CACHE_DIR", str(self.build / "pocl-cache"))
        return self

    def __exit__(self, kind, value, trace):
        # what a failed test leaves behind would attach to, or slow, those that follow
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        shutil.rmtree(self.home, ignore_errors=True)
        if kind is None or issubclass(kind, Skip) or not os.environ.get("KEEP"):
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            print(f"    kept: {self.folder}")

    def skip(self, reason):
        raise Skip(reason)

    def has_page(self):
        """False where the HTML page was left out of the build."""
        return "built without the HTML page" not in self.gputrack("html", "no recording").err

    def need_page(self):
        if not self.has_page():
            self.skip("gputrack was built without the HTML page")

    def path(self, name):
        return self.folder / name

    def small_disk(self, size):
        return SmallDisk(self, size)

    def program(self, name):
        """A test program or sample, as Meson built it."""
        for place in ("tests/e2e/programs", "tests/e2e/odd", "samples", "tests/fake/levelzero",
                      "tests/fake/cuda", "tests/fake/opencl", "tests/fake/gpu_memory", "tests/fake/pages", "tests/fault",
                      "."):
            path = self.build / place / name
            if path.exists():
                return str(path)
        if "cuda" in name and not (self.build / "tests/fake/cuda/libcuda.so.1").exists():
            self.skip("built without a CUDA toolkit")
        raise AssertionError(f"{name} was not built")

    def is_public(self):
        """True if other users can access the build folder."""
        return all(folder.stat().st_mode & 0o001 for folder in self.build.resolve().parents)

    def build_folder(self, name):
        """Where something is built in another way, next to our own build; the next run reuses it.

        A new one gets a copy of our objects: ninja compiles what is compiled by another command.
        """
        folder = self.build.parent / f"{self.build.name}-{name}"
        if not folder.exists():
            shutil.copytree(self.build, folder, symlinks=True, ignore=shutil.ignore_patterns(
                "tests", "bench", "meson-*", "build.ninja", "*.json", "*.log", "*.gt", "pocl-cache"))
        return folder

    # Environments of the drivers that run without a GPU.

    def pocl(self, **more):
        if not pathlib.Path("/etc/OpenCL/vendors/pocl.icd").exists():
            self.skip("PoCL is not installed")
        return dict({"OCL_ICD_VENDORS": "pocl.icd"}, **more)

    def small_opencl(self, **more):
        """The real loader over our test driver."""
        return dict({"OCL_ICD_VENDORS": self.program("cl_fake.icd")}, **more)

    def intel(self, **more):
        if not pathlib.Path("/etc/OpenCL/vendors/intel.icd").exists():
            self.skip("Intel's OpenCL driver is not installed")
        return dict({"OCL_ICD_VENDORS": "intel.icd", "NEOReadDebugKeys": "1",
                     "SetCommandStreamReceiver": "1", "ProductFamilyOverride": "skl",
                     "AUBDumpCaptureFileName": "/dev/null"}, **more)

    def intel_levelzero(self, **more):
        """The real loader over Intel's driver, which simulates a device."""
        if not list(pathlib.Path("/usr/lib").glob("*/libze_intel_gpu.so.1")):
            self.skip("Intel's Level Zero driver is not installed")
        return dict({"NEOReadDebugKeys": "1", "SetCommandStreamReceiver": "1",
                     "ProductFamilyOverride": "dg1", "AUBDumpCaptureFileName": "/dev/null"}, **more)

    def levelzero(self, **more):
        """The real loader over our test driver, or over the one that the test is run on."""
        if self.driver == "intel":
            return self.intel_levelzero(**more)
        return dict({"ZE_ENABLE_ALT_DRIVERS": self.program("libze_fake.so")}, **more)

    def cuda(self, **more):
        """The stand-in for NVIDIA's driver."""
        folder = self.build / "tests/fake/cuda"
        if not (folder / "libcuda.so.1").exists():
            self.skip("built without a CUDA toolkit")
        return dict({"LD_LIBRARY_PATH": str(folder)}, **more)

    def cuda_preloaded(self, **more):
        """The same, where the library that `gputrack run` preloads is built."""
        if not (self.build / "libgputrack_preload.so").exists():
            self.skip("the preloaded library is not built for this processor")
        return self.cuda(**more)

    def tracker(self, **more):
        """As a user of the original tracker would set it up, without gputrack run."""
        return self.levelzero(**dict({"ZE_ENABLE_VALIDATION_LAYER": "1",
                                      "LD_LIBRARY_PATH": str(self.build / "levelzero"),
                                      "ZEL_ENABLE_SYSTEM_RESOURCE_TRACKER_CHECKER": "1"}, **more))

    # Running things.

    def start(self, *command, env=None, **how):
        """Starts a program in a new process group; the caller waits for it."""
        environment = dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC", NO_COLOR="1",
                           GPUTRACK_CONFIG="", PATH=f"{self.build}:{os.environ['PATH']}")
        environment.update(env or {})
        process = subprocess.Popen([str(word) for word in command], cwd=self.folder, env=environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True, **how)
        self.started.append(process)
        return process

    def run(self, *command, env=None, stdin=None, timeout=120, preexec=None):
        process = self.start(*command, env=env, preexec_fn=preexec)
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the traced program holds the pipes open too
            process.communicate()
            raise AssertionError(f"{command} did not end within {timeout} s")
        return Run(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"),
                   process.pid)

    def gputrack(self, *command, **how):
        return self.run(self.build / "gputrack", *command, **how)

    def analyses(self):
        """The names of all analyses, from the program itself."""
        report = next(command for command in json.loads(self.gputrack("describe").out)["commands"]
                      if command["name"] == "report")
        return next(option for option in report["options"]
                    if option["name"] == "analysis")["choices"]

    def report(self, recording, analysis, *more):
        """An analysis as the object parsed from its JSON."""
        done = self.gputrack("report", recording, "-a", analysis, "--format", "json", *more)
        assert done.status == 0, done.err
        return json.loads(done.out)

    def events(self, recording, *more):
        """All events, each with the frames of its stack."""
        done = self.gputrack("export", recording, "--format", "json", *more)
        assert done.status == 0, done.err
        return with_frames(json.loads(done.out))
