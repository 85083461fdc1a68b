#!/usr/bin/env python3
"""Attacks on `lockstep synth obfuscate`: which public model is a trace one of?

Usage: bench/synth/identify.py build/lockstep [FOLDER] [--check]

The attacker has the exports of public models and this program. A trace is described by how often each class of
kernels runs, by the class's share of the time, by the step, and by what its run tells: launches, communication,
the busiest link. Two attackers guess: the nearest trace (1-NN) and a forest of random trees. The plain attacker
knows plain exports; the adaptive one knows how `obfuscate` was called and has obfuscated exports of its own, with
other secrets. --check leaves the adaptive one out, and returns 1 where a claim of docs/synthetic_traces.md does
not hold.
"""

import argparse
import json
import math
import pathlib
import random
import subprocess
import tempfile

MODELS = ["gpt2", "gpt2_medium", "gpt2_large", "gpt2_xl", "bert_base", "bert_large", "opt_1b3", "gpt3_1b3",
          "t5_base", "t5_large", "resnet50", "resnet101", "resnet152", "inception_v3", "xlnet_base",
          "xlnet_large", "switch_base_8", "gpt3_2b7"]
SECRET, GUESSED = 8714, (1, 2, 3)  # seeds of --hide totals
TREES = 200


def run(lockstep, *arguments):
    done = subprocess.run([lockstep, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def features(lockstep, job, folder):
    """Numbers that describe a job: logarithms of what is counted, shares of the time."""
    score = json.loads(run(lockstep, "synth", "score", job, job, "--json", "-"))
    found = {"step": math.log(score["source_step_seconds"])}
    for row in score["classes"]:
        found["count " + row["class"]] = math.log1p(row["source"])
        found["share " + row["class"]] = 5 * row["source_share"]  # a fifth of the time: a factor e of a count
    scenario = job / "scenario.yaml" if job.is_dir() else job
    seen = json.loads(run(lockstep, "run", scenario, "-o", folder / "run", "-q", "--json", "-"))
    step = seen["step_time_s"]
    found["launches"] = math.log1p(seen["launches"] / seen["steps"])
    found["busy"] = 5 * seen["gpu_busy_s"] / step
    found["exposed"] = 5 * seen["exposed_communication_s"] / step
    found["link bytes"] = math.log1p(max((link["bytes_per_step"] for link in seen["links"]), default=0))
    return found


def distance(a, b):
    return sum(abs(a.get(key, 0) - b.get(key, 0)) for key in a.keys() | b.keys())


def nearest(known, seen):
    return min(known, key=lambda row: distance(row[1], seen))[0]


def grow(rows, keys, dice):
    """An extremely randomised tree: splits at a random place of the best of a few random features."""
    labels = [label for label, _ in rows]
    if len(set(labels)) == 1:
        return labels[0]
    best = None
    for key in dice.sample(keys, min(len(keys), 6)):
        values = [found.get(key, 0) for _, found in rows]
        cut = dice.uniform(min(values), max(values))
        parts = ([row for row in rows if row[1].get(key, 0) <= cut], [row for row in rows if row[1].get(key, 0) > cut])
        if all(parts):
            mixed = sum(len(part) - max([label for label, _ in part].count(each) for each in {l for l, _ in part})
                        for part in parts)
            if best is None or mixed < best[0]:
                best = (mixed, key, cut, parts)
    if best is None:
        return dice.choice(labels)
    _, key, cut, parts = best
    return key, cut, grow(parts[0], keys, dice), grow(parts[1], keys, dice)


def forest_of(known, dice):
    keys = sorted({key for _, found in known for key in found})
    return [grow(known, keys, dice) for _ in range(TREES)]


def vote(forest, seen):
    votes = {}
    for tree in forest:
        while isinstance(tree, tuple):
            key, cut, low, high = tree
            tree = low if seen.get(key, 0) <= cut else high
        votes[tree] = votes.get(tree, 0) + 1
    return max(sorted(votes), key=votes.get)


def hits(known, seen):
    """How many are named by the nearest neighbour and by the forest."""
    forest = forest_of(known, random.Random(7))
    return (sum(nearest(known, found) == model for model, found in seen.items()),
            sum(vote(forest, found) == model for model, found in seen.items()))


def scenario_of(folder, model, batch):
    path = folder / f"{model} {batch}.yaml"
    path.write_text(f"name: {model}\ncluster: dgx_a100 x 1\ngpu: a100_80gb\n"
                    f"workload: {{ model: {model}, global_batch: {batch} }}\nsteps: 1\n"
                    "memory: { check_capacity: false }\n")
    return path


def main():
    options = argparse.ArgumentParser()
    options.add_argument("lockstep")
    options.add_argument("folder", nargs="?")
    options.add_argument("--check", action="store_true")
    asked = options.parse_args()
    folder = pathlib.Path(asked.folder or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    plain, unseen, hidden, totals = [], {}, {}, {}
    obfuscated, with_secrets = [], []
    for model in MODELS:
        plain += [(model, features(asked.lockstep, scenario_of(folder, model, batch), folder)) for batch in (8, 32)]
        victim = scenario_of(folder, model, 16)
        unseen[model] = features(asked.lockstep, victim, folder)

        def traces(job, name, *how):
            into = folder / f"{model} {name}"
            run(asked.lockstep, "synth", "obfuscate", job, "-o", into, *how)
            return features(asked.lockstep, into, folder)

        hidden[model] = traces(victim, "hidden")
        totals[model] = traces(victim, "totals", "--hide", "totals", "--seed", SECRET)
        if asked.check:
            continue
        for batch in (8, 32):
            job = scenario_of(folder, model, batch)
            obfuscated.append((model, traces(job, f"own {batch}")))
        for seed in GUESSED:
            with_secrets.append((model, traces(victim, f"own {seed}", "--hide", "totals", "--seed", seed)))
    chance = 1 / len(MODELS)
    print(f"{len(MODELS)} models, {chance:.1%} by chance    nearest   forest")
    results = {}
    attacks = [("plain, another batch", plain, unseen), ("obfuscated", plain, hidden), ("--hide totals", plain, totals)]
    if not asked.check:
        attacks += [("obfuscated, adaptive", obfuscated, hidden), ("--hide totals, adaptive", with_secrets, totals)]
    for name, known, seen in attacks:
        results[name] = hits(known, seen)
        print(f"{name:<34} {results[name][0]:>3}      {results[name][1]:>3}")
    claims = [min(results["plain, another batch"]) >= 0.9 * len(MODELS)]
    claims += [max(results[name]) <= 2 * chance * len(MODELS) for name in ("obfuscated", "--hide totals")]
    return 1 if asked.check and not all(claims) else 0


if __name__ == "__main__":
    raise SystemExit(main())
