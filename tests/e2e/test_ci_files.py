# SPDX-License-Identifier: MIT
"""test_ci_files.py - the files of doc/ci.md for build systems and CI, as they stand there: made, run, and red.

The documents' own snippets are extracted, so that they stay true. What a runner would do is done here: steps with
`run:` are run, in the runner's environment; steps with `uses:` are checked, except our own action.
"""
import contextlib
import http.server
import json
import os
import re
import shlex
import shutil
import subprocess
import threading
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


class Here:
    """This machine as a runner: `folder` is the checkout, the same to its jobs."""

    def __init__(self, folder, env):
        self.folder, self.env, self.inside = folder, env, str(folder)

    def run(self, script, **more):
        return shell(self.folder, script, dict(self.env, **more))


class Fresh:
    """A fresh Debian as a runner, with nothing of this machine but what is copied into it."""

    def __init__(self, case, project):
        if os.geteuid() or not shutil.which("debootstrap") or case.run("unshare", "--mount", "true").status:
            case.skip("debootstrap, chroot and mounting want root")
        work = case.build.parent / (case.build.name + "-package")
        work.mkdir(exist_ok=True)
        self.script = case.source / "tests/fresh.sh"
        made = case.run("sh", self.script, "make", "bookworm", work / "bookworm", "ca-certificates", timeout=1200)
        if made.status == 77:
            case.skip(made.out.strip())
        assert made.status == 0, made.out + made.err
        self.root = case.path("fresh")
        case.run("cp", "-a", work / "bookworm", self.root, timeout=300)
        self.inside, self.folder = "/builds/project", self.root / "builds/project"
        shutil.copytree(project, self.folder)
        self.env = {}

    def run(self, script, **more):
        set_up = "".join(f"export {name}={shlex.quote(str(value))}\n" for name, value in dict(self.env, **more).items())
        command = f"cd {self.inside}\n{set_up}exec bash -eo pipefail -c {shlex.quote(script)}"
        done = subprocess.run(["sh", self.script, "in", self.root, command], text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
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


def yaml_of(case, text):
    try:
        import yaml
    except ImportError:
        case.skip("python3-yaml is not installed")

    class Loader(yaml.SafeLoader):
        """GitLab's own tag: a list of keys."""
    Loader.add_constructor("!reference", lambda l, node: ("reference", l.construct_sequence(node)))
    return yaml.load(text, Loader)


class Cache:
    """A runner's cache: what is saved under a key is found by that, or by how it begins, the latest first."""

    def __init__(self, folder):
        self.folder, self.keys = folder, []

    def restore(self, keys, to):
        """The key that was found."""
        shutil.rmtree(to, ignore_errors=True)
        for key in keys:
            for known in reversed(self.keys):
                if known.startswith(key):
                    shutil.copytree(self.folder / known, to)
                    return known
        return ""

    def save(self, key, of):
        if key in self.keys:
            self.keys.remove(key)
            shutil.rmtree(self.folder / key)
        shutil.copytree(of, self.folder / key)
        self.keys.append(key)


class Action:
    """Runs the steps of action.yml on a machine, for a branch, with inputs and the state of the runner's cache."""

    def __init__(self, case, machine, path):
        self.case, self.machine, self.path = case, machine, path
        self.action = yaml_of(case, (case.source / "action.yml").read_text())
        self.cache, self.runs = Cache(case.path("cache")), 0

    def value(self, text, words):
        """An expression of GitHub's, of the few kinds that the file has."""
        text = text.replace("&&", " and ").replace("||", " or ")
        for word in sorted(words, key=len, reverse=True):
            text = text.replace(word, repr(words[word]))
        return eval(text, {})  # pylint: disable=eval-used

    def text(self, text, words):
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: str(self.value(found[1], words)), str(text))

    def run(self, branch="main", target="", **given):
        """The worst status, and all output."""
        inputs = {name: str(row.get("default", "")) for name, row in self.action["inputs"].items()}
        assert set(given) <= {name.replace("-", "_") for name in inputs}, given
        inputs.update({name.replace("_", "-"): value for name, value in given.items()})
        self.runs += 1
        words = {f"inputs.{name}": value for name, value in inputs.items()}
        words |= {"always()": True, "github.ref_name": branch, "github.sha": f"{self.runs:040}",
                  "github.base_ref": target, "github.event.repository.default_branch": "main", "github.job": "leaks",
                  "steps.judge.outcome": "", "steps.baseline.outputs.cache-matched-key": ""}
        worst, log = 0, ""
        for step in self.action["runs"]["steps"]:
            condition = step.get("if", "True")
            if (worst and "always()" not in condition) or not self.value(condition, words):
                continue
            if "uses" in step:
                self.use(step, words)
                continue
            assert step["shell"] == "bash", step
            env = {name: self.text(value, words) for name, value in step.get("env", {}).items()}
            status, out = self.machine.run(step["run"], GITHUB_ACTION_PATH=self.path, GITHUB_JOB="leaks",
                                           GITHUB_REF_NAME=branch, GITHUB_BASE_REF=target, **env)
            words[f"steps.{step.get('id')}.outcome"] = "failure" if status else "success"
            log, worst = log + out, worst or status
        return worst, log

    def use(self, step, words):
        """What others' actions are given must be there."""
        what, given = step["uses"].split("@")[0], {name: self.text(value, words) for name, value in step["with"].items()}
        if what == "actions/cache/restore":
            words[f"steps.{step['id']}.outputs.cache-matched-key"] = self.cache.restore(
                [given["key"], *given["restore-keys"].split()], self.machine.folder / given["path"])
        elif what == "actions/cache/save":
            self.cache.save(given["key"], self.machine.folder / given["path"])
        elif what == "actions/upload-artifact":
            assert list((self.machine.folder / given["path"]).glob("*.gt")), given
        else:
            assert what == "github/codeql-action/upload-sarif", what
            assert json.loads((self.machine.folder / given["sarif_file"]).read_text())["runs"][0]["results"], given


