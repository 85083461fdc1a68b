#!/usr/bin/env python3
"""HTA (facebookresearch/HolisticTraceAnalysis) reads our timelines, and its times of a step are those of our answer.

Usage: hta_test.py PROGRAM          skipped, with exit code 77, where HTA cannot be imported (PYTHONPATH says where it is)
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
try:
    import pandas
    from hta.trace_analysis import TraceAnalysis
except ImportError as problem:
    print(f"skipped: HTA cannot be imported: {problem}")
    sys.exit(77)

WITHIN_US = 1.0  # HTA rounds the overlap to 0.01 %
JOBS = ["dlrm_nvswitch", "llama3_8b_fsdp"]


def timelines(program, job, folder):
    subprocess.run([program, "run", job, "--set", "steps=1", "--timeline-per-rank", "--timeline-ranks", "all", "--hta-compat",
                    "-o", str(folder)], check=True, capture_output=True)
    files = sorted(folder.glob("timeline.rank*.json.gz"))
    answer = json.loads((folder / "metrics.json").read_text())
    by_rank = {int(file.name.split(".")[1][4:]): file for file in files}
    communication = pandas.Series({rank: covered_by_messages(file) for rank, file in by_rank.items()})
    return answer, communication, TraceAnalysis(trace_files={rank: str(file) for rank, file in by_rank.items()})


def covered_by_messages(file):
    """Microseconds in which a kernel of NCCL runs: the whole that HTA's overlap is a share of."""
    events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    covered = end = 0
    for begin, length in sorted((event["ts"], event["dur"]) for event in events
                                if event.get("cat") == "kernel" and event["name"].startswith("nccl")):
        covered += max(0, begin + length - max(begin, end))
        end = max(end, begin + length)
    return covered


def microseconds_of_hta(analysis, communication):
    """Means over ranks: idle and kernels' span; of communication what nothing hides."""
    split = analysis.get_temporal_breakdown(visualize=False).set_index("rank")
    overlap = analysis.get_comm_comp_overlap(visualize=False).set_index("rank")["comp_comm_overlap_pctg"]
    exposed = communication * (1 - overlap / 100)
    kernels = analysis.get_gpu_kernel_breakdown(visualize=False)[1]
    memory = kernels[kernels["kernel_type"] == "MEMORY"].groupby("rank")["sum (us)"].sum()
    busy = split["kernel_time(us)"] - split["idle_time(us)"] - exposed
    return {"idle": split["idle_time(us)"].mean(), "span": split["kernel_time(us)"].mean(), "exposed": exposed.mean(),
            "compute and copies": busy.mean(), "memory": memory.mean()}


def microseconds_of_ours(answer):
    rows = {name: 1e6 * seconds for name, seconds in answer["time_s"].items()}
    compute = rows["compute"] + rows.get("copies", 0)
    messages = sum(time for name, time in rows.items() if name.startswith(("exposed", "waiting in")))
    # HTA's span goes from a rank's first kernel to its last: what is before and behind is idle time of ours.
    span = 1e6 * answer["step_time_s"] - rows.get("done before others", 0)
    return {"busy": compute + messages, "exposed": messages, "compute and copies": compute, "span": span}


def check(job, answer, communication, analysis):
    hta, ours = microseconds_of_hta(analysis, communication), microseconds_of_ours(answer)
    ours["idle"] = ours["span"] - ours["busy"]
    edges = ours["span"] - hta["span"]  # idle time of ours, outside of HTA's span
    wrong = []

    def expect(name, least, most):
        if not least - WITHIN_US <= ours[name] <= most + WITHIN_US:
            wrong.append(f"{job}: {name} is {ours[name]:.3f} us of ours, {least:.3f} to {most:.3f} by HTA")

    # For HTA copies and memsets hide no message; for us they do.
    expect("idle", hta["idle"] + edges, hta["idle"] + edges)
    expect("exposed", hta["exposed"] - hta["memory"], hta["exposed"])
    expect("compute and copies", hta["compute and copies"], hta["compute and copies"] + hta["memory"])
    if not 0 <= edges < 0.05 * ours["span"]:
        wrong.append(f"{job}: kernels span {hta['span']:.3f} us of {ours['span']:.3f}")
    graph, is_good = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=0)
    if not is_good or not graph.critical_path_events_set:
        wrong.append(f"{job}: no critical path")
    for name in ("get_queue_length_summary", "get_memory_bw_summary"):
        if getattr(analysis, name)() is None:
            wrong.append(f"{job}: {name} has no answer")
    for name in ("get_cuda_kernel_launch_stats", "get_idle_time_breakdown"):
        if getattr(analysis, name)(visualize=False) is None:
            wrong.append(f"{job}: {name} has no answer")
    print(f"{job}: " + ", ".join(f"{name} {value:.1f} us" for name, value in hta.items()))
    return wrong


def main(program):
    wrong = []
    for job in JOBS:
        with tempfile.TemporaryDirectory() as folder:
            wrong += check(job, *timelines(program, job, Path(folder)))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).resolve())))
