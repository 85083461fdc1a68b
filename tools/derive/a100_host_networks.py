#!/usr/bin/env python3
"""Derives the operators of configs/hosts/a100_server.yaml that its trace, of a recommendation model, does not have.

Each part that configs/hosts/v100_lin_2022.yaml lists for an operator, times the median ratio of the A100 host's to the
V100 host's over the operators that both were seen to do: one ratio before the first launch (18 operators), one after
the last (17). Between launches there are too few shared operators for one (5, from 0.04 to 15.6): the fallback's time
stays. Operators that launch nothing are left out.

Usage: tools/derive/a100_host_networks.py [--hosts configs/hosts]
"""
import argparse
import re
from pathlib import Path
from statistics import median

PARTS = ("before_first_launch", "after_last_launch")
DERIVED = [  # seen by Lin et al. and asked for by the models here
    "ConvolutionBackward0", "CudnnBatchNormBackward0", "IndexBackward0", "LogSoftmaxBackward0", "LookupFunction",
    "LookupFunctionBackward", "MaxPool2DWithIndicesBackward0", "MeanBackward1", "MseLossBackward0",
    "NativeDropoutBackward0", "NllLossBackward0", "aten::adaptive_avg_pool2d", "aten::avg_pool2d", "aten::batch_norm",
    "aten::conv2d", "aten::cross_entropy_loss", "aten::dropout", "aten::max_pool2d", "aten::mse_loss", "aten::relu_"]


def parts(body):
    return {key: float(value) for key, value in re.findall(r"(\w+): ([\d.]+) us", body)}


def read_host(path):
    text = path.read_text()
    fallback = parts(re.search(r"^fallback: \{(.*)\}", text, re.M).group(1))
    return fallback, {name: parts(body) for name, body in re.findall(r'^  "([^"]+)": \{(.*)\}', text, re.M)}


def seen(host, name, part):
    fallback, operators = host
    value = operators.get(name, {}).get(part)
    return value if value and value != fallback[part] else None


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--hosts", type=Path, default=Path(__file__).parents[2] / "configs/hosts")
    folder = arguments.parse_args().hosts
    newer, older = read_host(folder / "a100_server.yaml"), read_host(folder / "v100_lin_2022.yaml")
    ratio = {}
    for part in PARTS:
        shared = [seen(newer, name, part) / seen(older, name, part) for name in newer[1]
                  if name not in DERIVED and seen(newer, name, part) and seen(older, name, part)]
        ratio[part] = median(shared)
        print(f"# {part}: {ratio[part]:.2f} over {len(shared)} operators")
    for name in DERIVED:
        known = {part: seen(older, name, part) * ratio[part] for part in PARTS if seen(older, name, part)}
        values = newer[0] | known
        print(f'  "{name}": {{' + ", ".join(f"{part}: {value:.1f} us" for part, value in values.items()) + "}")


if __name__ == "__main__":
    main()
