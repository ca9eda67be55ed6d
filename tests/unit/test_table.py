#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_table.py - the compiler catches a row, a layout, a slot or a kind that is wrong: SOURCE BUILD

Doors are compiled again, without an output, with .def files that were made wrong on purpose. Each
compilation must fail, and name what is wrong.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SOURCE, BUILD = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
API = SOURCE / "src" / "api"
COMMANDS = {str((pathlib.Path(entry["directory"]) / entry["file"]).resolve().relative_to(SOURCE)): entry
            for entry in json.loads((BUILD / "compile_commands.json").read_text())
            if (pathlib.Path(entry["directory"]) / entry["file"]).resolve().is_relative_to(SOURCE / "src")}
# the file that compares the rows of each .def file with the API's header
DOORS = {"opencl.def": "src/capture/opencl/opencl_layer.c",
         "opencl_ext.def": "src/capture/opencl/opencl_layer.c",
         "levelzero.def": "src/capture/levelzero/wrappers.c",
         "levelzero_tools.def": "src/capture/levelzero/wrappers.c",
         "levelzero_ext.def": "src/capture/levelzero/by_address.c",
         "cuda.def": "src/capture/cuda/direct.c"}
# without CUDA's header there is nothing to compare its rows with
if "GT_HAVE_CUDA_H" not in COMMANDS.get(DOORS["cuda.def"], {}).get("command", ""):
    COMMANDS.pop(DOORS["cuda.def"], None)
ROW = re.compile(r"^FN\((\w+),.*?\n(?=FN|ALSO|/\*|\n|\Z)", re.M | re.S)
# rows that stand for what nobody calls
NO_CALLS = {"cuda_static.def", "nsys.def", "pool.def", "own_pool.def"}
# rows that no test calls: no driver here has them, and nobody has written a stand-in yet
UNTRIED = set("""
clCreateFromEGLImageKHR clCreateFromGLBuffer clCreateFromGLRenderbuffer clCreateFromGLTexture
clCreateFromGLTexture2D clCreateFromGLTexture3D clEnqueueAcquireEGLObjectsKHR
clEnqueueAcquireGLObjects clEnqueueReleaseEGLObjectsKHR clEnqueueReleaseGLObjects
clCreateBufferWithPropertiesINTEL clCreateCommandQueueWithPropertiesKHR
clCreateImageWithPropertiesINTEL clCreatePerfCountersCommandQueueINTEL clCreateProgramWithILKHR
clEnqueueAcquireExternalMemObjectsKHR clEnqueueMemAdviseINTEL clEnqueueMemFillINTEL
clEnqueueMemcpyINTEL clEnqueueMemsetINTEL clEnqueueMigrateMemINTEL clEnqueueNDCountKernelINTEL
clEnqueueReleaseExternalMemObjectsKHR clEnqueueReleaseVA_APIMediaSurfacesINTEL clEnqueueSVMFreeARM
clEnqueueSVMMapARM clEnqueueSVMMemFillARM clEnqueueSVMMemcpyARM clEnqueueSVMUnmapARM
clEnqueueSignalSemaphoresKHR clEnqueueWaitSemaphoresKHR clImportMemoryARM
clRetainCommandBufferKHR clRetainSemaphoreKHR zeModuleInspectLinkageExt
""".split())
failures = []


def expect(condition, text):
    if not condition:
        print("FAIL", text)
        failures.append(text)


def compile_with(source, changed, *more):
    """The compiler's messages for a file of src/ with these files of src/api/ replaced."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in changed.items():
            path = pathlib.Path(folder) / "api" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        entry = COMMANDS[source]
        command = shlex.split(entry["command"])
        for option in ("-o", "-MF", "-MQ"):
            at = command.index(option)
            del command[at:at + 2]
        command = [word for word in command if word not in ("-MD", "-c")]
        first = next(i for i, word in enumerate(command) if word.startswith("-"))  # after ccache, too
        command[first:first] = ["-fsyntax-only", "-I" + folder]
        command += [*more, "-fdiagnostics-color=never"]
        return subprocess.run(command, cwd=entry["directory"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})


def compile_text(door, text):
    """The compiler's messages for a text compiled with the declarations of a door."""
    entry = COMMANDS[door]
    command = [word for word in shlex.split(entry["command"]) if word.startswith(("-I", "-D", "-std"))]
    system = re.findall(r"-isystem (\S+)", entry["command"])
    return subprocess.run(["cc", *command, *[f"-isystem{path}" for path in system], "-fsyntax-only",
                           "-xc", "-"], cwd=entry["directory"], input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True).stdout


def rows(text):
    return {match[1]: match[0] for match in ROW.finditer(text)}


def each_row(text, change):
    return ROW.sub(lambda match: change(match[0]), text)


def undeclared():
    return set(re.findall(r"^#define GT_UNDECLARED_(\w+) +~,$", (API / "row_check.h").read_text(), re.M))


