# SPDX-License-Identifier: MIT
"""test_ci_files.py - the files of doc/ci.md for build systems, as they stand there: made, run, and red.

The documents' own snippets are extracted, so that they stay true.
"""
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml

# Leaks a buffer, unless told not to: by the argument, or in every second run.
PROGRAM = r"""
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static cl_context context;
__attribute__((noinline)) static cl_mem make_buffer(void)
{
	return clCreateBuffer(context, CL_MEM_READ_WRITE, 1 << 20, NULL, NULL);
}
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	cl_platform_id platform;
	cl_device_id device;
	cl_mem memory;

	if (!strcmp(how, "nogpu"))
		return 0;
	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 9;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	memory = make_buffer();
	if (!strcmp(how, "clean") || (!strcmp(how, "flaky") && !unlink("leaked")))
		clReleaseMemObject(memory);
	else if (!strcmp(how, "flaky"))
		fclose(fopen("leaked", "w"));
	clReleaseContext(context);
	return 0;
}
"""
LINE = PROGRAM[:PROGRAM.index("return clCreateBuffer")].count("\n") + 1


def snippet(case, kind, name):
    """A block of doc/ci.md, by the comment above it."""
    found = re.findall(rf"<!-- {kind}: {re.escape(name)} -->\n```\w*\n(.*?)```",
                       (case.source / "doc/ci.md").read_text(), re.DOTALL)
    assert len(found) == 1, (kind, name, found)
    return found[0]


def project(case, folder, *names):
    """A folder with the program, and these files of the document; at most ten lines each."""
    root = case.path(folder)
    root.mkdir()
    (root / "app.c").write_text(PROGRAM)
    for name in names:
        text = snippet(case, "file", name)
        assert len(text.splitlines()) <= 10, f"{name} has grown"
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def environment(case, **more):
    """gputrack in the search path, as an installation has it."""
    return dict(os.environ, **case.pocl(), PATH=f"{case.build}:{os.environ['PATH']}",
                GPUTRACK_CONFIG="", **more)


def shell(root, script, env):
    """Runs lines as a runner does: the first that fails ends it. Status and all output."""
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=root, env=env, text=True,
                          errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def is_long():
    return bool(os.environ.get("GPUTRACK_TEST_LONG"))


def need(case, *tools):
    for tool in tools:
        if not shutil.which(tool):
            case.skip(f"{tool} is not installed")


def test_cmake_and_ctest(case):
    need(case, "cmake", "ctest", "cc", "make")
    root, env = project(case, "cmake", "CMakeLists.txt"), environment(case)
    with open(root / "CMakeLists.txt", "a") as more:
        for name in ("clean", "flaky", "nogpu"):
            more.write(f"gputrack_add_test(NAME {name} COMMAND app {name})\n")
        more.write("add_test(NAME plain COMMAND app)\n"
                   "gputrack_add_test(NAME small COMMAND app clean MAX_PEAK 1K)\n"
                   "gputrack_add_test(NAME known COMMAND app SUPPRESSIONS known.supp)\n"
                   "gputrack_enable_all_tests(FAIL_ON_LEAK memory>2MiB)\n"
                   "add_test(NAME within COMMAND app)\n")
    (root / "known.supp").write_text("leak:make_buffer\n")
    script = snippet(case, "run", "cmake").replace("cmake -S .", f"cmake -S . -Dgputrack_DIR={case.build}")
    status, out = shell(root, script, env)
    assert status == 8, out
    results = dict(re.findall(r"Test +#\d+: (\w+) \.+ *\**(\w+)", out))
    assert results == {"app": "Failed", "clean": "Passed", "flaky": "Failed", "nogpu": "Skipped",
                       "plain": "Passed", "small": "Failed", "known": "Passed",
                       "within": "Passed"}, out
    assert f"make_buffer  app.c:{LINE}" in out, out
    assert "exceeds --max-peak=1.00 KiB" in out, out
    # a second run, and one verdict on both
    again = re.search(r"`(cp -r .*?); gputrack report night`",
                      " ".join((case.source / "doc/ci.md").read_text().split())).group(1)
    status, out = shell(root, "set +e; mkdir night; " + again.replace("ctest …", "ctest --test-dir build"), env)
    assert re.search(r"flaky \.+ +Passed", out), out
    told = json.loads(shell(root, "gputrack report night --format json", env)[1])
    assert [(t["test"], t["failing_runs"], t["runs"]) for t in told["tests"]] == \
        [("app", 2, 2), ("clean", 0, 2), ("flaky", 1, 2), ("known", 2, 2), ("nogpu", 0, 2),
         ("small", 0, 2), ("within", 2, 2)], told["tests"]
    assert len(told["groups"]) == 1, "each leak once"
    # as CTest's memory checker: defects are counted, and fail nothing but tests that fail by leaks anyway
    status, out = shell(root, "cd build && ctest -T memcheck -R plain", env)
    assert status == 0 and "Defects: 1" in out and "Memory Leak - 1" in out, out
    log, = (root / "build/Testing/Temporary").glob("MemoryChecker.*.log")
    assert f"make_buffer (app.c:{LINE})" in log.read_text().replace(f"{root}/", ""), log.read_text()
    status, out = shell(root, "cd build && ctest -T memcheck -R 'app|clean|plain|known'", env)
    assert status and "Memory Leak - 2" in out, out
    assert re.findall(r"MemCheck: #\d+: (\w+) \.+ +Defects: (\d+)", out) == [("app", "1"), ("plain", "1")], out
    dashboard = max((root / "build/Testing").glob("*/DynamicAnalysis.xml"), key=os.path.getmtime)
    found = {test.findtext("Name"): [(one.get("type"), one.text) for one in test.iter("Defect")]
             for test in xml.parse(dashboard).iter("Test") if test.findtext("Name")}
    assert {name: defects for name, defects in found.items() if defects} == \
        {name: [("Memory Leak", "1")] for name in ("app", "plain")}, found


