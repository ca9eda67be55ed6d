# SPDX-License-Identifier: MIT
"""test_boundaries.py - boundaries between users: links, folders, races, umask, set-user-ID, descriptors."""
import os
import re
import shutil
import stat
import tempfile

import harness
from test_attach import Attached, Target, need_root

NOBODY = 65534


def need_users(case):
    if os.geteuid():
        case.skip("only root can be several users")
    if not shutil.which("setpriv"):
        case.skip("setpriv is not installed")


def as_user(case, *command, uid=NOBODY, env=None):
    return case.run("setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", *command, env=env)


def public(case):
    """A folder like /tmp: all users may write, but only owners may remove their files."""
    folder = case.path("public")
    folder.mkdir()
    folder.chmod(0o1777)
    case.folder.chmod(0o755)
    return folder


def record(case, name="r.gt", *options, env=None):
    return case.gputrack("run", "-q", "-o", name, *options, case.program("ze_steps"),
                         env=case.levelzero(**(env or {})))


def one_line(done, *words):
    assert done.status == 1, (done.status, done.err)
    assert len(done.err.splitlines()) == 1 and done.err.startswith("gputrack: "), done.err
    assert all(word in done.err for word in words), done.err


def test_nothing_is_recorded_into_a_folder_of_another_user(case):
    need_users(case)
    folder = public(case)
    for name, owner, mode in (("theirs.gt", 12345, 0o777), ("theirs2.gt", 12345, 0o755),
                              ("open.gt", 0, 0o777)):
        path = folder / name
        path.mkdir()
        os.chown(path, owner, owner)
        path.chmod(mode)
        one_line(record(case, path), name)
        assert not list(path.iterdir())
    mine = folder / "mine.gt"
    mine.mkdir(mode=0o755)
    assert record(case, mine).status == 7


def test_a_link_in_place_of_a_recording_is_not_followed(case):
    case.path("real.gt").mkdir()
    for name, target in (("a.gt", "real.gt"), ("b.gt", "nowhere"), ("c.gt", "/etc")):
        case.path(name).symlink_to(target)
        one_line(record(case, name), name)
        assert case.path(name).is_symlink()
    assert not list(case.path("real.gt").iterdir())
    # one in the place of what is kept aside: it stays, and what it leads to as well
    assert record(case, "r.gt").status == 7
    shutil.copytree(case.path("r.gt"), case.path("victim.gt"))
    case.path("r.gt.older").symlink_to("victim.gt")
    for _ in range(3):
        assert record(case, "r.gt").status in (7, 1)
    assert list(case.path("victim.gt").glob("*.trace")), "a link was followed"


def test_an_output_replaces_a_link_and_not_its_target(case):
    assert record(case).status == 7
    case.path("precious").write_text("precious")
    for command in (["report", "r.gt"], ["export", "r.gt"], ["suppress", "r.gt"],
                    ["html", "r.gt"], ["plot", "r.gt"]):
        link = case.path("out.png" if command[0] == "plot" else "out.html")
        link.symlink_to("precious")
        done = case.gputrack(*command, "-o", link.name)
        assert case.path("precious").read_text() == "precious", command
        if "built without" not in done.err:
            assert done.status == 0 and not link.is_symlink(), (command, done.err)
        link.unlink()


def test_an_output_never_overwrites_part_of_a_recording(case):
    assert record(case).status == 7
    recording = case.path("r.gt")
    trace, = recording.glob("*.trace")
    before = {path.name: path.read_bytes() for path in recording.iterdir()}
    assert {"info", "legend", trace.name} <= set(before)
    page = [["html", "r.gt"]] if case.has_page() else []
    for command in (["report", "r.gt"], ["export", "r.gt"], ["suppress", "r.gt"], *page,
                    ["diff", "r.gt", "r.gt"], ["monitor", "-d", "0.1", "sleep", "0"]):
        for name in (*before, "9.trace"):
            done = case.gputrack(command[0], "-o", f"r.gt/{name}", *command[1:])
            one_line(done, f"r.gt/{name} is part of a recording", "; choose another place")
    for option in ("--csv", "--log"):
        one_line(record(case, "s.gt", option, "r.gt/9.trace"), "r.gt/9.trace is part of a recording")
    assert {path.name: path.read_bytes() for path in recording.iterdir()} == before
    # its own names elsewhere are anybody's, and other names in it as well
    for name in ("info", "9.trace", "r.gt/report.txt"):
        assert case.gputrack("report", "r.gt", "-o", name).status == 0, name


def test_a_link_to_a_stream_is_written_through(case):
    """As root, `-o /dev/stdout >file` would leave the machine without its /dev/stdout."""
    assert record(case).status == 7
    for number in (1, 2):
        link = case.path(f"stream-{number}")
        link.symlink_to(f"/proc/self/fd/{number}")
        case.run("sh", "-c", f'exec {number}>file; echo first >&{number}; "$0" report r.gt -o "$1"; '
                 f'echo "last $?" >&{number}', case.build / "gputrack", link)
        assert link.is_symlink(), "the link to the stream was replaced"
        lines = case.path("file").read_text().splitlines()
        assert lines[0] == "first" and lines[-1] == "last 0" and len(lines) > 3, lines


