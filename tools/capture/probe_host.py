#!/usr/bin/env python3
"""How fast one core of this machine runs Python and compiled code, for `lockstep calibrate host --probe`.

Needs nothing but Python 3.8 or later, and half a minute. Where PyTorch finds a CUDA GPU, it also times what launching
a few operators takes, which says more: leave the GPU to it alone. Each figure is the least of many short windows, so
that other processes disturb little; run it where training runs (same container, same Python).

Usage: probe_host.py [--seconds 20] [-o probe.json]
"""
import argparse
import ctypes
import json
import platform
import random
import re
import sys
import time
import zlib

FORMAT = "lockstep-host-probe.1"
WINDOW = 2e-3  # seconds: shorter than a scheduler's slice


class Node:
    """What an nn.Module is to the interpreter: attributes, a method that calls another."""

    def __init__(self):
        self.weight = 1
        self.scale = 2

    def __call__(self, value, training=True):
        return self.forward(value) if training else value

    def forward(self, value):
        return value * self.weight + self.scale


def loop(count):
    total = 0
    for i in range(count):
        total = (total + i) & 1023


def attributes(count):
    node = Node()
    for _ in range(count):
        node.weight = node.scale - node.weight


def calls(count):
    node = Node()
    for i in range(count):
        node(i, training=True)


def containers(count):
    for i in range(count):
        options = {"index": i, "pair": (i, count)}
        options["index"], _ = options["pair"]


def foreign_calls(count):
    function = FOREIGN
    for i in range(count):
        function(i)


FOREIGN = ctypes.CDLL(None).abs
RANDOM = random.Random(7)
NUMBERS = [RANDOM.random() for _ in range(500)]
TEXT = bytes(RANDOM.choice(b"abcdefgh ") for _ in range(4096))
WORDS = TEXT.decode().split()
PATTERN = re.compile(r"(?:a|bc)+[d-h]*c")


def sorting(count):
    for _ in range(count):
        sorted(NUMBERS)


def compressing(count):
    for _ in range(count):
        zlib.compress(TEXT, 6)


def writing_json(count):
    for _ in range(count):
        json.dumps(WORDS)


def matching(count):
    text = TEXT.decode()
    for _ in range(count):
        PATTERN.findall(text)


PYTHON = {"loop": loop, "attributes": attributes, "calls": calls, "containers": containers,
          "foreign_calls": foreign_calls}
NATIVE = {"sorting": sorting, "compressing": compressing, "writing_json": writing_json, "matching": matching}


def least_time(work, seconds, clock=time.perf_counter):
    """Nanoseconds of one turn: the least over windows of `seconds` altogether."""
    count = 1
    while True:  # as many turns as fill a window
        begin = clock()
        work(count)
        if clock() - begin >= WINDOW or count > 1 << 22:
            break
        count *= 2
    least, end = float("inf"), clock() + seconds
    while clock() < end:
        begin = clock()
        work(count)
        least = min(least, (clock() - begin) / count)
    return 1e9 * least


def operators_of(torch):
    """By PyTorch's name: a call that launches one kernel of next to no work."""
    x = torch.ones(64, 64, device="cuda")
    weight = torch.ones(64, 64, device="cuda")
    ones = torch.ones(64, device="cuda")
    functional = torch.nn.functional
    return {"aten::add_": lambda: x.add_(0.0), "aten::mul": lambda: x * 1.0, "aten::relu": lambda: torch.relu(x),
            "aten::sigmoid": lambda: torch.sigmoid(x), "aten::linear": lambda: functional.linear(x, weight),
            "aten::layer_norm": lambda: functional.layer_norm(x, (64,), ones, ones)}


def launching(torch, seconds):
    """Nanoseconds of the host for each operator: so few launches in a window that the GPU's queue never fills."""
    def windows(call):
        def work(count):
            for _ in range(count):
                call()
        least, end = float("inf"), time.perf_counter() + seconds
        work(50)
        while time.perf_counter() < end:
            torch.cuda.synchronize()
            begin = time.perf_counter()
            work(200)
            least = min(least, (time.perf_counter() - begin) / 200)
        return 1e9 * least
    with torch.no_grad():
        return {name: windows(call) for name, call in operators_of(torch).items()}


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            fields = dict(line.split(":", 1) for line in file.read().split("\n\n")[0].splitlines() if ":" in line)
    except OSError:
        return platform.processor() or platform.machine(), False
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    name = fields.get("model name", platform.machine())
    return (f"{name} (family {fields.get('cpu family', '?')}, model {fields.get('model', '?')})",
            "hypervisor" in fields.get("flags", "").split())


def usable_torch():
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    arguments.add_argument("--seconds", type=float, default=20, help="to measure for, altogether")
    arguments.add_argument("-o", "--output", help="JSON file; stdout if left out")
    asked = arguments.parse_args()
    if not 0 < asked.seconds <= 3600:
        arguments.error("--seconds: above 0, at most 3600")
    each = asked.seconds / (len(PYTHON) + len(NATIVE))
    cpu, virtualised = cpu_name()
    found = {"format": FORMAT, "cpu": cpu, "virtualised": virtualised,
             "python": ".".join(map(str, sys.version_info[:3])),
             "python_ns": {name: round(least_time(work, each), 2) for name, work in PYTHON.items()},
             "native_ns": {name: round(least_time(work, each), 1) for name, work in NATIVE.items()}}
    torch = usable_torch()
    if torch:
        found["torch"] = {"version": torch.__version__, "gpu": torch.cuda.get_device_name(),
                          "operators_ns": {name: round(ns, 1) for name, ns in launching(torch, each).items()}}
    text = json.dumps(found, indent=2) + "\n"
    if asked.output:
        with open(asked.output, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
