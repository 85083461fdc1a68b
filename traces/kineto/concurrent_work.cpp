#include "traces/kineto/concurrent_work.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>

namespace lockstep::kineto {

std::vector<bool> runs_beside_others(const RecordedTrace& trace) {
  std::vector<std::size_t> by_start(trace.work.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::ranges::sort(by_start, {}, [&](std::size_t i) {
    return std::tuple{trace.work[i].device, trace.work[i].start, i};
  });
  std::vector<bool> beside(trace.work.size());
  std::vector<std::size_t> running;  // when the next begins
  for (const std::size_t next : by_start) {
    const Work& begun = trace.work[next];
    std::erase_if(running, [&](std::size_t i) {
      return trace.work[i].device != begun.device || trace.work[i].end <= begun.start;
    });
    if (begun.duration() <= 0) continue;
    for (const std::size_t i : running) {
      if (trace.work[i].stream != begun.stream) beside[i] = beside[next] = true;
    }
    running.push_back(next);
  }
  return beside;
}

}  // namespace lockstep::kineto
