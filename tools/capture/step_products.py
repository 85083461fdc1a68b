#!/usr/bin/env python3
"""Lists the matrix products of captured training steps: kernels' times from a Kineto trace, their shapes from the timeline of `lockstep run` of
the same step, whose products are the same in number and order (else the step is left out). A split product's sum counts with it. Autograd computes
the weight's gradient of a product without a bias before the input's, the timeline after it: kernels' names tell, and those whose operands lie in
another way than the timeline's are left out.

Usage: step_products.py MODEL,BATCH,PRECISION,MODE=TRACE.json.gz,TIMELINE.json.gz ... > step_products.csv
"""
import gzip
import json
import re
import sys
from statistics import mean

PRODUCT = re.compile(r"gemm|nvjet|cutlass|gemv|dot_kernel")
OTHER = re.compile(r"fmha|sdpa|conv|wgrad|dgrad|fprop")
# of operands stored by columns, B first: nvjet_..._TNT, sm90_xmma_gemm_..._tn_n_tilesize..., cutlass_..._tn_align4
LAYOUT = re.compile(r"nvjet\w*_([NT]{2})[NT]\b|_([nt]{2})_[nt]_tilesize|_([nt]{2})_align\d")
BY_ROWS = {"tn": "nt", "nn": "nn", "nt": "tn", "tt": "tt"}


def kernels(file):
    with gzip.open(file, "rt") as text:
        read = json.load(text)
    events = read["traceEvents"] if isinstance(read, dict) else read
    return sorted((event for event in events if event.get("cat") == "kernel"), key=lambda event: event["ts"])


def measured(trace):
    """[us, name] of each product in the order of the stream."""
    found = []
    for kernel in kernels(trace):
        if "splitKreduce" in kernel["name"]:
            found[-1][0] += kernel["dur"]
        elif PRODUCT.search(kernel["name"]) and not OTHER.search(kernel["name"]):
            found.append([kernel["dur"], kernel["name"]])
    return found


def shapes(timeline):
    """(type, layout, batch, m, n, k) of each product likewise."""
    of = (kernel["args"] for kernel in kernels(timeline) if "transpose" in kernel["args"])
    return [(work["type"], work["transpose"].lower(), work["batch"], work["m"], work["n"], work["k"]) for work in of]


def layout(name):
    """Which of A and B are transposed, as Lockstep says it; None: the name does not tell."""
    told = LAYOUT.search(name)
    return BY_ROWS[next(part for part in told.groups() if part).lower()] if told else None


def in_step_order(times, works):
    """(us, name, work) of the products whose operands lie as the timeline has them, pairs of gradients in either order."""
    agrees = lambda time, work: layout(time[1]) in (None, work[1])
    found, i = [], 0
    while i < len(times):
        if not agrees(times[i], works[i]) and i + 1 < len(times) and agrees(times[i], works[i + 1]) and agrees(times[i + 1], works[i]):
            works[i], works[i + 1] = works[i + 1], works[i]
        if agrees(times[i], works[i]):
            found.append((*times[i], works[i]))
        i += 1
    return found


def main():
    print("model,batch_size,precision,mode,type,layout,batch,m,n,k,launches,mean_us,kernel")
    for argument in sys.argv[1:]:
        step, files = argument.split("=", 1)
        times, works = measured(files.split(",")[0]), shapes(files.split(",")[1])
        if len(times) == len(works) + 1 and "simt" in times[0][1]:
            del times[0]  # rotary angles, positions by frequencies: no product in the timeline
        if len(times) != len(works):
            print(f"{step}: {len(times)} products were traced, {len(works)} are in the timeline: left out", file=sys.stderr)
            continue
        found = {}
        for time, name, work in in_step_order(times, works):
            found.setdefault(work, []).append((time, name))
        for work, launches in found.items():
            name = launches[0][1].removeprefix("void ").replace(",", ";")[:90]
            print(step, *work, len(launches), f"{mean(time for time, _ in launches):.2f}", name, sep=",")


if __name__ == "__main__":
    main()
