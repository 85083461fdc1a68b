#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "calibration/measure/grid_point.hpp"
#include "calibration/measure/machine_limits.hpp"

namespace lockstep {

/// Measurements that run together and go to one file, `NAME.csv`.
struct Family {
  std::string name;
  std::string what;                     ///< one line, for `--list`
  std::vector<std::string> parameters;  ///< columns that say what a row is about; the names of its points
  std::vector<std::string> facts;       ///< columns that the measurement finds out besides time
  std::vector<std::string> rates;       ///< columns computed from the median time

  /// The points that this machine can measure; each once.
  std::function<std::vector<GridPoint>(const MachineLimits&, Extent)> grid;

  /// The cells under `rates`, of a point and its median time.
  std::function<std::vector<double>(const GridPoint&, Seconds)> rates_of;

  /// Typical time of a point with all its repeats, for the estimate. Guessed for one H100 until measured: the
  /// run prints what it took.
  Seconds quick_point;
  Seconds full_point;
};

/// All families, in the order in which they are measured.
[[nodiscard]] const std::vector<Family>& measured_families();

/// @throws InputError with the name that was meant
[[nodiscard]] const Family& family_named(const std::string& name);

/// Time that measuring @p points points of @p family typically takes.
[[nodiscard]] Seconds expected_time(const Family& family, std::size_t points, Extent extent);

}  // namespace lockstep
