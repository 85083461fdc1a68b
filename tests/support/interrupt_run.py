#!/usr/bin/env python3
"""Ctrl-C leaves nothing half-written: interrupts `lockstep run` while it writes a timeline, with SIGINT and SIGTERM.

    interrupt_run.py LOCKSTEP SCENARIO
"""
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def interrupted(lockstep, scenario, number, folder):
    """What is wrong after the signal, or None."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a child inherits what a script's background ignores
    run = subprocess.Popen([lockstep, "run", scenario, "--set", "steps=100000", "-q", "-o", folder])
    until = time.monotonic() + 60
    while not any(folder.parent.glob(".out.lockstep-*/.timeline.json.gz.*.part")):
        if run.poll() is not None or time.monotonic() > until:
            run.kill()
            return "the run wrote no timeline"
        time.sleep(0.02)
    run.send_signal(number)
    try:
        code = run.wait(timeout=60)
    except subprocess.TimeoutExpired:
        run.kill()
        return "the run went on"
    if code != -number:
        return f"exit code {code}, not {-number}"
    left = sorted(folder.parent.iterdir())
    return f"it left {left}" if left else None


def main():
    lockstep, scenario = sys.argv[1:]
    failed = False
    for number in signal.SIGINT, signal.SIGTERM:
        with tempfile.TemporaryDirectory() as parent:
            problem = interrupted(lockstep, scenario, number, Path(parent) / "out")
        print(f"{number.name}: {problem or 'nothing left'}")
        failed = failed or problem is not None
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
