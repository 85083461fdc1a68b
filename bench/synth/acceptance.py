#!/usr/bin/env python3
"""Measures the claims about `lockstep synth` that need many samples: validity, jobs left out, membership.

Usage: bench/synth/acceptance.py build/lockstep (valid | left-out | membership) [--count N] [--folder FOLDER]

* valid: N samples with knobs drawn by lot, of models of three families; each has to run.
* left-out: of each family, every corner of layers and hidden is predicted by a model of the other corners. The step
  of the sample is compared with the step of the true scenario.
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
    options.add_argument("claim", choices=["valid", "left-out", "membership"])
    options.add_argument("--count", type=int, default=20)
    options.add_argument("--folder")
    asked = options.parse_args()
    folder = pathlib.Path(asked.folder or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    claims = {"valid": valid, "left-out": left_out, "membership": membership}
    return claims[asked.claim](asked.lockstep, folder, asked.count)


if __name__ == "__main__":
    sys.exit(main())
