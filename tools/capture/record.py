"""Times steps without a profiler; then records one step of each with it."""
import contextlib
import gzip
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from datetime import datetime, timezone
from pathlib import Path

import torch

from workloads import training_step

WINDOWS = 7   # timed windows; the median of seven has the extremes as its 98 % confidence interval
WARM_UP = 5   # steps before the first window: kernels are chosen and loaded, the allocator's memory grows

COLUMNS = ["model", "batch", "precision", "mode", "steps", "windows", "median_ms", "least_ms", "most_ms", "gpu_median_ms", "peak_bytes", "gpu_busy_ms"]
KERNEL_COLUMNS = ["model", "batch", "precision", "mode", "launches", "us", "kernel"]
ON_THE_GPU = ("kernel", "gpu_memset", "gpu_memcpy")


def machine():
    """What is told above the table: name and value."""
    yield "python", platform.python_version()
    yield "torch", torch.__version__
    if torch.cuda.is_available():
        gpu = torch.cuda.get_device_properties(0)
        yield "gpu", f"{gpu.name}, {gpu.total_memory} B, {gpu.multi_processor_count} multiprocessors"
        yield "cuda", torch.version.cuda
        yield "cudnn", str(torch.backends.cudnn.version())
    yield "cpu", next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                       if line.startswith("model name")), "not known")
    yield "host", platform.node()
    yield "date", datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def short(name):
    """A kernel's name without what all have."""
    for word in ("void ", "at::native::", "(anonymous namespace)::", "cutlass::", "at_cuda_detail::"):
        name = name.replace(word, "")
    return name.replace(",", ";").replace('"', "")


def span_of(events):
    """Milliseconds in which at least one of the events was under way."""
    covered, end = 0.0, 0.0
    for begin, length in sorted((event["ts"], event["dur"]) for event in events):
        covered += max(0.0, begin + length - max(begin, end))
        end = max(end, begin + length)
    return covered / 1e3


