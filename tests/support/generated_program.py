#!/usr/bin/env python3
"""Generates a program, compiles it as plain C++ against the stub of CUDA (cuda_stub/), runs all its ranks in one
process, and compares what it put on its streams with its operation table. With --nvcc only compiles it for GPUs.

    generated_program.py --lockstep FILE --stub FOLDER --work FOLDER [--nvcc] -- SOURCE OPTIONS...
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SKIPPED = 77
TYPE_BYTES = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "int32": 4, "int64": 8}
STEPS = 2  # one to warm up, one measured


def fail(message):
    sys.exit(f"FAILED: {message}")


def run(command, **options):
    done = subprocess.run(command, text=True, capture_output=True, **options)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))}\nexit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def numbers(text):
    return [] if text == "-" else [float(x) for x in text.split(",")]


class Table:
    """The operation table, read apart from the program's own reader."""

    def __init__(self, path):
        self.programs, self.groups, self.ranks = [], [], []
        for line in path.read_text().splitlines():
            word, *rest = line.split()
            if word == "group":
                self.groups.append([int(x) for x in numbers(rest[0])])
            elif word == "rank":
                self.ranks.append([int(rest[0])] + [[int(x) for x in numbers(text)] for text in rest[1:4]])
            elif word == "program":
                self.programs.append({"kernels": [], "collectives": [], "threads": []})
            elif word == "kernel":
                self.programs[-1]["kernels"].append({"backend": rest[0], "flops": float(rest[4]), "delay": float(rest[5]),
                                                     "graph": int(rest[6]), "places": 0, "calls": []})
            elif word == "operands":
                self.programs[-1]["kernels"][-1]["places"] = 1
            elif word == "call":
                sizes = dict(pair.split("=") for pair in rest[2:])
                self.programs[-1]["kernels"][-1]["calls"].append((rest[0], {k: float(v) for k, v in sizes.items()}))
            elif word == "table":
                sizes = self.programs[-1]["kernels"][-1]["calls"][-1][1]
                sizes["tables"] = sizes.get("tables", 0) + 1
            elif word == "communication":
                self.programs[-1]["collectives"].append({"kind": rest[0], "type": rest[1], "group": int(rest[2]),
                                                         "bytes": float(rest[3]), "delay": float(rest[8]),
                                                         "sent": numbers(rest[9])})
            elif word == "thread":
                self.programs[-1]["threads"].append([])
            elif self.programs and self.programs[-1]["threads"]:
                self.programs[-1]["threads"][-1].append((word, int(rest[0]), int(rest[1])))

    def instructions(self, rank):
        """(thread, operation, stream, operand with slots looked up) in the order of each thread."""
        program, _, kernels, collectives = self.ranks[rank]
        for number, code in enumerate(self.programs[program]["threads"]):
            for op, stream, operand in code:
                if op.endswith("*"):
                    op = op[:-1]
                    operand = (kernels if op == "launch" else collectives)[operand]
                yield number, op, stream, operand

    def program(self, rank):
        return self.programs[self.ranks[rank][0]]


def product_line(sizes):
    return " ".join(str(int(sizes.get(name, otherwise))) for name, otherwise in
                    (("batch", 1), ("m", 0), ("n", 0), ("k", 0)))


def convolution_line(sizes):
    usual = {"batch": 1, "filter_height": 1, "filter_width": 1, "stride": 1}
    return " ".join(str(int(sizes.get(name, usual.get(name, 0)))) for name in
                    ("pass", "batch", "in_channels", "height", "width", "out_channels", "filter_height",
                     "filter_width", "stride", "padding_height", "padding_width"))


def expected_work(table, rank):
    """What a step puts on the streams: products, convolutions and copies by their sizes; kernels by number."""
    work, kernels, flops = Counter(), Counter(), 0.0
    for _, op, _, operand in table.instructions(rank):
        if op != "launch":
            continue
        kernel = table.program(rank)["kernels"][operand]
        if kernel["backend"] in ("part", "skipped"):
            continue
        kernels[f"kernel {operand}"] += 1
        for name, sizes in kernel["calls"] if kernel["backend"] != "busy" else []:
            if name == "gemm":
                work["gemm " + product_line(sizes)] += 1
                flops += 2.0 * sizes.get("batch", 1) * sizes["m"] * sizes["n"] * sizes["k"]
            elif name == "convolution":
                work["convolution " + convolution_line(sizes)] += 1
            elif name == "memcpy":
                work[f"memcpy {int(sizes.get('path', 2))} {max(int(sizes.get('size', 0)), 1)}"] += 1
            elif name == "memset":
                work[f"memset {max(int(sizes.get('size', 0)), 1)}"] += 1
    return work, kernels, flops


