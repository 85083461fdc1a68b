#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <string>

#include "calibration/hosts/host_samples.hpp"

namespace lockstep::testing {

using namespace lockstep::literals;

inline auto micros(double expected) {
  return ::testing::ResultOf([](Seconds time) { return 1e6 * time.in_base_units(); },
                             ::testing::DoubleNear(expected, 1e-6));
}

/// Two threads; times in us.
class HostRecording {
 public:
  HostRecording() { trace_.threads.resize(2); }

  HostRecording& op(const std::string& name, double start, double end, std::uint32_t thread = 0) {
    kineto::Operator& made = trace_.operators.emplace_back();
    made.start = ns(start);
    made.end = ns(end);
    made.name = trace_.names.number(name);
    made.thread = thread;
    return *this;
  }
  HostRecording& call(const std::string& name, kineto::CallKind kind, double start, double end) {
    kineto::Call& made = trace_.calls.emplace_back();
    made.start = ns(start);
    made.end = ns(end);
    made.name = trace_.names.number(name);
    made.kind = kind;
    made.correlation = static_cast<std::int64_t>(trace_.calls.size());
    return *this;
  }
  /// Adds GPU work of the latest call.
  HostRecording& work(double start, double end, const std::string& name = "kernel") {
    kineto::Work& made = trace_.work.emplace_back();
    made.start = ns(start);
    made.end = ns(end);
    made.name = trace_.names.number(name);
    made.correlation = static_cast<std::int64_t>(trace_.calls.size());
    return *this;
  }
  /// Adds GPU work of no call that was recorded.
  HostRecording& work_alone(double start, double end) {
    work(start, end);
    trace_.work.back().correlation = 1'000'000;
    return *this;
  }
  [[nodiscard]] HostSamples samples(Seconds event_cost) const {
    HostSamples made;
    add_samples(trace_, event_cost, made);
    return made;
  }

 private:
  static kineto::Nanoseconds ns(double us) { return static_cast<kineto::Nanoseconds>(1000 * us); }
  kineto::RecordedTrace trace_;
};

/// aten::linear of 100 us with an operator within and two launches, and aten::view 10 us later.
inline HostSamples linear_and_view() {
  return HostRecording{}
      .op("ProfilerStep#3", 0, 1000)
      .op("aten::linear", 100, 200)
      .op("aten::addmm", 105, 195)
      .call("cudaLaunchKernel", kineto::CallKind::Launch, 120, 126)
      .call("cudaMemcpyAsync", kineto::CallKind::Launch, 150, 160)
      .op("aten::view", 210, 214)
      .samples(2_us);
}

}  // namespace lockstep::testing
