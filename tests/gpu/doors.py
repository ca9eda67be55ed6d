#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""doors.py - both ways into CUDA on the same programs: needs a GPU: BUILD_DIR [LONG | BESIDE]

For each program: the same output as bare, the same calls of every function and the same leaks through
the direct door as through CUPTI. Then other tools that want CUPTI's only seat: PyTorch's profiler gives
the same events as bare, and compute-sanitizer and Nsight find what they find without us, around
`gputrack run` and within it. BESIDE: only these tools. Prints a line per program, ends with 1 if one is wrong.
"""
import collections
import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from checks import check, failed

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]).resolve()
GPUTRACK = str(BUILD / "gputrack")
# what CUPTI does not tell: made by the door from code that was loaded, and by PyTorch's allocator
OWN_ROWS = {"torchBlock", "torchBlockFreed",
            "cudaOwnCode", "cudaDeviceVariable", "cudaManagedVariable", "cudaVariableGone",
            "cudaContextMemory", "cudaCodeMemory", "cudaGraphMemory", "cudaDriverMemoryGone"}
# what the runtime calls when the process ends, and CUPTI no longer tells
AT_EXIT = {"cuLibraryUnload", "cuDevicePrimaryCtxRelease"}

SCRIPTS = {
    "eager training": """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
step = torch.optim.Adam(net.parameters())
for i in range(20):
    step.zero_grad()
    net(torch.randn(64, 256, device="cuda")).square().mean().backward()
    step.step()
print("done", torch.cuda.memory_allocated())
""",
    "transformer": """
import torch
torch.manual_seed(0)
net = torch.nn.TransformerEncoderLayer(128, 4, batch_first=True).cuda()
for i in range(10):
    net(torch.randn(8, 32, 128, device="cuda")).sum().backward()
print("done", torch.cuda.memory_allocated())
""",
    "CUDA graph": """
import torch
x = torch.zeros(1024, device="cuda")
for _ in range(3):
    y = x * 2 + 1
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g):
    y = x * 2 + 1
for _ in range(10):
    g.replay()
torch.cuda.synchronize()
print("done", float(y.sum()))
""",
    "expandable segments": """
import os
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
import torch
kept = [torch.ones(1 << i, device="cuda") for i in range(10, 24)]
del kept[::2]
torch.cuda.empty_cache()
print("done", torch.cuda.memory_allocated())
""",
    "asynchronous allocator": """
import os
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"
import torch
kept = [torch.ones(1 << i, device="cuda") for i in range(10, 24)]
del kept[::2]
print("done", len(kept))
""",
    "streams and events": """
import torch
streams = [torch.cuda.Stream() for _ in range(4)]
for s in streams:
    with torch.cuda.stream(s):
        a = torch.randn(256, 256, device="cuda") @ torch.randn(256, 256, device="cuda")
        e = torch.cuda.Event(enable_timing=True)
        e.record()
torch.cuda.synchronize()
print("done", len(streams))
""",
    "one rank of NCCL": """
import os, torch, torch.distributed as dist
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517", RANK="0", WORLD_SIZE="1")
torch.cuda.set_device(0)
dist.init_process_group("nccl")
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64).cuda())
for _ in range(3):
    net(torch.randn(8, 64, device="cuda")).sum().backward()
torch.cuda.synchronize()
dist.destroy_process_group()
print("done")
""",
    "driver API by ctypes": """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
def need(e):
    assert e == 0, e
context, device, memory, event = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p()
need(cuda.cuInit(0))
need(cuda.cuDeviceGet(ctypes.byref(device), 0))
need(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device))
for i in range(10):
    need(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 20)))
    if i % 2:
        need(cuda.cuMemFree_v2(memory))
need(cuda.cuEventCreate(ctypes.byref(event), 0))
print("done")
""",
}
LONG_SCRIPTS = {
    "torch.compile": """
import torch
torch.manual_seed(0)
@torch.compile
def f(x):
    return torch.relu(x @ x).sum()
for _ in range(3):
    r = f(torch.randn(128, 128, device="cuda"))
print("done")
""",
}
# name: (the module it needs, the script)
OTHERS = {
    "JAX": ("jax", """
