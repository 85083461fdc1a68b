#!/usr/bin/env python3
"""Runs clang-tidy on every source file that the build compiles, tests, benchmarks and the Python module excepted; any finding fails.

Many files are checked together, as one file that includes them: what they share, library headers above all, is walked
through once instead of once a file, which is most of the time (tools/source_batches.py). A batch with a
finding, or one whose files cannot stand in one translation unit after all, is split until it passes or is one file,
checked alone.

A file that passed is not looked at again until something that clang-tidy saw changes: the file, a project header
that it includes (directly or not), its compile command, .clang-tidy, or clang-tidy itself. The stamps lie in
BUILD/tidy/. Library headers are not part of the stamp: they change with the packages, hence rarely.

With another clang-tidy than version 14: exit code 77, nothing is checked.

Usage: tools/check_tidy.py BUILD [--jobs N] [--batch N] [--slowest]
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

from clang_version import NOT_CHECKED, other_version
from project_sources import ROOT, project_sources
from source_batches import batches_of

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


def flags_of(command: str) -> str:
    """A compile command without the compiler and what it reads and writes."""
    words = shlex.split(command)
    keep = [word for word in words[1:] if re.match(r"-([DIOf]|isystem|std|pthread)", word) or word.startswith("/")]
    return shlex.join(word for word in keep if not word.endswith((".cpp", ".hxx", ".o", "/ccache", "/c++", "/g++")))


def united(commands) -> str:
    """The flags of all commands: with them any file can be read, so that files of several libraries go together."""
    return shlex.join(dict.fromkeys(word for command in commands for word in shlex.split(command)))


def tidy(sources: list, flags: str, folder: Path):
    """Passed, what clang-tidy says, seconds."""
    started = time.monotonic()
    # GCC judges compiler warnings; here they would only be judged twice, by another compiler.
    command = ["clang-tidy", "--quiet", f"--config-file={ROOT / '.clang-tidy'}"]
    if len(sources) == 1:
        unit = ROOT / sources[0]
    else:
        unit = folder / f"{hashlib.sha256(''.join(map(str, sources)).encode()).hexdigest()[:16]}.cpp"
        unit.write_text("".join(f'#include "{ROOT / source}"\n' for source in sources))
        command += ["--checks=-bugprone-suspicious-include", f"--header-filter={ROOT}/.*\\.[ch]pp$"]
    done = subprocess.run([*command, unit, "--", *shlex.split(flags), "-w"], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout, time.monotonic() - started


def findings(sources: list, flags: str, folder: Path, passed):
    """What clang-tidy has against each of the sources; passed(source) for those that it has nothing against."""
    good, output, seconds = tidy(sources, flags, folder)
    if good:
        for source in sources:
            passed(source, seconds / len(sources))
        return []
    if len(sources) == 1:
        return [output]
    named = [source for source in sources if f"{ROOT / source}:" in output]
    rest = [source for source in sources if source not in named]
    if not named or not rest:  # the findings lie in headers, or everywhere
        named, rest = sources[:len(sources) // 2], sources[len(sources) // 2:]
    return findings(named, flags, folder, passed) + findings(rest, flags, folder, passed)


def commands_of(build: Path):
    """By source file: the command that compiles it, alone or in a file that CMake made of several."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        for source in INCLUDE.findall(path.read_text()) if path.parent.name == "Unity" else [path]:
            yield Path(source), entry["command"]


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("build", type=Path)
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments.add_argument("--batch", type=int, default=96, help="files checked together, at most")
    arguments.add_argument("--slowest", action="store_true", help="print the ten slowest files")
    options = arguments.parse_args()
    reason = other_version("clang-tidy")
    if reason:
        print(f"tidy: {reason}")
        return NOT_CHECKED

    commands = dict(commands_of(options.build))
    settings = (ROOT / ".clang-tidy").read_bytes()
    settings += subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    stamps = options.build / "tidy"
    stamps.mkdir(exist_ok=True)

    sources = [source for source in project_sources(".cpp")
               if ROOT / source in commands and source.parts[0] not in ("tests", "bench", "python")]
    stamp = {source: stamps / stamp_of(source, commands[ROOT / source], settings) for source in sources}
    due = [source for source in sources if not stamp[source].exists()]
    seconds, found = {}, []

    def passed(source, took):
        stamp[source].touch()
        seconds[source] = took

    flags = united(flags_of(commands[ROOT / source]) for source in due)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = [pool.submit(findings, batch, flags, stamps, passed)
                for batch in batches_of(due, options.batch, lambda source: (ROOT / source).read_text())]
        for run in concurrent.futures.as_completed(runs):
            for output in run.result():
                found.append(output)
                print(output, flush=True)
    if options.slowest:
        for source in sorted(seconds, key=seconds.get, reverse=True)[:10]:
            print(f"{seconds[source]:6.1f} s  {source}")
    print(f"tidy: {len(sources)} files, {len(sources) - len(due)} unchanged since they passed, {len(found)} with findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