MORE = PROGRAM.replace("memory = make_buffer();", "memory = make_buffer(); make_buffer();")


def check_github(action, inputs):
    """Red, with its line; then with a baseline of each branch."""
    root = action.machine.folder
    status, out = action.run(**inputs)
    assert status == 23, out
    assert f"::error file=app.c,line={LINE},title=1 buffer leaked by clCreateBuffer" in out, out
    assert (root / "gputrack/leaks.sarif").exists() and (root / "gputrack/leaks.gt/info").exists()
    if "built without the HTML page" not in out:
        assert "app.c" in (root / "gputrack/leaks.html").read_text()
    inputs = dict(inputs, baseline="yes", sarif="yes")
    # the first run is red and becomes the baseline, the next is as before, also on a branch
    assert action.run(**inputs)[0] == 23 and len(action.cache.keys) == 1
    for branch in (("main", ""), ("topic", "main")) if is_long() else (("topic", "main"),):
        status, out = action.run(*branch, **inputs)
        assert status == 0 and "::error" not in out, out
    # what is worse stays red
    (root / "app.c").write_text(MORE)
    for branch in (("topic", "main"), ("topic", "main"), ("main", "")) if is_long() else (("topic", "main"),):
        status, out = action.run(*branch, **inputs)
        assert status == 23 and "::error file=app.c" in out, out
    assert [key.split("-")[1] for key in action.cache.keys] == (["main"] * 2 if is_long() else ["main"]) + ["topic"]
    if is_long():
        (root / "app.c").write_text(PROGRAM)
        assert action.run("topic", "main", **inputs)[0] == 0


def github_project(case):
    """Its folder, and the steps of its workflow."""
    root = project(case, "github", ".github/workflows/leaks.yml")
    steps = yaml_of(case, (root / ".github/workflows/leaks.yml").read_text())["jobs"]["leaks"]["steps"]
    assert [next(iter(step)) for step in steps] == ["uses", "run", "uses"], steps
    assert steps[1]["run"].startswith("apt-get update && apt-get install"), steps
    return root, steps


def test_github(case):
    need(case, "make", "cc")
    root, steps = github_project(case)
    env = environment(case, GITHUB_ACTIONS="true", CI="true", GITHUB_WORKSPACE=str(root))
    check_github(Action(case, Here(root, env), str(case.source)), steps[2]["with"])


def package_of(case):
    """The Debian package, as `./dev package` or test_package.py has made it."""
    found = sorted(case.build.parent.glob(f"{case.build.name}-*/gputrack_*.deb"))
    return found[0] if found else case.skip("there is no package: ./dev package, or ./dev test package")


class Release(http.server.SimpleHTTPRequestHandler):
    """Gives the package to whoever asks for the release's."""
    asked = []

    def do_GET(self):
        Release.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(Release.package.read_bytes())

    def log_message(self, *words):
        pass


