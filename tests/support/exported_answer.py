#!/usr/bin/env python3
"""The traces that `lockstep export` writes of a scenario, run, take the time that the scenario takes, to the last bit.

    exported_answer.py build/lockstep scenarios/NAME
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def step_time(lockstep: str, scenario: Path, output: Path) -> str:
    """As metrics.json has it, in s."""
    subprocess.run([lockstep, "run", scenario, "-o", output, "--no-timeline", "--quiet"], check=True)
    return json.loads((output / "metrics.json").read_text(), parse_float=str)["step_time_s"]


def main() -> int:
    lockstep, scenario = sys.argv[1], Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        traces = Path(folder) / "traces"
        subprocess.run([lockstep, "export", scenario, "-o", traces, "--quiet"], check=True)
        original = step_time(lockstep, scenario, Path(folder) / "original")
        exported = step_time(lockstep, traces / "scenario.yaml", Path(folder) / "exported")
    if original != exported:
        print(f"{scenario.name} takes {original} s, its traces {exported} s")
        return 1
    return 0


sys.exit(main())
