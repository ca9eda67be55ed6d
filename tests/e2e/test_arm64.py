# SPDX-License-Identifier: MIT
"""test_arm64.py - what was built for arm64, run by qemu: a few tests, and recordings that cross over.

Skipped where nothing was built for it: `./dev build --arch arm64` does that, which takes minutes. The other tests run
by `./dev test --arch arm64`.
"""
import platform
import shlex
import shutil
import subprocess

FREE = True  # no probe reaches into qemu


class Arm64:
    """The build for arm64, and the Debian that it runs in."""

    def __init__(self, case):
        if platform.machine() == "aarch64":
            case.skip("this machine is one")
        self.case, self.cross = case, case.source / "packaging/cross"
        made = case.run("sh", self.cross / "root.sh", "--if-made", "arm64")
        if made.status == 77:
            case.skip(made.err.strip())
        assert made.status == 0, made.err
        self.root = made.out.strip()
        self.build = case.build.parent / f"{case.build.name}-arm64"
        if not (self.build / "build.ninja").exists():
            case.skip("nothing is built for arm64; `./dev build --arch arm64` does")
        plan = case.run("ninja", "-n", "-C", self.build)
        if "no work to do" not in plan.out:
            case.skip("the build for arm64 is older than the sources; `./dev build --arch arm64` makes it anew")

    def run(self, script):
        done = self.case.run("sh", self.cross / "inside.sh", self.root, "sh", "-c",
                             f"cd {shlex.quote(str(self.case.folder))}\n{script}")
        if done.status == 77:
            self.case.skip(done.err.strip())
        return done


def test_tests_of_what_differs_pass(case):
    arm64 = Arm64(case)
    names = ["own_stack", "own_stack_signed", "probe_rows", "ranges", "heap", "stacks", "bytes"]
    programs = [arm64.build / f"tests/unit/test_{name}" for name in names]
    done = arm64.run("\n".join(f"if test -x {program}; then {program} || exit 1; fi" for program in programs))
    assert done.status == 0, (done.out + done.err)[-4000:]
    assert done.out.count("Running") + done.err.count("Running") >= 5, done.out


def reports(analyses, recording):
    """A script that prints the recording in each of these ways."""
    return "\n".join(f"gputrack report {recording} -a {analysis} --format {form} || exit 1"
                     for analysis in analyses for form in ("text", "json"))


def test_recordings_cross_over(case):
    """Made on one processor, read on the other: the same bytes, with files and lines."""
    arm64 = Arm64(case)
    analyses = ("summary", "leakage")
    driver = arm64.build / "tests/fake/opencl/cl_fake.icd"
    program = arm64.build / "tests/e2e/programs/forks"
    here = case.gputrack("run", "-q", "-o", "here.gt", case.program("forks"), "--late", "--exec", env=case.small_opencl())
    assert here.status == 0, here.err
    there = arm64.run(f"PATH={arm64.build}:$PATH\n"
                      f"OCL_ICD_VENDORS={driver} gputrack run -q -o there.gt {program} --late --exec >&2 || exit 1\n"
                      + reports(analyses, "there.gt") + "\n" + reports(analyses, "here.gt"))
    assert there.status == 0, there.err
    assert "forks.c" in there.out, there.out[:2000]
    again = case.run("sh", "-c", reports(analyses, "there.gt") + "\n" + reports(analyses, "here.gt"))
    assert again.status == 0, again.err
    assert again.out == there.out, difference(case, again.out, there.out)


def difference(case, one, other):
    case.path("one").write_text(one)
    case.path("other").write_text(other)
    return case.run("diff", "-u", "one", "other").out[:4000]


def test_entries_can_be_jumped_to_and_read_their_slots_in_order(case):
    """Of the preloaded library: a landing pad (BTI), and a load that acquires."""
    arm64 = Arm64(case)
    if not shutil.which("aarch64-linux-gnu-objdump"):
        case.skip("binutils for arm64 are not installed")
    library = arm64.build / "libgputrack_preload.so"
    text = subprocess.run(["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", str(library)],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    entries = [part for part in text.split("\n\n") if "<cuMemAlloc_v2@" in part or "<gt_entry_" in part[:200]]
    assert entries, text[:2000]
    for entry in entries:
        code = [line.split("\t", 1)[1].split()[0] for line in entry.splitlines()[1:] if "\t" in line]
        assert code[0] in ("bti", "hint") and "ldar" in code[:4], entry[:500]
