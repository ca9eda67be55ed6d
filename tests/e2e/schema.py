# SPDX-License-Identifier: MIT
"""schema.py - as much of JSON Schema (draft 7) as our own schemas use; what it does not know fails.

    schema.check(json.loads(text), schema.load(case, "report"))
"""
import json
import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
         "number": (int, float)}
KNOWN = {"$schema", "$ref", "title", "description", "definitions", "oneOf", "type", "minimum",
         "pattern", "required", "properties", "additionalProperties", "items", "enum", "const"}


def load(case, name):
    return json.loads((case.source / "doc" / "schema" / f"{name}.schema.json").read_text())


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def mistakes(value, schema, root, path="$"):
    """Where the value is not what the schema says."""
    assert set(schema) <= KNOWN, f"the checker does not know {set(schema) - KNOWN}"
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].lstrip("#/").split("/"):
            target = target[part]
        return mistakes(value, target, root, path)
    found = []
    if "oneOf" in schema:
        tries = [mistakes(value, one, root, path) for one in schema["oneOf"]]
        if sum(not one for one in tries) != 1:
            found += [f"{path}: fits none or several"] + min(tries, key=len)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_type(value, name) for name in types):
        return found + [f"{path}: {value!r} is no {types}"]
    if "const" in schema and value != schema["const"]:
        found.append(f"{path}: {value!r} is not {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r} is not one of {schema['enum']}")
    if "minimum" in schema and value < schema["minimum"]:
        found.append(f"{path}: {value} is too small")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append(f"{path}: {value!r} does not fit {schema['pattern']}")
    if isinstance(value, dict):
        found += [f"{path}: {key} is missing" for key in schema.get("required", [])
                  if key not in value]
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if inner:
                found += mistakes(item, inner, root, f"{path}.{key}")
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            found += mistakes(item, schema["items"], root, f"{path}[{i}]")
    return found


def check(value, schema):
    found = mistakes(value, schema, schema)
    assert not found, "\n".join(found[:10])
