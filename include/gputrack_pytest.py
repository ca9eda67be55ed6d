# SPDX-License-Identifier: MIT
"""A plugin for pytest: fails each test that leaves GPU resources behind.

    pytest --gputrack

    @pytest.mark.gpu_leak_limit("1MiB")     # so much memory may stay
    @pytest.mark.gpu_peak_limit("64MiB")    # no more at once, beyond what was alive before
    @pytest.mark.gpu_no_leaks               # the default; in a file or class with a limit

pytest starts itself again under `gputrack run`, and asks the recorder before and after each test what is
alive. What a fixture of a wider scope creates is that fixture's. doc/ci.md
"""
import os
import re
import shlex
import sys

import pytest

_STARTED = "GPUTRACK_PYTEST"
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_MARKERS = (
    'gpu_no_leaks: with --gputrack, the test must not leave any GPU resource behind (the default)',
    'gpu_leak_limit(size, resources=None): with --gputrack, memory of this size ("1MiB") may stay behind, and '
    'so many resources without bytes (default: any number)',
    'gpu_peak_limit(size): with --gputrack, the test must not use more device memory than this at once, beyond '
    'what was alive before it',
)


def pytest_addoption(parser):
    group = parser.getgroup("gputrack", "leaks of GPU resources")
    group.addoption("--gputrack", action="store_true",
                    help="fail each test that leaves GPU resources behind; starts pytest under `gputrack run`")
    group.addoption("--gputrack-run", metavar="OPTIONS", default="",
                    help='options for `gputrack run`, such as "--pools cpu" or "-o NAME.gt" (default: pytest.gt)')
    group.addoption("--gputrack-suppressions", metavar="FILE", action="append", default=[],
                    help="ignore the leaks listed in FILE; may be repeated")
    parser.addini("gputrack_judge", "which tests --gputrack judges: all (the default), or marked ones", default="all")


def _is_asked_for(options):
    return getattr(options, "gputrack", False)


def _command(config):
    """The command line of this process, without the interpreter; None if it is not one of pytest's."""
    arguments = list(map(str, config.invocation_params.args))
    line = getattr(sys, "orig_argv", None)  # since Python 3.10
    if line is None:
        line = [sys.executable, "-m", "pytest", *sys.argv[1:]]
    is_own = line[len(line) - len(arguments):] == arguments and "-c" not in line[:2]
    return line[1:] if is_own else None


def _restart(config, options):
    """Replaces this process with the same under `gputrack run`, unless it is recorded already."""
    import gputrack
    for path in options.gputrack_suppressions:
        path = os.path.abspath(path)
        if not os.path.isfile(path):
            raise pytest.UsageError(f"--gputrack-suppressions: there is no file {path}")
        line = f"suppressions = {path}"
        if line not in os.environ.get("GPUTRACK_OPTIONS", "").split("; "):
            os.environ["GPUTRACK_OPTIONS"] = "; ".join(filter(None, (os.environ.get("GPUTRACK_OPTIONS"), line)))
    if gputrack.is_recorded():
        return
    tool, command = gputrack.tool(), _command(config)
    if os.environ.get(_STARTED):
        raise pytest.UsageError("--gputrack: gputrack does not record this process, although it started it; "
                                "`gputrack doctor` may know why")
    if not tool:
        raise pytest.UsageError("--gputrack: there is no program gputrack; install it, or add its folder to PATH")
    if not command:
        raise pytest.UsageError("--gputrack: pytest was started by a program, which cannot be started again; start "
                                "that under gputrack: gputrack run python3 …")
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture:
        capture.stop_global_capturing()
    sys.stdout.flush()
    sys.stderr.flush()
    os.environ[_STARTED] = "1"
    os.execv(tool, [tool, "run", "--quiet", "--output", "pytest.gt", *shlex.split(options.gputrack_run), "--",
                    sys.executable, *command])


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_load_initial_conftests(early_config):
    # before the output is captured, and before anything is imported that would be imported again
    if _is_asked_for(early_config.known_args_namespace):
        _restart(early_config, early_config.known_args_namespace)
    yield


def pytest_configure(config):
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    if _is_asked_for(config.option):
        # for a plugin that conftest.py names
        _restart(config, config.option)
        config.pluginmanager.register(_Judge(config), "gputrack-judge")


