#!/usr/bin/env python3
"""Every two values of enumerated and boolean keys of a scenario give together an answer or an error with a place.

    pairwise.py build/lockstep

The keys are those of `lockstep schema`. A scenario that is refused loses the values that its message points at, and is
run again, so that mistakes do not hide what stands beside them. Exit codes 0, 2, 3 and 4 are answers; 1, a signal and
no answer within a time are not.
"""
import random
import subprocess
import sys
import tempfile

from scenario_schema import choices

BASES = {  # scenario, its kind of model, what makes it small, or another implementation
    "dlrm": ("dlrm_nvswitch", "dlrm", {}),
    "hugging_face": ("gpt2_8xa100", "transformer", {"workload.model.transformer.layers": "2"}),
    "megatron": ("gpt2_8xa100", "transformer", {"workload.model.transformer.layers": "2",
                                                "workload.model.transformer.implementation": "megatron"}),
    "cnn": ("resnet50_8xv100", "cnn", {}),
}
KINDS = {"dlrm", "transformer", "encoder_decoder", "xlnet", "cnn"}
ANSWERS = {0: "answers", 2: "errors", 3: "stalls", 4: "out of memory"}
SECONDS = 60
TRIES = 3  # of a scenario that is refused, with ever fewer values


def is_of_kind(key, kind):
    parts = key.split(".")
    other = parts[2] if parts[:2] == ["workload", "model"] and len(parts) > 2 else kind
    return other == kind or other not in KINDS


def covering(keys, draw):
    """Rows of values, one of each key, in which every two values of different keys meet: greedy, of drawn rows."""
    names = list(keys)
    left = {(i, a, j, b) for i in range(len(names)) for j in range(i + 1, len(names))
            for a in range(len(keys[names[i]])) for b in range(len(keys[names[j]]))}
    rows = []
    while left:
        i, a, j, b = min(left) if len(left) < 50 else draw.choice(tuple(left)[:50])
        row = {i: a, j: b}
        for k in draw.sample(range(len(names)), len(names)):
            if k in row:
                continue
            gains = [sum(((m, row[m], k, v) if m < k else (k, v, m, row[m])) in left for m in row)
                     for v in range(len(keys[names[k]]))]
            best = max(gains)
            row[k] = draw.choice([v for v, gain in enumerate(gains) if gain == best])
        for m in row:
            for n in row:
                left.discard((m, row[m], n, row[n]))
        rows.append({names[k]: keys[names[k]][v] for k, v in row.items()})
    return rows


class Runs:
    def __init__(self, lockstep, folder):
        self.lockstep, self.folder = lockstep, folder
        self.ends, self.faults, self.pairs = {}, [], set()

    def run(self, base, values):
        """Exit code and message of a scenario; what is neither an answer nor an error is a fault."""
        scenario, _, small = BASES[base]
        command = [self.lockstep, "run", scenario, "-o", self.folder, "--no-timeline", "--quiet", "--set", "steps=1"]
        for key, value in {**small, **values}.items():
            command += ["--set", f"{key}={value}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
            code, message = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            code, message = "no answer", ""
        end = ANSWERS.get(code, "aborts")
        self.ends[end] = self.ends.get(end, 0) + 1
        if end == "aborts" or "has a bug" in message or (code == 2 and not message.strip()):
            self.faults.append(command)
            print(f"{' '.join(command)}\n  exit code {code}: {message.strip()[-300:]}", flush=True)
        return code, message

    def cover(self, base, row):
        """Runs a row, without what is refused until it is answered."""
        values = dict(row)
        for _ in range(TRIES):
            code, message = self.run(base, values)
            items = sorted(values.items())
            self.pairs.update((base, a, b) for n, a in enumerate(items) for b in items[n + 1:])
            refused = {key for key in values if named_in(key, message)}
            if code != 2 or not refused:
                return
            values = {key: value for key, value in values.items() if key not in refused}


def named_in(key, message):
    """Whether a message speaks of a key: by its place (--set KEY) or its last word in quotes."""
    last = key.rsplit(".", 1)[-1]
    return f"--set {key}:" in message or f"--set {key} " in message or f"'{last}" in message or f"{last}: " in message


def main():
    lockstep = sys.argv[1]
    found = choices(lockstep)
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        runs, of_machine = Runs(lockstep, folder), {}
        for base, (_, kind, small) in BASES.items():
            keys = {key: values for key, values in found.items() if is_of_kind(key, kind) and key not in small}
            alone = {}  # without values that are refused alone: most would be with others
            for key, values in keys.items():
                fine = of_machine.get(key)
                if fine is None:
                    fine = [value for value in values if runs.run(base, {key: value})[0] != 2]
                if not key.startswith(("workload.", "parallelism.")):
                    of_machine[key] = fine
                if fine:
                    alone[key] = fine
            for row in covering(alone, draw):
                runs.cover(base, row)
        total = sum(runs.ends.values())
        ends = ", ".join(f"{count} {end}" for end, count in sorted(runs.ends.items()))
        print(f"{len(found)} keys, {len(runs.pairs)} pairs of values in {total} combinations: {ends}, "
              f"{len(runs.faults)} faults")
        return 1 if runs.faults else 0


if __name__ == "__main__":
    sys.exit(main())
