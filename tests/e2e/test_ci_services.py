# SPDX-License-Identifier: MIT
"""test_ci_services.py - the files of doc/ci.md for GitHub and GitLab, as they stand there: made, run, and red.

What a runner would do is done here: steps with `run:` are run, in the runner's environment; steps with `uses:` are
checked, except our own action.
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

from test_ci_files import LINE, PROGRAM, environment, is_long, need, project, shell


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

    def clear(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.keys.clear()

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
        self.cache, self.runs, self.artifacts = Cache(case.path("cache")), 0, []

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
                  "steps.judge.outputs.status": "", "steps.baseline.outputs.cache-matched-key": ""}
        words |= {f"steps.{step['id']}.outcome": "skipped" for step in self.action["runs"]["steps"] if "id" in step}
        output = self.machine.folder / "output"
        shutil.rmtree(self.machine.folder / inputs["recordings"], ignore_errors=True)  # each job has a checkout of its own
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
            output.write_text("")
            status, out = self.machine.run(step["run"], GITHUB_ACTION_PATH=self.path, GITHUB_JOB="leaks",
                                           GITHUB_OUTPUT=f"{self.machine.inside}/output", GITHUB_REF_NAME=branch,
                                           GITHUB_BASE_REF=target, **env)
            words[f"steps.{step.get('id')}.outcome"] = "failure" if status else "success"
            words |= {f"steps.{step.get('id')}.outputs.{line.split('=')[0]}": line.split("=")[1]
                      for line in output.read_text().splitlines()}
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
            self.artifacts.append(given["name"])
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
    assert [key.split("-")[1:3] for key in action.cache.keys] == \
        [["leaks", "main"]] * (1 + is_long()) + [["leaks", "topic"]], action.cache.keys
    if is_long():
        (root / "app.c").write_text(PROGRAM)
        assert action.run("topic", "main", **inputs)[0] == 0


def check_github_baselines(action, inputs):
    """Tests that failed are no baseline, and each job of a matrix has its own."""
    inputs = dict(inputs, baseline="yes")
    broken = dict(inputs, run=inputs["run"] + " && false")
    assert action.run(**broken)[0] == 1 and not action.cache.keys, "some tests may not have been recorded"
    for name in ("debug", "release"):
        status, out = action.run(name=name, **inputs)
        assert status == 23, out
    assert action.artifacts == ["gputrack-leaks", "gputrack-debug", "gputrack-release"], action.artifacts
    assert action.run(name="debug", **inputs)[0] == 0
    before = list(action.cache.keys)
    assert action.run(name="debug", **broken)[0] == 1 and action.cache.keys == before


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


def test_the_baselines_of_github_are_whole_runs(case):
    need(case, "make", "cc")
    root, steps = github_project(case)
    env = environment(case, GITHUB_ACTIONS="true", CI="true", GITHUB_WORKSPACE=str(root))
    check_github_baselines(Action(case, Here(root, env), str(case.source)), steps[2]["with"])


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
    architecture = case.run("dpkg", "--print-architecture").out.strip()
    assert Release.asked == [f"/gputrack/gputrack/releases/download/v0.2.0/gputrack_{architecture}.deb"], Release.asked


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
                     CI_PROJECT_DIR=self.machine.inside, CI_JOB_NAME="leaks", CI_JOB_NAME_SLUG="leaks", **variables)
        cache = self.template["cache"]
        keys = [re.sub(r"\$(\w+)", lambda found: words[found[1]], key) for key in (cache["key"], *cache["fallback_keys"])]
        folder, = cache["paths"]
        self.cache.restore(keys, self.machine.folder / folder)
        shutil.rmtree(self.machine.folder / "gputrack", ignore_errors=True)  # each job has a checkout of its own
        status, out = self.machine.run("\n".join(self.script), **words)
        after, more = self.machine.run("\n".join(self.template["after_script"]),
                                       CI_JOB_STATUS="failed" if status else "success", **words)
        assert after == 0 and cache["when"] == "always", more
        if (self.machine.folder / folder).exists():
            self.cache.save(keys[0], self.machine.folder / folder)
        return status, out


def check_gitlab(job, has_page=True, **variables):
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
    if has_page:
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
    check_gitlab(GitLab(case, Here(root, environment(case, GITLAB_CI="true", CI="true")), from_the_start=False),
                 has_page=case.has_page())


def test_gitlab_shows_what_limits_allow_as_no_failure(case):
    """And tests that failed are no baseline."""
    need(case, "make", "cc")
    root = project(case, "gitlab", ".gitlab-ci.yml")
    job = GitLab(case, Here(root, environment(case, GITLAB_CI="true", CI="true")), from_the_start=False)
    (root / "app.c").write_text("broken\n")
    assert job.run()[0] != 0 and not job.cache.keys
    (root / "app.c").write_text(PROGRAM)
    for limit, status, severity in (("memory>1MiB", 0, "minor"), ("memory>=1MiB", 23, "critical")):
        job.cache.clear()
        done, out = job.run(GPUTRACK_FAIL_ON_LEAK=limit)
        assert done == status and job.cache.keys, out
        suites = xml.parse(root / "gputrack/leaks.xml").getroot()
        assert int(suites.get("failures")) == (status != 0), xml.tostring(suites)
        found = json.loads((root / "gl-code-quality-report.json").read_text())
        assert [one["severity"] for one in found] == [severity], found


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


def test_the_shell_scripts_are_plain(case):
    for name in ("install.sh", "judge.sh"):
        done = case.run("sh", "-n", case.source / "packaging/ci" / name)
        assert done.status == 0, done.err
    done = case.run("sh", case.source / "packaging/ci/install.sh",
                    env={"PATH": "/usr/bin:/bin" if not shutil.which("gputrack", path="/usr/bin:/bin")
                         else "/bin"})
    assert done.status == 1 and "set GPUTRACK_PACKAGE" in done.err, done.err
