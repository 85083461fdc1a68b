#!/usr/bin/env python3
"""Runs the operation table beside this file with PyTorch's operators: a process a rank (./run.sh, torchrun).

    benchmark.py [--table operations.txt] [--output .] [--steps N] [--warm-up 3] [--host recorded|none]
"""
import argparse
import json
import os
import statistics
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist

from communication import make_collectives
from operation_table import read_table
from operators import Tensors, cycles_per_second, make_kernel


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
