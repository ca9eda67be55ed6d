# SPDX-License-Identifier: MIT
"""Asks gputrack, from inside the Python that it records, which GPU resources are alive.

    import gputrack

    before = gputrack.snapshot()
    work()
    for leak in gputrack.leaks(before):
        print(leak)        # 1 buffer, 4.00 KiB: test.py:12 in work

In a notebook: %load_ext gputrack, then %%gputrack as the first line of a cell.
Without `gputrack run` everything here raises NotRecorded, which says what to do. doc/live-objects.md
"""
import ctypes
import gc
import os
import shutil
import sys

__all__ = ["Leak", "NotRecorded", "Resource", "Snapshot", "diff", "is_recorded", "leaks", "peak", "snapshot", "tool"]


class _Mark(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("time_ns", "resources", "device_bytes", "block_bytes")]


class _Span(ctypes.Structure):
    _fields_ = [("from_ns", ctypes.c_uint64), ("to_ns", ctypes.c_uint64)]


class _Resource(ctypes.Structure):
    _fields_ = ([("struct_size", ctypes.c_size_t)] +
                [(name, ctypes.c_uint64) for name in ("handle", "bytes", "time_ns")] +
                [(name, ctypes.c_char_p) for name in ("api", "kind", "created_by")] +
                [(name, ctypes.c_uint64) for name in ("references", "thread", "owner")])


class _Site(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("count", ctypes.c_uint64), ("bytes", ctypes.c_uint64),
                ("what", ctypes.c_char_p), ("api", ctypes.c_char_p), ("kind", ctypes.c_char_p),
                ("created_by", ctypes.c_char_p), ("place", ctypes.c_char_p), ("file", ctypes.c_char_p),
                ("line", ctypes.c_uint), ("stack", ctypes.c_char_p), ("excused", ctypes.c_char_p)]


_ResourceFn = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Resource))
_SiteFn = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Site))
_FOREVER = 2**64 - 1


def _load():
    """gputrack's functions, as include/gputrack/live.h has them; None: this process is not recorded."""
    path = os.environ.get("GPUTRACK_LIBRARY")
    if not path:
        return None
    try:
        library = ctypes.CDLL(path)
        types = {"now": (ctypes.c_int, ctypes.POINTER(_Mark)),
                 "peak": (ctypes.c_int, ctypes.c_uint64, ctypes.POINTER(_Mark)),
                 "list": (ctypes.c_long, ctypes.POINTER(_Span), ctypes.c_size_t, _ResourceFn, ctypes.c_void_p),
                 "sites": (ctypes.c_long, ctypes.POINTER(_Span), ctypes.c_size_t, _SiteFn, ctypes.c_void_p)}
        for name, (result, *arguments) in types.items():
            function = getattr(library, "gt_live_query_" + name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError):
        return None
    return library if library.gt_live_query_now(_Mark()) else None


_library = _load()


class NotRecorded(RuntimeError):
    """gputrack does not record this process."""

    def __init__(self):
        if "ipykernel" in sys.modules:
            how = "start Jupyter under it (gputrack run jupyter lab) and open the notebook again"
        else:
            how = "start it with: gputrack run python3 …"
        super().__init__("gputrack does not record this process; " + how)


class Snapshot:
    """A moment, and how much was alive then, counted from the first snapshot of the process on."""

    def __init__(self, mark):
        self.time_ns = mark.time_ns            # time.monotonic_ns()
        self.resources = mark.resources
        self.device_bytes = mark.device_bytes  # memory that drivers gave out
        self.block_bytes = mark.block_bytes    # blocks of pools, which lie in it

    def __repr__(self):
        return f"<gputrack.Snapshot: {self.resources} resources, {self.device_bytes} bytes of device memory>"


class Resource:
    """A living resource."""

    def __init__(self, raw):
        self.handle, self.bytes, self.time_ns = raw.handle, raw.bytes, raw.time_ns
        self.api, self.kind, self.created_by = raw.api.decode(), raw.kind.decode(), raw.created_by.decode()
        self.references, self.thread, self.owner = raw.references, raw.thread, raw.owner

    def __repr__(self):
        size = f", {size_text(self.bytes)}" if self.bytes else ""
        return f"<gputrack.Resource: {self.kind}{size}, by {self.created_by}>"


