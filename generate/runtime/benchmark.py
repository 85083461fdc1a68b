#!/usr/bin/env python3
"""Runs the operation table beside this file with PyTorch's operators: a process a rank (./run.sh, torchrun).

    benchmark.py [--table operations.txt] [--output .] [--steps N] [--warm-up 3] [--host recorded|none]
"""
import argparse
import json
import math
import os
import statistics
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F

TYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
         "int32": torch.int32, "int64": torch.int64, "uint8": torch.uint8, "bool": torch.bool, "fp8": torch.uint8}


def numbers(text):
    return [] if text == "-" else [float(x) for x in text.split(",")]


def fields(words):
    return {name: float(value) for name, value in (word.split("=") for word in words)}


def read_table(path):
    """The table as dictionaries and lists; its words are told in the file itself."""
    table = {"programs": [], "groups": [], "ranks": [], "steps": 20, "seed": 1, "host": "recorded"}
    for line in Path(path).read_text().splitlines():
        word, *rest = line.split()
        if word.startswith("#") or word == "lockstep-benchmark":
            continue
        if word in ("seed", "steps"):
            table[word] = int(rest[0])
        elif word == "host_time":
            table["host"] = rest[0]
        elif word == "group":
            table["groups"].append([int(x) for x in numbers(rest[0])])
        elif word == "rank":
            table["ranks"].append({"program": int(rest[0]), "groups": [int(x) for x in numbers(rest[1])],
                                   "kernels": [int(x) for x in numbers(rest[2])],
                                   "collectives": [int(x) for x in numbers(rest[3])]})
        elif word == "program":
            table["programs"].append({"streams": 0, "kernels": [], "collectives": [], "threads": [], "flags": 0,
                                      "events": 0})
        elif table["programs"]:
            read_line(table["programs"][-1], word, rest)
    return table


def read_line(program, word, rest):
    if word == "stream":
        program["streams"] += 1
    elif word in ("events", "flags"):
        program[word] = int(rest[0])
    elif word == "kernel":
        program["kernels"].append({"backend": rest[0], "seconds": float(rest[2]), "delay": float(rest[5]),
                                   "family": rest[7], "calls": []})
    elif word == "call":
        program["kernels"][-1]["calls"].append({"work": rest[0], "type": rest[1], "tables": [], **fields(rest[2:])})
    elif word == "table":
        program["kernels"][-1]["calls"][-1]["tables"].append(fields(rest))
    elif word == "communication":
        program["collectives"].append({"kind": rest[0], "type": rest[1], "group": int(rest[2]),
                                       "bytes": float(rest[3]), "peer": int(rest[4]), "batched": rest[5] == "1",
                                       "delay": float(rest[8]), "sent": numbers(rest[9])})
    elif word == "thread":
        program["threads"].append([])
    elif word not in ("uses", "name", "memory", "view", "operands"):
        program["threads"][-1].append((word.rstrip("*"), word.endswith("*"), int(rest[0]), int(rest[1]),
                                       float(rest[2]), float(rest[3])))


