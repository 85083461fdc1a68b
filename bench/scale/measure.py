#!/usr/bin/env python3
"""The closing table of docs/performance.md: processor time and memory of `lockstep` on fixed jobs, small to huge.

Usage: bench/scale/measure.py [BUILD] [--long] [--only TEXT] [--times N]     the build folder, build/ unless said
--long: also GPT 1T with no rank folded, Mixtral on up to 8,192 GPUs, and `validate --all` (needs the measurements)
--only: jobs whose name has TEXT
Every job names its mode. Kernels step where communication slows them down (interference), as by default; without
interference they run ahead. Processor time is user and system time of all threads and processes, the least of N runs
(2; of a long job 1); wall time is beside it where several cores are used.
"""
import argparse
import gzip
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent
STEPPED, AHEAD = "interference", "none"
# Routes over leaves and spines make every rank another: nothing folds.
IN_FULL = ["--set=cluster=dgx_h100_2048_rail", "--set=gpu=h100_80gb", "--set=parallelism.ranks=3072"]
GPT2 = "GPT-2 on 8 GPUs, 6 steps"
GPT2_WIDE = """name: GPT-2 on 100,000 GPUs
cluster: dgx_h100 x 12500
gpu: h100_80gb
workload: { model: gpt2, global_batch: 100000, micro_batch: 1, precision: bf16 }
parallelism: { ranks: 100000 }
steps: 1
"""
ONE_SWITCH = """name: one_switch
source: drawn for this measurement
vertices:
  - { name: gpu, kind: gpu, count: 16384, model: h100_80gb }
  - { name: switch, kind: leaf, count: 1 }
links:
  - connect: gpu0..16383
    with: switch0
    link: { name: port, source: drawn, kind: network, line_rate: 53.687 GB/s, latency: 1 us }
"""


@dataclass
class Job:
    name: str
    mode: str
    options: list
    is_long: bool = False
    command: str = "run"


@dataclass
class Figures:
    processor: float  # seconds
    wall: float
    memory: float  # MB, of the largest process
    output: str
    events: int  # of the timeline


def contended(nodes, is_long):
    """Each rank does the same work on any number of nodes; all share uplinks, so that nothing folds."""
    return Job(f"Mixtral on {8 * nodes:,} GPUs that share uplinks", AHEAD,
               [HERE / "mixtral_contended.yaml", f"--set=cluster.nodes=[dgx_h100 x {nodes}]",
                f"--set=workload.global_batch={4 * nodes}"], is_long)


def jobs_in(folder):
    """The jobs; what they read and is not in the repository is written into the folder."""
    (folder / "gpt2.yaml").write_text(GPT2_WIDE)
    (folder / "switch.yaml").write_text(ONE_SWITCH)
    (folder / "reduce.yaml").write_text("name: all-reduce\ncluster: switch.yaml\ntrace: { chakra: ar.%d.et }\n")
    gpt2 = ["gpt2_8xa100", "--set=steps=6"]
    return [
        Job("smallest: dlrm_default_8xv100", STEPPED, ["dlrm_default_8xv100"]),
        Job(GPT2, STEPPED, gpt2),
        Job(f"{GPT2}, with a timeline", STEPPED, gpt2, command="run with a timeline"),
        Job("Llama 3 405B on 16,384 GPUs, folded", STEPPED, [HERE / "llama3_405b.yaml"]),
        Job("GPT 1T on 3,072 GPUs, folded", STEPPED, [HERE / "gpt_1t.yaml"]),
        Job("GPT 1T on 3,072 GPUs, in full", STEPPED, [HERE / "gpt_1t.yaml", *IN_FULL], True),
        Job("GPT-2 on 100,000 GPUs, folded", STEPPED, [folder / "gpt2.yaml"]),
        Job("all-reduce of 16,384 GPUs on one switch", STEPPED, [folder / "reduce.yaml"]),
        *(contended(nodes, nodes > 256) for nodes in (128, 256, 512, 1024)),
        Job("search dlrm_nvswitch, one thread", STEPPED, ["dlrm_nvswitch", "--jobs=1"], command="search"),
        Job("search dlrm_nvswitch, all cores", STEPPED, ["dlrm_nvswitch"], command="search"),
        Job("validate --all", STEPPED, ["--all"], True, command="validate"),
    ]


def events_of(timeline):
    """Counted line by line: a child's peak memory is at least that of this process when it starts it."""
    with gzip.open(timeline, "rb") as file:
        return sum(line.count(b'"ph"') for line in file)


def measure(program, job):
    """Runs a job once. Several processes count together."""
    with tempfile.TemporaryDirectory() as folder:
        verb = job.command.split()[0]
        options = ["--no-timeline"] if job.command == "run" else []
        options += [] if verb == "validate" else ["-o", folder]
        began = time.monotonic()
        child = subprocess.Popen([program, verb, *job.options, *options], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        output = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - began
        timeline = pathlib.Path(folder) / "timeline.json.gz"
        events = events_of(timeline) if timeline.exists() else 0
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        raise SystemExit(f"{job.name}: exit status {code}\n{output}")
    return Figures(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, output, events)


def remark(job, figures, before):
    """What else is worth knowing of a job. @param before the figures of earlier jobs, by name"""
    simulated = re.search(r"simulated (.*?) operations of (\S+) ranks(?: by (\S+) of them)?", figures.output)
    text = f"{simulated[1]} operations, {simulated[3] or simulated[2]} ranks simulated" if simulated else ""
    if figures.events and GPT2 in before:
        text += f"; {1e6 * (figures.processor - before[GPT2].processor) / figures.events:.2f} us an event"
    if job.name.startswith("Mixtral"):
        ranks = int(re.search(r"[\d,]+", job.name)[0].replace(",", ""))
        half = before.get(job.name.replace(f"{ranks:,}", f"{ranks // 2:,}"))
        text += f"exponent of the doubling {math.log2(figures.processor / half.processor):.2f}" if half else ""
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=HERE.parent.parent / "build", type=pathlib.Path)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--times", type=int, default=2)
    given = parser.parse_args()
    print("| job | communication slows kernels | processor time | wall time | memory | |\n|---|---|---:|---:|---:|---|")
    known = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for job in jobs_in(folder):
            if given.only not in job.name or (job.is_long and not given.long):
                continue
            if "one switch" in job.name:
                subprocess.run([sys.executable, HERE.parent / "chakra" / "generate.py", "all_reduce", "--ranks=16384",
                                f"--bytes={64 << 20}", f"--out={folder / 'ar'}"], check=True, stdout=subprocess.DEVNULL)
            runs = [measure(given.build / "lockstep", job) for _ in range(1 if job.is_long else given.times)]
            best = min(runs, key=lambda run: run.processor)
            print(f"| {job.name} | {'yes' if job.mode == STEPPED else 'no'} | {best.processor:.2f} s | {best.wall:.2f} s | "
                  f"{best.memory:.0f} MB | {remark(job, best, known)} |", flush=True)
            known[job.name] = best


if __name__ == "__main__":
    main()
