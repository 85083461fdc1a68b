#!/usr/bin/env python3
"""Ctrl-C keeps the best plans so far: interrupts `lockstep plan` with SIGINT, later until it had found one, earlier where it was done.

    interrupt_plan.py LOCKSTEP SCENARIO
"""
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TRIES = 12  # how long it takes to the first plan, and to the last, depends on the machine and what else it does


def interrupted(lockstep, scenario, delay, folder):
    """What is wrong after the signal; None: nothing; "too early", "too late"."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a child inherits what a script's background ignores
    search = subprocess.Popen([lockstep, "plan", scenario, "-q", "-o", folder], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    time.sleep(delay)
    search.send_signal(signal.SIGINT)
    try:
        printed, said = search.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        search.kill()
        return "the search went on"
    if search.returncode == 0:
        return "too late"
    if search.returncode != -signal.SIGINT:
        return f"exit code {search.returncode}, not {-signal.SIGINT}: {said}"
    if not printed:
        return "too early"
    if "stopped: the best so far" not in printed:
        return f"it printed {printed}"
    if not (folder / "plan_1.yaml").exists() or any(folder.glob("*.part")):
        return f"it left {sorted(folder.iterdir())}"
    return None


def main():
    lockstep, scenario = sys.argv[1:]
    early, late = 0, None  # s: what was too early, and too late
    for _ in range(TRIES):
        delay = (early + late) / 2 if late else max(1, 2 * early)
        with tempfile.TemporaryDirectory() as parent:
            problem = interrupted(lockstep, scenario, delay, Path(parent) / "out")
        if problem == "too early":
            early = delay
        elif problem == "too late":
            late = delay
        else:
            break
    print(problem or "the best so far was kept")
    return int(problem is not None)


if __name__ == "__main__":
    sys.exit(main())
