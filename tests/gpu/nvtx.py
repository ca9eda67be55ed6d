#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""nvtx.py - ranges of NVTX as phases: needs a GPU, PyTorch and nvcc: BUILD_DIR

torch.cuda.nvtx's ranges and cuBLAS's own, a program with NVTX's header and the CUDA driver, the same
beside another tool of NVTX, and what a range costs. Prints a line per check, ends with 1 if one is wrong.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from checks import check, failed

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]).resolve()
GPUTRACK = str(BUILD / "gputrack")
MIB = 1 << 20

TORCH = """
import torch
from torch.cuda import nvtx
kept = []
nvtx.range_push("setup")
net = torch.nn.Linear(1024, 1024).cuda()
nvtx.range_pop()
for step in range(3):
    nvtx.range_push("step %d" % step)
    nvtx.range_push("forward")
    out = net(torch.randn(4096, 1024, device="cuda"))
    kept.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda"))
    nvtx.range_pop()
    with nvtx.range("backward"):
        out.square().mean().backward()
    nvtx.range_pop()
handle = nvtx.range_start("eval")
kept.append(torch.empty(128 << 20, dtype=torch.uint8, device="cuda"))
nvtx.range_end(handle)
torch.cuda.synchronize()
print("done")
"""

PROGRAM = r"""
#include <cstdio>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

static double now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void *driver;

template <typename... Arguments> static void call(const char *name, Arguments... arguments)
{
	int error = reinterpret_cast<int (*)(Arguments...)>(dlsym(driver, name))(arguments...);

	if (error)
		std::printf("%s: %d\n", name, error);
}

static void allocate(size_t mib)
{
	unsigned long long block;

	call("cuMemAlloc_v2", &block, mib << 20);
}

int main(int argc, char **)
{
	void *context;
	double best = 1e9;

	driver = dlopen("libcuda.so.1", RTLD_NOW);
	call("cuInit", 0u);
	call("cuDevicePrimaryCtxRetain", &context, 0);
	call("cuCtxSetCurrent", context);
	nvtxRangePushA("load");
	allocate(3);
	nvtxRangePushA("weights");
	allocate(5);
	nvtxRangePop();
	nvtxRangePop();
	nvtxRangeId_t job = nvtxRangeStartA("job");
	allocate(7);
	nvtxRangeEnd(job);
	allocate(11);
	for (int round = 0; argc > 1 && round < 20; round++) {
		double begin = now();

		for (int i = 0; i < 100000; i++) {
			nvtxRangePushA("a range");
			nvtxRangePop();
		}
		best = (now() - begin) / 100000 < best ? (now() - begin) / 100000 : best;
	}
	if (argc > 1)
		std::printf("%.1f\n", best);
	else
		std::puts("done");
	return 0;
}
"""


def run(*command, **env):
    return subprocess.run(command, capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, GPUTRACK_CONFIG="", **env))


def record(name, *command, options=(), **env):
    done = run(GPUTRACK, "run", "-q", "-o", name, *options, *command, **env)
    if done.returncode:
        check(f"{name} records", False, done.stderr.strip()[-400:])
    return done


def report(name, *more):
    done = run(GPUTRACK, "report", name, "-f", "json", "--no-held", *more)
    return json.loads(done.stdout) if done.returncode == 0 else {"groups": []}


def by_phase(name, kind="device memory"):
    """MiB created in each phase."""
    sites = report(name, "-a", "sites", "--by", "phase")["groups"]
    found = {}
    for site in sites:
        if site["kind"] == kind:
            phase = site["place"]["text"]
            found[phase] = found.get(phase, 0) + site["total_bytes"]
    return found


def torch_ranges():
    done = record("torch.gt", sys.executable, "-c", TORCH)
    check("PyTorch: the program prints what it prints", done.stdout == "done\n", done.stderr[-400:])
    found = by_phase("torch.gt", "PyTorch block")
    print("     phases:", {phase: f"{size / MIB:.1f} MiB" for phase, size in sorted(found.items())})
    check("PyTorch: its blocks are in their phases",
          found.get("step 0 > forward", 0) >= 64 * MIB and found.get("eval", 0) >= 128 * MIB,
          str(found))
    check("PyTorch: the model's are in setup", found.get("setup", 0) > 0, str(found))
    everything = json.dumps(report("torch.gt", "-a", "sites", "--by", "phase"))
    print("     cuBLAS's own ranges:", "yes" if "cublas" in everything.lower() else "none seen")
    kept = report("torch.gt", "-a", "sites", "--phase", "^eval$")["groups"]
    check("PyTorch: --phase reads one phase alone",
          sum(g["total_bytes"] for g in kept if g["kind"] == "PyTorch block") >= 128 * MIB, str(kept)[:300])


def program():
    compiler = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    pathlib.Path("ranges.cu").write_text(PROGRAM)
    done = run(compiler, "-O2", "-o", "ranges", "ranges.cu", "-ldl")
    check("the program is compiled", done.returncode == 0, done.stderr[-400:])
    if done.returncode:
        return
    expected = {"load": 3 * MIB, "load > weights": 5 * MIB, "job": 7 * MIB, "(no phase)": 11 * MIB}
    for door in ("auto", "cupti"):
        record(f"c-{door}.gt", "./ranges", options=["--cuda-door", door])
        found = by_phase(f"c-{door}.gt")
        wrong = {p: (found.get(p), size) for p, size in expected.items() if found.get(p) != size}
        check(f"driver, door {door}: each block is in its phase", not wrong, str(wrong))
    tool = BUILD / "tests/e2e/programs/nvtx_tool.so"
    if tool.exists():
        run("./ranges", NVTX_INJECTION64_PATH=str(tool))
        bare = pathlib.Path("tool.txt").read_text()
        pathlib.Path("tool.txt").unlink()
        record("c-tool.gt", "./ranges", NVTX_INJECTION64_PATH=str(tool))
        check("another tool is told the same", pathlib.Path("tool.txt").read_text() == bare, bare)
        check("… and we are, too", by_phase("c-tool.gt").get("load > weights") == 5 * MIB)
    bare = float(run("./ranges", "time").stdout)
    ours = float(record("c-time.gt", "./ranges", "time").stdout)
    check(f"a range costs {ours:.1f} ns recorded, {bare:.1f} bare: within 100 ns", ours - bare <= 100)


def main():
    work = tempfile.mkdtemp(prefix="gputrack-nvtx-")
    os.chdir(work)
    try:
        program()
        if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode:
            print("skip PyTorch is not installed")
        else:
            torch_ranges()
        print(subprocess.run([str(BUILD / "bench/nvtx_ranges"), str(BUILD / "libgputrack_nvtx.so")],
                             capture_output=True, text=True).stdout)
    finally:
        os.chdir("/")
        shutil.rmtree(work)
    print(f"{len(failed)} failed" if failed else "all right")
    return bool(failed)


sys.exit(main())
