# SPDX-License-Identifier: MIT
"""test_symbols.py - debug information that lies elsewhere: split, shared, renamed, on a server; JIT code."""
import contextlib
import http.server
import json
import os
import pathlib
import shutil
import socket
import threading
import time
import urllib.error
import urllib.request

import harness

NESTED = [("pool_take", "pool.h", 11), ("pool_take_rounded", "pool.h", 16), ("prepare", "stages.c", 19),
          ("stage_nested", "stages.c", 24), ("main", "main.c", 15)]
BARE = [("stage_nested", "pool.h", 11), ("main", "main.c", 15)]  # without the inlined functions
SOURCES = ["c_inline/src/main.c", "c_inline/src/stages.c"]


def tool(case, *names, package):
    for name in names:
        if shutil.which(name):
            return name
    case.skip(f"{names[0]} is not installed ({package})")


def built(case, *flags, output="app"):
    """Builds the program of inlined functions in the case's folder."""
    programs = case.source / "tests/places/programs"
    if not case.path("c_inline").exists():
        shutil.copytree(programs / "c_inline", case.path("c_inline"))
        shutil.copy(programs / "gpu.h", case.path("gpu.h"))
    compiler = os.environ.get("CC", "cc")
    command = [compiler, "-g", "-O2", "-Wl,--build-id=sha1", "-Ic_inline/include", *flags, "-o", output,
               *SOURCES, "-lOpenCL"]
    done = case.run(*command)
    assert done.status == 0, done.err


def recorded(case):
    """Runs it; the recording has no names of its own."""
    done = case.gputrack("run", "-q", "-o", "a.gt", "./app", env=case.pocl())
    assert done.status == 0, done.err
    case.path("a.gt/legend").unlink()


def nested(case, *options, env=None):
    """The frames of the buffer that is made inside three inlined functions."""
    done = case.gputrack("report", "a.gt", "-a", "leakage", "-f", "json", *options, env=env)
    assert done.status == 0, done.err
    (group,) = [group for group in json.loads(done.out)["groups"] if group["bytes"] == 3328]
    return [(frame["function"], os.path.basename(frame["file"] or ""), frame["line"])
            for frame in group["stack"]]


def test_split_debug_information_is_read_beside_the_program(case):
    built(case, "-gsplit-dwarf")
    recorded(case)
    assert list(case.folder.glob("*.dwo")), "the compiler split nothing"
    assert nested(case) == NESTED
    for path in case.folder.glob("*.dwo"):
        path.unlink()
    assert nested(case) == BARE


def test_lines_are_known_of_a_program_with_a_dwp_file(case):
    dwp = tool(case, "dwp", package="binutils")
    built(case, "-gsplit-dwarf", "-gdwarf-4")  # on DWARF 5, Debian's dwp crashes and LLVM's never ends
    recorded(case)
    done = case.run(dwp, "-e", "app", "-o", "app.dwp", timeout=20)
    assert done.status == 0, done.err
    for path in case.folder.glob("*.dwo"):
        path.unlink()
    # libdw reads such files from elfutils 0.191 on
    assert nested(case) in (BARE, NESTED)
    case.path("app.dwp").unlink()
    os.mkfifo(case.path("app.dwp"))
    assert nested(case) == BARE


def test_shared_debug_information_is_found_by_its_build_id(case):
    dwz = tool(case, "dwz", package="dwz")
    built(case)
    built(case, "-DOTHER", output="other")
    done = case.run(dwz, "-m", "common.debug", "app", "other")
    assert done.status == 0, done.err
    recorded(case)
    assert nested(case) == NESTED
    case.path("elsewhere").mkdir()
    case.path("common.debug").rename(case.path("elsewhere/any.name"))
    assert nested(case) != NESTED
    assert nested(case, "--symbols", "elsewhere") == NESTED


def stripped(case, debug):
    """Builds the program, leaves no names in it, and moves its debug information to `debug`."""
    objcopy = tool(case, "objcopy", package="binutils")
    built(case)
    for command in ([objcopy, "--only-keep-debug", "app", debug], [objcopy, "--strip-all", "app"]):
        done = case.run(*command)
        assert done.status == 0, done.err
    recorded(case)
    assert nested(case) == [(None, "", None)] * 2


def test_a_debug_file_is_found_under_any_name(case):
    case.path("saved/2026/app").mkdir(parents=True)
    stripped(case, "saved/2026/app/release-1.0.symbols")
    assert nested(case, "--symbols", "saved") == NESTED
    # the program too, when it is gone
    case.path("app").rename(case.path("saved/2026/app.moved"))
    assert nested(case, "--symbols", "saved") == NESTED
    assert nested(case) == [(None, "", None)] * 2


