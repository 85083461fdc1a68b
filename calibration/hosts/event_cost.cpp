#include "calibration/hosts/event_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/error.hpp"
#include "traces/kineto/recorded_steps.hpp"

namespace lockstep {
namespace {

struct Steps {
  std::int64_t count = 0, events = 0;
  kineto::Nanoseconds length = 0;
};

void add(const kineto::RecordedTrace& trace, Steps& steps) {
  for (const kineto::RecordedStep& step : kineto::recorded_steps(trace)) {
    if (!step.is_whole()) {
      continue;  // of which events are missing
    }
    const auto is_within = [&](const auto& event) {
      return event.start >= step.start && event.start < step.end;
    };
    ++steps.count;
    steps.length += step.end - step.start;
    steps.events += std::ranges::count_if(trace.operators, is_within) - 1;  // itself
    steps.events += std::ranges::count_if(trace.calls, is_within);
  }
}

}  // namespace

Seconds event_cost_of(std::span<const kineto::RecordedTrace> traces, Seconds step_time) {
  Steps steps;
  for (const kineto::RecordedTrace& trace : traces) {
    add(trace, steps);
  }
  if (steps.count == 0 || steps.events == 0) {
    throw InputError{
        {traces.front().file},
        "--step-time needs steps in the trace (ProfilerStep#): call profiler.step() behind each"};
  }
  const Seconds recorded{1e-9 * static_cast<double>(steps.length) / static_cast<double>(steps.count)};
  if (recorded <= step_time) {
    throw InputError{
        {traces.front().file},
        fmt::format(
            "recorded steps take {}, no longer than --step-time {}: where the GPU holds a step up the "
            "profiler's cost does not show; record and time one of few samples",
            to_string(recorded), to_string(step_time))};
  }
  return (recorded - step_time) * (static_cast<double>(steps.count) / static_cast<double>(steps.events));
}

}  // namespace lockstep
