# SPDX-License-Identifier: MIT
"""test_package.py - the Debian package: its contents, and its installation in a fresh Debian (minutes)."""
import os
import shutil
import subprocess

import test_ci_files
import test_live

TOGETHER = True  # the package is made once
FREE = True  # no probe reaches into the fresh Debian
SECONDS = 60
MADE = {}  # by source folder: the package, for all tests of this run


def make(case):
    """Builds the package in a separate folder."""
    for tool in ("dpkg-deb", "dpkg-shlibdeps", "dpkg-architecture"):
        if not shutil.which(tool):
            case.skip(f"{tool} is not installed")
    folder = case.build_folder("deb")
    done = subprocess.run(["sh", str(case.source / "packaging/deb/make.sh"),
                           os.path.relpath(folder, case.source)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace")
    assert done.returncode == 0, done.stderr[-4000:]
    return case.source / done.stdout.strip()


def package(case):
    if case.source not in MADE:
        MADE[case.source] = make(case)
    return MADE[case.source]


def test_the_package_holds_what_meson_installs(case):
    path = package(case)
    fields = case.run("dpkg-deb", "-f", path).out
    for wanted in ("Package: gputrack\n", "libdw1", "Suggests: pocl-opencl-icd"):
        assert wanted in fields, fields
    names = case.run("dpkg-deb", "-c", path).out
    for wanted in ("./usr/bin/gputrack\n", "/gputrack/libgputrack.so\n", "/gputrack.pc\n",
                   "/doc/gputrack/copyright\n", "/completions/gputrack\n"):
        assert wanted in names, (wanted, names)
    owners = {line.split()[1] for line in names.splitlines()}
    assert owners == {"root/root"}, owners
    # nothing where only the administrator or other packages put files
    places = {line.split()[5].split("/")[1] for line in names.splitlines()}
    assert places <= {"", "usr"}, places


def test_the_package_has_the_tools_version(case):
    path = package(case)
    version = case.run("dpkg-deb", "-f", path, "Version").out.strip()
    assert case.gputrack("--version").out.split()[1] == version.split("-")[0], version


def test_apt_takes_the_package_from_a_folder(case):
    """With a state of its own: nothing of this machine's changes."""
    if not shutil.which("apt-get"):
        case.skip("apt is not installed")
    folder = package(case).parent / "apt"
    for name in ("lists/partial", "cache/archives/partial", "parts"):
        case.path(name).mkdir(parents=True)
    case.path("sources.list").write_text(f"deb [trusted=yes] file:{folder} ./\n")
    case.path("status").write_text("")
    where = ["-o", f"Dir::Etc::sourcelist={case.path('sources.list')}",
             "-o", f"Dir::Etc::sourceparts={case.path('parts')}",
             "-o", f"Dir::State::lists={case.path('lists')}", "-o", f"Dir::State::status={case.path('status')}",
             "-o", f"Dir::Cache={case.path('cache')}", "-o", "APT::Sandbox::User=root"]
    done = case.run("apt-get", "update", *where)
    assert done.status == 0 and "W:" not in done.err and "E:" not in done.err, done.out + done.err
    done = case.run("apt-cache", "policy", "gputrack", *where)
    version = case.run("dpkg-deb", "-f", package(case), "Version").out.strip()
    assert f"Candidate: {version}" in done.out, done.out


def test_packing_again_gives_the_same_package(case):
    first = package(case).read_bytes()
    assert make(case).read_bytes() == first


def test_the_package_installs_works_and_uninstalls_in_a_fresh_debian(case):
    path = package(case)
    if os.geteuid():
        case.skip("debootstrap and chroot want root")
    if not shutil.which("debootstrap"):
        case.skip("debootstrap is not installed")
    if case.run("unshare", "--mount", "true").status:
        case.skip("this machine lets nobody mount")
    work = case.build.parent / (case.build.name + "-package")
    work.mkdir(exist_ok=True)
    done = case.run("sh", case.source / "tests/package.sh", path, case.program("leaky"), work,
                    timeout=1200)
    if done.status == 77:
        case.skip(done.out.strip())
    assert done.status == 0 and done.out.endswith("ok leaves nothing behind\n"), done.out + done.err


def test_the_tar_file_works_on_other_distributions(case):
    """Unpacked anywhere; with GPUTRACK_TEST_LONG=1 on every release that debootstrap can get."""
    static = case.build.parent / f"{case.build.name}-static/gputrack"
    tool = case.build.parent / f"{case.build.name}-tar/gputrack"
    if not static.exists():
        case.skip(f"{static} is not there: ./dev static builds it")
    if not tool.exists():
        tool = static  # ./dev package builds it
    archive = case.path("gputrack-1-x86_64.tar.gz")
    done = case.run("sh", case.source / "packaging/tar/make.sh", package(case).parent / "deb/root/usr", tool, static,
                    archive)
    assert done.status == 0, done.err
    case.path("elsewhere").mkdir()
    case.run("tar", "-C", case.path("elsewhere"), "-xf", archive)
    root = case.path("elsewhere/gputrack-1-x86_64")
    done = case.run(root / "bin/gputrack", "run", "-q", "--fail-on-leak", "-o", "a.gt", case.program("leaky"),
                    env=case.pocl())
    assert done.status == 23, done.err
    assert "leaky.c:" in case.run(root / "bin/gputrack", "report", "a.gt").out
    assert (root / "share/gputrack/python/gputrack_pool.py").exists()
    if not os.environ.get("GPUTRACK_TEST_LONG") or os.geteuid() or not shutil.which("debootstrap"):
        return
    work = case.build.parent / (case.build.name + "-package")
    work.mkdir(exist_ok=True)
    examples = case.path("examples")
    examples.mkdir()
    for title in ("pytest", "GoogleTest", "Catch2"):
        test_live.write_examples(case, test_live.section(case, "ci.md", title), examples)
    case.path("app.c").write_text(test_ci_files.PROGRAM)
    done = case.run("sh", case.source / "tests/distributions.sh", archive, case.path("app.c"), work, timeout=3600,
                    env={"EXAMPLES": str(examples), "PACKAGE": str(package(case))})
    assert done.status == 0 and "ok bookworm finds what leaked, and the line" in done.out, done.out + done.err