@contextlib.contextmanager
def debuginfod(case, folder):
    """The URL of Debian's server, which has the files of this folder once it has read it."""
    server = tool(case, "debuginfod", package="debuginfod")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = case.start(server, "-d", ":memory:", "-p", str(port), "-F", folder)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.communicate()


def test_a_debug_file_comes_from_a_server(case):
    case.path("served").mkdir()
    stripped(case, "served/app.debug")
    with debuginfod(case, "served") as url:
        env = {"DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": str(case.path("cache")), "GPUTRACK_CACHE": ""}
        for attempt in range(100):  # until it has read its folder
            if nested(case, "--debuginfod", env=env) == NESTED:
                break
            shutil.rmtree(case.path("cache"), ignore_errors=True)  # which remembers what was not there
            time.sleep(0.1)
        assert nested(case, "--debuginfod", env=env) == NESTED
        assert nested(case, env=env) != NESTED, "the server was asked without leave"


def requests(url):
    """How many requests for files the server has counted; None: it does not answer yet."""
    try:
        with urllib.request.urlopen(f"{url}/metrics") as answer:
            lines = answer.read().decode().splitlines()
    except urllib.error.URLError:
        return None
    return sum(int(line.split()[-1]) for line in lines
               if line.startswith("http_requests_total") and ("debuginfo" in line or "executable" in line))


def test_debuginfod_is_not_asked_again_for_what_it_does_not_have(case):
    case.path("served").mkdir()
    case.path("saved").mkdir()
    stripped(case, "saved/app.debug")
    with debuginfod(case, "served") as url:
        env = {"DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": str(case.path("cache")),
               "GPUTRACK_CACHE": str(case.path("ours"))}
        for attempt in range(100):
            if requests(url) is not None:
                break
            time.sleep(0.1)
        assert requests(url) == 0
        nested(case, "--debuginfod", env=env)
        count = requests(url)
        assert count, "it was not asked"
        shutil.rmtree(case.path("cache"))
        nested(case, "--debuginfod", env=env)
        assert requests(url) == count


class Server(http.server.BaseHTTPRequestHandler):
    """Answers every request with the same status, and remembers what it was asked for."""

    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_error(self.server.status)

    def log_message(self, *what):
        pass


@contextlib.contextmanager
def served(status):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.status, server.asked = status, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def asked(case, server, url=None, **env):
    """What a report asks the server for if libdebuginfod remembers nothing."""
    shutil.rmtree(case.path("cache"), ignore_errors=True)
    server.asked.clear()
    nested(case, "--debuginfod", env={"DEBUGINFOD_URLS": url or f"http://127.0.0.1:{server.server_port}",
                                      "DEBUGINFOD_CACHE_PATH": str(case.path("cache")),
                                      "GPUTRACK_CACHE": str(case.path("ours"))} | env)
    return list(server.asked)


def test_a_server_is_asked_once_for_what_it_does_not_have(case):
    tool(case, "debuginfod-find", package="debuginfod")
    case.path("saved").mkdir()
    stripped(case, "saved/app.debug")
    with served(404) as server:
        first = asked(case, server)
        assert any(path.endswith("/debuginfo") for path in first) and len(first) == len(set(first)), first
        assert asked(case, server) == [], "asked again"
        # a program that is gone is asked for, too
        case.path("app").rename(case.path("gone"))
        also = asked(case, server)
        assert also and all(path.endswith("/executable") for path in also), also
        assert asked(case, server) == []
        case.path("gone").rename(case.path("app"))

        # other servers may have it, and these may have it another day
        url = f"http://127.0.0.1:{server.server_port}"
        assert asked(case, server, f"http://localhost:{server.server_port}/ ") == first
        assert len(asked(case, server, f"{url} {url}/more")) == 2 * len(first)
        assert asked(case, server) == first
        assert asked(case, server, GPUTRACK_CACHE="") == first
        (remembered,) = case.path("ours").iterdir()
        assert remembered.stat().st_mode & 0o777 == 0o600
        urls, *lines = remembered.read_text().splitlines()
        assert len(lines) == len(first), lines
        for days in (-2, 2):  # a time to come was written by a clock that was wrong
            moved = [line.rsplit(" ", 1) for line in lines]
            remembered.write_text("\n".join([urls, *(f"{key} {int(time) + days * 86400}" for key, time in moved)]))
            assert asked(case, server) == first, days
            assert asked(case, server) == [], days
        # damage costs a request
        remembered.write_bytes(remembered.read_bytes()[:len(urls) + 20] + b"\n\xff\n 1\n")
        assert asked(case, server)


def test_a_server_that_cannot_be_reached_is_asked_again(case):
    tool(case, "debuginfod-find", package="debuginfod")
    case.path("saved").mkdir()
    stripped(case, "saved/app.debug")
    with served(404) as server:
        url = f"http://127.0.0.1:{server.server_port}"
    assert asked(case, server, url) == [] and not case.path("ours").exists()


