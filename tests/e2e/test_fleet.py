# SPDX-License-Identifier: MIT
"""test_fleet.py - rows of hosts in ClickHouse: none lost, none twice; what `gputrack fleet` says of them."""
import datetime
import json
import re
import select
import signal
import subprocess
import time

import engines
import harness

FREE = True
START = 1790000000  # 2026-09-21 14:13:20 UTC


class Host:
    """A simulated host: it has the agent's rows, spool and way to the server."""

    def __init__(self, case, server, first=0, minutes=10, places=20, leaks=1, name="h1"):
        self.process = subprocess.Popen(
            [case.build / "bench/fleet_load", "host", server.url, case.path(f"spool-{name}"), name,
             str(START + 60 * first), str(minutes), str(places), str(leaks)],
            stdout=subprocess.PIPE, text=True)

    def minutes(self, count):
        """Waits until so many minutes are in the spool."""
        for _ in range(count):
            assert self.process.stdout.readline().startswith("minute")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        out, _ = self.process.communicate()
        return len(re.findall("^minute", out, re.M))

    def end(self):
        out, _ = self.process.communicate()
        assert self.process.returncode == 0, out
        return out.splitlines()[-1]


def columns_of_rows():
    """(name, type), as the sources have them."""
    text = (engines.SOURCE / "src/agent/row_columns.def").read_text()
    return re.findall(r"^COLUMN\((\w+), (\w+)\)", text, re.M)


def test_the_columns_of_schema_and_rows_are_the_same(case):
    kinds = {"TIME": "DateTime", "TEXT": "String", "U32": "UInt32", "U64": "UInt64", "REAL": "Float64"}
    ours = [(name, kinds[kind]) for name, kind in columns_of_rows()]
    table = next(s for s in engines.statements() if "gputrack.rows\n" in s)
    theirs = re.findall(r"^    (\w+) (\w+)", engines.for_2018(table), re.M)
    assert ours == theirs, (ours, theirs)


def test_nothing_is_lost_or_twice_when_server_and_agent_are_killed(case):
    with engines.ClickHouse(case) as server:
        host = Host(case, server, minutes=5)
        assert host.end() == "sent 120 rows, 0 dropped, 0 failures"  # with the stacks
        # the server is away; the host goes on, and is killed while it does
        server.kill()
        host = Host(case, server, first=5, minutes=1000)
        host.minutes(20)
        more = host.kill()
        # it comes back to a host that has begun anew, and is killed again while that sends
        server.start()
        handed_over = 20 + more
        host = Host(case, server, first=5 + handed_over, minutes=5)
        host.minutes(2)
        server.kill()
        server.start()
        assert ", 0 dropped," in host.end()
        count = 20 * (5 + handed_over + 5)
        assert server.query("SELECT uniqExact(time, place) FROM gputrack.rows") == f"{count}\n"
        assert server.query("SELECT count() FROM gputrack.rows FINAL") == f"{count}\n"
        # and what is kept of a day does not depend on what came twice
        assert server.query("SELECT count() FROM gputrack.days FINAL") == "20\n"
        assert server.query("SELECT count() FROM gputrack.stacks FINAL") == "20\n"


def test_todays_clickhouse_takes_the_schema_and_the_rows(case):
    with engines.Chdb(case) as server:
        for _ in range(2):  # the same rows again
            host = Host(case, server, minutes=3)
            assert host.end() == "sent 80 rows, 0 dropped, 0 failures"
        assert server.query("SELECT count() FROM gputrack.rows FINAL") == "60\n"
        assert server.query("SELECT count() FROM gputrack.days FINAL") == "20\n"
        row = server.rows("SELECT host, pod, process, place, kind, live_bytes, growth_bytes > 0, growing_since"
                          " FROM gputrack.rows FINAL ORDER BY time, place LIMIT 1")[0]
        assert row == ["h1", "serve-00000", "python3", "layer_0 model.py:10 via cuMemAlloc_v2", "device memory",
                       "116819133", "1", "2026-09-21 00:00:00"], row
        frames = server.query("SELECT any(frames) FROM gputrack.stacks WHERE stack = '9e3779b97f4a7c15'")
        assert frames == "cuMemAlloc_v2 (libcuda.so.1) < layer_0 (/srv/app/model.py:10)" \
                         " < main (/srv/app/serve.py:88)\n", frames


