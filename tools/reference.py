#!/usr/bin/env python3
"""Writes docs/reference/: every key of every kind of file, as `lockstep schema KIND` declares it.

Usage: tools/reference.py [--lockstep build/lockstep]           exit code 1 where a page says something else
       tools/reference.py [--lockstep build/lockstep] --write   writes the pages
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs/reference"
KINDS = {"scenario": "the scenario file", "clusters": "machines", "nodes": "nodes", "links": "links",
         "fabrics": "networks between nodes", "gpus": "GPUs", "hosts": "hosts", "models": "models",
         "plans": "plans of embedding tables", "profiles": "collective profiles",
         "kernel_efficiency": "kernel efficiencies", "learned_kernels": "learned kernel models",
         "kernel_families": "kernel families", "power": "power", "replays": "what-ifs of a replay",
         "validation": "validation sets"}


def schema_of(lockstep: Path, kind: str) -> dict:
    done = subprocess.run([lockstep, "schema", kind], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def alternatives(schema: dict, definitions: dict):
    """The schemas that a value may have, references and combinations resolved; a file that stands elsewhere is none."""
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        if name.split("_in_part")[0] not in KINDS:
            yield from alternatives(definitions[name], definitions)
        return
    branches = [schema[key] for key in ("else", "then") if key in schema]
    nested = branches if schema.get("if") == {"type": "object"} else branches[:1]  # a mapping or something else
    for key in ("allOf", "anyOf", "oneOf"):
        nested += schema.get(key, [])
    if not nested:
        yield schema
    for one in nested:
        yield from alternatives(one, definitions)


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def default_of(schema: dict, required: bool) -> str:
    if required:
        return "required"
    if "default" not in schema or isinstance(schema["default"], (dict, list)) and schema["default"]:
        return ""
    value = schema["default"]
    return "" if value in (None, "", [], {}) else f"`{json.dumps(value, ensure_ascii=False).strip(chr(34))}`"


def tables(schema: dict, definitions: dict, path: str, seen: set):
    """(path, rows) of each mapping below the schema, itself first; rows are (key, meaning - form, default)."""
    objects = [one for one in alternatives(schema, definitions) if "properties" in one]
    rows, below = {}, []
    for one in objects:
        for key, value in one["properties"].items():
            if key == "include" and "description" not in value:
                continue
            rows.setdefault(key, (value.get("description", ""), default_of(value, key in one.get("required", []))))
            below.append((key, value))
    if rows and tuple(rows) not in seen:
        seen.add(tuple(rows))
        yield path, [(key, *said) for key, said in rows.items()]
        for key, value in below:
            yield from tables(value, definitions, f"{path}.{key}" if path else key, seen)
    for one in alternatives(schema, definitions):
        if isinstance(one.get("items"), dict):
            yield from tables(one["items"], definitions, f"{path}[]", seen)
        if isinstance(one.get("additionalProperties"), dict):
            yield from tables(one["additionalProperties"], definitions, f"{path}.NAME", seen)


def page(kind: str, schema: dict) -> str:
    command = "lockstep schema" if kind == "scenario" else f"lockstep schema {kind}"
    lines = [f"# Reference: {KINDS[kind]}", "",
             f"Made from `{command}` by `tools/reference.py`. `lockstep explain KEY` tells the same on the command line.",
             "`[]` stands for each entry of a list, `NAME` for a name that the file chooses.", ""]
    for path, rows in tables(schema, schema.get("definitions", {}), "", set()):
        lines += ([f"## `{path}`", ""] if path else []) + ["| key | what it is | value | default |", "|---|---|---|---|"]
        for key, text, default in rows:
            meaning, _, form = text.rpartition(" - ")
            lines.append(f"| `{key}` | {cell(meaning)} | {cell(form)} | {cell(default)} |")
        lines.append("")
    return "\n".join(lines)


def contents() -> str:
    rows = [f"* [{title[0].upper()}{title[1:]}]({kind}.md)" for kind, title in KINDS.items()]
    return "\n".join(["# Reference", "", "Every key of every kind of file, made from the program's own declarations by `tools/reference.py`.",
                      "", *rows, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lockstep", type=Path, default=ROOT / "build/lockstep")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    pages = {f"{kind}.md": page(kind, schema_of(given.lockstep.resolve(), kind)) for kind in KINDS}
    pages["README.md"] = contents()
    stale = [name for name, text in pages.items()
             if not (FOLDER / name).exists() or (FOLDER / name).read_text() != text]
    stale += [file.name for file in FOLDER.glob("*.md") if file.name not in pages]
    if given.write:
        FOLDER.mkdir(exist_ok=True)
        for name in stale:
            (FOLDER / name).unlink(missing_ok=True)
            if name in pages:
                (FOLDER / name).write_text(pages[name])
    elif stale:
        print(f"docs/reference: {', '.join(sorted(stale))} differ from `lockstep schema`: tools/reference.py --write")
    return 1 if stale and not given.write else 0


if __name__ == "__main__":
    sys.exit(main())
