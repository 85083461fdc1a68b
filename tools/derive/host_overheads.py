#!/usr/bin/env python3
"""Derives a host profile (configs/hosts/) from Kineto traces: T1 to T5 by operator, as Lin et al. define them.

An operator is an outermost cpu_op of its thread (autograd's `evaluate_function` wrappers count under the name of
their function; user annotations are looked through). The profiler lengthens what it observes, so every traced
event inside a gap is taken off it with EVENT (Lin et al., arXiv 2201.07821: 2 us), never below 0; a runtime call
loses CALL. Values outside the quartiles by more than 1.5 interquartile ranges are dropped, then averaged.

Usage: tools/derive/host_overheads.py --name NAME [--event 2] [--call 2] TRACE.json.gz...
"""
import argparse
import bisect
import gzip
import json
import statistics
from collections import defaultdict

LAUNCHES = {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync"}
RUNTIME = {"cudaLaunchKernel": "launch_kernel", "cudaMemcpyAsync": "memcpy", "cudaMemsetAsync": "memset",
           "cudaEventRecord": "event_record", "cudaStreamWaitEvent": "stream_wait_event"}
IGNORED = ("detach", "record_param_comms", "aten::lift_fresh", "aten::resolve_")  # parts of others, once alone
WRAPPER = "autograd::engine::evaluate_function: "


def load(path):
    with gzip.open(path, "rt") as text:
        return json.load(text)["traceEvents"]


def returns(events):
    """From the last GPU work awaited until the awaiting call has returned, for calls that blocked 20 us or more."""
    spans = [(float(e["ts"]), float(e["ts"]) + float(e["dur"]), e) for e in events if e.get("ph") == "X"]
    ends = sorted(end for _, end, e in spans if e.get("cat", "").lower() in ("kernel", "gpu_memcpy", "gpu_memset"))
    for start, end, event in spans:
        if event["name"] == "cudaStreamSynchronize" and end - start >= 20:
            before = ends[:bisect.bisect_right(ends, end)]
            if before and before[-1] > start:
                yield end - before[-1]


def events_by_thread(events):
    threads = defaultdict(list)
    for event in events:
        category = event.get("cat", "").lower()
        if event.get("ph") == "X" and category in ("cpu_op", "operator", "cuda_runtime", "runtime"):
            kind = "op" if category in ("cpu_op", "operator") else "call"
            if kind == "op" and event["name"].startswith(("ProfilerStep", "Optimizer.", "##")):
                continue
            start, length = float(event["ts"]), float(event["dur"])
            threads[event["pid"], event["tid"]].append((start, start + length, kind, event["name"]))
    return [sorted(found, key=lambda e: (e[0], -e[1])) for found in threads.values()]


def outermost(thread):
    """[(operator, events inside it in order)]"""
    operators = []
    for event in thread:
        if operators and event[0] < operators[-1][0][1]:
            operators[-1][1].append(event)
        elif event[2] == "op":
            operators.append((event, []))
    return operators


def handovers(threads):
    """[us from aten::ones_like, which backward() runs last, to autograd's first operator], [us back to the caller].

    Autograd's thread is the one with the most backward operators, the caller's the busiest of the others."""
    threads = [[e for e in thread if e[2] == "op"] for thread in threads]
    threads.sort(key=lambda thread: (sum("Backward" in e[3] for e in thread), len(thread)))
    if len(threads) < 2 or not any("Backward" in e[3] for e in threads[-1]):
        return [], []
    autograd, caller = threads[-1], max(threads[:-1], key=len)
    begins = [e[0] for e in caller]
    calls = [e[1] for e in caller if e[3] == "aten::ones_like"]
    there, back = [], []
    for call, following in zip(calls, calls[1:] + [float("inf")]):
        backward = [e for e in autograd if call <= e[0] < following]
        if backward:
            there.append(backward[0][0] - call)
            end = max(e[1] for e in backward)
            after = bisect.bisect_left(begins, end)
            back += [begins[after] - end] if after < len(begins) else []
    return there, back


def measure(operator, inside, event_cost, samples):
    start, end, _, name = operator
    name = name.removeprefix(WRAPPER)
    launches = [e for e in inside if e[2] == "call" and e[3] in LAUNCHES]

    def gap(begin, until):
        seen = sum(begin <= e[0] < until for e in inside)
        return max(0.0, until - begin - event_cost * seen)

    if not launches:
        samples[name]["without_launch"].append(max(0.0, end - start - event_cost * (len(inside) + 1)))
        return
    samples[name]["before_first_launch"].append(gap(start, launches[0][0]))
    samples[name]["after_last_launch"].append(gap(launches[-1][1], end))
    blocked = [e[0] for e in inside if "Synchronize" in e[3]]
    for before, after in zip(launches, launches[1:]):
        if any(before[1] <= start < after[0] for start in blocked):
            continue  # waits for the GPU, which is no overhead
        samples[name]["between_launches"].append(gap(before[1], after[0]))


def gather(paths, event_cost):
    samples, between, calls, late = defaultdict(lambda: defaultdict(list)), [], defaultdict(list), []
    turns = [], []
    for path in paths:
        events = load(path)
        late += returns(events)
        for direction, gaps in zip(turns, handovers(events_by_thread(events))):
            direction.extend(gaps)
        for thread in events_by_thread(events):
            for event in thread:
                if event[2] == "call" and event[3] in RUNTIME:
                    calls[event[3]].append(event[1] - event[0])
            operators = outermost(thread)
            for operator, inside in operators:
                measure(operator, inside, event_cost, samples)
            for (before, _), (after, _) in zip(operators, operators[1:]):
                if 2 < after[0] - before[1] < 200:
                    between.append(after[0] - before[1] - event_cost)
    return samples, between, calls, late, turns


def mean(values):
    if len(values) >= 4:
        low, _, high = statistics.quantiles(values, n=4)
        reach = 1.5 * (high - low)
        values = [v for v in values if low - reach <= v <= high + reach]
    return statistics.fmean(values)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("traces", nargs="+")
    arguments.add_argument("--name", required=True)
    arguments.add_argument("--event", type=float, default=2, help="us the profiler adds for one operator or call")
    arguments.add_argument("--call", type=float, default=2, help="us it adds to a runtime call's own duration")
    options = arguments.parse_args()
    samples, between, calls, late, turns = gather(options.traces, options.event)

    print(f"name: {options.name}\nbetween_operators: {mean(between):.1f} us\nruntime_calls:")
    for call, key in RUNTIME.items():
        if calls[call]:
            print(f"  {key}: {max(0.5, statistics.median(calls[call]) - options.call):.1f} us")
    if late:
        print(f"synchronize_return: {statistics.median(late):.1f} us  # {len(late)} samples")
    for key, gaps in zip(("backward_start", "backward_return"), turns):
        if gaps:
            print(f"{key}: {max(0.0, statistics.median(gaps) - options.event - mean(between)):.0f} us  # {len(gaps)} samples")
    pooled = defaultdict(list)
    for parts in samples.values():
        for part, values in parts.items():
            pooled[part] += values
    parts = ["before_first_launch", "after_last_launch", "between_launches", "without_launch"]
    usual = {part: statistics.median(pooled[part]) for part in parts}
    print("fallback: {" + ", ".join(f"{part}: {usual[part]:.1f} us" for part in parts) + "}")
    print("operators:  # parts that were never seen are those of the fallback")
    for name in sorted(samples):
        if not name.startswith(IGNORED):
            found = ", ".join(f"{part}: {mean(samples[name].get(part, [usual[part]])):.1f} us" for part in parts)
            print(f'  "{name}": {{{found}}}  # {max(map(len, samples[name].values()))} samples')


if __name__ == "__main__":
    main()
