#!/usr/bin/env python3
"""Runs scenarios by `engine: run_ahead` and by `engine: s4u`, where every actor is SimGrid's, and compares all figures.

Usage: tests/support/engines_agree.py LOCKSTEP SCENARIO...
"""
import json
import subprocess
import sys

OF_THE_RUN = {"engine", "wall_s", "simulated_ranks"}  # told of the simulation, not of the job


def figures(value):
    if isinstance(value, dict):
        return {key: figures(inner) for key, inner in value.items() if key not in OF_THE_RUN}
    return [figures(inner) for inner in value] if isinstance(value, list) else value


def answer(program, scenario, engine):
    command = [program, "run", scenario, "--json", "-", "--no-timeline", "-q", "--set", f"engine={engine}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{scenario}, {engine}: exit code {done.returncode}: {done.stderr.strip()}")
    return figures(json.loads(done.stdout))


def main():
    program, *scenarios = sys.argv[1:]
    differ = []
    for scenario in scenarios:
        ahead, real = (answer(program, scenario, engine) for engine in ("run_ahead", "s4u"))
        keys = sorted(key for key in ahead.keys() | real.keys() if ahead.get(key) != real.get(key))
        print(f"{scenario}: {'same' if not keys else 'differ in ' + ', '.join(keys)}")
        differ += keys
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
