#pragma once

/// @file
/// The memory of GPUs over time.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/job.hpp"
#include "sim/timeline.hpp"

namespace lockstep {

/// From a date on, in seconds, the GPU's memory holds these bytes.
struct MemoryLevel {
  double date = 0;
  MemoryBreakdown held;
};

/// The memory of one rank's GPU, in order of time.
struct MemoryCourse {
  std::uint32_t rank = 0;
  std::vector<MemoryLevel> levels;
  std::size_t last_step = 0;  ///< number of the level with which the last step begins
};

struct MemoryRecorderOptions {
  std::vector<std::uint32_t> ranks;      ///< whose memory is recorded
  std::uint32_t first_step = 0;          ///< steps before it are not recorded
  std::vector<MemoryBreakdown> besides;  ///< by Job::memory: what is there beside what the job allocates
  std::size_t levels = 100'000;          ///< of all ranks and steps; a step of a rank has at least 64
};

/// Gives the changes of Job::memory_changes dates, while the simulation runs: a change happens when its host
/// thread goes on to the next instruction, as PyTorch's caching allocator has it. Where there are more
/// changes than levels, neighbours become two: their highest, and their last. So the highest is always shown.
class MemoryRecorder final : public TimelineSink {
 public:
  /// @param job checked; must outlive this
  MemoryRecorder(const Job& job, const MemoryRecorderOptions& options);

  void write(std::span<const TimelineSpan> spans) override;

  /// The courses of the ranks that were simulated and whose memory is modelled over time, by rank.
  [[nodiscard]] std::vector<MemoryCourse> courses() const;

 private:
  struct Level {
    ProgramPosition at;
    MemoryBreakdown held;
  };
  /// Levels of a step that ranks share, and their numbers by host thread, in order of instructions.
  struct Step {
    std::vector<Level> levels;
    std::vector<std::vector<std::uint32_t>> of_thread;
  };
  /// The place of a host thread among its levels.
  struct Cursor {
    std::uint32_t step = 0;
    std::size_t next = 0;
  };
  struct RecordedRank {
    std::uint32_t rank = 0;
    std::uint32_t memory = 0;  ///< index into steps_
    std::vector<Cursor> threads;
    std::vector<double> dates;  ///< by recorded step and level; below 0: not reached
  };

  [[nodiscard]] static Step step_of(std::span<const MemoryChange> changes, const MemoryBreakdown& besides,
                                    std::size_t most);
  void advance(RecordedRank& rank, const TimelineSpan& span);

  const Job& job_;
  std::uint32_t first_step_;
  std::vector<Step> steps_;  ///< by Job::memory
  std::vector<RecordedRank> ranks_;
  std::vector<std::int32_t> recorded_as_;  ///< by rank: number in ranks_; -1: not recorded
};

}  // namespace lockstep
