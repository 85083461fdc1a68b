#!/usr/bin/env python3
"""`lockstep calibrate host` of a timeline of ours, several ranks in one file, finds the host that made it, also where the
GPU is so slow that the launch queue is full.

    host_round_trip.py build/lockstep scenarios/NAME HOST
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

CALLS = ("launch_kernel", "memcpy", "memset", "event_record", "stream_wait_event")


def runtime_calls(lockstep: str, host: str) -> dict[str, str]:
    shown = subprocess.run([lockstep, "calibrate", "show", host, "--json", "-"], check=True, capture_output=True, text=True)
    numbers = {number["key"]: number["value"] for number in json.loads(shown.stdout)["numbers"]}
    return {call: numbers[f"runtime_calls.{call}"] for call in CALLS}


def main() -> int:
    lockstep, scenario, host = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [lockstep, "run", Path(scenario), "-o", folder, "--timeline-ranks", "0,1", "--quiet"], check=True
        )
        timeline, profile = f"{folder}/timeline.json.gz", f"{folder}/found.yaml"
        calibrate = [lockstep, "calibrate", "host", timeline, "--start", host, "-o", profile]
        told = subprocess.run(calibrate, check=True, capture_output=True, text=True).stderr
        found, made_by = runtime_calls(lockstep, profile), runtime_calls(lockstep, host)
        twice = subprocess.run([*calibrate, timeline], capture_output=True, text=True)
    if "waited for room in a full launch queue" not in told:
        print(f"no call waited: {scenario} is no test of that\n{told}")
        return 1
    if found != made_by:
        print(f"{host} has {made_by}, its timeline {found}")
        return 1
    if twice.returncode != 2 or "is given twice" not in twice.stderr:
        print(f"a file that is given twice: {twice.returncode}, {twice.stderr}")
        return 1
    return 0


sys.exit(main())
