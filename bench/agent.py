#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""agent.py BUILD_DIR [SECONDS [EVENTS_PER_SECOND]] - what `gputrack agent` costs while programs allocate and free.

A program makes calls at this rate, every thousandth allocation is never freed, the agent keeps a ring of
16 MiB, and its metrics are read every 15 seconds as by Prometheus. Ends with status 1 when the agent took more of the
processor or of memory than it may, memory grew, the ring took more than it may, or calls were lost. What depends on the
machine's load is not judged in less than a minute: the processor's share, and whether memory grew.
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

KEEP = 16 << 20
SHORT_S = 60
MOST_OF_CORE, MOST_MIB = 0.005, 64


def processor_s(pid):
    """Seconds of the processor that it and its ended children took."""
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid):
    """(its own, with the ring between kernel and agent and files) in MiB."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    kib = {key: int(value) for key, value in re.findall(r"^(Rss\w+|VmRSS):\s+(\d+) kB", status, re.M)}
    return kib["VmRSS"] / 1024


def children(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def size_of(folder):
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def read(address):
    with urllib.request.urlopen(address, timeout=30) as reply:
        return reply.read().decode()


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    rate = int(sys.argv[3]) if len(sys.argv) > 3 else 4000
    warm = min(10, seconds)  # names of the program's call sites are read
    library, tool = build / "tests/fake/cuda/libcuda.so.1", build / "gputrack"
    if os.geteuid() or not library.exists() or subprocess.run([tool, "agent", "--help"], capture_output=True).returncode:
        print("Skipped: needs root, the stand-in CUDA driver and a build with attach.")
        return 0
    with tempfile.TemporaryDirectory() as work:
        state = pathlib.Path(work) / "state"
        load = subprocess.Popen([tool, "stress", "--api", "cuda", "--library", library, "--throughput", str(rate),
                                 "--duration", str(seconds + warm + 5), "--free-ratio", "0.999"],
                                stdout=subprocess.DEVNULL)
        agent = subprocess.Popen([tool, "agent", "--socket", f"{work}/socket", "--listen", "127.0.0.1:0", "--state", state,
                                  "--keep", str(KEEP), "-p", str(load.pid)], stderr=subprocess.PIPE, text=True)
        try:
            head = ""
            while "following" not in head:
                line = agent.stderr.readline()
                if not line:
                    print(head, file=sys.stderr)
                    return 1
                head += line
            address = re.search(r"http\S+", head).group()
            time.sleep(warm)
            server = [pid for pid in children(agent.pid)][0]
            begun, cpu, server_cpu, samples, disk = time.monotonic(), processor_s(agent.pid), processor_s(server), [], 0
            before = float(re.search(r"^gputrack_allocations_total (\S+)", read(address), re.M).group(1))
            scraped = begun
            while time.monotonic() - begun < seconds:
                time.sleep(min(1, seconds / 20))
                samples.append(memory_mib(agent.pid))
                disk = max(disk, size_of(state))
                if time.monotonic() - scraped >= 15:
                    scraped = time.monotonic()
                    read(address)
            took = time.monotonic() - begun
            cpu, server_cpu = processor_s(agent.pid) - cpu, processor_s(server) - server_cpu
            text = read(address)
            calls = float(re.search(r"^gputrack_allocations_total (\S+)", text, re.M).group(1)) - before
            lost = int(re.search(r"^gputrack_lost_events_total (\S+)", text, re.M).group(1))
            server_mib = memory_mib(server)
        finally:
            load.terminate()
            load.wait()
            agent.terminate()
            agent.wait()
    fifth = max(1, len(samples) // 5)
    first, last = statistics.median(samples[:fifth]), statistics.median(samples[-fifth:])
    print("| events/s | for | agent, of a core | its HTTP server | resident, MiB: first fifth | last fifth | server | "
          "disk, of 16 MiB | calls lost |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    print(f"| {calls * 2 / took:,.0f} | {took:.0f} s | {100 * cpu / took:.2f} % | {100 * server_cpu / took:.2f} % | "
          f"{first:.1f} | {last:.1f} | {server_mib:.1f} | {disk / (1 << 20):.1f} MiB | {lost} |")
    unjudged = ("memory grew", "it took more than 0.5 % of a core") if seconds < SHORT_S else ()
    wrong = [text for text, is_wrong in (("memory grew", last > first * 1.05 + 1),
                                         ("calls were lost", lost),
                                         ("the ring is over its limit", disk > KEEP),
                                         ("it took more than 64 MB", max(samples) > MOST_MIB),
                                         ("it took more than 0.5 % of a core", (cpu + server_cpu) / took > MOST_OF_CORE))
             if is_wrong and text not in unjudged]
    if wrong:
        print("; ".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
