#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibration/measure/family.hpp"

namespace lockstep {

/// Options of the user of `lockstep-measure`.
struct Options {
  bool list = false;   ///< tell what would be measured, and end
  bool check = false;  ///< compare the program's own kernels with the host's results, and end
  Extent extent = Extent::Full;
  std::filesystem::path out = "measurements";
  bool resume = false;
  std::vector<const Family*> families;  ///< in the order of measured_families()
};

/// @return what was asked for; nothing where help was asked for and printed
/// @throws InputError for what cannot be understood, with what was probably meant
[[nodiscard]] std::optional<Options> options_of(int count, const char* const* arguments);

}  // namespace lockstep
