#!/usr/bin/env python3
"""The transcript runner passes when a program says what the file says, and fails when it does not."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUNNER = Path(__file__).resolve().parents[2] / "tools" / "run_transcript.py"
EXPECTED = "$ lockstep run a.yaml\nexit code 2\na.yaml:1:1: no such key\n"


def judge(script: str, expected: str, *flags: str):
    """Exit code of the runner on one broken input, its output, and the transcript afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program, transcript = folder / "lockstep", folder / "a.expected"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        transcript.write_text(expected)
        done = subprocess.run([sys.executable, "-B", RUNNER, "--lockstep", program, "input", transcript, *flags],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr, transcript.read_text()


class BrokenInput(unittest.TestCase):
    says_so = 'echo "$2:1:1: no such key" >&2; exit 2'

    def test_passes_when_message_and_exit_code_agree(self):
        self.assertEqual(judge(self.says_so, EXPECTED)[:2], (0, ""))

    def test_shows_how_a_message_differs(self):
        code, shown, _ = judge('echo "$2:1:1: something else" >&2; exit 2', EXPECTED)
        self.assertEqual(code, 1)
        self.assertIn("-a.yaml:1:1: no such key\n+a.yaml:1:1: something else\n", shown)

    def test_fails_on_another_exit_code(self):
        self.assertEqual(judge('echo "$2:1:1: no such key" >&2; exit 3', EXPECTED)[0], 1)

    def test_fails_when_the_program_succeeds(self):
        self.assertIn("the command succeeded", judge("exit 0", EXPECTED)[1])

    def test_fails_on_anything_left_in_the_output_folder(self):
        script = 'mkdir "$4"; touch "$4/metrics.json"; ' + self.says_so
        self.assertIn("left ['metrics.json'] behind", judge(script, EXPECTED)[1])

    def test_fails_on_a_word_on_standard_output(self):
        self.assertIn("standard output is not empty", judge("echo oops; " + self.says_so, EXPECTED)[1])

    def test_update_writes_the_transcript_and_keeps_its_command(self):
        code, _, transcript = judge(self.says_so, "$ lockstep run a.yaml\n", "--update")
        self.assertEqual((code, transcript), (0, EXPECTED))


if __name__ == "__main__":
    unittest.main()
