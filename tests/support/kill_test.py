#!/usr/bin/env python3
"""Kills a command at each system call that changes files; afterwards its results are the old or the new ones, whole.

Usage: kill_test.py --lockstep PROGRAM --preload libkill_at.so COMMAND [--most N]
    COMMAND: one of run, export, replay, plan, search, sweep, calibrate
    --most: how many moments are tried; more calls than that are sampled evenly, those of the end all

The folder is made anew with the old result for each moment. Names of files are compared too: nothing of the old result
is left beside the new one. The same command, run again, has to succeed and leave nothing beside the folder.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SMALL = """name: kill test
cluster: dgx_a100 x 1
workload: { model: {from: gpt2, transformer: {layers: 2}}, global_batch: 8, precision: bf16 }
parallelism: { ranks: 2 }
steps: %d
"""
PLANNED = """name: kill test
cluster: dgx_a100 x 1
workload: { model: {from: gpt3_1b3, transformer: {layers: 4}}, global_batch: %d, precision: bf16 }
parallelism: { ranks: 2 }
steps: 1
"""
TABLES = """name: kill test
cluster: dgx_a100 x 1
workload: { model: dlrm_default, global_batch: 256 }
parallelism: { ranks: 2 }
steps: 1
"""
LOG = """%s# nThread 1 nGpus 8 minBytes 1024 maxBytes 1073741824 step: 4(factor)
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
%s"""


def log(slower: float) -> str:
    rows = ""
    for power in range(10, 31, 2):
        size = 2 ** power
        time = slower * (30 + size * 1.75 / 235e3)
        rows += f"{size} {size // 4} float sum -1 {time:.2f} {size / time / 1e3:.2f} {size / time / 1e3 * 1.75:.2f} 0 " \
                f"{time:.2f} {size / time / 1e3:.2f} {size / time / 1e3 * 1.75:.2f} 0\n"
    devices = "".join(f"#  Rank {rank:2} Group  0 Pid {100 + rank} on node0 device {rank:2} [0x{rank:02x}] NVIDIA A100-SXM4-80GB\n"
                      for rank in range(8))
    return LOG % (devices, rows)


def commands(name: str, lockstep: Path, home: Path):
    """(what makes the old result, what makes the new one): arguments, both into home/out."""
    for steps in (1, 2):
        (home / f"steps{steps}.yaml").write_text(SMALL % steps)
        (home / f"planned{8 * steps}.yaml").write_text(PLANNED % (8 * steps))
    (home / "tables.yaml").write_text(TABLES)
    (home / "old.log").write_text(log(1.0))
    (home / "new.log").write_text(log(1.3))
    if name == "replay":
        subprocess.run([lockstep, "run", "steps2.yaml", "-q", "-o", "recorded"], cwd=home, check=True, capture_output=True)
    old, new = {
        "run": (["run", "steps1.yaml"], ["run", "steps2.yaml"]),
        "export": (["export", "steps1.yaml"], ["export", "steps2.yaml", "--set", "workload.global_batch=16"]),
        "replay": (["replay", "recorded/timeline.json.gz"],
                   ["replay", "recorded/timeline.json.gz", "--set", "what_if.gpu_speed=2"]),
        "plan": (["plan", "planned8.yaml", "-j", "1"], ["plan", "planned16.yaml", "-j", "1"]),
        "search": (["search", "tables.yaml", "--method", "size_greedy"],
                   ["search", "tables.yaml", "--method", "size_greedy", "--set", "parallelism.ranks=4"]),
        "sweep": (["sweep", "steps1.yaml", "--set", "workload.global_batch=8,16", "-j", "1"],
                  ["sweep", "steps1.yaml", "--set", "workload.global_batch=8,16,32", "-j", "1"]),
        "calibrate": (["calibrate", "fit", "old.log", "--collective", "all_reduce", "--cluster", "dgx_a100"],
                      ["calibrate", "fit", "new.log", "--collective", "all_reduce", "--cluster", "dgx_a100"]),
    }[name]
    out = ["-o", "out/mine.yaml"] if name == "calibrate" else ["-o", "out"]
    return old + out, new + out


# By command: the files that have to be of one result. A sweep keeps its points beside its table; a table is made of
# them again by the same command.
PARTS = {"sweep": lambda name: name == "sweep.csv"}


def parts(folder: Path, command: str):
    """By name: the bytes of each file of a result, without what differs from run to run."""
    belongs = PARTS.get(command, lambda name: True)
    found = {}
    for path in sorted(folder.glob("*")) if folder.is_dir() else []:
        if path.is_file() and belongs(path.name) and path.name != "manifest.json" and not path.name.startswith("."):
            lines = path.read_bytes().split(b"\n")
            found[path.name] = b"\n".join(line for line in lines if b'"wall_s"' not in line)
    return found


def moments(count: int, most: int):
    """Numbers of calls: all, or the last two thirds of most and an even sample of those before."""
    if count <= most:
        return range(1, count + 1)
    late = 2 * most // 3
    early = most - late
    return sorted({1 + i * (count - late) // early for i in range(early)} | set(range(count - late + 1, count + 1)))


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--lockstep", type=Path, required=True)
    arguments.add_argument("--preload", type=Path, required=True)
    arguments.add_argument("--most", type=int, default=60)
    arguments.add_argument("command")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        lockstep = options.lockstep.resolve()
        old_command, new_command = commands(options.command, lockstep, home)

        def run(words, **environment):
            return subprocess.run([lockstep, *words], cwd=home, env={**os.environ, **environment},
                                  capture_output=True, check=False)

        def result_of(words):
            shutil.rmtree(home / "out", ignore_errors=True)
            done = run(words)
            assert done.returncode == 0, done.stderr.decode()
            return parts(home / "out", options.command)

        new = result_of(new_command)
        old = result_of(old_command)
        assert old and new and old != new
        shutil.copytree(home / "out", home / "kept")
        counted = home / "count"
        preload = {"LD_PRELOAD": str(options.preload.resolve())}
        run(new_command, **preload, LOCKSTEP_KILL_COUNT=str(counted))
        count = int(counted.read_text())
        tried, was_old, was_new = 0, 0, 0
        for moment in moments(count, options.most):
            for left in [home / "out", *home.glob(".*")]:  # else removing it counts, and the end is not reached
                shutil.rmtree(left, ignore_errors=True)
            shutil.copytree(home / "kept", home / "out")
            done = run(new_command, **preload, LOCKSTEP_KILL_AT=str(moment))
            found = parts(home / "out", options.command)
            tried += 1
            was_old += found == old
            was_new += found == new
            if found not in (old, new):
                print(f"killed at call {moment} of {count} (exit code {done.returncode}): mixed: {sorted(found)}")
        again = run(new_command)
        assert again.returncode == 0, again.stderr.decode()
        left = [path.name for path in [*home.glob(".*"), *(home / "out").rglob(".*")]]
        print(f"{options.command}: {count} calls change files; killed at {tried} of them: {was_old} old, {was_new} new, "
              f"{tried - was_old - was_new} mixed; left over after the next run: {left or 'nothing'}")
        return 0 if was_old + was_new == tried and was_new and was_old and not left else 1


if __name__ == "__main__":
    sys.exit(main())
