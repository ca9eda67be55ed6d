# SPDX-License-Identifier: MIT
"""test_ci_files.py - the files of doc/ci.md for build systems and CI, as they stand there: made, run, and red.

The documents' own snippets are extracted, so that they stay true. What a runner would do is done here: steps with
`run:` are run, in the runner's environment; steps with `uses:` are checked, except our own action.
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
    # as CTest's memory checker: defects are counted, and nothing fails
    status, out = shell(root, "cd build && ctest -T memcheck -R plain", env)
    assert status == 0 and "Defects: 1" in out and "Memory Leak - 1" in out, out
    log, = (root / "build/Testing/Temporary").glob("MemoryChecker.*.log")
    assert f"make_buffer (app.c:{LINE})" in log.read_text().replace(f"{root}/", ""), log.read_text()


def test_meson(case):
    need(case, "meson", "ninja", "cc")
    root, env = project(case, "meson", "meson.build"), environment(case)
    with open(root / "meson.build", "a") as more:
        for name in ("clean", "nogpu"):
            more.write(f"test('{name}', app, args: ['{name}'])\n")
    # the one that is wrapped by the file is not wrapped again
    script = snippet(case, "run", "meson").replace("meson test", "meson test clean nogpu", 1)
    setup, wrapped = script.strip().splitlines()
    status, out = shell(root, setup, env)
    assert status == 0, out
    status, out = shell(root, wrapped, env)
    assert status == 0 and re.search(r"clean +OK", out) and re.search(r"nogpu +SKIP", out), out
    status, out = shell(root, "meson test -C build app --print-errorlogs", env)
    assert status == 1 and "exit status 23" in out and f"app.c:{LINE}" in out, out


def test_make(case):
    need(case, "make", "cc")
    root = project(case, "make", "Makefile")
    status, out = shell(root, "make check", environment(case))
    assert status == 2 and "Error 23" in out and f"make_buffer  app.c:{LINE}" in out, out


def yaml_of(case, text):
    try:
        import yaml
    except ImportError:
        case.skip("python3-yaml is not installed")

    class Loader(yaml.SafeLoader):
        """GitLab's own tag: a list of keys."""
    Loader.add_constructor("!reference", lambda l, node: ("reference", l.construct_sequence(node)))
    return yaml.load(text, Loader)


class Action:
    """Runs the steps of action.yml, with inputs and the state of a runner's cache."""

    def __init__(self, case, root, env):
        self.root, self.env, self.case = root, env, case
        self.action = yaml_of(case, (case.source / "action.yml").read_text())
        self.cache = case.path("cache")

    def value(self, text, inputs, outcomes):
        """An expression of GitHub's, of the few kinds that the file has."""
        words = {f"inputs.{name}": repr(value) for name, value in inputs.items()}
        words["steps.judge.outcome"] = repr(outcomes.get("judge", ""))
        words["steps.baseline.outputs.cache-matched-key"] = repr("one" if self.cache.exists() else "")
        words["always()"] = "True"
        for word in sorted(words, key=len, reverse=True):
            text = text.replace(word, words[word])
        return eval(text.replace("&&", " and ").replace("||", " or "), {})  # pylint: disable=eval-used

    def run(self, **given):
        """The worst status, and all output."""
        inputs = {name: str(row.get("default", "")) for name, row in self.action["inputs"].items()}
        assert set(given) <= {name.replace("-", "_") for name in inputs}, given
        inputs.update({name.replace("_", "-"): value for name, value in given.items()})
        outcomes, worst, log = {}, 0, ""
        for step in self.action["runs"]["steps"]:
            condition = step.get("if", "True")
            if (worst and "always()" not in condition) or \
                    not self.value(condition, inputs, outcomes):
                continue
            if "uses" in step:
                self.use(step, inputs)
                continue
            env = dict(self.env, GITHUB_ACTION_PATH=str(self.case.source), GITHUB_JOB="leaks",
                       **{name: re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}",
                                       lambda m: inputs[m.group(1)], str(value))
                          for name, value in step.get("env", {}).items()})
            status, out = shell(self.root, step["run"], env)
            outcomes[step.get("id")] = "failure" if status else "success"
            log, worst = log + out, worst or status
        return worst, log

    def use(self, step, inputs):
        """What others' actions are given must be there."""
        what, given = step["uses"].split("@")[0], step["with"]
        if what == "actions/cache/restore" and self.cache.exists():
            shutil.copytree(self.cache, self.root / given["path"], dirs_exist_ok=True)
        elif what == "actions/cache/save":
            shutil.rmtree(self.cache, ignore_errors=True)
            shutil.copytree(self.root / given["path"], self.cache)
        elif what == "actions/upload-artifact":
            assert list((self.root / inputs["recordings"]).glob("*.gt")), given
        elif what == "github/codeql-action/upload-sarif":
            log = json.loads((self.root / inputs["recordings"] / "leaks.sarif").read_text())
            assert log["runs"][0]["results"], log
        else:
            assert what == "actions/cache/restore", what


