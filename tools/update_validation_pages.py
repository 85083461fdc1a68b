#!/usr/bin/env python3
"""Renews the answers that docs/validation.md and docs/validation/*.md quote.

A block that begins ```` ```text lockstep validate SET... ```` holds what build/lockstep prints for that command;
of `--all`, the summary alone, and docs/images/ gets its charts of all errors. A block whose measurements are not at
hand is left as it is, and named.

Usage: tools/update_validation_pages.py [PAGE...] [--data FOLDER]      all pages unless said
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```text lockstep validate (?P<words>[^\n]*)\n(?P<answer>.*?)^```$", re.MULTILINE | re.DOTALL)


def answer(words, data):
    """What the command prints, or None where its measurements are not at hand."""
    command = [ROOT / "build" / "lockstep", "validate", *words.split()]
    if data:
        command += ["--data", data]
    is_summary = "--all" in words.split()
    with tempfile.TemporaryDirectory() as plots:
        done = subprocess.run(command + (["--plot", plots] if is_summary else []), cwd=ROOT, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            return None
        for chart in Path(plots).glob("all_*.svg"):
            shutil.copy(chart, ROOT / "docs" / "images" / chart.name)
    lines = done.stdout.strip().split("\n")
    if is_summary:
        lines = lines[lines.index("errors of all sets, %"):]
    return "".join(line.rstrip() + "\n" for line in lines)


def renewed(page, data):
    """The page's text with its blocks made anew, and how many of them are other than before."""
    changed = 0

    def make(block):
        nonlocal changed
        words, before = block["words"], block["answer"]
        now = answer(words, data)
        if now is None:
            print(f"{page.relative_to(ROOT)}: left as it is: lockstep validate {words}: no answer here")
            return block[0]
        changed += now != before
        return f"```text lockstep validate {words}\n{now}```"

    return BLOCK.sub(make, page.read_text()), changed


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    arguments.add_argument("pages", nargs="*", type=Path, metavar="PAGE")
    arguments.add_argument("--data", help="folder of the measured tables, as `lockstep validate` has it")
    asked = arguments.parse_args()
    docs = ROOT / "docs"
    for page in asked.pages or [docs / "validation.md", *sorted((docs / "validation").glob("*.md"))]:
        text, changed = renewed(page.resolve(), asked.data)
        if changed:
            page.write_text(text)
            print(f"{page.resolve().relative_to(ROOT)}: {changed} renewed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
