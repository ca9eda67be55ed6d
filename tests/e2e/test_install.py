# SPDX-License-Identifier: MIT
"""test_install.py - `meson install` is complete, relocatable, and independent of the build folder."""
import json
import os
import shutil


def install(case):
    """Installs into a folder and returns its root; prefix is the one the build was made for."""
    if not shutil.which("meson"):
        case.skip("meson is not installed")
    root = case.path("root")
    done = case.run("meson", "install", "-C", case.build, "--no-rebuild", "--destdir", root)
    assert done.status == 0, done.out + done.err
    options = json.loads(case.run("meson", "introspect", "--buildoptions", case.build).out)
    values = {option["name"]: option["value"] for option in options}
    return root / values["prefix"].lstrip("/"), values


def elf_files(root):
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path) and open(path, "rb").read(4) == b"\x7fELF":
                yield path


def tracks(case, tool):
    """An installed gputrack runs a program, finds its doors, and reports with file and line."""
    done = case.run(tool, "run", "-o", case.path("a.gt"), case.program("leaky"), env=case.pocl())
    assert done.status == 0 and "LEAKED" in done.err and "leaky.c:" in done.err, done.err
    shutil.rmtree(case.path("a.gt"))


def test_everything_is_installed(case):
    root, values = install(case)
    share, library = root / values["datadir"], root / values["libdir"]
    wanted = [root / values["bindir"] / "gputrack", library / "gputrack/libgputrack.so",
              library / "pkgconfig/gputrack.pc", library / "cmake/gputrack/gputrack-config.cmake",
              library / "cmake/gputrack/gputrack-config-version.cmake", share / "doc/gputrack/LICENSE",
              share / "doc/gputrack/README.md", share / "doc/gputrack/doc/FORMAT.md",
              share / "bash-completion/completions/gputrack",
              share / "zsh/site-functions/_gputrack",
              share / "fish/vendor_completions.d/gputrack.fish",
              share / "gputrack/held-by-libraries.supp",
              *(root / values["includedir"] / "gputrack" / name
                for name in ("pool.h", "live.h", "live.hpp", "gtest.h", "catch2.h"))]
    modules = list(root.glob("lib*/python3*/*-packages/gputrack_pool.py"))
    assert len(modules) == 1, modules
    wanted += [modules[0].parent / "gputrack.py", modules[0].parent / "gputrack_pytest.py"]
    assert list(modules[0].parent.glob("gputrack-*.dist-info/entry_points.txt")), os.listdir(modules[0].parent)
    for door in ("libgputrack_opencl.so", "levelzero/libze_validation_layer.so.1"):
        if (case.build / door).exists():
            wanted.append(library / "gputrack" / door)
    if (case.build / "levelzero").exists():
        wanted.append(share / "gputrack/levelzero.conf")
        assert wanted[-1].read_text().splitlines()[-1].endswith("/gputrack/levelzero")
    if (case.build / "libgputrack_live.so").exists():
        wanted += [library / "libgputrack_live.so.1", library / "libgputrack_live.so",
                   root / values["includedir"] / "gputrack/live_objects.h"]
    if shutil.which("scdoc"):
        wanted += [root / values["mandir"] / "man1/gputrack.1",
                   root / values["mandir"] / "man1/gputrack-run.1",
                   root / values["mandir"] / "man5/gputrack-recording.5"]
    missing = [str(path) for path in wanted if not path.exists()]
    assert not missing, missing
    # what only tests and developers need stays at home
    names = {name for _, _, names in os.walk(root) for name in names}
    assert not names & {"leaky", "libze_fake.so", "core.a", "tool.a", "tables.json", "test_guest"}, names


CMAKE = """cmake_minimum_required(VERSION 3.19)
project(app NONE)
find_package(gputrack REQUIRED)
enable_testing()
gputrack_add_test(NAME app COMMAND "{program}")
"""


def finds_by_cmake(case, prefix):
    """A project that is told only where the installation is."""
    if not shutil.which("cmake"):
        return
    case.path("app").mkdir()
    case.path("app/CMakeLists.txt").write_text(CMAKE.format(program=case.program("leaky")))
    done = case.run("cmake", "-S", "app", "-B", "app/build", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert done.status == 0, done.out + done.err
    done = case.run("ctest", "--test-dir", "app/build", "--output-on-failure", env=case.pocl())
    assert done.status == 8 and "leaky.c:91" in done.out, done.out + done.err


def test_an_installation_works_in_place_and_after_a_move(case):
    root, values = install(case)
    tracks(case, root / values["bindir"] / "gputrack")
    moved = case.path("else where")
    root.rename(moved)
    tool = moved / values["bindir"] / "gputrack"
    tracks(case, tool)
    # and through a link, as in a folder on PATH
    case.path("link").symlink_to(tool)
    tracks(case, case.path("link"))
    found = json.loads(case.run(tool, "doctor", "--json", env=case.pocl()).out)
    layer = [f["text"] for s in found["sections"] for f in s["findings"]
             if s["section"] == "OpenCL" and f["what"] == "layer"]
    assert layer == [str(moved / values["libdir"] / "gputrack/libgputrack_opencl.so")], layer
    # the build folder's own still uses its own
    tracks(case, case.build / "gputrack")
    finds_by_cmake(case, moved)


def test_installed_files_do_not_refer_to_the_build_folder(case):
    root, _ = install(case)
    seen = 0
    for path in elf_files(root):
        seen += 1
        dynamic = case.run("readelf", "-W", "-d", path).out
        for line in dynamic.splitlines():
            if "RPATH" in line or "RUNPATH" in line:
                value = line[line.index("[") + 1:line.rindex("]")]
                assert all(part.startswith("$ORIGIN") for part in value.split(":")), (path, line)
            assert str(case.build) not in line, (path, line)
        # the door libraries bring libc into a program, and nothing else
        if "/gputrack/lib" in path or "/levelzero/" in path:
            needed = [line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "NEEDED" in line]
            strange = [n for n in needed if not n.startswith(("libc.so", "libgputrack", "ld-"))]
            assert not strange, (path, strange)
    assert seen >= 2, seen


def test_pkg_config_serves_programs(case):
    root, values = install(case)
    if not shutil.which("pkg-config"):
        case.skip("pkg-config is not installed")
    env = {"PKG_CONFIG_PATH": str(root / values["libdir"] / "pkgconfig")}

    def ask(*words):
        done = case.run("pkg-config", f"--define-variable=prefix={root}", *words, "gputrack", env=env)
        assert done.status == 0, done.err
        return done.out.strip()

    assert ask("--variable=doors") == str(root / values["libdir"] / "gputrack")
    assert ask("--modversion") == case.gputrack("--version").out.split()[1]
    if not (case.build / "libgputrack_live.so").exists():
        return
    flags = ask("--cflags", "--libs").split()
    program = case.path("live")
    built = case.run("cc", "-o", program, case.source / "samples" / "live_objects.c", *flags)
    assert built.status == 0, built.err
    layer = root / values["libdir"] / "gputrack" / "libgputrack_opencl.so"
    env = case.pocl(LD_LIBRARY_PATH=str(root / values["libdir"]), OPENCL_LAYERS=str(layer))
    assert case.run(program, env=env).status == 0