def test_what_libdebuginfod_remembers_of_other_servers_is_not_ours(case):
    tool(case, "debuginfod-find", package="debuginfod")
    case.path("saved").mkdir()
    stripped(case, "saved/app.debug")
    with served(404) as server:
        first = asked(case, server, GPUTRACK_CACHE="")
        env = {"DEBUGINFOD_URLS": f"http://localhost:{server.server_port}", "GPUTRACK_CACHE": str(case.path("ours")),
               "DEBUGINFOD_CACHE_PATH": str(case.path("cache"))}
        nested(case, "--debuginfod", env=env)
        assert server.asked == first, "libdebuginfod has asked again"
        assert asked(case, server, env["DEBUGINFOD_URLS"]) == first


def built_large(case, *flags):
    """As large as a program whose names are kept."""
    objcopy = tool(case, "objcopy", package="binutils")
    built(case, *flags)
    with open(case.path("padding"), "wb") as padding:
        padding.truncate(17 << 20)
    done = case.run(objcopy, "--add-section", ".padding=padding", "app")
    assert done.status == 0, done.err


def kept_with_its_parts(case, parts):
    """Names are kept if all parts of the debug information were there, and known without them from then on."""
    cache = case.path("cache")
    env = {"GPUTRACK_CACHE": str(cache)}
    recorded(case)
    case.path("away").mkdir()
    for path in parts:
        path.rename(case.path("away") / path.name)
    assert nested(case, env=env) != NESTED and not cache.exists(), "what is not the whole was kept"
    for path in parts:
        (case.path("away") / path.name).rename(path)
    assert nested(case, env=env) == NESTED and len(list(cache.iterdir())) == 1
    for path in parts:
        path.unlink()
    assert nested(case, env=env) == NESTED
    assert nested(case, env={"GPUTRACK_CACHE": ""}) != NESTED


def test_names_of_split_debug_information_are_kept(case):
    built_large(case, "-gsplit-dwarf")
    kept_with_its_parts(case, list(case.folder.glob("*.dwo")))


def test_names_of_shared_debug_information_are_kept(case):
    dwz = tool(case, "dwz", package="dwz")
    built_large(case)
    built(case, "-DOTHER", output="other")
    done = case.run(dwz, "-m", "common.debug", "app", "other")
    assert done.status == 0, done.err
    kept_with_its_parts(case, [case.path("common.debug")])


