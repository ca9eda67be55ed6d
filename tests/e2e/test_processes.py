"""test_processes.py - several processes in one recording: scripts, MPI ranks, Python's workers."""
import os
import re
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


def by_process(case, recording):
    return case.report(recording, "processes")["groups"]


def test_a_script_of_ten_programs_is_one_recording(case):
    """Ten programs of different names, each leaking as many events as its number."""
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


def test_ranks_are_told_by_the_usual_variables(case):
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


def test_pythons_forked_workers_are_told_apart(case):
    names = python_workers(case, "fork")
    assert len(names) == 1 and re.fullmatch(r"python[0-9.]* train\.py", names.pop()), names


def test_pythons_spawned_workers_are_named(case):
    names = python_workers(case, "spawn")
    assert len(names) == 1
    assert re.fullmatch(r"python[0-9.]* \(multiprocessing\)", names.pop())
