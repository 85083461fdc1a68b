#include "traces/comparison/run_profile.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace lockstep::comparison {
namespace {

constexpr std::size_t kKinds = 3;

/// A moment at which work of a kind begins or ends.
struct Turn {
  Nanoseconds at = 0;
  WorkKind kind = WorkKind::Compute;
  int change = 0;
};

std::vector<Turn> turns_of(const RecordedRun& run) {
  std::vector<Turn> turns;
  for (const Work& work : run.work) {
    const Nanoseconds start = std::clamp(work.start, run.start, run.end);
    const Nanoseconds end = std::clamp(work.end, run.start, run.end);
    if (start < end) {
      turns.push_back({start, work.kind, 1});
      turns.push_back({end, work.kind, -1});
    }
  }
  std::sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.at < b.at; });
  return turns;
}

/// Divides the time among compute, copies, communication and idle: the first of these that runs takes it.
void divide(const RecordedRun& run, RunProfile& profile) {
  std::array<int, kKinds> running{};
  Nanoseconds before = run.start;
  const auto pass = [&](Nanoseconds now) {
    const double seconds = 1e-9 * static_cast<double>(now - before) / run.steps;
    const auto runs = [&](WorkKind kind) { return running.at(static_cast<std::size_t>(kind)) > 0; };
    (runs(WorkKind::Compute)         ? profile.compute
     : runs(WorkKind::Copy)          ? profile.copies
     : runs(WorkKind::Communication) ? profile.communication
                                     : profile.idle) += seconds;
    before = now;
  };
  for (const Turn& turn : turns_of(run)) {
    pass(turn.at);
    running.at(static_cast<std::size_t>(turn.kind)) += turn.change;
  }
  pass(run.end);
}

}  // namespace

RunProfile profile_of(const RecordedRun& run) {
  RunProfile profile;
  profile.step = run.step_seconds();
  divide(run, profile);
  const double steps = run.steps;
  const auto add = [&](Amounts& amounts, const std::string& name, const Work& work) {
    Amount& amount = amounts[name];
    amount.seconds += 1e-9 * static_cast<double>(work.end - work.start) / steps;
    amount.count += 1 / steps;
  };
  for (const Work& work : run.work) {
    if (work.start < run.start || work.start >= run.end) {
      continue;
    }
    add(profile.operators, run.names[work.launcher], work);
    add(profile.kernels, run.names[work.name], work);
    add(profile.families, run.names[work.family], work);
  }
  return profile;
}

}  // namespace lockstep::comparison
