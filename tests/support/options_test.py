#!/usr/bin/env python3
"""The same options mean the same in every command that has them: `--json -`, `-o`, `-q`, `-` for standard input, NO_COLOR.

    options_test.py build/lockstep

COMMANDS says which commands take which; a new command has to be added, and help has to list what the table says.
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

GPT = """name: a small job
cluster: dgx_a100 x 1
workload: { model: gpt2, global_batch: 16, precision: bf16 }
steps: 1
"""
PLANNED = """name: a small plan
cluster: dgx_a100 x 1
workload: { model: gpt3_1b3, global_batch: 16, micro_batch: 1, precision: bf16 }
parallelism: { ranks: 2 }
steps: 1
"""
TABLES = """name: a few tables
cluster: dgx_a100 x 1
workload: { model: dlrm_default, global_batch: 1024, precision: fp32 }
parallelism: { ranks: 2 }
steps: 1
"""
FEW_PLANS = ["--only", "tensor=1,2", "--only", "pipeline=1", "--only", "recompute=none", "--only", "tensor_overlap=false",
             "--only", "micro_batch=1"]

# command: (scenario on standard input or None, words behind it, has -o, has --json, has -q)
COMMANDS = {
    "run": (GPT, ["--no-timeline"], True, True, True),
    "sweep": (GPT, ["--set", "workload.global_batch=8,16"], True, True, True),
    "plan": (PLANNED, FEW_PLANS, True, True, True),
    "size": (PLANNED, [*FEW_PLANS, "--gpus", "2"], True, True, True),
    "search": (TABLES, ["--effort", "0.1"], True, True, True),
    "export": (GPT, [], True, False, True),
    "schedule": (None, [], True, True, True),
    "generate": (None, [], True, False, False),
    "replay": (None, [], True, True, True),
    "compare": (None, [], True, True, False),
    "view": (None, [], False, False, False),
    "import": (None, [], True, False, False),
    "stragglers": (None, [], False, False, False),
    "synth": (None, [], False, False, False),
    "validate": (None, [], False, True, False),
    "calibrate": (None, [], False, False, False),
    "topology": (None, [], False, True, False),
    "list": (None, [], False, True, False),
    "explain": (None, [], False, False, False),
    "schema": (None, [], True, False, False),
    "manual": (None, [], False, False, False),
    "completion": (None, [], False, False, False),
}


def run(lockstep, *words, stdin=None, environment=None):
    return subprocess.run([lockstep, *words], capture_output=True, text=True, check=False, input=stdin or "",
                          env=environment)


def check(complaints, holds, what):
    if not holds:
        complaints.append(what)


def check_help(lockstep, complaints):
    listed = re.findall(r"^  ([a-z]+)  ", run(lockstep, "--help").stdout.split("\nSubcommands:\n", 1)[1], re.MULTILINE)
    check(complaints, sorted(listed) == sorted(COMMANDS), f"the table and --help differ: {set(listed) ^ set(COMMANDS)}")
    for command, (_, _, has_output, has_json, has_quiet) in COMMANDS.items():
        page = run(lockstep, "help", command).stdout
        for option, has in (("--output", has_output), ("--json", has_json), ("--quiet", has_quiet)):
            check(complaints, (option in page) == has, f"{command}: help {'lacks' if has else 'has'} {option}")


def check_standard_input(lockstep, folder, complaints):
    for command, (scenario, words, _, has_json, _) in COMMANDS.items():
        if scenario is None:
            continue
        output = Path(folder) / command
        asked = [command, "-", *words, "-o", output, "-q", *(["--json", "-"] if has_json else [])]
        done = run(lockstep, *asked, stdin=scenario)
        check(complaints, done.returncode == 0, f"{command} -: exit code {done.returncode}: {done.stderr}")
        check(complaints, done.stderr == "", f"{command} -q says on stderr: {done.stderr}")
        check(complaints, done.returncode != 0 or any(output.iterdir()), f"{command} -o writes nothing")
        if has_json and done.returncode == 0:
            try:
                json.loads(done.stdout)
            except ValueError as problem:
                complaints.append(f"{command} --json -: {problem}: {done.stdout[:200]}")
        broken = run(lockstep, command, "-", *words, "-o", output, stdin=scenario + "nonsense: 1\n")
        line = scenario.count("\n") + 1
        check(complaints, broken.returncode == 2 and f"stdin:{line}:1: unknown key 'nonsense'" in broken.stderr,
              f"{command} -: a wrong key has no place: {broken.stderr}")


def check_lists(lockstep, complaints):
    rows = json.loads(run(lockstep, "list", "--json", "-").stdout)
    gpu = next(row for row in rows if row["name"] == "h100_80gb")
    check(complaints, gpu["kind"] == "gpus" and "BF16" in gpu["sizes"], f"list says of a GPU: {gpu}")
    model = next(row for row in rows if row["name"] == "llama3_8b")
    check(complaints, "32 layers of 4096" in model["sizes"], f"list says of a model: {model}")
    nameless = [row for row in rows if row["kind"] in ("gpus", "nodes", "models") and not row.get("sizes")]
    check(complaints, not nameless, f"without sizes: {nameless}")
    done = run(lockstep, "topology", "dgx_a100", "--json", "-")
    check(complaints, "vertices" in json.loads(done.stdout), "topology --json -")


def check_colour(lockstep, complaints):
    """A terminal gets colours, unless NO_COLOR asks for none (no-color.org)."""
    import os
    import pty

    def on_a_terminal(extra):
        ours, theirs = pty.openpty()
        subprocess.run([lockstep, "run", "-", "--no-timeline", "--json", "/dev/null", "--log", "scenario=debug"],
                       input=GPT.encode(), stdout=subprocess.DEVNULL, stderr=theirs, check=False,
                       env={**os.environ, "TERM": "xterm", **extra})
        os.close(theirs)
        said = b""
        try:
            while block := os.read(ours, 65536):
                said += block
        except OSError:
            pass
        return said

    check(complaints, b"\x1b[3" in on_a_terminal({"NO_COLOR": ""}), "no colour on a terminal")
    check(complaints, b"\x1b[3" not in on_a_terminal({"NO_COLOR": "1"}), "colour in spite of NO_COLOR")


def main(lockstep):
    complaints = []
    with tempfile.TemporaryDirectory() as folder:
        check_help(lockstep, complaints)
        check_standard_input(lockstep, folder, complaints)
        check_lists(lockstep, complaints)
        check_colour(lockstep, complaints)
    print("\n".join(complaints) or f"{len(COMMANDS)} commands")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).resolve())))
