#!/usr/bin/env python3
"""Fails when one name stands for two classes: the one-definition rule of C++, which no compiler checks across files.

Two classes of one name have one destructor for the linker, so that objects of one are destroyed as the other. Classes
in anonymous namespaces and in functions are the file's own; all others are compared by their full names.

Usage: tools/check_one_definition.py [ROOT]
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

from project_sources import ROOT, project_sources

# Comments and literals, whose braces and words are no code.
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
NAMESPACE = re.compile(r"\bnamespace\s*([\w:]*)$")
CLASS = re.compile(r"\b(?:class|struct|union|enum|enum\s+class)\s+(?:\[\[[^\]]*\]\]\s*)?(\w+)(?:\s+final)?(?:\s*:[^:].*)?$",
                   re.DOTALL)


def classes_of(text: str):
    """Full names of the classes that other files may see."""
    text = NO_CODE.sub(" ", text)
    scopes, start = [], 0  # by open brace: a name, or None where what it holds is local
    for brace in re.finditer(r"[{};]", text):
        head = text[start:brace.start()].strip()
        start = brace.end()
        if brace.group() == "}":
            scopes[-1:] = []
        elif brace.group() == "{":
            namespace, named = NAMESPACE.search(head), CLASS.search(head)
            scope = namespace.group(1) if namespace else named.group(1) if named else None
            scopes.append(scope or None)
            if named and not namespace and None not in scopes:
                yield "::".join(scopes)


def complaints(root: Path):
    """A line for each name of several classes."""
    files_of = defaultdict(list)
    for path in project_sources(".hpp", ".cpp", ".cuh", ".cu", root=root):
        for name in set(classes_of((root / path).read_text())):
            files_of[name].append(str(path))
    for name, files in sorted(files_of.items()):
        if len(files) > 1:
            yield f"{name} is a class in {' and in '.join(files)}: rename one"


if __name__ == "__main__":
    found = list(complaints(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
    print("\n".join(found) if found else "one definition: each name stands for one class")
    sys.exit(1 if found else 0)
