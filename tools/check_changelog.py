#!/usr/bin/env python3
"""Checks CHANGELOG.md: its newest release is the version of CMakeLists.txt, and its entries take three lines at most.

Usage: tools/check_changelog.py
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 3  # lines of an entry


def entries(lines: list):
    """(number of the first line, lines) of each entry; lines are counted from 1."""
    begin = None
    for number, line in enumerate([*lines, ""], 1):
        if begin is not None and (line.startswith(("* ", "#")) or not line.strip()):
            yield begin, number - begin
            begin = None
        if line.startswith("* "):
            begin = number


def main() -> int:
    text = (ROOT / "CHANGELOG.md").read_text()
    version = re.search(r"project\(lockstep VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    releases = [found[1] for found in re.finditer(r"^## \[([^\]]+)\]", text, re.MULTILINE)]
    problems = []
    if not releases or releases[0] != version:
        problems.append(f"CHANGELOG.md: the newest release is {releases[:1]}, CMakeLists.txt says {version}")
    newest = text.split("\n## [")[1].split("\n")
    first = text[: text.index("\n## [")].count("\n") + 2
    problems += [f"CHANGELOG.md:{first + number - 1}: an entry of {count} lines: {LONGEST} at most"
                 for number, count in entries(newest) if count > LONGEST]
    print("\n".join(problems) if problems else f"changelog: {len(releases)} releases, the newest is {version}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
