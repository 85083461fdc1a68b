#!/usr/bin/env python3
"""Fits `memory`, `softmax` and `layer_norm` of configs/kernel_efficiency/*.yaml to NeuSight's train part.

memory: add and relu of 2 ms or more, the mean of their two medians. softmax and layer_norm: the part of that rate with
which the equations of ops/kernels/normalisation.hpp meet rows of 0.25 ms or more, softmax of at most 1,024 elements
(longer ones wait, tools/derive/softmax_waits.py); rows of a multiple of 8 elements, which begin at a sector of memory,
as a transformer's do. The host's time of a call is what 0 bytes of add would take (a line through all its rows).

Usage: tools/derive/streaming_fractions.py --data ../shared/data     (needs numpy and scipy)
"""
import argparse
import csv
import gzip
from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar

# GPU -> DRAM bytes/s, SMs, threads of an SM, level-2 cache (configs/gpus).
GPUS = {
    "Tesla T4": (320e9, 40, 1024, 4 << 20),
    "Tesla P4": (192.2e9, 20, 2048, 2 << 20),
}
SECTOR = 8         # elements of 4 bytes
SHORTEST = 2.5e-4  # s
MINIMUM = 1.5e-6   # s, kernel_minimum
IN_REGISTERS = 1024


def read(folder, table, operator, device):
    """[rows, columns, seconds]"""
    with gzip.open(folder / f"{table}.csv.gz", "rt") as text:
        return np.array([(int(row["B"]), int(row["H"]), float(row["Latency"]) * 1e-3) for row in csv.DictReader(text)
                         if row["Device"] == device and row["OPName"] == operator], float)


def streaming(folder, device):
    """Part of the DRAM's rate; the host's seconds a call."""
    parts = []
    for operator, passes in (("add", 3), ("relu", 2)):
        table = read(folder, "elem", operator, device)
        moved = 4 * passes * table[:, 0] * table[:, 1]
        if operator == "add":
            weights = np.c_[np.ones(len(table)), moved] / table[:, 2:]
            host = np.linalg.lstsq(weights, np.ones(len(table)), rcond=None)[0][0]
        long = table[:, 2] >= 2e-3
        parts.append(np.median(moved[long] / table[long, 2]) / GPUS[device][0])
    return np.mean(parts), host


def layer_norm_bytes(rows, columns, device):
    _, sms, threads, level2 = GPUS[device]
    touched = 1.5 * np.minimum(rows, sms * (threads // 128)) * 4 * columns
    return 4 * rows * columns * (2 + 1 - np.clip(1.5 - touched / level2, 0, 1))


def fraction(table, moved, rate, host):
    def loss(part):
        return np.mean(np.abs(np.log((MINIMUM + host + moved / (rate * part)) / table[:, 2])))

    found = minimize_scalar(loss, bounds=(0.4, 1.4), method="bounded")
    return f"{found.x:.3f} ({len(table)} rows, mean |ln| {found.fun:.3f})"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, required=True)
    folder = arguments.parse_args().data / "kernels/neusight/dataset/train"
    for device in GPUS:
        part, host = streaming(folder, device)
        rate = part * GPUS[device][0]
        whole = lambda table: table[(table[:, 1] % SECTOR == 0) & (table[:, 2] >= SHORTEST)]
        norm = whole(read(folder, "ln", "ln", device))
        softmax = whole(read(folder, "softmax", "softmax", device))
        softmax = softmax[softmax[:, 1] <= IN_REGISTERS]
        print(f"{device}: memory {part:.3f}, host {host * 1e6:.0f} us, "
              f"softmax {fraction(softmax, 8 * softmax[:, 0] * softmax[:, 1], rate, host)}, "
              f"layer_norm {fraction(norm, layer_norm_bytes(norm[:, 0], norm[:, 1], device), rate, host)}")


if __name__ == "__main__":
    main()
