#!/usr/bin/env python3
"""Every relative link of every Markdown file leads to a file, and to a heading of it where it names one.

Usage: tools/check_links.py [ROOT]
"""
import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def anchors(text):
    """The names under which GitHub reaches the headings of a page."""
    headings = re.findall(r"^#+ +(.+?) *$", without_code(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def without_code(text):
    return re.sub(r"`[^`\n]*`", lambda code: code.group().strip("`"), re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))


def broken(page, root):
    for number, line in enumerate(page.read_text().splitlines(), 1):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            to = (page.parent / file).resolve() if file else page
            where = f"{page.relative_to(root)}:{number}"
            if not to.exists():
                yield f"{where}: there is no {target}"
            elif anchor and anchor not in anchors(to.read_text()):
                yield f"{where}: {file or page.name} has no heading #{anchor}"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=root,
                            capture_output=True, text=True, check=False)
    pages = [root / name for name in listed.stdout.split()] if listed.returncode == 0 else sorted(
        page for page in root.rglob("*.md") if "build" not in page.parts)
    problems = [problem for page in pages if page.exists() for problem in broken(page, root)]
    print("\n".join(problems) or f"{len(pages)} pages, all links lead somewhere")
    return 1 if problems or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