@contextlib.contextmanager
def release(case):
    """The address of a server with the package."""
    Release.package, Release.asked = package_of(case), []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Release) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_github_on_a_fresh_machine(case):
    """From the first step on, as a runner's container has it."""
    if not is_long():
        case.skip("installs a compiler and a driver in a fresh Debian; GPUTRACK_TEST_LONG=1 runs it")
    root, steps = github_project(case)
    with release(case) as address:
        machine = Fresh(case, root)
        shutil.copytree(case.source / "packaging/ci", machine.root / "action/packaging/ci")
        machine.env = {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": machine.inside, "RUNNER_OS": "Linux",
                       "GITHUB_SERVER_URL": address, "GITHUB_ACTION_REPOSITORY": "gputrack/gputrack",
                       "GITHUB_ACTION_REF": steps[2]["uses"].split("@")[1]}
        status, out = machine.run(steps[1]["run"])
        assert status == 0, out
        check_github(Action(case, machine, "/action"), steps[2]["with"])
    assert Release.asked == ["/gputrack/gputrack/releases/download/v0.2.0/gputrack_amd64.deb"], Release.asked


class GitLab:
    """Runs a job that extends the template, for a branch, with the state of the runner's cache."""

    def __init__(self, case, machine, from_the_start):
        self.template = yaml_of(case, (case.source / "packaging/ci/gitlab.yml").read_text())[".gputrack"]
        self.job = yaml_of(case, (machine.folder / ".gitlab-ci.yml").read_text())["leaks"]
        assert self.job["extends"] == ".gputrack" and self.job["script"][-1] == ("reference", [".gputrack", "judge"])
        assert self.job["script"][0].startswith("apt-get install"), self.job
        self.machine, self.cache = machine, Cache(case.path("cache"))
        self.script = self.template["before_script"] + self.job["script"][0 if from_the_start else 1:-1] + \
            self.template["judge"]
        self.variables = {name: str(value) for name, value in self.template["variables"].items()}

    def run(self, branch="main", **variables):
        """Its status and output."""
        words = dict(self.variables, CI_COMMIT_REF_SLUG=branch, CI_COMMIT_REF_NAME=branch, CI_DEFAULT_BRANCH="main",
                     CI_PROJECT_DIR=self.machine.inside, CI_JOB_NAME="leaks", **variables)
        cache = self.template["cache"]
        keys = [re.sub(r"\$(\w+)", lambda found: words[found[1]], key) for key in (cache["key"], *cache["fallback_keys"])]
        folder, = cache["paths"]
        self.cache.restore(keys, self.machine.folder / folder)
        status, out = self.machine.run("\n".join(self.script), **words)
        after, more = self.machine.run("\n".join(self.template["after_script"]),
                                       CI_JOB_STATUS="failed" if status else "success", **words)
        assert after == 0 and cache["when"] == "always", more
        self.cache.save(keys[0], self.machine.folder / folder)
        return status, out


def check_gitlab(job, **variables):
    """Red, with its files; then with a baseline of each branch."""
    root = job.machine.folder
    status, out = job.run(**variables)
    assert status == 23 and f"make_buffer  app.c:{LINE}" in out, out
    found = json.loads((root / "gl-code-quality-report.json").read_text())
    assert [one["location"] for one in found] == [{"path": "app.c", "lines": {"begin": LINE}}], found
    assert job.template["artifacts"]["reports"]["codequality"] == "gl-code-quality-report.json"
    suites = xml.parse(root / "gputrack/leaks.xml").getroot()
    assert [suite.get("name") for suite in suites] == ["app"]
    assert (root / "gputrack-baseline/app.gt/info").exists()
    assert "app.c" in (root / "gputrack/leaks.html").read_text()
    for branch in ("main", "topic") if is_long() else ("topic",):
        status, out = job.run(branch, **variables)
        assert status == 0 and json.loads((root / "gl-code-quality-report.json").read_text()) == [], out
    (root / "app.c").write_text(MORE)
    for branch in ("topic", "topic", "main") if is_long() else ("topic", "topic"):
        status, out = job.run(branch, **variables)
        assert status == 23, out


def test_gitlab(case):
    need(case, "make", "cc")
    root = project(case, "gitlab", ".gitlab-ci.yml")
    check_gitlab(GitLab(case, Here(root, environment(case, GITLAB_CI="true", CI="true")), from_the_start=False))


def test_gitlab_on_a_fresh_machine(case):
    if not is_long():
        case.skip("installs a compiler and a driver in a fresh Debian; GPUTRACK_TEST_LONG=1 runs it")
    root = project(case, "gitlab", ".gitlab-ci.yml")
    with release(case) as address:
        machine = Fresh(case, root)
        machine.env = {"CI": "true", "GITLAB_CI": "true"}
        check_gitlab(GitLab(case, machine, from_the_start=True), GPUTRACK_PACKAGE=f"{address}/gputrack.deb")
    assert Release.asked == ["/gputrack.deb"], Release.asked


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
