#!/usr/bin/env python3
"""Derives configs/hosts/v100_lin_2022.yaml: the V100 host of Lin et al. from the overheads they published.

Three tables, best first: the ten largest T2, T3, T5 of November 2022 (single V100, profiler cost removed); T2 of
February 2022 (all machines pooled, profiler cost removed); T2, T3, T5 of 2021 (raw). The older ones are scaled by
the median ratio of the newest to them over the operators they share. Operators that no DLRM has are taken from the
convolutional networks of February 2022, at the ratio of the DLRMs' operators; the fallback is of the DLRMs' alone.

Usage: tools/derive/lin_host_overheads.py --data ../shared/data
"""
import argparse
import csv
import statistics
from collections import defaultdict
from pathlib import Path

PARTS = {"t2": "before_first_launch", "t3": "after_last_launch", "t5": "between_launches"}


def rows(path):
    with open(path) as text:
        return list(csv.DictReader(line for line in text if not line.startswith("#")))


def operator(name):
    if name == "AccumulateGrad":
        return "torch::autograd::AccumulateGrad"
    return name + "0" if name.endswith("Backward") and not name.startswith("Lookup") else name


def medians(samples):
    return {key: statistics.median(values) for key, values in samples.items()}


def table(path, name, value, keep=lambda row: True):
    samples = defaultdict(list)
    for row in rows(path):
        if row["type"] in PARTS and keep(row):
            samples[row["type"], operator(row[name])].append(float(row[value]))
    return medians(samples)


def scaled(older, newest, kinds):
    shared = [newest[key] / older[key] for key in older if key in newest and key[0] in kinds and older[key] > 0]
    ratio = statistics.median(shared)
    return {key: value * ratio for key, value in older.items() if key[0] in kinds}, ratio


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, required=True)
    folder = arguments.parse_args().data / "kernels"
    newest = table(folder / "overheads_T2_T3_T5_top10_2022-11_digitised.csv", "op", "mean_us")
    pooled = table(folder / "overheads_T1_T2_by_op_2022-02.csv", "op", "mean_us", lambda r: r["model"].startswith("DLRM"))
    raw_path = folder / "overheads_T1_T5_2021_raw_profiled.csv"
    raw = table(raw_path, "op_or_runtime_call", "mean")
    launches = {name for kind, name in newest | pooled | raw if kind == "t2"}

    found = {}
    for older, kinds, title in ((raw, {"t2", "t3", "t5"}, "2021"), (pooled, {"t2"}, "2022-02")):
        for kind in kinds:
            values, ratio = scaled(older, newest, {kind})
            print(f"# {kind} of {title} times {ratio:.2f}")
            found |= {key: value for key, value in values.items() if value > 0}
            factor = ratio
    found |= newest

    operators = defaultdict(dict)
    for (kind, name), value in found.items():
        part = PARTS[kind] if kind != "t5" or name in launches else "without_launch"
        operators[name][part] = value
    usual = {part: statistics.median([o[part] for o in operators.values() if part in o])
             for part in [*PARTS.values(), "without_launch"]}
    of_networks = table(folder / "overheads_T1_T2_by_op_2022-02.csv", "op", "mean_us",
                        lambda r: r["model"] in ("resnet50", "inception_v3"))
    for (kind, name), value in of_networks.items():
        if name not in operators:
            operators[name][PARTS[kind]] = value * factor
    calls = defaultdict(list)
    for row in rows(raw_path):
        if row["type"] == "t4":
            calls[row["op_or_runtime_call"]].append(float(row["mean"]))
    for call, key in (("cudaMemcpyAsync", "memcpy"), ("cudaMemsetAsync", "memset"), ("cudaEventRecord", "event_record")):
        if call in calls:  # a launch is 10 us there and 4 us in the authors' model
            print(f"runtime_calls {key}: {max(0.5, statistics.median(calls[call]) - 6):.1f} us")
    t1 = statistics.fmean(float(r["mean_us"]) for r in rows(folder / "overheads_T1_2022-11_digitised.csv"))
    print(f"between_operators: {t1:.1f} us")
    print("fallback: {" + ", ".join(f"{part}: {value:.1f} us" for part, value in usual.items()) + "}")
    print("operators:  # parts that were never seen are those of the fallback")
    for name in sorted(operators):
        print(f'  "{name}": {{' + ", ".join(f"{p}: {operators[name].get(p, v):.1f} us" for p, v in usual.items()) + "}")


if __name__ == "__main__":
    main()
