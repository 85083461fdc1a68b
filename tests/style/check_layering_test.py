#!/usr/bin/env python3
"""The layering check finds what it is there for, in a small tree made for it, and nothing else."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
sys.dont_write_bytecode = True
from check_layering import complaints  # noqa: E402


def complaints_of(files: dict):
    """What the check says of a tree with these files, path -> text."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return list(complaints(Path(folder)))


class Layering(unittest.TestCase):
    def test_accepts_own_folder_and_folders_to_the_left(self):
        self.assertEqual(complaints_of({"sim/a.cpp": '#include "sim/a.hpp"\n#include "base/units.hpp"\n'}), [])

    def test_names_file_and_line_of_an_include_to_the_right(self):
        self.assertEqual(complaints_of({"ops/a.hpp": '#pragma once\n#include "sim/b.hpp"\n'}),
                         ["ops/a.hpp:2: sim/b.hpp: ops/ may not know sim/"])

    def test_keeps_each_library_at_home(self):
        for folder, target in [("ops", "simgrid/s4u.hpp"), ("app", "xbt/log.h"), ("sim", "yaml-cpp/yaml.h"),
                               ("sim", "boost/graph/adjacency_list.hpp"), ("sim", "google/protobuf/message.h"),
                               ("ops", "nlohmann/json.hpp"), ("sim", "CLI/CLI.hpp"), ("app", "zlib.h"),
                               ("sim", "cuda_runtime.h"), ("calibration", "nccl.h")]:
            with self.subTest(target):
                found = complaints_of({f"{folder}/a.cpp": f"#include <{target}>\n"})
                self.assertEqual(len(found), 1, found)
                self.assertIn("may include it", found[0])

    def test_accepts_each_library_at_home(self):
        for path, target in [("sim/a.hpp", "simgrid/s4u.hpp"), ("base/a.cpp", "yaml-cpp/yaml.h"),
                             ("topology/a.cpp", "boost/graph/graphviz.hpp"), ("traces/a.cpp", "nlohmann/json.hpp"),
                             ("calibration/measure/a.cu", "nccl.h"),
                             ("calibration/measure/options.cpp", "CLI/App.hpp"), ("app/commands/a.cpp", "CLI/CLI.hpp")]:
            with self.subTest(target):
                self.assertEqual(complaints_of({path: f"#include <{target}>\n"}), [])

    def test_keeps_heavy_libraries_out_of_headers(self):
        for path, target in [("base/a.hpp", "yaml-cpp/yaml.h"), ("app/a.hpp", "nlohmann/json.hpp")]:
            with self.subTest(target):
                self.assertEqual(complaints_of({path: f"#include <{target}>\n"}),
                                 [f"{path}:1: {target}: only .cpp files may include it"])

    def test_keeps_cuda_out_of_what_is_built_without_it(self):
        self.assertEqual(complaints_of({"calibration/measure/a.cpp": "#include <cuda_runtime.h>\n"}),
                         ["calibration/measure/a.cpp:1: cuda_runtime.h: only .cu and .cuh files may include it"])

    def test_wants_a_source_to_include_its_own_header_first(self):
        header = {"base/a.hpp": "#pragma once\n", "base/b.hpp": "#pragma once\n"}
        first = '#include "base/a.hpp"\n\n#include "base/b.hpp"\n'
        late = '#include "base/b.hpp"\n\n#include "base/a.hpp"\n'
        self.assertEqual(complaints_of({**header, "base/a.cpp": first}), [])
        self.assertEqual(complaints_of({**header, "base/a.cpp": late}),
                         ["base/a.cpp:1: it has to include base/a.hpp first"])

    def test_ignores_comments(self):
        self.assertEqual(complaints_of({"base/a.cpp": '// #include "sim/b.hpp"\n'}), [])


if __name__ == "__main__":
    unittest.main()
