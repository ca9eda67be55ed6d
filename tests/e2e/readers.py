#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""readers.py - third-party readers of gputrack's output: schemas and parsers.

    readers.check(case, "sarif", path)      # skips where the reader is not installed
    readers.check_report(case, report)      # our own JSON, by doc/schema

As a program it runs one of them: readers.py NAME FILE. It runs with the system's Python, which has
the system's packages.
"""
import json
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODULES = SOURCE / "tests" / "formats" / "node_modules"
SCHEMAS = {
    "report": SOURCE / "doc" / "schema" / "report.schema.json",
    "speedscope": MODULES / "speedscope" / "dist" / "release" / "file-format-schema.json",
    "sarif": MODULES / "@microsoft" / "jest-sarif" / "lib" / "schemas" / "sarif-2.1.0-rtm.5.json",
}
PYTHON = "/usr/bin/python3"
MISSING = 77


def by_schema(name, path, validator=None):
    """Checked by the format's own JSON schema."""
    import jsonschema
    schema = json.loads(SCHEMAS[name].read_text())
    validator = (validator or jsonschema.validators.validator_for(schema))(
        schema, format_checker=jsonschema.FormatChecker())
    mistakes = [text for error in validator.iter_errors(json.loads(path.read_text()))
                for text in in_words(error)]
    if mistakes:
        sys.exit("\n".join(mistakes[:20]))


def in_words(error):
    """A mistake; if no alternative matches, the mistakes of the closest one."""
    yield f"{error.json_path}: {error.message[:300]}"
    tries = {}
    for inner in error.context:
        tries.setdefault(inner.schema_path[0], []).append(inner)
    for inner in min(tries.values(), key=len, default=[]):
        yield from in_words(inner)


def keywords(schema):
    """Every keyword that a schema uses, wherever it stands."""
    yield from schema
    for key, value in schema.items():
        inner = value.values() if key in ("properties", "definitions") else \
            value if isinstance(value, list) else [value]
        for one in inner:
            if isinstance(one, dict):
                yield from keywords(one)


def report(path):
    """Checked by our own schema, which may use no keyword that the checker ignores."""
    import jsonschema
    schema = json.loads(SCHEMAS["report"].read_text())
    unknown = set(keywords(schema)) - set(jsonschema.Draft7Validator.VALIDATORS) - \
        {"$schema", "title", "description", "definitions"}
    if unknown:
        sys.exit(f"JSON Schema, draft 7, has no {unknown}")
    # draft 7 takes 1.0 for an integer; we never write one so
    strict = jsonschema.Draft7Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool))
    by_schema("report", path, jsonschema.validators.extend(jsonschema.Draft7Validator,
                                                           type_checker=strict))


def prometheus(path):
    """Prometheus' own client: every sample as name, labels, value."""
    from prometheus_client.parser import text_string_to_metric_families
    samples = [[sample.name, sample.labels, sample.value]
               for family in text_string_to_metric_families(path.read_text())
               for sample in family.samples]
    print(json.dumps(samples))


def junit(path):
    """Every test case with its result, and the totals stated in the file."""
    import junitparser
    suites = junitparser.JUnitXml.fromfile(str(path))
    print(json.dumps({
        "cases": [[one.name, one.classname, [type(r).__name__.lower() for r in one.result]]
                  for suite in suites for one in suite],
        "tests": suites.tests, "failures": suites.failures, "errors": suites.errors}))


READERS = {"prometheus": prometheus, "junit": junit, "report": report,
           "speedscope": lambda path: by_schema("speedscope", path),
           "sarif": lambda path: by_schema("sarif", path)}


def check(case, name, path):
    """The reader's output for the file; fails if the reader rejects it."""
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


def check_report(case, value):
    """A report or a diff, as an object."""
    path = case.path("checked.json")
    path.write_text(json.dumps(value))
    check(case, "report", path)


if __name__ == "__main__":
    try:
        READERS[sys.argv[1]](pathlib.Path(sys.argv[2]))
    except ImportError as missing:
        print(missing, file=sys.stderr)
        sys.exit(MISSING)
