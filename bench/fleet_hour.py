#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fleet_hour.py - an hour of a simulated fleet into Prometheus, VictoriaMetrics and ClickHouse, side by side.

usage: bench/fleet_hour.py BUILD_DIR [--hosts N] [--seconds S] [--scrape S] [--rows-every S] [--kills N]

Every host has 40 series, scraped every --scrape seconds by both, and sends 100 rows every --rows-every seconds by the
agent's own code. Each engine is killed (kill -9) --kills times in between and started again, VictoriaMetrics also
once asked to end (SIGTERM); the sender of rows is killed, too. Answers that the hosts gave are compared with the
samples in each database, rows that were made with those in the table. Status 1 when ClickHouse lacks a row or has one
twice, or Prometheus lost a sample that it had shown before it was killed.
"""
import argparse
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import time

import fleet

SEEN = 40  # seconds until what was taken can be asked for, at most
AWAY = 10  # seconds between kill and start
DATA_START = 1790000000
PLACES, LEAKS, MERGE = 100, 12, 100


def log(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def sleep_until(moment):
    time.sleep(max(0.0, moment - time.time()))


def count(scraper, begun, at):
    """Samples of one metric of all hosts, as far as they are from before `at`."""
    return int(scraper.ask(f"sum(count_over_time(gputrack_processes[{int(at - begun) + 60}s]))", time=at))


class Metrics:
    """A Prometheus or VictoriaMetrics with hosts of its own."""

    def __init__(self, name, folder, arguments, how):
        self.name, self.arguments, self.how = name, arguments, how
        self.hosts = fleet.Hosts()
        self.scraper = fleet.Scraper(name, folder, arguments.hosts, self.hosts.port, arguments.scrape)
        self.shown_lost = {signal.SIGKILL: 0, signal.SIGTERM: 0}

    def end_and_start(self, begun, how):
        """Ends it, starts it again: which of the samples that it showed are there afterwards?"""
        at = time.time()
        before = count(self.scraper, begun, at)
        self.scraper.end(how)
        ended = time.time()
        time.sleep(AWAY)
        self.scraper.start()
        back = time.time() - ended - AWAY
        time.sleep(SEEN)
        after = count(self.scraper, begun, at)
        self.shown_lost[how] += before - after
        log(f"{self.name}: {how.name}: of {before} samples {after} are there; answers again after {back:.1f} s")

    def run(self, begun):
        self.scraper.start()
        for i, how in enumerate(self.how):
            sleep_until(begun + self.arguments.seconds * (i + 1) / (len(self.how) + 1))
            self.end_and_start(begun, how)
        sleep_until(begun + self.arguments.seconds)
        end, answers = time.time(), self.hosts.asked
        time.sleep(SEEN)
        there, up = count(self.scraper, begun, end), int(self.scraper.ask("count(up == 1)"))
        took = end - begun
        log(f"{self.name}: {took:.0f} s, {answers} answers of {self.arguments.hosts} hosts ({answers * 40 / took:.0f} "
            f"samples/s), {there} in the database, {answers - there} missing after {len(self.how)} ends; {up} hosts up; "
            f"{(self.scraper.cpu + self.scraper.used()) / took:.3f} of a core, {self.scraper.memory()} MB, "
            f"{fleet.disk(self.scraper.folder / 'data')} MB on disk")
        self.scraper.end(signal.SIGKILL)


class Rows:
    """A ClickHouse, and what sends it the rows of all hosts."""

    def __init__(self, build, folder, arguments):
        self.build, self.folder, self.arguments = build, folder, arguments
        self.server = fleet.engines.ClickHouse(fleet.Case(folder), "rows")
        # each kill of the sender repeats a part of a round
        self.rounds = max(2, int(arguments.seconds / arguments.rows_every) - arguments.kills)
        self.round, self.cpu, self.sender_cpu, self.is_bad = 0, 0.0, 0.0, False

    def send(self):
        self.sender = fleet.load(self.build, self.server, self.folder, self.arguments.hosts, DATA_START, self.rounds,
                                 self.arguments.rows_every, PLACES, LEAKS, MERGE, self.arguments.rows_every, self.round)
        threading.Thread(target=self.read, args=(self.sender,), daemon=True).start()

    def read(self, sender):
        for line in sender.stdout:
            if line.startswith("round"):
                self.round = int(line.split()[1].rstrip(":")) + 1

    def kill_sender(self):
        self.sender_cpu += fleet.used(self.sender)
        self.sender.send_signal(signal.SIGKILL)
        self.sender.wait()
        log(f"sender of rows: killed in round {self.round}, with {len(list((self.folder / 'spool').iterdir()))} files in its "
            "spool")
        self.send()

    def kill_server(self):
        self.cpu += fleet.used(self.server.process)
        self.server.kill()
        time.sleep(AWAY)
        self.server.start()
        log("clickhouse: killed and started again")

    def run(self, begun):
        with self.server:
            self.send()
            for i in range(self.arguments.kills):
                part = self.arguments.seconds / (self.arguments.kills + 1)
                sleep_until(begun + part * (i + 0.6))
                self.kill_sender()
                sleep_until(begun + part * (i + 1) + part / 10)
                self.kill_server()
            while self.sender.poll() is None and time.time() < begun + self.arguments.seconds * 1.2:
                cpu = fleet.used(self.sender)
                time.sleep(1)
            self.sender_cpu += cpu
            if self.sender.poll() is None:
                self.sender.kill()
                log("sender of rows: not done in time")
            self.report(time.time() - begun)

    def report(self, took):
        self.cpu += fleet.used(self.server.process)
        expected = self.rounds * self.arguments.hosts * PLACES
        all_rows = int(self.server.query("SELECT count() FROM gputrack.rows"))
        there = int(self.server.query("SELECT count() FROM gputrack.rows FINAL"))
        days = int(self.server.query("SELECT count() FROM gputrack.days FINAL"))
        self.is_bad = there != expected or days != self.arguments.hosts * PLACES
        log(f"clickhouse: {took:.0f} s, {expected} rows made ({expected / took:.0f}/s), {there} in the table "
            f"({all_rows} before duplicates are merged), {days} of the day; {self.cpu / took:.3f} of a core, "
            f"{fleet.disk(self.server.folder / 'data')} MB on disk; the sender {self.sender_cpu / took:.3f} of a core")
        fleet.report_questions(self.build, self.server, "hour", "2026-09-21", "2026-09-21")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--hosts", type=int, default=10000)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--scrape", type=int, default=120)
    parser.add_argument("--rows-every", type=int, default=300)
    parser.add_argument("--kills", type=int, default=3)
    arguments = parser.parse_args()
    kills = [signal.SIGKILL] * arguments.kills
    with tempfile.TemporaryDirectory(prefix="gputrack-fleet-") as folder:
        folder = pathlib.Path(folder)
        metrics = [Metrics(name, folder, arguments, kills + more) for name, more in
                   (("prometheus", []), ("victoria-metrics", [signal.SIGTERM])) if shutil.which(name)]
        rows = Rows(arguments.build.resolve(), folder, arguments)
        log(f"{arguments.hosts} hosts for {arguments.seconds} s; 40 series each every {arguments.scrape} s, {PLACES} rows "
            f"every {arguments.rows_every} s; load average {os.getloadavg()[0]:.1f}")
        begun = time.time()
        threads = [threading.Thread(target=part.run, args=(begun,)) for part in (*metrics, rows)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        log(f"the hosts' HTTP server: {time.process_time() / (time.time() - begun):.3f} of a core; load average "
            f"{os.getloadavg()[0]:.1f}")
    lost = sum(part.shown_lost[signal.SIGKILL] for part in metrics if part.name == "prometheus")
    return 1 if rows.is_bad or lost else 0


if __name__ == "__main__":
    sys.exit(main())
