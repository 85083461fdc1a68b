#!/usr/bin/env python3
"""Checks that timeline files have what HTA, Perfetto and chrome://tracing need of Kineto's layout.

Usage: tests/support/check_kineto_layout.py [--hta] [--partial] FILE.json[.gz]...

--hta      one file per rank with the older `ncclKernel` names, as HTA's straggler analysis wants them
--partial  a recording that began in the middle (PyTorch's): launches and arrow ends may be missing

The requirements are those of ../shared/reference/user_interface.md, C.1 and C.2 (HTA and Perfetto, read and run).
Prints one line a file; exit code 1 and a list of what is wrong otherwise.
"""

import argparse
import bisect
import collections
import gzip
import json
import pathlib
import re
import sys

GPU_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCHES = {
    "kernel": ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx", "cudaGraphLaunch",
               "cudaLaunchCooperativeKernel", "cudaMemsetAsync", "cudaMemcpyAsync"),
    "gpu_memcpy": ("cudaMemcpyAsync",),
    "gpu_memset": ("cudaMemsetAsync",),
}
COLLECTIVE_ARGS = {"Collective name": str, "In msg nelems": int, "dtype": str, "Group size": int,
                   "Process Group Name": str, "Seq": int}
NS = 1000  # nanoseconds in a microsecond, the unit of `ts` and `dur`


def nanoseconds(microseconds):
    return round(microseconds * NS)


class Problems:
    """What is wrong, each kind with a count and its first example."""

    def __init__(self):
        self.kinds = {}

    def add(self, kind, example=""):
        count, first = self.kinds.get(kind, (0, example))
        self.kinds[kind] = (count + 1, first)

    def lines(self):
        return [f"{kind} ({count} times; first: {first})" for kind, (count, first) in self.kinds.items()]


class File:
    """One timeline, its events by kind."""

    def __init__(self, path, options):
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)  # raises when the checksum or length is wrong
        self.options, self.problems = options, Problems()
        self.head = data.decode() if options.partial else data[:1024].decode()  # PyTorch puts it further down
        self.trace = json.loads(data)
        self.events = [e for e in self.trace["traceEvents"] if isinstance(e.get("pid"), int)]
        self.slices = [e for e in self.events if e["ph"] == "X"]
        self.ranks = {}
        for event in self.events:
            if event["ph"] == "M" and event["name"] == "process_name":
                found = re.match(r"rank (\d+)", event["args"]["name"])
                self.ranks[event["pid"]] = int(found.group(1)) if found else None

    def of(self, *categories):
        return [e for e in self.slices if e.get("cat") in categories]

    def key(self, event):
        """Correlations are unique within a rank."""
        return (self.ranks.get(event["pid"]), event["args"].get("correlation"))


def check_head(file):
    if not re.search(r'"rank":\s+(\d+)', file.head):
        file.problems.add('no `"rank": N` in the first KiB (HTA looks for "rank":\\s+(\\d+))')
    if "traceEvents" not in file.trace or "schemaVersion" not in file.trace or not file.trace.get("deviceProperties"):
        file.problems.add("traceEvents, schemaVersion or deviceProperties missing")


def check_fields(file):
    for event in file.events:
        if event["ph"] not in "BEXbenCIiRstfM":
            file.problems.add("event type that Perfetto does not read", event)
        if not isinstance(event.get("tid", 0), int):
            file.problems.add("tid is no integer", event)
        for member in ("ts", "dur"):
            value = event.get(member, 0) * NS
            if abs(value - round(value)) > 1e-3 * max(1, abs(value) * 1e-9):
                file.problems.add(f"{member} is not a whole number of nanoseconds", event)
        if event.get("dur", 0) < 0:
            file.problems.add("negative duration", event)


def check_launches(file):
    launches = {}
    for call in file.of("cuda_runtime", "cuda_driver"):
        if "correlation" in call["args"]:
            if file.key(call) in launches:
                file.problems.add("correlation of two runtime calls", call)
            launches[file.key(call)] = call
    for work in file.of(*GPU_CATEGORIES):
        args = work["args"]
        if not all(isinstance(args.get(name), int) for name in ("stream", "correlation", "device")):
            file.problems.add("GPU slice without integer stream, correlation and device", work)
            continue
        if args["stream"] != work["tid"]:
            file.problems.add("GPU slice whose tid is not its stream", work)
        launch = launches.get(file.key(work))
        if launch is None:
            if not file.options.partial:
                file.problems.add("GPU slice without a launch", work)
        elif launch["name"] not in LAUNCHES[work["cat"]]:
            file.problems.add("GPU slice launched by the wrong call", launch)
        elif launch["ts"] > work["ts"] and not file.options.partial:
            file.problems.add("GPU slice before its launch", work)


