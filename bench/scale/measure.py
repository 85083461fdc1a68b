#!/usr/bin/env python3
"""Processor time and memory of `lockstep run` on the large jobs of docs/performance.md, folded and in full.

Usage: bench/scale/measure.py [BUILD] [--full] [--contended]     the build folder, build/ unless said
--full: GPT 1T unfolded too; --contended: Mixtral on 512 to 8,192 GPUs that share uplinks, where nothing folds
"""
import argparse
import os
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Routes over leaves and spines make every rank another: nothing folds.
IN_FULL = ["--set=cluster=dgx_h100_2048_rail", "--set=gpu=h100_80gb", "--set=parallelism.ranks=3072"]


def of_nodes(nodes):
    """Options of the contended job on so many nodes; each rank does the same work on any number."""
    return [f"--set=cluster.nodes=[dgx_h100 x {nodes}]", f"--set=workload.global_batch={4 * nodes}"]


def measure(program, scenario, options):
    """Runs a scenario; returns processor seconds, peak memory in MB and the line that says what was simulated."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "run", HERE / scenario, "--no-timeline", "-o", folder, *options]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        output = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"{scenario}: exit status {os.waitstatus_to_exitcode(status)}\n{output}")
    said = next((line for line in output.splitlines() if line.startswith("simulated")), "")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=HERE.parent.parent / "build", type=pathlib.Path)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--contended", action="store_true")
    given = parser.parse_args()
    jobs = [("gpt_1t.yaml", []), ("llama3_405b.yaml", [])] + ([("gpt_1t.yaml", IN_FULL)] if given.full else [])
    if given.contended:
        jobs = [("mixtral_contended.yaml", of_nodes(nodes)) for nodes in (64, 128, 256, 512, 1024)]
    for scenario, options in jobs:
        runs = [measure(given.build / "lockstep", scenario, options) for _ in range(1 if options else 3)]
        seconds, memory, said = min(runs)
        print(f"{scenario} {' '.join(options)}: {seconds:.2f} s of processor time, {memory:.0f} MB; {said}")


if __name__ == "__main__":
    main()
