#!/usr/bin/env python3
"""tools/capture/probe_host.py writes what `lockstep calibrate host --probe` reads, with PyTorch and without.

Usage: probe_host_test.py [LOCKSTEP]
"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCKSTEP = sys.argv.pop() if len(sys.argv) > 1 else None

# As much of PyTorch as the probe uses, without a GPU below.
TORCH = '''
class _Tensor:
    def add_(self, number): return self
    def __mul__(self, number): return self

class _Functional:
    linear = staticmethod(lambda *words: None)
    layer_norm = staticmethod(lambda *words: None)

class nn:
    functional = _Functional

class cuda:
    is_available = staticmethod(lambda: True)
    synchronize = staticmethod(lambda: None)
    get_device_name = staticmethod(lambda: "none")

class no_grad:
    def __enter__(self): return self
    def __exit__(self, *words): return None

ones = lambda *shape, device=None: _Tensor()
relu = sigmoid = lambda tensor: tensor
__version__ = "0"
'''


def probe(folder, torch):
    Path(folder, "torch.py").write_text(torch)
    file = Path(folder, "probe.json")
    subprocess.run([sys.executable, "-B", ROOT / "tools" / "capture" / "probe_host.py", "--seconds", "0.2", "-o", file],
                   check=True, env={"PYTHONPATH": folder, "PATH": "/usr/bin:/bin"})
    return file


class Probe(unittest.TestCase):
    def test_without_pytorch(self):
        with tempfile.TemporaryDirectory() as folder:
            file = probe(folder, "raise ImportError('none')\n")
            found = json.loads(file.read_text())
            recorded = json.loads((ROOT / "tests/data/host_probe/emerald_rapids_vm.json").read_text())
            self.assertEqual(found.keys(), recorded.keys())
            for key in ("python_ns", "native_ns"):
                self.assertEqual(found[key].keys(), recorded[key].keys())
                self.assertTrue(all(time > 0 for time in found[key].values()))
            self.read(file, "Python and compiled code")

    def test_with_pytorch_and_a_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            file = probe(folder, TORCH)
            self.assertIn("aten::linear", json.loads(file.read_text())["torch"]["operators_ns"])
            self.read(file, "6 operators that PyTorch 0 launched on a none")

    def read(self, file, words):
        if LOCKSTEP:
            done = subprocess.run([LOCKSTEP, "calibrate", "host", "--probe", file], capture_output=True, text=True, check=True)
            self.assertIn(words, done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
