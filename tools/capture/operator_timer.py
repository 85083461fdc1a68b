"""Times of the kernels behind a call, by PyTorch's profiler."""
import json
import os
import statistics
import sys
import tempfile
import time

import torch

from record import ON_THE_GPU, machine, short

WARM_UP = 3  # calls before those that count: kernels are chosen and loaded
LAUNCHES = ("cuda_runtime", "cuda_driver")


class OperatorTimer:
    """Writes a table for each family of calls."""

    def __init__(self, folder, repeats):
        self.folder, self.repeats = folder, repeats
        folder.mkdir(parents=True, exist_ok=True)
        # Read before each call: twice the level-2 cache at least, and reading leaves nothing to be written back.
        self.flush = torch.zeros(2**26, dtype=torch.float32, device="cuda")

    def measure(self, family, cases):
        """Writes FAMILY.csv. @return how many cases failed; they are told and left out."""
        table = self.folder / f"{family}.csv"
        if table.exists():
            print(f"operators: {family} is there already", file=sys.stderr)
            return 0
        begin, failed, called = time.time(), 0, []
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as profile:
            for what, prepare in cases:
                try:
                    self._call(f"case{len(called)}", prepare())
                    called.append(what)
                except Exception as failure:  # pylint: disable=broad-except  # what this version or GPU lacks
                    failed += 1
                    print(f"operators: {family} {what} left out: {type(failure).__name__}: {str(failure)[:200]}", file=sys.stderr)
        rows = [row_of(what, ranges) for what, ranges in zip(called, kernels_by_case(profile, len(called))) if ranges]
        write(table, rows)
        print(f"operators: {family}: {len(rows)} calls in {time.time() - begin:.0f} s", file=sys.stderr)
        return failed

    def _call(self, label, call):
        for _ in range(WARM_UP):
            call()
        torch.cuda.synchronize()
        for _ in range(self.repeats):
            self.flush.sum()
            with torch.profiler.record_function(label):
                call()
        torch.cuda.synchronize()


def kernels_by_case(profile, cases):
    """For each case a list over repeats of [(kernel's name, us), ...] in the order of their start."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(file)
        with open(file, encoding="utf-8") as text:
            events = json.load(text)["traceEvents"]
    ranges = sorted((event["ts"], event["ts"] + event["dur"], int(event["name"][4:])) for event in events
                    if event.get("cat") == "user_annotation" and event["name"].startswith("case"))
    launched = {}  # by correlation: the range in which the host launched it, on whichever thread
    launches = sorted((event["ts"], event["args"]["correlation"]) for event in events
                      if event.get("cat") in LAUNCHES and "correlation" in event.get("args", {}))
    place = 0
    for moment, correlation in launches:
        while place < len(ranges) and ranges[place][1] < moment:
            place += 1
        if place < len(ranges) and ranges[place][0] <= moment:
            launched[correlation] = place
    found = [[] for _ in ranges]
    for event in sorted((event for event in events if event.get("cat") in ON_THE_GPU), key=lambda event: event["ts"]):
        if event["args"].get("correlation") in launched:
            found[launched[event["args"]["correlation"]]].append((event["name"], event["dur"]))
    by_case = [[] for _ in range(cases)]
    for (_, _, case), kernels in zip(ranges, found):
        if kernels and case < cases:
            by_case[case].append(kernels)
    return by_case


def row_of(what, ranges):
    sums = [sum(duration for _, duration in kernels) for kernels in ranges]
    typical = ranges[len(ranges) // 2]
    names = " + ".join(f"{short(name)[:90]} {duration:.2f}" for name, duration in sorted(typical, key=lambda one: -one[1])[:6])
    return {**what, "kernels": len(typical), "repeats": len(ranges), "median_us": f"{statistics.median(sums):.3f}",
            "least_us": f"{min(sums):.3f}", "most_us": f"{max(sums):.3f}", "names": names}


def write(table, rows):
    if not rows:
        return
    lines = [f"# {name}: {value}" for name, value in machine()] + [",".join(rows[0])]
    lines += [",".join(str(value) for value in row.values()) for row in rows]
    table.write_text("\n".join(lines) + "\n")