# Tests in every form that add_test knows, in a folder of their own.
CMAKE_FORMS = """
gputrack_enable_all_tests(SUPPRESSIONS known.supp MAX_PEAK 2M)
add_test(NAME early COMMAND app)
add_test(NAME words COMMAND sh -c "printf '[%s]' \\"$@\\"" sh "a;b" "" "c d" $<TARGET_FILE_NAME:app>)
add_test(NAME lists COMMAND echo "$<1:one;two>" COMMAND_EXPAND_LISTS)
add_test(NAME debug COMMAND app CONFIGURATIONS Debug)
add_test(NAME release COMMAND app CONFIGURATIONS Release)
add_test(NAME false COMMAND false)
add_test(plain app)
add_executable(app app.c)
target_link_libraries(app OpenCL)
add_subdirectory(below)
gputrack_add_test(NAME own COMMAND app BASELINE build/gputrack/early.gt)
"""


def test_cmake_takes_every_form_of_a_test(case):
    need(case, "cmake", "ctest", "cc", "make")
    root, env = project(case, "cmake", "CMakeLists.txt"), environment(case)
    lines = (root / "CMakeLists.txt").read_text().splitlines()
    (root / "CMakeLists.txt").write_text("\n".join(lines[:lines.index("add_executable(app app.c)")]) + CMAKE_FORMS)
    (root / "known.supp").write_text("leak:make_buffer\n")
    (root / "below").mkdir()
    (root / "below/CMakeLists.txt").write_text("add_test(NAME below COMMAND pwd WORKING_DIRECTORY /usr)\n"
                                               "add_test(NAME same COMMAND app)\n")
    status, out = shell(root, f"cmake -S . -B build -Dgputrack_DIR={case.build} -DCMAKE_BUILD_TYPE=Debug\n"
                        "cmake --build build\nctest --test-dir build -C Debug -V", env)
    results = dict(re.findall(r"Test +#\d+: (\w+) \.+ *\**(\w+)", out))
    assert results == {"early": "Passed", "words": "Skipped", "lists": "Skipped", "debug": "Passed", "false": "Failed",
                       "plain": "Passed", "below": "Skipped", "same": "Passed", "own": "Passed"}, out
    said = re.sub(r"^\d+: ", "", out, flags=re.M)
    assert "[a;b][][c d][app]" in said and "\none two\n" in said and "\n/usr\n" in said, out
    recorded = {path.name for path in (root / "build/gputrack").glob("*.gt")}
    assert recorded == {f"{name}.gt" for name in results if name != "plain"}, recorded
    for wrong in ("gputrack_add_test(NAME x PEAK 1M COMMAND app)", "gputrack_enable_all_tests(PEAK 1M)"):
        (root / "CMakeLists.txt").write_text("\n".join([*lines, wrong, ""]))
        status, out = shell(root, f"cmake -S . -B wrong -Dgputrack_DIR={case.build}", env)
        assert status == 1 and "unknown arguments: PEAK" in out, out


