#!/usr/bin/env python3
"""Files that cannot be compiled as one go to different groups; all others share one."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
sys.dont_write_bytecode = True
from source_batches import batches_of  # noqa: E402


def groups_of(*texts: str, size: int = 10):
    """How many groups files of these lines in an anonymous namespace need."""
    files = [f"namespace lockstep {{\nnamespace {{\n{text}\n}}  // namespace\n}}\n" for text in texts]
    return len(batches_of(files, size, lambda text: text))


class SourceBatches(unittest.TestCase):
    def test_two_definitions_of_a_name_are_apart(self):
        for text in ["int sum_of(int a) {", "struct Part {", "constexpr int kMost = 3;", "enum class Kind {"]:
            with self.subTest(text):
                self.assertEqual(groups_of(text, text), 2)

    def test_equal_second_names_share_a_group(self):
        for text in ["using ::testing::HasSubstr;", "using Json = nlohmann::ordered_json;",
                     "namespace fs = std::filesystem;", "using namespace literals;",
                     "using Row =\n    std::tuple<int, double>;"]:
            with self.subTest(text):
                self.assertEqual(groups_of(text, text), 1)

    def test_unequal_second_names_are_apart(self):
        self.assertEqual(groups_of("using Json = nlohmann::json;", "using Json = nlohmann::ordered_json;"), 2)
        self.assertEqual(groups_of("using Json = nlohmann::json;", "struct Json {"), 2)
        self.assertEqual(groups_of("using kineto::Trace;", "using chakra::Trace;"), 2)

    def test_a_name_of_the_tests_support_is_not_hidden(self):
        shared = '#include "tests/support/transformer_job.hpp"\n'
        own = "namespace lockstep {\nnamespace {\nJob job_of(int ranks) {\n}\n}  // namespace\n}\n"
        self.assertEqual(len(batches_of([own, shared], 10, lambda text: text)), 2)
        self.assertEqual(len(batches_of([shared, shared], 10, lambda text: text)), 1)

    def test_a_group_has_a_size(self):
        self.assertEqual(groups_of("int a() {", "int b() {", "int c() {", size=2), 2)


if __name__ == "__main__":
    unittest.main()