import os
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax, jax.numpy as jnp
assert jax.devices()[0].platform == "gpu", jax.devices()
print("done", float(jax.jit(lambda x: (x @ x).sum())(jnp.ones((256, 256)))))
"""),
    "CuPy": ("cupy", """
import cupy
x = cupy.ones((256, 256))
print("done", float((x @ x).sum()))
"""),
}
FORTRAN = """
program touch
  use iso_c_binding
  implicit none
  interface
    integer(c_int) function cudaMalloc(p, n) bind(c, name="cudaMalloc")
      import
      type(c_ptr), intent(out) :: p
      integer(c_size_t), value :: n
    end function
    integer(c_int) function cudaMemset(p, byte, n) bind(c, name="cudaMemset")
      import
      type(c_ptr), value :: p
      integer(c_int), value :: byte
      integer(c_size_t), value :: n
    end function
    integer(c_int) function cudaFree(p) bind(c, name="cudaFree")
      import
      type(c_ptr), value :: p
    end function
  end interface
  type(c_ptr) :: kept, p
  integer :: i
  if (cudaMalloc(kept, 1048576_c_size_t) /= 0) stop 3
  do i = 1, 5
    if (cudaMalloc(p, 4096_c_size_t) /= 0) stop 3
    if (cudaMemset(p, 0_c_int, 4096_c_size_t) /= 0) stop 3
    if (cudaFree(p) /= 0) stop 3
  end do
  print *, "done"
end program
"""
PROFILED = """
import torch
from torch.profiler import profile, ProfilerActivity
x = torch.ones(1000, device="cuda").sum().item()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
    for _ in range(5):
        x = (torch.ones(1000, device="cuda") * 2).sum()
    torch.cuda.synchronize()
