#!/usr/bin/env python3
"""Writes synthetic Chakra execution traces (schema 0.0.4): one file per rank, PREFIX.RANK.et.

    generate.py all_reduce    --ranks 16384 --out /tmp/ar
    generate.py data_parallel --ranks 64 --jitter 0.05 --out /tmp/dp1000j5
    generate.py chain         --ranks 8 --nodes 100000 --out /tmp/chain100k

all_reduce     one all-reduce
data_parallel  iterations of a forward pass, a backward pass whose nodes are each followed by an all-reduce that later
               nodes overlap, and an optimizer that waits for all: iterations * (3 * layers + 1) nodes
chain          compute nodes one after the other

Without jitter all ranks do the same: their files are hard links to one. With jitter each node's duration is multiplied by
1 + jitter * u, u uniform in [-1, 1), in whole microseconds, from the seed and the rank.
"""
import argparse
import os
import random
from pathlib import Path

COMPUTE, COLLECTIVE = 4, 7  # NodeType of the schema
ALL_REDUCE = 0              # CollectiveCommType


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def number_field(field: int, number: int) -> bytes:
    return varint(field << 3) + varint(number)


def bytes_field(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def attribute(name: str, kind: int, number: int) -> bytes:
    return bytes_field(10, bytes_field(1, name.encode()) + number_field(kind, number))


INT64, BOOL = 9, 27  # fields of AttributeProto


class Trace:
    """One rank's nodes, numbered from 0."""

    def __init__(self):
        metadata = bytes_field(1, b"0.0.4")
        self.parts = [varint(len(metadata)) + metadata]
        self.nodes = 0

    def add(self, name: str, node_type: int, needed: list, duration: int, attributes: bytes) -> int:
        node = number_field(1, self.nodes) + bytes_field(2, name.encode()) + number_field(3, node_type)
        if needed:
            node += bytes_field(5, b"".join(map(varint, needed)))
        if duration:
            node += number_field(7, duration)
        node += attribute("is_cpu_op", BOOL, 0) + attributes
        self.parts.append(varint(len(node)) + node)
        self.nodes += 1
        return self.nodes - 1

    def compute(self, name: str, needed: list, duration: int) -> int:
        work = attribute("num_ops", INT64, 400_000_000_000) + attribute("tensor_size", INT64, 64 << 20)
        return self.add(name, COMPUTE, needed, duration, work)

    def all_reduce(self, name: str, needed: list, size: int) -> int:
        call = attribute("comm_type", INT64, ALL_REDUCE) + attribute("comm_size", INT64, size)
        return self.add(name, COLLECTIVE, needed, 0, call)


def all_reduce(options, _duration) -> Trace:
    trace = Trace()
    trace.all_reduce("all_reduce", [], options.bytes)
    return trace


def chain(options, duration) -> Trace:
    trace = Trace()
    for node in range(options.nodes):
        trace.compute(f"c{node}", [node - 1] if node else [], duration(500))
    return trace


def data_parallel(options, duration) -> Trace:
    trace = Trace()
    before = []
    for iteration in range(options.iterations):
        for layer in range(options.layers):
            before = [trace.compute(f"forward.{iteration}.{layer}", before, duration(500))]
        gradients = []
        for layer in reversed(range(options.layers)):
            before = [trace.compute(f"backward.{iteration}.{layer}", before, duration(1000))]
            gradients.append(trace.all_reduce(f"all_reduce.{iteration}.{layer}", before, options.bytes))
        before = [trace.compute(f"optimizer.{iteration}", before + gradients, duration(2000))]
    return trace


def write(options, rank: int, path: Path):
    draw = random.Random(options.seed * 1_000_003 + rank).random

    def duration(mean: int) -> int:
        return max(1, round(mean * (1 + options.jitter * (2 * draw() - 1)))) if options.jitter else mean

    trace = globals()[options.kind](options, duration)
    path.write_bytes(b"".join(trace.parts))
    return trace.nodes


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("kind", choices=["all_reduce", "data_parallel", "chain"])
    arguments.add_argument("--ranks", type=int, required=True)
    arguments.add_argument("--out", type=Path, required=True, help="prefix of the files")
    arguments.add_argument("--bytes", type=int, default=25 << 20, help="of an all-reduce")
    arguments.add_argument("--layers", type=int, default=33)
    arguments.add_argument("--iterations", type=int, default=10)
    arguments.add_argument("--nodes", type=int, default=100_000, help="of a chain")
    arguments.add_argument("--jitter", type=float, default=0.0)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--one-file", action="store_true", help="write PREFIX.et alone, for all ranks")
    options = arguments.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    if options.one_file:
        write(options, 0, options.out.with_name(f"{options.out.name}.et"))
        return
    first = None
    for rank in range(options.ranks):
        path = options.out.with_name(f"{options.out.name}.{rank}.et")
        path.unlink(missing_ok=True)
        if first is None or options.jitter:
            write(options, rank, path)
            first = path
        else:
            try:
                os.link(first, path)
            except OSError:  # a file system's limit on the links of one file
                write(options, rank, path)
                first = path


if __name__ == "__main__":
    main()
