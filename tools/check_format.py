#!/usr/bin/env python3
"""Fails when a C++ file is not as clang-format 14 writes it. With another clang-format: exit code 77, nothing is checked
or changed.

Usage: tools/check_format.py [--fix]
"""
import subprocess
import sys

from clang_version import NOT_CHECKED, other_version
from project_sources import ROOT, project_sources

if __name__ == "__main__":
    reason = other_version("clang-format")
    if reason:
        print(f"format: {reason}")
        sys.exit(NOT_CHECKED)
    files = project_sources(".hpp", ".cpp", ".cu", ".cuh")
    mode = ["-i"] if "--fix" in sys.argv[1:] else ["--dry-run", "--Werror"]
    code = subprocess.run(["clang-format", *mode, *files], cwd=ROOT, check=False).returncode
    print(f"format: {len(files)} files" + ("" if code == 0 else "; repair with tools/check_format.py --fix"))
    sys.exit(code)
