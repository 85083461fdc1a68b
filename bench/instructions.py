#!/usr/bin/env python3
"""Instructions that an operation takes of the processor, for fixed jobs on both engines, against bench/instructions.csv.

Usage: bench/instructions.py ENGINE_SPEED [--compiler NAME] [--update]

Prints a table. Exit code 1: some job takes 3 % more than the file says. Exit code 77: nothing was measured, because
valgrind is missing or the file is of another compiler. Counts are of callgrind, the difference of two steps and one.
"""

import argparse
import concurrent.futures
import csv
import pathlib
import re
import shutil
import subprocess
import sys

KEPT = pathlib.Path(__file__).with_suffix(".csv")
MOST = 1.03  # of the kept count
SKIPPED = 77
STEPS = (1, 2)
OPERATIONS = 1000  # of a rank in a step (tests/support/contended_job.hpp)


def count(program, ranks, steps, engine):
    """Instructions of a whole run."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program]
    run = subprocess.run([*command, ranks, str(steps), "0.1", engine], capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", run.stderr).group(1))


def measure(program, jobs):
    """Instructions an operation, by job."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = [[pool.submit(count, program, job["ranks"], steps, job["engine"]) for steps in STEPS] for job in jobs]
        ends = [[run.result() for run in of_job] for of_job in runs]
    operations = OPERATIONS * (STEPS[1] - STEPS[0])
    return [(more - less) / (operations * int(job["ranks"])) for job, (less, more) in zip(jobs, ends)]


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--compiler", default="")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    with KEPT.open() as file:
        jobs = list(csv.DictReader(file))
    if shutil.which("valgrind") is None:
        skip("valgrind is not installed (tools/install_dependencies.sh)")
    known = jobs[0]["compiler"]
    if not arguments.update and arguments.compiler and arguments.compiler != known:
        skip(f"{KEPT.name} is of {known}, the program of {arguments.compiler}")
    print("| ranks | engine | instructions an operation | kept |\n|---:|---|---:|---:|")
    failed = False
    for job, measured in zip(jobs, measure(arguments.program, jobs)):
        kept = float(job["instructions"])
        print(f"| {job['ranks']} | `{job['engine']}` | {measured:.1f} | {kept:.1f} |")
        failed |= measured > MOST * kept
        job["instructions"] = f"{measured:.1f}"
        job["compiler"] = arguments.compiler or known
    if arguments.update:
        with KEPT.open("w", newline="") as file:
            writer = csv.DictWriter(file, jobs[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(jobs)
    elif failed:
        sys.exit("an operation takes 3 % more instructions than it did: mend it, or --update and say why")


if __name__ == "__main__":
    main()
