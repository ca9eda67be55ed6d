# SPDX-License-Identifier: MIT
"""held_stacks.py TITLE REPORT.json… - stacks for tests/unit/held_stacks.txt, from leakage reports.

A REPORT is the JSON of `gputrack report -a leakage --all-frames --no-held`, or a file of several by
name, as tests/gpu/held.sh writes it. Each distinct stack is printed once, with the name of the first
report that has it:

    held opencl.program clCreateProgramWithSource  torch_training
    <TAB>libopencv_core.so.4.6.0<TAB>cv::ocl::Context::getProg

Runs of nameless frames of one library are one frame here, long names are cut, and a stack ends with
its first frame of Python: what lies further out differs from script to script. Stacks through Python's ctypes are the test programs' own leaks and begin with "leak" instead. Whoever
adds the output to the list reads it first: "held" is what was found, not yet what is right.
"""
import json
import os
import sys

FRAMES = 20
NAME = 120


def module_text(path):
    """The file's name; for a module of a Python package, whose names are common, its place there."""
    name = os.path.basename(path)
    _, package, place = path.rpartition("/site-packages/")
    return place if package and not name.startswith("lib") else name


def frame_text(frame):
    module = module_text(frame["module"] or "")
    function = (frame["function"] or "")[:NAME]
    return f"\t{module}\t{function}".rstrip("\t") or "\t?"


def frame_texts(stack):
    texts = []
    for frame in stack:
        text = frame_text(frame)
        if frame["function"] or not texts or texts[-1] != text:
            texts.append(text)
        if frame["module"] == "Python" or len(texts) == FRAMES:
            break
    return texts


def stacks(report):
    for group in report.get("groups", []):
        frames = frame_texts(group["stack"])
        own = any("_ctypes" in f for f in frames)
        function = group["objects"][0]["function"] if group["objects"] else "?"
        kind = f"{group['api']}.{group['kind'].replace(' ', '-')}"
        yield f"{'leak' if own else 'held'} {kind} {function}", "\n".join(frames)


def main():
    title, *files = sys.argv[1:]
    seen = set()
    print(f"# {title}")
    for name in files:
        with open(name, encoding="utf-8") as file:
            content = json.load(file)
        content.pop("versions", None)
        reports = content if "schema" not in content else {
            os.path.basename(name).removesuffix(".json"): content}
        for case, report in reports.items():
            for head, frames in stacks(report):
                if (head, frames) not in seen:
                    seen.add((head, frames))
                    print(f"\n{head}  {case}\n{frames}")


if __name__ == "__main__":
    main()
