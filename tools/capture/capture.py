#!/usr/bin/env python3
"""Measures and records training steps of one GPU with PyTorch 2.3 or later: times without a profiler first, then traces and kernels of a step.

For every model, batch size, precision and mode one row of OUT/times.csv, the kernels of a step in OUT/kernels.csv, OUT/CASE.kineto.json.gz (a Kineto trace of one
step) and, with --trace observed, CASE.et.json.gz (the PyTorch execution trace of the same step, which then has shapes). Models are written in this folder, but for those of
Hugging Face and torchvision, whose packages must be there for them, and inputs are random: nothing is fetched. Rows and traces that are there stay; a run that was
interrupted goes on.

Usage: tools/capture/capture.py [--models dlrm,gpt2,bert,resnet50] [--batches 512,2048] [--precision bf16] [--mode eager] [--out FOLDER] [--quick]
       tools/capture/capture.py --cases FILE [--out FOLDER]
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
    "dlrm_criteo": Choice("26 tables of 1,000,000 x 128, MLPs 13-512-256-128 and 1024-1024-512-256-1, SGD", (2048, 8192, 32768), (8192,)),
    "dlrm_bags": Choice("dlrm with 12 tables and 30 lookups a bag", (512, 2048, 8192), (2048,)),
    "dlrm_dense": Choice("dlrm with tables of 100,000 rows, whose gradients are dense", (512, 2048, 8192), (2048,)),
    "gpt2": Choice("124M parameters, 12 layers, sequence 1024, AdamW", (1, 4, 16), (4,)),
    "gpt2_medium": Choice("355M parameters, 24 layers, sequence 1024, AdamW", (1, 4, 16), (4,)),
    "gpt_2048": Choice("673M parameters, 12 layers of 2,048 with heads of 128, sequence 2048, AdamW", (1, 2, 4), (2,)),
    "bert": Choice("110M parameters, 12 layers, sequence 512, masked-word loss, AdamW", (2, 8, 32), (8,)),
    "resnet50": Choice("images of 224 x 224, SGD with momentum", (16, 64, 256), (64,)),
    "resnet50_nhwc": Choice("the same in channels-last order", (16, 64, 256), (64,)),
    "resnet101": Choice("torchvision's", (16, 64, 128), (64,)),
    "resnet101_nhwc": Choice("the same in channels-last order", (16, 64, 128), (64,)),
    "resnet152_nhwc": Choice("torchvision's, in channels-last order", (16, 32, 64), (32,)),
    "inception_v3": Choice("torchvision's, images of 299 x 299", (16, 64, 128), (64,)),
    "inception_v3_nhwc": Choice("the same in channels-last order", (16, 64, 128), (64,)),
    "hf_gpt2": Choice("GPT2LMHeadModel of transformers, eager attention, sequence 1024, AdamW", (1, 4, 16), (4,)),
    "hf_gpt2_medium": Choice("the same of 355M parameters, SDPA", (1, 4, 16), (4,)),
    "hf_bert": Choice("BertForMaskedLM of transformers, eager attention, sequence 512, AdamW", (2, 8, 32), (8,)),
    "hf_bert_large": Choice("the same of 335M parameters, SDPA, sequence 128", (8, 32, 128), (32,)),
    "hf_opt_1b3": Choice("OPTForCausalLM of 1.3 billion parameters, eager attention, sequence 1024, AdamW", (1, 2, 4), (2,)),
    "hf_t5": Choice("T5ForConditionalGeneration, T5-base, 512 tokens read and 128 written, AdamW", (4, 16, 32), (16,)),
    "hf_xlnet": Choice("XLNetLMHeadModel, XLNet-base, sequence 512, AdamW", (2, 8, 16), (8,)),
    "hf_switch": Choice("SwitchTransformersForConditionalGeneration, 8 experts, 512 and 128 tokens, AdamW", (4, 8, 16), (8,)),
    "hf_llama": Choice("LlamaForCausalLM of transformers, 1.2 billion parameters, SDPA, sequence 2048, AdamW", (1, 2, 4), (2,)),
    "hf_llama_8k": Choice("the same, sequence 8192", (1, 2), (1,)),
    "hf_llama_3b": Choice("the same of 3.2 billion parameters, sequence 2048", (1, 2, 4), (2,)),
    "hf_llama_8b_lora": Choice("the same of 8 billion parameters, frozen, and LoRA of rank 16 by peft", (1, 2, 4), (2,)),
    "hf_mixtral": Choice("MixtralForCausalLM, 8 layers with 8 experts, sequence 2048, AdamW", (1, 2, 4), (2,)),
}
OWN = ["dlrm", "gpt2", "bert", "resnet50"]
PRECISIONS = {
    "fp32": "FP32 everywhere",
    "tf32": "FP32 with TF32 matrix products",
    "bf16": "autocast to BF16",
    "fp16": "autocast to FP16 with loss scaling",
    "bf16_pure": "parameters, gradients and moments in BF16, without autocast; models of transformers",
}
MODES = {
    "eager": "as it is",
    "compiled": "behind torch.compile (the model, not the optimizer)",
    "checkpointed": "activations of layers are recomputed (torch.utils.checkpoint)",
    "accumulated": "two micro-batches a step, each of half the batch",
    "clipped": "gradients clipped by their norm",
    "fused": "AdamW(fused=True)",
    "sgd": "SGD with momentum",
    "benchmark": "torch.backends.cudnn.benchmark; behind the same convolutions without it, PyTorch keeps their plans: in a process of its own",
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


def case_file(text):
    """Lines of MODEL BATCH PRECISION MODE; # begins a comment."""
    found = []
    try:
        lines = Path(text).read_text(encoding="utf-8").splitlines()
    except OSError as problem:
        raise argparse.ArgumentTypeError(f"{text}: {problem.strerror}") from problem
    for number, line in enumerate(lines, 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        try:
            if len(words) != 4:
                raise argparse.ArgumentTypeError(f"'{line}' is not MODEL BATCH PRECISION MODE")
            model, batch, precision, mode = words
            found.append((one_of(CHOICES)(model)[0], batch_sizes(batch)[0], one_of(PRECISIONS)(precision)[0], one_of(MODES)(mode)[0]))
        except argparse.ArgumentTypeError as problem:
            raise argparse.ArgumentTypeError(f"{text}:{number}: {problem}") from problem
    return found


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0], allow_abbrev=False)
    parser.add_argument("--list", action="store_true", help="tell the models, precisions and modes, and end")
    parser.add_argument("--models", type=one_of(CHOICES), default=OWN, help=f"default: {', '.join(OWN)}")
    parser.add_argument("--batches", type=batch_sizes, help="of every model; default: the model's own")
    parser.add_argument("--precision", type=one_of(PRECISIONS), default=["tf32"], help="one or more; default: tf32")
    parser.add_argument("--mode", type=one_of(MODES), default=["eager"], help="one or more; default: eager")
    parser.add_argument("--cases", type=case_file, help="in place of all of these: a file with lines of MODEL BATCH PRECISION MODE")
    parser.add_argument("--out", type=Path, default=Path("captured"), help="default: captured")
    parser.add_argument("--steps", type=count, default=20, help="in each of the timed windows; default: 20")
    parser.add_argument("--trace", choices=["none", "plain", "observed"], default="plain",
                        help="observed: with shapes and the execution trace, of which no host times are to be had; default: plain")
    parser.add_argument("--quick", action="store_true", help="one batch size of each model, a quarter of the steps")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try the script only")
    return parser.parse_args(words)


def listing():
    lines = [f"{name:<18}{choice.what}; batches {', '.join(map(str, choice.batches))}" for name, choice in CHOICES.items()]
    return "\n".join(lines + [f"{name:<18}{what}" for name, what in [*PRECISIONS.items(), *MODES.items()]])


def cases(options):
    """(model, batch, precision, mode) in the order in which they are captured."""
    if options.cases is not None:
        yield from options.cases
        return
    for model in options.models:
        own = CHOICES[model].quick_batches if options.quick else CHOICES[model].batches
        for batch in options.batches or own:
            for precision in options.precision:
                for mode in options.mode:
                    yield model, batch, precision, mode


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
    steps = max(2, options.steps // 4) if options.quick else options.steps
    recorder = Recorder(options.out, options.device, steps, options.trace)
    done = [recorder.time(*case) for case in cases(options)]
    if options.trace != "none":
        done += [recorder.record(*case) for case in cases(options)]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
