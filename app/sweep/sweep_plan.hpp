#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/sweep/matrix.hpp"
#include "base/config_path.hpp"
#include "base/yaml_document.hpp"
#include "scenario/outcome.hpp"
#include "scenario/overrides.hpp"

namespace lockstep {

/// One combination of values.
struct SweepPoint {
  PointValues values;
  std::string key;                     ///< 16 hexadecimal digits: a hash of everything its result depends on
  std::optional<std::string> mistake;  ///< why its scenario cannot be read
  std::size_t machine = 0;             ///< points of one number have the values of one machine
  std::size_t job = 0;                 ///< the same of one machine with one workload
};

/// A scenario and all points of its matrix. Every process of a sweep makes the same one.
class SweepPlan {
 public:
  /// @param overrides with one value: of every point; with several, split at commas: an axis
  /// @throws InputError: nothing to sweep over, a matrix that is wrong, or no point that can be read
  SweepPlan(const std::filesystem::path& scenario, const ConfigPath& standard,
            const std::vector<Override>& overrides);

  [[nodiscard]] const std::vector<SweepPoint>& points() const { return points_; }

  /// Numbers of the points: those of one machine, and of one job on it, follow each other.
  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }

  /// The keys that differ between points, in the order of the axes, then as include brings them.
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }

  /// The point's value for each column, on one line; "" where it has none.
  [[nodiscard]] std::vector<std::string> labels(const SweepPoint& point) const;

  /// The scenario of one point.
  [[nodiscard]] YamlDocument document_of(const SweepPoint& point) const;

  [[nodiscard]] const std::string& name() const { return name_; }  ///< of the scenario
  [[nodiscard]] const ConfigPath& configs() const { return configs_; }

 private:
  void find_columns();
  void find_alike_points();
  void identify_points(const std::vector<MatrixAxis>& axes);

  ConfigPath configs_;
  YamlDocument base_;
  std::string name_;
  std::vector<std::string> columns_;
  std::vector<SweepPoint> points_;
  std::vector<std::size_t> order_;
};

}  // namespace lockstep
