#pragma once

/// @file
/// The points of a sweep, as a scenario's `matrix:` and `--set KEY=A,B` give them:
///
///   matrix:
///     workload.global_batch: [64, 128]                # axes: the first key varies slowest
///     cluster: [dgx_a100 x 1, dgx_a100 x 2]
///     exclude: [{ workload.global_batch: 64, cluster: dgx_a100 x 2 }]
///     include: [{ workload.global_batch: 256, cluster: dgx_a100 x 4 }]
///
/// `include` and `exclude` mean what they mean in a job matrix of GitHub Actions: exclude drops the
/// combinations that have all its values; then each entry of include adds its values to every combination of
/// which it would change no value of an axis, or is a combination of its own where there is no such.

#include <string>
#include <vector>

#include "base/yaml_node.hpp"
#include "scenario/overrides.hpp"

namespace lockstep {

/// What a point says about one key of the scenario.
struct PointValue {
  std::string key_path;
  YamlNode value;
};
using PointValues = std::vector<PointValue>;  ///< keys unique

struct MatrixAxis {
  std::string key_path;
  std::vector<YamlNode> values;  ///< at least one, no two alike
};

struct Matrix {
  std::vector<MatrixAxis> axes;
  std::vector<PointValues> include;
  std::vector<PointValues> exclude;

  [[nodiscard]] bool is_empty() const { return axes.empty() && include.empty(); }
};

/// No sweep is larger: every process of it knows all points.
constexpr std::size_t kMostPoints = 10'000;

/// @param node what stands behind `matrix:`; nothing is a matrix without points
/// @throws InputError with all that is wrong
[[nodiscard]] Matrix read_matrix(const YamlNode& node);

/// An axis from the command line: replaces the file's of the same key, or varies faster than all others.
/// @throws InputError for a value that is no YAML, or given twice
void set_axis(Matrix& matrix, const std::string& key_path, const std::vector<std::string>& values);

/// All points, in order. @throws std::invalid_argument where none is left, or more than kMostPoints
[[nodiscard]] std::vector<PointValues> points_of(const Matrix& matrix);

}  // namespace lockstep
