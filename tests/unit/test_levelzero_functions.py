#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_levelzero_functions.py - no function of Level Zero is overlooked: SOURCE BUILD

The function table and slots.def are compared with levelzero_functions.txt, and that list with the headers that the
door is compiled with: a function of newer headers has to be added to the list, with a row or with a reason.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys

SOURCE, BUILD = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
LIST = "tests/unit/levelzero_functions.txt"
# words in the name of a function that may create something
CREATES = re.compile(r"Create|Alloc|Open|Attach|Reserve|Import|Register(?!s)|Instantiate|Capture|Map(?!ping)|Activate|Acquire")
# of Sysman: chooses the events that zesDriverEventListen waits for
OWNS_NOTHING = {"zesDeviceEventRegister"}
failures = []


def expect(condition, text):
    if not condition:
        print("FAIL", text)
        failures.append(text)


def listed(text):
    """{function: (table, index, minor, verdict)}"""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            table, index, minor, function, verdict = re.fullmatch(r"(\w+) (\d+) (\d+) (\w+): (.+)", line).groups()
            expect(function not in found, f"{function} is listed twice")
            found[function] = (table, int(index), int(minor), verdict)
    return found


def with_slots(text):
    """The same of slots.def, without a verdict."""
    return {function: (table, int(index), int(minor)) for table, index, minor, function in
            re.findall(r"^SLOT\((\w+), (\d+), (\d+), (\w+)\)$", text, re.M)}


def with_rows(*names):
    return {function for name in names for function in
            re.findall(r"^FN\((\w+),", (SOURCE / "src/api" / name).read_text(), re.M)}


def tables_in(text):
    """{function: (table, index)} of a header's dispatch tables, and the names that its getters give them."""
    getters = {structure: getter.replace("Get", "", 1) for getter, structure in re.findall(
        r"^(ze[tsr]?Get\w+)ProcAddrTable\([^;]*?\b(\w+)_dditable_t\s*\*\s*pDdiTable", text, re.M | re.S)}
    found = {}
    for structure, members in re.findall(r"^typedef struct _(\w+)_dditable_t\s*\{(.*?)^\}", text, re.M | re.S):
        functions = re.findall(r"(ze[tsr]?)_pfn(\w+)_t\s+pfn\w+;", members)
        for index, (prefix, name) in enumerate(functions):
            found[prefix + name] = (getters.get(structure, structure), index)
    return found


def headers():
    """The text of each header of dispatch tables that the compiler finds."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    entry = next((e for e in entries if e["file"].endswith("src/capture/levelzero/wrappers.c")), None)
    if not entry:
        print("built without Level Zero")
        sys.exit(77)
    paths = [word for word in shlex.split(entry["command"]) if word.startswith("-I")]
    paths += [f"-isystem{path}" for path in re.findall(r"-isystem (\S+)", entry["command"])]
    for name in ("ze", "zet", "zes", "zer"):
        done = subprocess.run(["cc", *paths, "-E", "-xc", "-"], input=f"#include <level_zero/{name}_ddi.h>\n",
                              cwd=entry["directory"], capture_output=True, text=True)
        found = re.search(rf'^# \d+ "([^"]+/{name}_ddi\.h)"', done.stdout, re.M)
        if found:
            yield pathlib.Path(entry["directory"], found[1]).read_text()


def check_list(functions):
    """The list describes tables that only grow, and the door has a slot for each row."""
    slots = with_slots((SOURCE / "src/capture/levelzero/slots.def").read_text())
    rows = with_rows("levelzero.def", "levelzero_tools.def")
    by_table = {}
    for function, (table, index, minor, verdict) in functions.items():
        expect(index == len(by_table.setdefault(table, [])), f"{function}: not at its place in {LIST}")
        expect(not by_table[table] or by_table[table][-1] <= minor, f"{function}: older than the slot before it")
        by_table[table].append(minor)
        wanted = function in rows or function == "zeDriverGetExtensionFunctionAddress"
        expect((verdict == "row") == wanted, f"{function}: {verdict!r} in {LIST}, "
               f"{'a' if wanted else 'no'} row in src/api/")
        expect(verdict != "owns nothing" or not CREATES.search(re.sub("^zet?(Get)?|Alloc\\w*Properties", "", function))
               or re.search("Get|Is|Update|Query", function), f"{function} may create something: say why it has no row")
    for function, slot in slots.items():
        expect(functions.get(function, ())[:3] == slot, f"slots.def: {function} is at {slot}, "
               f"{LIST} says {functions.get(function, ())[:3]}")
    expect(rows <= set(slots), f"no slot for {sorted(rows - set(slots))}")
    expect(len(functions) > 300 and len(slots) > 125, "the lists were found")


def check_headers(functions):
    """What the headers have is listed where they have it."""
    count = 0
    for text in headers():
        for function, (table, index) in tables_in(text).items():
            count += 1
            if function.startswith(("zes", "zer")):
                expect(not CREATES.search(function) or function in OWNS_NOTHING, f"{function} may create something that nobody follows: "
                       f"give it a row, or list it in {LIST}")
                continue
            expect(function in functions, f"{function} is newer than {LIST}: give it a row and a slot, or say there why "
                   "it needs none")
            expect(functions.get(function, (table, index))[:2] == (table, index),
                   f"{function}: slot {index} of {table} in the headers, not {functions.get(function)}")
    expect(count > 250, f"the headers were read: {count} functions")


def check_self():
    """These checks can fail: a header with one more function is noticed."""
    more = ("typedef struct _ze_new_dditable_t\n{\n    ze_pfnNewCreateExt_t pfnCreateExt;\n} ze_new_dditable_t;\n"
            "ZE_DLLEXPORT ze_result_t ZE_APICALL\nzeGetNewProcAddrTable(\n    ze_api_version_t version,  ///< [in]\n"
            "    ze_new_dditable_t* pDdiTable  ///< [in]\n    );\n")
    expect(tables_in(more) == {"zeNewCreateExt": ("zeNew", 0)}, f"a new function is read: {tables_in(more)}")


known = listed((SOURCE / LIST).read_text())
check_self()
check_list(known)
check_headers(known)
sys.exit(1 if failures else 0)