def disagrees(output):
    return set(re.findall(r'"(\w+): its row is not what', output))


def wrong_type(row):
    """The last argument of a row has another type."""
    return re.sub(r"\([^(),]+,(\s*\w+\s*\)\s*\),)", r"(struct wrong,\1", row, count=1)


def wrong_result(row):
    return re.sub(r"^(FN\(\w+,\s*)(?:(STATUS|STATUS_ANY|HANDLE)\([^()]*\)|HANDLE_OR\([^,]*,|NOTHING)",
                  lambda m: m[1] + ("HANDLE_OR(struct wrong *," if "HANDLE_OR" in m[0] else
                                    f"{m[2] or 'HANDLE'}(struct wrong *)"), row)


def check_rows(door, texts):
    compared = set()
    for name, text in texts.items():
        compared |= set(rows(text)) - undeclared()
        expect(len(rows(text)) == len(re.findall(r"^FN\(", text, re.M)) > 0, f"{name}: its rows were found")
    done = compile_with(door, texts)
    expect(done.returncode == 0, f"{door}: compiles as it is\n{done.stdout[:2000]}")
    for what, change in (("argument", wrong_type), ("result", wrong_result),
                         ("number of arguments", lambda row: row.replace("((", "((int, added), (", 1))):
        if not compared:
            break
        wrong = {name: each_row(text, change) for name, text in texts.items()}
        found = disagrees(compile_with(door, wrong).stdout)
        expect(found == compared, f"{door}: a wrong {what} is caught in every row that the header declares, "
               f"and not in {sorted(compared ^ found)}")


def check_layouts(name):
    """Every offset that a size column gives is compared, and so is every size."""
    text = (API / name).read_text()
    if not re.search(r"\b(AT|AT_AS|PAIR|ARG|HEAD|ASK_OR|KEEP|BYTES_KEEP|ASK_ONLY)\b", text):
        return
    fields = len(re.findall(r"\bAT(?:_AS)?\(", text)) + 2 * len(re.findall(r"\bPAIR\(", text))
    moved = re.sub(r"\b(AT|AT_AS)(\([^()]*, )(\d+)(, \d\))", r"\g<1>\g<2>1\3\4", text)
    moved = re.sub(r"\b(PAIR\([^()]*, )(\d+)\)", r"\g<1>1\2)", moved)
    said = compile_with(DOORS[name], {name: moved}).stdout
    expect(said.count('assertion failed: "') == fields > 0 or not fields,
           f"{name}: {fields} fields lie where the header puts them, "
           f"{said.count('assertion failed: ')} are compared")
    words = len(re.findall(r"\b(?:ARG|HEAD)\(\w+, \d\)", text))
    other = re.sub(r"\b(ARG|HEAD)(\(\w+, )\d\)", r"\g<1>\g<2>3)", text)
    said = compile_with(DOORS[name], {name: other}).stdout
    # a `void *` points to bytes of any number
    words -= len(re.findall(r"\bHEAD\(code,", text))
    expect(said.count('assertion failed: "') == words, f"{name}: {words} words have the header's size")
    expect(fields + words > 0 or not re.search(r"\b(ASK_OR|KEEP|BYTES_KEEP)\(", text), f"{name}: layouts were found")
    bare = re.sub(r"\bASK_ONLY\b", "ASK", text)
    expect(bare == text or compile_with(DOORS[name], {name: bare}).returncode,
           f"{name}: a size that the driver knows needs a layout, or ASK_ONLY")


def check_by_value(name):
    """Attach counts registers: it must know every argument that takes more than one word."""
    text = (SOURCE / "src/capture/ebpf/probe_rows.c").read_text()
    words = dict(re.findall(r'{ "(\w+)", (\d+) }', text[text.index("by_value[]"):text.index("skip(")]))
    expect(len(words) > 4, "probe_rows.c: by_value was found")
    room = DOORS[name].split("/")[2]
    types = set()
    for fn, row in rows((API / name).read_text()).items():
        arguments = re.search(r"\((?:\s*\([^()]*\),?)+\s*\)", row)[0]
        pairs = re.findall(r"\(([^(),]+),\s*\w+\s*\)", arguments)
        expect(len(pairs) == arguments.count("(") - 1, f"{name}: the arguments of {fn} are (type, name) pairs")
        types |= {" ".join(kind.split()) for kind in pairs}
    said = compile_text(DOORS[name], f'#include "capture/{room}/{room}.h"\n' + "".join(
        f'_Static_assert((sizeof({kind}) + 7) / 8 == {words.get(kind.replace("const ", "", 1), 1)}, "{kind}");\n'
        for kind in sorted(types)))
    expect(not said, f"{name}: probe_rows.c's by_value says how many words an argument takes\n{said[:800]}")


