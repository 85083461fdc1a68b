#!/usr/bin/env python3
"""What becomes of users' files: outputs over inputs, two processes in one folder, limits of the shell.

Usage: result_folder_test.py PROGRAM
"""
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LOCKSTEP = Path(sys.argv.pop(1)).resolve()
SCENARIO = """name: small
cluster: dgx_a100 x 1
workload: { model: {from: gpt2, transformer: {layers: 2}}, global_batch: 8, precision: bf16 }
parallelism: { ranks: 2 }
steps: 2
"""
DLRM = """name: tables
cluster: dgx_a100 x 1
workload: { model: dlrm_default, global_batch: 256 }
parallelism: { ranks: 2 }
steps: 1
"""


class Results(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.home = Path(self.scratch.name)
        (self.home / "my.yaml").write_text(SCENARIO)
        (self.home / "dlrm.yaml").write_text(DLRM)

    def tearDown(self):
        self.scratch.cleanup()

    def run_it(self, *words, shell_before=""):
        command = f'{shell_before} exec "$0" "$@"'
        return subprocess.run(["bash", "-c", command, str(LOCKSTEP), *words], cwd=self.home, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=120)

    def left(self):
        return sorted(str(path.relative_to(self.home)) for path in self.home.rglob("*")
                      if path.name.endswith(".part") or ".lockstep-" in str(path))

    def assert_refused(self, done, file):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"{file}: would be written over what is read", done.stderr)

    def test_inputs_are_not_written_over(self):
        self.run_it("run", "dlrm.yaml", "-q", "-o", "planned")
        (self.home / "job").mkdir()
        (self.home / "job/scenario.yaml").write_text(SCENARIO)
        (self.home / "included.yaml").write_text("include: my.yaml\nsteps: 1\n")
        (self.home / "machine.yaml").write_text("name: m\nfrom: dgx_a100\n")
        plan = "parallelism.embedding.plan=planned/embedding_plan.yaml"
        before = {path: path.read_bytes() for path in self.home.rglob("*") if path.is_file()}
        for file, words in {
            "my.yaml": ("run", "my.yaml", "--json", "my.yaml", "-o", "x"),
            "./my.yaml": ("run", "included.yaml", "--json", "./my.yaml", "-o", "x"),
            "job/scenario.yaml": ("export", "job", "-o", "job"),
            "planned/embedding_plan.yaml": ("run", "dlrm.yaml", "--set", plan, "-o", "planned"),
        }.items():
            with self.subTest(words):
                self.assert_refused(self.run_it(*words), file)
        for words in [("sweep", "my.yaml", "--set", "steps=1,2", "--json", "my.yaml", "-o", "x"),
                      ("plan", "my.yaml", "--json", "my.yaml", "-o", "x"),
                      ("topology", "machine.yaml", "--svg", "machine.yaml"),
                      ("topology", "machine.yaml", "--json", "machine.yaml")]:
            with self.subTest(words):
                done = self.run_it(*words)
                self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(before, {path: path.read_bytes() for path in before})

    def test_json_on_stdout_alone_writes_no_folder(self):
        done = self.run_it("run", "my.yaml", "-q", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(json.loads(done.stdout)["step_time_s"], 0)
        self.assertEqual(sorted(path.name for path in self.home.iterdir()), ["dlrm.yaml", "my.yaml"])

    def test_files_of_an_older_run_are_gone_and_the_users_stay(self):
        self.run_it("run", "dlrm.yaml", "-q", "-o", "out")
        (self.home / "out/notes.txt").write_text("mine")
        self.run_it("run", "my.yaml", "-q", "-o", "out", "--no-timeline")
        self.assertEqual(sorted(path.name for path in (self.home / "out").iterdir()),
                         ["effective.yaml", "manifest.json", "metrics.json", "notes.txt", "report.html"])

    def test_two_processes_do_not_mix(self):
        first = subprocess.Popen([LOCKSTEP, "run", "my.yaml", "-q", "-o", "out", "--set", "steps=1000"],
                                 cwd=self.home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not list(self.home.glob(".out.lockstep-*")) and first.poll() is None:
            pass
        first.send_signal(signal.SIGSTOP)  # it cannot end before the second begins
        self.addCleanup(first.kill)
        second = self.run_it("run", "my.yaml", "-q", "-o", "out")
        first.send_signal(signal.SIGCONT)
        self.assertEqual(first.wait(), 0)
        self.assertEqual(second.returncode, 2)
        self.assertIn(f"out: another lockstep (pid {first.pid}) writes here", second.stderr)
        self.assertEqual(json.loads((self.home / "out/metrics.json").read_text())["steps"], 1000)
        with gzip.open(self.home / "out/timeline.json.gz") as timeline:
            self.assertTrue(json.load(timeline)["traceEvents"])
        self.assertEqual(self.left(), [])

    def test_mixed_parts_are_not_compared(self):
        self.run_it("run", "my.yaml", "-q", "-o", "a")
        self.run_it("run", "my.yaml", "-q", "-o", "b", "--set", "steps=1")
        self.assertEqual(self.run_it("compare", "a", "b").returncode, 0)
        self.run_it("run", "my.yaml", "-q", "-o", "c", "--no-timeline")
        (self.home / "c/timeline.json.gz").write_bytes((self.home / "b/timeline.json.gz").read_bytes())
        self.assertEqual(self.run_it("compare", "c", "b").returncode, 2)
        (self.home / "a/timeline.json.gz").write_bytes((self.home / "b/timeline.json.gz").read_bytes())
        done = self.run_it("compare", "a", "b")
        self.assertEqual(done.returncode, 2)
        self.assertIn("a/timeline.json.gz: is not of the result that a/manifest.json lists", done.stderr)

    def test_a_file_size_limit_is_a_failing_write(self):
        done = self.run_it("run", "my.yaml", "-q", "-o", "out", "--set", "steps=400", shell_before="ulimit -f 50;")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertFalse((self.home / "out").exists())
        self.assertEqual(self.left(), [])

    def test_closed_streams_change_nothing(self):
        for closed in ("exec 2>&-;", "exec 1>&-;", "exec 0<&-;", "exec 0<&- 1>&- 2>&-;"):
            with self.subTest(closed):
                done = self.run_it("run", "my.yaml", "-o", "out", shell_before=closed)
                self.assertEqual(done.returncode, 0)
                self.assertEqual(json.loads((self.home / "out/metrics.json").read_text())["steps"], 2)

    def test_a_full_standard_error_is_no_abort(self):
        done = self.run_it("run", "nothing_of_this_name", shell_before="exec 2>/dev/full;")
        self.assertEqual(done.returncode, 2)

    def test_lack_of_memory_is_said(self):
        codes = set()
        for limit in range(50_000, 200_000, 5_000):  # KiB
            shell = f"ulimit -v {limit};"
            if self.run_it("--version", shell_before=shell).returncode not in (0, 5):
                continue  # the libraries do not fit in
            done = self.run_it("run", "my.yaml", "-q", "-o", "out", "--set", "steps=40", shell_before=shell)
            with self.subTest(limit):
                codes.add(done.returncode)
                self.assertIn(done.returncode, (0, 5), done.stderr)
                self.assertNotIn("bug", done.stderr)
                self.assertEqual(self.left(), [])
        self.assertIn(5, codes)

    def test_pipes_and_links_at_results_names(self):
        (self.home / "out").mkdir()
        os.mkfifo(self.home / "out/metrics.json")
        done = self.run_it("run", "my.yaml", "-q", "-o", "out")
        self.assertEqual(done.returncode, 2)
        self.assertIn("out/metrics.json: is no regular file", done.stderr)

    def test_damaged_records_are_made_again(self):
        sweep = ("sweep", "my.yaml", "--set", "workload.global_batch=8,16", "-q", "-o", "sw", "-j", "1")
        self.assertEqual(self.run_it(*sweep).returncode, 0)
        table = (self.home / "sw/sweep.csv").read_bytes()
        points = {path: path.read_bytes() for path in (self.home / "sw/points").iterdir()}
        record = next(path for path in points if path.suffix == ".json")
        whole = json.loads(record.read_text())
        for text in ["", "{", '{"key": 5}', "[]", json.dumps({**whole, "exit_code": "0"}),
                     json.dumps({**whole, "metrics": {}}), json.dumps({**whole, "metrics": 7}),
                     json.dumps({**whole, "metrics": {**whole["metrics"], "step_time_s": "fast"}})]:
            with self.subTest(text[:40]):
                record.write_text(text)
                done = self.run_it(*(word for word in sweep if word != "-q"))  # a warning is no error
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("the record is damaged", done.stderr)
                self.assertEqual((self.home / "sw/sweep.csv").read_bytes(), table)
                self.assertEqual({path: path.read_bytes() for path in points}, points)
        record.with_suffix(".yaml").write_text("")
        self.assertEqual(self.run_it(*sweep).returncode, 0)
        self.assertEqual({path: path.read_bytes() for path in points}, points)


if __name__ == "__main__":
    unittest.main()
