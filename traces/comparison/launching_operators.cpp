#include "traces/comparison/launching_operators.hpp"

#include <algorithm>

namespace lockstep::comparison {

std::unordered_map<std::int64_t, LaunchCall> LaunchingOperators::by_correlation(
    const std::set<std::int64_t>& processes) && {
  std::unordered_map<std::int64_t, LaunchCall> launchers;
  for (auto& [of, thread] : threads_) {
    if (!processes.empty() && !processes.contains(of.first)) {
      continue;
    }
    std::sort(thread.operators.begin(), thread.operators.end(), [](const Operator& a, const Operator& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;  // outer ones first
    });
    std::sort(thread.launches.begin(), thread.launches.end(),
              [](const Launch& a, const Launch& b) { return a.start < b.start; });
    std::vector<const Operator*> open;
    auto next = thread.operators.begin();
    for (const Launch& launch : thread.launches) {
      for (; next != thread.operators.end() && next->start <= launch.start; ++next) {
        while (!open.empty() && open.back()->end <= next->start) {
          open.pop_back();
        }
        open.push_back(&*next);
      }
      while (!open.empty() && open.back()->end < launch.start) {
        open.pop_back();
      }
      LaunchCall& call = launchers[launch.correlation];
      call.start = launch.start;
      if (!open.empty()) {
        call.launcher = open.back()->name;
      }
    }
  }
  return launchers;
}

}  // namespace lockstep::comparison