def check_steps(file):
    steps = collections.defaultdict(list)
    for event in file.of("user_annotation"):
        found = re.fullmatch(r"ProfilerStep#(\d+)", event["name"])
        if found:
            steps[event["pid"]].append((int(found.group(1)), event))
    hosts = {e["pid"] for e in file.of("cuda_runtime")}
    for pid in hosts - set(steps):
        file.problems.add("process without ProfilerStep#N", pid)
    for of_process in steps.values():
        of_process.sort(key=lambda step: step[0])
        for (number, one), (following, other) in zip(of_process, of_process[1:]):
            if following != number + 1 or nanoseconds(one["ts"] + one["dur"]) > nanoseconds(other["ts"]):
                file.problems.add("steps overlap or are not numbered in order", other)


def check_nesting(file):
    lanes = collections.defaultdict(list)
    for event in file.slices:
        start = nanoseconds(event["ts"])
        lanes[event["pid"], event["tid"]].append((start, -(start + nanoseconds(event["dur"])), event))
    for slices in lanes.values():
        slices.sort(key=lambda s: s[:2])
        open_ends = []
        for start, minus_end, event in slices:
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            on_stream = event.get("cat") in GPU_CATEGORIES
            if open_ends and (-minus_end > open_ends[-1] or on_stream) and not file.options.partial:
                file.problems.add("slices of a stream overlap" if on_stream else "slices overlap without nesting", event)
            open_ends.append(-minus_end)
    named = {(e["pid"], e["tid"]) for e in file.events if e["ph"] == "M" and e["name"] == "thread_name"}
    for lane in set(lanes) - named:
        if not file.options.partial:
            file.problems.add("thread or stream without a name", lane)


class Lanes:
    """Finds whether a slice of some categories covers a moment of a lane."""

    def __init__(self, slices):
        self.by_lane = collections.defaultdict(list)
        for event in slices:
            self.by_lane[event["pid"], event["tid"]].append(
                (nanoseconds(event["ts"]), nanoseconds(event["ts"] + event["dur"])))
        for intervals in self.by_lane.values():
            intervals.sort()

    def covers(self, event):
        intervals, time = self.by_lane[event["pid"], event["tid"]], nanoseconds(event["ts"])
        last = bisect.bisect_right(intervals, (time, float("inf")))
        return any(start <= time <= end for start, end in intervals[max(0, last - 3):last])


def check_arrows(file):
    calls, work = Lanes(file.of("cuda_runtime", "cuda_driver")), Lanes(file.of(*GPU_CATEGORIES))
    starts = {}
    for event in file.events:
        if event["ph"] == "s" and event["cat"] == "ac2g":
            if event["id"] in starts:
                file.problems.add("arrow id used twice", event)
            starts[event["id"]] = event
            if not calls.covers(event):
                file.problems.add("arrow that starts outside a launch", event)
    for event in file.events:
        if event["ph"] != "f" or event["cat"] != "ac2g" or (file.options.partial and event["id"] not in starts):
            continue
        if event.get("bp") != "e":
            file.problems.add("arrow end without bp:e", event)
        if starts.pop(event["id"], None) is None:
            file.problems.add("arrow without a start", event)
        if not work.covers(event) and not file.options.partial:
            file.problems.add("arrow that ends outside a GPU slice", event)
    if starts and not file.options.partial:
        file.problems.add("arrow without an end", next(iter(starts.values())))


def check_collectives(file):
    for event in file.of("kernel"):
        if not event["name"].startswith("nccl"):
            continue
        if file.options.hta and not event["name"].startswith("ncclKernel"):
            file.problems.add("collective that HTA's straggler analysis does not know", event["name"])
        for name, kind in COLLECTIVE_ARGS.items():
            if not isinstance(event["args"].get(name), kind) and not file.options.partial:
                file.problems.add(f"collective without `{name}`", event)


def check(path, options):
    file = File(path, options)
    for one in (check_head, check_fields, check_launches, check_steps, check_nesting, check_arrows,
                check_collectives):
        one(file)
    if options.hta and len({e["pid"] for e in file.of(*GPU_CATEGORIES)}) > 1:
        file.problems.add("more than one GPU in a file for HTA")
    counts = collections.Counter(e.get("cat") for e in file.slices)
    print(f"{path}: " + ", ".join(f"{count} {cat}" for cat, count in sorted(counts.items(), key=str)))
    for line in file.problems.lines():
        print(f"{path}: {line}", file=sys.stderr)
    return not file.problems.kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--hta", action="store_true")
    parser.add_argument("--partial", action="store_true")
    options = parser.parse_args()
    results = [check(path, options) for path in options.files]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