class Tensors:
    """Operands: of equal ones so many that the level-2 cache does not hold them all, one after the other."""

    def __init__(self, device, seed):
        self.device, self.known = device, {}
        self.generator = torch.Generator(device).manual_seed(seed)
        self.apart = 2 * getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 50 << 20)

    def new(self, shape, kind):
        dtype = TYPES[kind]
        if dtype.is_floating_point:
            return torch.rand(shape, generator=self.generator, device=self.device).mul_(2).sub_(1).to(dtype)
        return torch.randint(0, 2, shape, generator=self.generator, device=self.device).to(dtype)

    def of(self, kind, *shape):
        """Gives a function that takes the next one."""
        shape = tuple(max(int(x), 1) for x in shape)
        bytes_each = math.prod(shape) * TYPES[kind].itemsize
        copies = self.known.setdefault((kind, shape), [])
        while len(copies) < min(max(self.apart // bytes_each, 1), 16):
            copies.append(self.new(shape, kind))
        count = [0]

        def take():
            count[0] += 1
            return copies[count[0] % len(copies)]
        return take


def get(call, name, otherwise=0):
    return call.get(name, otherwise)


def product(tensors, call):
    batch, m, n, k = (int(get(call, name, 1)) for name in ("batch", "m", "n", "k"))
    a = tensors.of(call["type"], batch, *((k, m) if get(call, "transpose_a") else (m, k)))
    b = tensors.of(call["type"], batch, *((n, k) if get(call, "transpose_b") else (k, n)))
    out = torch.empty((batch, m, n), dtype=TYPES[call["type"]], device=tensors.device)

    def run():
        x = a().transpose(1, 2) if get(call, "transpose_a") else a()
        y = b().transpose(1, 2) if get(call, "transpose_b") else b()
        if batch == 1:
            torch.mm(x[0], y[0], out=out[0])
        else:
            torch.bmm(x, y, out=out)
    return run


def elementwise(tensors, call):
    elements = int(get(call, "elements", get(call, "parameters", 1)))
    reads = max(round(get(call, "reads", 1 if call["work"] != "optimizer" else 2)), 0)
    xs = [tensors.of(call["type"], elements) for _ in range(reads)]
    out = torch.empty(elements, dtype=TYPES[call["type"]], device=tensors.device)
    if call["work"] == "concat":
        return lambda: out.copy_(xs[0]())
    if reads == 0:
        return lambda: out.fill_(1)
    if reads == 1:
        one = torch.logical_not if out.dtype == torch.bool else torch.neg
        return lambda: one(xs[0](), out=out)
    if reads == 2 or not out.dtype.is_floating_point:
        two = torch.logical_or if out.dtype == torch.bool else torch.add
        return lambda: two(xs[0](), xs[1](), out=out)
    return lambda: torch.addcmul(xs[0](), xs[1](), xs[2](), out=out)


def rows(tensors, call):
    if call["work"] == "batch_norm":
        return batch_norm(tensors, call)
    shape = int(get(call, "rows", 1)), int(get(call, "columns", 1))
    x, dy = tensors.of(call["type"], *shape), tensors.of(call["type"], *shape)
    if call["work"] == "reduction":
        return lambda: torch.sum(x(), dim=0 if get(call, "across_rows") else 1)
    dtype = TYPES[call["type"]]
    if call["work"] == "softmax":
        name = "_log_softmax" if get(call, "logarithm") else "_softmax"
        if get(call, "direction"):
            backward = getattr(torch.ops.aten, name + "_backward_data")
            return lambda: backward(dy(), x(), 1, dtype)
        return lambda: getattr(torch, name)(x(), 1, False)
    weight = tensors.of(call["type"], shape[1])
    part = get(call, "part")
    if part == 0:
        return lambda: F.layer_norm(x(), shape[1:], weight(), weight())
    mean = torch.zeros(shape[0], 1, device=tensors.device)
    mask = [part == 1, part == 2, part == 2]
    return lambda: torch.ops.aten.native_layer_norm_backward(dy(), x(), shape[1:], mean, mean + 1, weight(),
                                                             weight(), mask)


def batch_norm(tensors, call):
    batch, channels, pixels = (int(get(call, name, 1)) for name in ("batch", "channels", "pixels"))
    x, dy = (tensors.of(call["type"], batch, channels, pixels, 1) for _ in range(2))
    weight = torch.ones(channels, device=tensors.device)
    if get(call, "direction"):
        return lambda: torch.ops.aten.native_batch_norm_backward(dy(), x(), weight, weight, weight, weight, weight,
                                                                 True, 1e-5, [True, True, True])
    return lambda: torch.native_batch_norm(x(), weight, weight, weight, weight, True, 0.1, 1e-5)


def convolution(tensors, call):
    n, c, k, h, w, r, s = (int(get(call, name, 1)) for name in ("batch", "in_channels", "out_channels", "height",
                                                                "width", "filter_height", "filter_width"))
    stride = int(get(call, "stride", 1))
    padding = [int(get(call, "padding_height")), int(get(call, "padding_width"))]
    out_h, out_w = (h + 2 * padding[0] - r) // stride + 1, (w + 2 * padding[1] - s) // stride + 1
    x, weight = tensors.of(call["type"], n, c, h, w), tensors.of(call["type"], k, c, r, s)
    dy = tensors.of(call["type"], n, k, out_h, out_w)
    order = torch.contiguous_format if get(call, "channels_first") else torch.channels_last
    if get(call, "pass") == 0:
        return lambda: F.conv2d(x().to(memory_format=order), weight(), None, stride, padding)
    mask = [get(call, "pass") == 1, get(call, "pass") == 2, False]
    return lambda: torch.ops.aten.convolution_backward(dy().to(memory_format=order), x(), weight(), None,
                                                       [stride, stride], padding, [1, 1], False, [0, 0], 1, mask)


def movement(tensors, call):
    batch, n = int(get(call, "batch", 1)), int(get(call, "n", 1))
    if call["work"] == "transpose":
        x = tensors.of(call["type"], batch, get(call, "rows"), get(call, "columns"))
        return lambda: x().transpose(1, 2).contiguous()
    if call["work"] == "triangular":
        x = tensors.of(call["type"], batch, n, n)
        row, column = torch.tril_indices(n, n, 0 if get(call, "diagonal") else -1, device=tensors.device)
        values = tensors.of(call["type"], batch, row.numel())
        if get(call, "direction"):
            return lambda: torch.zeros_like(x()).index_put_((slice(None), row, column), values())
        return lambda: x()[:, row, column]
    picks, columns = int(get(call, "picks", 1)), int(get(call, "columns", 1))
    table = tensors.of(call["type"], get(call, "table_rows", 1), columns)
    index = torch.randint(0, int(get(call, "table_rows", 1)), (picks,), device=tensors.device)
    if get(call, "direction"):
        gradient = tensors.of(call["type"], picks, columns)
        return lambda: table().index_add_(0, index, gradient())
    return lambda: torch.index_select(table(), 0, index)


def draw_rows(table, count, device):
    """By the popularity of the rows, as the CUDA program draws them."""
    many = max(int(get(table, "rows", 1)), 1)
    active = max(int(many * get(table, "active_rows", 1)), 1)
    zipf, skew, reuse = get(table, "zipf"), get(table, "index_skew") * math.log(2), get(table, "reuse_factor")
    uniform = torch.rand(count, dtype=torch.float64)
    if reuse > 0:
        rank = torch.arange(count) % max(int(count / reuse), 1)
    elif zipf > 0 and abs(1 - zipf) > 1e-9:
        low, high = 0.5 ** (1 - zipf), (active + 0.5) ** (1 - zipf)
        rank = ((low + uniform * (high - low)) ** (1 / (1 - zipf)) + 0.5).long() - 1
    elif zipf > 0:
        rank = (0.5 * ((active + 0.5) / 0.5) ** uniform + 0.5).long() - 1
    else:
        rank = (active * (torch.special.ndtr(torch.randn(count, dtype=torch.float64) + skew) if skew else uniform)).long()
    rank = rank.clamp(0, many - 1).repeat_interleave(max(round(get(table, "index_duplication", 1)), 1))[:count]
    return (rank * 0x9e3779b1 % many).to(device)


def look_up(tensors, call):
    batch = int(get(call, "batch", 1))
    parts = []
    for table in call["tables"]:
        pooling = max(round(get(table, "pooling_factor", 1)), 1)
        weight = tensors.new((int(get(table, "rows", 1)), int(get(table, "dimension", 1))), call["type"])
        index = draw_rows(table, batch * pooling, tensors.device)
        parts.append((weight, index, torch.arange(0, batch * pooling, pooling, device=tensors.device)))
    if get(call, "direction"):
        gradients = [tensors.new((index.numel(), weight.shape[1]), call["type"]) for weight, index, _ in parts]

        def backward():
            for (weight, index, _), gradient in zip(parts, gradients):
                weight.index_add_(0, index, gradient, alpha=-0.01)
        return backward
    return lambda: [F.embedding_bag(index, weight, offsets, mode="sum") for weight, index, offsets in parts]


def attention(tensors, call):
    shape = (get(call, "batch", 1), get(call, "heads", 1))
    q = tensors.of(call["type"], *shape, get(call, "queries"), get(call, "head_size"))
    k, v = (tensors.of(call["type"], *shape, get(call, "keys"), get(call, "head_size")) for _ in range(2))
    causal = bool(get(call, "causal", 1))
    if not get(call, "direction"):
        return lambda: F.scaled_dot_product_attention(q(), k(), v(), is_causal=causal)
    leaves = [x().clone().requires_grad_() for x in (q, k, v)]
    out = F.scaled_dot_product_attention(*leaves, is_causal=causal)
    gradient = torch.rand_like(out)
    return lambda: torch.autograd.grad(out, leaves, gradient, retain_graph=True)


def copy(tensors, call):
    size = max(int(get(call, "size", 1)), 1)
    there = torch.empty(size, dtype=torch.uint8, device=tensors.device)
    if call["work"] == "memset":
        return there.zero_
    path = get(call, "path", 2)
    if path == 2:
        other = torch.empty_like(there)
        return lambda: there.copy_(other)
    host = torch.empty(size, dtype=torch.uint8, pin_memory=bool(get(call, "pinned", 1)))
    return (lambda: there.copy_(host, non_blocking=True)) if path == 0 else (
        lambda: host.copy_(there, non_blocking=True))


MAKERS = {"gemm": product, "pointwise": elementwise, "optimizer": elementwise, "concat": elementwise,
          "reduction": rows, "softmax": rows, "layer_norm": rows, "batch_norm": rows, "convolution": convolution,
          "transpose": movement, "triangular": movement, "index_select": movement, "embedding": look_up,
          "attention": attention, "memcpy": copy, "memset": copy}


def make_kernel(tensors, kernel, clock_hz):
    if kernel["backend"] in ("part", "skipped"):
        return None
    if kernel["backend"] == "busy":
        cycles = int(max(kernel["seconds"] + kernel["delay"], 0) * clock_hz)
        return lambda: torch.cuda._sleep(cycles)
    torch.backends.cuda.matmul.allow_tf32 = any(call["type"] == "tf32" for call in kernel["calls"])
    runs = [MAKERS[call["work"]](tensors, call) for call in kernel["calls"]]
    if kernel["delay"] > 0:
        rest = int(kernel["delay"] * clock_hz)
        runs.append(lambda: torch.cuda._sleep(rest))
    return runs[0] if len(runs) == 1 else lambda: [run() for run in runs]


def cycles_per_second():
    """Of torch.cuda._sleep, measured."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    cycles = 100_000_000
    torch.cuda._sleep(1000)
    begin.record()
    torch.cuda._sleep(cycles)
    end.record()
    end.synchronize()
    return cycles / (1e-3 * begin.elapsed_time(end))


def received_bytes(table, rank, group, ordinal):
    """What the members of a group send to this rank in its so-manieth uneven all-to-all."""
    me = table["groups"][group].index(rank)
    found = []
    for member in table["groups"][group]:
        calls = [call for call, of in collectives_of(table, member) if of == group and call["sent"]]
        found.append(calls[ordinal]["sent"][me])
    return found


def collectives_of(table, rank):
    own = table["ranks"][rank]
    program = table["programs"][own["program"]]
    for code in program["threads"]:
        for op, per_rank, _, operand, _, _ in code:
            if op == "collective":
                call = program["collectives"][own["collectives"][operand] if per_rank else operand]
                yield call, own["groups"][call["group"]]


def make_collectives(table, rank, tensors, groups, clock_hz):
    """Each puts its communication, and what missing members would have taken, on the current stream."""
    made = []
    for start, call in started_collectives(table, rank, tensors, groups):
        def run(start=start, cycles=int(call["delay"] * clock_hz)):
            if start is not None:
                start().wait()
            if cycles > 0:
                torch.cuda._sleep(cycles)
        made.append(run)
    return made


def started_collectives(table, rank, tensors, groups):
    uneven, made = {}, []
    for call, number in collectives_of(table, rank):
        members = table["groups"][number]
        if len(members) == 1:
            made.append((None, call))
            continue
        kind = "uint8" if call["kind"] in ("send", "receive", "all_to_all", "barrier") else call["type"]
        count = max(int(call["bytes"]) // TYPES[kind].itemsize, 1)
        part = max(count // len(members), 1)
        whole, piece, group = tensors.new((part * len(members),), kind), tensors.new((part,), kind), groups[number]
        buffer = tensors.new((count,), kind)
        peer = members[call["peer"]]
        if call["sent"]:
            ordinal = uneven.get(number, 0)
            uneven[number] = ordinal + 1
            sent = [int(x) for x in call["sent"]]
            received = [int(x) for x in received_bytes(table, rank, number, ordinal)]
            out, source = tensors.new((sum(received),), kind), tensors.new((sum(sent),), kind)
            made.append((lambda o=out, x=source, r=received, s=sent, g=group: dist.all_to_all_single(
                o, x, r, s, group=g, async_op=True), call))
            continue
        made.append(({
            "all_reduce": lambda x=buffer, g=group: dist.all_reduce(x, group=g, async_op=True),
            "barrier": lambda x=buffer, g=group: dist.all_reduce(x, group=g, async_op=True),
            "all_gather": lambda o=whole, x=piece, g=group: dist.all_gather_into_tensor(o, x, group=g, async_op=True),
            "reduce_scatter": lambda o=piece, x=whole, g=group: dist.reduce_scatter_tensor(o, x, group=g,
                                                                                           async_op=True),
            "all_to_all": lambda o=whole, x=whole.clone(), g=group: dist.all_to_all_single(o, x, group=g,
                                                                                           async_op=True),
            "broadcast": lambda x=buffer, p=peer, g=group: dist.broadcast(x, p, group=g, async_op=True),
            "reduce": lambda x=buffer, p=peer, g=group: dist.reduce(x, p, group=g, async_op=True),
            "send": lambda x=buffer, p=peer, g=group: dist.isend(x, p, group=g),
            "receive": lambda x=buffer, p=peer, g=group: dist.irecv(x, p, group=g),
        }[call["kind"]], call))
    return made


class HostClock:
    def __init__(self, spends):
        self.spends, self.due, self.late = spends, time.perf_counter(), 0.0

    def spend(self, seconds):
        if not self.spends or seconds <= 0:
            return
        self.due += seconds
        late = time.perf_counter() - self.due
        while time.perf_counter() < self.due:
            pass
        if late > 0:
            self.late += late
            self.due += late

    def has_waited(self):
        self.due = time.perf_counter()


class RankRun:
    def __init__(self, table, rank, options):
        self.own = table["ranks"][rank]
        self.program = table["programs"][self.own["program"]]
        self.options = options
        tensors = Tensors(torch.device("cuda", torch.cuda.current_device()), table["seed"] + rank)
        groups = [dist.new_group(ranks) if dist.is_initialized() else None for ranks in table["groups"]]
        clock_hz = cycles_per_second()
        self.kernels = [make_kernel(tensors, kernel, clock_hz) for kernel in self.program["kernels"]]
        self.collectives = make_collectives(table, rank, tensors, groups, clock_hz)
        self.streams = [torch.cuda.Stream() for _ in range(self.program["streams"])]
        self.events = [torch.cuda.Event() for _ in range(self.program["events"])]
        self.posts = [threading.Semaphore(0) for _ in range(self.program["flags"])]
        self.ends, self.late = [], 0.0

    def kernel_number(self, per_rank, operand):
        return self.own["kernels"][operand] if per_rank else operand

    def run_thread(self, number):
        torch.cuda.set_device(self.streams[0].device)
        clock = HostClock(self.options.host == "recorded")
        before = sum(op[0] == "collective" for code in self.program["threads"][:number] for op in code)
        for _ in range(self.options.warm_up + self.options.steps):
            collective = before
            for op, per_rank, stream, operand, lead, cost in self.program["threads"][number]:
                if op == "lag":
                    continue  # the GPU has its own
                clock.spend(lead)
                if op == "launch":
                    kernel = self.kernels[self.kernel_number(per_rank, operand)]
                    if kernel is not None:
                        with torch.cuda.stream(self.streams[stream]):
                            kernel()
                elif op == "collective":
                    with torch.cuda.stream(self.streams[stream]):
                        self.collectives[collective]()
                    collective += 1
                else:
                    self.other(op, stream, operand, clock)
                clock.spend(cost)
            if number == 0:
                self.end_step()
        self.late += clock.late

    def other(self, op, stream, operand, clock):
        if op == "record":
            self.events[operand].record(self.streams[stream])
        elif op == "stream_wait":
            self.streams[stream].wait_event(self.events[operand])
        elif op == "wait_event":
            self.events[operand].synchronize()
        elif op == "wait_stream":
            self.streams[stream].synchronize()
        elif op == "wait_device":
            torch.cuda.synchronize()
        elif op == "post":
            self.posts[operand].release()
        elif op == "await":
            self.posts[operand].acquire()
        if op.startswith("wait") or op == "await":
            clock.has_waited()

    def end_step(self):
        self.ends.append([torch.cuda.Event(enable_timing=True) for _ in self.streams])
        for event, stream in zip(self.ends[-1], self.streams):
            event.record(stream)

    def run(self):
        begin = torch.cuda.Event(enable_timing=True)
        begin.record()
        threads = [threading.Thread(target=self.run_thread, args=(i,)) for i in range(1, len(self.program["threads"]))]
        for thread in threads:
            thread.start()
        self.run_thread(0)
        for thread in threads:
            thread.join()
        torch.cuda.synchronize()
        ends = [max(1e-3 * begin.elapsed_time(event) for event in step) for step in self.ends]
        return [after - before for before, after in zip(ends, ends[1:])][max(self.options.warm_up - 1, 0):]

    def families(self):
        """Each kernel alone, five times, and what the families of a step come to."""
        alone = [self.time_alone(kernel) for kernel in self.kernels]
        made = {}
        for code in self.program["threads"]:
            for op, per_rank, _, operand, _, _ in code:
                if op == "launch":
                    number = self.kernel_number(per_rank, operand)
                    kernel = self.program["kernels"][number]
                    family = made.setdefault(kernel["family"], {"launches": 0, "seconds": 0.0, "expected": 0.0})
                    family["launches"] += 1
                    family["seconds"] += max(alone[number], 0)
                    family["expected"] += kernel["seconds"]
        return alone, made

    @staticmethod
    def time_alone(kernel):
        if kernel is None:
            return -1
        times = []
        for _ in range(5):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            kernel()
            end.record()
            end.synchronize()
            times.append(1e-3 * begin.elapsed_time(end))
        return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", default="operations.txt")
    parser.add_argument("--output", default=".")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--host", choices=["recorded", "none"])
    options = parser.parse_args()
    table = read_table(options.table)
    options.steps = options.steps or table["steps"]
    options.host = options.host or table["host"]
    rank, count = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if count != len(table["ranks"]):
        raise SystemExit(f"{len(table['ranks'])} ranks are needed, and {count} processes run: ./run.sh starts them")
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", rank)))
    if count > 1:
        dist.init_process_group("nccl")
    run = RankRun(table, rank, options)
    steps = run.run()
    alone, families = run.families()
    result = {"rank": rank, "gpu": torch.cuda.get_device_name(), "step_s": statistics.median(steps),
              "step_low_s": min(steps), "step_high_s": max(steps), "steps_s": steps, "host_late_s": run.late,
              "memory_bytes": torch.cuda.max_memory_allocated(), "families": families, "kernels_s": alone}
    Path(options.output, f"measured.{rank}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"rank {rank}: {1e3 * result['step_s']:.4g} ms a step", flush=True)
    if count > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
