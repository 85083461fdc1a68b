"""The package against the command line: the same answers, errors with their places, many predictions in one process."""
import json
import os
import subprocess
import threading
import unittest
from pathlib import Path

import lockstep

SMALL = "dlrm_default_8xv100"
OWN = {"name": "mine", "cluster": "dgx_a100 x 1", "workload": {"model": "gpt2", "global_batch": 8}, "steps": 1}
# Of this process, not of the prediction; the engine's own count is that of the command line's.
OF_THE_RUN = ("wall_s",)


def by_command_line(scenario):
    said = subprocess.run([os.environ["LOCKSTEP_PROGRAM"], "run", scenario, "--json", "-", "-q"], check=True,
                          capture_output=True, text=True).stdout
    return json.loads(said)


def of_the_prediction(answer):
    return {key: value for key, value in answer.items() if key not in OF_THE_RUN}


class Run(unittest.TestCase):
    def test_answers_as_the_command_line_does(self):
        self.assertEqual(of_the_prediction(lockstep.run(SMALL)), of_the_prediction(by_command_line(SMALL)))

    def test_again_and_again_in_one_process(self):
        first = lockstep.run(SMALL)["step_time_s"]
        self.assertEqual({lockstep.run(SMALL)["step_time_s"] for _ in range(20)}, {first})

    def test_takes_a_dict_and_values(self):
        small = lockstep.run(OWN)["step_time_s"]
        self.assertLess(small, lockstep.run(OWN, set={"workload.global_batch": 64})["step_time_s"])

    def test_says_where_a_mistake_is(self):
        with self.assertRaises(lockstep.InputError) as caught:
            lockstep.run({**OWN, "clustr": "dgx_a100"})
        [(file, line, _, message)] = caught.exception.problems
        self.assertEqual((file, line), ("<scenario>", 1))
        self.assertIn("did you mean 'cluster'", message)

    def test_says_that_memory_is_too_small(self):
        with self.assertRaises(lockstep.OutOfMemoryError):
            lockstep.run(OWN, set={"workload.model": "gpt3_175b"})

    def test_other_threads_go_on(self):
        ticks = []
        running = threading.Thread(target=lambda: lockstep.run("gpt3_175b_interleaved"))
        running.start()
        while running.is_alive():
            ticks.append(running.is_alive())
            running.join(0.001)
        self.assertGreater(len(ticks), 10)


class Sweep(unittest.TestCase):
    def test_is_the_runs_in_order(self):
        rows = lockstep.sweep(OWN, {"workload.global_batch": [8, 16], "steps": [1, 2]})
        self.assertEqual([tuple(row["set"].values()) for row in rows], [(8, 1), (8, 2), (16, 1), (16, 2)])
        self.assertEqual(rows[2]["answer"]["step_time_s"], lockstep.run(OWN, {"workload.global_batch": 16})["step_time_s"])

    def test_keeps_what_failed_in_its_place(self):
        good, bad = lockstep.sweep(OWN, {"workload.model": ["gpt2", "gpt3_175b"]})
        self.assertIn("answer", good)
        self.assertIsInstance(bad["error"], lockstep.OutOfMemoryError)


class Rest(unittest.TestCase):
    def test_topology_is_a_dict(self):
        machine = lockstep.topology("dgx1v")
        self.assertEqual(sum(vertex["kind"] == "gpu" for vertex in machine["vertices"]), 8)

    def test_topology_takes_keys_and_scenarios(self):
        tree = {"nodes": ["dgx_a100 x 4"], "network": {"shape": "fat_tree", "nodes_per_pod": 2}}
        names = [vertex["name"] for vertex in lockstep.topology(tree)["vertices"]]
        self.assertIn("core0", names)
        self.assertEqual(16, len(lockstep.topology("how_many_nics")["gpus"]))

    def test_size_answers_as_a_dict(self):
        few = ["--gpus", "8,16", "--tokens", "1B", "--price", "2", "--only", "tensor=1", "--only", "pipeline=1",
               "--only", "micro_batch=1", "--only", "recompute=none"]
        answer = lockstep.size("how_many_nodes", options=few)
        self.assertEqual([8, 16], [row["gpus"] for row in answer["sizes"]])
        best = answer["sizes"][answer["best"]]
        self.assertAlmostEqual(best["cost"], best["days"] * 24 * best["gpus"] * 2, delta=1e-6 * best["cost"])

    def test_commands_answer_as_dicts(self):
        self.assertIn("phases", lockstep.schedule("dlrm_alternating_mlps"))

    def test_commands_fail_as_exceptions(self):
        with self.assertRaises(lockstep.InputError):
            lockstep.plan("no_such_scenario")

    def test_version_is_the_programs(self):
        said = subprocess.run([os.environ["LOCKSTEP_PROGRAM"], "--version"], check=True, capture_output=True, text=True)
        self.assertEqual(said.stdout.split()[1], lockstep.__version__)


class Notebook(unittest.TestCase):
    def test_runs_from_top_to_bottom(self):
        notebook = json.loads((Path(__file__).parent.parent / "examples/what_if.ipynb").read_text())
        names = {}
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)  # noqa: S102
        self.assertGreater(names["fastest"]["answer"]["samples_per_s"], 0)


if __name__ == "__main__":
    unittest.main()
