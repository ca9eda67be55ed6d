#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""attach_python.py - Python's lines under attach, as root on a machine with a GPU: BUILD_DIR [libcuda.so.1]

The same script under `gputrack run` and under `gputrack attach -p`: the same calls, and for each the
same lines of Python. Through ctypes with the GIL and without, in threads and a child, and through
PyTorch where it is installed. Then what the lines cost. Prints a line per check, ends with 1 if one is
wrong; two minutes at most.
"""
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/e2e"))
import harness  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
LIBRARY = sys.argv[2] if len(sys.argv) > 2 else "libcuda.so.1"
GPUTRACK = str(BUILD / "gputrack")
failed = []

WAIT = """
import sys
if len(sys.argv) > 2:
    print("ready", flush=True)
    sys.stdin.readline()
main()
print("done", flush=True)
if len(sys.argv) > 2:
    sys.stdin.readline()
"""
SCRIPTS = {
    "ctypes": """
import ctypes, sys, threading
cuda, held = ctypes.CDLL(sys.argv[1]), ctypes.PyDLL(sys.argv[1])
context, device = ctypes.c_void_p(), ctypes.c_int()
assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
def allocate(size, library=cuda):
    handle = ctypes.c_uint64()
    assert library.cuCtxSetCurrent(context) == 0
    assert library.cuMemAlloc_v2(ctypes.byref(handle), ctypes.c_size_t(size)) == 0
    assert library.cuMemFree_v2(handle) == 0
def with_the_gil():
    allocate(2 << 20, held)
def generate():
    yield allocate(3 << 20)
def deep(n):
    return deep(n - 1) if n else allocate(4 << 20)
def spin(number):
    for i in range(20):
        allocate((5 + number) << 20, held if i % 2 else cuda)
def main():
    with_the_gil()
    list(generate())
    deep(10)
    threads = [threading.Thread(target=spin, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(50):
        exec("\\n" * i + "def made():\\n    allocate(%d)\\nmade()" % ((10 + i) << 20), globals())
""",
    "PyTorch": """
import torch
torch.zeros(1, device="cuda")
net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
def step(optimizer):
    optimizer.zero_grad()
    loss = net(torch.randn(64, 256, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
def keep(sizes):
    return [torch.empty(size << 20, dtype=torch.uint8, device="cuda") for size in sizes]
def main():
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        step(optimizer)
    kept = keep(range(32, 40))
    del kept
    torch.cuda.synchronize()
""",
}


def check(what, good, detail=""):
    print("ok  " if good else "FAIL", what, detail, flush=True)
    if not good:
        failed.append(what)


def places(recording, since=0):
    """Calls with memory in them: function, size, Python's frames."""
    done = subprocess.run([GPUTRACK, "export", recording, "-f", "json"], capture_output=True, text=True)
    events = [e for e in harness.with_frames(json.loads(done.stdout)) if e.get("bytes") and e["effect"] == "create"]
    return collections.Counter(
        (e["function"], e["bytes"], tuple((f["function"], pathlib.Path(f["file"]).name, f["line"])
                                          for f in e["stack"] if f["module"] == "Python"))
        for e in events if e["bytes"] >= since)


def attach(pid, *options):
    tracer = subprocess.Popen([GPUTRACK, "attach", "-i", "0", "-o", "a.gt", *options, "-p", str(pid)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in tracer.stderr:
        if "tracking" in line:
            return tracer
    return None


def compare(name, env):
    script = pathlib.Path(f"{name.lower()}_calls.py")
    script.write_text(SCRIPTS[name] + WAIT)
    done = subprocess.run([GPUTRACK, "run", "-q", "-o", "door.gt", sys.executable, script, LIBRARY],
                          env=env, capture_output=True, text=True, timeout=60)
    check(f"{name}: run", done.returncode == 0, done.stderr[-300:])
    program = subprocess.Popen([sys.executable, script, LIBRARY, "wait"], env=env, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if program.stdout.readline() != "ready\n":
        check(f"{name}: starts", False)
        return
    tracer = attach(program.pid)
    check(f"{name}: attach", tracer is not None)
    print("", file=program.stdin, flush=True)
    program.stdout.readline()
    tracer.send_signal(signal.SIGINT)
    tracer.communicate(timeout=60)
    program.communicate("\n", timeout=60)
    # what was allocated before attach came is small
    since = 1 << 20
    door, kernel = places("door.gt", since), places("a.gt", since)
    # under run, the runtime's own functions are seen too, around the driver's
    functions = {function for function, _, _ in kernel}
    door = collections.Counter({key: n for key, n in door.items() if key[0] in functions})
    same, total = sum((door & kernel).values()), sum(kernel.values())
    check(f"{name}: {total} allocations have the lines of run", total and same >= 0.999 * total,
          f"{same} are equal" + "".join(f"\n     only attach: {key}" for key in list(kernel - door)[:2])
          + "".join(f"\n     only run: {key}" for key in list(door - kernel)[:2]))
    if name == "PyTorch":
        # threads of the backward pass run no Python, and cuBLAS has blocks of 32 and 64 MiB there
        kept = {size for _, size, stack in kernel if stack}
        check("PyTorch: what keep() makes has its lines", kept >= {size << 20 for size in range(33, 40)}, kept)
        return
    check(f"{name}: every allocation has lines", all(stack for _, _, stack in kernel))


def main():
    if os.geteuid():
        print("skip: only root may attach")
        return 77
    work = tempfile.TemporaryDirectory(prefix="gputrack-attach-python-")
    os.chdir(work.name)
    print("Python", sys.version.split()[0], "kernel", os.uname().release, flush=True)
    env = dict(os.environ)
    compare("ctypes", env)
    if subprocess.run([sys.executable, "-c", "import torch; torch.zeros(1, device='cuda')"],
                      capture_output=True).returncode == 0:
        compare("PyTorch", dict(env, PYTORCH_NO_CUDA_MEMORY_CACHING="1"))
    else:
        print("skip PyTorch: it is not installed, or has no GPU")
    fake = BUILD / "tests/fake/cuda/libcuda.so.1"
    if fake.exists():
        subprocess.run([sys.executable, TOP / "bench/attach_python.py", BUILD], timeout=60)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
