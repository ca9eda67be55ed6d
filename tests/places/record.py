#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""record.py - records the stacks of tests/places/stacks with real compilers, libraries and drivers.

usage: tests/places/record.py BUILD_DIR [--packages DIR] [NAME...]

Builds and runs each program of tests/places/programs in a folder that the stacks then call
/home/user/project, and writes every frame that the symbolizer found to stacks/NAME.json. The headlines
in these files are written by hand and kept: a stack recorded again has that of its predecessor.
The test itself needs none of this. --packages: a folder into which Debian packages were extracted
(python3-torch and what it needs), for machines where they are not installed.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"


class Program:
    """How to build and run one: `build` and `run` are shell lines in the project's folder."""

    def __init__(self, about, sources, build, run, kinds=("buffer",), folder=""):
        self.about, self.sources, self.build, self.run = about, sources, build, run
        self.kinds, self.folder = kinds, folder


def inline(flags):
    return Program(f"C with a macro and inline functions in a header, {flags}", ["gpu.h", "c_inline"],
                   f"cc -g {flags} -Ic_inline/include -o app c_inline/src/*.c -lOpenCL", "./app")


def callbacks(flags):
    return Program(f"C++: a virtual method, std::function, lambdas, threads, make_shared, {flags}",
                   ["gpu.h", "callbacks.cpp"],
                   f"c++ -std=c++17 -g {flags} -o app callbacks.cpp -lOpenCL -pthread", "./app")


def templates(flags):
    return Program(f"two lines of C++ in 20 instances of a template, {flags}", ["gpu.h", "templates.cpp"],
                   f"c++ -std=c++17 -g {flags} -DINSTANCES=20 -o app templates.cpp -lOpenCL", "./app")


def callers(about, build, run="./app", **more):
    return Program(f"one function with three callers: {about}", ["gpu.h", "three_callers.c"], build, run,
                   **more)


