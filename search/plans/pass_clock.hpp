#pragma once

#include <cstdint>
#include <vector>

#include "ops/job.hpp"
#include "search/plans/stage_probe.hpp"
#include "sim/timeline.hpp"

namespace lockstep {

/// Listens to a simulation of a transformer's step: how long the compute stream of rank 0 was in which phase
/// of which part of the model, by the ranges that StageWriter opens.
class PassClock final : public TimelineSink {
 public:
  /// @param step whose times count, from 0
  PassClock(const Job& job, std::uint32_t step);
  PassClock(const PassClock&) = delete;
  PassClock& operator=(const PassClock&) = delete;

  void write(std::span<const TimelineSpan> spans) override;

  [[nodiscard]] const PassTimes& times() const { return times_; }

 private:
  std::uint32_t step_;
  std::uint8_t compute_ = 0;  ///< the stream
  PassTimes times_;
  double other_ = 0;                           ///< the optimizer, and what else is in no pass
  std::vector<std::vector<double*>> account_;  ///< by thread and instruction
  double end_ = 0;                             ///< of the kernel before
};

}  // namespace lockstep