def expected_communication(table, rank):
    """Kinds of NCCL calls of a step, and the bytes that this rank sends in all-to-alls."""
    calls, sent = Counter(), 0
    _, groups, _, _ = table.ranks[rank]
    for _, op, _, operand in table.instructions(rank):
        if op != "collective":
            continue
        call = table.program(rank)["collectives"][operand]
        members = table.groups[groups[call["group"]]]
        if len(members) == 1:
            continue
        size = TYPE_BYTES.get(call["type"], 1)
        elements = max(int(call["bytes"]) // size, 1)  # of unknown sizes one: all members still meet
        if call["kind"] == "all_to_all":
            parts = call["sent"] or [max(elements // len(members), 1) * size] * len(members)
            calls["send"] += sum(part > 0 for part in map(int, parts))
            sent += sum(map(int, parts))
        elif call["kind"] == "send":
            calls["send"] += 1
            sent += elements * size
        elif call["kind"] == "receive":
            pass  # whoever sends is counted
        else:
            calls["all_reduce" if call["kind"] == "barrier" else call["kind"]] += 1
    return calls, sent


def expected_graphs(table, rank):
    """CUDA graphs that a step launches."""
    kernels = table.program(rank)["kernels"]
    return len({kernels[operand]["graph"] for _, op, _, operand in table.instructions(rank) if op == "launch"} - {-1})


def logged(path):
    by_rank = {}
    for line in path.read_text().splitlines():
        rank, text = line.split(" ", 1)
        by_rank.setdefault(int(rank), []).append(text)
    return by_rank


def compare_rank(table, rank, lines):
    work, kernels, flops = expected_work(table, rank)
    seen, seen_kernels, seen_flops, communication, sent = Counter(), {}, 0.0, Counter(), 0
    for text in lines:
        if text.startswith("nccl"):
            kind, size = text.split()[1:3]
            if kind != "receive":
                communication[kind] += 1
                sent += int(size) if kind == "send" else 0
        elif " in " in text:
            what, label = text.split(" in ")
            if not what.startswith("kernel"):
                seen[what] += 1
            if what.startswith("gemm"):
                batch, m, n, k = map(int, what.split()[1:])
                seen_flops += 2.0 * batch * m * n * k
            seen_kernels.setdefault(label, 0)
            seen_kernels[label] += 1
    for what in set(work) | set(seen):
        if seen[what] != STEPS * work[what]:
            fail(f"rank {rank}: '{what}' {seen[what]} times in {STEPS} steps, not {STEPS * work[what]}")
    if set(seen_kernels) != set(kernels):
        fail(f"rank {rank}: kernels {sorted(set(seen_kernels) ^ set(kernels))} are in the table or on streams alone")
    for label, times in seen_kernels.items():
        if times % (STEPS * kernels[label]) != 0:
            fail(f"rank {rank}: {label} put {times} pieces on streams in {STEPS} steps of {kernels[label]} launches")
    if abs(seen_flops - STEPS * flops) > 1e-12 * max(flops, 1):
        fail(f"rank {rank}: products of {seen_flops} FLOPs, not {STEPS * flops}")
    graphs = sum(text.startswith("graph ") for text in lines)
    if graphs != STEPS * expected_graphs(table, rank):
        fail(f"rank {rank}: {graphs} graphs in {STEPS} steps of {expected_graphs(table, rank)}")
    calls, bytes_sent = expected_communication(table, rank)
    if communication != Counter({kind: STEPS * count for kind, count in calls.items()}):
        fail(f"rank {rank}: communication {dict(communication)} in {STEPS} steps, not {dict(calls)} each")
    if sent != STEPS * bytes_sent:
        fail(f"rank {rank}: {sent} bytes sent, not {STEPS * bytes_sent}")
    return len(lines)


def compare_order(table, rank, path):
    """Every thread issues what its instructions say, in their order."""
    expected, seen = {}, {}
    for thread, op, stream, operand in table.instructions(rank):
        if op == "lag":
            continue
        raw = operand
        expected.setdefault(thread, []).append((op, stream, raw if op != "collective" else None))
    for line in path.read_text().splitlines():
        thread, op, stream, operand = line.split()
        seen.setdefault(int(thread), []).append((op, int(stream), int(operand) if op != "collective" else None))
    if seen != expected:
        fail(f"rank {rank}: the order of what its threads issue is not that of the table")


def compare_places(table, rank, measured):
    """Kernels whose operands have places find them there."""
    with_places = sum(table.program(rank)["kernels"][operand]["places"] for _, op, _, operand in table.instructions(rank)
                      if op == "launch")
    if measured["operands_at_planned_places"] < STEPS * with_places:
        fail(f"rank {rank}: {measured['operands_at_planned_places']} operands at their places in {STEPS} steps, and "
             f"{with_places} kernels of a step have such")


INCLUDE = re.compile(r'^\s*#include [<"]([^>"]+)[>"]', re.MULTILINE)


def included(source, folders):
    """Files of the folders that a source includes, directly or not, in order of their names."""
    found, todo = set(), [source]
    while todo:
        for name in INCLUDE.findall(todo.pop().read_text()):
            path = next((folder / name for folder in folders if (folder / name).is_file()), None)
            if path is not None and path not in found:
                found.add(path)
                todo.append(path)
    return sorted(found)


def compiled(program, sources, objects, command, headers=()):
    """Objects of the sources, kept by content: programs share most of their sources."""
    options = " ".join(map(str, command)).replace(str(program), "").encode()

    def one(source):
        seen = hashlib.sha256(options)
        for path in [*included(source, [source.parent, program, *headers]), source]:
            seen.update(path.read_bytes())
        made = objects / f"{source.name}.{seen.hexdigest()[:20]}.o"
        if not made.exists():
            run([*command, source, "-o", f"{made}.new"])
            os.replace(f"{made}.new", made)
        return made
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, sources))


def compile_stub(program, stub, objects):
    sources = [p for p in sorted([*program.glob("*.cu"), *program.glob("*.cpp")]) if p.name != "clock.cu"]
    command = ["c++", "-std=c++20", "-O0", "-w", "-I", stub, "-I", program, "-x", "c++", "-c"]
    made = compiled(program, [*sources, *sorted(stub.glob("*.cpp"))], objects, command, [stub])
    binary = program / "benchmark"
    run(["c++", *made, "-o", binary, "-lpthread"])
    return binary


def compile_for_gpus(program, objects):
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not Path(nvcc).exists():
        print("skipped: there is no nvcc on this machine")
        sys.exit(SKIPPED)
    made = compiled(program, sorted([*program.glob("*.cu"), *program.glob("*.cpp")]), objects,
                    [nvcc, "-std=c++20", "-I", program, "-gencode", "arch=compute_80,code=sm_80", "-gencode",
                     "arch=compute_90,code=sm_90", "--Werror=all-warnings", "-Xcompiler=-Wall,-Wextra", "-c"])
    print(f"compiled for sm_80 and sm_90 without warnings: {len(made)} files")


def options_of(description, substitute):
    """What both kinds of test are called with; skips where a source is not there.
    @param substitute the option with the folder that stands for the library"""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--lockstep", substitute, "--work"):
        parser.add_argument(name, required=True, type=Path)
    parser.add_argument("--nvcc", action="store_true")
    parser.add_argument("source", nargs="+")
    options = parser.parse_args()
    missing = [name for name in options.source if name.startswith(("/", "..")) and not Path(name).exists()]
    if missing:
        print(f"skipped: there is no {missing[0]} here")
        sys.exit(SKIPPED)
    return options


def generate(options, kind, *how):
    """Writes the program anew into a folder of its source's name."""
    program = options.work / kind / "".join(c if c.isalnum() else "_" for c in "".join(options.source))[-60:]
    shutil.rmtree(program, ignore_errors=True)
    program.parent.mkdir(parents=True, exist_ok=True)
    print(run([options.lockstep, "generate", *options.source, *how, "-o", program]))
    return program


def main():
    options = options_of(__doc__, "--stub")
    objects = options.work / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    program = generate(options, "gpu-" if options.nvcc else "stub-")
    if options.nvcc:
        return compile_for_gpus(program, objects)
    binary = compile_stub(program, options.stub, objects)
    print(run([binary, "--one-process", "--oversubscribe", "--annotate", "--steps", "1", "--warm-up", "1", "--log",
               "issued"], cwd=program, env={**os.environ, "STUB_LOG": str(program / "stub.log")}, timeout=300))
    table, lines = Table(program / "operations.txt"), logged(program / "stub.log")
    count = sum(compare_rank(table, rank, lines[rank]) for rank in range(len(table.ranks)))
    for rank in range(len(table.ranks)):
        compare_order(table, rank, program / f"issued.{rank}")
    for rank in range(len(table.ranks)):
        compare_places(table, rank, json.loads((program / f"measured.{rank}.json").read_text()))
    print(f"{len(table.ranks)} ranks did what the table says: {count} pieces of work")


if __name__ == "__main__":
    main()
