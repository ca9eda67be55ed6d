# SPDX-License-Identifier: MIT
"""engines.py - databases that tests start: ClickHouse's server, and the embedded ClickHouse and DuckDB.

Debian's ClickHouse is of 2018: it shows that old servers take what we send. chdb is ClickHouse of today as a
library; tests/engines/package.json names it and DuckDB, and `./dev test` fetches them.
"""
import ctypes
import http.server
import gzip
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODULES = SOURCE / "tests/engines/node_modules"
SCHEMA = SOURCE / "packaging/fleet/clickhouse.sql"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def statements():
    """The statements of the schema."""
    text = re.sub(r"--.*", "", SCHEMA.read_text())
    return [part.strip() for part in text.split(";") if part.strip()]


def for_2018(sql):
    """The same without what a server of 2018 does not know."""
    sql = re.sub(r"LowCardinality\((\w+)\)", r"\1", sql)
    sql = re.sub(r" CODEC\([^)]*\)", "", sql)
    return re.sub(r"\n(TTL|SETTINGS) .*", "", sql)


class Server:
    """A ClickHouse over HTTP."""

    def __init__(self):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def query(self, sql):
        request = urllib.request.Request(self.url + "/?wait_end_of_query=1", data=sql.encode())
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{sql[:200]}\n{error.read().decode()[:500]}") from None

    def rows(self, sql):
        return [line.split("\t") for line in self.query(sql).splitlines()]


class ClickHouse(Server):
    """Debian's server, in a folder of the test."""

    PROGRAM = shutil.which("clickhouse-server", path=os.environ.get("PATH", "") + ":/usr/sbin")
    CONFIG = "/etc/clickhouse-server/config.xml"

    def __init__(self, case, name="clickhouse"):
        if not self.PROGRAM or not os.path.exists(self.CONFIG):
            case.skip("clickhouse-server is not installed")
        super().__init__()
        self.case, self.folder, self.process = case, case.path(name), None
        self.folder.mkdir()

    def __enter__(self):
        self.start()
        for statement in statements():
            self.query(for_2018(statement))
        return self

    def __exit__(self, *what):
        self.kill()

    def start(self):
        self.process = subprocess.Popen(
            [self.PROGRAM, f"--config-file={self.CONFIG}", "--", f"--path={self.folder}/data/",
             f"--tmp_path={self.folder}/tmp/", f"--http_port={self.port}", f"--tcp_port={free_port()}",
             f"--interserver_http_port={free_port()}", "--listen_host=127.0.0.1",
             f"--logger.log={self.folder}/log", f"--logger.errorlog={self.folder}/errors",
             "--mark_cache_size=8388608"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                return self.query("SELECT 1")
            except OSError:
                if self.process.poll() is not None:
                    self.case.skip("clickhouse-server does not start here: "
                                   + (self.folder / "errors").read_text()[-300:])
                time.sleep(0.05)

    def kill(self):
        """Without a warning."""
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None


class Chdb(Server):
    """ClickHouse of today, embedded, behind an HTTP server of ours."""

    LIBRARY = MODULES / "@chdb/lib-linux-x64-gnu/libchdb.so"

    def __init__(self, case):
        if not self.LIBRARY.exists():
            case.skip("chdb is not there: npm could not fetch tests/engines")
        super().__init__()
        self.lib = lib = ctypes.CDLL(str(self.LIBRARY))
        pointer = ctypes.c_void_p
        lib.chdb_connect.restype = ctypes.POINTER(pointer)
        for name, result, *arguments in (("query_n", pointer, pointer, ctypes.c_char_p, ctypes.c_size_t,
                                          ctypes.c_char_p, ctypes.c_size_t),
                                         ("result_buffer", pointer, pointer),
                                         ("result_length", ctypes.c_size_t, pointer),
                                         ("result_error", ctypes.c_char_p, pointer),
                                         ("destroy_query_result", None, pointer)):
            function = getattr(lib, f"chdb_{name}")
            function.restype, function.argtypes = result, arguments
        words = [b"clickhouse", f"--path={case.path('chdb')}".encode()]
        self.connection = lib.chdb_connect(len(words), (ctypes.c_char_p * len(words))(*words))
        self.lock = threading.Lock()

    def run(self, sql):
        """What a statement answers; an error raises."""
        with self.lock:
            result = self.lib.chdb_query_n(self.connection[0], sql, len(sql), b"TSV", 3)
            try:
                error = self.lib.chdb_result_error(result)
                if error:
                    raise ValueError(error.decode(errors="replace"))
                size = self.lib.chdb_result_length(result)
                return ctypes.string_at(self.lib.chdb_result_buffer(result), size) if size else b""
            finally:
                self.lib.chdb_destroy_query_result(result)

    def __enter__(self):
        engine = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # noqa: N802
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                settings = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
                sql = settings.get("query", [""])[0].encode()
                try:
                    database = settings.get("database", ["default"])[0].encode()
                    engine.run(b"USE " + database)
                    status, answer = 200, engine.run(sql + b"\n" + body if sql else body)
                except ValueError as error:
                    status, answer = 400, str(error).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *what):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        for statement in statements():
            # rows of tests have fixed times: they are not to expire
            self.run(re.sub(r"INTERVAL \d+ DAY", "INTERVAL 50 YEAR", statement).encode())
        return self

    def __exit__(self, *what):
        self.server.shutdown()


class DuckDB:
    """DuckDB as a library."""

    LIBRARY = MODULES / "@duckdb/node-bindings-linux-x64/libduckdb.so"

    class Result(ctypes.Structure):
        _fields_ = [("columns", ctypes.c_uint64), ("rows", ctypes.c_uint64), ("changed", ctypes.c_uint64),
                    ("data", ctypes.c_void_p), ("error", ctypes.c_char_p), ("internal", ctypes.c_void_p)]

    def __init__(self, case):
        if not self.LIBRARY.exists():
            case.skip("DuckDB is not there: npm could not fetch tests/engines")
        self.lib = ctypes.CDLL(str(self.LIBRARY))
        for name in ("result_error", "value_varchar"):
            getattr(self.lib, f"duckdb_{name}").restype = ctypes.c_void_p
        for name in ("column_count", "row_count"):
            getattr(self.lib, f"duckdb_{name}").restype = ctypes.c_uint64
        database = ctypes.c_void_p()
        self.connection = ctypes.c_void_p()
        assert self.lib.duckdb_open(None, ctypes.byref(database)) == 0
        assert self.lib.duckdb_connect(database, ctypes.byref(self.connection)) == 0

    def rows(self, sql):
        """The answer's rows, as texts."""
        lib, result = self.lib, self.Result()
        failed = lib.duckdb_query(self.connection, sql.encode(), ctypes.byref(result))
        assert not failed, ctypes.string_at(lib.duckdb_result_error(ctypes.byref(result))).decode()
        at = ctypes.byref(result)

        def text(column, row):
            value = lib.duckdb_value_varchar(at, ctypes.c_uint64(column), ctypes.c_uint64(row))
            return ctypes.string_at(value).decode() if value else None
        return [[text(column, row) for column in range(lib.duckdb_column_count(at))]
                for row in range(lib.duckdb_row_count(at))]
