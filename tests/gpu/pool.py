#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pool.py - blocks of PyTorch's and CuPy's allocators on a GPU: BUILD_DIR [moments] [lines] [cupy] [costs]

At 1,000 random moments, live and reserved bytes as torch.cuda says them, for plain and expandable segments,
with several streams and a CUDA graph; kept tensors named at their line; what a clean script leaves; kept arrays
of CuPy; what a block and a training step cost. Prints a line per check, ends with 1 if one is wrong. Four minutes
without an argument, which chooses parts.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from checks import check, failed

BUILD = pathlib.Path(sys.argv[1]).resolve()
GPUTRACK = str(BUILD / "gputrack")
MOMENTS = str(BUILD / "tests/e2e/programs/pool_moments")
MARKER = "cuMemHostRegister_v2"  # PyTorch does not call it

RANDOM = """
import ctypes, mmap, random, sys, torch
random.seed(int(sys.argv[1]))
cuda = ctypes.CDLL("libcuda.so.1")
page = mmap.mmap(-1, 4096)
address = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(page)))
torch.zeros(1, device="cuda")
streams = [torch.cuda.current_stream()] + [torch.cuda.Stream() for _ in range(3)]
tensors, graphs, moments = [], [], 0
linear = torch.nn.Linear(256, 256).cuda()

def capture():
    graph = torch.cuda.CUDAGraph()
    x = torch.ones(1000, 100, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        y = (x * 2 + 1).sum()
    graphs.append((graph, x, y))
    graph.replay()

def moment():
    assert not cuda.cuMemHostRegister_v2(address, ctypes.c_size_t(4096), 0)
    print(torch.cuda.memory_allocated(), torch.cuda.memory_reserved())
    assert not cuda.cuMemHostUnregister(address)

while moments < 1000:
    what = random.random()
    if what < 0.005:
        torch.cuda.empty_cache()
    elif what < 0.01 and len(graphs) < 4:
        capture()
    elif what < 0.012 and graphs:
        del graphs[0]
    elif what < 0.05:
        linear(torch.randn(64, 256, device="cuda")).sum().backward()
    elif what < 0.5 and len(tensors) > 20 or len(tensors) > 300:
        i = random.randrange(len(tensors))
        tensors[i] = tensors[-1]
        tensors.pop()
    else:
        size = int(2 ** random.uniform(4, 25))
        with torch.cuda.stream(random.choice(streams)):
            tensor = torch.empty(size, dtype=torch.uint8, device="cuda")
            if random.random() < 0.1:
                tensor.record_stream(random.choice(streams))
        tensors.append(tensor)
    if random.random() < 0.2:
        moment()
        moments += 1
"""

KEEP = """
import time, torch
kept = []
def forward(model, batch):
    return model(batch).square().mean()
def remember(loss, batch):
    kept.append(batch.clone())
def train(seconds):
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(4)]).cuda()
    step = torch.optim.Adam(model.parameters())
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        batch = torch.randn(64, 256, device="cuda")
        step.zero_grad()
        loss = forward(model, batch)
        loss.backward()
        step.step()
        remember(loss, batch)
        time.sleep(0.001)
train(6)
print(len(kept))
"""
KEEP_LINE = 7

CLEAN = """
import torch
net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16 * 900, 10)).cuda()
step = torch.optim.Adam(net.parameters())
for i in range(20):
    step.zero_grad()
    net(torch.randn(16, 3, 32, 32, device="cuda")).square().mean().backward()
    step.step()
print("done")
"""

CUPY = """
import cupy, gputrack_pool
gputrack_pool.cupy()
kept = []
def load(i):
    return cupy.full(1 << 20, i, dtype=cupy.uint8)
for i in range(20):
    array = load(i)
    if i % 4 == 0:
        kept.append(array)
del array
print(sum(int(a.nbytes) for a in kept))
import os
os._exit(0)
"""
CUPY_LINE = 6

BLOCKS = """
import time, torch
torch.zeros(1, device="cuda")
def turn(count):
    begun = time.perf_counter()
    for _ in range(count):
        torch.empty(1000, device="cuda")
    return (time.perf_counter() - begun) / count * 1e9
turn(20000)
print(min(turn(20000) for _ in range(10)))
"""

TRAINING = """
import torch, time, statistics
torch.manual_seed(0)
import sys
# the small one waits for the processor, the large one for the GPU
width, batch, count = (256, 16, 250) if sys.argv[1] == "small" else (2048, 32, 60)
net = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(width, 4, batch_first=True), 4).cuda()
best = torch.optim.Adam(net.parameters())
times = []
for i in range(count):
    torch.cuda.synchronize()
    begun = time.perf_counter()
    best.zero_grad(set_to_none=True)
    net(torch.randn(batch, 64, width, device="cuda")).square().mean().backward()
    best.step()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - begun)
print(statistics.median(times[count // 3:]) * 1e6)
"""


def run(command, **environment):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, **environment})


def script(name, text):
    pathlib.Path(name).write_text(text)
    return [sys.executable, name]


def record(recording, command, *options, **environment):
    return run([GPUTRACK, "run", "-q", "-o", recording, *options, *command], **environment)


