#!/usr/bin/env python3
"""Keeps the answers in README.md those of scenarios/*/expected.txt: the table of scenarios, and one answer in full.

Usage: tools/readme_answers.py           exit code 1 and the difference where README.md says something else
       tools/readme_answers.py --write   writes them into README.md (tools/update_goldens.sh does)
"""
import difflib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"


def table():
    rows = ["| scenario | question | predicted step |", "|---|---|---:|"]
    for answer in sorted(ROOT.glob("scenarios/*/expected.txt")):
        folder = answer.parent
        question = (folder / "README.md").read_text().split("\n", 1)[0].removeprefix("# ")
        step = step_time(answer.read_text())
        rows.append(f"| [{folder.name}](scenarios/{folder.name}/README.md) | {question} | {step} |")
    return "\n".join(rows)


def step_time(text):
    """Of an answer to `lockstep run`; of the best point in one to `lockstep sweep`; what a schedule saves;
    days of a training."""
    of_run = re.search(r"^(?:step|run) time +(\S+ \S+)", text, re.MULTILINE)
    if of_run:
        return of_run.group(1)
    of_schedule = re.search(r"^time saved +(\S+ %)", text, re.MULTILINE)
    if of_schedule:
        return f"{of_schedule.group(1)} of the time saved"
    of_size = re.search(r"^(\d+ GPUs) \(.*?\) train \S+ \S+ tokens in (\S+ \S+)", text, re.MULTILINE)
    if of_size:
        return f"{of_size.group(2)} on {of_size.group(1)}"
    points = re.search(r"^  (\d+) points", text, re.MULTILINE).group(1)
    best = re.search(r"^ \* .*?  (\d\S* (?:s|ms|us))  ", text, re.MULTILINE).group(1)
    return f"{best}, best of {points}"


def answer(scenario):
    text = (ROOT / "scenarios" / scenario / "expected.txt").read_text()
    return "\n".join(f"    {line}".rstrip() for line in text.rstrip().split("\n"))


def renewed(text):
    """The text with what stands between `<!-- answers: ... -->` and `<!-- end -->` made anew."""
    def make(match):
        made = table() if match.group(1) == "table" else answer(match.group(1))
        return f"<!-- answers: {match.group(1)} -->\n{made}\n<!-- end -->"
    return re.sub(r"<!-- answers: (\w+) -->\n.*?<!-- end -->", make, text, flags=re.DOTALL)


def main():
    before = README.read_text()
    now = renewed(before)
    if "--write" in sys.argv:
        README.write_text(now)
        return 0
    sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), now.splitlines(True), "README.md",
                                               "README.md by scenarios/*/expected.txt"))
    return int(before != now)


if __name__ == "__main__":
    sys.exit(main())
