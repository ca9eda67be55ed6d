#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torch_steps.py - what recording its blocks adds to PyTorch's steps: BUILD_DIR [cpu]

Two equal processes of PyTorch differ by a tenth, so everything takes turns within one process that
`gputrack run` records: the slots through which PyTorch's allocators report their blocks lead to
gputrack's functions, or past them to PyTorch's own; or past it while PyTorch keeps its own memory history.
Prints, for each step, the median of all turns and of their differences from the bare turns beside them.

The steps: a transformer's training that waits for the GPU, one that waits for the processor, inference
that makes many small tensors, and a tensor that is made and freed. With "cpu", or without a GPU, they
run on the processor, and gputrack records blocks in main memory.
"""
import ctypes
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

TURNS = int(os.environ.get("TURNS", "40"))
# to which PyTorch's allocators report blocks: src/api/pool.def
REPORTS = (b"_ZN3c1027reportMemoryUsageToProfilerE", b"_ZN3c1025ProfiledCPUMemoryReporter3New",
           b"_ZN3c1025ProfiledCPUMemoryReporter6Delete")


class Imports:
    """The slots through which a loaded library calls those functions of libc10."""

    def __init__(self, library):
        with open("/proc/self/maps") as maps:
            spans = [line.split() for line in maps if f"/{library}" in line]
        base, path = int(spans[0][0].split("-")[0], 16), spans[0][5]
        libc10 = ctypes.CDLL(path.replace("libc10_cuda", "libc10"))
        self.slots = []
        for offset, name in self.relocations(pathlib.Path(path).read_bytes()):
            at = base + offset
            # the loader makes it read-only
            if ctypes.CDLL(None).mprotect(ctypes.c_void_p(at & -4096), ctypes.c_size_t(4096), 3):
                sys.exit("torch_steps.py: mprotect failed")
            word = ctypes.c_uint64.from_address(at)
            own = ctypes.cast(getattr(libc10, name.decode()), ctypes.c_void_p).value
            if word.value != own:
                self.slots.append((word, word.value, own))
        if not self.slots:
            sys.exit("torch_steps.py: gputrack does not stand before libc10's functions")

    @staticmethod
    def relocations(elf):
        """The offset and the symbol of each, by the section headers."""
        start, = struct.unpack_from("<Q", elf, 40)
        size, count = struct.unpack_from("<HH", elf, 58)
        sections = [struct.unpack_from("<IIQQQQIIQQ", elf, start + i * size) for i in range(count)]
        for _, kind, _, _, offset, length, link, *_ in sections:
            if kind != 4:  # SHT_RELA
                continue
            symbols = sections[link]
            strings = sections[symbols[6]][4]
            for at in range(offset, offset + length, 24):
                where, info = struct.unpack_from("<QQ", elf, at)
                if info & 0xffffffff not in (6, 7):  # GLOB_DAT, JUMP_SLOT
                    continue
                name = strings + struct.unpack_from("<I", elf, symbols[4] + (info >> 32) * 24)[0]
                if elf.startswith(REPORTS, name):
                    yield where, elf[name:elf.index(b"\0", name)]

    def lead_to_gputrack(self, yes):
        for word, ours, own in self.slots:
            word.value = ours if yes else own


def steps(torch, device):
    """name: (steps in a turn, step)"""
    on_gpu = device != "cpu"

    def training(width, batch, length):
        layer = torch.nn.TransformerEncoderLayer(width, 4, batch_first=True)
        net = torch.nn.TransformerEncoder(layer, 4).to(device)
        best = torch.optim.Adam(net.parameters())

        def step():
            best.zero_grad(set_to_none=True)
            net(torch.randn(batch, length, width, device=device)).square().mean().backward()
            best.step()
        return step

    layers = [torch.nn.Linear(64, 64).to(device) for _ in range(20)]
    x = torch.randn(8, 64, device=device)

    @torch.no_grad()
    def inference():
        y = x
        for layer in layers:
            y = torch.relu(layer(y)) + torch.ones(8, 64, device=device)

    def block():
        for _ in range(1000):
            torch.empty(1000, device=device)

    if on_gpu:
        yield "training, the GPU limits", 2, training(2048, 32, 64)
        yield "training, the processor limits", 8, training(256, 16, 64)
    else:
        yield "training", 8, training(32, 2, 8)
    yield "inference, 80 small tensors", 50, inference
    yield "1,000 tensors made and freed", 5, block


def measure(device):
    """In the process that is recorded."""
    import torch
    torch.manual_seed(0)
    torch.set_num_threads(1)
    synchronize = torch.cuda.synchronize if device != "cpu" else lambda: None
    torch.zeros(1, device=device)
    imports = Imports("libc10.so" if device == "cpu" else "libc10_cuda.so")
    # the other programs of a machine take processors, but no GPU of its own
    clock = time.process_time if device == "cpu" else time.perf_counter

    def history(is_on):
        if device != "cpu":
            torch.cuda.memory._record_memory_history(enabled="all" if is_on else None, stacks="python")

    def blocks_of(step):
        """How many blocks the step makes; as many are freed."""
        made = [0, 0]
        for i in range(2 if device != "cpu" else 0):
            step()
            made[i] = torch.cuda.memory_stats()["allocation.all.allocated"]
        return made[1] - made[0]

    def turn(way, count, step):
        imports.lead_to_gputrack(way == "gputrack")
        history(way == "PyTorch's own history")
        step()
        synchronize()
        begun = clock()
        for _ in range(count):
            step()
        synchronize()
        took = (clock() - begun) / count * 1e6
        history(False)
        return took

    ways = ["bare", "gputrack"] + (["PyTorch's own history"] if device != "cpu" else [])
    for name, count, step in steps(torch, device):
        for _ in range(5):
            turn("gputrack", count, step)
        times = {way: [] for way in ways}
        for i in range(TURNS):
            for way in ways if i % 2 else [ways[1], ways[0], *ways[2:]]:
                times[way].append(turn(way, count, step))
        bare = statistics.median(times["bare"])
        made = blocks_of(step)
        for way in ways:
            over = statistics.median(t - b for t, b in zip(times[way], times["bare"]))
            each = f"{1000 * over / made / 2:.0f}" if made else ""
            print(f"| {name} | {made or ''} | {way} | {statistics.median(times[way]):.1f} "
                  f"| {min(times[way]):.1f} – {max(times[way]):.1f} | {over:.1f} | {100 * over / bare:.2f} | {each} |",
                  flush=True)
    imports.lead_to_gputrack(True)


def repeat(wanted, seconds):
    """Takes one step on the processor, recorded, for a profile: in a thread named "caller", as bench/calls.c has it."""
    import torch
    torch.manual_seed(0)
    torch.set_num_threads(1)
    step = next(step for name, _, step in steps(torch, "cpu") if name == wanted)
    for warm_up in range(5):
        step()
    ctypes.CDLL(None).prctl(15, b"caller")  # PR_SET_NAME
    done, ended = 0, time.monotonic() + seconds
    while time.monotonic() < ended:
        step()
        done += 1
    print(f"steps\t{done}\t{done + warm_up + 1}")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    asked = "import sys, torch; sys.exit(0 if torch.cuda.is_available() else 3)"
    code = subprocess.run([sys.executable, "-c", asked], stderr=subprocess.DEVNULL).returncode
    if code not in (0, 3):
        print("Skipped: Python has no PyTorch.")
        return
    device = "cpu" if code or "cpu" in sys.argv[2:] else "cuda"
    print("| step | its blocks | how | µs: median | of all turns | over bare, µs: median | % | ns a block made or freed |\n"
          "|---|--:|---|--:|--:|--:|--:|--:|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(build / "gputrack"), "run", "-q", "--pools", "gpu" if device == "cuda" else "cpu",
                        "-o", f"{folder}/a.gt", sys.executable, __file__, "--measure", device], check=True)


if sys.argv[1] == "--measure":
    measure(sys.argv[2])
elif sys.argv[1] == "--repeat":
    repeat(sys.argv[2], float(sys.argv[3]))
else:
    main()