print(sum(1 for e in p.events() if "CUDA" in str(e.device_type)), float(x))
"""


def run(command, **environment):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, **environment})


def counts(recording):
    text = run([GPUTRACK, "export", recording, "--format", "csv"]).stdout
    rows = csv.DictReader(io.StringIO(text))
    return collections.Counter(row["function"] for row in rows if row["function"] not in OWN_ROWS)


def leaks(recording):
    report = json.loads(run([GPUTRACK, "report", recording, "-a", "leakage", "--format", "json"]).stdout)
    return sorted((g["kind"], g["count"], g["bytes"]) for g in report["groups"] if g["kind"] != "PyTorch block")


def compare(name, command):
    bare = run(command)
    found = {}
    for way in ("direct", "cupti"):
        shutil.rmtree(f"{way}.gt", ignore_errors=True)
        done = run([GPUTRACK, "run", "-q", "--cuda-door", way, "-o", f"{way}.gt", "--", *command])
        check(f"{name}, {way}: output and status as bare",
              (done.stdout, done.returncode) == (bare.stdout, bare.returncode),
              (bare.stdout[-200:], done.stdout[-200:], done.returncode, done.stderr[-400:]))
        found[way] = counts(f"{way}.gt"), leaks(f"{way}.gt")
    ours, theirs = found["direct"][0], found["cupti"][0]
    differ = {f: (ours[f], theirs[f]) for f in ours | theirs
              if ours[f] != theirs[f] and not (f in AT_EXIT and ours[f] > theirs[f])}
    check(f"{name}: {sum(ours.values())} calls of {len(ours)} functions, as CUPTI counts them", not differ, differ)
    check(f"{name}: the same leaks", found["direct"][1] == found["cupti"][1], found)


def nsys():
    """Nsight Systems; Nsight Compute brings one that records, even where it cannot be imported."""
    return shutil.which("nsys") or next(map(str, pathlib.Path("/opt/nvidia").glob("*/*/host/target-linux-x64/nsys")), None)


def kernels(done):
    """What Nsight Compute says of each kernel that it has measured: its name and its grid."""
    return re.findall(r"^ +(\w+.*) Context \d+, Stream", done.stdout, re.M)


def traced(_):
    """Whether Nsight Systems has left its events."""
    files = [f for f in pathlib.Path().glob("profile.*") if f.stat().st_size > 10000]
    for f in files:
        f.unlink()
    return bool(files)


def beside_others():
    """Tools of others, without us, around `gputrack run` and within it."""
    program = ["./kinds_static", "--keep", "kernel"]
    run([GPUTRACK, "run", "-q", "-o", "alone.gt", *program])
    for name, tool, finds in (
            ("compute-sanitizer", [shutil.which("compute-sanitizer")], lambda done: "0 errors" in done.stdout),
            ("Nsight Compute", [shutil.which("ncu"), "--clock-control", "none", "--target-processes", "all"], kernels),
            ("Nsight Systems", [nsys(), "profile", "-t", "cuda", "-o", "profile", "-f", "true"], traced)):
        if not tool[0]:
            print(f"skip {name}: not installed")
            continue
        bare = run([*tool, *program])
        alone = finds(bare)
        check(f"{name} works here", alone, (bare.returncode, bare.stdout[-300:], bare.stderr[-300:]))
        for where, command in (("around", [*tool, GPUTRACK, "run", "-q", "-o", "b.gt", *program]),
                               ("within", [GPUTRACK, "run", "-q", "-o", "b.gt", *tool, *program])):
            shutil.rmtree("b.gt", ignore_errors=True)
            done = run(command)
            found = finds(done)
            check(f"{name} {where} gputrack run finds what it finds alone: {alone}", found == alone,
                  (found, done.returncode, done.stdout[-300:], done.stderr[-300:]))
            check(f"{name} {where}: the calls of the program are recorded",
                  not counts("alone.gt") - counts("b.gt"), (counts("alone.gt"), counts("b.gt")))


def main():
    os.chdir(tempfile.mkdtemp())
    for line in run(["ldconfig", "-p"]).stdout.splitlines():
        if "libcuda.so.1 " in line:
            os.symlink(line.split()[-1], "libcuda.so")
            break
    for runtime in ("static", "shared"):
        subprocess.run(["nvcc", "-g", "-O1", "-Wno-deprecated-gpu-targets", "-cudart", runtime, "-o",
                        f"kinds_{runtime}", str(TOP / "tests/gpu/cuda_kinds.cu"), "-L.", "-lcuda"], check=True)
    if "BESIDE" not in sys.argv:
        compare_programs()
    beside_others()
    print(f"{len(failed)} wrong")
    sys.exit(1 if failed else 0)


def compare_programs():
    for kind in ("device managed pinned async pool virtual striped array mipmap streams graphs textures "
                 "kernel contexts").split():
        compare(f"{kind}, static runtime", ["./kinds_static", "--keep", kind])
    compare("all kinds, shared runtime", ["./kinds_shared", "--keep", "all"])
    if run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"]).returncode == 0:
        scripts = dict(SCRIPTS, **(LONG_SCRIPTS if "LONG" in sys.argv else {}))
        for name, text in scripts.items():
            pathlib.Path("script.py").write_text(text)
            compare(name, [sys.executable, "script.py"])
        pathlib.Path("profiled.py").write_text(PROFILED)
        bare = run([sys.executable, "profiled.py"])
        ours = run([GPUTRACK, "run", "-q", "-o", "p.gt", sys.executable, "profiled.py"])
        check(f"PyTorch's profiler gives the events it gives bare ({bare.stdout.split()[:1]})",
              ours.stdout == bare.stdout, (bare.stdout, ours.stdout, ours.stderr[-500:]))
        check("and ours are complete", counts("p.gt")["cuMemAlloc_v2"] > 0, counts("p.gt"))
    for name, (module, text) in OTHERS.items():
        if run([sys.executable, "-c", f"import {module}"]).returncode:
            print(f"skip {name}: Python has no {module}")
            continue
        pathlib.Path("script.py").write_text(text)
        compare(name, [sys.executable, "script.py"])
    if shutil.which("gfortran"):
        pathlib.Path("touch.f90").write_text(FORTRAN)
        folder = pathlib.Path(shutil.which("nvcc")).resolve().parents[1] / "lib64"
        built = run(["gfortran", "-g", "-o", "fortran", "touch.f90", f"-L{folder}", f"-Wl,-rpath,{folder}", "-lcudart"])
        check("a Fortran program builds", built.returncode == 0, built.stderr[-500:])
        if not built.returncode:
            compare("Fortran", ["./fortran"])
    else:
        print("skip Fortran: no gfortran")


main()