SUITE = ["gpu.h", "suite"]
PROGRAMS = {
    "c_inline_O0": inline("-O0"),
    "c_inline_O2": inline("-O2"),
    "c_inline_O3": inline("-O3"),
    "c_inline_lto": inline("-O2 -flto"),
    "callbacks_O0": callbacks("-O0"),
    "callbacks_O2": callbacks("-O2"),
    "templates_O0": templates("-O0"),
    "templates_O2": templates("-O2"),
    "callers_lines": callers("with lines", "cc -g -O2 -o app three_callers.c -lOpenCL"),
    "callers_names": callers("names only", "cc -O2 -o app three_callers.c -lOpenCL"),
    "callers_stripped": callers("stripped", "cc -O2 -s -o app three_callers.c -lOpenCL"),
    "callers_prefix_map": callers(
        "-ffile-prefix-map to another folder",
        "cc -g -O2 -ffile-prefix-map=$PWD=/usr/src/app-1.0 -o app $PWD/three_callers.c -lOpenCL"),
    "callers_prefix_dot": callers(
        "-ffile-prefix-map to nothing, as reproducible builds do",
        "cc -g -O2 -ffile-prefix-map=$PWD=. -o app $PWD/three_callers.c -lOpenCL"),
    "callers_relative": callers(
        "built in a folder beside the source",
        "mkdir build && cd build && cc -g -O2 -o ../app ../three_callers.c -lOpenCL"),
    "callers_installed": callers(
        "a stripped program from /usr/bin, run elsewhere",
        "mkdir -p $BASE/usr/bin && cc -O2 -s -o $BASE/usr/bin/cracker three_callers.c -lOpenCL",
        run="$BASE/usr/bin/cracker"),
    "callers_elsewhere": callers(
        "a program of the project, run in another folder", "cc -g -O2 -o app three_callers.c -lOpenCL",
        run="../project/app", folder="../data"),
    "callers_split": callers(
        "split DWARF", "cc -g -gsplit-dwarf -O2 -c three_callers.c && cc -o app three_callers.o -lOpenCL"),
    "suite_shared": Program(
        "three tests and a helper library beside them", SUITE,
        "cc -g -O0 -fPIC -shared -o libhelper.so suite/helper.c -lOpenCL && "
        "cc -g -O0 -o app suite/tests.c ./libhelper.so -Wl,-rpath,$PWD", "./app"),
    "suite_static": Program(
        "three tests and a helper library linked into them", SUITE,
        "cc -g -O0 -c suite/helper.c && ar rc libhelper.a helper.o && "
        "cc -g -O0 -o app suite/tests.c libhelper.a -lOpenCL", "./app"),
    "suite_installed": Program(
        "three tests and a helper library that another project installed", SUITE,
        "mkdir -p $BASE/opt/vendor/src $BASE/opt/vendor/lib && cp -r gpu.h suite $BASE/opt/vendor/src && "
        "cc -g -O0 -fPIC -shared -o $BASE/opt/vendor/lib/libhelper.so $BASE/opt/vendor/src/suite/helper.c "
        "-lOpenCL && cc -g -O0 -o app suite/tests.c $BASE/opt/vendor/lib/libhelper.so "
        "-Wl,-rpath,$BASE/opt/vendor/lib", "./app"),
    "fortran": Program(
        "a Fortran module and a contained procedure, by iso_c_binding", ["gpu.h", "fortran"],
        "cc -g -c fortran/cl.c && gfortran -g -O0 -o app fortran/solver.f90 cl.o -lOpenCL", "./app"),
    "dlang": Program(
        "D: a method of a template, a delegate", ["gpu.h", "fortran", "dlang"],
        "cc -g -c fortran/cl.c && gdc -g -O0 -c dlang/pool.d -o pool.o && gdc -o app pool.o cl.o -lOpenCL",
        "./app"),
    "go_cgo": Program("Go through cgo: a method, a function, a closure", ["gpu.h", "go_cgo"],
                      "cd go_cgo && CGO_CFLAGS=-g go build -o ../app", "./app"),
    "rust_debug": Program("Rust: a function, a generic method, a closure, a trait, a thread; debug build",
                          ["rust"], "cd rust && cargo build -q && cp target/debug/places ../app", "./app"),
    "rust_release": Program("the same as a release build with lines", ["rust"],
                            "cd rust && CARGO_PROFILE_RELEASE_DEBUG=true cargo build -q --release && "
                            "cp target/release/places ../app", "./app"),
    "js_node": Program(
        "JavaScript in node: a module in C that two functions call", ["js_node"],
        "cd js_node && cc -g -O1 -shared -fPIC -o addon.node addon.c -lOpenCL",
        "node --perf-basic-prof --interpreted-frames-native-stack main.js", folder="js_node"),
    "py_arrays": Program("pyopencl arrays kept by a method, a decorated function, a generator …",
                         ["py_arrays"], "true", f"{PYTHON} loop.py", folder="py_arrays"),
    "py_ctypes": Program("numpy arrays and ctypes: a library of the project, and OpenCL itself",
                         ["gpu.h", "py_ctypes"],
                         "cd py_ctypes && cc -g -O0 -fPIC -shared -o libupload.so upload.c -lOpenCL",
                         f"{PYTHON} run.py", folder="py_ctypes"),
    "py_torch": Program("PyTorch (Debian's) on the CPU: a module, a gradient, a hook, a loader",
                        ["py_torch"], "true", f"{PYTHON} train.py", folder="py_torch"),
    "py_opencv": Program("OpenCV's UMat", ["py_opencv"], "true", 
                         f"OPENCV_OPENCL_DEVICE=:CPU: OPENCV_OPENCL_CACHE_ENABLE=0 {PYTHON} frames.py",
                         folder="py_opencv"),
    "py_unittest": Program("two tests of unittest that share a helper", ["py_unittest"], "true",
                           f"{PYTHON} -m unittest -q", folder="py_unittest"),
    "py_venv": Program(
        "a package in a virtual environment below the project", ["py_venv"],
        "mkdir -p py_venv/venv/lib/python3.11/site-packages && "
        "mv py_venv/kernels py_venv/venv/lib/python3.11/site-packages",
        f"PYTHONPATH=venv/lib/python3.11/site-packages {PYTHON} solve.py", folder="py_venv"),
}


# The same stacks, read with other options.
VARIANTS = {"suite_library": "suite_shared", "suite_own": "suite_installed", "py_venv_own": "py_venv",
            "callers_root": "callers_elsewhere"}