def test_a_server_that_refuses_is_named_with_its_reason(case):
    with engines.ClickHouse(case) as server:
        server.query("DROP TABLE gputrack.rows")
        host = Host(case, server, minutes=1)
        host.minutes(1)
        # only the row's batch waits: it is sent once the table is there
        while server.query("SELECT count() FROM gputrack.stacks") == "0\n":
            select.select([], [], [], 0.05)
        for statement in engines.statements():
            server.query(engines.for_2018(statement))
        said = host.end()
        assert said.startswith("sent 40 rows, 0 dropped, ") and "Table gputrack.rows doesn't exist" in said, said


DAY = 86400
MIDNIGHT = START // DAY * DAY


def insert(server, *rows):
    """Rows with the columns that matter; the rest has values that are the same everywhere."""
    usual = {"time": 0, "host": "h1", "pod": "", "container": "", "pid": 1, "started": MIDNIGHT - 9 * DAY,
             "process": "serve", "command": "serve", "user": "ada", "place": "load load.c:12", "function": "load",
             "file": "/src/load.c", "line": 12, "api": "cuda", "kind": "device memory", "gpu": "GPU 0",
             "live_bytes": 0, "live_objects": 1, "allocated_bytes": 0, "allocated_objects": 0, "freed_bytes": 0,
             "freed_objects": 0, "growth_bytes": 0, "growth_objects": 0, "growing_since": 0, "stack": "00"}
    lines = []
    for row in rows:
        assert not set(row) - set(usual), row
        lines.append("\t".join(str(value) for value in {**usual, **row}.values()))
    for key in ("time", "started", "growing_since"):
        column = list(usual).index(key)
        for i, line in enumerate(lines):
            values = line.split("\t")
            values[column] = time_text(int(values[column]))
            lines[i] = "\t".join(values)
    text = "INSERT INTO gputrack.rows FORMAT TabSeparated\n" + "\n".join(lines) + "\n"
    server.query(text)