def size_of(text):
    """"1MiB", "500M", "4096" or a number, in bytes."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", str(text), re.IGNORECASE)
    if not found:
        raise ValueError(f"'{text}' is no size; write 4096, 64KiB, 1MiB or 2GiB")
    return int(float(found[1]) * 1024 ** _UNITS[found[2].upper()])


def _size_in(mark):
    """The size that a mark allows; ValueError says what is wrong with it."""
    size = mark.args[0] if mark.args else mark.kwargs.get("size")
    if size is None:
        raise ValueError(f'{mark.name} needs a size: @pytest.mark.{mark.name}("1MiB")')
    try:
        return size_of(size)
    except ValueError as error:
        raise ValueError(f"{mark.name}: {error}") from None


class _Limits:
    """What the marks of a test allow; None: no such mark. ValueError: a mark is wrong."""

    def __init__(self, item):
        leak = next((mark for mark in item.iter_markers() if mark.name in ("gpu_no_leaks", "gpu_leak_limit")), None)
        peak = item.get_closest_marker("gpu_peak_limit")
        self.judges_leaks = leak is not None
        self.leak_bytes = _size_in(leak) if leak and leak.name == "gpu_leak_limit" else None
        self.leak_resources = leak.kwargs.get("resources") if leak else None
        self.peak_bytes = _size_in(peak) if peak else None


_XPASS = "[XPASS(strict)] "


def _passed(report):
    """True if only a leak can be wrong with the test; also if it is marked xfail and did not fail by itself."""
    return report is not None and (report.passed or str(report.longrepr).startswith(_XPASS.strip()))


def _without(span, others):
    """The parts of a span that others do not cover."""
    parts = [span]
    for begin, end in others:
        parts = [piece for a, b in parts for piece in ((a, min(b, begin)), (max(a, end), b)) if piece[0] < piece[1]]
    return parts


def _own_frames(stack):
    """Those with a line, up to pytest's own."""
    own = next((i for i, frame in enumerate(stack) if "/_pytest/" in frame or "/pluggy/" in frame), len(stack))
    return [frame for frame in stack[:own] if re.search(r":\d+$", frame)] or stack[:min(own, 8)]


def _text_of(leaks):
    lines = []
    for leak in leaks:
        lines += [f"{leak.what}, by {leak.created_by} ({leak.api})", f"    {leak.place}"]
        lines += [f"      {frame}" for frame in _own_frames(leak.stack)]
    return "\n".join(lines)


def _failure(report, headline, leaks, path, line):
    """The report's text, with the place of the first leak, as pytest and its JUnit file show failures."""
    from _pytest._code.code import ExceptionChainRepr, ReprEntryNative, ReprFileLocation, ReprTraceback
    where = next((leak.where for leak in leaks if leak.file), None)
    if where:
        path, line = where.rsplit(":", 1)
        headline = f"{where} leaks {headline}"
    elif leaks:
        headline = f"leaks {headline}"
    text = f"gputrack: {headline}\n{_text_of(leaks)}".rstrip() + "\n"
    crash = ReprFileLocation(str(path), int(line), f"gputrack: {headline}")
    if report.failed:  # strict xfail, which passed without the leak
        report.wasxfail = str(report.longrepr)[len(_XPASS):]
    report.outcome = "skipped" if hasattr(report, "wasxfail") else "failed"
    report.longrepr = ExceptionChainRepr([(ReprTraceback([ReprEntryNative([text])], None, style="native"), crash,
                                           None)])


class _Unplaced:
    """A leak of which only the resource is known."""
    count, file, where, stack = 1, "", "", ()

    def __init__(self, resource, error):
        import gputrack
        self.kind, self.api, self.created_by = resource.kind, resource.api, resource.created_by
        self.bytes = resource.bytes
        self.what = f"1 {resource.kind}" + (f", {gputrack.size_text(resource.bytes)}" if resource.bytes else "")
        self.place = f"({error})"


class _Fixture:
    """A fixture of a wider scope than a test, and the spans of time in which it was at work."""

    def __init__(self, definition):
        code = getattr(definition.func, "__code__", None)
        self.name, self.scope = definition.argname, definition.scope
        self.path = code.co_filename if code else "?"
        self.line = code.co_firstlineno if code else 0
        self.spans = []

    def __str__(self):
        # pytest makes fixtures of setup_module, setUpClass and the like
        hidden = re.match(r"_(?:xunit|unittest)_(\w+?)_fixture", self.name)
        return hidden[1] if hidden else f"the {self.scope} fixture '{self.name}'"


