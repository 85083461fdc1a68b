#!/usr/bin/env python3
"""How processor time and memory of `lockstep run` grow with a job: the table of growth in docs/performance.md.

Usage: bench/scale/growth.py [BUILD] [--only TEXT]     the build folder, build/ unless said
An exponent is that of the last doubling: 1 where twice as much takes twice as long. Of each point the best of two runs.
"""
import argparse
import math
import pathlib
import subprocess
import sys
import tempfile

from measure import AHEAD, HERE, ONE_SWITCH, STEPPED, Job, measure

DATA_PARALLEL = """name: GPT-2, data-parallel
cluster: dgx_h100 x {nodes}
gpu: h100_80gb
workload: {{ model: gpt2, global_batch: {ranks}, micro_batch: 1, precision: bf16 }}
parallelism: {{ ranks: {ranks} }}
steps: 1
vary: {{ kernels: {{ distribution: lognormal, variation: {jitter} }} }}
"""
GPT3 = ["gpt3_175b_interleaved"]


def data_parallel(folder, ranks, jitter, options=()):
    path = folder / f"dp{ranks}_{jitter}.yaml"
    text = DATA_PARALLEL.format(nodes=ranks // 8, ranks=ranks, jitter=jitter)
    path.write_text(text if jitter else text[:text.index("vary")])
    return [path, *options]


def one_switch(folder, gpus):
    folder = folder / str(gpus)
    folder.mkdir()
    subprocess.run([sys.executable, HERE.parent / "chakra" / "generate.py", "all_reduce", f"--ranks={gpus}",
                    f"--bytes={64 << 20}", f"--out={folder / 'ar'}"], check=True, stdout=subprocess.DEVNULL)
    (folder / "switch.yaml").write_text(ONE_SWITCH.replace("count: 16384", f"count: {gpus}").replace("16383", str(gpus - 1)))
    path = folder / "reduce.yaml"
    path.write_text("name: all-reduce\ncluster: switch.yaml\ntrace: { chakra: ar.%d.et }\n")
    return [path]


def cases(folder):
    """What grows, the engine's mode, the sizes, and the options of each."""
    def thousands(*numbers):
        return [1024 * number for number in numbers]

    return [
        ("ranks of GPT-2, folded", STEPPED, thousands(4, 8, 16, 32, 64), lambda n: data_parallel(folder, n, 0)),
        ("ranks of GPT-2 with jitter", STEPPED, thousands(1, 2, 4, 8), lambda n: data_parallel(folder, n, 0.05)),
        ("the same without interference", AHEAD, thousands(1, 2, 4, 8),
         lambda n: data_parallel(folder, n, 0.05, ["--set=interference=false"])),
        ("GPUs on one switch, an all-reduce", STEPPED, thousands(1, 2, 4, 8, 16), lambda n: one_switch(folder, n)),
        ("micro-batches of GPT-3 175B", STEPPED, [128, 256, 512, 1024],
         lambda n: [*GPT3, f"--set=workload.global_batch={n}"]),
        ("layers of GPT-3 175B", STEPPED, [48, 96, 192, 384],
         lambda n: [*GPT3, f"--set=workload.model.transformer.layers={n}", "--set=memory.check_capacity=false"]),
        ("steps of GPT-2 on 8 GPUs, jitter", STEPPED, [16, 32, 64, 128],
         lambda n: ["gpt2_8xa100", f"--set=steps={n}", "--set=vary.kernels={ distribution: lognormal, variation: 0.05 }"]),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=HERE.parent.parent / "build", type=pathlib.Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    print("| what grows | communication slows kernels | from, to | processor time of each | exponent | memory of the last | "
          "exponent |\n|---|---|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for name, mode, sizes, options in cases(pathlib.Path(folder)):
            if given.only not in name:
                continue
            runs = []
            for size in sizes:
                job = Job(name, mode, options(size))
                runs.append(min((measure(given.build / "lockstep", job) for _ in range(2)), key=lambda run: run.processor))
            times = ", ".join(f"{run.processor:.2f}" for run in runs)
            print(f"| {name} | {'yes' if mode == STEPPED else 'no'} | {sizes[0]:,}, {sizes[-1]:,} | {times} s | "
                  f"{math.log2(runs[-1].processor / runs[-2].processor):.2f} | {runs[-1].memory:.0f} MB | "
                  f"{math.log2(runs[-1].memory / runs[-2].memory):.2f} |", flush=True)


if __name__ == "__main__":
    main()
