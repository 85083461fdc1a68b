#include "calibration/hosts/event_cost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using ::testing::HasSubstr;

/// Two steps of 10 ms with four operators and two launches each, on two threads; one operator lies outside.
kineto::RecordedTrace recorded() {
  kineto::RecordedTrace trace;
  trace.file = "trace.json";
  trace.threads.resize(2);
  const auto op = [&](const std::string& name, std::int64_t start, std::int64_t end, std::uint32_t thread) {
    kineto::Operator& made = trace.operators.emplace_back();
    made.name = trace.names.number(name);
    made.start = start;
    made.end = end;
    made.thread = thread;
    made.is_annotation = name.starts_with("ProfilerStep#");
  };
  constexpr std::int64_t kStep = 10'000'000;
  for (std::int64_t step = 0; step < 2; ++step) {
    const std::int64_t start = step * kStep;
    op("ProfilerStep#" + std::to_string(step), start, start + kStep, 0);
    for (std::int64_t i = 0; i < 4; ++i) {
      op("aten::add", start + 1000 * i, start + 1000 * i + 500, i < 2 ? 0 : 1);
    }
    for (std::int64_t i = 0; i < 2; ++i) {
      kineto::Call& call = trace.calls.emplace_back();
      call.start = start + 1000 * i + 100;
      call.end = call.start + 100;
    }
  }
  op("aten::add", 2 * kStep, 2 * kStep + 500, 0);
  return trace;
}

TEST(EventCost, IsWhatAStepIsLongerByForEachEvent) {
  std::vector<kineto::RecordedTrace> traces;
  traces.push_back(recorded());
  EXPECT_NEAR(event_cost_of(traces, 9.4_ms).in_base_units(), 100e-6, 1e-9);
}

TEST(EventCost, NeedsStepsThatTheProfilerMadeLonger) {
  std::vector<kineto::RecordedTrace> traces;
  traces.push_back(recorded());
  EXPECT_THAT([&] { (void)event_cost_of(traces, 10_ms); },
              ::testing::ThrowsMessage<InputError>(HasSubstr("no longer than --step-time 10 ms")));
  traces.front().operators.clear();
  EXPECT_THAT([&] { (void)event_cost_of(traces, 9_ms); },
              ::testing::ThrowsMessage<InputError>(HasSubstr("call profiler.step() behind each")));
}

}  // namespace
}  // namespace lockstep
