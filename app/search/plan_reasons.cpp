#include "app/search/plan_reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "app/answer.hpp"
#include "search/embedding/device_loads.hpp"

namespace lockstep {
namespace {

constexpr double kWorthSaying = 0.001;  // of the step that is longer
constexpr std::size_t kMostShares = 5;

/// Something that one plan has less of than the other.
struct Difference {
  std::string what;
  double ours = 0, theirs = 0;
  [[nodiscard]] double saved() const { return theirs - ours; }
};

double share_like(const std::vector<TimeShare>& shares, const TimeShare& other) {
  const auto share = std::ranges::find_if(shares, [&](const TimeShare& own) { return own.is_alike(other); });
  return share == shares.end() ? 0 : share->seconds;
}

/// What of the mean rank's step is shorter.
std::vector<Difference> shorter_parts(const std::vector<TimeShare>& ours,
                                      const std::vector<TimeShare>& theirs, double least) {
  std::vector<Difference> parts;
  for (const TimeShare& share : theirs) {
    const Difference part{name_of(share), share_like(ours, share), share.seconds};
    if (part.saved() > least) {
      parts.push_back(part);
    }
  }
  std::ranges::stable_sort(parts, std::greater{}, &Difference::saved);
  parts.resize(std::min(parts.size(), kMostShares));
  return parts;
}

template <class Value>
Difference at_most(const std::string& what, const std::vector<DeviceLoad>& ours,
                   const std::vector<DeviceLoad>& theirs, Value value) {
  const auto largest = [&](const std::vector<DeviceLoad>& loads) {
    return value(*std::ranges::max_element(loads, {}, value));
  };
  return {what, largest(ours), largest(theirs)};
}

template <class Unit>
std::string line(const Difference& part, Unit unit) {
  return fmt::format("  {:<42}{:>10} instead of {}\n", part.what, to_string(part.ours * unit),
                     to_string(part.theirs * unit));
}

}  // namespace

std::string reasons(const ShardingProblem& problem, const SimulatedPlan& best, const Candidate& other) {
  const Seconds saved = other.step.value() - best.plan.step.value();
  const double least = kWorthSaying * (*other.step / Seconds{1});
  if (saved <= Seconds{least}) {
    return "";
  }
  std::string text = fmt::format("\nwhy, against {}: {} less\n", other.name, saved);
  const ResolvedScenario theirs = problem.under(other.plan);
  for (const Difference& part :
       shorter_parts(time_shares(problem.under(best.plan.plan), best.result),
                     time_shares(theirs, predict(theirs, nullptr, EngineMode::Bare)), least)) {
    text += line({part.what + " (mean of ranks)", part.ours, part.theirs}, Seconds{1});
  }
  const std::vector<DeviceLoad> ours = device_loads(problem, best.plan.plan);
  const std::vector<DeviceLoad> others = device_loads(problem, other.plan);
  const Difference compute = at_most("look-ups of the slowest rank", ours, others,
                                     [](const DeviceLoad& load) { return load.compute / Seconds{1}; });
  const Difference sent = at_most("sent by the busiest rank", ours, others,
                                  [](const DeviceLoad& load) { return load.sent / Bytes{1}; });
  text += compute.saved() > least ? line(compute, Seconds{1}) : "";
  text += sent.saved() > kWorthSaying * sent.theirs ? line(sent, Bytes{1}) : "";
  return text;
}

}  // namespace lockstep
