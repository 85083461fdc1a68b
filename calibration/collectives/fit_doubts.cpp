#include "calibration/collectives/fit_doubts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "calibration/collectives/group_errors.hpp"
#include "calibration/error_summary.hpp"

namespace lockstep {
namespace {

constexpr double kUsable = 0.25;

/// The slowest that was measured is 87 us: SuperBench's all-to-all, one process for 8 GPUs
/// (docs/collectives.md).
constexpr Seconds kSlowestLaunch{100e-6};

std::string misfit(const CollectiveMeasurements& measurements, const CollectiveFit& fit) {
  std::vector<std::string> missed;
  for (const auto& [group, errors] : errors_by_group(measurements, fit)) {
    const double mean = std::max(summarise(errors.held_out).mean, summarise(errors.seen).mean);
    if (mean > kUsable) {
      missed.push_back(fmt::format("{} by {:.0f} %", to_string(group), 100 * mean));
    }
  }
  if (missed.empty()) {
    return {};
  }
  return fmt::format(
      "messages of at least 64 KiB are missed on average: {}; no profile explains these times on this "
      "cluster: "
      "are it, the profile to start from, units and groups right? Else leave these measurements out",
      fmt::join(missed, "; "));
}

std::string far_off(const FittedNumber& number) {
  return fmt::format(
      "{} went from {} to {}, by a factor of {:.3g}; what differs between machines is within {:.2g}: "
      "something else in the measurements moved it",
      number.key, number.before, number.after, std::max(number.factor, 1 / number.factor), number.plausible);
}

/// Time that each collective of a run takes longer than the profile says, whatever its size.
std::string slow_launches(const std::string& run, Seconds added) {
  return fmt::format(
      "each collective of {} takes {} longer than the profile says, whatever its size; launching explains up "
      "to {} (docs/collectives.md): the profile lacks something of this machine, and what it predicts will "
      "be too short by that much",
      run, to_string(added), to_string(kSlowestLaunch));
}

}  // namespace

std::vector<std::string> fit_doubts(const CollectiveMeasurements& measurements, const CollectiveFit& fit) {
  std::vector<std::string> doubts;
  if (std::string missed = misfit(measurements, fit); !missed.empty()) {
    doubts.push_back(std::move(missed));
  }
  for (const FittedNumber& number : fit.numbers) {
    if (std::max(number.factor, 1 / number.factor) > number.plausible) {
      doubts.push_back(far_off(number));
    }
  }
  for (std::size_t run = 0; run < fit.runs.size(); ++run) {
    if (fit.runs[run].added > kSlowestLaunch) {
      doubts.push_back(slow_launches(measurements.runs[run], fit.runs[run].added));
    }
  }
  return doubts;
}

}  // namespace lockstep
