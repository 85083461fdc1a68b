#include "calibration/collectives/nccl_tests_checks.hpp"

#include <algorithm>
#include <charconv>
#include <regex>

namespace lockstep {

double bus_factor(CollectiveKind kind, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (kind) {
    case CollectiveKind::AllReduce:
      return 2 * others;
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllGather:
    case CollectiveKind::AllToAll:
      return others;
    default:
      return 1;
  }
}

double largest_right_error(std::string_view type, int ranks) {
  const double additions = std::max(ranks - 1, 1);
  if (type == "half" || type == "bfloat16") return 1e-2 * additions;
  if (type == "float") return 1e-5 * additions;
  return type == "double" ? 1e-12 * additions : 0;
}

std::optional<std::uint64_t> results_out_of_bounds(const std::string& line) {
  static const std::regex kSummary{R"(# Out of bounds values\s*:\s*(\d+)\s+(OK|FAILED))"};
  std::smatch found;
  if (!std::regex_search(line, found, kSummary)) return std::nullopt;
  const std::string digits = found[1];
  std::uint64_t count = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return found[2] == "FAILED" ? std::max<std::uint64_t>(count, 1) : count;
}

}  // namespace lockstep
