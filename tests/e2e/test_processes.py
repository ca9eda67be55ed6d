# SPDX-License-Identifier: MIT
"""test_processes.py - several processes in one recording: scripts, MPI ranks, Python workers."""
import os
import pathlib
import re
import select
import shutil
import signal
import sys

# A Python program that makes OpenCL objects through ctypes alone.
SCRIPT = r"""
import ctypes, multiprocessing, os, sys

def leak(count):
    cl = ctypes.CDLL("libOpenCL.so.1")
    platform, device = ctypes.c_void_p(), ctypes.c_void_p()
    assert cl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
    assert cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xffffffff), 1, ctypes.byref(device),
                             None) == 0
    cl.clCreateContext.restype = cl.clCreateBuffer.restype = ctypes.c_void_p
    context = cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None)
    for i in range(count):
        assert cl.clCreateBuffer(ctypes.c_void_p(context), ctypes.c_uint64(1),
                                 ctypes.c_size_t(4096), None, None)
    assert cl.clReleaseContext(ctypes.c_void_p(context)) == 0

if __name__ == "__main__":
    how = multiprocessing.get_context(sys.argv[1])
    workers = [how.Process(target=leak, args=(i + 1,)) for i in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.exit(any(worker.exitcode for worker in workers))
"""

# Two workers hold memory at the same time, and end as they are told, without exit handlers.
WORKERS = SCRIPT.split("if __name__")[0].replace(
    "    assert cl.clReleaseContext(ctypes.c_void_p(context)) == 0\n", "") + r"""
ready, go = os.pipe(), os.pipe()
for i in range(2):
    if os.fork() == 0:
        leak(1)
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        if sys.argv[1] == "kill":
            os.kill(os.getpid(), 9)
        if sys.argv[1] == "exec":
            os.execlp("true", "true")
        os._exit(0)
for i in range(2):
    os.read(ready[0], 1)
os.write(go[1], b"xx")
for i in range(2):
    os.wait()
"""


def by_process(case, recording):
    return case.report(recording, "processes")["groups"]


def test_a_script_of_ten_programs_is_one_recording(case):
    """Ten programs of different names, program N leaking N events."""
    lines = []
    for i in range(10):
        lines.append(f"cp {case.program('killed')} ./prog{i}.bin")
        lines.append(f"./prog{i}.bin --how return --calls {i + 1} --log log{i}")
    case.path("all.sh").write_text("set -e\n" + "\n".join(lines) + "\n")
    done = case.gputrack("run", "-o", "ten.gt", "sh", "all.sh", env=case.pocl())
    assert done.status == 0, done.err
    groups = by_process(case, "ten.gt")
    assert sorted(group["name"] for group in groups) == [f"prog{i}.bin" for i in range(10)]
    assert len({group["pid"] for group in groups}) == 10
    leaked = {group["name"]: group["count"] for group in groups}
    assert len(set(leaked.values())) == 10 and leaked["prog9.bin"] - leaked["prog0.bin"] == 9
    assert re.search(r"10 processes: prog0.bin [0-9]+, prog1.bin [0-9]+, ", done.err), done.err
    assert case.report("ten.gt", "leakage")["totals"]["count"] == sum(leaked.values())
    text = case.gputrack("report", "ten.gt", "-a", "processes").out
    assert all(f"prog{i}.bin\n" in text for i in range(10)), text


def test_ranks_are_recognized_by_the_usual_variables(case):
    variables = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
                 "PALS_RANKID", "JSM_NAMESPACE_RANK", "FLUX_TASK_RANK", "ALPS_APP_PE"]
    program = f"{case.program('killed')} --how return --calls 2 --log log"
    script = [f"{name}={i} {program}" for i, name in enumerate(variables)]
    script.append(f"SLURM_STEP_ID=0 SLURM_PROCID=8 {program}")
    script.append(f"WORLD_SIZE=16 RANK=9 {program}")
    # what is no rank: a job's own process, a common word alone, what is no number
    script += [f"SLURM_PROCID=3 {program}", f"RANK=3 {program}", f"PMI_RANK=x {program}",
               f"PMI_RANK=12345678901 {program}"]
    done = case.gputrack("run", "-o", "ranks.gt", "sh", "-c", "\n".join(script), env=case.pocl())
    assert done.status == 0, done.err
    ranks = [group["rank"] for group in by_process(case, "ranks.gt")]
    assert ranks == [str(i) for i in range(10)] + [None] * 4, ranks
    assert "14 processes of killed: pids " in done.err and "(rank 0)" in done.err, done.err
    text = case.gputrack("report", "ranks.gt", "-a", "leakage").out
    assert "in 14 processes" in text, text
    one = case.report("ranks.gt", "processes")["groups"][5]["pid"]
    text = case.gputrack("report", "ranks.gt", "--pid", str(one)).out
    assert f"pid {one} (rank 5)" in text, text


