#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torch_steps.py - what gputrack adds to PyTorch's steps: BUILD_DIR; needs a GPU.

A transformer's training step, and inference that allocates many small tensors: each in processes of
its own, bare, under `gputrack run` and with PyTorch's own memory history in turn. A process reports the median of
its steps.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROUNDS = int(os.environ.get("ROUNDS", "5"))
TRAINING = """
import torch, time, statistics
torch.manual_seed(0)
net = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(256, 4, batch_first=True), 4).cuda()
best = torch.optim.Adam(net.parameters())
def step():
    best.zero_grad(set_to_none=True)
    net(torch.randn(16, 64, 256, device="cuda")).square().mean().backward()
    best.step()
COUNT = 300
"""
INFERENCE = """
import torch, time, statistics
layers = [torch.nn.Linear(64, 64).cuda() for _ in range(20)]
x = torch.randn(8, 64, device="cuda")
@torch.no_grad()
def step():
    y = x
    for layer in layers:
        y = torch.relu(layer(y)) + torch.ones(8, 64, device="cuda")
COUNT = 1000
"""
HISTORY = """
torch.cuda.memory._record_memory_history(max_entries=1000000, stacks="python")
"""
TIMED = """
times = []
for i in range(COUNT):
    torch.cuda.synchronize()
    begun = time.perf_counter()
    step()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - begun)
print(statistics.median(times[COUNT // 3:]) * 1e6)
"""


def run(script, *before):
    done = subprocess.run([*before, sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def main():
    if subprocess.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"],
                      stderr=subprocess.DEVNULL).returncode:
        print("Skipped: no PyTorch with a GPU here.")
        return
    print("| step | how | µs, median of processes | spread | × bare |\n|---|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        ours = [str(BUILD / "gputrack"), "run", "-q", "-o", f"{folder}/a.gt"]
        ways = {"bare": ([], ""), "direct": (ours, ""), "through CUPTI": ([*ours, "--cuda-door", "cupti"], ""),
                "PyTorch's own history": ([], HISTORY)}
        for name, text in (("training", TRAINING), ("inference", INFERENCE)):
            times = {way: [] for way in ways}
            for _ in range(ROUNDS):
                for way, (before, more) in ways.items():
                    times[way].append(run(text + more + TIMED, *before))
            bare = statistics.median(times["bare"])
            for way, found in times.items():
                median = statistics.median(found)
                print(f"| {name} | {way} | {median:.0f} | {min(found):.0f} – {max(found):.0f} | {median / bare:.3f} |")


main()
