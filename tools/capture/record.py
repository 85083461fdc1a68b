"""Times steps without a profiler, then records one step with it."""
import gzip
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

import torch

from workloads import training_step

WINDOWS = 7   # timed windows; the median of seven has the extremes as its 98 % confidence interval
WARM_UP = 5   # steps before the first window: kernels are chosen and loaded, the allocator's memory grows

COLUMNS = ["model", "batch", "precision", "mode", "steps", "windows", "median_ms", "least_ms", "most_ms", "gpu_median_ms", "peak_bytes"]


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


class Recorder:
    """Writes times.csv and the traces of one folder."""

    def __init__(self, folder, device, steps):
        self.folder, self.device, self.steps = folder, device, steps
        self.table = folder / "times.csv"
        folder.mkdir(parents=True, exist_ok=True)
        if not self.table.exists():
            comments = [f"# {name}: {value}" for name, value in machine()]
            self.table.write_text("\n".join([*comments, ",".join(COLUMNS)]) + "\n")
        self.there = {tuple(line.split(",")[:4]) for line in self.table.read_text().splitlines() if not line.startswith("#")}

    def record(self, model, batch, precision, compiled):
        """Whether the case was recorded, now or before. What fails is told and left out."""
        mode = "compiled" if compiled else "eager"
        if (model, str(batch), precision, mode) in self.there:
            print(f"capture: {model} {batch} {precision} {mode} is there already", file=sys.stderr)
            return True
        try:
            self._record(model, batch, precision, mode)
            return True
        except Exception as failure:  # pylint: disable=broad-except  # out of memory, mostly; the other cases are worth having
            print(f"capture: {model} {batch} {precision} {mode} left out: {type(failure).__name__}: {failure}", file=sys.stderr)
            return False
        finally:
            if self.device == "cuda":
                torch.cuda.empty_cache()

    def _record(self, model, batch, precision, mode):
        step = training_step(model, batch, precision, self.device, mode == "compiled")
        if self.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        for _ in range(WARM_UP):
            step()
        windows = [self._window(step) for _ in range(WINDOWS)]
        wall, gpu = zip(*windows)
        peak = torch.cuda.max_memory_allocated() if self.device == "cuda" else 0
        self._trace(step, f"{model}_b{batch}_{precision}" + ("_compiled" if mode == "compiled" else ""))
        row = [model, batch, precision, mode, self.steps, WINDOWS, f"{statistics.median(wall):.4f}", f"{min(wall):.4f}",
               f"{max(wall):.4f}", f"{statistics.median(gpu):.4f}", peak]
        with self.table.open("a") as table:  # last: a row says that its traces are there, too
            table.write(",".join(map(str, row)) + "\n")
        print(f"capture: {model} {batch} {precision} {mode}: {statistics.median(wall):.3f} ms a step", file=sys.stderr)

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
        """One step, after two that only the profiler's own warm-up sees; both traces of the same step."""
        with tempfile.TemporaryDirectory() as folder:
            kineto, execution = os.path.join(folder, "kineto.json"), os.path.join(folder, "et.json")
            observer = torch.profiler.ExecutionTraceObserver()
            observer.register_callback(execution)
            activities = [torch.profiler.ProfilerActivity.CPU]
            if self.device == "cuda":
                activities.append(torch.profiler.ProfilerActivity.CUDA)
            with torch.profiler.profile(activities=activities, record_shapes=True, execution_trace_observer=observer,
                                        schedule=torch.profiler.schedule(wait=1, warmup=2, active=1, repeat=1),
                                        on_trace_ready=lambda profile: profile.export_chrome_trace(kineto)) as profile:
                for _ in range(4):
                    step()
                    if self.device == "cuda":
                        torch.cuda.synchronize()
                    profile.step()
            observer.unregister_callback()
            for file, kind in ((kineto, "kineto"), (execution, "et")):
                packed = self.folder / f"{name}.{kind}.json.gz"
                with open(file, "rb") as text, gzip.GzipFile(packed, "wb", mtime=0) as to:
                    shutil.copyfileobj(text, to)