def python_workers(case, how):
    case.path("train.py").write_text(SCRIPT)
    done = case.gputrack("run", "-o", f"{how}.gt", sys.executable, "train.py", how,
                         env=case.pocl())
    assert done.status == 0, done.err
    groups = [group for group in by_process(case, f"{how}.gt") if group["count"]]
    assert [group["count"] for group in sorted(groups, key=lambda g: g["count"])] == [1, 2, 3]
    assert len({group["pid"] for group in groups}) == 3
    assert case.report(f"{how}.gt", "leakage")["totals"] == {"count": 6, "bytes": 6 * 4096}
    return {group["name"] for group in groups}


def test_forked_python_workers_are_distinguished(case):
    names = python_workers(case, "fork")
    assert len(names) == 1 and re.fullmatch(r"python[0-9.]* train\.py", names.pop()), names


def test_spawned_python_workers_are_named(case):
    names = python_workers(case, "spawn")
    assert len(names) == 1
    assert re.fullmatch(r"python[0-9.]* \(multiprocessing\)", names.pop())


# Jobs: gputrack around the launcher, and the launcher around gputrack.

MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def launchers(case):
    names = [name for name in ("mpirun.openmpi", "mpirun.mpich") if shutil.which(name)]
    return names or case.skip("no MPI is installed")


def check_ranks(case, recording):
    """Three ranks of leaky, each with its 21 leaks; the launcher may have touched OpenCL as well."""
    groups = {group["rank"]: group for group in by_process(case, recording) if group["rank"]}
    assert sorted(groups) == ["0", "1", "2"], groups
    assert all((g["name"], g["count"], g["bytes"]) == ("leaky", 21, 1 << 20)
               for g in groups.values()), groups
    assert case.report(recording, "leakage")["totals"] == {"count": 63, "bytes": 3 << 20}


def test_running_a_launcher_makes_one_recording_of_all_ranks(case):
    for mpirun in launchers(case):
        done = case.gputrack("run", "-o", f"{mpirun}.gt", mpirun, "-n", "3", case.program("leaky"),
                             env=case.pocl(**MPI))
        assert done.status == 0 and done.out.count("every sum is 15.0") == 3, done.err
        # any of them may have begun first: two are named
        assert "LEAKED  63 resources" in done.err and re.search(r"\(rank [012]\)", done.err), done.err
        check_ranks(case, f"{mpirun}.gt")


def test_ranks_share_a_recording_and_the_last_one_reports(case):
    for mpirun in launchers(case):
        check_shared_recording(case, mpirun)


def check_shared_recording(case, mpirun):
    def run(*options):
        return case.run(mpirun, "-n", "3", case.build / "gputrack", "run", *options,
                        case.program("leaky"), env=case.pocl(**MPI))

    for _ in range(2):
        done = run("-o", f"{mpirun}.gt")
        assert done.status == 0 and done.out.count("every sum is 15.0") == 3, done.err
        assert done.err.count("LEAKED") == 1 and "LEAKED  63 resources" in done.err, done.err
        assert "was not recorded" not in done.err
        check_ranks(case, f"{mpirun}.gt")
    # another job is another recording, and the one before is kept whole
    check_ranks(case, f"{mpirun}.gt.old")
    # without a name they find one that is the same for all
    before = set(case.folder.glob("leaky.*.gt"))
    done = run("-q")
    assert done.status == 0 and done.err == "", done.err
    (named,) = set(case.folder.glob("leaky.*.gt")) - before
    check_ranks(case, named.name)
    done = run("-q", "--fail-on-leak", "-o", f"judged.{mpirun}.gt")
    assert done.status == 23, (done.status, done.err)


def ranks(case, count, recording, *options, first=0, program=None):
    """`count` simultaneous runs as ranks of one job, launched by this process."""
    started = [case.start(case.build / "gputrack", "run", "-o", recording, *options,
                          *(program or [case.program("killed"), "--how", "return", "--calls", "3",
                                        "--log", f"log{rank}"]),
                          env=case.pocl(PMI_RANK=str(rank)))
               for rank in range(first, first + count)]
    return [(run.communicate()[1].decode(), run.returncode) for run in started]


