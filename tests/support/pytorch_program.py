#!/usr/bin/env python3
"""Generates a PyTorch program, runs each of its ranks with a torch that computes nothing (fake_torch/), and compares the
operators that it called with its operation table: which, in what order, on which stream, products with their sizes.

    pytorch_program.py --lockstep FILE --fake FOLDER --work FOLDER -- SOURCE OPTIONS...
"""
import os
import sys

from generated_program import Table, fail, generate, options_of, run

STEPS = 2  # one to warm up, one measured
ELEMENTWISE = {"copy_", "fill_", "neg", "logical_not", "add", "logical_or", "addcmul"}
OPERATORS = {"pointwise": ELEMENTWISE, "optimizer": ELEMENTWISE, "concat": {"copy_"}, "reduction": {"sum"},
             "softmax": {"_softmax", "_log_softmax", "_softmax_backward_data", "_log_softmax_backward_data"},
             "layer_norm": {"layer_norm", "native_layer_norm_backward"},
             "batch_norm": {"native_batch_norm", "native_batch_norm_backward"},
             "convolution": {"conv2d", "convolution_backward"}, "transpose": {"contiguous"},
             "triangular": {"getitem"}, "index_select": {"index_select", "index_add_"},
             "embedding": {"embedding_bag", "index_add_"}, "attention": {"scaled_dot_product_attention", "grad"},
             "memcpy": {"copy_"}, "memset": {"zero_"}}
COLLECTIVES = {"all_reduce": "all_reduce", "barrier": "all_reduce", "all_gather": "all_gather_into_tensor",
               "reduce_scatter": "reduce_scatter_tensor", "all_to_all": "all_to_all_single", "broadcast": "broadcast",
               "reduce": "reduce", "send": "isend", "receive": "irecv"}


def product_of(sizes):
    """The line of a product."""
    batch, m, n, k = (int(sizes.get(name, usual)) for name, usual in (("batch", 1), ("m", 1), ("n", 1), ("k", 1)))
    return f"mm {m}x{k} {k}x{n}" if batch == 1 else f"bmm {batch}x{m}x{k} {batch}x{k}x{n}"


def expected_of_call(work, sizes):
    """Lines, or sets of operators, that a call puts on its stream."""
    if work == "gemm":
        return [product_of(sizes)]
    if work == "triangular" and sizes.get("direction"):
        return [{"zeros_like"}, {"index_put_"}]
    if work == "embedding":
        return [OPERATORS[work]] * int(sizes["tables"])
    return [OPERATORS[work]]


def expected(table, rank):
    """By thread: (stream, what) in order."""
    made = {}
    for thread, op, stream, operand in table.instructions(rank):
        found = []
        if op == "launch":
            kernel = table.program(rank)["kernels"][operand]
            if kernel["backend"] == "busy":
                found = [{"_sleep"}]
            elif kernel["backend"] not in ("part", "skipped"):
                found = [what for work, sizes in kernel["calls"] for what in expected_of_call(work, sizes)]
                found += [{"_sleep"}] if kernel["delay"] > 0 else []
        elif op == "collective":
            call = table.program(rank)["collectives"][operand]
            members = table.groups[table.ranks[rank][1][call["group"]]]
            found = [{COLLECTIVES[call["kind"]]}] if len(members) > 1 else []
            found += [{"_sleep"}] if call["delay"] > 1e-9 else []
        made.setdefault(thread, []).extend((stream, what) for what in found)
    return {thread: found * STEPS for thread, found in made.items() if found}


def seen(path):
    made = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        thread, stream, rest = line.split(" ", 2)
        number = 0 if thread == "MainThread" else int(thread.removeprefix("Thread-"))
        made.setdefault(number, []).append((int(stream), rest))
    return made


def compare(table, rank, path):
    want, have = expected(table, rank), seen(path)
    if set(want) != set(have):
        fail(f"rank {rank}: threads {sorted(have)} called operators, not {sorted(want)}")
    for thread, lines in want.items():
        for at, (stream, what) in enumerate(lines):
            stream_seen, line = have[thread][at] if at < len(have[thread]) else (None, "nothing")
            matches = line == what if isinstance(what, str) else line.split(" ")[0] in what
            if stream_seen != stream or not matches:
                fail(f"rank {rank}, thread {thread}, operator {at}: '{line}' on stream {stream_seen}, not '{what}' on "
                     f"{stream}")
        if len(have[thread]) != len(lines):
            fail(f"rank {rank}, thread {thread}: {len(have[thread])} operators, not {len(lines)}")
    return sum(map(len, want.values()))


def main():
    options = options_of(__doc__, "--fake")
    program = generate(options, "pytorch", "--as", "pytorch")
    table = Table(program / "operations.txt")
    count = 0
    for rank in range(len(table.ranks)):
        log = program / f"called.{rank}"
        run([sys.executable, "-B", "benchmark.py", "--steps", "1", "--warm-up", "1", "--host", "none"], cwd=program,
            env={**os.environ, "PYTHONPATH": str(options.fake), "FAKE_TORCH_LOG": str(log), "RANK": str(rank),
                 "WORLD_SIZE": str(len(table.ranks))}, timeout=300)
        count += compare(table, rank, log)
    print(f"{len(table.ranks)} ranks called the operators of the table in its order: {count}")


if __name__ == "__main__":
    main()
