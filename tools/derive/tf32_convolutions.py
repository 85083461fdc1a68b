#!/usr/bin/env python3
"""Fits `tf32_convolution` of configs/kernel_efficiency/{a100,h100}.yaml, by the equations of ops/kernels/convolution.hpp.

A100: the 106 passes of a ResNet-50 step, 32 images, of ../shared/data/traces/single_rank/a100_rank0of2_nccl_arguments (no
shapes there: torchvision's order). H100: those of a VGG-13 step, 512 images, of ../shared/data/traces/vgg13_h100. All rows
are fitted; what was not fitted is in docs/validation/resnet50_kernels_h100.md and docs/validation/lambda.md.

Usage: tools/derive/tf32_convolutions.py --data ../shared/data     (needs numpy and scipy)
"""
import argparse
import bisect
import collections
import gzip
import json
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

A100 = {"sms": 108, "peak": 156e12, "dram": 1555e9, "fixed": 3.7e-6}
H100 = {"sms": 132, "peak": 494.7e12, "dram": 3352e9, "fixed": 4e-6}
FULL_WARPS = 16
Pass = collections.namedtuple("Pass", "kind batch inputs outputs pixels filter stride kernels")


def resnet50():
    """(inputs, outputs, pixels along a side, filter, stride) in torchvision's order."""
    layers, channels, pixels = [(3, 64, 224, 7, 2)], 64, 56
    for width, blocks, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            stride = first if block == 0 else 1
            after = pixels // stride
            layers += [(channels, width, pixels, 1, 1), (width, width, pixels, 3, stride), (width, 4 * width, after, 1, 1)]
            if block == 0:
                layers.append((channels, 4 * width, pixels, 1, stride))
            channels, pixels = 4 * width, after
    return layers


def kernels_of(file, step):
    """[operator, its dimensions, [(us, kernel, grid)]] of the convolutions launched in a ProfilerStep, in order."""
    with gzip.open(file) as text:
        events = json.load(text)["traceEvents"]
    names = ("aten::cudnn_convolution", "aten::convolution_backward")
    operators, launches = collections.defaultdict(list), {}
    for event in (event for event in events if event.get("ph") == "X"):
        if event.get("cat") == "cpu_op" and event["name"] in names:
            operators[event["tid"]].append(event)
        elif event.get("cat") == "cuda_runtime" and "correlation" in event["args"]:
            launches[event["args"]["correlation"]] = event
    for thread in operators.values():
        thread.sort(key=lambda event: event["ts"])
    steps = sorted(e["ts"] for e in events if e.get("name", "").startswith("ProfilerStep") and e.get("cat") == "user_annotation")
    found = collections.defaultdict(list)
    for kernel in sorted((e for e in events if e.get("cat") == "kernel"), key=lambda e: e["ts"]):
        launch = launches.get(kernel["args"]["correlation"])
        thread = operators.get(launch["tid"], []) if launch else []
        at = bisect.bisect_right([e["ts"] for e in thread], launch["ts"]) - 1 if thread else -1
        if at < 0 or thread[at]["ts"] + thread[at]["dur"] < launch["ts"]:
            continue
        if step is None or bisect.bisect_right(steps, thread[at]["ts"]) == step:
            found[thread[at]["ts"], thread[at]["name"], json.dumps(thread[at]["args"].get("Input Dims"))].append(
                (kernel["dur"], kernel["name"], kernel["args"]["grid"]))
    return [(name, json.loads(dims), kernels) for (_, name, dims), kernels in sorted(found.items())]


def is_copy(name):
    return "nchwToNhwc" in name or "nhwcToNchw" in name


def split_passes(layer, batch, name, kernels):
    """The kernels of forward, or of the two gradients: products in order, the input's first; the first layer has none of it."""
    products = [k for k in kernels if not is_copy(k[1]) and "educe" not in k[1] and "split_k" not in k[1]
                and "computeOffsets" not in k[1] and "init_device" not in k[1] and k[0] > 15]
    kinds = ("forward",) if name == "aten::cudnn_convolution" else ("weight",) if layer[0] == 3 else ("data", "weight")
    assert len(products) == len(kinds), (layer, name, products)
    for kind, product in zip(kinds, products):
        yield Pass(kind, batch, *layer, (product,))


def passes_a100(folder):
    rows = kernels_of(folder / "traces/single_rank/a100_rank0of2_nccl_arguments.json.gz", 2)
    layers = resnet50()
    forward = [row for row in rows if row[0] == "aten::cudnn_convolution"]
    backward = [row for row in rows if row[0] != "aten::cudnn_convolution"]
    assert len(forward) == len(backward) == len(layers)
    for layer, (name, _, kernels) in list(zip(layers, forward)) + list(zip(reversed(layers), backward)):
        yield from split_passes(layer, 32, name, kernels)


def passes_h100(folder):
    for name, dims, kernels in kernels_of(folder / "traces/vgg13_h100/profiler_vgg13-iter41.json.gz", None):
        image, weight = (dims[0], dims[1]) if name == "aten::cudnn_convolution" else (dims[1], dims[2])
        yield from split_passes((image[1], weight[0], image[2], weight[2], 1), image[0], name, kernels)


