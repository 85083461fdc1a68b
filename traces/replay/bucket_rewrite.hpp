#pragma once

#include <map>
#include <span>
#include <vector>

#include "ops/program.hpp"
#include "traces/replay/bucket_plan.hpp"
#include "traces/replay/instruction_edits.hpp"
#include "traces/replay/recorded_buckets.hpp"

namespace lockstep::replay {

/// All-reduces of gradients of one Program, replaced by others.
class BucketRewrite {
 public:
  /// A series: nobody waits for one of them before the last is sent.
  struct Series {
    std::span<const RecordedBucket> recorded;
    std::span<const PlannedBucket> planned;  ///< their gradients: places among all of the recorded ones
    std::span<const CollectiveCall> calls;   ///< by planned bucket
  };

  /// Calls and events are new ones of @p program; its instructions keep their places until apply().
  void replace(Program& program, const Series& series);

  /// @param subjects by thread and instruction; what is new stands for nothing (kNone)
  void apply(Program& program, std::vector<std::vector<std::uint32_t>>& subjects) const;

 private:
  std::map<std::size_t, InstructionEdits> edits_;  // by thread
};

}  // namespace lockstep::replay
