#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report -a memory against the GPU's own figure, and an out-of-memory error explained, on a real GPU with PyTorch.

  python3 tests/gpu/memory.py BUILD
"""
import json
import pathlib
import subprocess
import sys
import tempfile

MIB = 1 << 20
failed = 0

WORK = """
import os, time, torch
x = torch.randn(4096, 4096, device="cuda")
keep = [x @ x for _ in range(20)]
conv = torch.nn.Conv2d(16, 32, 3).cuda()
conv(torch.randn(8, 16, 64, 64, device="cuda")).sum().backward()
layer = torch.nn.TransformerEncoderLayer(256, 8).cuda()
layer(torch.randn(10, 32, 256, device="cuda")).sum().backward()
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    y = x @ x
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    z = x @ x + 1
graph.replay()
torch.cuda.synchronize()
time.sleep(0.5)
free, total = torch.cuda.mem_get_info()
print(total - free, torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), flush=True)
time.sleep(0.5)
os._exit(0)
"""

# Blocks of 3 of 20 MiB in each segment stay; then more is asked for than any piece has.
FRAGMENTED = """
import torch
torch.cuda.set_per_process_memory_fraction(1.0)
def pin():
    return torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
def lend():
    return torch.empty(8 << 20, dtype=torch.uint8, device="cuda")
pins, lent = [], []
free, _ = torch.cuda.mem_get_info()
for _ in range((free - (2 << 30)) // (20 << 20)):
    pins.append(pin()); lent.append(lend()); lent.append(lend())
del lent
torch.empty(4 << 30, dtype=torch.uint8, device="cuda")
"""


def check(what, is_so, figures=""):
    global failed
    failed += not is_so
    print(f"{'ok  ' if is_so else 'FAIL'} {what}  {figures}", flush=True)


def record(gputrack, folder, name, script, *options):
    path = folder / f"{name}.py"
    path.write_text(script)
    return subprocess.run([gputrack, "run", "-q", "-o", folder / f"{name}.gt", *options, "--",
                           "env", "-u", "LD_LIBRARY_PATH", sys.executable, path],
                          capture_output=True, text=True, timeout=120)


def report(gputrack, recording, analysis, *options):
    done = subprocess.run([gputrack, "report", recording, "-a", analysis, "-f", "json", *options],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def text(gputrack, recording, *options):
    print(subprocess.run([gputrack, "report", recording, *options], capture_output=True, text=True,
                         timeout=60).stdout)


def against_the_gpu(gputrack, folder):
    done = record(gputrack, folder, "work", WORK)
    check("the program runs as without gputrack", done.returncode == 0, done.stderr[-300:])
    used, allocated, reserved = map(int, done.stdout.split())
    recording = folder / "work.gt"
    # in the middle of the last sleep
    end = report(gputrack, recording, "summary")["recording"]["duration_ns"] / 1e9
    memory = report(gputrack, recording, "memory", "--at", f"{end - 0.25:.3f}")
    device, = memory["devices"]
    parts = {}
    for group in memory["groups"]:
        parts[group["part"]] = parts.get(group["part"], 0) + group["bytes"]
    total = device["program_bytes"]
    check("the parts add up", sum(parts.values()) == total)
    share = 100 * parts.get("unknown", 0) / total
    check("unknown: at most 1 %", share <= 1, f"{share:.2f} % of {total / MIB:.0f} MiB")
    check("the sum is what the GPU reports", abs(device["used_bytes"] - used) <= 0.01 * used,
          f"{device['used_bytes'] / MIB:.1f} and {used / MIB:.1f} MiB")
    pool = memory["pool"]
    check("reserved memory is PyTorch's", pool["reserved_bytes"] == reserved,
          f"{pool['reserved_bytes']} and {reserved}")
    measured = {}
    rows = subprocess.run([gputrack, "export", recording], capture_output=True, text=True).stdout
    for row in (line.split("\t") for line in rows.splitlines()):
        if row[3] in ("cudaContextMemory", "cudaCodeMemory", "cudaGraphMemory"):
            measured.setdefault(row[3], []).append(int(row[8]) // MIB)
    print("    measured, MiB:", measured)
    print("    " + ", ".join(f"{part} {size / MIB:.1f}" for part, size in parts.items()))
    text(gputrack, recording, "-a", "memory", "--at", f"{end - 0.25:.3f}")


def out_of_memory(gputrack, folder):
    done = record(gputrack, folder, "fragmented", FRAGMENTED)
    check("the program ends by its own error", "OutOfMemoryError" in done.stderr, done.stderr[-200:])
    recording = folder / "fragmented.gt"
    shortage = report(gputrack, recording, "summary")["out_of_memory"]
    check("an out-of-memory error is recorded, with what was asked for",
          shortage and shortage["requested_bytes"] == 4 << 30, str(shortage and shortage["requested_bytes"]))
    autopsy = shortage["autopsy"]
    check("it is called fragmentation", autopsy["fragmented"], json.dumps(autopsy)[:300])
    check("the line that pins is named", autopsy["pin"]["place"]["function"] == "pin",
          autopsy["pin"]["place"]["text"])
    text(gputrack, recording)


def main():
    gputrack = pathlib.Path(sys.argv[1]).resolve() / "gputrack"
    with tempfile.TemporaryDirectory() as folder:
        against_the_gpu(gputrack, pathlib.Path(folder))
        out_of_memory(gputrack, pathlib.Path(folder))
    print(f"{failed} failed")
    sys.exit(bool(failed))


main()
