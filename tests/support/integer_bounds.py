#!/usr/bin/env python3
"""Each whole number of a scenario, at its bound and beyond, gives an answer of finite numbers or an error, at once.

    integer_bounds.py build/lockstep
"""
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

from scenario_schema import whole_numbers

BASES = {"dlrm": "dlrm_nvswitch", "cnn": "resnet50_8xv100", "xlnet": "xlnet_4xa100", "transformer": "gpt2_8xa100"}
OTHER_BASE = "gpt2_8xa100"
MOST, MOST_COUNT = 10**12, 10**9  # of 64 bits and of 32 (base/parse_units.cpp)
VALUES = [MOST_COUNT, MOST_COUNT + 1, MOST, MOST + 1, 2**53 + 1, 2**63 - 1, 2**63, -1, -(2**63)]
SECONDS = 20


def is_finite(value):
    if isinstance(value, dict):
        return all(map(is_finite, value.values()))
    if isinstance(value, list):
        return all(map(is_finite, value))
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def fault_of(lockstep, key, value, folder):
    """What is wrong with the answer to `--set KEY=VALUE`; "" for nothing."""
    base = next((scenario for kind, scenario in BASES.items() if f".{kind}." in key), OTHER_BASE)
    command = [lockstep, "run", base, "-o", folder, "--no-timeline", "--quiet", "--set", f"{key}={value}"]
    metrics = Path(folder) / "metrics.json"
    metrics.unlink(missing_ok=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "no answer"
    if done.returncode not in (0, 2, 3, 4):
        return f"exit code {done.returncode}: {done.stderr.strip()[-200:]}"
    if done.returncode != 0:
        return "" if done.stderr.strip() else "no message"
    answer = json.loads(metrics.read_text())
    if not is_finite(answer) or not answer["step_time_s"] > 0 or answer["exposed_communication_s"] < 0:
        return "the answer has numbers that cannot be"
    return ""


def main():
    lockstep = sys.argv[1]
    found = whole_numbers(lockstep)
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for key in found:
            for value in VALUES:
                if fault := fault_of(lockstep, key, value, folder):
                    print(f"--set {key}={value}: {fault}", flush=True)
                    faults += 1
    print(f"{len(found)} whole numbers, {len(VALUES)} values each: {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
