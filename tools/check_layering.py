#!/usr/bin/env python3
"""Fails when a file includes something its folder may not know.

The architecture is one line: a folder may include itself and the folders to its left.
Two libraries live in one folder each.

Usage: tools/check_layering.py [ROOT]
"""
import re
import sys
from pathlib import Path

ORDER = ["base", "topology", "ops", "sim", "traces", "calibration", "search", "app"]
HOME_OF_LIBRARY = {"simgrid/": "sim", "xbt/": "sim", "yaml-cpp/": "base", "boost/graph/": "topology", "google/protobuf/": "traces"}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')


def complaint(folder: str, target: str):
    for library, home in HOME_OF_LIBRARY.items():
        if target.startswith(library) and folder != home:
            return f"only {home}/ may include {library}"
    other = target.split("/", 1)[0]
    if other in ORDER and ORDER.index(other) > ORDER.index(folder):
        return f"{folder}/ may not know {other}/"
    return None


def complaints(root: Path):
    for folder in ORDER:
        for source in sorted((root / folder).rglob("*.[hc]pp")):
            for number, line in enumerate(source.read_text().splitlines(), start=1):
                match = INCLUDE.match(line)
                problem = match and complaint(folder, match.group(1))
                if problem:
                    yield f"{source.relative_to(root)}:{number}: {problem}: {match.group(1)}"


if __name__ == "__main__":
    found = list(complaints(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
    print("\n".join(found) if found else "layering: ok")
    sys.exit(1 if found else 0)
