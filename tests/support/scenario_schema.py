"""The keys of a scenario, as `lockstep schema` has them."""
import json
import subprocess


def _names_configurations(schemas):
    """A name of configs/ may also be a file."""
    return any("pattern" in schema for schema in schemas if isinstance(schema, dict))


def _leaves(node, path, definitions, within, found):
    if not isinstance(node, dict):
        return
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[1]
        if name not in within:
            _leaves(definitions[name], path, definitions, within | {name}, found)
        return
    if node.get("type") in ("boolean", "integer") or "enum" in node:
        found[path] = node
    for key, value in node.get("properties", {}).items():
        _leaves(value, f"{path}.{key}" if path else key, definitions, within, found)
    for word in ("then", "else"):
        _leaves(node.get(word), path, definitions, within, found)
    for word in ("anyOf", "oneOf", "allOf"):
        inner = node.get(word, [])
        for schema in inner:
            if not (_names_configurations(inner) and isinstance(schema, dict) and "enum" in schema):
                _leaves(schema, path, definitions, within, found)


def leaves(lockstep):
    """What the schema says of each enumerated, boolean and whole value outside lists, by its path `KEY.KEY`."""
    answer = subprocess.run([lockstep, "schema"], check=True, capture_output=True, text=True)
    schema, found = json.loads(answer.stdout), {}
    _leaves(schema, "", schema["definitions"], frozenset(), found)
    return found


def choices(lockstep):
    """The values of each enumerated or boolean key."""
    return {path: ["true", "false"] if node.get("type") == "boolean" else list(node["enum"])
            for path, node in leaves(lockstep).items() if node.get("type") == "boolean" or "enum" in node}


def whole_numbers(lockstep):
    return [path for path, node in leaves(lockstep).items() if node.get("type") == "integer"]