def time_text(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def fill(server):
    """Three hosts, two days. `load` leaks on two hosts until a release that moved its line, `keep` holds
    twice as much after it, `event` gains objects, and a process of the third host has ended."""
    mib = 1 << 20
    before, after = MIDNIGHT + DAY - 60, MIDNIGHT + 2 * DAY - 60
    leak = {"growth_bytes": 2 * mib, "growing_since": MIDNIGHT}
    fixed = {"place": "load load.c:14", "line": 14, "live_bytes": 50 * mib}
    keep = {"place": "keep keep.c:3", "file": "/src/keep.c", "line": 3}
    event = {"place": "wait wait.c:7", "file": "/src/wait.c", "line": 7, "kind": "event", "live_objects": 99,
             "growth_objects": 0.5, "growing_since": MIDNIGHT + 3600}
    for host in ("h1", "h2"):
        insert(server,
               {"time": before - 600, "host": host, "live_bytes": 90 * mib, **leak},
               {"time": before, "host": host, "live_bytes": 100 * mib, **leak},
               {"time": before, "host": host, "live_bytes": 10 * mib, **keep},
               {"time": after, "host": host, "pid": 2, **fixed},
               {"time": after, "host": host, "pid": 2, "live_bytes": 20 * mib, **keep})
    insert(server, {"time": before, "host": "h3", **event}, {"time": after, "host": "h3", **event},
           {"time": after - 7200, "host": "h3", "pid": 3, "live_bytes": 7 * mib})
    # a batch that came twice changes nothing
    insert(server, {"time": before, "host": "h1", "live_bytes": 100 * mib, **leak})


def fleet(case, server, *arguments, columns=80):
    done = case.gputrack("fleet", "--clickhouse", server.url, *arguments, env={"COLUMNS": str(columns)})
    assert (done.status, done.err) == (0, ""), done.err
    return done.out


TOP = """\
FLEET  2026-09-15 to 2026-09-21 (UTC), 3 hosts
GROWING  2 places
      grown       a day       held   hosts       since  kind
   95.9 MiB   +96.0 MiB    200 MiB       2  2026-09-21  device memory
        load load.c:12
         11         +12         99       1  2026-09-21  event
        wait wait.c:7
"""
TOP_WIDE = """\
FLEET  2026-09-16 to 2026-09-22 (UTC), 3 hosts
GROWING  2 places
      grown       a day       held   hosts       since  kind            where
   95.9 MiB           -          -       2  2026-09-21  device memory   load load.c:12
         23         +12         99       1  2026-09-21  event           wait wait.c:7
"""
DIFF = """\
FLEET  before: 2026-09-21, 3 hosts; after: 2026-09-22, 3 hosts (UTC)
    before:                        after:
      a day  a process  hosts       a day  a process  hosts  kind
GROWING AS BEFORE  1 place
        +12         99      1         +12         99      1  event
        wait wait.c:7
GONE  1 place no longer growing
  +96.0 MiB    100 MiB      2           -   50.0 MiB      2  device memory
        load load.c:14
MORE  1 place of which a process holds more
          -   10.0 MiB      2           -   20.0 MiB      2  device memory
        keep keep.c:3
"""
PLACE = """\
FLEET  2026-09-16 to 2026-09-22 (UTC), 3 hosts
load.c:12  3 processes
       held       a day  first seen       grows since  GPU
      ended   +48.0 MiB  2026-09-21  2026-09-21 00:00  GPU 0
        h1, serve 1: load load.c:12
      ended   +48.0 MiB  2026-09-21  2026-09-21 00:00  GPU 0
        h2, serve 1: load load.c:12
      ended           -  2026-09-22                 -  GPU 0
        h3, serve 3: load load.c:12
"""


def test_the_document_shows_what_the_fleet_says(case):
    text = (engines.SOURCE / "doc/fleet.md").read_text()
    for answer in (TOP, DIFF, PLACE):
        assert answer in text, answer
    for name, _ in columns_of_rows():
        assert re.search(rf"^\| [\w, ]*\b{name}\b[\w, ]* \|", text, re.M), name


def same(ours, expected):
    assert ours == expected, "\n" + ours


def ask_everything(case, server):
    fill(server)
    same(fleet(case, server, "top", "--until", "2026-09-21"), TOP)
    same(fleet(case, server, "top", columns=200), TOP_WIDE)
    same(fleet(case, server, "diff", "--before", "2026-09-21", "--after", "2026-09-22"), DIFF)
    same(fleet(case, server, "place", "load.c:12"), PLACE)
    # at a time of day: the processes that ran then
    out = json.loads(fleet(case, server, "diff", "--before", "2026-09-21T23:50", "--after", "2026-09-22 23:59:30",
                           "--format", "json"))
    assert [(p["change"], p["place"]) for p in out["places"]] == [
        ("growing", "wait wait.c:7"), ("gone", "load load.c:14"), ("more", "keep keep.c:3")], out
    assert out["places"][1]["before"]["held_bytes"] == 2 * 90 << 20, out
    top = json.loads(fleet(case, server, "top", "-n", "1", "-f", "json"))
    assert (top["total"], len(top["places"]), top["places"][0]["hosts"]) == (2, 1, 2), top
    where = json.loads(fleet(case, server, "place", "keep.c", "-f", "json"))
    assert [(p["host"], p["pid"], p["running"]) for p in where["processes"]] == [
        ("h1", 2, True), ("h2", 2, True), ("h1", 1, False), ("h2", 1, False)], where
    assert "no process has it's.c" in fleet(case, server, "place", "it's.c")
    for question, answer in (("top", top), ("diff", out), ("place", where)):
        check_schema(case, question, answer)
    ask_across_releases(case, server)


def ask_across_releases(case, server):
    """A release has its own folders and lines; the code is the same, and other code is not."""
    for day, release in ((0, "app-1.2/lib/python3.10"), (1, "app-1.3/lib/python3.11")):
        insert(server, *({"time": MIDNIGHT + (day + 1) * DAY - 60, "host": "h9", "pid": day, "line": 30 + day,
                          "place": f"{what} /srv/{release}/{what}/load.py:{30 + day} < main /srv/{release}/main.py:{7 + day}",
                          "file": f"/srv/{release}/{what}/load.py", "growth_bytes": 1 << 20, "growing_since": MIDNIGHT}
                         for what in ("read", "load")))
    for before, after in (("2026-09-21", "2026-09-22"), ("2026-09-21T23:59:30", "2026-09-22T23:59:30")):
        out = json.loads(fleet(case, server, "diff", "--before", before, "--after", after, "-f", "json"))
        ours = sorted((p["place"], p["change"], p["before"]["hosts"]) for p in out["places"] if "/srv/" in p["place"])
        assert ours == [(f"{what} /srv/app-1.3/lib/python3.11/{what}/load.py:31 < main /srv/app-1.3/lib/python3.11/main.py:8",
                         "growing as before", 1) for what in ("load", "read")], ours


def check_schema(case, question, answer):
    try:
        import jsonschema
    except ImportError:
        return
    schema = json.loads((engines.SOURCE / "doc/schema/fleet.schema.json").read_text())
    jsonschema.validate(answer, schema)
    assert answer["fleet"] == question


def ask_after_a_release(case, server):
    """A release a minute ago: the words are the running process's, although the ended one held far more."""
    minute = MIDNIGHT + 5 * DAY + 600
    insert(server, {"time": minute, "live_bytes": 300 << 20, "growth_bytes": 1 << 20, "growing_since": MIDNIGHT},
           {"time": minute + 60, "pid": 2, "place": "load load.c:11", "line": 11, "live_bytes": 0},
           {"time": minute + 60, "pid": 2, "place": "load load.c:14", "line": 14, "live_bytes": 4 << 20})
    out = json.loads(fleet(case, server, "diff", "--before", time_text(minute), "--after", time_text(minute + 60),
                           "-f", "json"))
    assert [(p["change"], p["place"]) for p in out["places"]] == [("gone", "load load.c:14")], out


def test_the_fleet_answers_from_an_old_server(case):
    with engines.ClickHouse(case) as server:
        done = case.gputrack("fleet", "--clickhouse", server.url, "top")
        assert done.status == 1 and "has no rows yet" in done.err, done.err
        ask_everything(case, server)
        ask_after_a_release(case, server)
        done = case.gputrack("fleet", "--clickhouse", server.url, "diff", "--before", "2026-01-01", "--after", "2026-09-22")
        assert done.status == 1 and "has no rows of 2026-01-01" in done.err, done.err


def test_the_fleet_answers_from_todays_server(case):
    with engines.Chdb(case) as server:
        ask_everything(case, server)
        ask_after_a_release(case, server)


def rows_with_ties():
    """Rows of one time that differ in what is not compared first: files, lines, GPUs, names, digits of sums."""
    before, after = MIDNIGHT + DAY - 60, MIDNIGHT + 2 * DAY - 60
    leak = {"live_bytes": 8 << 20, "growth_bytes": 1 << 20, "growing_since": MIDNIGHT}
    rows = []
    for time_s in (before, after):
        # one place of two programs; the same code with two lines; two GPUs and stacks of one process
        rows += [{"time": time_s, "host": host, "file": f"/{host}/load.c", **leak} for host in ("h1", "h2")]
        rows += [{"time": time_s, "host": "h3", "place": "load load.c:14", "line": 14, **leak}]
        rows += [{"time": time_s, "host": "h4", "gpu": gpu, "stack": stack, **leak}
                 for gpu in ("GPU 0", "GPU 1") for stack in ("0a", "0b")]
        # equal sums of fractions: in two orders, one of them is larger by the last digit
        for place, rates in (("a a.c:1", (0.1, 0.2, 0.3)), ("b b.c:1", (0.3, 0.2, 0.1))):
            rows += [{"time": time_s, "host": "h5", "pid": i, "place": place, "file": f"/{place[0]}.c", "line": 1,
                      "kind": "event", "growth_objects": rate, "growing_since": MIDNIGHT} for i, rate in enumerate(rates)]
    # a process that has changed its name, and whose pod was not known at first
    rows += [{"time": after - 60 * i, "host": "h6", "process": name, "pod": pod, **leak}
             for i, (name, pod) in enumerate((("worker", "serve-0"), ("serve", "")))]
    return rows


def ask_in_both_orders(case, server):
    questions = (("top",), ("diff", "--before", "2026-09-21", "--after", "2026-09-22"),
                 ("diff", "--before", "2026-09-21T23:59:30", "--after", "2026-09-22T23:59:30"), ("place", "load.c"))
    answers = []
    for rows in (rows_with_ties(), rows_with_ties()[::-1]):
        for table in ("rows", "days"):
            server.query(f"TRUNCATE TABLE gputrack.{table}")
            server.query(f"SYSTEM STOP MERGES gputrack.{table}")
        for row in rows:  # a part each
            insert(server, row)
        answers.append([fleet(case, server, *question, "-f", "json") for question in questions])
    for question, first, second in zip(questions, *answers):
        assert first == second, (question, first, second)
    top, _, _, where = map(json.loads, answers[0])
    assert [place["total"] for place in (top, where)] == [4, 8], (top, where)
    # that with two stacks on two GPUs is one process
    assert [(place["hosts"], place["processes"]) for place in top["places"]] == [(4, 4), (1, 1), (1, 3), (1, 3)], top
    renamed = [p for p in where["processes"] if p["host"] == "h6"]
    assert [(p["process"], p["pod"]) for p in renamed] == [("worker", "serve-0")], renamed


def test_answers_do_not_depend_on_the_order_of_rows_on_an_old_server(case):
    with engines.ClickHouse(case) as server:
        ask_in_both_orders(case, server)


def test_answers_do_not_depend_on_the_order_of_rows_on_todays_server(case):
    with engines.Chdb(case) as server:
        ask_in_both_orders(case, server)


def test_wrong_questions_are_refused(case):
    for words, said in ((("tpo",), "did you mean top?"), ((), "needs a question"), (("top", "x"), "takes no operand"),
                        (("diff", "--before", "2026-09-21"), "needs --before DATE and --after DATE"),
                        (("top", "--since", "yesterday"), "--since yesterday is no day"),
                        (("top", "--since", "2026-09-22", "--until", "2026-09-21"), "later"),
                        (("place",), "one place"), (("top", "--before", "2026-09-21"), "needs diff")):
        done = case.gputrack("fleet", "--clickhouse", "http://127.0.0.1:1", *words)
        assert done.status == 2 and said in done.err, (words, done.err)
    done = case.gputrack("fleet", "top")
    assert done.status == 2 and "needs --clickhouse URL" in done.err, done.err
    done = case.gputrack("fleet", "top", env={"GPUTRACK_OPTIONS": "fleet.clickhouse = http://u:secret@127.0.0.1:1"})
    assert done.status == 1 and "cannot reach http://127.0.0.1:1/gputrack" in done.err, done.err
    assert "secret" not in done.err


def test_duckdb_reads_the_rows_as_tsv_and_parquet(case):
    duck = engines.DuckDB(case)
    columns = columns_of_rows()
    rows = []
    for i in range(1000):
        text = f"a \\\\ b{i} \u00e9" if i % 3 else ""
        values = {"TIME": time_text(START + 60 * i), "TEXT": text, "U32": 2**32 - 1 - i, "U64": 2**64 - 1 - i,
                  "REAL": i / 8}
        rows.append("\t".join(str(values[kind]) for _, kind in columns))
    head = "\t".join(name for name, _ in columns)
    case.path("rows.tsv").write_text("\n".join([head] + rows) + "\nhalf of a r")
    done = case.gputrack("fleet", "parquet", "rows.tsv", "rows.tsv", "-o", "rows.parquet")
    assert (done.status, done.err) == (0, ""), done.err
    parquet = f"read_parquet('{case.path('rows.parquet')}')"
    found = duck.rows(f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {parquet})")
    kinds = {"TIME": "TIMESTAMP", "TEXT": "VARCHAR", "U32": "UINTEGER", "U64": "UBIGINT", "REAL": "DOUBLE"}
    assert found == [[name, kinds[kind]] for name, kind in columns], found
    read = duck.rows(f"SELECT * FROM {parquet}")
    expected = [line.replace("\\\\", "\\").split("\t") for line in rows]
    for ours, theirs in zip(expected * 2, read, strict=True):
        for (name, kind), a, b in zip(columns, ours, theirs):
            assert (float(a) == float(b)) if kind == "REAL" else a == b, (name, a, b)
    # and the text itself, by names and types that DuckDB finds out
    case.path("whole.tsv").write_text("\n".join([head] + rows) + "\n")
    tsv = duck.rows(f"SELECT count(*), min(time), sum(growth_bytes) FROM read_csv('{case.path('whole.tsv')}',"
                    " delim='\t', quote='', escape='')")
    assert tsv == [["1000", "2026-09-21 14:13:20", "62437.5"]], tsv
    case.path("bad.tsv").write_text(head + "\nno\trow\n")
    done = case.gputrack("fleet", "parquet", "bad.tsv", "-o", "bad.parquet")
    assert done.status == 1 and "bad.tsv:2 is no row" in done.err and not case.path("bad.parquet").exists(), done.err


@harness.alone
def test_a_leak_is_first_in_the_fleet_and_gone_after_its_fix(case):
    """From the calls of programs, through the agent and a real server, to what `fleet` says of them."""
    from test_agent import Agent, leak, until
    from test_attach import Target, need_root
    need_root(case)
    with engines.ClickHouse(case) as server:
        program, other = Target(case), Target(case)
        other.tell("a 50000000")
        agent = Agent(case, "-p", program.pid, "-p", other.pid, "--growth-step", "0.1", "--rows-interval", "1",
                      "--clickhouse", server.url, "--spool", f"{case.path('spool')},1M", "--host", "gpu-7",
                      "--rows", case.path("rows"))

        def grows():
            done = case.gputrack("fleet", "--clickhouse", server.url, "top", "-f", "json")
            return done.status == 0 and json.loads(done.out)["places"]
        place = until(grows, each=lambda: leak(program))[0]
        assert re.match(r"allocate_here \S*attach_target\.c:\d+$", place["place"]), place
        assert (place["hosts"], place["processes"], place["kind"]) == (1, 1, "device memory"), place
        where = json.loads(fleet(case, server, "place", f"attach_target.c:{place['line']}", "-f", "json"))
        assert (where["processes"][0]["host"], where["processes"][0]["pid"]) == ("gpu-7", program.pid), where
        before = server.query("SELECT max(time) FROM gputrack.rows WHERE growth_bytes > 0").strip()

        # the fix: the program is started anew, and keeps what it has
        program.end()

        def gone():
            moment = time_text(int(time.time()))
            done = case.gputrack("fleet", "--clickhouse", server.url, "diff", "--before", before, "--after", moment)
            return "GONE  1 place no longer growing" in done.out and done.out
        said = until(gone, each=lambda: time.sleep(0.2))
        assert "GROWING" not in said and place["place"] in said, said
        status = agent.ask("status").out
        assert re.search(r"^rows +[\d,]+ sent, \d+ batch(es)? waiting, 0 lost$", status, re.M), status
        assert agent.stop() == 0, agent.err
        other.end()
        # nothing is left to be sent, and the files have the same rows
        assert [path.name for path in case.path("spool").iterdir()] == ["lock"]
        column = [name for name, _ in columns_of_rows()].index
        keys = {tuple(line.split("\t")[column(name)] for name in ("time", "pid", "place"))
                for path in case.path("rows").glob("rows-*.tsv") for line in path.read_text().splitlines()[1:]}
        assert server.query("SELECT count() FROM gputrack.rows FINAL") == f"{len(keys)}\n"
        frames = server.query("SELECT frames FROM gputrack.stacks FINAL")
        assert re.search(r"^allocate_here \(.*attach_target\.c:\d+\) < middle .* < main ", frames), frames


def test_the_manifest_has_the_privileges_of_the_unit(case):
    try:
        import yaml
    except ImportError:
        case.skip("python3-yaml is not installed")
    fleet_files = engines.SOURCE / "packaging/fleet"
    pod = yaml.safe_load((fleet_files / "kubernetes.yaml").read_text())["spec"]["template"]["spec"]
    agent, = pod["containers"]
    unit = (fleet_files / "gputrack-agent.service").read_text()
    needed = re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.M).group(1).split()
    rights = agent["securityContext"]
    assert {f"CAP_{name}" for name in rights["capabilities"]["add"]} == set(needed), needed
    assert rights["capabilities"]["drop"] == ["ALL"] and rights["readOnlyRootFilesystem"]
    assert not rights["privileged"] and not rights["allowPrivilegeEscalation"]
    assert pod["hostPID"] and not pod["automountServiceAccountToken"]
    assert "hostNetwork" not in pod and "hostIPC" not in pod
    # its options are those of the agent, and nothing secret is among them
    known = case.gputrack("agent", "--help").out
    assert agent["args"][0] == "agent"
    for word in agent["args"][1:]:
        assert f"{word.split('=')[0]} " in known, word
    mounted = {mount["mountPath"] for mount in agent["volumeMounts"]}
    assert mounted == {"/var/lib/gputrack", "/run/gputrack", "/etc/gputrack"}, mounted


