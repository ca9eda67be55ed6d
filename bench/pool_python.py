#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pool_python.py - what recording a block costs below Python frames: BUILD_DIR

A block is made and freed through ctypes and the stand-in for PyTorch's allocator (tests/fake/torch). Prints
what recording adds to that pair: instructions of our libraries, as valgrind counts them, and nanoseconds.
"""
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

FRAMES = (4, 10, 18)
FEW, MANY = 1000, 3000
ROUNDS = int(os.environ.get("ROUNDS", "20"))


def make_blocks(library, frames, count):
    block = ctypes.CDLL(library).fake_torch_cpu
    block.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

    def pairs():
        begun = time.perf_counter_ns()
        for _ in range(count):
            block(0x10000000, 1000)
            block(0x10000000, 0)
        return (time.perf_counter_ns() - begun) / count

    def below(depth):
        return below(depth - 1) if depth else min(pairs() for _ in range(ROUNDS if count > MANY else 1))

    # of which four are the module, this function, `below` and `pairs`
    print(below(frames - 4))


def recorded(build, folder):
    return dict(os.environ, LD_PRELOAD=str(build / "libgputrack_preload.so"), GPUTRACK_POOLS="cpu",
                GPUTRACK_RECORDING=f"{folder}/a.gt")


def own(build, frames, count, environment, *prefix):
    library = str(build / "tests/fake/torch/libc10_cuda.so")
    python = os.path.realpath(sys.executable)
    return subprocess.run([*prefix, python, __file__, "--blocks", library, str(frames), str(count)],
                          env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout


def instructions(build, frames, count):
    with tempfile.TemporaryDirectory() as folder:
        for left in reversed(range(5)):
            try:
                own(build, frames, count, recorded(build, folder), "valgrind", "--tool=callgrind",
                    f"--callgrind-out-file={folder}/out")
                break
            except subprocess.CalledProcessError:
                # valgrind takes another tool's probe of Python's library for a trap
                if not left:
                    raise
        said = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", f"{folder}/out"],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
    return int(re.search(r"([\d,]+) .*report\.c:take ", said)[1].replace(",", ""))


def nanoseconds(build, frames):
    with tempfile.TemporaryDirectory() as folder:
        return [float(own(build, frames, 20000, environment))
                for environment in (dict(os.environ), recorded(build, folder))]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    print("Python frames  instructions   bare ns   recorded ns   added ns")
    for frames in FRAMES:
        added = (instructions(build, frames, MANY) - instructions(build, frames, FEW)) // (MANY - FEW)
        bare, with_us = nanoseconds(build, frames)
        print(f"{frames:13}  {added:12,}  {bare:8.0f}  {with_us:12.0f}  {with_us - bare:9.0f}")


if sys.argv[1] == "--blocks":
    make_blocks(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    main()