class _Judge:
    def __init__(self, config):
        import gputrack
        self.gputrack = gputrack
        self.config = config
        self.marked_only = config.getini("gputrack_judge") == "marked"
        self.first = gputrack.snapshot()
        self.has_seen = False    # any resource at all
        self.working = []        # fixtures whose code runs now, and since when
        self.others = []         # spans of this test in which fixtures of wider scopes worked
        self.ended = []          # such fixtures that ended with this test
        self.measured, self.peak = self.first, 0

    def pytest_report_header(self):
        recording = os.path.relpath(os.environ.get("GPUTRACK_RECORDING", "?"))
        return f"gputrack: recording into {recording}, judging {'marked' if self.marked_only else 'all'} tests"

    # What fixtures create.

    def _enter(self, fixture):
        self.peak = max(self.peak, self.gputrack.peak(self.measured))
        self.working.append((fixture, self.gputrack.snapshot().time_ns, len(self.others)))

    def _leave(self):
        fixture, begin, inner = self.working.pop()
        self.measured = self.gputrack.snapshot()
        span = (begin, self.measured.time_ns)
        fixture.spans += _without(span, self.others[inner:])
        self.others.append(span)

    def _end(self, fixture):
        self._leave()
        self.ended.append(fixture)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope == "function":
            yield
            return
        fixture = _Fixture(fixturedef)
        # finalizers run in reverse order: this one after the fixture's own, the other before them
        fixturedef.addfinalizer(lambda: self._end(fixture))
        self._enter(fixture)
        yield
        self._leave()
        fixturedef.addfinalizer(lambda: self._enter(fixture))

    # What tests leave behind.

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        from _pytest.runner import runtestprotocol
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        self.others, self.ended, self.peak = [], [], 0
        self.measured = before = self.gputrack.snapshot()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        self.peak = max(self.peak, self.gputrack.peak(self.measured))
        self._judge(item, {report.when: report for report in reports}, before)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _judge(self, item, reports, before):
        call, teardown = reports.get("call"), reports.get("teardown")
        # a test that failed holds what its traceback refers to
        if _passed(call):
            try:
                self._judge_test(item, call, before, _Limits(item))
            except ValueError as error:
                _failure(call, str(error), [], item.location[0], (item.location[1] or 0) + 1)
        for fixture in self.ended if not self.marked_only else ():
            leaks = self._fixture_leaks(fixture)
            if teardown and teardown.passed and leaks:
                _failure(teardown, f"{self._sum(leaks)}, of {fixture}", leaks, fixture.path, fixture.line)

    def _judge_test(self, item, report, before, limits):
        if limits.judges_leaks or not self.marked_only:
            self._judge_leaks(item, report, before, limits)
        if limits.peak_bytes is not None and _passed(report):
            self._judge_peak(item, report, limits.peak_bytes)

    def _leaks(self, spans):
        try:
            return self.gputrack.leaks(spans)
        except RuntimeError as error:  # recording has stopped: what is alive is known, but not where it was made
            return [_Unplaced(one, error) for one in self.gputrack.diff(spans)]

    def _fixture_leaks(self, fixture):
        """Without contexts that only what a test has left behind keeps alive."""
        alive = self.gputrack.diff(fixture.spans)
        if not alive:
            return []
        leaks = self._leaks(fixture.spans)
        owners = {other.owner for other in self.gputrack.diff(_without((0, 2**64 - 1), fixture.spans))}
        kinds = {one.kind for one in alive if one.handle not in owners}
        return [leak for leak in leaks if leak.kind in kinds]

    def _sum(self, leaks):
        text = ", ".join(dict.fromkeys(leak.what for leak in leaks[:3]))
        return text + (f" and {len(leaks) - 3} more" if len(leaks) > 3 else "")

    def _judge_leaks(self, item, report, before, limits):
        gputrack = self.gputrack
        leaks = self._leaks(_without((before.time_ns, gputrack.snapshot().time_ns), self.others))
        if not leaks:
            return
        allowed = ""
        if limits.leak_bytes is not None:
            size, some = limits.leak_bytes, limits.leak_resources
            is_over = sum(leak.bytes for leak in leaks) > size
            if some is not None:
                is_over |= sum(leak.count for leak in leaks if not leak.bytes) > some
            if not is_over:
                return
            allowed = f"; allowed: {gputrack.size_text(size)}" + (f", {some} resources" if some is not None else "")
        _failure(report, self._sum(leaks) + allowed, leaks, *item.location[:2])

    def _judge_peak(self, item, report, size):
        if self.peak > size:
            text = self.gputrack.size_text
            _failure(report, f"device memory peaked at {text(self.peak)} in this test; allowed: {text(size)}", [],
                     item.location[0], (item.location[1] or 0) + 1)

    # Whether anything was judged at all.

    def pytest_sessionfinish(self, session):
        self.has_seen |= self.gputrack.seen(self.first)
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["gputrack_seen"] = self.has_seen

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        self.has_seen |= bool(getattr(node, "workeroutput", {}).get("gputrack_seen"))

    def pytest_terminal_summary(self, terminalreporter):
        if not self.has_seen:
            terminalreporter.write_line("gputrack: no GPU resource was created, so no test was judged")
