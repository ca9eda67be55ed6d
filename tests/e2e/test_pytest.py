# SPDX-License-Identifier: MIT
"""test_pytest.py - the plugin for pytest fails the tests that leak, by the documents' own examples."""
import re
import shutil
import xml.etree.ElementTree as xml

from test_live import PYTHON, found_modules, need_modules, python_env, section, write_examples


def pytest(case, *arguments, env):
    return case.run(PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--gputrack", *arguments, env=env)


def check_console(done, *consoles):
    """The failures that a document shows, and no others, with their texts."""
    failed = re.findall(r"^(?:FAILED|ERROR) .*", done.out, re.M)
    lines = [line for console in consoles for line in console]
    assert sorted(failed) == sorted(line for line in lines if line.startswith("FAILED")), done.out + done.err
    for word in ("failed", "passed"):
        count = sum(int(number) for console in consoles for number in re.findall(rf"(\d+) {word}", console[-1]))
        assert f"{count} {word}" in done.out, done.out


def test_it_fails_the_tests_that_leak(case):
    """Also on PyTorch, where that is installed."""
    need_modules(case, "pytest", "pyopencl")
    console = write_examples(case, section(case, "ci.md", "pytest"))
    files = ["test_buffers.py", "test_tensors.py"][:len(console) if "torch" in found_modules() else 1]
    done = pytest(case, *files, "--gputrack-run=--pools cpu", "--junit-xml", "junit.xml",
                  env=python_env(case, **case.pocl()))
    assert done.status == 1 and not done.err, done.out + done.err
    check_console(done, *console[:len(files)])
    cases = {one.get("name"): one for one in xml.parse(case.path("junit.xml")).iter("testcase")}
    assert "test_buffers.py:18" in cases["test_forgotten"].find("failure").get("message")
    assert case.path("pytest.gt/info").exists()


def test_in_several_processes(case):
    """And started by hand, with options in a file."""
    need_modules(case, "pytest", "pyopencl", "xdist")
    console = write_examples(case, section(case, "ci.md", "pytest"))
    case.path("test_tensors.py").unlink()
    case.path("pytest.ini").write_text("[pytest]\naddopts = --gputrack -n 2\n")
    done = case.gputrack("run", "-q", "-o", "own.gt", PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                         env=python_env(case, **case.small_opencl()))
    assert done.status == 1, done.out + done.err
    check_console(done, console[0])
    assert case.path("own.gt/info").exists()


FIXTURES = '''
import pyopencl as cl
import pytest

kept = []


def make(context, size):
    return cl.Buffer(context, cl.mem_flags.READ_WRITE, size)


@pytest.fixture(scope="session")
def context():
    return cl.create_some_context(interactive=False)


@pytest.fixture(scope="module")
def large(context):
    return make(context, 1 << 22)


@pytest.fixture(scope="module")
def careless(context):
    kept.append(make(context, 77))


@pytest.fixture
def small(context):
    yield make(context, 4096)


@pytest.fixture
def forgets(context):
    yield
    kept.append(make(context, 512))


@pytest.mark.gpu_peak_limit("1MiB")
def test_uses_fixtures(large, small):
    pass


def test_asks_late(request):
    request.getfixturevalue("careless")


class Node:
    pass


def test_makes_garbage(context):
    node = Node()
    node.itself, node.buffer = node, make(context, 4096)


def test_fails_by_itself(context):
    buffer = make(context, 4096)
    assert not buffer


def test_fixture_forgets(forgets):
    pass


@pytest.mark.gpu_leak_limit("1MiB")
class TestLimits:
    def test_under(self, context):
        kept.append(make(context, 1 << 20))

    def test_over(self, context):
        kept.append(make(context, (1 << 20) + 4096))

    @pytest.mark.gpu_no_leaks
    def test_none(self, context):
        kept.append(make(context, 1024))


def known(context):
    kept.append(make(context, 2048))


def test_known(context):
    known(context)
'''


def test_knows_whose_a_resource_is(case):
    need_modules(case, "pytest", "pyopencl")
    case.path("test_fixtures.py").write_text(FIXTURES)
    case.path("gpu.supp").write_text("leak:^known$\n")
    done = pytest(case, "--gputrack-suppressions", "gpu.supp", env=python_env(case, **case.small_opencl()))
    found = dict(re.findall(r"^(?:FAILED|ERROR) test_fixtures.py::([\w:]+) - (.*)", done.out, re.M))
    line = {text: number for number, text in enumerate(FIXTURES.splitlines(), 1)}
    make = line["    return cl.Buffer(context, cl.mem_flags.READ_WRITE, size)"]
    make = f"gputrack: test_fixtures.py:{make} leaks "
    # the module's last test ends its fixtures
    assert found.pop("test_fails_by_itself").startswith("assert not"), done.out
    assert found == {"test_fixture_forgets": make + "1 buffer, 512 B",
                     "TestLimits::test_over": make + "1 buffer, 1.00 MiB; allowed: 1.00 MiB",
                     "TestLimits::test_none": make + "1 buffer, 1.00 KiB",
                     "test_known": make + "1 buffer, 77 B, of the module fixture 'careless'"}, done.out + done.err
    forgets = line["    kept.append(make(context, 512))"]
    assert f"      forgets test_fixtures.py:{forgets}\n" in done.out, done.out
    # without the suppression, only what is marked, and started by hand
    done = case.gputrack("run", "-q", "-o", "own.gt", PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--gputrack",
                         "-o", "gputrack_judge=marked", "-k", "known or none or forgets",
                         env=python_env(case, **case.small_opencl()))
    found = re.findall(r"^(?:FAILED|ERROR) test_fixtures.py::([\w:]+)", done.out, re.M)
    assert found == ["TestLimits::test_none"], done.out + done.err


MARKS = '''
import unittest
import pyopencl as cl
import pytest

kept = []


def make(size):
    return cl.Buffer(CONTEXT, cl.mem_flags.READ_WRITE, size)


def setup_module():
    global CONTEXT
    CONTEXT = cl.create_some_context(interactive=False)


def teardown_module():
    global CONTEXT
    del CONTEXT


@pytest.mark.xfail(reason="a known leak")
def test_known():
    kept.append(make(64))


@pytest.mark.xfail(strict=True)
def test_known_strictly():
    kept.append(make(64))


@pytest.mark.xfail(strict=True)
def test_mended():
    make(64)


@pytest.mark.gpu_leak_limit
def test_no_size():
    make(64)


@pytest.mark.gpu_peak_limit(size="much")
def test_no_number():
    make(64)


class TestCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.of_all = make(64)

    @classmethod
    def tearDownClass(cls):
        del cls.of_all

    def setUp(self):
        self.own = make(64)

    def tearDown(self):
        del self.own

    def test_clean(self):
        make(64)

    def test_leaks(self):
        kept.append(make(64))


class TestFixture:
    def setup_class(self):
        kept.append(make(65))

    def test_last(self):
        make(64)
'''


def test_knows_unittest_xfail_and_wrong_marks(case):
    need_modules(case, "pytest", "pyopencl")
    case.path("test_marks.py").write_text(MARKS)
    done = pytest(case, "-rfEx", env=python_env(case, **case.small_opencl()))
    found = dict(re.findall(r"^(?:FAILED|ERROR|XFAIL) test_marks.py::([\w:]+)(?: - (.*))?$", done.out, re.M))
    assert found == {
        "test_known": "a known leak", "test_known_strictly": "", "test_mended": "",
        "test_no_size": 'gputrack: gpu_leak_limit needs a size: @pytest.mark.gpu_leak_limit("1MiB")',
        "test_no_number": "gputrack: gpu_peak_limit: 'much' is no size; write 4096, 64KiB, 1MiB or 2GiB",
        "TestCase::test_leaks": "gputrack: test_marks.py:10 leaks 1 buffer, 64 B",
        "TestFixture::test_last": "gputrack: test_marks.py:10 leaks 1 buffer, 65 B, of setup_class"}, done.out + done.err
    assert re.search(r"^4 failed, 2 passed, 2 xfailed, 1 error", done.out, re.M), done.out


def test_says_what_it_needs(case):
    need_modules(case, "pytest")
    case.path("test_nothing.py").write_text("def test_nothing():\n    pass\n")
    case.path("plain").mkdir()
    for module in ("gputrack.py", "gputrack_pytest.py"):
        shutil.copy(case.build / module, case.path("plain"))
    bare = pytest(case, "-p", "gputrack_pytest", env=python_env(case, PYTHONPATH=str(case.path("plain"))))
    assert bare.status == 4, bare.out + bare.err
    assert "there is no program gputrack; install it, or add its folder to PATH" in bare.err, bare.err
    # a run without a GPU passes, and says that it has judged nothing
    done = case.gputrack("run", "-q", "-o", "a.gt", PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--gputrack",
                         env=python_env(case))
    assert done.status == 0, done.out + done.err
    assert "gputrack: no GPU resource was created, so no test was judged" in done.out, done.out
