#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""snapshot.py - memory snapshots of a real PyTorch, imported and exported: needs a GPU: BUILD_DIR

Plain and expandable segments: gputrack's blocks, segments and peak are PyTorch's own figures to the byte,
the line that keeps tensors is named, PyTorch's own _memory_viz reads the export, and the export comes back
as it was. Prints a line per check, ends with 1 if one is wrong.
"""
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

GPUTRACK = str(pathlib.Path(sys.argv[1]).resolve() / "gputrack")
failed = []

SCRIPT = """
import json, sys, torch
torch.cuda.memory._record_memory_history(max_entries=int(sys.argv[2]), stacks=sys.argv[3])
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).cuda()
step = torch.optim.Adam(net.parameters())
kept = []
def keep(x):
    kept.append(x.detach().clone())
for i in range(200):
    step.zero_grad()
    out = net(torch.randn(64 + i % 7, 256, device="cuda"))
    keep(out)
    out.square().mean().backward()
    step.step()
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    big = torch.empty(50 << 20, dtype=torch.uint8, device="cuda")
del big
torch.cuda.synchronize()
torch.cuda.empty_cache()
try:
    torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError:
    pass
torch.cuda.synchronize()
torch.cuda.memory._dump_snapshot(sys.argv[1])
stats = torch.cuda.memory_stats()
print(json.dumps({k: stats[k] for k in ("allocated_bytes.all.current", "allocation.all.current",
                                        "reserved_bytes.all.current", "reserved_bytes.all.peak")}))
"""


def check(what, right, *found):
    print("ok  " if right else "FAIL", what, *(() if right else found))
    if not right:
        failed.append(what)


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60,
                          check=False)
    return done


def report(recording, analysis="summary"):
    return json.loads(run(GPUTRACK, "report", recording, "-a", analysis, "--format", "json").stdout)


def kinds(summary):
    return {kind["kind"]: kind for kind in summary["kinds"]}


def one(folder, name, settings, entries, stacks):
    file, recording = folder / f"{name}.pickle", folder / f"{name}.gt"
    done = subprocess.run([sys.executable, folder / "train.py", str(file), str(entries), stacks],
                          env={**os.environ, "PYTORCH_CUDA_ALLOC_CONF": settings}, capture_output=True,
                          text=True, timeout=100, check=False)
    if done.returncode:
        check(f"{name}: PyTorch", False, done.stderr[-500:])
        return
    stats = json.loads(done.stdout)
    whole = pickle.loads(file.read_bytes())
    used = [b for s in whole["segments"] for b in s["blocks"] if b["state"] == "active_allocated"]
    check(f"{name}: the snapshot is PyTorch's own figures",
          sum(b["size"] for b in used) == stats["allocated_bytes.all.current"] and
          len(used) == stats["allocation.all.current"])
    done = run(GPUTRACK, "import", file, "-o", recording)
    check(f"{name}: imported", done.returncode == 0, done.stderr)
    if done.returncode:
        return
    print("    ", f"{file.stat().st_size:,} bytes;", done.stdout.splitlines()[1].strip())
    summary = report(recording)
    block = kinds(summary).get("PyTorch block", {"live": 0, "live_bytes": 0})
    check(f"{name}: blocks", (block["live"], block["live_bytes"]) ==
          (len(used), sum(b["requested_size"] for b in used)), block, len(used))
    reserved = sum(kind["live_bytes"] for kind in kinds(summary).values())
    check(f"{name}: segments", reserved == stats["reserved_bytes.all.current"], reserved, stats)
    if entries > 10000:
        check(f"{name}: peak", summary["peak"]["device_bytes"] == stats["reserved_bytes.all.peak"],
              summary["peak"], stats)
    check(f"{name}: no mistakes", summary["unknown_ends"] == summary["replaced"] == summary["lost"] == 0)
    keeper = [g for g in summary["groups"] if g["place"]["text"].startswith("keep train.py:8") or
              (g["place"]["function"] == "keep" and g["place"]["line"] == 8)]
    check(f"{name}: the line that keeps tensors", sum(g["count"] for g in keeper) == 200,
          [(g["count"], g["place"]["text"]) for g in summary["groups"]][:5])
    shortage = summary["out_of_memory"]
    check(f"{name}: out of memory", shortage and shortage["requested_bytes"] == 1 << 50, shortage)
    back(folder, name, recording)


def back(folder, name, recording):
    """Exported, read by PyTorch, imported again."""
    out, again = folder / f"{name}-out.pickle", folder / f"{name}-again.gt"
    done = run(GPUTRACK, "export", recording, "-f", "torch-snapshot", "-o", out)
    check(f"{name}: exported", done.returncode == 0, done.stderr)
    for command in ("stats", "trace"):
        done = run(sys.executable, "-m", "torch.cuda._memory_viz", command, out)
        check(f"{name}: _memory_viz {command}", done.returncode == 0 and done.stdout, done.stderr[-300:])
    done = run(sys.executable, "-m", "torch.cuda._memory_viz", "trace_plot", out, "-o", folder / "x.html")
    check(f"{name}: _memory_viz trace_plot", done.returncode == 0, done.stderr[-300:])
    run(GPUTRACK, "import", out, "-q", "-o", again)
    states = [(sorted((g["place"]["text"], g["bytes"]) for g in report(r, "leakage")["groups"] if g["bytes"]),
               report(r)["peak"]["device_bytes"]) for r in (recording, again)]
    check(f"{name}: comes back as it was", states[0] == states[1], states)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "train.py").write_text(SCRIPT.lstrip("\n"))
        for name, settings, entries, stacks in (
                ("plain", "", 1000000, "python"), ("native-frames", "", 1000000, "all"),
                ("ring", "", 500, "python"), ("expandable", "expandable_segments:True", 1000000, "python")):
            one(folder, name, settings, entries, stacks)
    return 1 if failed else 0


sys.exit(main())
