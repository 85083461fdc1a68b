#!/usr/bin/env python3
"""Derives the speed of configs/hosts/h100_server.yaml: a core of an H100 server over that of `a100_server`.

Passes of transformers that PyTorch launches more slowly than an H100 works, timed without a profiler by students of
Stanford's CS336 (assignment 2, sequences of 128 tokens, PyTorch 2.3 to 2.6): their time grows by the same for each
layer whatever its width, and that is the host's. The operators of a layer are read off the course's code
(cs336_basics/model.py of spring 2024 and of 2025), what autograd's nodes launch off PyTorch's derivatives.yaml; a
profile of the same code on a CPU has as many. a100_server prices them as the simulator does: T1, before a module's first operator more, then T2, T4, T5 and
T3, or the time of an operator that launches nothing.

Chosen before the speed was computed or anything predicted with it: per layer, from 12 to 24 layers; one geometric
mean over the four rows. Not used: forward passes of 2025 (einops and einx in every operator, which is Python that
other programs do not have), wider models (GPU-bound), runs under a profiler.

Usage: tools/derive/h100_host_speed.py [--host configs/hosts/a100_server.yaml]
"""
import argparse
import re
from math import exp, log
from pathlib import Path

# operator: [(kernels it launches, calls a layer)]
ATTENTION_AND_GELU = {  # of 2024: nn.Linear without bias, softmax and GELU written out
    "aten::linear": [(1, 6)], "aten::view": [(0, 4)], "aten::transpose": [(0, 5)], "aten::ones": [(1, 1)],
    "aten::triu": [(1, 1)], "aten::to": [(1, 1)], "aten::matmul": [(3, 1), (2, 1)], "aten::masked_fill": [(2, 1)],
    "aten::max": [(1, 1)], "aten::sub": [(1, 1)], "aten::exp": [(1, 1)], "aten::sum": [(1, 1)],
    "aten::contiguous": [(1, 1)], "aten::div": [(1, 3)], "aten::erf": [(1, 1)], "aten::add": [(1, 3)],
    "aten::mul": [(1, 2)]}
LAYER_NORMS = {"aten::layer_norm": [(1, 2)]}
RMS_NORMS = {"aten::pow": [(1, 2)], "aten::mean": [(1, 2)], "aten::add": [(1, 2)], "aten::rsqrt": [(1, 2)],
             "aten::mul": [(1, 4)]}
BACKWARD_2025 = {  # RMSNorm, RoPE, softmax and SwiGLU written out, every product an einsum
    "BmmBackward0": [(2, 9)], "MulBackward0": [(2, 6), (1, 8)], "RsqrtBackward0": [(3, 2)], "MeanBackward1": [(1, 2)],
    "PowBackward0": [(3, 2)], "AddBackward0": [(0, 6)], "SumBackward1": [(0, 1)], "ExpBackward0": [(1, 1)],
    "DivBackward0": [(1, 1), (5, 1)], "SubBackward0": [(1, 3)], "MaxBackward0": [(2, 1)], "WhereBackward0": [(2, 1)],
    "SigmoidBackward0": [(1, 1)], "StackBackward0": [(0, 2)], "UnbindBackward0": [(1, 2)],
    "ReshapeAliasBackward0": [(1, 3), (0, 21)], "ViewBackward0": [(0, 18)], "PermuteBackward0": [(0, 47)],
    "UnsqueezeBackward0": [(0, 25)], "TransposeBackward0": [(0, 4)], "UnsafeViewBackward0": [(0, 2)],
    "CloneBackward0": [(0, 2)], "torch::autograd::AccumulateGrad": [(1, 7), (0, 2)],
    "aten::add": [(1, 14)], "aten::sum": [(1, 6)]}  # gradients of tensors with several uses; of what was broadcast
# pass, its operators, milliseconds of 12 and of 24 layers, source
ROWS = [
    ("forward, LayerNorm", [ATTENTION_AND_GELU, LAYER_NORMS], 7.42, 14.7,
     "marcelroed/spring2024-assignment2-systems at 15634c66, writeup.typ, rmsnorm_forward_benchmarking 2"),
    ("forward, RMSNorm", [ATTENTION_AND_GELU, RMS_NORMS], 8.75, 16.9, "the same table"),
    ("backward", [BACKWARD_2025], 15.571, 30.963,
     "brandon-snider/cs336-a2, writeup.typ, benchmarking_script (b), 5 warm-up steps"),
    ("backward", [BACKWARD_2025], (16.676 + 17.784) / 2, (35.298 + 34.146) / 2,
     "ShibukiZero/assignment2-systems, H100 write-up: mean of 1.1.3 (b) and of FP32 in 1.1.5 (c)"),
]


def microseconds(text):
    return float(re.match(r"[\d.]+", text).group())


def read_host(path):
    """The few kinds of line of a host file that `lockstep calibrate host` writes."""
    text = Path(path).read_text()
    parts = lambda body: {key: microseconds(value) for key, value in re.findall(r"(\w+): ([\d.]+ us)", body)}
    fallback = parts(re.search(r"^fallback: \{(.*)\}", text, re.M).group(1))
    operators = {name: fallback | parts(body) for name, body in re.findall(r'^  "([^"]+)": \{(.*)\}', text, re.M)}
    between = {key: microseconds(re.search(rf"^{key}: (.*)", text, re.M).group(1))
               for key in ("between_operators", "between_module_operators")}
    return (between, microseconds(re.search(r"^  launch_kernel: (.*)", text, re.M).group(1)), fallback, operators)


MODULES = {"aten::linear", "aten::layer_norm"}  # of these, what a module calls first


def price(host, launches, name):
    gaps, launch, fallback, operators = host
    between = gaps["between_module_operators" if name in MODULES else "between_operators"]
    of = operators.get(name, fallback)
    if launches == 0:
        return between + of["without_launch"]
    return (between + of["before_first_launch"] + launches * launch + (launches - 1) * of["between_launches"]
            + of["after_last_launch"])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--host", default=Path(__file__).parents[2] / "configs/hosts/a100_server.yaml")
    host = read_host(arguments.parse_args().host)
    speeds = []
    for title, tables, twelve, twenty_four, source in ROWS:
        calls = [(name, launches, count) for table in tables for name, rows in table.items() for launches, count in rows]
        priced = sum(count * price(host, launches, name) for name, launches, count in calls)
        measured = (twenty_four - twelve) / 12 * 1000
        speeds.append(priced / measured)
        print(f"{title:20} {sum(c for _, _, c in calls):4} operators, {sum(n * c for _, n, c in calls):3} kernels: "
              f"{priced:6.0f} us priced, {measured:6.0f} us measured, {speeds[-1]:.2f}   {source}")
    print(f"speed: {exp(sum(map(log, speeds)) / len(speeds)):.2f}")


if __name__ == "__main__":
    main()
