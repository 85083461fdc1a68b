#!/usr/bin/env python3
"""Derives two of the three constants of calibrated() (calibration/step_band.cpp) from all sets of measured steps.

Input is what `lockstep validate --all --default-host --json FILE` writes. Of each row it takes how far the measured
step is from the predicted one, and `spread`, the half-width by the errors of the pieces. With
u = sqrt(spread^2 + omitted^2), a measured step is expected between 1 / (1 + faster u) and 1 + slower u of the predicted.
Each set has the same weight, whatever its number of rows: rows of a set share what is wrong. `slower` and `faster`
leave a share of the rows outside on their side; sides are those on which sets need them: the 10 % outside are split so
that the whole interval is shortest. `omitted` is given: from 0.04 to 0.10 neither the coverage nor the width of the
mean interval tells which is better.

Then, of every set: its rows inside when the constants come from the other sets alone. Their mean is the coverage to
expect of a set that was never seen.

Usage: tools/derive/step_bands.py FILE [--inside 0.9] [--omitted 0.06] [--without SET...]
"""
import argparse
import json
from math import hypot
from pathlib import Path

SIMULATED = {"gpt_single_node_a100"}  # another simulator's output
SPLITS = [0.1, 0.2, 0.3, 0.4, 0.5]  # of what is outside, the part that is faster


def sets_of(files):
    """By name: [(measured over predicted less 1, spread)]."""
    sets = {}
    for file in files:
        answers = json.loads(Path(file).read_text())
        for answer in answers if isinstance(answers, list) else [answers]:
            if answer["predicts"] == "step" and answer["name"] not in SIMULATED:
                sets[answer["name"]] = [(point["step"]["measured_s"] / point["step"]["predicted_s"] - 1,
                                         point.get("spread", 0.0)) for point in answer["points"]]
    return sets


def upper(values, share):
    """The least value at or below which `share` of the weight lies. `values`: [(value, weight)]."""
    values = sorted(values)
    whole, below = sum(weight for _, weight in values), 0
    for value, weight in values:
        below += weight
        if below >= share * whole - 1e-12:
            return value
    return values[-1][0]


def fit(sets, inside, omitted):
    """(mean width, omitted, faster, slower): the narrowest that holds `inside` of the rows of the mean set."""
    best = None
    rows = [(error, hypot(spread, omitted), 1 / len(points)) for points in sets.values() for error, spread in points]
    for split in SPLITS:
        outside = 1 - inside
        slower = max(0.0, upper([(error / u, weight) for error, u, weight in rows], 1 - outside * (1 - split)))
        faster = max(0.0, upper([((1 / (1 + error) - 1) / u, weight) for error, u, weight in rows], 1 - outside * split))
        width = sum(weight * (slower * u + 1 - 1 / (1 + faster * u)) for _, u, weight in rows) / len(sets)
        if best is None or width < best[0]:
            best = width, omitted, faster, slower
    return best


def covered(points, constants):
    """The share of a set's rows inside."""
    _, omitted, faster, slower = constants
    held = 0
    for error, spread in points:
        u = hypot(spread, omitted)
        held += 1 / (1 + faster * u) <= 1 + error <= 1 + slower * u
    return held / len(points)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    arguments.add_argument("files", nargs="+", metavar="FILE")
    arguments.add_argument("--inside", type=float, default=0.9)
    arguments.add_argument("--omitted", type=float, default=0.06)
    arguments.add_argument("--without", nargs="*", default=[], metavar="SET")
    asked = arguments.parse_args()
    sets = {name: points for name, points in sets_of(asked.files).items() if name not in asked.without}
    constants = fit(sets, asked.inside, asked.omitted)
    print(f"{len(sets)} sets, {sum(map(len, sets.values()))} rows: omitted {constants[1]}, faster {constants[2]:.2f}, "
          f"slower {constants[3]:.2f}; mean width {100 * constants[0]:.1f} %")
    left_out = {}
    for name, points in sets.items():
        others = {other: rows for other, rows in sets.items() if other != name}
        left_out[name] = covered(points, fit(others, asked.inside, asked.omitted))
        print(f"  {name:<30} {len(points):4}  inside {100 * covered(points, constants):5.1f} %, left out "
              f"{100 * left_out[name]:5.1f} %")
    rows = sum(map(len, sets.values()))
    print(f"left out, mean of sets {100 * sum(left_out.values()) / len(sets):.1f} %, of rows "
          f"{100 * sum(left_out[name] * len(points) for name, points in sets.items()) / rows:.1f} %")


if __name__ == "__main__":
    main()