def test_many_ranks_at_once_lose_nothing(case):
    told = ranks(case, 12, "many.gt")
    assert all(status == 0 for _, status in told), told
    assert any("12 processes of killed" in err for err, _ in told), told
    groups = by_process(case, "many.gt")
    assert sorted(int(group["rank"]) for group in groups) == list(range(12))
    assert len({group["count"] for group in groups}) == 1
    info = dict(line.split(": ", 1) for line in case.path("many.gt/info").read_text().splitlines())
    assert sorted(map(int, info["ranks"].split(","))) == list(range(12)), info
    assert info["ranks_running"] == "0" and info["exit_status"] == "0", info
    # a rank that comes late joins; one that comes again is a new recording
    ranks(case, 1, "many.gt", first=12)
    assert len(by_process(case, "many.gt")) == 13
    ranks(case, 1, "many.gt")
    assert len(by_process(case, "many.gt")) == 1 and len(by_process(case, "many.gt.old")) == 13


def test_a_failing_rank_fails_the_job(case):
    ranks(case, 1, "job.gt")
    told = ranks(case, 1, "job.gt", first=1, program=["sh", "-c", "exit 5"])
    assert told[0][1] == 5
    ranks(case, 1, "job.gt", first=2)
    assert case.report("job.gt", "summary")["recording"]["exit_status"] == 5
    # one that cannot be started takes nothing of the others' away
    told = ranks(case, 1, "job.gt", first=3, program=["./nothing-here"])
    assert told[0][1] == 1 and "cannot run" in told[0][0], told
    assert len(by_process(case, "job.gt")) == 2
    told = ranks(case, 2, "none.gt", program=["./nothing-here"])
    assert not case.path("none.gt").exists(), told


def test_ranks_on_several_hosts_are_warned_about_their_clocks(case):
    unshare = shutil.which("unshare")
    if os.geteuid() or not unshare:
        case.skip("only root can give a process another host name")
    app = [case.build / "gputrack", "run", "-q", "-o", "job.gt", case.program("killed"), "--how",
           "return", "--calls", "3", "--log", "log"]
    env = case.pocl(PMIX_NAMESPACE="job7", PMIX_RANK="0")
    done = case.run(*app, env=env)
    assert done.status == 0 and done.err == "", done.err
    assert "clock" not in case.gputrack("report", "job.gt").out
    done = case.run(unshare, "-u", "sh", "-c", 'hostname elsewhere && exec "$@"', "sh", *app,
                    env=dict(env, PMIX_RANK="1"))
    if "unshare" in done.err:
        case.skip(done.err.strip())
    assert done.status == 0 and "rank 1 on elsewhere joins" in done.err, done.err
    assert len(done.err.splitlines()) == 1 and "clock" in done.err, done.err
    assert len(by_process(case, "job.gt")) == 2
    text = " ".join(case.gputrack("report", "job.gt").out.split())
    assert "processes ran on several hosts" in text, text


def waiting(case, rank, recording):
    """A rank that has made its calls and then waits; its run."""
    run = case.start(case.build / "gputrack", "run", "-o", recording, "sh", "-c",
                     f"{case.program('killed')} --how return --calls 3 --log log && exec cat",
                     env=case.pocl(PMI_RANK=str(rank)))
    run.stdout.readline()
    return run


def test_killing_gputrack_of_one_rank_does_not_block_the_report(case):
    other, last = waiting(case, 1, "job.gt"), waiting(case, 0, "job.gt")
    os.kill(other.pid, signal.SIGKILL)
    assert other.wait() == -signal.SIGKILL
    told = last.communicate()[1].decode()
    other.communicate()
    assert last.returncode == 0 and "LEAKED  8 resources" in told, told
    assert "rank 1 was killed together with gputrack" in " ".join(told.split()), told
    info = case.path("job.gt/info").read_text()
    assert "ranks_killed: 1\n" in info and "ranks_running: 0\n" in info, info


def test_terminated_ranks_wait_for_the_report(case):
    """Launchers terminate all ranks when one was killed, and kill the rest when another has ended."""
    *rest, first = [waiting(case, rank, "job.gt") for rank in range(4)]
    program = pathlib.Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split()[0]
    os.kill(int(program), signal.SIGKILL)
    err = first.communicate()[1].decode()
    assert (first.returncode, err) == (-signal.SIGKILL, ""), err
    ends = [os.pidfd_open(run.pid) for run in rest]
    for run in rest:
        os.killpg(run.pid, signal.SIGTERM)
    select.select(ends, [], [])
    for run in rest:
        os.killpg(run.pid, signal.SIGKILL)
    told = "".join(run.communicate()[1].decode() for run in rest)
    for end in ends:
        os.close(end)
    assert told.count("LEAKED  16 resources") == 1 and "recorded in job.gt" in told, told
    assert "killed by signal 9 (SIGKILL)" in told, told


