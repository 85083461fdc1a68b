#!/usr/bin/env python3
"""The same options mean the same in every command that has them: `--json -`, `-o`, `-q`, `-` for standard input, NO_COLOR.

    options_test.py build/lockstep

COMMANDS says which commands take which; a new command has to be added, help has to list what the table says, and
a command without an option has to say why (app/missing_options.cpp).
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

IMPORTED = (Path(__file__).parents[1] / "inputs" / "import" / "topology.conf").read_text()

# command: (its input on standard input or None, words behind it, has -o, has --json); each has -q
COMMANDS = {
    "run": (GPT, ["--no-timeline"], True, True),
    "sweep": (GPT, ["--set", "workload.global_batch=8,16"], True, True),
    "plan": (PLANNED, FEW_PLANS, True, True),
    "size": (PLANNED, [*FEW_PLANS, "--gpus", "2"], True, True),
    "search": (TABLES, ["--effort", "0.1"], True, True),
    "export": (GPT, [], True, False),
    "schedule": (None, [], True, True),
    "generate": (None, [], True, False),
    "replay": (None, [], True, True),
    "compare": (None, [], True, True),
    "view": (None, [], False, False),
    "import": (IMPORTED, [], True, True),
    "stragglers": (None, [], True, True),
    "synth fit": (None, [], True, False),
    "synth show": (None, [], False, False),
    "synth sample": (None, [], True, False),
    "synth obfuscate": (None, [], True, False),
    "synth score": (None, [], True, True),
    "validate": (None, [], True, True),
    "calibrate import": (None, [], True, False),
    "calibrate fit": (None, [], True, False),
    "calibrate host": (None, [], True, False),
    "calibrate indices": (None, [], False, False),
    "calibrate show": (None, [], True, True),
    "topology": (GPT, [], True, True),
    "list": (None, [], True, True),
    "explain": (None, [], True, False),
    "schema": (None, [], True, False),
    "manual": (None, [], True, False),
    "completion": (None, [], True, False),
}


def run(lockstep, *words, stdin=None, environment=None):
    return subprocess.run([lockstep, *words], capture_output=True, text=True, check=False, input=stdin or "",
                          env=environment)


def check(complaints, holds, what):
    if not holds:
        complaints.append(what)


def listed(lockstep, *command):
    page = run(lockstep, *command, "--help").stdout
    return re.findall(r"^  ([a-z]+)  ", page.split("\nSubcommands:\n", 1)[1], re.MULTILINE) if "\nSubcommands:" in page else []


def check_help(lockstep, complaints):
    leaves = [" ".join([one, *below]) for one in listed(lockstep)
              for below in ([[two] for two in listed(lockstep, one)] or [[]])]
    check(complaints, sorted(leaves) == sorted(COMMANDS), f"the table and --help differ: {set(leaves) ^ set(COMMANDS)}")
    for command, (_, _, has_output, has_json) in COMMANDS.items():
        page = run(lockstep, "help", *command.split()).stdout
        check(complaints, re.search(r"-q,\s*--quiet", page), f"{command}: help lacks --quiet")
        for option, has in (("--output", has_output), ("--json", has_json)):
            check(complaints, (f"{option} TEXT" in page) == has, f"{command}: help {'lacks' if has else 'has'} {option}")
            if not has:  # a sentence says why not
                done = run(lockstep, *command.split(), option, "-")
                check(complaints, done.returncode == 2 and f"'lockstep {command}' has no {option}: " in done.stderr,
                      f"{command} {option}: {done.stderr}")


def check_standard_input(lockstep, folder, complaints):
    for command, (given, words, _, has_json) in COMMANDS.items():
        if given is None:
            continue
        output = Path(folder) / command
        asked = [command, "-", *words, "-o", output, "-q", *(["--json", "-"] if has_json else [])]
        done = run(lockstep, *asked, stdin=given)
        check(complaints, done.returncode == 0, f"{command} -: exit code {done.returncode}: {done.stderr}")
        check(complaints, done.stderr == "", f"{command} -q says on stderr: {done.stderr}")
        check(complaints, done.returncode != 0 or output.is_file() or any(output.iterdir()), f"{command} -o writes nothing")
        if has_json and done.returncode == 0:
            try:
                json.loads(done.stdout)
            except ValueError as problem:
                complaints.append(f"{command} --json -: {problem}: {done.stdout[:200]}")
        if command != "import":  # it reads other files than scenarios
            check_place(lockstep, command, (given, words, output), complaints)


def check_place(lockstep, command, asked, complaints):
    given, words, output = asked
    broken = run(lockstep, command, "-", *words, "-o", output, stdin=given + "nonsense: 1\n")
    line = given.count("\n") + 1
    check(complaints, broken.returncode == 2 and f"stdin:{line}:1: unknown key 'nonsense'" in broken.stderr,
          f"{command} -: a wrong key has no place: {broken.stderr}")


def check_texts(lockstep, folder, complaints):
    """A text goes to -o FILE and not to stdout; JSON may go beside it."""
    text, data = Path(folder) / "text", Path(folder) / "data.json"
    for words in (["topology", "dgx_a100"], ["list", "gpus"], ["calibrate", "show", "a100_80gb"]):
        shown = run(lockstep, *words).stdout
        done = run(lockstep, *words, "-o", text, "--json", data)
        check(complaints, done.stdout == "" and text.read_text() == shown, f"{words} -o: {done.stdout[:200]}{done.stderr}")
        check(complaints, data.read_text() == run(lockstep, *words, "--json", "-").stdout, f"{words} --json FILE is not --json -")
        same = run(lockstep, *words, "-o", text, "--json", text)
        check(complaints, same.returncode == 2, f"{words}: two outputs in one file: exit code {same.returncode}")
    picture = run(lockstep, "topology", "dgx_a100", "-o", Path(folder) / "machine.svg")
    check(complaints, picture.returncode == 2 and "-o is the file of the text" in picture.stderr, f"-o machine.svg: {picture.stderr}")
    for words in (["explain", "bucket"], ["schema", "gpus"], ["manual"], ["completion", "bash"]):
        shown = run(lockstep, *words).stdout
        done = run(lockstep, *words, "-o", text)
        check(complaints, done.stdout == "" and text.read_text() == shown, f"{words} -o: {done.stdout[:200]}{done.stderr}")
    unknown = run(lockstep, "import", "-", stdin="nothing of the kind\n")
    check(complaints, unknown.returncode == 2 and "stdin: describes no job and no machine" in unknown.stderr, unknown.stderr)


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
        check_texts(lockstep, folder, complaints)
        check_lists(lockstep, complaints)
        check_colour(lockstep, complaints)
    print("\n".join(complaints) or f"{len(COMMANDS)} commands")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).resolve())))
