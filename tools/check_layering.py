#!/usr/bin/env python3
"""Fails when a file includes something its folder may not know, or a .cpp not its own header first.

The architecture is one line: a folder may include itself and the folders to its left. A header that its .cpp
includes first has shown that it compiles alone (cmake/lockstep_library.cmake compiles the others). Libraries that would spread
have a home, and some stay out of headers so that a change of library, and its compile time, concerns few files.

Usage: tools/check_layering.py [ROOT]
"""
import re
import sys
from pathlib import Path

ORDER = ["base", "topology", "ops", "sim", "traces", "synth", "calibration", "scenario", "schedule", "generate", "search",
         "import", "app", "python"]

# Include prefix -> the folders that may include it. A longer path below a folder narrows it.
HOMES = {
    "simgrid/": ["sim"],
    "xbt/": ["sim"],
    "yaml-cpp/": ["base"],
    "boost/graph/": ["topology"],
    "google/protobuf/": ["traces"],
    "nlohmann/": ["traces", "synth", "calibration", "scenario", "generate", "search", "import", "app"],
    "toml++/": ["import"],
    "pugixml.hpp": ["import"],
    "simdjson.h": ["traces"],
    "CLI/": ["app", "calibration/measure"],
    "zlib.h": ["traces"],
    "sqlite3.h": ["traces/nsys"],
    "cuda": ["calibration/measure", "generate/runtime"],
    "cublas": ["calibration/measure", "generate/runtime"],
    "nccl": ["calibration/measure", "generate/runtime"],
    "cub/": ["calibration/measure", "generate/runtime"],
    "mpi.h": ["calibration/measure", "generate/runtime"],
}
# What is tested without a GPU must be built without CUDA.
ONLY_IN_CUDA = ["cuda", "cublas", "nccl", "cub/", "mpi.h"]
ONLY_IN_SOURCES = ["yaml-cpp/", "nlohmann/", "simdjson.h", "toml++/", "pugixml.hpp"]

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')
INCLUDE_ANYWHERE = re.compile(INCLUDE.pattern, re.MULTILINE)


def complaint(source: Path, target: str):
    """Why @p source (relative to the root) may not include @p target, or None."""
    for library, homes in HOMES.items():
        if target.startswith(library):
            if not any(source.is_relative_to(home) for home in homes):
                return f"only {', '.join(home + '/' for home in homes)} may include it"
            if library in ONLY_IN_SOURCES and source.suffix == ".hpp":
                return "only .cpp files may include it"
            if library in ONLY_IN_CUDA and source.suffix not in (".cu", ".cuh"):
                return "only .cu and .cuh files may include it"
            return None
    folder, other = source.parts[0], target.split("/", 1)[0]
    if "/" in target and other in ORDER and ORDER.index(other) > ORDER.index(folder):
        return f"{folder}/ may not know {other}/"
    return None


def own_header_late(root: Path, source: Path, targets: list):
    """The header of the same name, where there is one and it is not the first thing that a .cpp includes."""
    header = source.with_suffix(".hpp")
    late = source.suffix == ".cpp" and (root / header).is_file() and targets[:1] != [str(header)]
    return header if late else None


def complaints(root: Path):
    for folder in ORDER:
        for path in sorted(p for p in (root / folder).rglob("*") if p.suffix in (".hpp", ".cpp", ".cu", ".cuh")):
            source = path.relative_to(root)
            targets = INCLUDE_ANYWHERE.findall(path.read_text())
            if header := own_header_late(root, source, targets):
                yield f"{source}:1: it has to include {header} first"
            for number, line in enumerate(path.read_text().splitlines(), start=1):
                match = INCLUDE.match(line)
                problem = match and complaint(source, match.group(1))
                if problem:
                    yield f"{source}:{number}: {match.group(1)}: {problem}"


if __name__ == "__main__":
    found = list(complaints(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
    print("\n".join(found) if found else "layering: ok")
    sys.exit(1 if found else 0)