def shell(line, folder, environment):
    done = subprocess.run(["sh", "-ec", line], cwd=folder, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode:
        sys.exit(f"{line}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def shown(path, hidden):
    """A path without the folders of this machine."""
    for folder in hidden:
        path = path.replace(folder, "") if path else path
    return path


def stacks_of(report, kinds, hidden):
    groups = [group for group in report["groups"] if group["kind"] in kinds]
    for group in sorted(groups, key=lambda group: group["first_ns"]):
        yield {"headline": None, "api": group["api"], "kind": group["kind"],
               "bytes": group["total_bytes"] // max(group["created"], 1),
               "frames": [[shown(frame["function"], hidden), shown(frame["file"], hidden), frame["line"],
                           shown(frame["module"], hidden), frame["offset"], frame["inlined"]]
                          for frame in group["stack"]]}


def record(name, program, gputrack, packages):
    with tempfile.TemporaryDirectory() as base:
        project = pathlib.Path(base) / "home/user/project"
        project.mkdir(parents=True)
        environment = {**os.environ, "BASE": base}
        for source in program.sources:
            path = HERE / "programs" / source
            (shutil.copytree if path.is_dir() else shutil.copy)(path, project / source)
        shell(program.build, project, environment)
        if packages:
            environment["PYTHONPATH"] = f"{packages}/usr/lib/python3/dist-packages"
            environment["LD_LIBRARY_PATH"] = f"{packages}/usr/lib/x86_64-linux-gnu:{packages}/usr/lib"
        folder = pathlib.Path(os.path.normpath(project / program.folder))
        folder.mkdir(exist_ok=True)
        recording = f"{base}/recording.gt"
        shell(f"'{gputrack}' run -q -o {recording} env {program.run}", folder, environment)
        report = json.loads(shell(f"'{gputrack}' report {recording} -a sites -f json --all-frames", folder,
                                  os.environ))
    hidden = [base] + ([str(packages)] if packages else [])
    process = report["recording"]["processes"][-1]
    return {"about": program.about, "program": shown(process["program"], hidden),
            "command": shown(process["command"], hidden), "directory": shown(str(folder), hidden), "options": [],
            "headlines": [], "stacks": list(stacks_of(report, program.kinds, hidden))}


def keep_headlines(corpus, path):
    """What a person wrote in the file that is replaced."""
    if not path.exists():
        return
    old = json.loads(path.read_text())
    corpus["options"], corpus["headlines"] = old["options"], old["headlines"]
    if len(old["stacks"]) != len(corpus["stacks"]):
        print(f"{path.name}: {len(corpus['stacks'])} stacks, {len(old['stacks'])} before")
        return
    for before, now in zip(old["stacks"], corpus["stacks"]):
        now["headline"] = before["headline"]


def write(corpus, path):
    """One line for each headline and each frame, so that a difference can be read."""
    def one(value):
        return json.dumps(value, ensure_ascii=False)

    out = ["{"]
    for key in ("about", "program", "command", "directory", "options"):
        out.append(f" {one(key)}: {one(corpus[key])},")
    out.append(' "headlines": [' + ",".join("\n  " + one(line) for line in corpus["headlines"]) + "],")
    stacks = []
    for stack in corpus["stacks"]:
        head = ", ".join(f"{one(key)}: {one(stack[key])}" for key in ("headline", "api", "kind", "bytes"))
        frames = ",".join("\n   " + one(frame) for frame in stack["frames"])
        stacks.append("\n  {" + head + ', "frames": [' + frames + "]}")
    out.append(' "stacks": [' + ",".join(stacks) + "]\n}\n")
    path.write_text("\n".join(out))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--packages", type=pathlib.Path)
    arguments = parser.parse_intermixed_args()
    for name, program in PROGRAMS.items():
        if arguments.names and name not in arguments.names:
            continue
        path = HERE / "stacks" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        corpus = record(name, program, (arguments.build / "gputrack").resolve(), arguments.packages)
        keep_headlines(corpus, path)
        write(corpus, path)
        print(f"{name}: {len(corpus['stacks'])} stacks")
    for name, source in VARIANTS.items():
        if arguments.names and source not in arguments.names:
            continue
        path = HERE / "stacks" / f"{name}.json"
        corpus = json.loads((HERE / "stacks" / f"{source}.json").read_text())
        keep_headlines(corpus, path)
        write(corpus, path)


if __name__ == "__main__":
    main()
