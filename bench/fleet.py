#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fleet.py - a simulated fleet into one Prometheus, one VictoriaMetrics and one ClickHouse on this machine.

usage: bench/fleet.py BUILD_DIR [--hosts N] [--seconds S] [--rows N] [metrics | prometheus | victoria-metrics] [rows] [week]

metrics: each host has 40 series in the agent's own form, scraped every 30 s by Prometheus, then by VictoriaMetrics;
    each is killed in the middle. What is lost is counted.
rows: every host sends 100 rows a minute to ClickHouse, by the agent's own code; it is killed in the middle.
week: a week of 100 places on each host, as few rows a day as make 100 MB or so, and `fleet top` over it.

Engines and hosts share this machine: beside the rate, the processor's time of each engine is printed.
"""
import argparse
import asyncio
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "tests/e2e"))
import engines  # noqa: E402

INTERVAL = 30
SEEN = 20  # seconds until what was taken can be asked for, at most
TICKS = os.sysconf("SC_CLK_TCK")


class Case:
    """What engines.py needs of a test."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def path(self, name):
        return self.folder / name

    def skip(self, reason):
        raise SystemExit(reason)


def exposition():
    """What an agent's /metrics says: 40 series."""
    lines = []

    def metric(name, kind, *series):
        lines.append(f"# TYPE {name} {kind}")
        lines.extend(f"{name}{suffix}{{{labels}}} {value}" if labels else f"{name}{suffix} {value}"
                     for suffix, labels, value in series)
    gpus = range(4)
    metric("gputrack_gpu_live_bytes", "gauge", *(("", f'gpu="GPU {i}"', 40e9 + i) for i in gpus))
    metric("gputrack_gpu_cached_bytes", "gauge", *(("", f'gpu="GPU {i}"', 2e9 + i) for i in gpus))
    metric("gputrack_gpu_capacity_bytes", "gauge", *(("", f'gpu="GPU {i}"', 85e9) for i in gpus))
    who = 'command="python3",user="serve",container="4f2a6c0e9d1b",pod="serve-%d",pid="%d"'
    for name in ("live", "cached"):
        metric(f"gputrack_process_{name}_bytes", "gauge", *(("", who % (i, 4000 + i), 1e9 * i) for i in range(8)))
    metric("gputrack_place_growth_bytes_per_second", "gauge",
           *(("", f'place="layer_{i} model.py:{10 + i}",kind="device memory",gpu="GPU 0",' + who % (i, 4000 + i), 485)
             for i in range(3)))
    for name in ("growing_places", "processes", "agent_resident_bytes", "up_to_date"):
        metric(f"gputrack_{name}", "gauge", ("", "", 3))
    for name in ("allocations", "allocated_bytes", "out_of_memory", "lost_events", "agent_cpu_seconds"):
        metric(f"gputrack_{name}", "counter", ("_total", "", 1234567))
    text = "\n".join(lines) + "\n# EOF\n"
    count = sum(not line.startswith("#") for line in lines)
    assert count == 40, count
    return text.encode()


class Hosts:
    """The simulated hosts: one server, a path for each."""

    def __init__(self):
        body = exposition()
        head = ("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
        self.answer, self.asked, self.port = head + body, 0, engines.free_port()
        threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True).start()

    async def serve(self):
        async def client(reader, writer):
            try:
                while (await reader.readuntil(b"\r\n\r\n")):
                    self.asked += 1
                    writer.write(self.answer)
                    await writer.drain()
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            writer.close()
        server = await asyncio.start_server(client, "127.0.0.1", self.port, backlog=4096)
        await server.serve_forever()


