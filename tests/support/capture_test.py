#!/usr/bin/env python3
"""The programs of tools/capture understand their arguments, and say what is missing, where there is no PyTorch.

Usage: capture_test.py
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "tools" / "capture"


def capture(*words):
    return run("capture.py", *words)


def run(script, *words):
    """(exit code, stdout, stderr) with a PyTorch that cannot be imported."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "torch.py").write_text("raise ImportError('No module named torch')\n")
        done = subprocess.run([sys.executable, "-B", FOLDER / script, *words], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": folder})
    return done.returncode, done.stdout, done.stderr


class Capture(unittest.TestCase):
    def test_lists_models_without_torch(self):
        code, out, _ = capture("--list")
        self.assertEqual(code, 0)
        for name in ("dlrm", "gpt2", "bert", "resnet50", "bf16"):
            self.assertIn(f"\n{name} ", "\n" + out)

    def test_says_that_torch_is_missing(self):
        self.assertEqual(capture("--models", "gpt2", "--batches", "1,2"), (
            2, "", "capture: PyTorch is missing (No module named torch); it is needed to capture, "
                   "not to check arguments or for --list\n"))

    def test_says_what_was_meant(self):
        for words, message in ((("--models", "gpt-2"), "there is no 'gpt-2' - did you mean 'gpt2'?"),
                               (("--precision", "int8"), "there is no 'int8' (one of: fp32, tf32, bf16, fp16, bf16_pure)"),
                               (("--batches", "16,x"), "'16,x': whole numbers above 0 with commas between them"),
                               (("--steps", "0"), "'0' is no whole number above 0")):
            code, _, said = capture(*words)
            self.assertEqual(code, 2)
            self.assertIn(message, said)

    def test_names_the_line_of_a_case_that_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "cases.txt")
            for line, message in (("gpt2 8 bf16", "'gpt2 8 bf16' is not MODEL BATCH PRECISION MODE"),
                                  ("gpt2 8 bf16 eagr", "there is no 'eagr' - did you mean 'eager'?")):
                file.write_text(f"# cases\ndlrm 512 tf32 eager  # fine\n{line}\n")
                code, _, said = capture("--cases", str(file))
                self.assertEqual(code, 2)
                self.assertIn(f"{file}:3: {message}", said)
            self.assertIn("No such file or directory", capture("--cases", f"{file}.none")[2])

    def test_operators_lists_families_and_knows_them(self):
        code, out, _ = run("operators.py", "--list")
        self.assertEqual(code, 0)
        for name in ("products", "attention", "normalisation", "images", "optimizer"):
            self.assertIn(f"\n{name} ", "\n" + out)
        code, _, said = run("operators.py", "--only", "atention")
        self.assertEqual(code, 2)
        self.assertIn("there is no 'atention' - did you mean 'attention'?", said)

    def test_all_say_that_torch_is_missing(self):
        for script in ("operators.py", "sustained.py"):
            code, out, said = run(script)
            self.assertEqual((code, out), (2, ""))
            self.assertIn("PyTorch is missing (No module named torch)", said)


if __name__ == "__main__":
    unittest.main()