def check_tried():
    """A row is called by a program of the end-to-end tests."""
    words = set()
    for path in (SOURCE / "tests/e2e/programs").glob("*.[ch]"):
        words |= set(re.findall(r"\w+", path.read_text(errors="replace")))
    generated = {"levelzero_tools.def", "levelzero_ext.def"}  # ze_rows.c calls what these list
    for name in set(DOORS) - generated:
        for fn in rows((API / name).read_text()):
            expect((fn in words) != (fn in UNTRIED),
                   f"{name}: {fn} is called by a program in tests/e2e/programs/, or listed as UNTRIED")


def check_undeclared():
    """A name in the list that the headers do declare; newer headers than Debian bookworm's may."""
    release = pathlib.Path("/etc/debian_version")
    if not release.exists() or not release.read_text().startswith("12"):
        return
    listed = undeclared()
    known = set()
    for name, door in DOORS.items():
        mine = set(rows((API / name).read_text())) & listed
        known |= mine
        if door not in COMMANDS:
            continue
        guard = "\n".join(f"extern char {fn};" for fn in sorted(mine))
        text = (API / "row_check.h").read_text() + "\n" + guard + "\n"
        said = compile_with(door, {"row_check.h": text}).stdout
        declared = sorted(set(re.findall(r"error: .(\w+). redeclared", said)))
        expect(not declared, f"row_check.h lists what the headers declare: {declared}")
        # … and a function that they do not declare must be listed
        for fn in sorted(mine)[:1]:
            text = re.sub(rf"#define GT_UNDECLARED_{fn} +~,\n", "", (API / "row_check.h").read_text())
            said = compile_with(door, {"row_check.h": text}).stdout
            expect(re.search(rf"error: .{fn}. undeclared", said), f"row_check.h must list {fn}")
    expect(known == listed, f"row_check.h lists what has no row: {sorted(listed - known)}")


def check_kinds():
    """A kind is one whole row; no switch has a `default` that would swallow a new one."""
    text = (API / "kinds.def").read_text()
    apis = re.findall(r"^API\((\w+)", (API / "apis.def").read_text(), re.M)
    # the two APIs of pools share a column
    whole = f'KIND(DUMMY, "dummy", "dummies", DUMMY, NO, 0, OTHER{", NULL" * (len(apis) - 1)})\n'
    source = "src/api/functions.c"
    expect(not compile_with(source, {"kinds.def": text + whole}).returncode, "one row is a kind")
    for wrong in (whole.replace(", NULL)", ")"), whole.replace("DUMMY, NO", "NOBODY, NO"),
                  whole.replace(" NO,", " NOWHERE,"), whole.replace("OTHER", "UNLABELLED"),
                  whole.replace("NULL,", '"cl_dummy",', 1)):
        expect(compile_with(source, {"kinds.def": text + wrong}).returncode, f"{wrong.strip()} is caught")
    if DOORS["opencl.def"] in COMMANDS:
        wrong = whole.replace("NULL,", 'CL("cl_dummy", NO_SUCH_QUERY),', 1)
        done = compile_with("src/capture/opencl/opencl_driver.c", {"kinds.def": text + wrong})
        expect(done.returncode, "an OpenCL kind says how its context is found")
    header = (API / "functions.h").read_text()
    values = {"GT_" + kind for kind in re.findall(r"^KIND\((\w+)", text, re.M)}
    values |= {"GT_" + api for api in apis}
    for enum in ("effect", "result", "memory", "from", "formula", "on"):
        values |= set(re.findall(r"GT_\w+", re.search(rf"enum gt_{enum} {{(.*?)}}", header, re.S)[1]))
    for source, entry in sorted(COMMANDS.items()):
        if "-Werror=switch" not in entry["command"]:
            expect(False, f"{source} is compiled without -Werror=switch")
        if not source.endswith(".c") or "default:" not in (SOURCE / source).read_text():
            continue
        said = compile_with(source, {}, "-Wswitch-enum").stdout
        hidden = set(re.findall(r"enumeration value .(GT_\w+). not handled", said)) & values
        expect(not hidden, f"{source}: a `default` swallows {sorted(hidden)[:3]}")


if "clang" in subprocess.run([shlex.split(next(iter(COMMANDS.values()))["command"])[0], "--version"],
                             stdout=subprocess.PIPE, text=True).stdout:
    print("the messages looked for are gcc's")
    sys.exit(77)
for def_file in re.findall(r'^#include "api/(\w+\.def)"', (API / "apis.def").read_text(), re.M):
    expect(def_file in DOORS or def_file in NO_CALLS, f"{def_file} has rows that no door compares")
for door_file in sorted(set(DOORS.values()) & set(COMMANDS)):
    check_rows(door_file, {name: (API / name).read_text() for name in DOORS if DOORS[name] == door_file})
for def_file, source_file in DOORS.items():
    if source_file in COMMANDS:
        check_layouts(def_file)
        check_by_value(def_file)
check_tried()
check_undeclared()
check_kinds()
sys.exit(1 if failures else 0)
