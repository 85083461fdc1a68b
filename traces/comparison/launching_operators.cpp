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
    std::unordered_map<std::int64_t, const Operator*> by_id;
    for (const Operator& op : thread.operators) {
      by_id[op.external_id] = &op;
    }
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
      if (open.empty()) {
        continue;
      }
      const Operator* launcher = open.back();
      const auto said = launch.external_id > 0 ? by_id.find(launch.external_id) : by_id.end();
      if (launcher->start == launcher->end && said != by_id.end() && said->second->start <= launch.start &&
          launch.start <= said->second->end) {
        launcher = said->second;
      }
      call.launcher = launcher->name;
    }
  }
  return launchers;
}

}  // namespace lockstep::comparison