def used(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")")[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Scraper:
    """Prometheus or VictoriaMetrics."""

    def __init__(self, name, folder, hosts, port_of_hosts, interval=INTERVAL):
        self.name, self.port = name, engines.free_port()
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir()
        targets = [{"targets": [f"127.0.0.1:{port_of_hosts}"],
                    "labels": {"__metrics_path__": f"/host{i:05}", "instance": f"gpu-{i:05}"}} for i in range(hosts)]
        (self.folder / "targets.json").write_text(json.dumps(targets))
        (self.folder / "config.yml").write_text(
            f"global: {{scrape_interval: {interval}s, scrape_timeout: {min(20, interval)}s}}\n"
            "scrape_configs:\n  - job_name: gputrack\n    file_sd_configs:\n"
            f"      - files: ['{self.folder}/targets.json']\n")
        self.cpu = 0.0

    def start(self):
        words = {"prometheus": ["prometheus", f"--config.file={self.folder}/config.yml",
                                f"--storage.tsdb.path={self.folder}/data",
                                f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=error"],
                 "victoria-metrics": ["victoria-metrics", f"-promscrape.config={self.folder}/config.yml",
                                      f"-storageDataPath={self.folder}/data", f"-httpListenAddr=127.0.0.1:{self.port}",
                                      "-loggerLevel=ERROR", "-search.latencyOffset=0s",
                                      "-search.maxQueryDuration=300s"]}[self.name]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL,
                                        stderr=open(self.folder / "errors", "ab"))
        while True:
            try:
                return self.ask("vector(1)")
            except (OSError, ValueError):  # it refuses while it reads what it has
                if self.process.poll() is not None:
                    raise ValueError((self.folder / "errors").read_text()[-500:]) from None
                time.sleep(0.1)

    def end(self, how=signal.SIGKILL):
        self.cpu += self.used()
        self.process.send_signal(how)
        self.process.wait()

    def used(self):
        return used(self.process)

    def memory(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) >> 10

    def ask(self, query, **more):
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": query, **more})
        try:
            with urllib.request.urlopen(url) as answer:
                result = json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            raise ValueError(f"{self.name}: {query}: {error.read().decode()[:300]}") from None
        return float(result[0]["value"][1]) if result else 0.0


def disk(folder):
    return int(subprocess.run(["du", "-sm", folder], capture_output=True, text=True).stdout.split()[0])


def metrics(folder, hosts, seconds, names):
    server = Hosts()
    for name in names:
        if not shutil.which(name):
            print(f"{name}: not installed")
            continue
        scraper = Scraper(name, folder, hosts, server.port)
        scraper.start()
        begun, asked = time.time(), server.asked
        time.sleep(seconds / 2)
        before = scraper.ask(f"sum(count_over_time(gputrack_processes[{int(seconds)}s]))")
        scraper.end()
        killed = time.time()
        scraper.start()
        away = time.time() - killed
        time.sleep(max(0.0, seconds - (time.time() - begun)))
        end, asked = time.time(), server.asked - asked
        window = int(end - begun) + INTERVAL
        time.sleep(SEEN)
        samples = scraper.ask(f"sum(count_over_time(gputrack_processes[{window}s]))", time=end)
        kept = scraper.ask(f"sum(count_over_time(gputrack_processes[{window}s]))", time=killed)
        targets = scraper.ask("count(up == 1)")
        begun_query = time.time()
        scraper.ask("count(topk(10, gputrack_place_growth_bytes_per_second))")
        took = time.time() - begun_query
        print(f"{name}: {hosts} hosts, {window - INTERVAL} s: {asked * 40 / (window - INTERVAL):.0f} samples/s, "
              f"{targets:.0f} hosts up at the end, {asked} answers given, {samples:.0f} in the database; of "
              f"{before:.0f} before kill -9, {kept:.0f} after it; back within {away:.1f} s; "
              f"{(scraper.cpu + scraper.used()) / (window - INTERVAL):.2f} of a core, {scraper.memory()} MB, "
              f"{disk(scraper.folder / 'data')} MB on disk; topk over the fleet {took:.2f} s")
        scraper.end()


def load(build, server, folder, *words):
    return subprocess.Popen([build / "bench/fleet_load", "many", server.url, pathlib.Path(folder) / "spool", *map(str, words)],
                            stdout=subprocess.PIPE, text=True)


def rows(build, folder, hosts, wanted):
    """`wanted` rows from all hosts, a minute after the other; 500 hosts share an insert."""
    with engines.ClickHouse(Case(folder), "rows") as server:
        rounds = max(2, wanted // (100 * hosts))
        process = load(build, server, folder, hosts, 1790000000, rounds, 60, 100, 12, 500)
        for line in process.stdout:
            if "round 0" in line:
                cpu = used(server.process)
                server.kill()
                server.start()
            last = line
        cpu += used(server.process)
        count = int(server.query("SELECT count() FROM gputrack.rows FINAL"))
        print(f"clickhouse: {last.strip()}; {count} in the table after kill -9, expected {rounds * hosts * 100}; "
              f"{cpu / (rounds * hosts * 100) * 1e6:.1f} s of the processor for a million rows")


def week(build, folder, hosts, kept=None):
    with engines.ClickHouse(Case(folder), "week") as server:
        process = load(build, server, folder, hosts, 1789387140, 14, 43200, 100, 12, 500)
        process.communicate()
        report_week(build, server)


def report_week(build, server):
    for table in ("rows", "days"):
        count, size = server.rows(f"SELECT sum(rows), sum(bytes) FROM system.parts WHERE active AND table = '{table}'"
                                  " AND database = 'gputrack'")[0]
        print(f"week: {table}: {int(count)} rows, {int(size) >> 20} MB")
    report_questions(build, server, "week", "2026-09-14", "2026-09-20")


def report_questions(build, server, what, first, last):
    """What the questions of `fleet` take, about rows of these days."""
    for words in (("top",), ("place", "model.py:10"), ("diff", "--before", first, "--after", last)):
        begun, cpu = time.time(), used(server.process)
        subprocess.run([build / "gputrack", "fleet", "--clickhouse", server.url, *words], check=True,
                       stdout=subprocess.DEVNULL)
        print(f"{what}: fleet {words[0]}: {time.time() - begun:.2f} s, {used(server.process) - cpu:.2f} s of the processor")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("what", nargs="*", default=["metrics", "rows", "week"])
    parser.add_argument("--hosts", type=int, default=10000)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--rows", type=int, default=2000000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gputrack-fleet-") as folder:
        scrapers = [name for name in ("prometheus", "victoria-metrics")
                    if name in arguments.what or "metrics" in arguments.what]
        metrics(folder, arguments.hosts, arguments.seconds, scrapers)
        if "rows" in arguments.what:
            rows(arguments.build.resolve(), folder, arguments.hosts, arguments.rows)
        if "week" in arguments.what:
            week(arguments.build.resolve(), folder, arguments.hosts)


if __name__ == "__main__":
    main()
