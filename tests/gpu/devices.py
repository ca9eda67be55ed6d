#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""devices.py - owner and GPU of CUDA memory, attached and by the door: needs a GPU and root: BUILD_DIR

The same programs by `run` and by `attach`: contexts made current in every way, the runtime beside the
driver's own contexts, PyTorch in threads; then a process that is attached late. Prints a line per check,
ends with 1 if one is wrong. Without nvcc or PyTorch these are skipped.
"""
import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]).resolve()
GPUTRACK = str(BUILD / "gputrack")
CUDA = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
failed = []

# the runtime follows the current context, and sets one in threads that have none
RUNTIME = r"""
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
static void need(int e, const char *what) { if (e) { fprintf(stderr, "%s: %d\n", what, e); exit(1); } }
int main()
{
	CUcontext own;
	CUdeviceptr block;
	void *p, *driver = dlopen("libcuda.so.1", RTLD_NOW);
	auto create = (CUresult(*)(CUcontext *, unsigned, CUdevice))dlsym(driver, "cuCtxCreate_v2");
	auto set = (CUresult(*)(CUcontext))dlsym(driver, "cuCtxSetCurrent");
	auto init = (CUresult(*)(unsigned))dlsym(driver, "cuInit");
	auto allocate = (CUresult(*)(CUdeviceptr *, size_t))dlsym(driver, "cuMemAlloc_v2");
	need(init(0), "cuInit");
	need(create(&own, 0, 0), "cuCtxCreate");
	need(allocate(&block, 1 << 20), "cuMemAlloc");
	need(cudaSetDevice(0), "cudaSetDevice");
	need(cudaMalloc(&p, 2 << 20), "cudaMalloc");
	std::thread([] { void *q; need(cudaMalloc(&q, 3 << 20), "cudaMalloc in a thread"); }).join();
	need(set(own), "cuCtxSetCurrent");
	need(cudaMalloc(&p, 4 << 20), "cudaMalloc in the own context");
	need(cudaSetDevice(0), "cudaSetDevice");
	need(cudaMalloc(&p, 5 << 20), "cudaMalloc after all");
	return 0;
}
"""

TORCH = """
import threading, torch
kept = [torch.zeros(3 << 20, device="cuda")]
def work(i):
    kept.append(torch.zeros((i + 4) << 20, device="cuda:0"))
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads:
    t.start(); t.join()
print("done")
"""


def say(name, ok, more=""):
    print(f"{'ok  ' if ok else 'FAIL'} {name}{'  ' if more else ''}{more}", flush=True)
    if not ok:
        failed.append(name)


def run(*command, **how):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=60, **how)


def events(recording):
    done = run(GPUTRACK, "export", recording, "--format", "json")
    return json.loads(done.stdout)["events"] if done.returncode == 0 else []


def owned(recording):
    """What the program created: size, GPU, and the number of its context in order of creation."""
    contexts, out = [], []
    for e in events(recording):
        if e["effect"] != "create" or e["outcome"] != "done" or e["api"] != "cuda":
            continue
        if e["kind"].endswith("context") and e["handle"] not in contexts:
            contexts.append(e["handle"])
        owner = e.get("owner")
        # what the door makes up has no call
        if e["function"].startswith("cu") and not e["function"].startswith("cuda"):
            out.append((e["function"], e.get("bytes"), e.get("place"),
                        contexts.index(owner) if owner in contexts else owner))
    return out


def same(name, folder, *command):
    door = run(GPUTRACK, "run", "-q", "-o", folder / "door.gt", *command)
    kernel = run(GPUTRACK, "attach", "-q", "-o", folder / "kernel.gt", "-c", *command)
    one, two = owned(folder / "door.gt"), owned(folder / "kernel.gt")
    # handles of libraries' own objects come in another order where threads race
    one, two = collections.Counter(one), collections.Counter(two)
    blocks = sum(two.values())
    unknown = sum(n for (_, _, place, _), n in two.items() if not place)
    say(f"{name}: owner and GPU as by the door", door.returncode == kernel.returncode == 0 and one == two and blocks,
        f"{blocks} creations, {unknown} without a GPU (as by the door)")
    if one != two:
        print("  door only:", list((one - two).items())[:5])
        print("  attach only:", list((two - one).items())[:5])
        print(kernel.stderr[-500:], end="")


def late(folder, program):
    target = subprocess.Popen([program, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    tool = subprocess.Popen([GPUTRACK, "attach", "-i", "0", "-o", folder / "late.gt", "-p", str(target.pid)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while "tracking" not in tool.stderr.readline():
        pass
    target.communicate("\n", timeout=30)
    tool.communicate(timeout=60)
    blocks = {e["bytes"] >> 20: (e.get("owner"), e.get("place")) for e in events(folder / "late.gt")
              if e["effect"] == "create" and e["function"] == "cuMemAlloc_v2"}
    one = bool(shutil.which("nvidia-smi")) and run("nvidia-smi", "-L").stdout.count("GPU ") == 1
    say("attached late: what was made current before is unknown", blocks.get(5, ("?",))[0] is None, str(blocks.get(5)))
    say("attached late: what was made current since is known",
        len(blocks) == 9 and all(blocks[i][0] for i in (1, 2, 3, 4, 6, 7)), str(len(blocks)))
    if one:
        say("attached late: the machine's only GPU is known", all(place for _, place in blocks.values()),
            str(sorted({place for _, place in blocks.values() if place})))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = folder / "contexts"
        made = run("cc", "-o", program, TOP / "tests/gpu/contexts.c", f"-I{CUDA}/include", "-ldl", "-lpthread")
        if made.returncode:
            print("skipped: no CUDA headers\n" + made.stderr[-300:])
        else:
            same("contexts", folder, program)
            late(folder, program)
        nvcc = shutil.which("nvcc") or (str(CUDA / "bin/nvcc") if (CUDA / "bin/nvcc").exists() else None)
        if nvcc:
            (folder / "runtime.cu").write_text(RUNTIME)
            made = run(nvcc, "-o", folder / "runtime", folder / "runtime.cu", "-ldl")
            if made.returncode:
                say("the runtime's program compiles", False, made.stderr[-300:])
            else:
                same("runtime and driver", folder, folder / "runtime")
        if run(sys.executable, "-c", "import torch; torch.zeros(1, device='cuda')").returncode == 0:
            (folder / "work.py").write_text(TORCH)
            same("PyTorch in threads", folder, sys.executable, folder / "work.py")
        else:
            print("skipped: no PyTorch with a GPU")
    print(f"{len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    signal.alarm(150)
    sys.exit(main())