def test_a_job_ended_by_mpirun_has_its_report(case):
    """mpirun does so when one of gputrack's own processes was killed."""
    if "mpirun.openmpi" not in launchers(case):
        case.skip("Open MPI, which lets ranks end by themselves, is not installed")
    env = case.pocl(**MPI, OMPI_MCA_odls_base_sigkill_timeout="5")
    program = f"{case.program('killed')} --how return --calls 3 --log log$OMPI_COMM_WORLD_RANK"
    case.path("rank.sh").write_text(
        f"{program}\ntouch done$OMPI_COMM_WORLD_RANK\n"
        "[ $OMPI_COMM_WORLD_RANK = 1 ] || exec sleep 600\n"
        "until [ -e done0 ] && [ -e done2 ]; do sleep 0.05; done\n"
        "kill -9 $PPID\nexec sleep 600\n")
    done = case.run("mpirun.openmpi", "-n", "3", case.build / "gputrack", "run", "-o", "job.gt",
                    "sh", "rank.sh", env=env)
    assert done.err.count("LEAKED  12 resources") == 1 and done.err.count("LEAKED") == 1, done.err
    assert "rank 1 was killed together with gputrack" in " ".join(done.err.split()), done.err


def test_a_recording_of_another_user_is_not_joined(case):
    if os.geteuid():
        case.skip("only root can give files away")
    ranks(case, 1, "theirs.gt")
    for path in [case.path("theirs.gt"), *case.path("theirs.gt").iterdir()]:
        os.chown(path, 12345, 12345)
    ranks(case, 1, "theirs.gt", first=1)
    assert [group["rank"] for group in by_process(case, "theirs.gt")] == ["1"]
    assert [group["rank"] for group in by_process(case, "theirs.gt.old")] == ["0"]


GO_ON = "Processes that it left in the background are still being recorded: run `gputrack report` when they have ended."


def test_a_program_that_has_ended_is_not_said_to_go_on(case):
    """Nothing is said of processes in the background where there are none, not even if another recording has some."""
    os.mkfifo(case.path("begin"))
    other = case.gputrack("run", "-o", "other.gt", "sh", "-c", "(read line <begin) >/dev/null 2>&1 </dev/null &")
    done = case.gputrack("run", "-o", "r.gt", "true")
    again = case.gputrack("report", "r.gt")
    for text in (done.err, again.out):
        assert "NOTHING WAS TRACKED" in text and "background" not in text, text
    assert GO_ON in " ".join(other.err.split()), other.err
    case.path("begin").write_text("now\n")


def test_background_processes_are_still_recorded(case):
    for name in ("begin", "end"):
        os.mkfifo(case.path(name))
    done = case.gputrack("run", "-o", "r.gt", "sh", "-c",
                         f'(read line <begin; "{case.program("leaky")}"; echo >end) '
                         '>/dev/null 2>&1 </dev/null &', env=case.pocl())
    assert done.status == 0 and "NOTHING WAS TRACKED" in done.err, done.err
    assert GO_ON in " ".join(done.err.split()), done.err
    assert GO_ON in " ".join(case.gputrack("report", "r.gt").out.split())
    case.path("begin").write_text("now\n")
    case.path("end").read_text()
    assert case.report("r.gt", "leakage")["totals"]["count"] == 21


def test_processes_without_a_recorded_end_are_alive_until_they_exit(case):
    case.path("workers.py").write_text(WORKERS)
    for how in ("exit", "kill", "exec"):
        done = case.gputrack("run", "--max-peak", "5000", "-o", f"{how}.gt", sys.executable,
                             "workers.py", how, env=case.pocl())
        assert done.status == 23 and "PEAK  8.00 KiB" in done.err, (how, done.err)
        assert "was not recorded" not in done.err, done.err
        for process in case.report(f"{how}.gt", "summary")["recording"]["processes"]:
            assert process["state"] == "unended" and process["end_ns"] > process["start_ns"]
    # what nobody has seen is not known
    case.path("exit.gt/ends").unlink()
    text = case.gputrack("report", "exit.gt").out
    assert "PEAK  4.00 KiB" in text and "PERHAPS LEAKED" in text, text
    assert re.search(r"the end of pid \d+ .* was not recorded", text), text
