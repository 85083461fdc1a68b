#!/usr/bin/env python3
"""The check of the one-definition rule finds two classes of one name, and nothing else."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
sys.dont_write_bytecode = True
from check_one_definition import complaints  # noqa: E402


def complaints_of(*texts: str):
    """The check's lines about files of these texts, sim/0.hpp, sim/1.hpp and so on."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sim").mkdir()
        for number, text in enumerate(texts):
            Path(folder, "sim", f"{number}.hpp").write_text(text)
        return list(complaints(Path(folder)))


class OneDefinition(unittest.TestCase):
    def test_names_both_files(self):
        self.assertEqual(complaints_of("namespace lockstep { class Part {}; }", "namespace lockstep { struct Part : A {}; }"),
                         ["lockstep::Part is a class in sim/0.hpp and in sim/1.hpp: rename one"])

    def test_finds_classes_in_classes(self):
        text = "namespace a::b { struct Outer { enum class Inner { One }; }; }"
        self.assertEqual([line.split()[0] for line in complaints_of(text, text)], ["a::b::Outer", "a::b::Outer::Inner"])

    def test_accepts_what_is_local(self):
        for text in ["namespace lockstep { namespace { class Part {}; } }", "void f() { struct Part {}; }",
                     "namespace lockstep { class Part; }", "// struct Part {}\n", 'auto text = R"(struct Part {})";']:
            with self.subTest(text):
                self.assertEqual(complaints_of(text, text), [])

    def test_tells_namespaces_apart(self):
        self.assertEqual(complaints_of("namespace a { class Part {}; }", "namespace b { class Part {}; }"), [])


if __name__ == "__main__":
    unittest.main()
