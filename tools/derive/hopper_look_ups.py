#!/usr/bin/env python3
"""Writes configs/validation/measured/hopper_embedding.csv: lockstep-measure's look-ups with what our index model calls their rows' popularity.

Rows were drawn by Zipf's law. The skew beside them is that of lognormal popularities (ops/kernels/index_model.hpp) of which a batch has as many different rows
as were looked up (`unique_rows`). Times are medians less the 1.4 us that two events add to a kernel.

Usage: tools/derive/zipf_skews.py     (no packages needed)
"""
import math
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EVENTS = 1.4  # us
GPUS = {"h100": "h100_80gb", "h200": "h200_141gb"}
STEPS = [-8 + 0.08 * step for step in range(201)]
WEIGHTS = [math.exp(-z * z / 2) for z in STEPS]


def touched(skew, draws):
    """Share of all rows that so many draws of an average row touch; skew in natural units."""
    values = (-math.expm1(-draws * math.exp(skew * z - skew * skew / 2)) for z in STEPS)
    return sum(weight * value for weight, value in zip(WEIGHTS, values)) / sum(WEIGHTS)


def skew_of(draws, share):
    low, high = 0.0, 8.0
    if touched(0, draws) <= share:
        return 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if touched(middle, draws) > share else (low, middle)
    return (low + high) / 2


def rows_of(gpu):
    lines = [line for line in (ROOT / "calibration" / "measurements" / gpu / "embedding.csv").read_text().splitlines() if not line.startswith("#")]
    names = lines[0].split(",")
    return [dict(zip(names, line.split(","))) for line in lines[1:]]


def main():
    out = ["# Look-ups of several embedding tables in one call on an H100 and an H200, us: calibration/measurements/*/embedding.csv (26 November 2026, before any was",
           "# predicted), pass `forward`, by tools/derive/zipf_skews.py: `skew` is what the index model makes of Zipf's law (zipf: its exponent in per cent).",
           "gpu,type,zipf,tables,rows,dim,batch,pooling,skew,us"]
    for gpu, name in GPUS.items():
        for row in rows_of(gpu):
            if row["pass"] != "forward":
                continue
            lookups = int(row["batch"]) * int(row["pooling"])
            distinct = float(row["unique_rows"]) / int(row["tables"])
            skew = skew_of(lookups / int(row["rows"]), distinct / int(row["rows"])) / math.log(2)
            out.append(",".join([name, row["type"], row["zipf_percent"], row["tables"], row["rows"], row["dim"], row["batch"], row["pooling"],
                                 f"{skew:.3f}", f"{float(row['median_us']) - EVENTS:.2f}"]))
    (ROOT / "configs" / "validation" / "measured" / "hopper_embedding.csv").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
