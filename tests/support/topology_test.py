#!/usr/bin/env python3
"""`lockstep topology` shows the machine of any scenario, whatever else the scenario has or lacks.

Usage: topology_test.py PROGRAM tests/inputs/topology
"""
import json
import subprocess
import sys
import unittest
from pathlib import Path

INPUTS = Path(sys.argv.pop())
LOCKSTEP = Path(sys.argv.pop()).resolve()


def topology(*words, stdin=None):
    done = subprocess.run([LOCKSTEP, "topology", *words, "--json", "-"], input=stdin, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


class Topology(unittest.TestCase):
    def gpus(self, *words, stdin=None):
        code, said, complaint = topology(*words, stdin=stdin)
        self.assertEqual(code, 0, complaint)
        return sum(vertex["kind"] == "gpu" for vertex in json.loads(said)["vertices"])

    def test_cluster_is_enough(self):
        self.assertEqual(self.gpus(str(INPUTS / "cluster_alone.yaml")), 32)
        self.assertEqual(self.gpus("{ cluster: dgx_a100 x 2 }"), 16)
        self.assertEqual(self.gpus("-", stdin="cluster: dgx1v\n"), 8)

    def test_job_is_not_looked_at(self):
        self.assertEqual(self.gpus(str(INPUTS / "unfinished.yaml")), 8)
        self.assertEqual(self.gpus(str(INPUTS / "unfinished.yaml"), "--set", "cluster=dgx_a100 x 3"), 24)

    def test_faults_are_shown(self):
        _, said, _ = topology(str(INPUTS / "cluster_alone.yaml"))
        ends = {link["from"] for link in json.loads(said)["links"]}
        self.assertNotIn("node3.nic0", ends)
        self.assertIn("node3.nic1", ends)

    def test_refusals_name_the_key(self):
        for file, wanted in {"no_machine.yaml": "no_machine.yaml:1:1: missing key 'cluster'",
                             "misspelt.yaml": "misspelt.yaml:2:1: unknown key 'very' - did you mean 'vary'?"}.items():
            code, _, complaint = topology(str(INPUTS / file))
            self.assertEqual(code, 2)
            self.assertIn(wanted, complaint)


if __name__ == "__main__":
    unittest.main()
