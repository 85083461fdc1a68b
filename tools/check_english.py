#!/usr/bin/env python3
"""Fails where comments and docs are hard to read (docs/contributing/style.md says how they are written).

Three things are counted:
  openings   comment blocks of a folder that begin with a word that refers to something outside of the sentence (`Of`,
             `Likewise`, `Whose` ...): at most 2 % of its blocks
  sentences  words a sentence on a page of docs/: nine in ten have less than 35. docs/validation/ is left out: its pages
             are notes of data sets
  words      private words for things that the field has a name for: none, in comments and docs

Usage: tools/check_english.py [ROOT] [--list FOLDER_OR_PAGE]     --list prints each opening or long sentence
"""
import argparse
import re
import sys
from pathlib import Path

from project_sources import project_sources

OPENINGS = ["Of", "What", "Likewise", "Those", "Whose", "Where", "As", "By", "Which", "Nor", "Than", "From", "With",
            "Without", "Ditto", "Also", "Else", "Otherwise", "Except", "Besides", "Save", "But", "And", "Or"]
MOST_OPENINGS = 0.02
MOST_WORDS = 35

# Private word -> the field's.
WORDS = {
    "look-up": "lookup", "look-ups": "lookups", "computed again": "recomputed", "encounter": "rendezvous",
}

COMMENT = re.compile(r"^\s*//[/!<]*\s?(.*)$")
OPENING = re.compile(r"^(?:@\w+\s+\S+\s+)?(\w+)")


def blocks_of(text: str):
    """(line number, text) of every run of lines that are comments and nothing else."""
    block, first = [], 0
    for number, line in enumerate(text.splitlines() + [""], start=1):
        match = COMMENT.match(line)
        if match:
            first = first if block else number
            block.append(match.group(1))
        elif block:
            yield first, "\n".join(block)
            block = []


def prose_of(page: str) -> str:
    """A page without code, tables, headings and the marks of lists and links."""
    page = re.sub(r"```.*?```|~~~.*?~~~", " ", page, flags=re.DOTALL)
    lines = []
    for line in page.splitlines():
        if re.match(r"\s*(\||#|    |\t|!\[|<)", line):
            lines.append("")
            continue
        lines.append(re.sub(r"^\s*([-*]|\d+\.)\s+", "\n", line))
    page = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", "\n".join(lines))
    return re.sub(r"`[^`]*`", "code", page)


def sentences_of(page: str):
    for paragraph in re.split(r"\n\s*\n|\n(?=\n)", prose_of(page)):
        for sentence in re.split(r"(?<=[.!?;:])\s+(?=[A-Z`*(]|code)|:\s*$", paragraph.replace("\n", " ")):
            words = re.findall(r"[\w'%/.-]+", sentence)
            if len(words) > 2:
                yield len(words), sentence.strip()


def percentile(values: list, share: float) -> int:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("root", type=Path, nargs="?", default=Path("."))
    arguments.add_argument("--list", default="")
    options = arguments.parse_args()
    found, problems = {}, []
    for source in list(project_sources(".hpp")) + list(project_sources(".cpp")):
        text = (options.root / source).read_text()
        counts = found.setdefault(source.parts[0], [0, 0])
        for number, block in blocks_of(text):
            counts[1] += 1
            opening = OPENING.match(block)
            if opening and opening.group(1) in OPENINGS:
                counts[0] += 1
                if options.list and str(source).startswith(options.list):
                    print(f"{source}:{number}: {block.splitlines()[0]}")
            for word, better in WORDS.items():
                if re.search(rf"\b{word}\b", block):
                    problems.append(f"{source}:{number}: '{word}': the field says '{better}'")
    for folder, (bad, blocks) in sorted(found.items()):
        share = bad / blocks
        line = f"{folder + '/':14}{blocks:6} comments, {100 * share:5.1f} % open without a subject"
        print(line)
        if share > MOST_OPENINGS:
            problems.append(f"{folder}/: {100 * share:.1f} % of the comments open without a subject")
    for page in sorted((options.root / "docs").glob("**/*.md")):
        if page.parent.name == "validation":
            continue
        lengths = list(sentences_of(page.read_text()))
        p90 = percentile([length for length, _ in lengths], 0.9)
        if options.list and str(page).endswith(options.list):
            print("\n".join(f"{length:4}  {sentence}" for length, sentence in lengths if length >= MOST_WORDS))
        if p90 >= MOST_WORDS:
            problems.append(f"{page}: one sentence in ten has {p90} words or more")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
