#!/usr/bin/env python3
"""The memory track of a timeline: in both formats its highest value is the answer's peak, and it has the shape of a step.

Usage: memory_track_test.py PROGRAM
"""
import gzip
import json
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LOCKSTEP = Path(sys.argv.pop(1)).resolve()
JOBS = {
    "hugging_face": "workload: { model: {from: gpt2, transformer: {layers: 2}}, global_batch: 8, precision: bf16 }\n"
                    "parallelism: { ranks: 2 }\n",
    "recompute": "workload: { model: gpt3_1b3, global_batch: 16, precision: bf16 }\n"
                 "parallelism: { ranks: 8, pipeline: 2, recompute: full }\n",
    "pipeline": "workload: { model: gpt3_1b3, global_batch: 64, precision: bf16, micro_batch: 1 }\n"
                "parallelism: { ranks: 8, pipeline: 4 }\n",
    "zero3": "workload: { model: gpt3_1b3, global_batch: 16, precision: bf16 }\n"
             "parallelism: { ranks: 8, sharding: zero3 }\n",
    "dlrm": "workload: { model: dlrm_default, global_batch: 8192, precision: fp32 }\nparallelism: { ranks: 8 }\n",
}
BLOCK = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.S)


def fields(message):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            size = 8 if tag & 7 == 1 else varint()
            yield tag >> 3, message[at:at + size]
            at += size


class MemoryTrack(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.home = Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def run_job(self, job, *words):
        (self.home / "my.yaml").write_text(f"name: {job}\ncluster: dgx_a100\nsteps: 2\n" + JOBS[job])
        done = subprocess.run([LOCKSTEP, "run", "my.yaml", "-q", "-o", "out", *words], cwd=self.home, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((self.home / "out/metrics.json").read_text())["memory"]

    def counters(self):
        with gzip.open(self.home / "out/timeline.json.gz") as file:
            events = json.load(file)["traceEvents"]
        by_rank = {}
        for event in events:
            if event["ph"] == "C" and event["name"] == "GPU memory":
                by_rank.setdefault(event["pid"], []).append((event["ts"], event["args"]["GB"]))
        return by_rank

    def test_peak_is_the_answers(self):
        for job in JOBS:
            with self.subTest(job):
                memory = self.run_job(job)
                by_rank = self.counters()
                self.assertEqual(max(held for _, held in by_rank[memory["rank"]]), memory["bytes"] / 1e9)
                for levels in by_rank.values():
                    self.assertEqual(levels, sorted(levels, key=lambda level: level[0]))
                    self.assertLessEqual(max(held for _, held in levels), memory["bytes"] / 1e9)

    def test_page_has_the_same_by_use(self):
        memory = self.run_job("pipeline")
        page = json.loads(BLOCK.search((self.home / "out/report.html").read_text())[1])
        course = next(one for one in page["timeline"]["memory"] if one["rank"] == memory["rank"])
        totals = [sum(at_date) for at_date in zip(*course["held"])]
        peak = max(range(len(totals)), key=totals.__getitem__)
        self.assertAlmostEqual(totals[peak], memory["bytes"], delta=len(course["uses"]))
        for use, held in zip(course["uses"], course["held"]):
            self.assertAlmostEqual(held[peak], memory["parts"][use], delta=1)

    def test_activations_rise_and_fall(self):
        self.run_job("pipeline")
        page = json.loads(BLOCK.search((self.home / "out/report.html").read_text())[1])
        rises = {}
        for course in page["timeline"]["memory"]:
            held = dict(zip(course["uses"], course["held"]))
            self.assertEqual(len(set(held["parameters"])), 1)
            self.assertEqual(held["activations"][0], 0)
            self.assertEqual(held["activations"][-1], 0)
            rises[course["rank"]] = max(held["activations"])
        # 1F1B: the first stage keeps as many micro-batches as there are stages, the last one keeps one.
        self.assertGreater(rises[0], 2 * rises[max(rises)])

    def test_perfetto_has_the_same(self):
        memory = self.run_job("pipeline", "--timeline", "timeline.perfetto-trace")
        values = {}
        tracks = set()
        with gzip.open(self.home / "out/timeline.perfetto-trace") as file:
            for _, packet in fields(file.read()):
                packet = dict(fields(packet))
                if 60 in packet and dict(fields(packet[60])).get(2) == b"GPU memory":
                    tracks.add(dict(fields(packet[60]))[1])
                if 11 in packet:
                    event = dict(fields(packet[11]))
                    if event.get(9) == 4:
                        values.setdefault(event[11], []).append(struct.unpack("<d", event[44])[0])
        self.assertEqual(len(tracks), 8)
        self.assertEqual(max(max(values[track]) for track in tracks), memory["bytes"] / 1e9)


if __name__ == "__main__":
    unittest.main()
