#!/usr/bin/env python3
"""Runs square matrix products for seconds on end and tells rate, clock and power over time: what the power limit leaves of the boost clock.

One row each tenth of a second in OUT: type, size, how long it has run, TFLOP/s of that window, SM clock in MHz and power in W as the driver tells them.

Usage: tools/capture/sustained.py [--seconds 2] [--out sustained.csv]
"""
import argparse
import sys
import time
from pathlib import Path

from capture import problem_of_machine

WINDOW = 0.1  # s


def main(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0], allow_abbrev=False)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each product; default: 2")
    parser.add_argument("--out", type=Path, default=Path("sustained.csv"), help="default: sustained.csv")
    options = parser.parse_args(words)
    problem = problem_of_machine("cuda")
    if problem:
        print(f"sustained: {problem}", file=sys.stderr)
        return 2
    import torch  # pylint: disable=import-outside-toplevel
    from operator_calls import product, random, scaled  # pylint: disable=import-outside-toplevel
    from record import machine  # pylint: disable=import-outside-toplevel
    rows = [*(f"# {name}: {value}" for name, value in machine()), "type,size,seconds,tflops,sm_clock_mhz,power_w"]

    def run(name, size, call, operations):
        torch.cuda.synchronize()
        time.sleep(0.5)  # cools a little, and starts from the boost clock
        call()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        torch.cuda.synchronize()
        calls = max(1, round(WINDOW / (time.perf_counter() - begin)))
        begin = time.perf_counter()
        while time.perf_counter() - begin < options.seconds:
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            for _ in range(calls):
                call()
            last.record()
            clock, power = torch.cuda.clock_rate(), torch.cuda.power_draw() / 1000
            last.synchronize()
            rate = operations * calls / first.elapsed_time(last) / 1e9
            rows.append(f"{name},{size},{time.perf_counter() - begin:.3f},{rate:.2f},{clock},{power:.0f}")

    for type_ in ("bf16", "fp16", "tf32", "fp32"):
        for size in (4096, 8192) if type_ in ("bf16", "fp16") else (8192,):
            run(type_, size, product(type_, "nt", size, size, size)[1](), 2 * size**3)
    run("fp8", 8192, scaled(8192, 8192, 8192, False, True)[1](), 2 * 8192**3)
    big = random(2**28)
    run("copy", 2**28, lambda: big.clone(), 2 * 4 * 2**28)  # TB/s in the column of TFLOP/s
    options.out.write_text("\n".join(rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