def test_the_tracker_csv_does_not_follow_a_link(case):
    """Its name contains the pid, which can be guessed."""
    case.path("precious").write_text("precious")
    os.utime(case.path("precious"), (0, 0))
    script = (f"ln -s precious t_pid$$.csv; touch -h -d @0 t_pid$$.csv; "
              f"ZEL_SYSTEM_RESOURCE_TRACKER_CSV=t.csv exec {case.program('ze_steps')}")
    done = case.run("sh", "-c", script, env=case.tracker())
    assert done.status == 7 and done.out == "done\n", done.err
    assert case.path("precious").read_text() == "precious"
    assert len(done.err.splitlines()) == 1, done.err


def test_file_modes_do_not_depend_on_the_umask(case):
    for mask in (0, 0o022, 0o077, 0o777):
        done = case.run("sh", "-c", f"umask {mask:o}; exec \"$@\"", "sh", case.build / "gputrack",
                        "run", "-q", "-o", "m.gt", "--max-size", "10M", case.program("ze_steps"),
                        env=case.levelzero())
        assert done.status in (7, 1), (mask, done.err)
        if case.path("m.gt").exists():
            for path in (case.path("m.gt"), *case.path("m.gt").iterdir()):
                assert not stat.S_IMODE(path.lstat().st_mode) & 0o077, (oct(mask), path)
            shutil.rmtree(case.path("m.gt"))


@harness.alone
def test_recordings_made_by_root_are_private_to_root(case):
    need_root(case)
    target = Target(case)
    old = os.umask(0)
    try:
        attached = Attached(case, "-p", str(target.pid), "--api", "cuda")
    finally:
        os.umask(old)
    target.tell("b 10")
    assert attached.stop() == 0
    target.end()
    for path in (case.path("a.gt"), *case.path("a.gt").iterdir()):
        assert not stat.S_IMODE(path.lstat().st_mode) & 0o077, path


@harness.alone
def test_attach_leaves_the_folder_of_a_user_unchanged(case):
    """Moving or removing files there needs a privilege that attach drops."""
    need_root(case)
    need_users(case)
    os.chown(case.folder, NOBODY, NOBODY)
    for number in range(4):
        done = case.gputrack("attach", "-q", "-o", "x.gt", "-c", "true")
        assert done.status == 0, done.err
    names = sorted(path.name for path in case.folder.iterdir())
    assert names == ["x.gt", "x.gt.old"], names
    made = case.path("x.gt").stat().st_ino
    done = case.gputrack("attach", "-q", "-o", "x.gt", "-c", "./nothing")
    assert done.status == 1 and "cannot run" in done.err, done.err
    assert case.path("x.gt").stat().st_ino == made
    assert sorted(path.name for path in case.folder.iterdir()) == names


