# SPDX-License-Identifier: MIT
"""test_doctor.py - gputrack doctor --system: the machine as its own tools describe it."""
import os
import platform
import re

SECTIONS = ["🖥️  System & Kernel Info", "📦 Distribution Info", "💾 Hardware Info", "🎮 GPU Info"]


def system(case, **env):
    done = case.gputrack("doctor", "--system", env=env)
    assert done.status == 0 and done.err == "", (done.status, done.err)
    return done.out


def test_the_system_is_described_in_four_sections(case):
    out = system(case, OCL_ICD_VENDORS="/nothing")
    bar = "=" * 30
    assert re.findall(rf"^{bar}\n (.*)\n{bar}$", out, re.M) == SECTIONS
    u = platform.uname()
    assert f"{u.system} {u.release} {u.version} {u.machine} " in out
    assert re.search(rf"^ +Kernel: Linux {re.escape(u.release)}$", out, re.M)
    assert re.search(rf"^Architecture: +{u.machine}$", out, re.M)
    cpus = re.search(r"^CPU\(s\): +(\d+)$", out, re.M)
    assert int(cpus.group(1)) >= os.cpu_count()
    fs = re.search(r"^total +(\S+) +(\S+) +(\S+) +\d+% -$", out, re.M)
    assert fs, out
    for line in ("PRETTY_NAME=", "Mem: ", "Swap: ", "Filesystem  "):
        assert re.search("^" + line, out, re.M), line


def test_without_utf8_output_is_plain_ascii(case):
    out = system(case, LC_ALL="C")
    assert out.isascii() and "\n System & Kernel Info\n" in out


def test_gpus_are_listed_with_driver_and_memory(case):
    folder = os.path.dirname(case.program("libnvidia-ml.so.1"))
    out = system(case, LD_LIBRARY_PATH=folder)
    assert ("[NVIDIA GPUs detected]\n"
            "GPU 0: Stand-in GPU (UUID: GPU-0000-0)\n"
            "GPU 1: Stand-in GPU (UUID: GPU-0000-1)\n"
            "\n"
            "0, Stand-in GPU, 0.0.1, 16384, 412, 15872, 17\n"
            "1, Stand-in GPU, 0.0.1, 16384, 412, 15872, 17\n") in out, out
    # drivers before the newer question count what they keep for themselves as used
    out = system(case, LD_LIBRARY_PATH=folder, FAKE_NVML_OLD="1")
    assert "0, Stand-in GPU, 0.0.1, 16384, 512, 15872, 17\n" in out, out
    assert "NVIDIA" not in system(case, LD_LIBRARY_PATH=folder, FAKE_NVML_INIT="9")


def test_devices_of_other_apis_are_listed(case):
    out = system(case, **case.pocl())
    assert re.search(r"\[OpenCL devices\]\n0, .*, Portable Computing Language, \S+, \d+ MiB\n", out)
    out = system(case, **case.levelzero())
    assert re.search(r"\[Level Zero devices\]\n0, gputrack test device 0, \d+ MiB\n", out), out


def test_a_driver_that_crashes_does_no_harm(case):
    bad = case.path("bad.c")
    bad.write_text("#include <stdlib.h>\n__attribute__((constructor)) static void f(void)"
                   "{ abort(); }\n")
    made = case.run("cc", "-shared", "-fPIC", bad, "-o", case.path("libnvidia-ml.so.1"))
    assert made.status == 0, made.err
    case.path("libOpenCL.so.1").symlink_to("libnvidia-ml.so.1")
    out = system(case, LD_LIBRARY_PATH=str(case.folder))
    assert "GPU Info" in out and "[OpenCL devices]\n(a driver failed)\n" in out, out


def test_options_unrelated_to_the_system_are_refused(case):
    for more in ("--json", "--program=/bin/true"):
        done = case.gputrack("doctor", "--system", more)
        assert done.status == 2 and "--system" in done.err and not done.out