def test_github(case):
    need(case, "make", "cc")
    root = project(case, "github", ".github/workflows/leaks.yml")
    env = environment(case, GITHUB_ACTIONS="true", CI="true", GITHUB_WORKSPACE=str(root))
    steps = yaml_of(case, (root / ".github/workflows/leaks.yml").read_text())["jobs"]["leaks"]["steps"]
    assert [next(iter(step)) for step in steps] == ["uses", "run", "uses"], steps
    assert steps[1]["run"].startswith("apt-get update && apt-get install"), steps
    status, out = Action(case, root, env).run(**steps[2]["with"])
    assert status == 23, out
    assert f"::error file=app.c,line={LINE},title=1 buffer leaked by clCreateBuffer" in out, out
    assert (root / "gputrack/leaks.sarif").exists() and (root / "gputrack/leaks.gt/info").exists()
    if (case.build / "tests").exists() and "html" in case.gputrack("--help").out:
        assert "app.c" in (root / "gputrack/leaks.html").read_text()
    # a baseline: the first run is red and becomes it, the second is as before, the third is worse
    more = dict(steps[2]["with"], baseline="yes", sarif="yes")
    action = Action(case, root, env)
    assert action.run(**more)[0] == 23 and action.cache.exists()
    status, out = action.run(**more)
    assert status == 0 and "::error" not in out, out
    (root / "app.c").write_text(PROGRAM.replace("memory = make_buffer();",
                                                "memory = make_buffer(); make_buffer();"))
    for _ in range(2):  # it stays red
        shutil.rmtree(root / "gputrack-baseline", ignore_errors=True)
        status, out = action.run(**more)
        assert status == 23 and "::error file=app.c" in out, out


def test_gitlab(case):
    need(case, "make", "cc")
    root = project(case, "gitlab", ".gitlab-ci.yml")
    template = yaml_of(case, (case.source / "packaging/ci/gitlab.yml").read_text())[".gputrack"]
    job = yaml_of(case, (root / ".gitlab-ci.yml").read_text())["leaks"]
    assert job["extends"] == ".gputrack" and job["script"][-1] == ("reference", [".gputrack", "judge"])
    assert job["script"][0].startswith("apt-get install"), job
    lines = template["before_script"] + job["script"][1:-1] + template["judge"]
    env = environment(case, GITLAB_CI="true", CI="true",
                      **{name: str(value) for name, value in template["variables"].items()})

    def run(wanted):
        status, out = shell(root, "\n".join(lines), env)
        assert status == wanted, out
        shell(root, "\n".join(template["after_script"]),
              dict(env, CI_JOB_STATUS="failed" if status else "success"))
        return out
    out = run(23)
    assert f"make_buffer  app.c:{LINE}" in out, out
    found = json.loads((root / "gl-code-quality-report.json").read_text())
    assert [one["location"] for one in found] == [{"path": "app.c", "lines": {"begin": LINE}}], found
    assert template["artifacts"]["reports"]["codequality"] == "gl-code-quality-report.json"
    suites = xml.parse(root / "gputrack/leaks.xml").getroot()
    assert [suite.get("name") for suite in suites] == ["app"]
    assert template["cache"]["paths"] == ["gputrack-baseline"] and \
        (root / "gputrack-baseline/app.gt/info").exists()
    run(0)
    assert json.loads((root / "gl-code-quality-report.json").read_text()) == []
    (root / "app.c").write_text(PROGRAM.replace("memory = make_buffer();",
                                                "memory = make_buffer(); make_buffer();"))
    run(23)
    run(23)


def test_our_own_workflow_runs_what_ci_runs(case):
    text = (case.source / ".github/workflows/test.yml").read_text()
    steps = yaml_of(case, text)["jobs"]["test"]["steps"]
    assert ".ci/run" in [step.get("run") for step in steps], steps
    assert "./dev test" in (case.source / ".ci/run").read_text()


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


def test_the_shell_scripts_are_plain(case):
    for name in ("install.sh", "judge.sh"):
        done = case.run("sh", "-n", case.source / "packaging/ci" / name)
        assert done.status == 0, done.err
    done = case.run("sh", case.source / "packaging/ci/install.sh",
                    env={"PATH": "/usr/bin:/bin" if not shutil.which("gputrack", path="/usr/bin:/bin")
                         else "/bin"})
    assert done.status == 1 and "set GPUTRACK_PACKAGE" in done.err, done.err
