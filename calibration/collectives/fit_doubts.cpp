#include "calibration/collectives/fit_doubts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "calibration/collectives/group_errors.hpp"
#include "calibration/error_summary.hpp"

namespace lockstep {
namespace {

/// Messages of at least so many bytes may be missed by so much on average. The largest are a rate, of which
/// each algorithm has one: fits of measured machines miss them by a tenth at most.
struct Usable {
  Bytes from;
  const char* in_words;
  double mean;
};
constexpr std::array kUsable{Usable{kSmallMessages, "64 KiB", 0.25}, Usable{Bytes{64 << 20}, "64 MiB", 0.15}};

/// The slowest that was measured is 87 us: SuperBench's all-to-all, one process for 8 GPUs
/// (docs/collectives.md).
constexpr Seconds kSlowestLaunch{100e-6};

std::string misfit(const CollectiveMeasurements& measurements, const CollectiveFit& fit,
                   const Usable& usable) {
  std::vector<std::string> missed;
  for (const auto& [group, errors] : errors_by_group(measurements, fit, usable.from)) {
    const double mean = std::max(summarise(errors.held_out).mean, summarise(errors.seen).mean);
    if (mean > usable.mean) {
      missed.push_back(fmt::format("{} by {:.0f} %", to_string(group), 100 * mean));
    }
  }
  if (missed.empty()) {
    return {};
  }
  return fmt::format(
      "messages of at least {} are missed on average: {}; no profile explains these times on this cluster: "
      "are it, the profile to start from, units and groups right? Else leave these measurements out",
      usable.in_words, fmt::join(missed, "; "));
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
  for (const Usable& usable : kUsable) {
    if (std::string missed = misfit(measurements, fit, usable); !missed.empty()) {
      doubts.push_back(std::move(missed));
      break;  // the largest are among the others
    }
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
