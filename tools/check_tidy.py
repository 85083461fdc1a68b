#!/usr/bin/env python3
"""Runs clang-tidy on every source file that the build compiles, tests and benchmarks excepted; any finding fails.

A file that passed is not looked at again until something that clang-tidy saw changes: the file, a project header
that it includes (directly or not), its compile command, .clang-tidy, or clang-tidy itself. The stamps lie in
BUILD/tidy/. Library headers are not part of the stamp: they change with the packages, hence rarely.

Usage: tools/check_tidy.py BUILD [--jobs N] [--slowest]
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from project_sources import ROOT, project_sources

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def with_headers(source: Path, root: Path):
    """The source and all project headers below it; quoted includes are relative to the root or to the includer."""
    seen, waiting = set(), [root / source]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in INCLUDE.findall(path.read_text()):
            waiting += [p for p in (root / name, path.parent / name) if p.is_file()]
    return sorted(seen)


def stamp_of(source: Path, command: str, settings: bytes) -> str:
    digest = hashlib.sha256(settings + command.encode())
    for path in with_headers(source, ROOT):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def tidy(source: Path, build: Path):
    started = time.monotonic()
    # GCC judges compiler warnings; here they would only be judged twice, by another compiler.
    done = subprocess.run(["clang-tidy", "--quiet", "-p", build, "--extra-arg=-w", ROOT / source],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, time.monotonic() - started


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("build", type=Path)
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments.add_argument("--slowest", action="store_true", help="print the ten slowest files")
    options = arguments.parse_args()

    commands = {Path(entry["file"]): entry["command"]
                for entry in json.loads((options.build / "compile_commands.json").read_text())}
    settings = (ROOT / ".clang-tidy").read_bytes()
    settings += subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    stamps = options.build / "tidy"
    stamps.mkdir(exist_ok=True)

    sources = [source for source in project_sources(".cpp")
               if ROOT / source in commands and source.parts[0] not in ("tests", "bench")]
    stamp = {source: stamps / stamp_of(source, commands[ROOT / source], settings) for source in sources}
    due = [source for source in sources if not stamp[source].exists()]
    failed, seconds = 0, {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = {pool.submit(tidy, source, options.build): source for source in due}
        for run in concurrent.futures.as_completed(runs):
            code, output, seconds[runs[run]] = run.result()
            if code == 0:
                stamp[runs[run]].touch()
            else:
                failed += 1
                print(output, flush=True)
    if options.slowest:
        for source in sorted(seconds, key=seconds.get, reverse=True)[:10]:
            print(f"{seconds[source]:6.1f} s  {source}")
    print(f"tidy: {len(sources)} files, {len(sources) - len(due)} unchanged since they passed, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
