#!/usr/bin/env python3
"""What a sweep survives: every case has to end with the table that one undisturbed process writes.

    sweep_processes.py LOCKSTEP SCENARIO CASE       exit code 77: the case cannot be tried here
"""
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

AXES = ["--set", "workload.global_batch=512,1024,2048,4096", "--set", "parallelism.ranks=2,3,4"]  # 3: batch indivisible
SLOW = ["--set", "steps=1500"]
SKIPPED = 77


class Sweeps:
    def __init__(self, lockstep, scenario, parent):
        self.lockstep, self.scenario, self.parent = lockstep, scenario, Path(parent)

    def command(self, folder, *more):
        return [self.lockstep, "sweep", self.scenario, "-o", self.parent / folder, *AXES, *SLOW, *more]

    def run(self, folder, *more, launcher=()):
        return subprocess.run([*launcher, *self.command(folder, *more)], capture_output=True, text=True, timeout=240,
                              check=False)

    def table(self, folder):
        return (self.parent / folder / "sweep.csv").read_text()

    def records(self, folder):
        return {path.name: path.stat().st_mtime_ns for path in (self.parent / folder / "points").glob("*.json")}

    def begun(self, folder, enough):
        """A sweep of one point at a time that has recorded some points and simulates the next."""
        sweep = subprocess.Popen(self.command(folder, "--jobs", "1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, start_new_session=True)
        until = time.monotonic() + 120
        while len(self.records(folder)) < enough or not list((self.parent / folder / "points").glob("*.claim")):
            if sweep.poll() is not None or time.monotonic() > until:
                sweep.kill()
                raise AssertionError(f"the sweep was not interrupted in time: {sweep.communicate()}")
            time.sleep(0.005)
        return sweep


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def failures(sweeps):
    """Points that cannot be simulated are recorded with exit code and message; the others have answers."""
    done = sweeps.run("whole")
    expect(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")
    points = json.loads((sweeps.parent / "whole" / "sweep.json").read_text())["points"]
    failed = [point for point in points if point["exit_code"] != 0]
    expect(len(points) == 12 and len(failed) == 4, f"{len(failed)} of {len(points)} points failed")
    for point in failed:
        expect(point["exit_code"] == 2 and point["values"]["parallelism.ranks"] == "3" and "3" in point["message"],
               f"not the failure that was expected: {point}")
    expect("4 failed" in done.stdout and "failed (2)" in done.stdout, f"the table does not tell: {done.stdout}")
    all_fail = subprocess.run(sweeps.command("broken", "--set", "parallelism.ranks=3"), capture_output=True, text=True,
                              timeout=240, check=False)
    expect(all_fail.returncode == 2, f"exit code {all_fail.returncode} although no point has an answer")


def killed(sweeps):
    """kill -9: the children die too, finished points stay, the same command does the rest."""
    sweep = sweeps.begun("killed", 3)
    sweep.kill()
    sweep.wait(timeout=60)
    time.sleep(0.2)
    kept = sweeps.records("killed")
    expect(3 <= len(kept) < 12, f"{len(kept)} points were recorded")
    time.sleep(0.5)
    expect(sweeps.records("killed") == kept, "the children of the killed process went on")
    done = sweeps.run("killed")
    expect(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")
    after = sweeps.records("killed")
    expect(all(after[name] == when for name, when in kept.items()), "finished points were simulated again")
    sweeps.run("whole")
    expect(sweeps.table("killed") == sweeps.table("whole"), "the resumed sweep has another table")
    left = [path.name for path in (sweeps.parent / "killed" / "points").iterdir()
            if path.suffix not in (".json", ".yaml")]
    expect(not left, f"it left {left}")


def interrupted(sweeps):
    """Ctrl-C and SIGTERM: says how to go on, leaves no claim, ends by the signal."""
    for number in signal.SIGINT, signal.SIGTERM:
        folder = number.name
        sweep = sweeps.begun(folder, 2)
        os.killpg(sweep.pid, number) if number == signal.SIGINT else sweep.send_signal(number)
        _, said = sweep.communicate(timeout=60)
        expect(sweep.returncode == -number, f"exit code {sweep.returncode}, not {-number}")
        expect("of 12 points are done" in said and "goes on with the rest" in said, f"it said: {said}")
        expect(not list((sweeps.parent / folder / "points").glob("*.claim")), "it left claims")
        broken = [name for name in sweeps.records(folder)
                  if json.loads((sweeps.parent / folder / "points" / name).read_text())["exit_code"] > 2]
        expect(not broken, f"the signal was taken for failures of points: {broken}")
        sweeps.run(folder)
    sweeps.run("whole")
    expect(sweeps.table("SIGINT") == sweeps.table("SIGTERM") == sweeps.table("whole"), "the tables differ")


def changed(sweeps):
    """A changed scenario uses no point of the old one; changed back, it finds them again."""
    sweeps.run("changed")
    before, table = sweeps.records("changed"), sweeps.table("changed")
    sweeps.run("changed", "--set", "parallelism.bucket=1MiB")
    after = sweeps.records("changed")
    expect(len(after) == 2 * len(before), f"{len(after)} records, not {2 * len(before)}")
    sweeps.run("changed")
    expect(sweeps.records("changed") == after and sweeps.table("changed") == table, "the old points were lost")


def damaged(sweeps):
    """Records that a power cut left empty, cut off or as nonsense are simulated anew."""
    sweeps.run("damaged")
    table = sweeps.table("damaged")
    records = sorted((sweeps.parent / "damaged" / "points").glob("*.json"))
    key = records[3].stem
    for record, text in zip(records, ["", "[]", '{"key":', json.dumps({"key": key, "exit_code": "x"})]):
        record.write_text(text)
    again = sweeps.run("damaged")
    expect(again.returncode == 0 and again.stdout, f"exit code {again.returncode}, printed: {again.stdout}")
    expect(sweeps.table("damaged") == table, "another table")


def shards(sweeps):
    """The tasks of a job array one after the other: the last one writes the table."""
    for number in range(3):
        done = sweeps.run("shards", "--shard", f"{number}/3", "--jobs", "2")
        expect(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")
    sweeps.run("whole")
    expect(sweeps.table("shards") == sweeps.table("whole"), "the shards have another table")


def shared(sweeps):
    """Points that take their machine and programs over from their sweep have the records of points alone."""
    matrix = {"cluster": ["workstation_4gpu_pcie", "dgx1v", "no_such_cluster"], "vary.seed": [1, 2],
              "workload.global_batch": [512, 1024]}
    scenario = sweeps.parent / "scenario.yaml"

    def sweep(folder, **of):
        scenario.write_text(json.dumps({"include": str(Path(sweeps.scenario).resolve() / "scenario.yaml"), "name": "shared",
                                        "matrix": of, "vary": {"kernels": "lognormal 0.05"}}))
        subprocess.run([sweeps.lockstep, "sweep", scenario, "-o", sweeps.parent / folder], capture_output=True,
                       text=True, timeout=240, check=False)
        return {path.name: path.read_bytes() for path in (sweeps.parent / folder / "points").iterdir()}

    together = sweep("together", **matrix)
    failed = [json.loads(text) for text in together.values() if b"no_such_cluster" in text]
    expect(failed and all(point["exit_code"] == 2 for point in failed), f"not the failures: {failed}")
    for number, (cluster, seed, batch) in enumerate(itertools.product(*matrix.values())):
        if cluster != "no_such_cluster":
            alone = sweep(f"{number}", **dict(zip(matrix, ([cluster], [seed], [batch]))))
            expect(len(alone) == 2 and all(together.get(name) == text for name, text in alone.items()),
                   f"{cluster}, seed {seed}, batch {batch}: another record alone")


def mpi(sweeps):
    """mpirun -n 2: both processes simulate points, process 0 writes the table."""
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        print("skipped: there is no mpirun (Debian: openmpi-bin)")
        return SKIPPED
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = sweeps.run("mpi", launcher=[mpirun, "-n", "2", "--oversubscribe"])
    expect(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")
    expect("process 1 of 2: " in done.stderr and "process 1 of 2: 0 points" not in done.stderr,
           f"process 1 simulated nothing: {done.stderr}")
    expect(done.stdout.count("best (*)") == 1, f"not one table: {done.stdout}")
    sweeps.run("whole")
    expect(sweeps.table("mpi") == sweeps.table("whole"), "the processes have another table")
    return 0


CASES = {case.__name__: case for case in (failures, killed, interrupted, changed, damaged, shards, shared, mpi)}


def main():
    lockstep, scenario, case = sys.argv[1:]
    with tempfile.TemporaryDirectory() as parent:
        try:
            return CASES[case](Sweeps(lockstep, scenario, parent)) or 0
        except AssertionError as problem:
            print(f"{case}: {problem}")
            return 1


if __name__ == "__main__":
    sys.exit(main())
