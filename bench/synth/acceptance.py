#!/usr/bin/env python3
"""Measures the claims about `lockstep synth` that need many samples: validity, jobs left out, membership.

Usage: bench/synth/acceptance.py build/lockstep (valid | left-out | fidelity | membership) [--count N] [--folder FOLDER]

* valid: N samples with knobs drawn by lot, of models of three families; each has to run.
* left-out: of each family, every corner of layers and hidden is predicted by a model of the other corners. The step
  of the sample is compared with the step of the true scenario.
* fidelity: N jobs drawn by lot from seven families, three machines and some plans. A model of each is sampled for
  other layers and another hidden size (of T5, ResNet and DLRM: for the same), and scored against the scenario of
  these. Printed is how many samples reach each target.
* membership: an attacker has a job, and guesses whether the model was fitted to it. One attacker has samples with
  knobs drawn by lot, and looks how near the nearest is. The other has the model, and asks it for a sample with the
  knobs of the job. Printed is the area under the curve of each: 0.5 is chance.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from identify import distance, features, run

# Family: base model, layers, hidden, batch.
FAMILIES = {"gpt": ("gpt2", (12, 24), (768, 1024), 32),
            "bert": ("bert_base", (12, 24), (768, 1024), 64),
            "llama": ("llama3_2_1b", (8, 16), (1024, 2048), 16)}
HEAD = 64

# Jobs of `fidelity`: machines and workloads, by family.
MACHINES = {"dgx_a100": "a100_80gb", "dgx_h100": "h100_80gb", "dgx1v": "v100_32gb"}
WORKLOADS = {
    "gpt": "model: {{ from: gpt2, transformer: {{ layers: {layers}, hidden: {hidden}, heads: {heads} }} }}, "
           "global_batch: {batch}, precision: {low}",
    "bert": "model: {{ from: bert_base, transformer: {{ layers: {layers}, hidden: {hidden}, heads: {heads} }} }}, "
            "global_batch: {batch}, precision: {low}",
    "llama": "model: {{ from: llama3_2_1b, transformer: {{ layers: {layers}, hidden: {hidden}, heads: {heads} }} }}, "
             "global_batch: {batch}, precision: {low}",
    "mixtral": "model: {{ from: mixtral_8x7b, transformer: {{ layers: {layers}, hidden: {hidden}, heads: {heads} }} }}, "
               "global_batch: {batch}, precision: {low}",
    "t5": "model: t5_base, global_batch: {batch}, precision: {low}",
    "resnet": "model: {resnet}, global_batch: {images}, precision: {low}",
    "dlrm": "model: dlrm_default, global_batch: {rows}"}
PLANS = {"mixtral": ["expert: 8, sharding: zero1"],
         "llama": ["", "sharding: zero3, zero3_implementation: fsdp2", "sharding: zero1", "sharding: zero2"]}
TARGETS = {"class mix, total variation": 0.05, "durations of classes, KS by time": 0.1, "message sizes, KS": 0.1,
           "host times, KS": 0.1, "step": 0.05}


def scenario(folder, base, layers, hidden, batch, seed=1):
    """A scenario file of the family, with 2 % of jitter so that no two jobs are alike."""
    path = folder / f"{base} {layers} {hidden} {batch} {seed}.yaml"
    path.write_text(f"name: {path.stem}\ncluster: dgx_a100 x 1\ngpu: a100_80gb\n"
                    f"vary: {{ kernels: lognormal 0.02, seed: {seed} }}\n"
                    f"workload: {{ model: {{ from: {base}, transformer: {{ layers: {layers}, hidden: {hidden}, "
                    f"heads: {hidden // HEAD} }} }}, global_batch: {batch}, precision: bf16 }}\n"
                    "steps: 1\nmemory: { check_capacity: false }\n")
    return path


def label(layers, hidden):
    return f"layers={layers},hidden={hidden}"


def fit(lockstep, model, jobs):
    labels = [part for layers, hidden, _ in jobs for part in ("--label", label(layers, hidden))]
    run(lockstep, "synth", "fit", *(path for _, _, path in jobs), *labels, "-o", model)


def sample(lockstep, model, into, layers, hidden, *more):
    run(lockstep, "synth", "sample", model, "-o", into, "--set", f"layers={layers}", "--set", f"hidden={hidden}", *more)
    return into


def step_of(lockstep, job, folder):
    return json.loads(run(lockstep, "run", job, "-o", folder, "-q", "--json", "-"))["step_time_s"]


def valid(lockstep, folder, count):
    models = {}
    for family, (base, layers, hidden, batch) in FAMILIES.items():
        models[family] = folder / f"{family}.json"
        fit(lockstep, models[family], [(layers[0], hidden[0], scenario(folder, base, layers[0], hidden[0], batch))])

    def one(number):
        dice = random.Random(number)
        family = dice.choice(sorted(models))
        into = folder / f"sample {number}"
        knobs = [models[family], into, dice.randrange(2, 49), HEAD * dice.randrange(4, 65), "--seed", number]
        knobs += ["--ranks", 8 * dice.choice([1, 2, 4, 8])]
        if dice.random() < 0.3:
            knobs += ["--set", f"gpu={dice.choice(['h100_80gb', 'h200_141gb'])}"]
        try:
            sample(lockstep, *knobs)
            run(lockstep, "run", into / "scenario.yaml", "-o", into / "run", "-q")
            return None
        except SystemExit as failure:
            return f"{knobs[2:]}: {failure}"
        finally:
            shutil.rmtree(into, ignore_errors=True)

    with ThreadPoolExecutor(2) as pool:
        failures = [failure for failure in pool.map(one, range(1, count + 1)) if failure]
    print(f"{count - len(failures)} of {count} samples are valid")
    for failure in failures[:10]:
        print("  " + failure.strip())
    return 1 if failures else 0


def left_out(lockstep, folder, _):
    print(f"{'left out':<34} {'true':>10} {'sample':>10}")
    errors = []
    for family, (base, layers, hidden, batch) in FAMILIES.items():
        corners = [(l, h, scenario(folder, base, l, h, batch)) for l in layers for h in hidden]
        for out in corners:
            model = folder / "left_out.json"
            fit(lockstep, model, [corner for corner in corners if corner != out])
            into = sample(lockstep, model, folder / f"{family} {out[0]} {out[1]}", out[0], out[1])
            truth, drawn = (step_of(lockstep, job, folder / "run") for job in (out[2], into / "scenario.yaml"))
            errors.append(drawn / truth - 1)
            print(f"{family + ' ' + label(*out[:2]):<34} {truth * 1e3:8.2f} ms {drawn * 1e3:7.2f} ms {errors[-1]:+7.1%}")
    print(f"mean of the absolute errors {sum(map(abs, errors)) / len(errors):.1%}, largest {max(map(abs, errors)):.1%}")
    return 0


def drawn_jobs(dice):
    """Family and node of two jobs that differ in their sizes, and the workload and knobs of each."""
    family, machine = dice.choice(sorted(WORKLOADS)), dice.choice(sorted(MACHINES))
    plan = dice.choice(PLANS.get(family, [""]))
    same = {"batch": 8 * dice.choice([1, 2, 4]), "images": 8 * dice.choice([16, 32, 64]),
            "rows": 8 * dice.choice([256, 1024]), "resnet": dice.choice(["resnet50", "resnet101"]),
            "low": "fp16" if machine == "dgx1v" else "bf16"}
    jobs = []
    for _ in range(2):
        # No hidden size that divides another size by a small number: one job does not tell equal sizes apart.
        layers, heads = dice.randrange(4, 25, 2), dice.choice([24, 40, 48])
        text = WORKLOADS[family].format(layers=layers, hidden=heads * HEAD, heads=heads, **same)
        knobs = ["--set", f"layers={layers}", "--set", f"hidden={heads * HEAD}"] if "{layers}" in WORKLOADS[family] else []
        jobs.append((f"workload: {{ {text} }}\n" + (f"parallelism: {{ {plan} }}\n" if plan else ""), knobs))
    return family, machine, jobs


def distances(score):
    """The figures of `synth score` that have a target."""
    classes = [each for each in score["classes"] if each["source_share"] >= 0.01]
    by_time = sum(each["source_share"] * each["time_weighted_ks"] for each in classes)
    return [score["class_mix"], by_time / sum(each["source_share"] for each in classes), score["message_ks"],
            score["host_gap_ks"], abs(score["sampled_step_seconds"] / score["source_step_seconds"] - 1)]


def fidelity(lockstep, folder, count):
    def one(number):
        family, machine, jobs = drawn_jobs(random.Random(number))
        paths = [folder / f"{family} {number} {place}.yaml" for place in range(2)]
        for path, (workload, _) in zip(paths, jobs):
            path.write_text(f"name: {path.stem}\ncluster: {machine} x 1\ngpu: {MACHINES[machine]}\n{workload}"
                            "steps: 1\nmemory: { check_capacity: false }\n")
        model, made = folder / f"{number}.json", folder / f"sample {number}"
        run(lockstep, "synth", "fit", paths[0], "-o", model)
        try:
            run(lockstep, "synth", "sample", model, "-o", made, *jobs[1][1])
            return paths[0].stem[:-2], distances(json.loads(run(lockstep, "synth", "score", made, paths[1], "--json", "-")))
        except SystemExit as refusal:
            print(f"{paths[0].stem}: {refusal}".strip(), file=sys.stderr)
            return None
        finally:
            shutil.rmtree(made, ignore_errors=True)

    with ThreadPoolExecutor(2) as pool:
        found = [score for score in pool.map(one, range(1, count + 1)) if score]
    print(f"{len(found)} of {count} jobs could be sampled{'':<18} within     mean  largest")
    for place, (name, target) in enumerate(TARGETS.items()):
        values = [score[place] for _, score in found]
        worst = max(found, key=lambda each: each[1][place])[0]
        print(f"{name + f' <= {target}':<40} {sum(value <= target for value in values):>4} of {len(found):<4} "
              f"{sum(values) / len(found):8.3f} {max(values):8.3f} ({worst})")
    return 0


def auc(distances, members):
    """How often a member lies nearer than another job; the members come first."""
    pairs = [(near, far) for near in distances[:members] for far in distances[members:]]
    return sum((near < far) + (near == far) / 2 for near, far in pairs) / len(pairs)


def membership(lockstep, folder, count):
    base, _, _, batch = FAMILIES["gpt"]
    dice = random.Random(1)
    grid = [(l, h) for l in range(4, 25, 2) for h in range(512, 1537, 128)]
    drawn = dice.sample(grid, 2 * count)
    jobs = [(l, h, scenario(folder, base, l, h, batch, seed)) for seed, (l, h) in enumerate(drawn, 1)]
    model = folder / "members.json"
    fit(lockstep, model, jobs[:count])
    known = [features(lockstep, path, folder) for _, _, path in jobs]

    def drawn_like(layers, hidden, name):
        return features(lockstep, sample(lockstep, model, folder / name, layers, hidden), folder)

    published = [drawn_like(*knobs, f"published {number}")
                 for number, knobs in enumerate(dice.sample(grid, count))]
    far = [min(distance(found, each) for each in published) for found in known]
    asked = [distance(found, drawn_like(layers, hidden, f"{path.stem} sample"))
             for found, (layers, hidden, path) in zip(known, jobs)]
    print(f"{count} members, {count} others of the family: AUC {auc(far, count):.2f} with {count} samples, "
          f"{auc(asked, count):.2f} with the model")
    return 0


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("lockstep")
    options.add_argument("claim", choices=["valid", "left-out", "fidelity", "membership"])
    options.add_argument("--count", type=int, default=20)
    options.add_argument("--folder")
    asked = options.parse_args()
    folder = pathlib.Path(asked.folder or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    claims = {"valid": valid, "left-out": left_out, "fidelity": fidelity, "membership": membership}
    return claims[asked.claim](asked.lockstep, folder, asked.count)


if __name__ == "__main__":
    sys.exit(main())
