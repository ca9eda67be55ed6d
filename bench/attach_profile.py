#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""attach_profile.py BUILD_DIR - where the time of an attached call goes, by perf; needs root.

Calls a copy of the stand-in driver that no other tracer of the machine knows, bare and attached in turns, and divides the
difference of the least medians by the samples of the calling process.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TURNS = 5
# the first that matches a symbol
PARTS = (
    ("our BPF programs: arguments, unwinding", r"^bpf_prog_"),
    ("reading memory of the process: arguments, results, its stack",
     r"nofault|probe_read|check_object_size|check_heap_object|virt_addr_valid|vmalloc|check_stack_object|usercopy"),
    ("the kernel's probe pair: traps, finding the probe, the changed return address",
     r"uprobe|uretprobe|handler_chain|irqentry|exc_int3|asm_exc|do_syscall|entry_SYSCALL|entry_|syscall|mtree|"
     r"copy_(from|to)_user|ret_instance|notify_resume|exit_to_user|switch_fpu|rcu_read|srcu|do_int3|notifier|insn|"
     r"die|fixup|error_|sync_regs|access_remote|search_|rep_|clear_|thunk|arch_|ri_|free_|alloc|find_"),
    ("maps, task storage, the ring and the clock", r"map|storage|ringbuf|tsc|ktime|hash|lookup|bpf|memcpy|memset|"
     r"raw_spin|preempt|migrate"),
)


def measure(build, library, recording=None):
    calls = [build / "bench/attach_calls", library]
    if recording:
        calls = [build / "gputrack", "attach", "-q", "-i", "0", "-o", recording, "--driver", f"{library}=cuda", "-c",
                 *calls]
    return calls


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if not shutil.which("perf"):
        print("Skipped: perf is not installed.")
        return
    with tempfile.TemporaryDirectory() as work:
        library = shutil.copy(build / "tests/fake/cuda/libcuda.so.1", f"{work}/driver.so")

        def median(command):
            return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[1])
        turns = [(median(measure(build, library)), median(measure(build, library, f"{work}/{i}.gt"))) for i in range(TURNS)]
        bare, attached = map(min, zip(*turns))
        over = attached - bare
        subprocess.run(["perf", "record", "-q", "-F", "8000", "-o", f"{work}/perf.data",
                        *measure(build, library, f"{work}/b.gt")], capture_output=True, check=True)
        lines = subprocess.run(["perf", "report", "-i", f"{work}/perf.data", "--comm", "attach_calls", "--stdio",
                                "--sort", "dso,symbol", "-F", "sample,dso,symbol", "--show-nr-samples"],
                               capture_output=True, text=True).stdout
    sums = dict.fromkeys([*(name for name, _ in PARTS), "other"], 0)
    for line in lines.splitlines():
        found = re.match(r"\s*(\d+)\s+(\S+)\s+\[(k|\.)\]\s+(\S+)", line)
        # what the program itself does is no part of the difference
        if found and (found.group(3) == "k" or found.group(2) == "[uprobes]"):
            symbol = found.group(4) if found.group(3) == "k" else "uretprobe"
            sums[next((name for name, pattern in PARTS if re.search(pattern, symbol)), "other")] += int(found.group(1))
    total = sum(sums.values())
    print("| an attached call, 4 frames, by unwind tables | ns over bare | share |")
    print("|---|--:|--:|")
    for name, count in sums.items():
        print(f"| {name} | {over * count / total:,.0f} | {100 * count / total:.0f} % |")
    print(f"| all; goal ≤ 1600 | {over:,} | |")


if __name__ == "__main__":
    main()