def test_a_user_reads_a_recording_of_root_only_when_allowed(case):
    need_users(case)
    tool = case.build / "gputrack"
    if as_user(case, tool, "--version").status:
        case.skip("other users cannot run the tool from here")
    case.folder.chmod(0o755)
    assert record(case).status == 7
    one_line(as_user(case, tool, "report", "r.gt"), "r.gt")
    for path in (case.path("r.gt"), *case.path("r.gt").iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = {p.name: p.stat().st_mtime_ns for p in case.path("r.gt").iterdir()}
    done = as_user(case, tool, "report", "r.gt", "-a", "leakage")
    assert done.status == 0 and not done.err, done.err
    assert {p.name: p.stat().st_mtime_ns for p in case.path("r.gt").iterdir()} == before
    # a file that may not be read is said, and so is a folder that may not be written
    one_line(as_user(case, tool, "report", "r.gt", "-o", "out.txt"), "out.txt")
    one_line(as_user(case, tool, "run", "-o", "u.gt", "true"), "u.gt")


def test_a_set_user_id_program_is_not_tracked(case):
    """Set-user-ID: the user who starts it must not choose where it writes."""
    need_users(case)
    if not case.is_public():
        case.skip("other users cannot reach the build folder")
    folder = public(case)
    program = folder / "elevated"
    shutil.copy(case.program("ze_steps"), program)
    os.chown(program, 12345, 12345)
    program.chmod(0o4755)
    probe = folder / "who"
    shutil.copy(shutil.which("id"), probe)
    os.chown(probe, 12345, 12345)
    probe.chmod(0o4755)
    if as_user(case, probe, "-u").out.strip() != "12345":
        case.skip("set-user-ID has no effect on this file system")
    env = case.tracker(GPUTRACK_RECORDING=str(folder / "s.gt"), GPUTRACK_CSV=str(folder / "s.csv"),
                       GPUTRACK_LOG=str(folder / "s.log"))
    done = as_user(case, program, env=env)
    assert done.status == 7, (done.status, done.err)
    assert sorted(p.name for p in folder.iterdir()) == ["elevated", "who"]
    # and the user is told, together with what does track it
    done = as_user(case, case.build / "gputrack", "run", "-o", folder / "s.gt", program)
    assert f"{program} is set-user-ID, so" in done.err, done.err
    assert "attach` as root" in done.err, done.err
    shutil.rmtree(folder / "s.gt", ignore_errors=True)
    # loaded all the same, by its full path: the library itself looks at nothing
    program.chmod(0o755)
    assert as_user(case, program, env=env).status == 7
    assert (folder / "s.gt").is_dir() or list(folder.glob("s_pid*.csv"))


def test_the_library_reads_its_environment_only_with_secure_getenv(case):
    doors = {f"capture/{path.name}" for path in (case.source / "src/capture").iterdir() if path.is_dir()}
    for place in ("guest", "tracker", "trace", "event", "ledger",
                  *sorted(doors - {"capture/ebpf", "capture/nsys"})):
        for path in (case.source / "src" / place).glob("*.[ch]"):
            if path.name == "find.c":
                continue  # the tool's too; looked at below
            found = re.findall(r"(?<![a-z_])getenv\(", path.read_text())
            assert not found, path


@harness.alone
def test_a_program_inherits_no_descriptor_of_ours(case):
    script = "ls -l /proc/self/fd | sed -n 's/.* -> //p' | grep -v /proc/ | sort"
    bare = case.run("sh", "-c", script).out.splitlines()
    run = case.gputrack("run", "-q", "sh", "-c", script).out.splitlines()
    kinds = [re.sub(r"\[.*", "", line) for line in bare]
    assert [re.sub(r"\[.*", "", line) for line in run] == kinds, (bare, run)
    if os.geteuid() == 0 and "attach" in case.gputrack("--help").out:
        done = case.gputrack("attach", "-q", "-i", "0", "-c", "sh", "-c", script)
        assert [re.sub(r"\[.*", "", line) for line in done.out.splitlines()] == kinds, done.out


def test_a_page_is_served_only_to_this_machine(case):
    from pages import page_of
    from test_html_served import Served
    page_of(case, "leaks.gt")
    with Served(case, "leaks.gt") as served:
        port = int(re.search(r":(\d+)/", served.address).group(1))
        with open("/proc/net/tcp") as table:
            at = [line.split()[1] for line in table
                  if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"]
        assert at == [f"0100007F:{port:04X}"], at


def test_pipes_in_place_of_files_do_not_block(case):
    assert record(case).status == 7
    for name in ("info", "legend", "room", next(case.path("r.gt").glob("*.trace")).name):
        shutil.copytree(case.path("r.gt"), case.path("f.gt"))
        case.path("f.gt", ).joinpath(name).unlink(missing_ok=True)
        os.mkfifo(case.path("f.gt") / name)
        for command in (["report", "f.gt"], ["export", "f.gt"], ["diff", "f.gt", "r.gt"],
                        ["suppress", "f.gt"]):
            done = case.gputrack(*command, timeout=30)
            assert done.status in (0, 1, 23, 24) and len(done.err.splitlines()) <= 1, done.err
        shutil.rmtree(case.path("f.gt"))


def test_names_in_a_public_folder_cannot_be_guessed(case):
    """Temporary files beside an output have random names and are created exclusively."""
    assert record(case).status == 7
    for _ in range(2):
        with tempfile.TemporaryDirectory(dir=case.folder) as folder:
            done = case.run("strace", "-o", "log", "-e", "trace=openat,linkat,rename",
                            case.build / "gputrack", "report", "r.gt", "-o", f"{folder}/out") \
                if shutil.which("strace") else case.skip("strace is not installed")
            assert done.status == 0, done.err
            log = case.path("log").read_text()
            made = [line for line in log.splitlines() if f'"{folder}' in line
                    and ("O_CREAT" in line or "O_TMPFILE" in line)]
            assert all("O_TMPFILE" in line or "O_EXCL" in line for line in made) and made, made


ANNOUNCE = """
import array, os, socket
number = int(os.environ["GPUTRACK_WATCHER"])
for text in (f"unrecorded {number}", f"unrecorded {number & (1 << 22) - 1}", f"unrecorded {number + (1 << 22)}"):
    to = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    to.connect(f"\\0gputrack.watcher.{number & (1 << 22) - 1}")
    to.sendmsg([text.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
"""


def test_only_processes_of_the_run_are_counted_as_unrecorded(case):
    """Anybody can connect to the socket: its name is no secret, the number is."""
    done = case.gputrack("run", "--fail-on-leak", "-o", "u.gt", "python3", "-c", ANNOUNCE)
    assert done.status == 24 and "1 process was NOT RECORDED" in done.err, (done.status, done.err)
    assert case.report("u.gt", "summary")["recording"]["unrecorded"] == 1


def test_a_child_of_another_user_leaves_the_verdict_open(case):
    need_users(case)
    counts = case.path("counts")
    counts.write_bytes(bytes(8200))
    done = case.gputrack("run", "--fail-on-leak", "-o", "c.gt", case.program("odd_opencl"), "other-user-fork",
                         env=case.small_opencl(ODD_COUNTS=str(counts)))
    words = " ".join(done.err.split())
    assert done.status == 25 and "a process was not recorded, so gputrack cannot tell" in words, done.err