class Leak:
    """Living resources of one kind and call site."""

    def __init__(self, raw):
        def text(name):
            return getattr(raw, name).decode(errors="replace")
        self.count, self.bytes, self.line = raw.count, raw.bytes, raw.line
        self.what, self.api, self.kind = text("what"), text("api"), text("kind")
        self.created_by, self.place, self.file = text("created_by"), text("place"), text("file")
        self.stack = text("stack").splitlines()
        self.excused = text("excused")  # why it is no leak; "" if it is one

    @property
    def where(self):
        """test.py:12, as seen from the current folder; "" if the line is unknown."""
        if not self.file:
            return ""
        path = os.path.relpath(self.file)
        return f"{self.file if path.startswith('..') else path}:{self.line}"

    def __str__(self):
        text = f"{self.what}, by {self.created_by} at {self.place}"
        return f"{text} ({self.excused})" if self.excused else text

    def __repr__(self):
        return f"<gputrack.Leak: {self}>"


def size_text(size):
    """4096 as 4.00 KiB."""
    unit = 0
    while size >= 1024 and unit < 4:
        size, unit = size / 1024, unit + 1
    if not unit:
        return f"{size} B"
    return f"{size:.{max(0, 3 - len(str(int(size))))}f} {('KiB', 'MiB', 'GiB', 'TiB')[unit - 1]}"


def _recorder():
    if not _library:
        raise NotRecorded()
    return _library


def is_recorded():
    """True in a process that gputrack records."""
    return _library is not None


def snapshot():
    """The present moment, to compare with later."""
    mark = _Mark()
    _recorder().gt_live_query_now(mark)
    return Snapshot(mark)


def _spans(since):
    """A snapshot, None for the first, or a list of (from, to) in nanoseconds."""
    if since is None:
        since = 0
    if isinstance(since, Snapshot):
        since = since.time_ns
    if isinstance(since, int):
        since = [(since, _FOREVER)]
    return (_Span * len(since))(*(_Span(*one) for one in since)), len(since)


def count(since=None):
    """How many resources diff would list."""
    return _recorder().gt_live_query_list(*_spans(since), _ResourceFn(), None)


def diff(since=None):
    """The resources created since a snapshot that are alive, the newest first."""
    found = []

    def take(_, raw):
        found.append(Resource(raw.contents))
        return 1
    _recorder().gt_live_query_list(*_spans(since), _ResourceFn(take), None)
    return found


def leaks(since=None, excused=False):
    """The same by call site, with files and lines, after a garbage collection. `excused`: also what is
    no leak: caches of libraries, and what suppressions cover."""
    found = []

    def take(_, raw):
        found.append(Leak(raw.contents))
        return 1
    if not count(since):
        return found
    gc.collect()
    if not count(since):
        return found
    if _recorder().gt_live_query_sites(*_spans(since), _SiteFn(take), None) < 0:
        raise RuntimeError(f"gputrack cannot list what is alive: {found[0].excused}")
    return [leak for leak in found if excused or not leak.excused]


def peak(since):
    """The most device memory that was alive at once since a snapshot, beyond what was alive then, in bytes.
    If blocks of pools (PyTorch's, your own) were created, these are counted, not the memory around them."""
    mark = _Mark()
    _recorder().gt_live_query_peak(since.time_ns, mark)
    blocks = mark.block_bytes - since.block_bytes
    return blocks if blocks > 0 else max(0, mark.device_bytes - since.device_bytes)


def seen(since):
    """True if any resource was alive since a snapshot."""
    mark = _Mark()
    _recorder().gt_live_query_peak(since.time_ns, mark)
    return mark.resources > 0


def tool():
    """The path of the gputrack program; None if there is none."""
    here = os.path.dirname(os.path.abspath(__file__))
    for path in os.environ.get("GPUTRACK_TOOL"), os.path.join(here, "gputrack"), shutil.which("gputrack"):
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def report_text(since):
    """What a cell left behind, in lines."""
    found = leaks(since, excused=True)
    lines = [f"{leak.what} left alive: {leak.place}" for leak in found if not leak.excused]
    other = [leak for leak in found if leak.excused]
    if other:
        total = sum(leak.bytes for leak in other)
        lines.append(f"not counted: {sum(leak.count for leak in other)} resources, {size_text(total)} "
                     f"({'; '.join(sorted({leak.excused for leak in other}))})")
    return lines or ["nothing left alive"], peak(since)


def load_ipython_extension(ipython):
    """%load_ext gputrack: adds the magic %%gputrack."""
    def run_cell(line, cell):
        """Runs the cell, then prints its peak of device memory and what it left alive."""
        try:
            before = snapshot()
        except NotRecorded as error:
            print(error)
            before = None
        result = ipython.run_cell(cell)
        if before is None:
            return
        del result
        lines, most = report_text(before)
        print(f"gputrack: peak {size_text(most)}, " + lines[0])
        for text in lines[1:]:
            print("gputrack: " + text)
    ipython.register_magic_function(run_cell, "cell", "gputrack")