def test_meson(case):
    need(case, "meson", "ninja", "cc")
    root, env = project(case, "meson", "meson.build"), environment(case)
    with open(root / "meson.build", "a") as more:
        for name in ("clean", "leaks", "nogpu"):
            more.write(f"test('{name}', app, args: ['{name}'])\n")
    status, out = shell(root, snippet(case, "run", "meson"), env)
    assert status == 1 and re.search(r"app +FAIL .*exit status 23", out) and f"make_buffer  app.c:{LINE}" in out, out
    assert re.search(r"clean +OK", out) and re.search(r"nogpu +OK", out), out
    # the one that is wrapped by the file is not wrapped again
    wrapped = snippet(case, "run", "meson-wrap").replace("meson test", "meson test clean leaks nogpu", 1)
    status, out = shell(root, wrapped, env)
    assert status == 1 and re.search(r"clean +OK", out) and re.search(r"nogpu +SKIP", out), out
    assert re.search(r"leaks +FAIL .*exit status 23", out) and f"make_buffer  app.c:{LINE}" in out, out


def test_make(case):
    """With the document's own program, which the others replace by one that has more to choose from."""
    need(case, "make", "cc")
    root = project(case, "make", "Makefile")
    program = snippet(case, "file", "app.c")
    (root / "app.c").write_text(program)
    status, out = shell(root, "make check", environment(case))
    line = program[:program.index("clCreateBuffer")].count("\n") + 1
    assert status == 2 and "Error 23" in out and f"main  app.c:{line}" in out, out


# What Debian's Bazel would fetch, as little as this needs of it.
BAZEL = {"rules_cc/cc/defs.bzl": "".join(
    f"def {rule}(**words): native.{rule}(**words)\n" for rule in (
        "cc_binary", "cc_library", "cc_test", "cc_import", "cc_toolchain", "cc_toolchain_suite", "fdo_profile",
        "fdo_prefetch_hints", "cc_proto_library", "objc_library")) +
    "def cc_flags_supplier(**words): pass\ndef compiler_flag(**words): pass\n",
    "rules_cc/cc/BUILD": "", "remote_coverage_tools/none.sh": "#!/bin/sh\n",
    "remote_coverage_tools/BUILD": "".join(
        f'sh_binary(name = "{name}", srcs = ["none.sh"], visibility = ["//visibility:public"])\n'
        for name in ("coverage_report_generator", "lcov_merger"))}


def test_bazel(case):
    if not is_long():
        case.skip("starts a server in Java; GPUTRACK_TEST_LONG=1 runs it")
    need(case, "bazel", "cc")
    root = project(case, "bazel", "BUILD")
    with open(root / "BUILD", "a") as more:
        more.write('cc_test(name = "clean", srcs = ["app.c"], args = ["clean"], linkopts = ["-lOpenCL"])\n')
    (root / "WORKSPACE").write_text("")
    for name, text in BAZEL.items():
        path = case.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    for repository in {name.split("/")[0] for name in BAZEL}:
        case.path(f"{repository}/WORKSPACE").write_text("")
    repositories = {name: case.path(name) for name in ("rules_cc", "remote_coverage_tools")}
    for name, folder in (("platforms", "tools/platforms"), ("rules_java", "rules/java"), ("rules_proto", "rules/proto")):
        repositories[name] = f"/usr/share/bazel/{folder}"
        if not os.path.exists(repositories[name]):
            case.skip(f"Debian's packages of Bazel's rules are not installed: {name}")
    bazel = f"bazel --output_user_root={case.path('bazel-root')}"
    script = snippet(case, "run", "bazel").replace("bazel test", bazel + " test" + "".join(
        f" --override_repository={name}={folder}" for name, folder in repositories.items()), 1)
    status, out = shell(root, script, environment(case, HOME=str(case.folder)))
    shell(root, f"{bazel} shutdown; chmod -R u+w {case.path('bazel-root')}", environment(case, HOME=str(case.folder)))
    assert status == 3, out  # the tests were built, and not all passed
    assert re.search(r"^//:app +FAILED", out, re.M) and re.search(r"^//:clean +PASSED", out, re.M), out
    assert f"make_buffer  app.c:{LINE}" in out, out


def test_jenkins(case):
    """Only its shell lines: there is no Jenkins here."""
    need(case, "make", "cc")
    root = project(case, "jenkins", "Jenkinsfile")
    lines = re.findall(r"sh '(.*)'", (root / "Jenkinsfile").read_text())
    status, out = shell(root, "\n".join(lines), environment(case))
    assert status == 0 and len(lines) == 2, out
    cases = list(xml.parse(root / "leaks.xml").getroot().iter("testcase"))
    assert [c.get("name") for c in cases if c.find("failure") is not None] == \
        ["opencl.buffer at make_buffer, app.c"]
