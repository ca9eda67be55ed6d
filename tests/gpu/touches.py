#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""touches.py - `gputrack run --touches` on a GPU: BUILD_DIR; takes about a minute

Blocks that kernels use, copy or leave alone, in a program of CUDA's runtime; PyTorch, if it is there; the
cost of a launch. Prints each check as ok or FAIL, ends with 1 if one is wrong.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from checks import check, failed

BUILD = pathlib.Path(sys.argv[1]).resolve()
GPUTRACK = str(BUILD / "gputrack")

PROGRAM = r"""
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <ctime>
struct views { float *out; int n; const float *in[2]; };
__global__ void add(views v) { int i = threadIdx.x; if (i < v.n) v.out[i] = v.in[0][i] + v.in[1][i]; }
__global__ void scale(float *x, float by, int n) { int i = threadIdx.x; if (i < n) x[i] *= by; }
static void need(cudaError_t e) { if (e) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); exit(3); } }
#define CASE(name) __attribute__((noinline)) static float *name(size_t n) \
	{ float *p; need(cudaMalloc(&p, n)); asm volatile("" : : : "memory"); return p; }
CASE(never_used) CASE(only_set) CASE(out_of_add) CASE(into_add) CASE(scaled) CASE(in_a_graph)
int main(int argc, char **argv)
{
	const size_t bytes = 4 << 20;
	float *out = out_of_add(bytes), *in = into_add(bytes), *x = scaled(bytes);
	static float host[256];
	if (argc > 1) {
		long count = atol(argv[1]);
		for (int round = 0; round < 7; round++) {
			timespec a, b;
			need(cudaDeviceSynchronize());
			clock_gettime(CLOCK_MONOTONIC, &a);
			for (long i = 0; i < count; i++)
				add<<<1, 32>>>(views{ out, 1, { in, x } });
			clock_gettime(CLOCK_MONOTONIC, &b);
			printf("%.1f\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / count);
		}
		return 0;
	}
	never_used(bytes);
	need(cudaMemset(only_set(bytes), 0, bytes));
	need(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
	for (int i = 0; i < 100; i++)
		add<<<1, 256>>>(views{ out, 256, { in, in } });
	scale<<<1, 256>>>(x, 2, 256);
	need(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
	need(cudaDeviceSynchronize());
	printf("done\n");
	return 0;
}
"""
TORCH = """
import torch
torch.manual_seed(0)
net = torch.nn.TransformerEncoderLayer(128, 4, batch_first=True).cuda()
unused = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
for i in range(10):
    net(torch.randn(8, 32, 128, device="cuda")).sum().backward()
torch.cuda.synchronize()
print("done", torch.cuda.memory_allocated())
"""


def run(command, **environment):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100,
                          env={**os.environ, **environment})


def touches(name, command):
    bare = run(command)
    done = run([GPUTRACK, "run", "-q", "--touches", "-o", f"{name}.gt", "--", *command])
    check(f"{name}: output and status as bare", (done.stdout, done.returncode) == (bare.stdout, bare.returncode),
          (bare.stdout[-300:], done.stdout[-300:], done.stderr[-500:]))
    report = json.loads(run([GPUTRACK, "report", f"{name}.gt", "-a", "touches", "-f", "json"]).stdout)
    print(f"     {name}: {report['work']}, unsure {report['unsure']}, left out {report['left_out']}")
    return report


def of(report, key):
    names = set()
    for group in report["groups"]:
        if group[key]:
            names |= {frame["function"].split("(")[0] for frame in group["stack"] if frame["function"]}
    return names


def cost(command):
    return sorted(float(line) for line in run(command).stdout.split())


def main():
    os.chdir(tempfile.mkdtemp())
    pathlib.Path("touch.cu").write_text(PROGRAM)
    subprocess.run(["nvcc", "-g", "-O1", "-Wno-deprecated-gpu-targets", "-o", "touch", "touch.cu"], check=True)
    report = touches("program", ["./touch"])
    check("101 launches, 2 copies, 1 set", (report["work"]["launches"], report["work"]["copies"], report["work"]["sets"])
          == (101, 2, 1), report["work"])
    check("all parameters are known, nothing is lost", not report["work"]["unseen"] and not report["work"]["lost"])
    unused, unread = of(report, "unused_count"), of(report, "unread_count")
    check("never_used is unused, alone", "never_used" in unused and not unused & {"only_set", "out_of_add", "into_add",
                                                                                 "scaled"}, unused)
    check("only_set is unread, alone", "only_set" in unread and not unread & {"never_used", "out_of_add", "into_add",
                                                                             "scaled"}, unread)
    print(run([GPUTRACK, "report", "program.gt", "-a", "touches"]).stdout)
    if run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"]).returncode == 0:
        pathlib.Path("script.py").write_text(TORCH)
        report = touches("PyTorch", [sys.executable, "script.py"])
        check("PyTorch's launches are seen", report["work"]["launches"] > 500, report["work"])
        print(run([GPUTRACK, "report", "PyTorch.gt", "-a", "touches", "--top", "3"]).stdout)
    else:
        print("skip PyTorch: there is none")
    rows = {}
    for name, before in (("bare", []), ("recorded", [GPUTRACK, "run", "-q", "-o", "c.gt", "--"]),
                         ("--touches", [GPUTRACK, "run", "-q", "--touches", "-o", "c.gt", "--"])) * 2:
        shutil.rmtree("c.gt", ignore_errors=True)
        rows.setdefault(name, []).extend(cost([*before, "./touch", "20000"]))
    events = sum(f.stat().st_size for f in pathlib.Path("c.gt").glob("*.trace"))
    for name, times in rows.items():
        times.sort()
        print(f"     a launch, {name}: least {times[0]:.0f} ns, median {times[len(times) // 2]:.0f}")
    print(f"     bytes a launch in the trace: {events / 140000:.1f}")
    over = rows["--touches"][0] - rows["bare"][0]
    check(f"a launch takes at most 150 ns more than bare ({over:.0f} by the least)", over <= 150)
    print(f"{len(failed)} wrong")
    sys.exit(1 if failed else 0)


main()