def test_names_of_a_large_program_are_kept_for_the_next_report(case):
    built_large(case)
    cache = case.path("cache/gputrack")
    here, nowhere = {"XDG_CACHE_HOME": str(cache.parent)}, {"GPUTRACK_CACHE": ""}
    recorded(case)
    assert nested(case, env=nowhere) == NESTED and not cache.exists()
    assert nested(case, env=here) == NESTED
    (kept,) = cache.iterdir()
    assert kept.name.endswith(".names1") and kept.stat().st_mode & 0o777 == 0o600, kept
    names = kept.read_bytes()
    assert b"pool_take_rounded" in names

    # they are what is shown, without another look at the program
    kept.write_bytes(names.replace(b"pool_take_rounded", b"POOL_TAKE_ROUNDED"))
    assert nested(case, env=here) == [(name.replace("pool_take_rounded", "POOL_TAKE_ROUNDED"), *line)
                                      for name, *line in NESTED]
    assert nested(case, env=nowhere) == NESTED
    # damage, or nothing that could be read, costs a look
    kept.write_bytes(names[:len(names) // 2])
    assert nested(case, env=here) == NESTED
    assert kept.read_bytes() == names
    kept.unlink()
    kept.mkdir()
    assert nested(case, env=here) == NESTED
    kept.rmdir()

    # the oldest go when the folder gets too large
    for name, size, age in (("old.names1", 60, 1), ("new.names1", 3, 3), ("other", 60, 2)):
        with open(cache / name, "wb") as file:
            file.truncate(size << 20)
        os.utime(cache / name, (age, age))
    assert nested(case, env=here) == NESTED
    assert sorted(path.name for path in cache.iterdir()) == sorted([kept.name, "new.names1", "old.names1", "other"])
    with open(cache / "new.names1", "wb") as file:
        file.truncate(6 << 20)
    kept.unlink()
    assert nested(case, env=here) == NESTED
    assert sorted(path.name for path in cache.iterdir()) == sorted([kept.name, "new.names1", "other"])


def test_names_of_a_program_that_was_built_again_are_not_taken_from_the_last_one(case):
    built_large(case)
    recorded(case)
    here = {"GPUTRACK_CACHE": str(case.path("cache"))}
    assert nested(case, env=here) == NESTED
    assert len(list(case.path("cache").iterdir())) == 1
    built(case, "-DOTHER", "-O1")
    done = case.gputrack("report", "a.gt", "-a", "leakage", env=here)
    assert "pool_take" not in done.out and "has changed" in done.out + done.err, done


def frames_of(case, recording):
    """The frames of the only buffer."""
    (group,) = [group for group in case.report(recording, "leakage")["groups"] if group["kind"] == "buffer"]
    return [(frame["function"], frame["file"], frame["line"]) for frame in group["stack"]]


def forget_map(case, recording):
    """Removes what the recorded process left in /tmp."""
    (process,) = case.report(recording, "leakage")["recording"]["processes"]
    pathlib.Path(f"/tmp/perf-{process['pid']}.map").unlink()


@harness.alone
def test_compiled_code_has_the_name_that_its_compiler_wrote(case):
    script = str(case.path("model.js"))
    ways = [("run",)]
    if os.geteuid() == 0 and "attach" in case.gputrack("--help").out:
        ways.append(("attach", "-c"))
    for command, *how in ways:
        name = f"{command}.gt"
        done = case.gputrack(command, "-o", name, *how, case.program("jit"), f"JS:*Model.step {script}:12:5",
                             env=case.pocl())
        assert done.status == 0 and "Model.step" in done.err, done.err
        forget_map(case, name)
        frames = frames_of(case, name)  # saved in the recording
        assert [frame[0] for frame in frames] == ["make", "Model.step", "main"], frames
        assert frames[1] == ("Model.step", script, 12)


def test_compiled_code_without_a_name_is_said_to_be_that(case):
    done = case.gputrack("run", "-q", "-o", "jit.gt", case.program("jit"), env=case.pocl())
    assert done.status == 0, done.err
    frames = frames_of(case, "jit.gt")
    assert [frame[0] for frame in frames] == ["make", None, "main"], frames
    text = case.gputrack("report", "jit.gt", "-a", "leakage").out
    assert "\n      [JIT code]\n" in text, text
    # its address is no part of the place
    done = case.gputrack("run", "-q", "-o", "again.gt", case.program("jit"), env=case.pocl())
    assert case.gputrack("report", "again.gt", "--baseline", "jit.gt", "--fail-on-leak").status == 0


def test_javascript_is_named_by_node(case):
    node = tool(case, "node", package="nodejs")
    programs = case.source / "tests/places/programs/js_node"
    shutil.copy(programs / "main.js", case.folder)
    done = case.run(os.environ.get("CC", "cc"), "-g", "-O1", "-shared", "-fPIC", "-o", "addon.node",
                    programs / "addon.c", "-lOpenCL")
    assert done.status == 0, done.err
    done = case.gputrack("run", "-q", "-o", "node.gt", node, "--perf-basic-prof",
                         "--interpreted-frames-native-stack", "main.js", "once",
                         env=case.pocl())
    assert done.status == 0, done.err
    forget_map(case, "node.gt")
    frames = frames_of(case, "node.gt")
    script = str(case.path("main.js"))
    own = [frame[:2] for frame in frames if frame[1] == script]
    assert own[:2] == [("step", script), ("train", script)], frames


@harness.alone
def test_go_that_calls_c_has_its_own_lines(case):
    go = tool(case, "go", package="golang-go")
    programs = case.source / "tests/places/programs"
    shutil.copytree(programs / "go_cgo", case.path("go_cgo"))
    shutil.copy(programs / "gpu.h", case.path("gpu.h"))
    done = case.run("sh", "-c", f"cd go_cgo && {go} build -o ../app", timeout=300,
                    env={"GOCACHE": str(case.build / "go-cache"), "GOFLAGS": "-buildvcs=false"})
    assert done.status == 0, done.err
    ways = {"go.gt": ("run",)}
    if os.geteuid() == 0 and "attach" in case.gputrack("--help").out:
        ways["attached.gt"] = ("attach", "-c")
    for name, (command, *how) in ways.items():
        done = case.gputrack(command, "-q", "-o", name, *how, "./app", env=case.pocl())
        assert done.status == 0, done.err
    found = [[(e["function"], e["effect"], e["kind"], e["outcome"], e.get("bytes"),
               [(frame["function"], frame["line"]) for frame in e["stack"]]) for e in case.events(name)] for name in ways]
    assert found[0] == found[-1], found
    stacks = {group["bytes"]: [frame["function"] for frame in group["stack"]]
              for group in case.report("go.gt", "leakage")["groups"] if group["kind"] == "buffer"}
    own = {size: [name for name in names if name and name.startswith("main.") and "_Cfunc_" not in name]
           for size, names in stacks.items()}
    assert own == {1024: ["main.(*Trainer).Step.func1", "main.(*Trainer).Step", "main.main"],
                   2048: ["main.load", "main.main"],
                   3072: ["main.main.func1", "main.main"]}, stacks