def product_of(row):
    """batch, m, n, k and bytes of the product that a pass is."""
    after = (row.pixels // row.stride)**2
    area = row.filter**2
    moved = 4 * (row.batch * (row.inputs * row.pixels**2 + row.outputs * after) + row.inputs * row.outputs * area)
    if is_direct(row):
        m, n, k = row.outputs, row.pixels**2, row.inputs
        if row.kind == "data":
            m, k = k, m
        if row.kind == "weight":
            n, k = k, n
            moved += 8 * row.batch * row.inputs * row.outputs
        return row.batch, m, n, k, moved
    if row.kind == "forward":
        return 1, row.batch * after, row.outputs, row.inputs * area, moved
    if row.kind == "data":
        return 1, row.batch * row.pixels**2, row.inputs, max(1, row.outputs * area // row.stride**2), moved
    return 1, row.inputs * area, row.outputs, row.batch * after, moved


def is_direct(row):
    """Products of images as they lie: cuBLAS' kernels, not implicit ones."""
    return "gemm_" in row.kernels[0][1] and "implicit" not in row.kernels[0][1] and row.filter == 1 and row.stride == 1


def predicted(row, gpu, tiles, efficiency, depth, half_warps, memory):
    batch, m, n, k, moved = product_of(row)
    if row.kind == "weight" and batch == 1:  # k is split so that all SMs are busy
        work = [2 * np.ceil(a / down) * down * np.ceil(b / across) * across * k / part
                for a, b in ((m, n), (n, m)) for (down, across, _), part in zip(tiles, efficiency)]
        return max(min(work) / gpu["peak"], moved / (gpu["dram"] * memory)) + 1.5 * gpu["fixed"]
    best = np.inf
    for (down, across, warps), part in zip(tiles, efficiency):
        blocks = np.ceil(batch * np.ceil(m / down) * np.ceil(n / across) / gpu["sms"])
        busy = min(blocks * warps, FULL_WARPS)
        full = busy / (busy + half_warps) * (FULL_WARPS + half_warps) / FULL_WARPS
        compute = 2 * blocks * down * across * (k + depth) / (gpu["peak"] / gpu["sms"] * part * full)
        best = min(best, max(compute, moved / (gpu["dram"] * memory)) + gpu["fixed"])
    return best


def fit(title, rows, gpu, tiles, tied=False, **known):
    """Efficiency of each tile, fixed_depth, memory, and data's and weights' parts of the rate; `known`: what rows do not tell."""
    measured = np.array([sum(k[0] for k in row.kernels) * 1e-6 for row in rows])

    def full(x):
        x = np.array(x)
        x[2:4] = 1 if tied else x[2:4]
        for name, value in known.items():
            x[("fixed_depth", "memory", "data_gradient", "weight_gradient", "half_warps").index(name)] = value
        return x

    def of(x):
        x = full(x)
        parts = {"forward": 1, "data": x[2], "weight": x[3]}
        return np.array([predicted(row, gpu, tiles, parts[row.kind] * x[5:], x[0], x[4], x[1]) for row in rows])

    def loss(x):
        outside = np.any(x <= 0) or np.any(full(x)[1:4] > 1) or np.any(x[5:] > 1)
        return 9 if outside else np.mean(np.abs(np.log(of(x) / measured)))

    best = None
    start = np.array([30, 0.85, 0.95, 0.7, 1.0] + [0.6] * len(tiles))
    random = np.random.default_rng(0)
    for _ in range(8):
        x = start * np.exp(random.normal(0, 0.2, len(start)))
        x[1] = min(x[1], 0.97)
        found = minimize(loss, x, method="Nelder-Mead", options={"maxiter": 2500, "xatol": 1e-3, "fatol": 1e-5})
        best = found if best is None or found.fun < best.fun else best
    x = full(best.x)
    print(f"{title}: {len(rows)} kernels, mean |log| {best.fun:.3f}\n  fixed_depth {x[0]:.1f} memory {x[1]:.2f} data_gradient {x[2]:.2f} "
          f"weight_gradient {x[3]:.2f} half_warps {x[4]:.2f}; " +
          ", ".join(f"{d} x {a}: {e:.3f}" for (d, a, _), e in zip(tiles, x[5:])))
    shown = set()
    for row, time, guess in zip(rows, measured, of(x)):
        if row[:7] not in shown:
            shown.add(row[:7])
            print(f"    {row.kind:8} {row.inputs:5} {row.outputs:5} {row.pixels:4} {row.filter} /{row.stride} {1e6 * time:8.0f} us "
                  f"{1e6 * guess:8.0f} {100 * (guess / time - 1):+5.0f} %  {row.kernels[0][1][:70]}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, required=True)
    folder = arguments.parse_args().data
    on_tensor_cores = [row for row in passes_a100(folder) if row.inputs % 4 == 0]
    direct = [row for row in on_tensor_cores if is_direct(row)]
    fit("A100 direct", direct, A100, [(64, 256, 4), (64, 64, 4)], tied=True)
    fit("A100 implicit", [row for row in on_tensor_cores if not is_direct(row)], A100,
        [(128, 128, 4), (256, 64, 4), (64, 128, 4)], memory=0.85, fixed_depth=31.1)
    fit("H100 implicit", [row for row in passes_h100(folder) if row.inputs % 4 == 0], H100,
        [(128, 256, 8), (128, 128, 4), (64, 64, 4)], half_warps=1.0, memory=0.85, fixed_depth=62.2)


if __name__ == "__main__":
    main()
