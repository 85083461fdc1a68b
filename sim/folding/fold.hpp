#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sim/executor.hpp"
#include "sim/folding/folding.hpp"
#include "sim/simulation.hpp"
#include "sim/timeline.hpp"

namespace lockstep {

/// The folded form of a job. Null where folding is not asked for, would not be exact (jitter; uneven
/// all-to-alls, whose bytes are known only when they meet; two ranks on one GPU), has nobody to serve
/// (`flows` and real SimGrid actors, which are there for every rank), or finds all ranks unlike.
/// @param spec without a folding
[[nodiscard]] std::unique_ptr<const Folding> fold(const Job& job, const ExecutorSpec& spec,
                                                  const SimulationOptions& options);

/// Whether a call of the job has unlike parts. Their bytes, and so its plan, are known only when it meets.
[[nodiscard]] bool has_uneven_calls(const Job& job);

/// Hands on the spans of representatives as those of all ranks that somebody wants.
class UnfoldedTimeline final : public TimelineSink {
 public:
  /// @param wanted ranks, each once; empty: the representatives
  UnfoldedTimeline(TimelineSink& sink, const Folding& folding, std::span<const std::uint32_t> wanted);
  void write(std::span<const TimelineSpan> spans) override;

 private:
  TimelineSink& sink_;
  const Folding& folding_;
  std::vector<std::vector<std::uint32_t>> wanted_;  // by class
  std::vector<TimelineSpan> spans_;
};

}  // namespace lockstep