def compare_moments(name, seed, **environment):
    done = record(f"{name}.gt", script("random_blocks.py", RANDOM) + [str(seed)], **environment)
    check(f"{name}: the script runs", done.returncode == 0, done.stderr[-600:])
    torch_says = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    said = run([MOMENTS, f"{name}.gt", MARKER])
    we_say = [tuple(map(int, line.split()[:2])) for line in said.stdout.splitlines()]
    check(f"{name}: call sites, totals and pools agree", said.returncode == 0, said.stderr[-300:])
    check(f"{name}: as many moments", len(torch_says) == len(we_say) == 1000, (len(torch_says), len(we_say)))
    for what, column in (("live bytes are memory_allocated()", 0), ("segments are memory_reserved()", 1)):
        wrong = [(i, a[column], b[column]) for i, (a, b) in enumerate(zip(torch_says, we_say)) if a[column] != b[column]]
        most = max((abs(a - b) for _, a, b in wrong), default=0)
        check(f"{name}: {what} at {len(we_say)} moments, difference {most}", not wrong, (len(wrong), wrong[:3]))


def report(recording, analysis):
    return json.loads(run([GPUTRACK, "report", recording, "-a", analysis, "--format", "json"]).stdout)


def lines_of(group):
    return [(os.path.basename(f.get("file") or ""), f.get("line")) for f in group["stack"]]


def check_kept():
    done = run([GPUTRACK, "run", "-o", "kept.gt", *script("kept.py", KEEP)])
    print(done.stderr)
    grows = run([GPUTRACK, "report", "kept.gt", "-a", "growth"]).stdout
    print(grows)
    check("kept tensors: named at their line in the summary", f"kept.py:{KEEP_LINE}" in done.stderr)
    check("kept tensors: named at their line in growth", f"kept.py:{KEEP_LINE}" in grows)
    peak = report("kept.gt", "watermark")
    check("kept tensors: the biggest of the peak", ("kept.py", KEEP_LINE) in lines_of(peak["groups"][0]),
          lines_of(peak["groups"][0]))
    check("the parts of the peak add up", sum(g["bytes"] for g in peak["groups"]) == peak["totals"]["bytes"])
    check("no segment is left for itself", not any("alloc_block" in str(g["stack"]) and g["kind"] == "device memory"
                                                   for g in peak["groups"]))


def check_clean():
    done = run([GPUTRACK, "run", "-o", "clean.gt", *script("clean.py", CLEAN)])
    print(done.stderr)
    blocks = [g for g in report("clean.gt", "leakage")["groups"] if g["kind"] == "PyTorch block"]
    for group in blocks:
        print(f"left: {group['count']} blocks, {group['bytes']} bytes")
        for frame in group["stack"]:
            print("    ", frame.get("module"), frame.get("function"), frame.get("file"), frame.get("line"))
    check("a clean script leaves no block", not blocks)


def check_cupy():
    if run([sys.executable, "-c", "import cupy"]).returncode:
        print("skip CuPy: Python has no cupy")
        return
    done = record("cupy.gt", script("cupy_kept.py", CUPY), PYTHONPATH=str(BUILD))
    check("CuPy: the script runs", done.stdout.strip() == str(5 << 20), (done.stdout, done.stderr[-600:]))
    blocks = [g for g in report("cupy.gt", "leakage")["groups"] if g["kind"] == "pool block"]
    check("CuPy: the kept arrays are the blocks left, at their line",
          [(g["count"], g["bytes"], ("cupy_kept.py", CUPY_LINE) in lines_of(g)) for g in blocks] == [(5, 5 << 20, True)],
          [(g["count"], g["bytes"], lines_of(g)) for g in blocks])


def check_costs():
    blocks, steps = script("blocks.py", BLOCKS), script("training.py", TRAINING)
    ways = {"bare": [], "none": [GPUTRACK, "run", "-q", "--pools", "none", "-o", "n.gt"],
            "blocks": [GPUTRACK, "run", "-q", "-o", "b.gt"]}
    found = {way: [] for way in ways}
    for _ in range(2):
        for way, before in ways.items():
            found[way].append(float(run([*before, *blocks]).stdout))
    best = {way: min(times) for way, times in found.items()}
    print(f"a tensor made and freed: bare {best['bare']:.0f} ns, without blocks {best['none']:.0f} ns, "
          f"with blocks {best['blocks']:.0f} ns")
    cost = (best["blocks"] - best["bare"]) / 2
    check(f"a block costs {cost:.0f} ns (made or freed), at most 300", cost <= 300)
    for size in ("large", "small"):
        found = {"bare": [], "blocks": []}
        for _ in range(2):
            for way in found:
                found[way].append(float(run([*ways[way], *steps, size]).stdout))
        bare, ours = (min(found[way]) for way in ("bare", "blocks"))
        print(f"a {size} training step: bare {bare:.0f} us, with blocks {ours:.0f} us, "
              f"{100 * (ours / bare - 1):.2f} % longer")
        if size == "large":
            check("a large training step takes at most 1 % longer", ours <= 1.01 * bare, found)


def main():
    os.chdir(tempfile.mkdtemp())
    if run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"]).returncode:
        print("Skipped: no PyTorch with a GPU here.")
        return
    parts = sys.argv[2:] or ["moments", "lines", "cupy", "costs"]
    if "moments" in parts:
        compare_moments("plain", 1)
        compare_moments("expandable", 2, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    if "lines" in parts:
        check_kept()
        check_clean()
    if "cupy" in parts:
        check_cupy()
    if "costs" in parts:
        check_costs()
    print(f"{len(failed)} wrong")
    sys.exit(1 if failed else 0)


main()
