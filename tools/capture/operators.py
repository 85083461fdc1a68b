#!/usr/bin/env python3
"""Times PyTorch's operators one by one on one GPU: the kernels' own times, forward and backward, behind a flushed level-2 cache.

One table (CSV) a family in OUT: what was called, how many kernels ran, the median, least and most of their summed times over the repeats, and the kernels'
names. Times are of PyTorch's profiler (CUPTI): the host does not show. Inputs are random, and nothing is fetched. Families that are there stay.

Usage: tools/capture/operators.py [--only attention,normalisation] [--out FOLDER] [--repeats N]
       tools/capture/operators.py --list
"""
import argparse
import sys
from pathlib import Path

from capture import count, one_of, problem_of_machine

FAMILIES = {
    "products": "matrix products whose sizes are no multiples of 8, and the same next to them that are",
    "float8": "FP8 products by one scale or by row, with fast or split accumulators, and BF16's; casts to FP8",
    "attention": "scaled_dot_product_attention by its kernels: FlashAttention-2, cuDNN's, memory-efficient",
    "normalisation": "layer norm, RMS norm, softmax, log-softmax",
    "pointwise": "element-wise operators, casts, dropout, transposing copies, by number of elements",
    "reduction": "sums of rows, as the gradients of biases are, and of all",
    "embedding": "nn.Embedding and nn.EmbeddingBag, dense and sparse gradients",
    "images": "convolutions of ResNet-50, batch norm, pooling; NCHW and NHWC",
    "optimizer": "torch.optim's AdamW and SGD over GPT-2's parameters, by tensor, in groups and fused",
    "experts": "grouped products, and what sends tokens to experts",
}


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0], allow_abbrev=False)
    parser.add_argument("--list", action="store_true", help="tell the families, and end")
    parser.add_argument("--only", type=one_of(FAMILIES), default=list(FAMILIES), help="default: all")
    parser.add_argument("--out", type=Path, default=Path("operators"), help="default: operators")
    parser.add_argument("--repeats", type=count, default=10, help="of each call that count; default: 10")
    return parser.parse_args(words)


def main(words):
    options = arguments(words)
    if options.list:
        print("\n".join(f"{name:<15}{what}" for name, what in FAMILIES.items()))
        return 0
    problem = problem_of_machine("cuda")
    if problem:
        print(f"operators: {problem}", file=sys.stderr)
        return 2
    from operator_timer import OperatorTimer  # pylint: disable=import-outside-toplevel
    import operator_calls  # pylint: disable=import-outside-toplevel
    timer = OperatorTimer(options.out, options.repeats)
    failed = 0
    for family in options.only:
        failed += timer.measure(family, getattr(operator_calls, family)())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
