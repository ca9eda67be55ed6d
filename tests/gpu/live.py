#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""live.py - what programs and tests on a GPU are told about their living resources: BUILD_DIR

PyTorch's kept tensors by line, its caches and those of cuBLAS and cuDNN set apart; the peak against torch.cuda's
own; pytest, where it is installed; a C program of CUDA's runtime; what a mark and an empty question cost. Prints
a line per check, ends with 1 if one is wrong. One minute.
"""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from checks import check, failed

BUILD = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
GPUTRACK = str(BUILD / "gputrack")

SCRIPT = """
import gc, timeit, torch
import gputrack

kept = []
def train(keep):
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.Flatten(), torch.nn.Linear(8 * 30 * 30, 64)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        batch = torch.randn(16, 3, 32, 32, device="cuda")
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if keep:
            kept.append(batch)  # KEPT
    torch.cuda.synchronize()

before = gputrack.snapshot()
train(False)
clean = gputrack.leaks(before, excused=True)
print("clean", [str(leak) for leak in clean if not leak.excused])
print("excused", sorted({leak.excused.split(":")[0] for leak in clean if leak.excused}))
second = gputrack.snapshot()
train(True)
print("kept", [(leak.count, leak.kind, leak.where) for leak in gputrack.leaks(second)])
del kept[:]
third = gputrack.snapshot()
torch.cuda.reset_peak_memory_stats()
base = torch.cuda.memory_allocated()
x = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
y = torch.empty(32 << 20, dtype=torch.uint8, device="cuda")
del x
z = torch.empty(16 << 20, dtype=torch.uint8, device="cuda")
print("peak", gputrack.peak(third), torch.cuda.max_memory_allocated() - base)
del y, z
print("mark", min(timeit.repeat(gputrack.snapshot, number=1000, repeat=5)) * 1e6, "ns")
print("count", min(timeit.repeat(lambda: gputrack.count(third), number=1000, repeat=5)) * 1e6, "ns")
"""

TESTS = """
import pytest, torch
kept = []
@pytest.fixture(scope="session")
def model():
    return torch.nn.Linear(512, 512).cuda()
def test_forward(model):
    assert model(torch.ones(8, 512, device="cuda")).shape == (8, 512)
def test_backward(model):
    model(torch.ones(8, 512, device="cuda")).sum().backward()
    model.zero_grad(set_to_none=True)
def test_product():
    torch.ones(500, 500, device="cuda") @ torch.ones(500, 500, device="cuda")
def test_kept(model):
    kept.append(torch.ones(1000, 1000, device="cuda"))
@pytest.mark.gpu_peak_limit("64MiB")
def test_peak():
    torch.empty(65 << 20, dtype=torch.uint8, device="cuda")
@pytest.mark.gpu_peak_limit("64MiB")
def test_under_peak():
    torch.empty(60 << 20, dtype=torch.uint8, device="cuda")
"""

PROGRAM = r"""
#include <cuda_runtime.h>
#include <gputrack/live.h>
#include <stdio.h>

static int show(void *context, const gputrack_live_site *site)
{
	printf("%s|%s|%u|%s\n", site->what, site->created_by, site->line, site->excused);
	return 1;
}

int main(void)
{
	gputrack_live_mark before, peak;
	void *kept, *other;
	cudaStream_t stream;

	if (!gputrack_live_now(&before))
		return 0;
	cudaMalloc(&kept, 1 << 20); /* KEPT */
	cudaMalloc(&other, 3 << 20);
	cudaFree(other);
	cudaStreamCreate(&stream);
	cudaStreamDestroy(stream);
	gputrack_live_sites(&before, show, NULL);
	gputrack_live_peak(&before, &peak);
	printf("%llu\n", (unsigned long long)(peak.device_bytes - before.device_bytes));
	cudaDeviceReset();
	printf("%ld\n", gputrack_live_list(&before, NULL, NULL));
	return 0;
}
"""


def run(*command, **env):
    env = dict(os.environ, PYTHONPATH=str(BUILD), PYTHONDONTWRITEBYTECODE="1", COLUMNS="200", **env)
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=env)
    return done.returncode, done.stdout, done.stderr


def line_of(text, mark):
    return next(i for i, line in enumerate(text.splitlines(), 1) if mark in line)


def check_script():
    pathlib.Path("script.py").write_text(SCRIPT)
    status, out, err = run(GPUTRACK, "run", "-q", "-o", "script.gt", sys.executable, "script.py")
    found = dict(line.split(" ", 1) for line in out.splitlines())
    check("a script with PyTorch", not status, out + err)
    check("a clean training step leaves nothing", found.get("clean") == "[]", found.get("clean"))
    print("     set apart:", found.get("excused"))
    kept = [(3, "PyTorch block", f"script.py:{line_of(SCRIPT, 'batch = ')}")]
    check("kept tensors are named at their line", found.get("kept") == str(kept), found.get("kept"))
    ours, theirs = map(int, found.get("peak", "0 1").split())
    check("the peak is torch.cuda's", ours == theirs, (ours, theirs))
    print("     a mark from Python:", found.get("mark"), " an empty question:", found.get("count"))


def check_pytest():
    if not importlib.util.find_spec("pytest"):
        print("skip pytest: it is not installed")
        return
    pathlib.Path("test_gpu.py").write_text(TESTS)
    status, out, err = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--gputrack", "test_gpu.py",
                           PATH=f"{BUILD}:{os.environ['PATH']}")
    names = [line.split(" - ")[0] for line in out.splitlines() if line.startswith(("FAILED", "ERROR"))]
    check("pytest fails the two tests that it should",
          status == 1 and names == ["FAILED test_gpu.py::test_kept", "FAILED test_gpu.py::test_peak"], out + err)


def check_program():
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.access(nvcc, os.X_OK):
        print("skip the C program: there is no nvcc")
        return
    pathlib.Path("ask.c").write_text(PROGRAM)
    status, out, err = run(nvcc, "-g", "-I", str(SOURCE / "include"), "ask.c", "-o", "ask")
    check("live.h is compiled by nvcc", not status, out + err)
    status, out, err = run(GPUTRACK, "run", "-q", "-o", "ask.gt", "./ask")
    lines = out.splitlines()
    leaks = [line for line in lines if line.endswith("|")]
    check("a block of cudaMalloc is named at its line",
          len(leaks) == 1 and leaks[0].startswith("1 block of device memory, 1.00 MiB|") and
          f"|{line_of(PROGRAM, 'KEPT')}|" in leaks[0], out + err)
    check("its peak", str(4 << 20) in lines, out)
    check("after cudaDeviceReset nothing is alive", lines[-1:] == ["0"], out)


with tempfile.TemporaryDirectory(prefix="gputrack-live-") as folder:
    os.chdir(folder)
    check_script()
    check_pytest()
    check_program()
print(f"{len(failed)} failed")
sys.exit(bool(failed))
