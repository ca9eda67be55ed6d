#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""attach_libraries.py BUILD_DIR - how long attaching and detaching take among many libraries."""
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

MAP = """
import mmap, os, sys
source, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
data, maps = open(source, "rb").read(), []
for i in range(count):
    os.makedirs(f"{folder}/{i}")
    with open(f"{folder}/{i}/libcuda.so.1", "w+b") as file:
        file.write(data)
        file.flush()
        maps.append(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
print("ready", flush=True)
input()
"""


def measure(build, work, processes, copies, way):
    library = build / "tests/fake/cuda/libcuda.so.1"
    others = [subprocess.Popen([sys.executable, "-c", MAP, library, f"{work}/{way}.{copies}.{i}",
                                str(copies)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
              for i in range(processes)]
    for other in others:
        other.stdout.readline()
    begun = time.monotonic()
    tracer = subprocess.Popen([build / "gputrack", "attach", "--all", "--api", "cuda", "-i", "0",
                               "--probes", way, "-o", f"{work}/a.gt"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
    for line in tracer.stderr:
        if "tracking" in line:
            break
    attached, probed = time.monotonic(), line.split(" functions in ")[1].split()[0]
    tracer.send_signal(signal.SIGINT)
    tracer.wait()
    detached = time.monotonic()
    for other in others:
        other.communicate(b"\n")
    print(f"| {processes} × {copies} | {way} | {probed} | {attached - begun:.2f} | "
          f"{detached - attached:.2f} |", flush=True)


def wait_for_the_kernel():
    """Until perf's probes are gone: a child of the tracer waits for them for minutes, and they cost whoever calls the library."""
    while subprocess.run(["ps", "-C", "gputrack-detach"], stdout=subprocess.DEVNULL).returncode == 0:
        time.sleep(1)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    print("| processes × libraries mapped | probes | libraries probed | attach, s | detach, s |")
    print("|--:|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as work:
        for processes, copies, way in ((1, 1, "session"), (1, 400, "session"), (1, 3000, "session"),
                                       (20, 16, "session"), (20, 16, "multi"),
                                       (1, 3000, "perf")):
            measure(build, work, processes, copies, way)
    wait_for_the_kernel()


if __name__ == "__main__":
    main()
