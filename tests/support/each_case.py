#!/usr/bin/env python3
"""Runs each case of a GoogleTest program in a process of its own: SimGrid's clock does not begin again.

Usage: each_case.py PROGRAM [FILTER]
"""
import subprocess
import sys


def cases_of(program: str, chosen: str):
    listing = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={chosen}"], capture_output=True, text=True,
                             check=True)
    suite = ""
    for line in listing.stdout.splitlines()[1:]:
        name = line.split("#")[0]
        if name.startswith("  "):
            yield suite + name.strip()
        else:
            suite = name.strip()


def main() -> int:
    program, chosen = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "*"
    count, failed = 0, 0
    for case in cases_of(program, chosen):
        done = subprocess.run([program, f"--gtest_filter={case}"], capture_output=True, text=True, check=False)
        count += 1
        if done.returncode != 0:
            failed += 1
            print(f"{case}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"{count} cases, {failed} failed")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
