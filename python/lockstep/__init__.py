"""Lockstep in Python: predicts the time of a training step on many GPUs, and shows why.

    import lockstep
    answer = lockstep.run("gpt2_8xa100", set={"workload.global_batch": 128})
    answer["step_time_s"]

A scenario is a shipped one's name, a path, or a dict with the keys of a scenario file. Results are the dicts of the
command line's JSON (docs/results.md): times in seconds, sizes in bytes. Mistakes are InputError, with file and line.
"""
import itertools
import json
import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

if (Path(__file__).parent / "share" / "lockstep").exists():  # an installed package brings its files along
    os.environ.setdefault("LOCKSTEP_HOME", str(Path(__file__).parent / "share" / "lockstep"))

from . import _core
from ._core import InputError, OutOfMemoryError, StallError

__version__ = _core.version
__all__ = ["InputError", "OutOfMemoryError", "StallError", "compare", "frame", "plan", "replay", "run", "schedule",
           "search", "size", "sweep", "topology"]

_FAILURES = {2: InputError, 3: StallError, 4: OutOfMemoryError, 5: MemoryError}


def _value(value):
    """A Python value as the text of a YAML value."""
    return value if isinstance(value, str) else json.dumps(value)


def _assignments(set):
    return [f"{key}={_value(value)}" for key, value in (set or {}).items()]


def _scenario(scenario):
    """(text or name, whether it is text). A dict is JSON, which is YAML."""
    if isinstance(scenario, dict):
        return json.dumps(scenario), True
    return os.fspath(scenario), False


def run(scenario, set=None):
    """Predicts one scenario.

    Args:
        scenario: a name of `lockstep list scenarios`, a file or its folder, or a dict with a scenario's keys.
        set: values by key, e.g. {"workload.global_batch": 128}, in place of the scenario's.
    Returns:
        The metrics of docs/results.md: `step_time_s`, bands, shares of time, critical path, memory.
    Raises:
        InputError: a mistake in the scenario; `problems` lists (file, line, column, message).
        OutOfMemoryError: the job does not fit its GPUs. StallError: its ranks wait for each other.
    """
    text, is_text = _scenario(scenario)
    return json.loads(_core.run(text, is_text, _assignments(set)))


def sweep(scenario, set, jobs=None):
    """Predicts a scenario at every combination of values, on all cores, in this process.

    Args:
        scenario: as for run().
        set: lists of values by key, e.g. {"workload.global_batch": [64, 128]}.
        jobs: threads; all cores unless given.
    Returns:
        A list of {"set": values by key, "answer": what run() returns} or {"set": ..., "error": the exception}, in the
        order of the values, the last key fastest.
    """
    keys = list(set)
    points = [dict(zip(keys, values)) for values in itertools.product(*(set[key] for key in keys))]

    def point(values):
        try:
            return {"set": values, "answer": run(scenario, values)}
        except (InputError, OutOfMemoryError, StallError) as error:
            return {"set": values, "error": error}

    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        return list(pool.map(point, points))


def frame(rows, columns=("step_time_s",)):
    """The rows of sweep() as a pandas DataFrame: the values that were set, then columns of the answers.

    Args:
        rows: of sweep().
        columns: keys of an answer; a dotted one is looked up level by level. Missing ones are None.
    """
    import pandas

    def look_up(answer, path):
        for key in path.split("."):
            answer = answer.get(key) if isinstance(answer, dict) else None
        return answer

    return pandas.DataFrame([{**row["set"], **{column: look_up(row.get("answer"), column) for column in columns},
                              "error": str(row["error"]) if "error" in row else None} for row in rows])


def topology(cluster):
    """A machine as a dict: vertices, links, matrices (docs/topology.md).

    Args:
        cluster: as in a scenario: `dgx_a100 x 4`, a name of configs/clusters, a file, a dict of its keys; or a
            scenario, of which it is the machine with its faults.
    """
    return json.loads(_core.topology(json.dumps(cluster) if isinstance(cluster, dict) else os.fspath(cluster)))


def _program():
    own = Path(__file__).parent / "bin" / "lockstep"
    found = os.environ.get("LOCKSTEP_PROGRAM") or (str(own) if own.exists() else shutil.which("lockstep"))
    if not found:
        raise FileNotFoundError("the program `lockstep` is not on PATH (LOCKSTEP_PROGRAM names it)")
    return found


def _command(*words):
    done = subprocess.run([_program(), *map(os.fspath, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise _FAILURES.get(done.returncode, RuntimeError)(done.stderr.strip())
    return done.stdout


def _with_file(scenario, set, ask):
    """Calls ask(words) with the scenario as the command line takes it; a dict goes through a file."""
    options = [word for each in _assignments(set) for word in ("--set", each)]
    if not isinstance(scenario, dict):
        return ask([os.fspath(scenario), *options])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_text(json.dumps(scenario))
        return ask([str(file), *options])


def _answer(command, words, file=None):
    """What a command answers as JSON: on standard output, or in a file of its result folder."""
    with tempfile.TemporaryDirectory() as folder:
        output = [] if command in ("replay", "compare") else ["-o", str(Path(folder) / "out")]
        if file is None:
            return json.loads(_command(command, *words, *output, "--json", "-"))
        _command(command, *words, *output)
        return json.loads((Path(folder) / "out" / file).read_text())


def plan(scenario, set=None, options=()):
    """The best parallel plans of a transformer (docs/plans.md); `options` are words of `lockstep plan`."""
    return _with_file(scenario, set, lambda words: _answer("plan", [*words, *options]))


def size(scenario, set=None, options=()):
    """How many nodes for a training (docs/size.md): days and cost for each number of GPUs, with its best plan.

    `options` are words of `lockstep size`, e.g. ["--gpus", "128,256", "--tokens", "15T", "--price", "2.5"].
    """
    return _with_file(scenario, set, lambda words: _answer("size", [*words, *options]))


def search(scenario, set=None, options=()):
    """The best placement of embedding tables (docs/search.md); `options` are words of `lockstep search`."""
    return _with_file(scenario, set, lambda words: _answer("search", [*words, *options], "plan.json"))


def schedule(scenario, set=None, options=()):
    """What a schedule of phases saves (docs/schedules.md); `options` are words of `lockstep schedule`."""
    return _with_file(scenario, set, lambda words: _answer("schedule", [*words, *options, "--no-timeline"]))


def replay(traces, set=None, options=()):
    """Recorded traces take place again (docs/replay.md): a file, a folder, or a list of files."""
    files = [traces] if isinstance(traces, (str, os.PathLike)) else list(traces)
    changes = [word for each in _assignments(set) for word in ("--set", each)]
    return _answer("replay", [*files, *changes, *options])


def compare(before, after, options=()):
    """Two results or captured timelines, kernel by kernel (docs/compare.md)."""
    return _answer("compare", [before, after, *options])