def test_slurm_records_a_job_and_never_fails_it(case):
    scripts = engines.SOURCE / "packaging/fleet/slurm"
    tool = case.path("bin/gputrack")
    tool.parent.mkdir()
    # in place of gputrack: it writes down how it is called, and records until it is interrupted
    tool.write_text("""#!/bin/sh
echo "$*" >>"$CALLS"
[ "$1" = attach ] || { echo the summary; exit 0; }
trap 'echo interrupted >>"$CALLS"; exit 0' TERM
mkdir 7.gt
while :; do sleep 0.05; done
""")
    tool.chmod(0o755)
    calls, jobs = case.path("calls"), case.path("jobs")
    env = {"PATH": f"{tool.parent}:/usr/bin:/bin", "SLURM_JOB_ID": "7", "GPUTRACK_JOBS": str(jobs), "CALLS": str(calls)}
    done = subprocess.run([scripts / "prolog.sh"], env=env, timeout=60)
    assert done.returncode == 0
    while not (jobs / "7.gt").exists():
        time.sleep(0.01)
    done = subprocess.run([scripts / "epilog.sh"], env=env, timeout=60)
    assert done.returncode == 0
    assert calls.read_text().splitlines() == [
        "attach --cgroup system.slice/slurmstepd.scope/job_7 -o 7.gt --interval 0 --max-size 200M --quiet",
        "interrupted", "report 7.gt"], calls.read_text()
    assert (jobs / "7.txt").read_text() == "the summary\n" and not (jobs / "7.pid").exists()
    # without gputrack, and without a prolog
    tool.unlink()
    for script in ("prolog.sh", "epilog.sh", "epilog.sh"):
        assert subprocess.run([scripts / script], env=env, timeout=60).returncode == 0
    known = case.gputrack("attach", "--help").out
    assert all(f"{word} " in known for word in ("--cgroup", "--interval", "--max-size", "--quiet"))
