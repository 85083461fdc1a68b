#!/usr/bin/env python3
"""Derives the operators of configs/hosts/a100_server.yaml that no trace of such a host has, by how many others they call.

The traces in tests/data/h200_steps have them, but their host times are the observer's. What they do tell is how many
operators run nested in one before its first launch and behind its last. Over the operators that a100_server has measured
and these traces have too, its times are a constant and a share for each (itself among them; least squares of relative
errors), apart for nodes of backward and for other operators; so are then those of operators that only these traces
have. Nodes that launch nothing take their share for each operator alone, as AccumulateGrad does.

Operators of sparse gradients are told apart by what they call: #sparse.

Usage: tools/derive/a100_host_nesting.py [--hosts configs/hosts] [--traces tests/data/h200_steps]
"""
import argparse
import gzip
import json
import re
from collections import defaultdict
from pathlib import Path
from statistics import median

import numpy

ROOT = Path(__file__).parents[2]
MEASURED = re.compile(r'^  "([^"]+)": \{before_first_launch: ([\d.]+) us, after_last_launch: ([\d.]+) us,.*# \d+ samples', re.M)
LISTED = re.compile(r'^  "([^"]+)": \{', re.M)
FALLBACK = (7.0, 5.0)
OURS = "  # by nesting: tools/derive/a100_host_nesting.py"


def is_operator(event):
    return event["cat"] == "cpu_op" and not event["name"].startswith("autograd::engine")


def calls_of(trace):
    """Of each outermost operator: itself, and the events nested in it."""
    events = [e for e in json.load(gzip.open(trace))["traceEvents"]
              if e.get("cat") in ("cpu_op", "cuda_runtime", "cuda_driver") and "dur" in e]
    for thread in {e["tid"] for e in events}:
        outer, nested, end = None, [], 0
        for event in sorted((e for e in events if e["tid"] == thread), key=lambda e: (e["ts"], -e["dur"])):
            if event["ts"] < end:
                nested.append(event)
            elif is_operator(event):
                if outer:
                    yield outer, nested
                outer, nested, end = event, [], event["ts"] + event["dur"]
        if outer:
            yield outer, nested


def name_of(outer, nested):
    sparse = any(e["name"] in ("aten::_values", "aten::_sparse_coo_tensor_unsafe") for e in nested)
    bag = outer["name"].startswith("EmbeddingBag")
    return outer["name"] + ("#sparse" if sparse and not bag else "")


def counts(nested):
    """How many operators begin before the first launch, and how many are open or begin behind the last; of none, all."""
    launches = [e for e in nested if re.search("Launch|Memset|Memcpy", e["name"])]
    operators = [e for e in nested if is_operator(e)]
    if not launches:
        return None, len(operators)
    return (sum(e["ts"] < launches[0]["ts"] for e in operators),
            sum(e["ts"] + e["dur"] > launches[-1]["ts"] for e in operators))


def line(points):
    """Of (events, time): time = share x events + constant, by relative errors; and the mean of those."""
    events, times = numpy.array([p[0] for p in points]), numpy.array([p[1] for p in points])
    matrix = numpy.c_[events, numpy.ones(len(points))]
    share, constant = numpy.linalg.lstsq(matrix / times[:, None], numpy.ones(len(points)), rcond=None)[0]
    error = numpy.abs(matrix @ (share, constant) / times - 1).mean()
    return share, constant, error


def print_operator(name, before, after, without):
    print(f'  "{name}": {{before_first_launch: {before:.1f} us, after_last_launch: {after:.1f} us, '
          f'between_launches: 5.0 us, without_launch: {without:.1f} us}}')


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--hosts", type=Path, default=ROOT / "configs/hosts")
    arguments.add_argument("--traces", type=Path, default=ROOT / "tests/data/h200_steps")
    options = arguments.parse_args()
    text = (options.hosts / "a100_server.yaml").read_text().split(OURS)[0]
    measured = {name: (float(before), float(after)) for name, before, after in MEASURED.findall(text)}
    seen = defaultdict(list)
    for trace in sorted(options.traces.glob("*.kineto.json.gz")):
        for outer, nested in calls_of(trace):
            seen[name_of(outer, nested)].append(counts(nested))
    nesting = {}
    for name, all_calls in seen.items():
        launching = [c for c in all_calls if c[0] is not None]
        calls = launching if 2 * len(launching) >= len(all_calls) else [c for c in all_calls if c[0] is None]
        nesting[name] = (None if calls[0][0] is None else median(c[0] for c in calls), median(c[1] for c in calls))

    lines = {}
    for backward in (False, True):
        for part in (0, 1):
            points = [(nesting[name][part] + 1, times[part]) for name, times in measured.items()
                      if name in nesting and nesting[name][0] is not None and ("Backward" in name) == backward
                      and times[part] != 5.0]
            lines[backward, part] = line(points)
            share, constant, error = lines[backward, part]
            print(f"# {'backward' if backward else 'forward'}, {'after' if part else 'before'}: {constant:.2f} us and {share:.2f} us "
                  f"for each operator, {100 * error:.0f} % off over {len(points)}")
    print(OURS)
    for name in sorted(set(nesting) - set(LISTED.findall(text))):
        if name.startswith("aten::_foreach_"):  # by the length of its lists, of which Optimizer.step is made
            continue
        backward = "Backward" in name or "autograd" in name
        before, after = nesting[name]
        if before is None:
            if "#sparse" in name:
                print_operator(name, FALLBACK[0], FALLBACK[1], lines[backward, 0][0] * (after + 1))
            continue
        times = [lines[backward, part][1] + lines[backward, part][0] * (nested + 1) for part, nested in enumerate((before, after))]
        print_operator(name, *times, 0)


if __name__ == "__main__":
    main()
