#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""readers.py - other people's readers of what gputrack writes: their schemas, their parsers.

    readers.check(case, "sarif", path)      # skips where the reader is not installed

As a program it is one of them: readers.py NAME FILE. The system's own Python runs it, for that is
the one that has the system's packages.
"""
import json
import pathlib
import subprocess
import sys

MODULES = pathlib.Path(__file__).resolve().parents[1] / "formats" / "node_modules"
SCHEMAS = {
    "speedscope": MODULES / "speedscope" / "dist" / "release" / "file-format-schema.json",
    "sarif": MODULES / "@microsoft" / "jest-sarif" / "lib" / "schemas" / "sarif-2.1.0-rtm.5.json",
}
PYTHON = "/usr/bin/python3"
MISSING = 77


def by_schema(name, path):
    """Checked by the format's own JSON schema."""
    import jsonschema
    schema = json.loads(SCHEMAS[name].read_text())
    validator = jsonschema.validators.validator_for(schema)(
        schema, format_checker=jsonschema.FormatChecker())
    mistakes = [f"{error.json_path}: {error.message[:300]}"
                for error in validator.iter_errors(json.loads(path.read_text()))]
    if mistakes:
        sys.exit("\n".join(mistakes[:20]))


def prometheus(path):
    """Prometheus' own client: every sample as name, labels, value."""
    from prometheus_client.parser import text_string_to_metric_families
    samples = [[sample.name, sample.labels, sample.value]
               for family in text_string_to_metric_families(path.read_text())
               for sample in family.samples]
    print(json.dumps(samples))


def junit(path):
    """Every test case with how it went, and the totals that the file states."""
    import junitparser
    suites = junitparser.JUnitXml.fromfile(str(path))
    print(json.dumps({
        "cases": [[one.name, one.classname, [type(r).__name__.lower() for r in one.result]]
                  for suite in suites for one in suite],
        "tests": suites.tests, "failures": suites.failures, "errors": suites.errors}))


READERS = {"prometheus": prometheus, "junit": junit,
           "speedscope": lambda path: by_schema("speedscope", path),
           "sarif": lambda path: by_schema("sarif", path)}


def check(case, name, path):
    """What the reader has to tell of the file; what it does not take fails."""
    if name in SCHEMAS and not SCHEMAS[name].exists():
        case.skip(f"the schema of {name} is not here: npm ci in tests/formats fetches it")
    if not pathlib.Path(PYTHON).exists():
        case.skip(f"there is no {PYTHON}")
    done = subprocess.run([PYTHON, __file__, name, path], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode == MISSING:
        case.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout or "null")


if __name__ == "__main__":
    try:
        READERS[sys.argv[1]](pathlib.Path(sys.argv[2]))
    except ImportError as missing:
        print(missing, file=sys.stderr)
        sys.exit(MISSING)
