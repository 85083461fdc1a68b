#!/usr/bin/env python3
"""An export of Nsight Systems, made here by hand, is listed and replayed.

    nsys_export.py build/lockstep

Two processes of a job launch a product and an all-reduce a step; the replay has to last as long as the recording.
"""
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

SCHEMA = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
  nameId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, smCount INTEGER, totalMemory INTEGER, computeMajor INTEGER);
"""
NAMES = {1: "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
         2: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         3: "cudaLaunchKernel_v7000", 4: "cudaMemcpyAsync_v3020", 5: "cudaLaunchKernelExC_v11060"}
STEPS = 3


def write(file):
    base = sqlite3.connect(file)
    base.executescript(SCHEMA)
    base.executemany("INSERT INTO StringIds VALUES (?, ?)", NAMES.items())
    base.executemany("INSERT INTO TARGET_INFO_GPU VALUES (?, 'NVIDIA A100-SXM4-80GB', 108, 85899345920, 8)", [(0,), (1,)])
    for rank in (0, 1):
        pid = (700 + rank) << 24
        correlation = 0

        def launch(at, name, kernel, start, end, stream, pid=pid, rank=rank):
            nonlocal correlation
            correlation += 1
            base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)",
                         (at, at + 5000, pid + 700 + rank, correlation, name))
            if kernel:
                base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?)",
                             (start, end, rank, stream, correlation, pid, kernel, kernel))
            else:
                base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, ?, 1, ?, ?, ?, 1048576, 1)",
                             (start, end, rank, stream, correlation, pid))

        for step in range(STEPS):
            begin = 1_000_000 + step * 1_000_000
            launch(begin, 4, None, begin + 10_000, begin + 60_000, 7)
            launch(begin + 10_000, 3, 1, begin + 60_000, begin + 560_000, 7)
            launch(begin + 20_000, 5, 2, begin + 560_000, begin + 760_000, 7)
            base.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, NULL)",
                         (begin - 1000, begin + 990_000, f"step {step}", pid + 700 + rank))
    base.commit()
    base.close()


def main(lockstep):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.sqlite"
        write(file)
        problems = []
        for words, wanted in ((["import", str(file)], ["rank 0", "rank 1", "9 calls", "A100"]),
                              (["replay", str(file), "-o", str(Path(folder) / "out")], ["rank    window"])):
            done = subprocess.run([lockstep, *words], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                problems.append(f"{words[0]}: exit code {done.returncode}: {done.stderr}")
            problems += [f"{words[0]}: no '{text}' in {done.stdout}" for text in wanted if text not in done.stdout]
        print("\n".join(problems) or "an export of Nsight Systems is listed and replayed")
        return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
