#!/usr/bin/env python3
"""Measures originals, the programs that `lockstep generate` writes of them, and PyTorch's et_replay, on one GPU in one run.

For each case (a line of `--cases`: MODEL BATCH PRECISION MODE, as of capture.py):
  1. capture.py times steps of the original without a profiler, then records one.
  2. lockstep generate writes a program of that record, which is built and run: host time as recorded, and none.
  3. et_replay (facebookresearch/param), where --et-replay names its command, replays the same execution trace. Its time
     of a step is the difference of two runs that differ by 20 iterations.
OUT/benchmarks.csv has a row a case. At the end it says which of the aims hold: step within 5 % (median) and 10 % (worst),
busy within 3 %, families within 10 %, launches below 3 us, closer than et_replay in at least 8 of 10 cases.

No machine of the project had a GPU for it: this script has only been run with --dry-run, which prints its commands.

Usage: tools/capture/benchmarks.py --lockstep FILE --out FOLDER [--cases FILE] [--et-replay "python -m et_replay.tools.et_replay"] [--dry-run]
"""
import argparse
import csv
import json
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
# Two batch sizes each: one bound by the host, one by the GPU.
CASES = [(model, batch, precision, "eager") for model, batches in
         (("gpt2", (1, 16)), ("bert", (2, 32)), ("resnet50", (16, 256)), ("dlrm", (512, 8192)), ("hf_t5", (4, 32)))
         for batch in batches for precision in ("bf16", "tf32")]
REPLAYED = (5, 25)  # iterations of the two runs of et_replay


class Runner:
    def __init__(self, dry):
        self.dry = dry

    def run(self, *command, **options):
        command = [str(word) for word in command]
        print("+", shlex.join(command), flush=True)
        return None if self.dry else subprocess.run(command, check=True, **options)

    def seconds(self, *command):
        begin = time.perf_counter()
        self.run(*command)
        return time.perf_counter() - begin


def capture(runner, cases, out):
    """Rows of times.csv by case."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "cases.txt").write_text("".join(f"{' '.join(map(str, case))}\n" for case in cases))
    runner.run(sys.executable, HERE / "capture.py", "--cases", out / "cases.txt", "--trace", "observed", "--out", out)
    if runner.dry:
        return {}
    lines = [line for line in (out / "times.csv").read_text().splitlines() if not line.startswith("#")]
    return {(row["model"], int(row["batch"]), row["precision"], row["mode"]): row for row in csv.DictReader(lines)}


def program(runner, lockstep, kineto, execution, folder):
    """What the program measured, by how it spends host time."""
    runner.run(lockstep, "generate", kineto, "--set", f"execution_traces=[{execution}]", "-o", folder)
    runner.run(lockstep, "generate", "--check", folder)
    runner.run("cmake", "-S", folder, "-B", folder / "build")
    runner.run("cmake", "--build", folder / "build", "-j")
    measured = {}
    for host in ("recorded", "none"):
        output = folder / f"measured-{host}"
        output.mkdir(parents=True, exist_ok=True)
        runner.run(folder / "run.sh", "--host", host, "--output", output.resolve())
        if not runner.dry:
            measured[host] = json.loads((output / "measured.0.json").read_text())
    return measured


def replay(runner, command, execution):
    """Seconds of an iteration of et_replay; None where it is not asked for or fails."""
    if not command:
        return None
    plain = execution.with_suffix("")
    if not runner.dry and not plain.exists():
        runner.run("gunzip", "-k", execution)
    try:
        times = [runner.seconds(*shlex.split(command), "--input", plain, "--warmup-iter", "3", "--iter", count)
                 for count in REPLAYED]
    except subprocess.CalledProcessError as problem:
        print(f"et_replay: {problem}")
        return None
    return (times[1] - times[0]) / (REPLAYED[1] - REPLAYED[0])


def off(value, of):
    return 100 * (value / of - 1)


def row_of(case, original, measured, replayed):
    step = 1e-3 * float(original["median_ms"])
    busy = 1e-3 * float(original["gpu_busy_ms"] or 0)
    ours = measured["recorded"]
    families = [off(family["seconds"], family["expected"]) for family in ours["families"].values()
                if family["expected"] > 0.01 * busy]
    alone = sum(family["seconds"] for family in ours["families"].values())
    return {"case": " ".join(map(str, case)), "step_ms": 1e3 * step, "program_off": off(ours["step_s"], step),
            "no_host_off": off(measured["none"]["step_s"], step), "et_replay_off": off(replayed, step) if replayed else "",
            "busy_off": off(alone, busy) if busy else "", "worst_family_off": max(families, key=abs, default=0),
            "launch_us": 1e6 * ours["launch_s"], "host_late_ms": 1e3 * ours["host_late_s"]}


def verdicts(rows):
    """Lines: which aims hold."""
    steps = [abs(row["program_off"]) for row in rows]
    busy = [abs(row["busy_off"]) for row in rows if row["busy_off"] != ""]
    rivals = [row for row in rows if row["et_replay_off"] != ""]
    closer = sum(abs(row["program_off"]) < abs(row["et_replay_off"]) for row in rivals)
    for aim, holds, seen in (
            ("steps within 5 % median", statistics.median(steps) <= 5, f"{statistics.median(steps):.1f} %"),
            ("steps within 10 % worst", max(steps) <= 10, f"{max(steps):.1f} %"),
            ("GPU busy within 3 %", bool(busy) and max(busy) <= 3, f"{max(busy, default=0):.1f} %"),
            ("families within 10 %", all(abs(row["worst_family_off"]) <= 10 for row in rows),
             f"{max(abs(row['worst_family_off']) for row in rows):.1f} %"),
            ("launches below 3 us", all(row["launch_us"] < 3 for row in rows),
             f"{max(row['launch_us'] for row in rows):.2f} us"),
            ("closer than et_replay", bool(rivals) and closer >= 0.8 * len(rivals), f"{closer} of {len(rivals)}")):
        yield f"{'holds' if holds else 'FAILS'}  {aim}: {seen}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lockstep", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--cases", type=Path, help="file of MODEL BATCH PRECISION MODE; default: twenty of five models")
    parser.add_argument("--et-replay", default="", help="command of et_replay; without it the rival is left out")
    parser.add_argument("--dry-run", action="store_true", help="print the commands")
    options = parser.parse_args()
    runner = Runner(options.dry_run)
    cases = CASES
    if options.cases:
        words = [line.split() for line in options.cases.read_text().splitlines() if line.strip() and line[0] != "#"]
        cases = [(model, int(batch), precision, mode) for model, batch, precision, mode in words]
    originals = capture(runner, cases, options.out)
    runner.run("nvidia-smi", "--query-gpu=name,clocks.sm,clocks.mem,power.draw", "--format=csv")
    rows = []
    for case in cases:
        model, batch, precision, mode = case
        stem = options.out / (f"{model}_b{batch}_{precision}" + ("" if mode == "eager" else f"_{mode}"))
        execution = stem.with_name(stem.name + ".et.json.gz")
        measured = program(runner, options.lockstep, stem.with_name(stem.name + ".kineto.json.gz"), execution,
                           options.out / "programs" / stem.name)
        replayed = replay(runner, options.et_replay, execution)
        if not options.dry_run:
            rows.append(row_of(case, originals[case], measured, replayed))
    if rows:
        with open(options.out / "benchmarks.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        print("\n".join(verdicts(rows)))


if __name__ == "__main__":
    main()
