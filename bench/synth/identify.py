#!/usr/bin/env python3
"""Attack on `lockstep synth obfuscate`: which public model is the obfuscated trace one of?

Usage: bench/synth/identify.py build/lockstep [FOLDER]

The attacker has the exports of public models. A trace is described by how often each class of kernels runs, by
the class's share of the time, and by the step time. The nearest model (1-NN, sum of differences) is the guess.
Prints hits for the plain traces, for obfuscated ones, and for those with --hide totals.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

MODELS = ["gpt2", "gpt2_medium", "gpt2_large", "gpt2_xl", "bert_base", "bert_large", "opt_1b3", "gpt3_1b3",
          "t5_base", "t5_large", "resnet50", "resnet101", "resnet152", "inception_v3", "xlnet_base",
          "xlnet_large", "switch_base_8", "gpt3_2b7"]
HIDDEN = {"plain": None, "obfuscated": [], "--hide totals": ["--hide", "totals", "--seed", "8714"]}


def run(lockstep, *arguments):
    done = subprocess.run([lockstep, "synth", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def features(lockstep, job):
    score = json.loads(run(lockstep, "score", job, job, "--json"))
    weight = 5  # of a share of time, against a factor e of a count
    found = {"step": math.log(score["source_step_seconds"])}
    for row in score["classes"]:
        found["count " + row["class"]] = math.log1p(row["source"])
        found["share " + row["class"]] = weight * row["source_share"]
    return found


def distance(a, b):
    return sum(abs(a.get(key, 0) - b.get(key, 0)) for key in a.keys() | b.keys())


def main():
    lockstep = sys.argv[1]
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
    known, seen = {}, {name: {} for name in HIDDEN}
    for model in MODELS:
        scenario = folder / f"{model}.yaml"
        scenario.write_text(f"name: {model}\ncluster: dgx_a100 x 1\ngpu: a100_80gb\n"
                            f"workload: {{ model: {model}, global_batch: 16 }}\nsteps: 1\n")
        known[model] = features(lockstep, scenario)
        for name, options in HIDDEN.items():
            traces = scenario
            if options is not None:
                traces = folder / f"{model} {name}"
                run(lockstep, "obfuscate", scenario, "-o", traces, *options)
            seen[name][model] = features(lockstep, traces)
    for name, traces in seen.items():
        hits = sum(model == min(known, key=lambda other: distance(found, known[other]))
                   for model, found in traces.items())
        print(f"{name:<14} {hits} of {len(traces)} identified, {1 / len(known):.1%} by chance")
    return 0


if __name__ == "__main__":
    sys.exit(main())
