#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep::generate {

/// Measurements of one rank of a program (`measured.N.json`).
struct MeasuredRank {
  std::uint32_t rank = 0;
  std::string gpu;
  double step = 0, low = 0, high = 0;  ///< s: the median, and its 95 % interval
  double host_late = 0, launch = 0;    ///< s
  struct Family {
    double measured = 0, expected = 0;  ///< s a step, each kernel alone
  };
  std::map<std::string, Family> families;
  std::vector<double> kernels;  ///< s by kernel of the rank's program, each alone; below 0: not launched
};

/// @throws InputError for a file that is none
[[nodiscard]] MeasuredRank read_measured(const std::filesystem::path& file);

/// Every `measured.N.json` of a folder, or the one that is named. @throws InputError where there is none
[[nodiscard]] std::vector<MeasuredRank> read_all_measured(const std::filesystem::path& place);

/// Measured against expected: steps of the ranks against @p expected_step (s), kernels by family.
[[nodiscard]] std::string score_text(const std::vector<MeasuredRank>& ranks, double expected_step);

}  // namespace lockstep::generate