class Recorder:
    """Writes times.csv, kernels.csv and the traces of one folder. All cases are timed before one is traced: what the profiler hooks into the driver stays there."""

    def __init__(self, folder, device, steps, trace):
        self.folder, self.device, self.steps, self.trace = folder, device, steps, trace
        self.table, self.kernels = folder / "times.csv", folder / "kernels.csv"
        folder.mkdir(parents=True, exist_ok=True)
        self.rows = self._known_rows()
        if not self.kernels.exists() and trace != "none":
            self.kernels.write_text(",".join(KERNEL_COLUMNS) + "\n")

    def _known_rows(self):
        """By case what times.csv says, which is there from a run before."""
        if not self.table.exists():
            return {}
        lines = [line.split(",") for line in self.table.read_text().splitlines() if not line.startswith("#")]
        return {tuple(line[:4]): dict(zip(COLUMNS, line)) for line in lines[1:]}

    def time(self, *case):
        """Whether the case was timed, now or before. What fails is told and left out."""
        return self._done(self._time, case, self._key(case) in self.rows)

    def record(self, *case):
        """The same of its traces and kernels."""
        return self._done(self._record, case, bool(self.rows.get(self._key(case), {}).get("gpu_busy_ms")))

    def _key(self, case):
        return tuple(map(str, case))

    def _done(self, act, case, there):
        words = " ".join(map(str, case))
        if there:
            print(f"capture: {words} is there already", file=sys.stderr)
            return True
        try:
            act(case)
            return True
        except Exception as failure:  # pylint: disable=broad-except  # out of memory, mostly; the other cases are worth having
            print(f"capture: {words} left out: {type(failure).__name__}: {failure}", file=sys.stderr)
            return False
        finally:
            if self.device == "cuda":
                torch.cuda.empty_cache()

    def _write(self):
        """times.csv as a whole, at once."""
        lines = [f"# {name}: {value}" for name, value in machine()] + [",".join(COLUMNS)]
        lines += [",".join(str(row.get(column, "")) for column in COLUMNS) for row in self.rows.values()]
        written = self.table.with_suffix(".part")
        written.write_text("\n".join(lines) + "\n")
        written.replace(self.table)

    def _time(self, case):
        begin = time.perf_counter()
        step = training_step(*case[:3], self.device, case[3])
        if self.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        for _ in range(WARM_UP):
            step()
        wall, gpu = zip(*(self._window(step) for _ in range(WINDOWS)))
        peak = torch.cuda.max_memory_allocated() if self.device == "cuda" else 0
        self.rows[self._key(case)] = dict(zip(COLUMNS, [
            *case, self.steps, WINDOWS, f"{statistics.median(wall):.4f}", f"{min(wall):.4f}", f"{max(wall):.4f}", f"{statistics.median(gpu):.4f}", peak]))
        self._write()
        print(f"capture: {' '.join(map(str, case))}: {statistics.median(wall):.3f} ms a step; took {time.perf_counter() - begin:.0f} s", file=sys.stderr)

    def _record(self, case):
        model, batch, precision, mode = case
        step = training_step(model, batch, precision, self.device, mode)
        events = self._trace(step, f"{model}_b{batch}_{precision}" + ("" if mode == "eager" else f"_{mode}"))
        on_the_gpu = [event for event in events if event.get("cat") in ON_THE_GPU]
        self._kernels(case, on_the_gpu)
        if self._key(case) in self.rows:  # last: says that its traces are there, too
            self.rows[self._key(case)]["gpu_busy_ms"] = f"{span_of(on_the_gpu):.4f}"
            self._write()

    def _window(self, step):
        """Milliseconds a step: the host's, from idle to idle, and the GPU's between two events (0 on a CPU)."""
        if self.device == "cpu":
            begin = time.perf_counter()
            for _ in range(self.steps):
                step()
            return (time.perf_counter() - begin) / self.steps * 1e3, 0.0
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin = time.perf_counter()
        first.record()
        for _ in range(self.steps):
            step()
        last.record()
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / self.steps * 1e3, first.elapsed_time(last) / self.steps

    def _trace(self, step, name):
        """One step, after two that only the profiler's own warm-up sees. @return the trace's events."""
        with tempfile.TemporaryDirectory() as folder:
            kineto, execution = os.path.join(folder, "kineto.json"), os.path.join(folder, "et.json")
            with self._observer(execution) as observed:
                self._profile(step, kineto, observed)
            for file, kind in ((kineto, "kineto"), (execution, "et")):
                if os.path.exists(file):
                    with open(file, "rb") as text, gzip.GzipFile(self.folder / f"{name}.{kind}.json.gz", "wb", mtime=0) as to:
                        shutil.copyfileobj(text, to)
            with open(kineto, encoding="utf-8") as text:
                return json.load(text)["traceEvents"]

    @contextlib.contextmanager
    def _observer(self, file):
        """What the profiler is given so that shapes and the execution trace, in `file`, are recorded; nothing unless that is wished."""
        if self.trace != "observed":
            yield {}
            return
        observer = torch.profiler.ExecutionTraceObserver()
        observer.register_callback(file)
        try:
            yield {"record_shapes": True, "execution_trace_observer": observer}
        finally:
            observer.unregister_callback()

    def _profile(self, step, file, observed):
        activities = [torch.profiler.ProfilerActivity.CPU]
        if self.device == "cuda":
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        with torch.profiler.profile(activities=activities, schedule=torch.profiler.schedule(wait=1, warmup=2, active=1, repeat=1),
                                    on_trace_ready=lambda profile: profile.export_chrome_trace(file), **observed) as profile:
            for _ in range(4):
                step()
                if self.device == "cuda":
                    torch.cuda.synchronize()
                profile.step()

    def _kernels(self, case, events):
        """Appends a row for each kernel's name (its first 100 letters): launches and microseconds of the step, the longest first."""
        found = defaultdict(list)
        for event in events:
            found[short(event["name"])[:100]].append(event["dur"])
        with self.kernels.open("a") as table:
            for name, durations in sorted(found.items(), key=lambda one: -sum(one[1])):
                table.write(",".join(map(str, [*case, len(durations), f"{sum(durations):.2f}", name])) + "\n")
