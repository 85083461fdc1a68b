#include "app/sweep/matrix.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/yaml_text.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

/// @param text what stands behind `matrix:`, without its indentation
Matrix matrix_of(const std::string& text) {
  std::string indented = "matrix:\n";
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    indented += "  " + line + "\n";
  }
  return read_matrix(YamlDocument::from_text(indented, "s.yaml").root().find("matrix")->value);
}

/// Points as `a=1 b=2`.
std::vector<std::string> words(const Matrix& matrix) {
  std::vector<std::string> lines;
  for (const PointValues& point : points_of(matrix)) {
    std::string& line = lines.emplace_back();
    for (const PointValue& value : point) {
      line += (line.empty() ? "" : " ") + value.key_path + "=" + flow_text(value.value);
    }
  }
  return lines;
}

std::string complaint_of(const std::string& text) {
  try {
    (void)points_of(matrix_of(text));
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return "none";
}

TEST(Matrix, TheFirstAxisIsTheSlowest) {
  EXPECT_THAT(words(matrix_of("a: [1, 2]\nb.c: [x, [y, z]]\n")),
              ElementsAre("a=1 b.c=x", "a=1 b.c=[y, z]", "a=2 b.c=x", "a=2 b.c=[y, z]"));
}

TEST(Matrix, ExcludeDropsWhatHasAllItsValues) {
  EXPECT_THAT(words(matrix_of("a: [1, 2]\nb: [1, 2, 3]\nexclude: [{a: 1, b: 2}, {b: 3}]\n")),
              ElementsAre("a=1 b=1", "a=2 b=1", "a=2 b=2"));
}

// The example of "Running variations of jobs in a workflow", GitHub Docs, with its result.
TEST(Matrix, IncludeIsThatOfGitHubActions) {
  EXPECT_THAT(
      words(matrix_of(R"(
fruit: [apple, pear]
animal: [cat, dog]
include:
  - { color: green }
  - { color: pink, animal: cat }
  - { fruit: apple, shape: circle }
  - { fruit: banana }
  - { fruit: banana, animal: cat }
)")),
      ElementsAre("fruit=apple animal=cat color=pink shape=circle",
                  "fruit=apple animal=dog color=green shape=circle", "fruit=pear animal=cat color=pink",
                  "fruit=pear animal=dog color=green", "fruit=banana", "fruit=banana animal=cat"));
}

TEST(Matrix, IncludeAloneIsAListOfPoints) {
  EXPECT_THAT(words(matrix_of("include: [{a: 1, b: 2}, {a: 3}]\n")), ElementsAre("a=1 b=2", "a=3"));
}

TEST(Matrix, AnAxisOfTheCommandLineReplacesTheFilesOrVariesFastest) {
  Matrix matrix = matrix_of("a: [1, 2]\n");
  set_axis(matrix, "b", {"x", "y"});
  set_axis(matrix, "a", {"3"});
  EXPECT_THAT(words(matrix), ElementsAre("a=3 b=x", "a=3 b=y"));
  EXPECT_THROW(set_axis(matrix, "c", {"1", "1"}), InputError);
}

TEST(Matrix, TellsAllThatIsWrongWithIt) {
  EXPECT_EQ(complaint_of("[1]\n"),
            "s.yaml:2:3: matrix: expected a mapping from keys to lists of values, not a list");
  EXPECT_EQ(complaint_of("a: 1\nb: []\nc: [2, 2]\n"),
            "s.yaml:2:6: matrix: a: expected a list of values, e.g. [1, 2], not '1'\n"
            "s.yaml:3:6: matrix: b: expected a list of values, e.g. [1, 2], not an empty one\n"
            "s.yaml:4:10: matrix: c: 2 stands here twice");
  EXPECT_EQ(complaint_of("batch: [1]\nexclude: [{bach: 1}, {batch: 2}]\n"),
            "s.yaml:3:20: matrix: exclude: 'bach' is no key of the matrix - did you mean 'batch'?\n"
            "s.yaml:3:32: matrix: exclude: 2 is not among the values of 'batch'");
  EXPECT_EQ(complaint_of("a: [1]\ninclude: {b: 1}\n"),
            "s.yaml:3:12: matrix: include: expected a list of mappings, not a mapping");
  EXPECT_EQ(complaint_of("a: [1]\nexclude: [{a: 1}]\n"), "no point is left: 'exclude' excludes all");
}

TEST(Matrix, HasALargestSize) {
  std::string numbers;
  for (int i = 0; i < 101; ++i) {
    numbers += (i == 0 ? "" : ", ") + std::to_string(i);
  }
  EXPECT_EQ(complaint_of("a: [" + numbers + "]\nb: [" + numbers + "]\n"), "a sweep has at most 10000 points");
}

}  // namespace
}  // namespace lockstep
