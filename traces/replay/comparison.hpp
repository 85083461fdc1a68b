#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/simulation.hpp"
#include "sim/timeline.hpp"
#include "traces/kineto/recorded_steps.hpp"
#include "traces/replay/replay_job.hpp"

namespace lockstep::replay {

/// A duration in the trace and in the simulation, s.
struct Pair {
  double measured = 0, simulated = 0;
  /// Relative error of the simulation against the measurement; 0 where nothing was measured.
  [[nodiscard]] double error() const { return measured == 0 ? 0 : simulated / measured - 1; }
};

struct StepPair {
  std::string name;  ///< `ProfilerStep#3`
  Pair begin, end;   ///< s from the start of the window; it begins with the end of the one before (StepEnds)
  bool is_timed = true;      ///< the trace says when it ends (kineto::RecordedStep); else no mean has it
  bool misses_work = false;  ///< GPU work of it has no record
  std::string missing;       ///< in words; empty: it is whole
  [[nodiscard]] Pair duration() const {
    return {end.measured - begin.measured, end.simulated - begin.simulated};
  }
};

struct StreamPair {
  std::string name;
  Pair busy;
};

/// One rank, simulated against measured.
struct RankComparison {
  Pair gpu_span;                ///< from the first start on the GPU to the last end
  std::vector<StepPair> steps;  ///< in order; empty: the trace has none
  std::vector<StreamPair> streams;
  Pair communication;  ///< sum of communication kernels: waiting and transfer
  double waiting = 0;  ///< of the simulated sum: until the last member had arrived
  Pair last_end;       ///< from the start of the window to the end of the last work
  double median_start_error = 0, p90_start_error = 0;  ///< of kernels' starts, absolute, s
};

/// A step of the job, in the mean: each ends when it has on all ranks. Where ranks have unlike numbers of
/// steps, of the mean rank; where they have none, their window. Steps that are not timed on all ranks are
/// left out, unless all are such.
[[nodiscard]] Pair mean_step(const std::vector<RankComparison>& ranks);
/// The same of one rank.
[[nodiscard]] Pair mean_step(const RankComparison& rank);

/// Listens to the simulation of a Replay; then compares.
class ReplayObserver final : public TimelineSink {
 public:
  /// Subjects of the instructions of each trace's Program, by thread.
  using Subjects = std::vector<std::vector<std::vector<std::uint32_t>>>;

  explicit ReplayObserver(const Replay& replay);
  /// @param subjects of Programs whose instructions are not those of the replay
  ReplayObserver(const Replay& replay, Subjects subjects);
  void write(std::span<const TimelineSpan> spans) override;
  [[nodiscard]] std::vector<RankComparison> compare() const;

 private:
  struct Span {
    double start = -1, end = -1, transfer = -1;
  };
  struct Rank {
    std::vector<Span> work;                           ///< by work
    std::vector<Span> operators;                      ///< by operator
    std::map<std::uint32_t, Span> added;              ///< communication not recorded, by correlation
    std::unordered_map<std::uint32_t, double> calls;  ///< of what was not recorded: starts, likewise
  };
  [[nodiscard]] RankComparison compare(std::size_t number) const;
  [[nodiscard]] std::vector<StepPair> compare_steps(std::size_t number) const;
  [[nodiscard]] static std::vector<Span> simulated_ranges(const std::vector<kineto::RecordedStep>& marks,
                                                          const Rank& seen);

  const Replay& replay_;
  Subjects subjects_;  // by trace
  std::vector<Rank> ranks_;
};

}  // namespace lockstep::replay
