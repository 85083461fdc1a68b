#!/usr/bin/env python3
"""Groups source files that can be compiled as one: files that use the same local name go to different groups.

Compiled together, what files share (library headers above all) is read once instead of once a file.

Usage: tools/source_batches.py SIZE FILE...     prints the number of each file's group, separated by semicolons
"""
import functools
import re
import sys
from pathlib import Path

from project_sources import ROOT

ANONYMOUS = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
DEFINED = re.compile(r"^(?:(?:struct|class|enum(?: class)?|using|namespace) (?:[\w:]+::)?(\w+)|(?!template|namespace)[A-Za-z].*?\b(\w+)(?:\(| = |[{\[]))",
                     re.MULTILINE)
# All constants of a declaration of several.
CONSTANT = re.compile(r"\b(k[A-Z]\w*)(?: = |[{\[])")
# A second name for something that is defined elsewhere: two files that give it alike can stand together.
SECOND_NAME = re.compile(r"^(?:using (?!namespace)(?:[\w:]+::)?(\w+)(?: =[^;]*)?;|namespace (\w+) = [^;]*;)", re.MULTILINE)
# What tests share: a test's own function of that name would hide it from the files behind.
SUPPORT = re.compile(r'^#include "(tests/support/[^"]+)"', re.MULTILINE)
DECLARED = re.compile(r"^(?:template <[^>]*> ?)?[A-Za-z][\w:<>,&* ]*?\b(\w+)(?:\(| = |\{)", re.MULTILINE)
# Names that are brought in would stay for the files behind; literals and the tests' own do no harm.
BROUGHT_IN = re.compile(r"^using namespace (?!.*(literals|testing);)|^#define ", re.MULTILINE)

LARGE_HEADERS = ("#include <CLI/", "#include <nlohmann/", "#include <regex>")


@functools.cache
def declared_below(header: str):
    """The names that a header of tests/support/ and those that it includes declare."""
    text = (ROOT / header).read_text()
    return frozenset(DECLARED.findall(text)).union(*map(declared_below, SUPPORT.findall(text)))


def local_names(text: str):
    """What a file defines in anonymous namespaces, as far as the eye sees it: what starts in the first column.

    By name: the declaration, if another file may repeat it, else None.
    """
    bodies = ANONYMOUS.findall(text)
    names = {name: "of tests/support" for header in SUPPORT.findall(text) for name in declared_below(header)}
    names |= {name: None for body in bodies for pair in DEFINED.findall(body) for name in pair if name}
    names |= {name: None for body in bodies for name in CONSTANT.findall(body)}
    for body in bodies:
        for found in SECOND_NAME.finditer(body):
            names[found[1] or found[2]] = " ".join(found[0].split())
    names.pop("namespace", None)  # of `using namespace`
    return names


def clash(some: dict, others: dict) -> bool:
    """Whether the local names of one file cannot stand beside those of others."""
    return any(others[name] is None or others[name] != some[name] for name in some.keys() & others.keys())


def batches_of(sources: list, size: int, text_of, kind_of=lambda source: None):
    """At most size files of one kind and without a local name in common, in the first batch that has room.

    text_of(source) is the text of a file; one that brings in the names of a namespace stays alone.
    """
    batches = []  # (files, local names, room)
    for source in sources:
        text = text_of(source)
        names, room = local_names(text), 1 if BROUGHT_IN.search(text) else size
        for files, taken, most in batches:
            if len(files) < min(most, room) and kind_of(files[0]) == kind_of(source) and not clash(taken, names):
                files.append(source)
                taken |= names
                break
        else:
            batches.append(([source], names, room))
    return [files for files, _, _ in batches]


def by_library(file: str):
    """Sorts files that read the same large library headers beside each other: templates are compiled once a group."""
    text = Path(file).read_text()
    return [header not in text for header in LARGE_HEADERS]


if __name__ == "__main__":
    size, files = int(sys.argv[1]), sys.argv[2:]
    batches = batches_of(sorted(files, key=by_library), size, lambda file: Path(file).read_text())
    group = {file: number for number, batch in enumerate(batches) for file in batch}
    print(";".join(str(group[file]) for file in files), end="")
