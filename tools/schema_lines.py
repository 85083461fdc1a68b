#!/usr/bin/env python3
"""Every shipped scenario and configuration begins with the line that tells editors its schema:

    # yaml-language-server: $schema=../../schemas/gpus.json

The path is right in the installed tree (share/lockstep), and here after `cmake --build build --target editor_schemas`.

    schema_lines.py             complains of files without it (a test)
    schema_lines.py --write     writes it
"""
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINE = "# yaml-language-server: $schema={}\n"


def files(root: Path):
    """(file, kind of its schema) of what ships."""
    for scenario in sorted(root.glob("scenarios/*/scenario.yaml")):
        yield scenario, "scenario"
    for config in sorted(root.glob("configs/*/*.yaml")):
        yield config, config.parent.name


def line_of(file: Path, kind: str, root: Path) -> str:
    return LINE.format(Path(os.path.relpath(root / "schemas" / f"{kind}.json", file.parent)).as_posix())


def main() -> int:
    missing = 0
    for file, kind in files(ROOT):
        text = file.read_text()
        line = line_of(file, kind, ROOT)
        if text.startswith(line):
            continue
        missing += 1
        if "--write" in sys.argv[1:]:
            rest = text.split("\n", 1)[1] if text.startswith("# yaml-language-server:") else text
            file.write_text(line + rest)
        else:
            print(f"{file.relative_to(ROOT)}: does not begin with `{line.strip()}`: tools/schema_lines.py --write")
    return 1 if missing and "--write" not in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
