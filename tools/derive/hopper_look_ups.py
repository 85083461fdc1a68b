#!/usr/bin/env python3
"""Writes configs/validation/measured/hopper_embedding.csv: lockstep-measure's lookups of embedding tables on Hopper.

Times are medians less the 1.4 us that two events add to a kernel; `zipf` is the exponent of the law that rows were drawn by.

Usage: tools/derive/hopper_look_ups.py     (no packages needed)
"""
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EVENTS = 1.4  # us
GPUS = {"h100": "h100_80gb", "h200": "h200_141gb"}


def rows_of(gpu):
    lines = [line for line in (ROOT / "calibration" / "measurements" / gpu / "embedding.csv").read_text().splitlines() if not line.startswith("#")]
    names = lines[0].split(",")
    return [dict(zip(names, line.split(","))) for line in lines[1:]]


def main():
    out = ["# Lookups of several embedding tables in one call on an H100 and an H200, us: calibration/measurements/*/embedding.csv (26 November 2026, before any was",
           "# predicted), pass `forward`, by tools/derive/hopper_look_ups.py: `zipf` is the exponent of the law that rows were drawn by.",
           "gpu,type,zipf,tables,rows,dim,batch,pooling,us"]
    for gpu, name in GPUS.items():
        for row in rows_of(gpu):
            if row["pass"] != "forward":
                continue
            exponent = f"{int(row['zipf_percent']) / 100:g}"
            out.append(",".join([name, row["type"], exponent, row["tables"], row["rows"], row["dim"], row["batch"], row["pooling"],
                                 f"{float(row['median_us']) - EVENTS:.2f}"]))
    (ROOT / "configs" / "validation" / "measured" / "hopper_embedding.csv").write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
