#!/usr/bin/env python3
"""Runs one command of the simulator and compares what it says, byte for byte, with a file.

    run_transcript.py --lockstep build/lockstep golden scenarios/NAME [--update]
        `lockstep run scenarios/NAME/scenario.yaml` (`lockstep sweep` where the scenario has a `matrix:`, `lockstep
        schedule` where it has a `schedule:`; the words of scenarios/NAME/command.txt where that is there) against
        scenarios/NAME/expected.txt: standard output. What changes from run to run (wall time, the output folder)
        goes to standard error, which is not compared.

    run_transcript.py --lockstep build/lockstep input tests/inputs/SUBJECT/NAME.expected [--update]
        a command that has to fail. The file is a transcript:
            $ lockstep run yaml/unknown_key.yaml
            exit code 2
            yaml/unknown_key.yaml:3:1: unknown key 'clustr' - did you mean 'cluster'?
        The command runs in tests/inputs; standard error is compared, standard output has to be
        empty, and nothing may be left in the output folder.

Output goes to a fresh folder that is deleted afterwards. --update writes what was said into the file.
"""
import argparse
import difflib
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INPUTS = ROOT / "tests/inputs"
WRITERS = ("run", "sweep", "search", "schedule", "size")


def run(lockstep: Path, words: list, folder: Path, output: Path):
    """Exit code, standard output and standard error of `lockstep WORDS`; those of WRITERS write into output."""
    arguments = [*words, "-o", output] if words[0] in WRITERS else words
    done = subprocess.run([lockstep.resolve(), *arguments], cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def golden(lockstep: Path, scenario: Path, output: Path):
    """(file, what it should contain now, a problem besides or None)."""
    scenario = scenario.resolve().relative_to(ROOT)
    file = scenario / "scenario.yaml"
    text = (ROOT / file).read_text()
    command = "sweep" if "\nmatrix:" in text else "schedule" if "\nschedule:" in text else "run"
    other = ROOT / scenario / "command.txt"
    words = shlex.split(other.read_text()) if other.exists() else [command, str(file)]
    code, said, complained = run(lockstep, words, ROOT, output)
    problem = None if code == 0 else f"exit code {code}:\n{complained}"
    return ROOT / scenario / "expected.txt", said, problem


def broken_input(lockstep: Path, transcript: Path, output: Path):
    command = transcript.read_text().split("\n", 1)[0]
    dollar, program, *words = shlex.split(command)
    if (dollar, program) != ("$", "lockstep") or not words:
        return transcript, "", f"{transcript}: the first line is not `$ lockstep COMMAND ...`"
    code, said, complained = run(lockstep, words, INPUTS, output)
    problem = None
    if code == 0:
        problem = "the command succeeded"
    elif said:
        problem = f"standard output is not empty:\n{said}"
    elif output.exists() and any(output.iterdir()):
        problem = f"it left {sorted(path.name for path in output.iterdir())} behind"
    return transcript, f"{command}\nexit code {code}\n{complained}", problem


def compare(file: Path, now: str, update: bool) -> bool:
    """Prints how the file differs from @p now; with update, writes it."""
    before = file.read_text() if file.exists() else ""
    if before == now:
        return True
    sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), now.splitlines(True),
                                               f"{file.name} (expected)", f"{file.name} (now)"))
    if update:
        file.write_text(now)
    return update


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--lockstep", type=Path, default=ROOT / "build" / "lockstep")
    arguments.add_argument("kind", choices=["golden", "input"])
    arguments.add_argument("path", type=Path)
    arguments.add_argument("--update", action="store_true")
    options = arguments.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        judge = golden if options.kind == "golden" else broken_input
        file, now, problem = judge(options.lockstep, options.path, Path(folder) / "out")
    if problem:
        print(problem)
        return 1
    same = compare(file, now, options.update)
    if not same:
        print(f"Different. If the new text is right: tools/update_goldens.sh {options.path.stem}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
