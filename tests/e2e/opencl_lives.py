# SPDX-License-Identifier: MIT
"""opencl_lives.py - lifetimes of OpenCL objects: from a program's own log, and from gputrack."""
import collections
import os
import pathlib

# The programs' names of kinds -> gputrack's, where they differ.
KINDS = {"svm": "SVM block", "host-memory": "host memory", "device-memory": "device memory",
         "shared-memory": "shared memory"}
# One release call serves a whole family, so its event has the family's name.
FAMILIES = {"sub-buffer": "buffer", "image": "buffer", "pipe": "buffer",
            "host memory": "device memory", "shared memory": "device memory"}

# Where another tool probes the returns of a library, only the kernel knows its callers.
HIDDEN = "[caller hidden by another tool's return probe]"

Life = collections.namedtuple("Life", "effect kind handle bytes where")


def read_log(path):
    """The calls in a program's own --log; kill -9 can truncate the last line."""
    lives = []
    for line in pathlib.Path(path).read_text().split("\n")[:-1]:
        effect, kind, handle, *rest = line.split()
        kind = KINDS.get(kind, kind)
        if effect == "create":
            lives.append(Life(effect, kind, handle, int(rest[0]), f"{rest[2]}:{rest[1]}"))
        else:
            lives.append(Life(effect, FAMILIES.get(kind, kind), handle, None, None))
    return lives


def where(stack, *files):
    """file:line of the innermost frame in one of the program's sources, or of any frame at all."""
    for frame in stack:
        if frame["function"] == HIDDEN:
            return HIDDEN
        name = os.path.basename(frame["file"] or "")
        if frame["line"] and (not files or name in files):
            return f"{name}:{frame['line']}"
    return None


def read_events(events, *files):
    """The same from gputrack's finished events; programs log a free as a release."""
    lives = []
    for event in events:
        if event["outcome"] != "done":
            continue
        if event["effect"] == "create":
            lives.append(Life("create", event["kind"], event["handle"], event["bytes"],
                              where(event["stack"], *files)))
        else:
            effect = "retain" if event["effect"] == "retain" else "release"
            lives.append(Life(effect, event["kind"], event["handle"], None, None))
    return lives


def but_for_hidden(recorded, logged):
    """The recorded calls; those whose callers another tool has hidden have the logged places."""
    return [r._replace(where=l.where) if r.where == HIDDEN else r for r, l in zip(recorded, logged)]


def by_handle(lives):
    """The calls of each handle, in order; driver threads may reorder different handles."""
    table = collections.defaultdict(list)
    for life in lives:
        table[FAMILIES.get(life.kind, life.kind), life.handle].append(life)
    return dict(table)


def living(lives):
    """handle -> (kind, bytes, references, where) of what is left in the end."""
    left = {}
    for life in lives:
        key = FAMILIES.get(life.kind, life.kind), life.handle
        if life.effect == "create":
            left[key] = [life.kind, life.bytes, 1, life.where]
        else:
            left[key][2] += 1 if life.effect == "retain" else -1
            if not left[key][2]:
                del left[key]
    return {handle: tuple(what) for (_, handle), what in left.items()}


def leaked(report, *files):
    """The same of a leakage or summary report."""
    left = {}
    for group in report["groups"]:
        for item in group["objects"]:
            left[item["handle"]] = (group["kind"], item.get("view_bytes", item["bytes"]),
                                    item["references"], where(group["stack"], *files))
    return left


SOURCES = {"objects": ("objects.c", "objects_enqueue.c", "objects_memory.c"),
           "killed": ("killed.c",)}


def assert_nothing_lost(report):
    assert report["lost"] == 0, report["lost"]
    for process in report["recording"]["processes"]:
        assert process["lost_stacks"] == 0 and process["unknown"] == 0, process
        assert process["damage"] is None, process
