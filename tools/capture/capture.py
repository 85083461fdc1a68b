#!/usr/bin/env python3
"""Measures and records training steps of one GPU with PyTorch 2.3 or later: times without a profiler first, then a trace of a step.

For every model and batch size one row of OUT/times.csv, OUT/MODEL_bBATCH_PRECISION.kineto.json.gz (a Kineto trace of one step) and
OUT/MODEL_bBATCH_PRECISION.et.json.gz (the PyTorch execution trace of the same step). Models are written in this folder, but for those of Hugging Face, whose
package must be there for them, and inputs are random: nothing is fetched. Rows and traces that are there stay; a run that was interrupted goes on.

Usage: tools/capture/capture.py [--models dlrm,gpt2,bert,resnet50] [--batches 512,2048] [--precision bf16] [--out FOLDER] [--quick]
       tools/capture/capture.py --list
"""
import argparse
import difflib
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Choice:
    """What can be captured: default batch sizes, one more than the usual so that scaling shows."""
    what: str
    batches: tuple
    quick_batches: tuple


CHOICES = {
    "dlrm": Choice("8 embedding tables of 1,000,000 x 64, MLPs 512-512-64 and 1024-1024-1024-1, SGD", (512, 2048, 8192), (2048,)),
    "gpt2": Choice("124M parameters, 12 layers, sequence 1024, AdamW", (1, 4, 16), (4,)),
    "bert": Choice("110M parameters, 12 layers, sequence 512, masked-word loss, AdamW", (2, 8, 32), (8,)),
    "resnet50": Choice("images of 224 x 224, SGD with momentum", (16, 64, 256), (64,)),
    "resnet50_nhwc": Choice("the same in channels-last order", (16, 64, 256), (64,)),
    "hf_gpt2": Choice("GPT2LMHeadModel of transformers, eager attention, sequence 1024, AdamW", (1, 4, 16), (4,)),
    "hf_bert": Choice("BertForMaskedLM of transformers, eager attention, sequence 512, AdamW", (2, 8, 32), (8,)),
    "hf_llama": Choice("LlamaForCausalLM of transformers, 1.2 billion parameters, SDPA, sequence 2048, AdamW", (1, 2, 4), (2,)),
}
OWN = ["dlrm", "gpt2", "bert", "resnet50"]
PRECISIONS = {
    "fp32": "FP32 everywhere",
    "tf32": "FP32 with TF32 matrix products",
    "bf16": "autocast to BF16",
    "fp16": "autocast to FP16 with loss scaling",
}


def one_of(known):
    """An argument type: names with commas between them."""
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                meant = f" - did you mean '{close[0]}'?" if close else f" (one of: {', '.join(known)})"
                raise argparse.ArgumentTypeError(f"there is no '{name}'{meant}")
        return names
    return parse


def batch_sizes(text):
    sizes = text.split(",")
    if not all(size.isdigit() and int(size) > 0 for size in sizes):
        raise argparse.ArgumentTypeError(f"'{text}': whole numbers above 0 with commas between them, such as 16,64")
    return [int(size) for size in sizes]


def count(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number above 0")
    return int(text)


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0], allow_abbrev=False)
    parser.add_argument("--list", action="store_true", help="tell the models and precisions, and end")
    parser.add_argument("--models", type=one_of(CHOICES), default=OWN, help=f"default: {', '.join(OWN)}")
    parser.add_argument("--batches", type=batch_sizes, help="of every model; default: the model's own")
    parser.add_argument("--precision", type=one_of(PRECISIONS), default=["tf32"], help="one or more; default: tf32")
    parser.add_argument("--out", type=Path, default=Path("captured"), help="default: captured")
    parser.add_argument("--steps", type=count, default=20, help="in each of the timed windows; default: 20")
    parser.add_argument("--compile", action="store_true", help="behind torch.compile (the model, not the optimizer)")
    parser.add_argument("--quick", action="store_true", help="one batch size of each model, a quarter of the steps")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try the script only")
    return parser.parse_args(words)


def listing():
    lines = [f"{name:<15}{choice.what}; batches {', '.join(map(str, choice.batches))}" for name, choice in CHOICES.items()]
    return "\n".join(lines + [f"{name:<15}{what}" for name, what in PRECISIONS.items()])


def cases(options):
    """(model, batch, precision) in the order in which they are captured."""
    for model in options.models:
        own = CHOICES[model].quick_batches if options.quick else CHOICES[model].batches
        for batch in options.batches or own:
            for precision in options.precision:
                yield model, batch, precision


def problem_of_machine(device):
    """Why nothing can be captured here, or None."""
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError as missing:
        return f"PyTorch is missing ({missing}); it is needed to capture, not to check arguments or for --list"
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 3):
        return f"PyTorch 2.3 or later is needed, this is {torch.__version__}"
    if device == "cuda" and not torch.cuda.is_available():
        return "PyTorch sees no GPU; --device cpu tries the script without one"
    return None


def main(words):
    options = arguments(words)
    if options.list:
        print(listing())
        return 0
    problem = problem_of_machine(options.device)
    if problem:
        print(f"capture: {problem}", file=sys.stderr)
        return 2
    from record import Recorder  # pylint: disable=import-outside-toplevel
    recorder = Recorder(options.out, options.device, max(2, options.steps // 4) if options.quick else options.steps)
    failed = 0
    for case in cases(options):
        failed += 0 if recorder.record(*case, options.compile) else 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
